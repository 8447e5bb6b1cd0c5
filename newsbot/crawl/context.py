"""What every part of a crawl may use: the backends, the rules, the clock and the counters.

What a part needs beyond these is given to its constructor; :mod:`newsbot.crawl.assembly` builds all parts.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import cast

from scrapy.statscollectors import StatsCollector

from newsbot.clock import Clock, utc
from newsbot.crawl.archive import Archive
from newsbot.crawl.availability import Guarded, Outage, guarded_storage
from newsbot.dedup.index import NearIndex
from newsbot.frontier.base import Frontier
from newsbot.items import Article
from newsbot.rules import RuleSet
from newsbot.rules.schema import Rule
from newsbot.sites.counters import SiteCounters
from newsbot.storage.article_decision import Stored
from newsbot.storage.base import Storage
from newsbot.storage.notes import Notes

MAX_HOSTS = 65_536
"""Hosts that a part remembers at most: a domain may have any number of subdomains."""


class Context:
    """Backends, rules, clock and counters of one crawl.

    The backends are there after :meth:`use`. While a server or the file is away they raise
    :class:`newsbot.errors.DataError` at once, see :mod:`newsbot.crawl.availability`.
    """

    frontier: Frontier
    storage: Storage
    index: NearIndex
    bare_frontier: Frontier
    """The frontier without the guard, for the first call after an outage only."""

    def __init__(self, rules: RuleSet, stats: StatsCollector, clock: Clock) -> None:
        self.rules, self.stats, self.clock = rules, stats, clock
        self.outage = Outage()
        self.archive: Archive | None = None
        """Keeps pages as they came, where NEWSBOT_WARC_DIR says so."""
        self.books = SiteCounters()
        """The last article and the last error of each site, and which counters are stored already."""

    # --- backends
    def use(
        self, frontier: Frontier, storage: Storage, index: NearIndex, archive: Archive | None = None
    ) -> None:
        """Work with these backends, each behind the availability guard."""
        self.bare_frontier = frontier
        self.frontier = cast("Frontier", self._guarded("frontier", frontier))
        self.storage = guarded_storage(storage, self.outage)
        self.index = cast("NearIndex", self._guarded("index", index))
        self.archive = archive

    def _guarded(self, name: str, part: Frontier | NearIndex) -> Guarded:
        return Guarded(part, name, part.place, self.outage, local=part.is_local)

    @property
    def is_open(self) -> bool:
        """True from the opening of the backends on."""
        return hasattr(self, "index")

    @property
    def notes(self) -> Notes:
        """The storage as keeper of notes."""
        return self.storage.notes

    async def store(self, article: Article, over: str | None = None) -> Stored:
        """Keep an article; while a server is waited for, other pages are worked on.

        Raises :class:`newsbot.errors.DataError` kinds.
        """
        with self.timed("store"):
            if self.storage.is_local:
                return self.storage.articles.store(article, over)
            guarded = cast("Guarded", self.storage.articles)
            return cast("Stored", await guarded.in_thread("store", article, over))

    def close(self) -> None:
        """Close the backends."""
        self.frontier.close()
        self.storage.close()
        self.index.close()
        if self.archive is not None:
            self.archive.close()

    # --- rules and clock
    def rule_for(self, url: str) -> Rule:
        """Return the rule of the site that ``url`` belongs to."""
        return self.rules.for_url(url)

    def now(self) -> datetime:
        """Return the present moment, aware, in UTC."""
        return utc(self.clock())

    # --- counters
    def count(self, name: str, amount: int = 1) -> None:
        """Add to the stat ``newsbot/<name>``."""
        self.stats.inc_value(f"newsbot/{name}", amount)

    def count_site(self, domain: str, what: str, amount: int = 1) -> None:
        """Add to a site's counter."""
        self.stats.inc_value(f"newsbot/site/{domain}/{what}", amount)

    def count_error(self, domain: str, cause: str) -> None:
        """Count a page of a site that gave nothing to read."""
        self.count(f"errors/{cause}")
        self.count_site(domain, "errors")
        self.count_site(domain, f"errors/{cause}")
        self.books.last_error[domain] = (cause, self.clock())

    def count_queue(self) -> None:
        """Set the stats of the queue's size and of outages. Raises :class:`newsbot.errors.DataError`."""
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
            name = f"newsbot/time/{step}"
            self.stats.set_value(name, self.stats.get_value(name, 0.0) + time.perf_counter() - began)
