"""Builds all parts of one crawl.

Scrapy creates its components (scheduler, middlewares, pipelines, extensions) one by one and passes the
crawler to each of them. :meth:`Crawl.of` returns the same :class:`Crawl` for all components of a crawler.
Each component takes the parts that it needs.
"""

from __future__ import annotations

import logging
import tempfile
from collections import ChainMap
from collections.abc import Callable
from contextlib import ExitStack, suppress
from functools import partial
from typing import Self, cast

from scrapy.crawler import Crawler
from scrapy.settings import BaseSettings
from scrapy.statscollectors import StatsCollector

from newsbot import backends
from newsbot.clock import Clock, system_clock
from newsbot.config.apps import open_readers
from newsbot.config.check import SettingsLike, number_of, value_of
from newsbot.crawl.arguments import Arguments
from newsbot.crawl.completion import Completion
from newsbot.crawl.consistency import notice_foreign_queue, notice_lost_index, notice_volatile_queue
from newsbot.crawl.context import Context
from newsbot.crawl.credentials import SiteCredentials
from newsbot.crawl.group_calls import ReadAhead
from newsbot.crawl.links.canonical import Canonical
from newsbot.crawl.links.families import Families
from newsbot.crawl.links.feed_details import FeedDetails
from newsbot.crawl.links.judge import LinkJudge
from newsbot.crawl.links.lists import Lists
from newsbot.crawl.links.queue import Links
from newsbot.crawl.links.room import Room
from newsbot.crawl.links.spellings import Spellings
from newsbot.crawl.links.usual_places import UsualPlaces
from newsbot.crawl.politeness import Politeness
from newsbot.crawl.reachability import Reachability
from newsbot.crawl.recrawl_policy import PagePrices, PollBudget, RecrawlPolicies
from newsbot.crawl.refill import Refill
from newsbot.crawl.scope import Removals, Scope
from newsbot.crawl.site_knowledge import SiteKnowledge
from newsbot.crawl.source_state import Hubs, SourceRegistry
from newsbot.errors import DataError
from newsbot.frontier.base import LeanFrontier
from newsbot.frontier.owners import owner_name
from newsbot.items import PageRecord
from newsbot.pages.rules import RuleSet
from newsbot.ranking.session_keys import session_keys
from newsbot.sites.pauses_and_removals import paused

logger = logging.getLogger(__name__)

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
        self.sites = SiteKnowledge(context, self.removals)
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

        In a greenlet of :mod:`newsbot.crawl.server_calls`, the call does not block the event loop while it
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
        # If the second or third backend cannot be opened, the backends before it are closed again.
        aside, redis, mongo = self.context.calls.aside, settings.get("REDIS_URL"), settings.get("MONGO_URI")
        with ExitStack() as opened:
            if self._throwaway is not None:
                opened.callback(self._throwaway.cleanup)
            frontier = aside(partial(backends.open_frontier, settings, self.context.clock), local=not redis)
            opened.callback(frontier.close)
            storage = aside(partial(backends.open_storage, settings, hurried=True), local=not mongo)
            opened.callback(storage.close)
            index = aside(partial(backends.open_index, settings), local=not redis)
            opened.callback(index.close)
            self.context.use(frontier, storage, index)
            opened.pop_all()  # all backends are open, so none is closed here; close() does it

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

        Raises :class:`newsbot.errors.DataError`, and :class:`ArgumentError` if a site that the arguments name
        no longer has a rule.
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
        self.sites.write()
        self.context.count_queue()


class Component:
    """The base of Scrapy's components that are made with the crawler as the only argument."""

    def __init__(self, crawler: Crawler) -> None:
        self.crawler = crawler

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Make the component as Scrapy does. Raises ``NotConfigured`` if it is switched off."""
        return cls(crawler)
