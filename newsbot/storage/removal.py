"""The interface for deleting data permanently.

The storage itself does not record what was removed. This is done by
:mod:`newsbot.sites.pauses_and_removals`.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

REMOVED_AT_ONCE = 500
"""Maximum number of articles or pages that callers should pass in one call of :class:`Removal`.

The number is large, because each call may have to read the list of texts of each site once.
"""


class Removal(Protocol):
    """Deletes data on request (methods ``addresses`` to ``site``), and old data (``old_versions`` and below).

    Current versions of articles and page records are never deleted as old data. Without its record, a crawl
    would treat an old page as a new page.
    """

    def addresses(self, canonical_urls: Sequence[str]) -> list[str]:
        """Return the other URLs (aliases) of these articles."""

    def articles(self, canonical_urls: Sequence[str]) -> int:
        """Delete articles with their versions, texts and other URLs. Return the number of deleted articles.

        Their URLs are also removed from ``duplicate_of`` and ``derived_from`` of other articles. If a URL is
        only an alias of an article, the alias is deleted.
        """

    def pages(self, fingerprints: Sequence[bytes]) -> int:
        """Delete page records. Return the number of deleted records."""

    def sources(self, urls: Sequence[str]) -> int:
        """Delete the records of feeds, sitemaps and sections, with their polls.

        Return the number of deleted records.
        """

    def site(self, site: str) -> None:
        """Delete the counters of a site."""

    def old_versions(self, before: datetime) -> int:
        """Return the number of earlier versions of articles that were fetched before this time."""

    def drop_versions(self, before: datetime, limit: int) -> int:
        """Delete at most ``limit`` of the versions that :meth:`old_versions` counts.

        Return the number of deleted versions; 0 means that none were left.
        """

    def old_pages(self, before: float) -> int:
        """Return the number of old page records that still have their history or their referrers.

        A record is old if the page is never due again and was last fetched before this time (POSIX seconds).
        If the page was never fetched, the time when it was first seen counts.
        """

    def slim_pages(self, before: float, limit: int) -> int:
        """Delete history and referrers of at most ``limit`` of the records that :meth:`old_pages` counts.

        Return the number of changed records; 0 means that none were left. The other fields of the records are
        not changed: URL, state, counters, validators and times.
        """
