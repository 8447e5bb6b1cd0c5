"""Holds what a crawl has learned of each site.

At each heartbeat, the crawl shares this knowledge with other workers.
"""

from __future__ import annotations

from newsbot.crawl.context import MAX_HOSTS, Context
from newsbot.crawl.scope import Removals
from newsbot.items import Bounded
from newsbot.ranking import url_learning
from newsbot.ranking.session_keys import SessionLearning
from newsbot.ranking.url_learning import UrlLearning
from newsbot.sites import shared_lines
from newsbot.sites.families import FamilyNotes
from newsbot.sites.health import SiteHealth
from newsbot.sites.rendering import RenderTrials
from newsbot.sites.rights import SiteRights, robots_name
from newsbot.sites.shared_lines import SharedLines
from newsbot.urls import host_key


class SiteKnowledge:
    """The knowledge of all sites, one part for each subject."""

    def __init__(self, context: Context, removals: Removals) -> None:
        self._context, self._removals = context, removals
        self.url_learning = UrlLearning()
        """The form of article URLs."""
        self.session_keys = SessionLearning()
        """The query keys that carry session ids."""
        self.families = FamilyNotes()
        """The families of the site's addresses, and how its articles look."""
        self.shared_lines = SharedLines()
        """Lines that the site repeats around its articles. They do not belong to the articles' text."""
        self.health = SiteHealth()
        """The results of the last pages of each site."""
        self.rendering = RenderTrials()
        """Whether the scripts of the pages of a site add text."""
        self.rights = SiteRights()
        """The reservations on AI in robots.txt and tdmrep.json of each site."""
        self._expected = Bounded[tuple[str, str], None](MAX_HOSTS)
        """Sites and hosts whose notes were read ahead."""

    def open(self) -> None:
        """Connect the parts to the storage."""
        notes = self._context.notes
        self.url_learning.storage = self.session_keys.storage = self.shared_lines.storage = notes

    def expect(self, domain: str, url: str) -> None:
        """Prepare for the first page of a site or host: read its notes together with the notes of other
        sites."""
        host = domain, host_key(url)
        if host in self._expected:
            return
        self._expected.add(host)
        self._context.notes.expect(
            [
                *url_learning.note_names(domain),
                shared_lines.note_name(domain),
                self.families.note_name(domain),
                self.health.note_name(domain),
                robots_name(url),
            ]
        )

    def write(self) -> None:
        """Write new knowledge, except for removed sites.

        Raises :class:`newsbot.errors.DataError`. After an error, the next call writes the remaining
        knowledge.
        """
        context, out = self._context, self._removals.covers_site
        context.books.write(context.storage, context.stats.get_stats(), context.clock(), out)
        self.url_learning.write(out)
        self.families.write(context.notes, out)
        self.shared_lines.write(out)
        self.health.write(context.notes, out)
        self.rendering.write(context.notes, out)
