"""The context that all parts of a crawl share: the backends, the rules, the clock and the counters.

Anything else that a part needs is passed to its constructor. :mod:`newsbot.crawl.assembly` builds all parts.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any, Protocol, cast

from scrapy.statscollectors import StatsCollector

from newsbot.clock import Clock, utc
from newsbot.crawl.availability import Guarded, Outage, guarded_storage
from newsbot.crawl.group_calls import GroupCalls
from newsbot.dedup.index import NearIndex
from newsbot.frontier.base import Frontier
from newsbot.pages.discovery.reader import BUILT_IN, SourceReader
from newsbot.pages.rules import RuleSet
from newsbot.pages.rules.rule import Rule
from newsbot.sites.statistics import SiteCounters
from newsbot.storage.base import Storage
from newsbot.storage.notes import NotesAhead

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
    :class:`newsbot.errors.DataError` immediately (:mod:`newsbot.crawl.availability`).
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
