"""Interface for waiting links: links that are kept until their family is open
(:mod:`newsbot.ranking.families`).

They have no page record and no entry in the frontier. A limit for each family bounds their number: the links
that were found first are dropped first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingLink:
    """A link that waits."""

    fingerprint: bytes
    """The fingerprint of the canonical URL. It identifies the link."""
    source: str
    """The domain of the site."""
    family: str
    at: float
    """Time when the link was found, in POSIX seconds."""
    priority: float
    body: str
    """The rest of the frontier entry, as JSON (:mod:`newsbot.crawl.links.families`)."""


class WaitingLinks(Protocol):
    """The waiting links of all sites."""

    def save(self, links: Sequence[WaitingLink], most: int) -> None:
        """Store links. Known links are not changed.

        Only the latest ``most`` links of each family are kept.
        """

    def counts(self, site: str) -> dict[str, int]:
        """Return the number of links of each family of a site."""

    def of_family(self, site: str, family: str, limit: int) -> list[WaitingLink]:
        """Return at most ``limit`` links of a family, highest priority first."""

    def get(self, fingerprints: Sequence[bytes]) -> dict[bytes, WaitingLink]:
        """Return the links with these fingerprints."""

    def forget(self, fingerprints: Sequence[bytes]) -> int:
        """Delete links. Return the number of deleted links."""

    def forget_site(self, site: str) -> int:
        """Delete the links of a site. Return their number."""
