"""What a crawl knows of each site and shares with other workers; it is written to the storage at each
heartbeat.
"""

from __future__ import annotations

from newsbot.crawl.context import Context
from newsbot.crawl.removals import Removals
from newsbot.ranking.url_learning import UrlLearning
from newsbot.sites.canonical_trust import CanonicalTrust
from newsbot.sites.health import SiteHealth
from newsbot.sites.rights import SiteRights
from newsbot.sites.shared_lines import SharedLines


class SiteKnowledge:
    """The books of all sites. ``explore``: share of rejected links that are fetched all the same."""

    def __init__(self, context: Context, removals: Removals, *, explore: float) -> None:
        self._context, self._removals = context, removals
        self.url_learning = UrlLearning(explore)
        """What the addresses of articles look like, and which query keys carry sessions."""
        self.shared_lines = SharedLines()
        """Lines that the articles of a site have in common: they are not part of the text."""
        self.canonical_trust = CanonicalTrust()
        """Whether the canonical addresses that a site gives can be believed."""
        self.health = SiteHealth()
        """What the last pages of each site were."""
        self.rights = SiteRights()
        """What robots.txt and tdmrep.json of each site say of AI; not stored."""

    def open(self) -> None:
        """Read and write in the storage from now on."""
        self.url_learning.storage = self.shared_lines.storage = self._context.notes

    def write(self) -> None:
        """Write what has come, except of sites that were taken out.

        Raises :class:`newsbot.errors.DataError`; the rest is written next time.
        """
        context, out = self._context, self._removals.covers_site
        context.books.write(context.storage, context.stats.get_stats(), context.clock(), out)
        self.url_learning.write(out)
        self.shared_lines.write(out)
        self.health.write(context.notes, out)
        self.canonical_trust.write(context.notes, out)
