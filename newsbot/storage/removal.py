"""Taking out what is kept, for good: a Protocol of its own, which both storages have beside their others.

Each call may be repeated; doing it twice is doing it once. What is asked to stay out is noted elsewhere
(:mod:`newsbot.sites.removals`): storage itself forgets.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

AT_ONCE = 500
"""Articles or pages that one call may be given: each call looks through the texts of their sites once."""


@runtime_checkable
class Removal(Protocol):
    """See the module's text. Faults are :class:`newsbot.errors.DataError` kinds."""

    def addresses(self, canonical_urls: Sequence[str]) -> list[str]:
        """The other URLs that lead to these articles."""

    def remove_articles(self, canonical_urls: Sequence[str]) -> int:
        """Delete articles with their versions, texts, other URLs and words; return how many there were.

        Articles that name one of them as ``duplicate_of`` or ``derived_from`` name nothing
        afterwards. A URL that leads to another article leads nowhere afterwards.
        """

    def remove_pages(self, fingerprints: Sequence[bytes]) -> int:
        """Delete page records, and what searches and checks found there; how many records there were.

        What was found goes also where there is no record of the page.
        """

    def remove_sources(self, urls: Sequence[str]) -> int:
        """Delete the records of feeds, sitemaps and sections, with their polls; how many there were."""

    def forget_site(self, source: str) -> None:
        """Delete the counters of a site."""
