"""What all parts of a crawl share: the backends, the rules, the clock, the counters, the knowledge of sites.

Anything else that a part needs is passed to its constructor. :mod:`newsbot.crawl.assembly` builds all parts.

:class:`SiteKnowledge` holds what a crawl has learned of each site. At each heartbeat, the crawl shares this
knowledge with other workers.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any, Protocol, cast

from scrapy.statscollectors import StatsCollector

from newsbot.clock import Clock, utc
from newsbot.crawl.backend_calls import GroupCalls, Guarded, Outage, guarded_storage
from newsbot.dedup.index import NearIndex
from newsbot.frontier.base import Frontier
from newsbot.items import Bounded
from newsbot.pages.discovery.reader import BUILT_IN, SourceReader
from newsbot.pages.rules import RuleSet
from newsbot.pages.rules.rule import Rule
from newsbot.ranking import url_learning
from newsbot.ranking.families import FamilyNotes
from newsbot.ranking.url_learning import SessionLearning, UrlLearning
from newsbot.sites import texts
from newsbot.sites.health import SiteHealth
from newsbot.sites.rights import SiteRights, robots_name
from newsbot.sites.statistics import SiteCounters
from newsbot.sites.texts import SharedLines
from newsbot.storage.base import Storage
from newsbot.storage.notes import NotesAhead
from newsbot.urls import host_key

MAX_HOSTS = 65_536
"""Maximum number of hosts that a part remembers, because a domain may have any number of subdomains."""


class Archive(Protocol):
    """Keeps requests and responses, for example in WARC files."""

    async def keep(self, exchange: Any) -> None:
        """Write an exchange before this returns. A fault is logged and counted, not raised."""

    def close(self) -> None:
        """Write what is left, and finish the current file."""


class Context:
    """Backends, rules, clock and counters of one crawl.

    The backends are set by :meth:`use`. While a server or a file is unavailable, calls to it raise
    :class:`newsbot.errors.DataError` immediately (:mod:`newsbot.crawl.backend_calls`).
    """

    frontier: Frontier
    storage: Storage
    notes: NotesAhead
    """The notes of the storage."""
    index: NearIndex
    together: GroupCalls
    """Calls the storage for several articles together."""
    bare_frontier: Frontier
    """The frontier without the availability guard.

    It is used when the crawl opens, and for the first call after an outage.
    """

    def __init__(
        self,
        rules: RuleSet,
        stats: StatsCollector,
        clock: Clock,
        readers: Sequence[SourceReader] = BUILT_IN,
    ) -> None:
        self.rules, self.stats, self.clock = rules, stats, clock
        self.readers = readers
        """The readers of sources: first those of apps, then those of feeds and sitemaps."""
        self.outage = Outage()
        self.calls = self.outage.calls
        self.archive: Archive | None = None
        """Keeps what was fetched; None if nothing is archived."""
        self.books = SiteCounters()
        """The last article, the last error and the stored counts of each site."""

    # --- backends
    def use(self, frontier: Frontier, storage: Storage, index: NearIndex) -> None:
        """Set the backends. Frontier, storage and index are wrapped in the availability guard."""
        self.bare_frontier = frontier
        self.outage.over = False
        self.frontier = cast("Frontier", self._guarded("frontier", frontier))
        self.storage = guarded_storage(storage, self.outage)
        self.notes = NotesAhead(self.storage.notes)
        self.together = GroupCalls(self.storage, self.outage, self.timed)
        self.index = cast("NearIndex", self._guarded("index", index))

    def _guarded(self, name: str, part: Frontier | NearIndex) -> Guarded:
        return Guarded(part, name, part.place, self.outage, local=part.is_local)

    @property
    def is_open(self) -> bool:
        """True once the backends are set."""
        # ``index`` is set after the other backends.
        return hasattr(self, "index")

    def close(self) -> None:
        """Close the backends. Calls that fail from now on do not count as faults of a server or file."""
        # This comes first, so that work in other threads does not report the closed backends as an outage.
        self.outage.over = True
        for part in (self.frontier, self.storage, self.index):
            self.calls.aside(part.close, local=part.is_local)
        if self.archive is not None:
            self.archive.close()

    # --- rules and clock
    def rule_for(self, url: str) -> Rule:
        """Return the rule of the site that ``url`` belongs to."""
        return self.rules.for_url(url)

    def ignores_certificate(self, host: str) -> bool:
        """Return True if the rule of the host's site says ``tls: ignore``."""
        return self.rules.for_url(f"https://{host}/").tls == "ignore"

    def now(self) -> datetime:
        """Return the current time as an aware datetime in UTC."""
        return utc(self.clock())

    # --- counters
    def count(self, name: str, amount: int = 1) -> None:
        """Add ``amount`` to the stat ``newsbot/<name>``."""
        self.stats.inc_value(f"newsbot/{name}", amount)

    def count_site(self, domain: str, what: str) -> None:
        """Add 1 to the stat ``newsbot/site/<domain>/<what>``."""
        self.stats.inc_value(f"newsbot/site/{domain}/{what}")

    def count_error(self, domain: str, cause: str) -> None:
        """Count one page of the site ``domain`` that could not be read.

        ``cause`` is the token of the error (:mod:`newsbot.crawl.failures`).
        """
        self.count(f"errors/{cause}")
        self.count_site(domain, "errors")
        self.count_site(domain, f"errors/{cause}")
        self.books.last_error[domain] = (cause, self.clock())

    def count_queue(self) -> None:
        """Set the stats of outages and of the queue's size. Raises :class:`newsbot.errors.DataError`."""
        if self.outage.count:
            self.stats.set_value("newsbot/outages", self.outage.count)
        counts = self.frontier.counts()
        for name in ("pending", "aside"):
            self.stats.set_value(f"newsbot/queue/{name}", counts[name])

    @contextmanager
    def timed(self, step: str) -> Iterator[None]:
        """Add the duration of the block to ``newsbot/time/<step>`` (seconds)."""
        began = time.perf_counter()
        try:
            yield
        finally:
            self.spent(step, time.perf_counter() - began)

    def spent(self, step: str, seconds: float) -> None:
        """Add ``seconds`` to the stat ``newsbot/time/<step>``."""
        name = f"newsbot/time/{step}"
        self.stats.set_value(name, self.stats.get_value(name, 0.0) + seconds)


# --- knowledge of sites
class SiteKnowledge:
    """The knowledge of all sites, one part for each subject."""

    def __init__(self, context: Context) -> None:
        self._context = context
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
                texts.note_name(domain),
                self.families.note_name(domain),
                self.health.note_name(domain),
                robots_name(url),
            ]
        )

    def write(self, out: Callable[[str], bool]) -> None:
        """Write new knowledge, except for removed sites, for which ``out`` returns True.

        Raises :class:`newsbot.errors.DataError`. After an error, the next call writes the remaining
        knowledge.
        """
        context = self._context
        context.books.write(context.storage, context.stats.get_stats(), context.clock(), out)
        self.url_learning.write(out)
        self.families.write(context.notes, out)
        self.shared_lines.write(out)
        self.health.write(context.notes, out)
