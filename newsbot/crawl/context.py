"""What the Scrapy parts of one crawl share: backends, rules, arguments, scope, clock."""

from __future__ import annotations

import tempfile
import time
from collections import ChainMap, Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from datetime import datetime, timedelta
from functools import lru_cache
from pathlib import Path
from typing import Any, cast
from weakref import WeakKeyDictionary

from scrapy.crawler import Crawler
from scrapy.settings import BaseSettings
from scrapy.statscollectors import StatsCollector

from newsbot import backends
from newsbot.clock import Clock, system_clock, utc
from newsbot.config.numbers import SettingsLike
from newsbot.crawl.archive import Archive, open_archive
from newsbot.crawl.arguments import Arguments
from newsbot.crawl.availability import Guarded, Outage, guarded_storage
from newsbot.crawl.consistency import notice_foreign_queue, notice_lost_index
from newsbot.crawl.failures import is_no_source
from newsbot.crawl.page_prices import PagePrices
from newsbot.crawl.poll_budget import PollBudget
from newsbot.crawl.refill import Refill
from newsbot.crawl.scope import check_scope, domains_of
from newsbot.dedup.decision import Decision
from newsbot.dedup.index import NearIndex
from newsbot.discovery.list_probing import ListTrials
from newsbot.errors import ArgumentError, DataError
from newsbot.frontier.base import Frontier, LeanFrontier
from newsbot.frontier.owners import owner_name
from newsbot.items import Article
from newsbot.ranking.headlines import Headlines
from newsbot.ranking.url_learning import Lessons, session_keys
from newsbot.rules import RuleSet
from newsbot.rules.schema import Rule
from newsbot.sites.canonical_trust import SiteClaims
from newsbot.sites.counters import SiteBooks
from newsbot.sites.health import SiteHealth
from newsbot.sites.late_arrivals import Latecomers
from newsbot.sites.pauses import paused
from newsbot.sites.removals import Tombstones
from newsbot.sites.rights import SiteRights
from newsbot.sites.shared_lines import SiteLines
from newsbot.storage.articles import Stored
from newsbot.storage.base import Storage
from newsbot.storage.notes import Notes

MAX_HOSTS = 65_536
"""Hosts of which something is remembered: names below one domain may have no end."""

MAX_NUMBER = 10**9
"""Of requests in a setting."""
PAGE_VISITS = 1 / 7
"""Visits of a page in a day, on average, where pages are planned by the optimum and no setting says more."""

_states: WeakKeyDictionary[Crawler, CrawlState] = WeakKeyDictionary()


class CrawlState:
    """One crawl's shared state. Backends are open between :meth:`open` and :meth:`close`.

    While a server or the file is away they raise :class:`newsbot.errors.DataError` at once, see
    :mod:`newsbot.crawl.availability`.
    """

    frontier: Frontier
    storage: Storage
    index: NearIndex
    paused: frozenset[str] = frozenset()
    """Domains that people have paused, see :mod:`newsbot.sites.pauses`."""
    dead_sources: set[str]
    """Feeds and sitemaps that are not there, whoever names them."""

    def __init__(self, settings: BaseSettings, stats: StatsCollector, arguments: Arguments) -> None:
        self.settings, self.stats = settings, stats
        self.arguments = arguments
        self.clock: Clock = system_clock
        self.started = self.clock()
        self.outage = Outage()
        self.rests: dict[str, float] = {}
        """Hosts that must rest, until when, and that the frontier could not be told of yet."""
        self.owner = owner_name(self.started)
        self.rules: RuleSet = backends.open_rules(settings)
        self.limited: set[str] = set()
        """Domains that have all the articles this crawl may take of them."""
        self.named_hosts: set[str] = set()
        """Hosts that this crawl itself queued, whatever its scope says."""
        self.known_hosts: set[str] = set()
        """Hosts whose politeness this crawl has told the frontier."""
        self.with_sources: set[str] = set()
        """Domains for which a feed or sitemap is known."""
        self.sitemap_files: Counter[str] = Counter()
        """By domain, files of sitemap indexes that this crawl has queued."""
        self.refill: Refill | None = None
        """For a frontier that keeps only what is due soon."""
        self.hub_offers: dict[str, dict[str, Any]] | None = None
        """Hubs that pages name, see :mod:`newsbot.crawl.hubs`; None: not read yet."""
        self.list_trials = ListTrials()
        self.site_health, self.site_claims = SiteHealth(), SiteClaims()
        self.ranked = settings.getbool("NEWSBOT_RANKING")
        """False: links are followed whatever they are likely to be, for comparison."""
        self.tombstones, self.latecomers = Tombstones(self.clock), Latecomers()
        """What somebody had taken out, and is not to be collected again; what was stored at that moment."""
        self.site_rights = SiteRights()
        """What robots.txt and tdmrep.json of each site say of AI."""
        self.lessons = Lessons(settings.getfloat("NEWSBOT_EXPLORE"))
        self.books = SiteBooks()
        self.headlines = Headlines()
        self.peers: dict[str, Decision] = {}
        """By canonical URL, who has peers: their stories are joined with its own as soon as it is stored."""
        self.memories = SiteLines()
        """Lines of the articles of each site, which are no part of others."""
        self.crawl_delays: dict[str, float] = {}
        """Seconds between requests that robots.txt of a host asks for, where its rule says less."""
        self.poll_budget = PollBudget(number_of(settings, "NEWSBOT_POLL_BUDGET"), self.clock)
        self.page_prices = PagePrices(number_of(settings, "NEWSBOT_PAGE_VISITS") or PAGE_VISITS, self.clock)
        self.before_close: list[Callable[[], None]] = []
        """Called while the backends are still open."""
        self._domain = lru_cache(MAX_HOSTS)(self._domain_of)
        self.limited_to = check_scope(settings, self.rules, arguments)
        """Domains that this crawl works on; None: all."""
        self.archive: Archive | None = None
        """Keeps pages as they came, where NEWSBOT_WARC_DIR says so."""
        self._throwaway: tempfile.TemporaryDirectory[str] | None = None

    @classmethod
    def of(cls, crawler: Crawler) -> CrawlState:
        """Return the crawler's state, made when it is asked for first.

        Raises :class:`newsbot.errors.UserError` kinds: rules or arguments are wrong.
        """
        if crawler not in _states:
            assert crawler.stats is not None
            arguments = getattr(crawler.spider, "arguments", None) or Arguments()
            _states[crawler] = cls(crawler.settings, crawler.stats, arguments)
        return _states[crawler]

    def open(self) -> None:
        """Open the backends. Raises :class:`newsbot.errors.DataError`."""
        settings: SettingsLike = self.settings
        if self.arguments.dry_run:
            self._throwaway = tempfile.TemporaryDirectory(prefix="newsbot-dry-run-")
            settings = ChainMap(
                {"NEWSBOT_DATA": self._throwaway.name, "REDIS_URL": "", "MONGO_URI": ""}, self.settings
            )
        with ExitStack() as opened:
            if self._throwaway is not None:
                opened.callback(self._throwaway.cleanup)
            frontier = backends.open_frontier(settings, self.clock)
            opened.callback(frontier.close)
            storage = backends.open_storage(settings, hurried=True)
            opened.callback(storage.close)
            index = backends.open_index(settings)
            opened.callback(index.close)
            self.archive = None if self.arguments.dry_run else open_archive(self.settings, self.count)
            self.use(frontier, storage, index)
            opened.pop_all()  # all are open: they stay so until close()
        notice_lost_index(storage, index, self.clock())
        notice_foreign_queue(frontier, storage)
        self.paused = frozenset(paused(self.notes))
        self.refill_anew()
        self.tombstones.read(self.notes)
        self.rules = self.rules.dropping(session_keys(self.notes))
        known = [record for record in self.storage.sources.all() if record.kind in ("feed", "sitemap")]
        self.dead_sources = {one.url for one in known if one.failures and is_no_source(one.last_error or "")}
        self.with_sources = {one.source for one in known if one.url not in self.dead_sources} | {
            rule.domain for rule in self.rules if rule.feeds or rule.sitemaps
        }

    def use(self, frontier: Frontier, storage: Storage, index: NearIndex) -> None:
        """Work with these backends, each behind the outage."""
        self.bare_frontier = frontier
        """For the first call after an outage only."""
        self.frontier = cast("Frontier", self._guarded("frontier", frontier))
        self.storage = guarded_storage(storage, self.outage)
        self.lessons.storage = self.memories.storage = self.notes
        self.index = cast("NearIndex", self._guarded("index", index))

    def _guarded(self, name: str, part: Frontier | NearIndex) -> Guarded:
        return Guarded(part, name, part.place, self.outage, local=part.is_local)

    async def store(self, article: Article, over: str | None = None) -> Stored:
        """Keep an article; where a server is waited for, other pages are worked on meanwhile.

        Raises :class:`newsbot.errors.DataError` kinds.
        """
        with self.timed("store"):
            if self.storage.is_local:
                return self.storage.articles.store(article, over)
            guarded = cast("Guarded", self.storage.articles)
            return cast("Stored", await guarded.in_thread("store", article, over))

    def refill_anew(self) -> None:
        """Let a frontier that keeps only what is due soon be filled, as far as it is not."""
        if isinstance(self.bare_frontier, LeanFrontier):
            self.refill = Refill(cast("LeanFrontier", self.frontier), self.storage, self.owner, self.clock)

    def close(self) -> None:
        """Close the backends; a dry run's data go away."""
        for work in (self.take_out_latecomers, *self.before_close):
            with suppress(DataError):  # the outage has told it
                work()
        self.frontier.close()
        self.storage.close()
        self.index.close()
        if self.archive is not None:
            self.archive.close()
        if self._throwaway is not None:
            self._throwaway.cleanup()

    @property
    def frontier_knows_all(self) -> bool:
        """True when the frontier knows each page that was fetched: one file holds both, or it was filled."""
        if self.refill is not None:
            return self.refill.covers(self.started)
        return not self.settings.get("MONGO_URI")

    @property
    def data_folder(self) -> Path:
        """Where the data are."""
        return backends.data_folder(self.settings)

    def now(self) -> datetime:
        """The present moment, aware, in UTC."""
        return utc(self.clock())

    def since_of_sitemaps(self) -> datetime | None:
        """From when on pages of sitemaps are wanted: as this crawl was asked, else of the last days only."""
        days = self.settings.getfloat("NEWSBOT_MAX_AGE_DAYS")
        if self.arguments.since is not None or not days:
            return self.arguments.since
        return self.now() - timedelta(days=days)

    @property
    def notes(self) -> Notes:
        """The storage as keeper of notes."""
        return self.storage.notes

    def is_removed(self, key: bytes, host: str) -> bool:
        """True for a URL (its fingerprint, its host) that somebody had taken out."""
        self.tombstones.refresh(self.notes)
        return self.tombstones.covers(key, host)

    def take_out_latecomers(self) -> None:
        """Delete what was stored while it was taken out. Raises :class:`newsbot.errors.DataError`."""
        self.tombstones.read(self.notes)
        gone = self.latecomers.take_out(self.tombstones.covers, self.storage, self.index, self.clock())
        if gone:
            self.count("removed_again", gone)

    # --- scope
    def take_rules(self, rules: RuleSet) -> None:
        """Go on with other rules. Raises :class:`ArgumentError` if they lack a site that was asked for."""
        self.limited_to = check_scope(self.settings, rules, self.arguments)
        self.rules = rules.dropping(session_keys(self.notes))
        self.known_hosts.clear()  # delays may have changed
        self._domain.cache_clear()
        self.with_sources |= {rule.domain for rule in rules if rule.feeds or rule.sitemaps}

    def rule_for(self, url: str) -> Rule:
        """The rule of the site that ``url`` belongs to."""
        return self.rules.for_url(url)

    def selected_rules(self) -> list[Rule]:
        """The rules whose sources this crawl reads."""
        if self.arguments.sites:
            asked = domains_of(self.rules, self.arguments.sites)
            return [rule for rule in self.rules if rule.domain in asked]
        return [] if self.arguments.named else list(self.rules)

    def accepts(self, host: str) -> bool:
        """True when this crawl may work on URLs of ``host`` now."""
        domain = self._domain(host)
        if domain in self.limited or domain in self.paused:
            return False
        return self.in_scope(domain) or host in self.named_hosts

    @property
    def accepting(self) -> Callable[[str], bool] | None:
        """:meth:`accepts` for the frontier; None when it would take all, which spares a look at each host."""
        return self.accepts if self.limited_to is not None or self.limited or self.paused else None

    def in_scope(self, domain: str) -> bool:
        """True when the crawl was asked for this site, or for all."""
        return self.limited_to is None or domain in self.limited_to

    def delay_of(self, host: str) -> float:
        """Seconds between two requests to ``host``: its rule's, or more if its robots.txt asks for it."""
        return max(self.rules.for_url(f"http://{host}/").delay, self.crawl_delays.get(host, 0.0))

    def rest(self, host: str, seconds: float) -> None:
        """Let a host rest for all workers; they are told later if the frontier is away."""
        try:
            self.frontier.back_off(host, seconds)
        except DataError:
            if len(self.rests) < MAX_HOSTS:
                self.rests[host] = max(self.rests.get(host, 0.0), self.clock() + seconds)

    def tell_rests(self) -> None:
        """Tell the frontier what it could not be told. Raises :class:`newsbot.errors.DataError`."""
        for host, until in list(self.rests.items()):
            if until > self.clock():
                self.frontier.back_off(host, until - self.clock())
            del self.rests[host]

    def _domain_of(self, host: str) -> str:
        return self.rules.for_url(f"http://{host}/").domain

    # --- counting
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

    def write_books(self) -> None:
        """Bring what is kept of each site, and the size of the queue, up to date."""
        out = self.tombstones.covers_site
        self.books.write(self.storage, self.stats.get_stats(), self.clock(), out)
        self.lessons.write(out)
        self.memories.write(out)
        self.site_health.write(self.notes, out)
        self.site_claims.write(self.notes, out)
        if self.outage.count:
            self.stats.set_value("newsbot/outages", self.outage.count)
        counts = self.frontier.counts()
        for name in ("pending", "aside"):
            self.stats.set_value(f"newsbot/queue/{name}", counts[name])

    @contextmanager
    def timed(self, step: str) -> Iterator[None]:
        """Add the block's CPU-side duration to ``newsbot/time/<step>`` (seconds)."""
        began = time.perf_counter()
        try:
            yield
        finally:
            name = f"newsbot/time/{step}"
            self.stats.set_value(name, self.stats.get_value(name, 0.0) + time.perf_counter() - began)


def number_of(settings: BaseSettings, name: str) -> float:
    """Return a setting that is a number from 0 on. Raises :class:`newsbot.errors.ArgumentError`."""
    given = settings.get(name, 0)
    try:
        budget = float(given)
    except (TypeError, ValueError):
        budget = -1.0
    if not 0 <= budget < MAX_NUMBER:
        raise ArgumentError(f"{name}={given}: must be a number from 0 to {MAX_NUMBER}")
    return budget
