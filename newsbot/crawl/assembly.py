"""Builds all parts of one crawl.

Scrapy creates its components (scheduler, middlewares, pipelines, extensions) one by one and passes the
crawler to each of them. :meth:`Crawl.of` returns the same :class:`Crawl` for all components of a crawler.
Each component takes the parts that it needs.

Queue, storage and near-duplicate index may be on three servers. If one of the servers is emptied or replaced,
the crawl still runs, and missing data would be noticed only weeks later. :meth:`Crawl.open` therefore warns
if the backends do not belong together.
"""

from __future__ import annotations

import logging
import tempfile
from collections import ChainMap
from collections.abc import Callable
from contextlib import ExitStack, suppress
from functools import partial
from typing import Self, TypeVar, cast

from scrapy.crawler import Crawler
from scrapy.settings import BaseSettings
from scrapy.statscollectors import StatsCollector

from newsbot import backends
from newsbot.cli.program import PROGRAM
from newsbot.clock import DAY, Clock, system_clock, utc
from newsbot.config.apps import open_readers
from newsbot.config.settings import SettingsLike, number_of, value_of
from newsbot.crawl.backend_calls import ReadAhead
from newsbot.crawl.completion import Completion
from newsbot.crawl.context import Context, SiteKnowledge
from newsbot.crawl.credentials import SiteCredentials
from newsbot.crawl.failures import Reachability
from newsbot.crawl.links.canonical import Canonical, Spellings
from newsbot.crawl.links.families import Families, Lists
from newsbot.crawl.links.judge import LinkJudge
from newsbot.crawl.links.queue import FeedDetails, Links, Room
from newsbot.crawl.links.usual_places import UsualPlaces
from newsbot.crawl.politeness import Politeness
from newsbot.crawl.recovery import Refill
from newsbot.crawl.scope import Arguments, Removals, Scope
from newsbot.crawl.sources import Hubs, PagePrices, PollBudget, RecrawlPolicies, SourceRegistry
from newsbot.dedup.index import NearIndex
from newsbot.errors import DataError
from newsbot.frontier.base import Frontier, LeanFrontier, owner_name
from newsbot.items import ArticleFilter, PageRecord
from newsbot.pages.rules import RuleSet
from newsbot.ranking.url_learning import session_keys
from newsbot.sites.pauses_and_removals import paused
from newsbot.storage.base import Storage
from newsbot.storage.notes import identity_of

logger = logging.getLogger(__name__)

LEAST_INDEXED = 0.25
"""The index counts as incomplete if it has less than this share of the texts of recent articles.

Even a complete index does not have all texts, because short texts are left out.
"""

_Backend = TypeVar("_Backend", Frontier, Storage, NearIndex)


def notice_lost_index(storage: Storage, index: NearIndex, now: float) -> None:
    """Log a warning if the near-duplicate index lacks most of the recently stored texts.

    Near copies of these texts would not be recognised. ``now`` is in POSIX seconds. Raises
    :class:`newsbot.errors.DataError`.
    """
    texts = index.count()
    lately = storage.articles.count(ArticleFilter(since=utc(now - index.keep), posts=False))
    if texts < lately * LEAST_INDEXED:
        logger.warning(
            "near-duplicate index has lost texts place=%s texts=%d articles=%d; near-duplicates of articles"
            " of the last %g days may be missed. To repair the index, run: %s articles reindex",
            *(index.place, texts, lately, index.keep / DAY, PROGRAM),
        )


def notice_volatile_queue(frontier: LeanFrontier) -> None:
    """Log a warning if a restart of the server can lose the queue. Raises
    :class:`newsbot.errors.DataError`."""
    if frontier.is_volatile():
        logger.warning(
            "queue is kept in memory only place=%s; a restart of the server can lose the queue and repeat"
            " fetches: set appendonly yes and appendfsync always in redis.conf",
            frontier.place,
        )


def notice_foreign_queue(frontier: LeanFrontier, storage: Storage) -> None:
    """Log a warning if the queue belongs to another storage.

    In this queue, URLs count as fetched although this storage does not have them, so they would never be
    stored here. An empty queue is assigned to this storage. Raises :class:`newsbot.errors.DataError`.
    """
    # The queue is read before the storage. Other workers store a page before they queue it, so a queued page
    # is found in the storage.
    counts = frontier.counts()
    urls = sum(counts[state] for state in ("pending", "leased", "done", "aside"))
    own = identity_of(storage.notes)
    served = frontier.serves(own, instead=not urls)
    if not urls:
        return
    if next(storage.pages.iter(), None) is None:
        fault = "has no pages, and the pages that this queue knows will not be fetched again"
    elif served != own:
        fault = "belongs to another crawl, and the pages that this queue knows will not be stored there"
    else:
        return
    logger.warning(
        "queue of another storage place=%s urls=%d; %s %s. Each storage needs its own queue: correct"
        " REDIS_URL or %s, or empty this queue",
        *(frontier.place, urls, storage.place, fault),
        "NEWSBOT_DATA" if storage.is_local else "MONGO_URI",
    )


# --- assembly
PAGE_VISITS = 1 / 7
"""Default average number of visits per page and day, for pages with the recrawl policy ``optimum``."""

_ATTRIBUTE = "newsbot_crawl"


class Crawl:
    """All parts of one crawl. The backends can be used between :meth:`open` and :meth:`close`."""

    def __init__(
        self,
        settings: BaseSettings,
        stats: StatsCollector,
        arguments: Arguments,
        clock: Clock | None = None,
    ) -> None:
        """Raises a :class:`newsbot.errors.UserError` if rules, arguments or settings are wrong."""
        self._settings = settings
        clock = clock or system_clock
        self.started = clock()
        self.owner = owner_name(self.started)
        rules = backends.open_rules(settings, needed=arguments.needs_rules)
        readers = open_readers(settings.get("NEWSBOT_APPS"))
        self.context = context = Context(rules, stats, clock, readers)
        self.scope = Scope(context, settings, arguments)
        self.politeness = Politeness(context, obeys_robots=settings.getbool("ROBOTSTXT_OBEY"))
        self.removals = Removals(context)
        self.pages = ReadAhead[PageRecord](self._pages_of)
        """The page records of leased pages."""
        self.known = ReadAhead[bool](self._known_of)
        """For each leased page, True if a stored article has the URL of the page as its URL or as an
        alias."""
        self.sites = SiteKnowledge(context)
        self.families = Families(context, self.sites.families, explore=settings.getfloat("NEWSBOT_EXPLORE"))
        self.sources = SourceRegistry(context)
        self.canonical = Canonical(context, self.removals)
        self.judge = LinkJudge(
            context,
            self.scope,
            self.sources,
            self.removals,
            learning=self.sites.url_learning,
            families=self.families,
            ranked=settings.getbool("NEWSBOT_RANKING"),
        )
        self.spellings = Spellings(context)
        self.lists = Lists(context, self.scope, self.sources, self.families)
        self.feed_details = FeedDetails(context)
        self.room = Room(context, settings.getint("NEWSBOT_QUEUE_PER_SITE"))
        self.links = Links(
            context=context,
            scope=self.scope,
            politeness=self.politeness,
            registry=self.sources,
            judge=self.judge,
            lists=self.lists,
            families=self.families,
            canonical=self.canonical,
            spellings=self.spellings,
            feed_details=self.feed_details,
            session_keys=self.sites.session_keys,
            room=self.room,
        )
        useful = value_of(settings, "NEWSBOT_POLL_USEFUL")
        budget = PollBudget(number_of(settings, "NEWSBOT_POLL_BUDGET"), clock, useful=useful)
        prices = PagePrices(number_of(settings, "NEWSBOT_PAGE_VISITS") or PAGE_VISITS, clock)
        self.completion = Completion(
            context=context,
            links=self.links,
            lists=self.lists,
            usual_places=UsualPlaces(context, self.judge, self.links, self.sources),
            canonical=self.canonical,
            spellings=self.spellings,
            feed_details=self.feed_details,
            policies=RecrawlPolicies(context, budget, prices),
            sites=self.sites,
            removals=self.removals,
            pages=self.pages,
            known=self.known,
            retry_scale=settings.getfloat("NEWSBOT_RETRY_SCALE"),
        )
        self.sites.session_keys.changed = lambda: self.take_rules(context.rules)
        self.hubs = Hubs(context)
        self.credentials = SiteCredentials()
        self.reachability = Reachability()
        self.refill: Refill | None = None
        """Loads due pages into a frontier that keeps only entries that are due soon.

        It is None for other frontiers, and before :meth:`open`.
        """
        self.before_close: list[Callable[[], None]] = [self.removals.take_out, self.feed_details.finish]
        """Functions that :meth:`close` calls while the backends are still open."""
        self._throwaway: tempfile.TemporaryDirectory[str] | None = None

    @classmethod
    def of(cls, crawler: Crawler) -> Crawl:
        """Return the crawl of a crawler. The first call builds it.

        Raises a :class:`newsbot.errors.UserError` if rules, arguments or settings are wrong.
        """
        crawl: Crawl | None = getattr(crawler, _ATTRIBUTE, None)
        if crawl is None:
            assert crawler.stats is not None
            arguments = getattr(crawler.spider, "arguments", None) or Arguments()
            crawl = cls(crawler.settings, crawler.stats, arguments)
            # The crawl and its crawler refer to each other. So a dictionary with weak keys would keep both.
            setattr(crawler, _ATTRIBUTE, crawl)
        return crawl

    def open(self) -> None:
        """Open the backends and read what other crawls stored.

        In a greenlet of :mod:`newsbot.crawl.backend_calls`, the call does not block the event loop while it
        waits for servers. Raises :class:`newsbot.errors.DataError`.
        """
        self._open_backends()
        context = self.context
        # These two checks compare the backends as earlier crawls left them, so they run before the first
        # write.
        notice_lost_index(context.storage, context.index, context.clock())
        if isinstance(context.bare_frontier, LeanFrontier):
            frontier = cast("LeanFrontier", context.frontier)
            queues = int(number_of(self._settings, "NEWSBOT_QUEUES"))
            if queues and not frontier.divide(queues):
                logger.warning(
                    "number of queues not changed wanted=%d; another process changes it, or known URLs are"
                    " still moved after the last change. Start a crawl again later",
                    queues,
                )
            notice_volatile_queue(frontier)
            notice_foreign_queue(frontier, context.storage)
            self.refill = Refill(frontier, context.storage, self.owner, context.clock)
        self.sites.open()
        self.scope.paused = frozenset(paused(context.notes))
        self.removals.read()
        context.rules = context.rules.dropping(session_keys(context.notes))

    def _open_backends(self) -> None:
        settings: SettingsLike = self._settings
        dry_run = self.scope.arguments.dry_run
        if dry_run:
            # A dry run writes to SQLite in a temporary folder. It does not use the backends of the settings.
            self._throwaway = tempfile.TemporaryDirectory(prefix="newsbot-dry-run-")
            settings = ChainMap(
                {"NEWSBOT_DATA": self._throwaway.name, "REDIS_URL": "", "MONGO_URI": ""}, self._settings
            )
        redis, mongo = settings.get("REDIS_URL"), settings.get("MONGO_URI")
        # If the second or third backend cannot be opened, the backends before it are closed again.
        with ExitStack() as stack:
            if self._throwaway is not None:
                stack.callback(self._throwaway.cleanup)
            frontier = self._open(redis, partial(backends.open_frontier, settings, self.context.clock), stack)
            storage = self._open(mongo, partial(backends.open_storage, settings, hurried=True), stack)
            index = self._open(redis, partial(backends.open_index, settings), stack)
            self.context.use(frontier, storage, index)
            stack.pop_all()  # all backends are open, so none is closed here; close() does it

    def _open(self, address: str | None, work: Callable[[], _Backend], stack: ExitStack) -> _Backend:
        """Open a backend; ``stack`` will close it. A backend with an address is opened in a thread.

        Only an open backend can say that it is a file. A file is then opened again in this thread, because
        SQLite allows only the thread that has opened a file to use it.
        """

        def in_thread() -> _Backend | None:
            backend = work()
            if not backend.is_local:
                return backend
            backend.close()
            return None

        backend = (self.context.calls.aside(in_thread) if address else None) or work()
        stack.callback(backend.close)
        return backend

    def _pages_of(self, keys: list[bytes]) -> dict[bytes, PageRecord]:
        return self.context.storage.pages.get(keys)

    def _known_of(self, keys: list[bytes]) -> dict[bytes, bool]:
        return dict.fromkeys(self.context.storage.articles.known(keys), True)

    def close(self) -> None:
        """Do the last writes, then close the backends. The data of a dry run are deleted."""
        for work in self.before_close:
            with suppress(DataError):  # the outage is logged already
                work()
        self.context.close()
        if self._throwaway is not None:
            self._throwaway.cleanup()

    def take_rules(self, rules: RuleSet) -> None:
        """Use ``rules`` from now on.

        Raises :class:`newsbot.errors.DataError`, and :class:`newsbot.errors.ArgumentError` if a site that the
        arguments name no longer has a rule.
        """
        self.scope.take_rules(rules)
        old = self.context.rules
        self.context.rules = rules.dropping(session_keys(self.context.notes))
        self.politeness.take_rules(old)
        self.sources.forget()

    def frontier_knows_all(self) -> bool:
        """Return True if the frontier knows every fetched page.

        This is the case if one file holds frontier and storage, or if the refill has queued all pages that
        were due at the start of the crawl.
        """
        if self.refill is not None:
            return self.refill.covers(self.started)
        # With MongoDB and a local frontier, other workers fetch pages that this frontier does not know.
        return not self._settings.get("MONGO_URI")

    def write_sites(self) -> None:
        """Write what was learned of each site, and update the queue's stats.

        Raises :class:`newsbot.errors.DataError`.
        """
        self.sites.write(self.removals.covers_site)
        self.context.count_queue()


class Component:
    """The base of Scrapy's components that are made with the crawler as the only argument."""

    def __init__(self, crawler: Crawler) -> None:
        self.crawler = crawler

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Make the component as Scrapy does. Raises ``NotConfigured`` if it is switched off."""
        return cls(crawler)
