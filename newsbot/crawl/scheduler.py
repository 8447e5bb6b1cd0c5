"""Scrapy's scheduler on top of the frontier.

A request that leaves here carries a lease. Scrapy says nowhere "this request and all that it yielded is
done"; taking it out of the engine slot's ``inprogress`` does, once and last, in success, drop, error,
redirect and ignore. That is private, so :meth:`FrontierScheduler.open` checks that it is there.

Scrapy asks again only every 5 s after ``next_request()`` gave None; so it is woken when the frontier
has something (or, because other programs add to it too, every :data:`LOOK_AGAIN` seconds).

While the data are away nothing is leased; see :mod:`newsbot.crawl.availability`.
"""

from __future__ import annotations

import asyncio
import atexit
import logging
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from scrapy import Request
from scrapy.core.scheduler import BaseScheduler
from scrapy.crawler import Crawler
from scrapy.exceptions import CloseSpider
from scrapy.spiders import Spider
from scrapy.utils.asyncio import call_later, create_looping_call

from newsbot.backends import ignored_settings
from newsbot.config.contact import ASK_FOR_CONTACT
from newsbot.crawl.assembly import Crawl
from newsbot.crawl.completion import CompletionQueue
from newsbot.crawl.memory import trim
from newsbot.crawl.recovery import Recovery, queue_request
from newsbot.crawl.visit import META_KEY, Visit
from newsbot.errors import DataError
from newsbot.frontier.base import Lease, Outlook
from newsbot.frontier.owners import dead_owners
from newsbot.items import Kind
from newsbot.recrawl import Outcome
from newsbot.urls import host_key

logger = logging.getLogger(__name__)

LOOK_AGAIN = 1.0
REFILL_EVERY = 0.1
TAKEN = 0.02
"""Seconds until the next try when there is something that could not be had: another worker was quicker, or
one suspect waits for another. Each time in vain doubles it, up to MAX_TAKEN: asking is work."""
MAX_TAKEN = 0.5


def is_about_us(record: logging.LogRecord) -> bool:
    """Return False for Scrapy's complaint of a scraper that was never opened."""
    return record.msg != "Scraper close failure"


class FrontierScheduler(BaseScheduler):
    """See the module's text."""

    def __init__(self, crawler: Crawler) -> None:
        self.crawler = crawler
        self._crawl = crawl = Crawl.of(crawler)
        self._context, self._scope = crawl.context, crawl.scope
        self._politeness, self._links, self._removals = crawl.politeness, crawl.links, crawl.removals
        settings = crawler.settings
        self.lease_seconds = settings.getfloat("NEWSBOT_LEASE_SECONDS")
        self.patience = settings.getfloat("NEWSBOT_PATIENCE")
        self.concurrency = settings.getint("CONCURRENT_REQUESTS")
        self.source_maxsize = settings.getint("NEWSBOT_SOURCE_MAXSIZE")
        self._ready: deque[Request] = deque()
        """Requests whose lease is held: fresh from the frontier, or the next hop of a redirect."""
        self._hops: deque[tuple[float, Request]] = deque()
        """Next hops that wait for their host's turn."""
        self._heartbeat: Any = None
        self._refilling: Any = None
        self._wake: Any = None
        self._in_vain = 0
        """Times in a row that something could be had and was not."""
        self._ending: asyncio.Future[None] | None = None

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> FrontierScheduler:
        """Make the scheduler as Scrapy does."""
        return cls(crawler)

    # --- life
    def open(self, spider: Spider) -> None:
        """Open the backends and hook into the engine. Raises ``CloseSpider`` when data cannot be opened."""
        self.spider = spider
        if not self.crawler.settings.get("NEWSBOT_CONTACT"):
            logger.info("%s", ASK_FOR_CONTACT)
        for name in ignored_settings(self.crawler.settings):
            logger.warning("setting not used name=%s; see docs/settings.md, REDIS_URL", name)
        try:
            self._crawl.open()
            for owner in dead_owners(self._context.frontier.owners()):
                handed_back = self._context.frontier.release(owner, lost=True)
                logger.info("took back from a dead worker leases=%d owner=%s", handed_back, owner)
        except DataError as error:
            logger.error("data unavailable fault=%s", error)
            # Scrapy closes a scraper that it has not opened yet, and logs that fault of its own at length
            logging.getLogger("scrapy.core.engine").addFilter(is_about_us)
            raise CloseSpider("data_unavailable") from error
        self._hook()
        atexit.register(self._hand_back)  # a second Ctrl-C ends the process without close()
        self._begin()
        self._context.outage.ending = lambda: self.slot.closing is not None
        self._context.outage.give_up = self._end_of_disk
        self._heartbeat = create_looping_call(self._beat)
        self._heartbeat.start(self.lease_seconds / 4, now=False)
        if self._crawl.refill is not None:
            self._refilling = create_looping_call(self._refill)
            self._refilling.start(REFILL_EVERY, now=True)

    def _begin(self) -> None:
        """Make the queue of completed visits and the recovery; the backends are open."""
        crawl = self._crawl
        self.completed = CompletionQueue(self.crawler, self._context, self._scope, crawl.completion)
        self.recovery = Recovery(
            context=self._context,
            scope=self._scope,
            politeness=self._politeness,
            links=self._links,
            refill=crawl.refill,
            owner=crawl.owner,
            leases=self._leases,
            ttl=self.lease_seconds,
        )

    def _hook(self) -> None:
        engine = self.crawler.engine
        slot: Any = getattr(engine, "_slot", None)
        if not all(hasattr(slot, name) for name in ("remove_request", "inprogress", "nextcall")):
            raise RuntimeError(
                "this Scrapy's engine slot lacks remove_request, inprogress or nextcall: install the version "
                "that requirements.txt names"
            )
        self.slot: Any = slot
        remove_request = slot.remove_request

        def remove_and_settle(request: Request) -> None:
            try:
                self._finished(request)
            finally:
                remove_request(request)

        slot.remove_request = remove_and_settle

    def close(self, reason: str) -> None:
        """Settle what can be settled, hand back all leases, close the backends."""
        for call in (self._heartbeat, self._refilling):
            if call is not None and call.running:
                call.stop()
        if self._wake is not None:
            self._wake.cancel()
        if not self._context.is_open:
            return
        self._context.outage.try_now()
        with suppress(DataError):  # what stays unsettled is handed back: it is fetched again
            self.completed.settle()
        atexit.unregister(self._hand_back)
        self._hand_back()
        with suppress(DataError):
            self._crawl.write_sites()
        self._context.outage.close()
        self._crawl.close()

    def _hand_back(self) -> None:
        """Let others have the leases of a crawl that is ended by force; what they were for is done again."""
        try:
            self._context.frontier.release(self._crawl.owner)
        except DataError:  # the outage has told what is wrong
            held = len({lease.entry.fingerprint for lease in self._leases()})
            again = self.lease_seconds
            logger.warning("not handed back leases=%d free_in_seconds=%.0f", held, again)

    # --- Scrapy's questions
    def has_pending_requests(self) -> bool:
        """Return True while something is to be done in this crawl, by this worker or by another."""
        if self._ready or self._hops or self.completed or self.recovery:
            return True
        if self._scope.arguments.mode == "continuous":
            return True
        refill = self._crawl.refill
        filling = refill is not None and not refill.covers(self._crawl.started)
        if filling or self._context.outage.wait > 0:
            return True
        try:
            outlook = self._outlook()
        except DataError:
            return True
        if outlook.leased > self.completed.held:
            return True
        return outlook.next_at is not None and outlook.next_at - self._context.clock() <= self.patience

    def enqueue_request(self, request: Request) -> bool:
        """Take the next hop of a visit, or queue a request that somebody's spider made."""
        visit: Visit | None = request.meta.get(META_KEY)
        if visit is not None:
            visit.carrier = request
            self._hand_on(request, visit)
            return True
        try:
            return queue_request(self._links, request)
        except DataError:
            self.recovery.queue_later(request)
            return True

    def next_request(self) -> Request | None:
        """Return the next request with its lease, or None: Scrapy is woken when there is one."""
        self._take_hops()
        if not self._ready and not self._context.outage.wait:
            with suppress(DataError):  # the outage has told it
                self.recovery.catch_up()
                self.completed.settle()
                self._lease()
        if self._ready:
            return self._ready.popleft()
        self._wake_later()
        return None

    def _hand_on(self, request: Request, visit: Visit) -> None:
        """Let a redirect's next hop take a turn of its host's clock, as every other request does."""
        host = host_key(request.url)
        delay = self._politeness.delay_of(host)
        if delay > 0:
            self._politeness.rest(host, 2 * delay)
        self._hops.append((self._context.clock() + delay, request))

    def _take_hops(self) -> None:
        now = self._context.clock()
        for _ in range(len(self._hops)):
            at, request = self._hops.popleft()
            if at <= now:
                self._ready.append(request)
            else:
                self._hops.append((at, request))

    # --- leases
    @property
    def _horizon(self) -> float:
        """A crawl that runs once does what was due at its start, and what it finds; else what is due now."""
        return self._crawl.started if self._scope.arguments.mode == "once" else self._context.clock()

    def _outlook(self) -> Outlook:
        return self._context.frontier.outlook(horizon=self._horizon, accept=self._scope.accepting)

    def _lease(self) -> None:
        free = self.concurrency - len(self.slot.inprogress)
        if free <= 0:
            return
        with self._context.timed("lease"):
            leases = self._context.frontier.lease(
                self._crawl.owner,
                free,
                horizon=self._horizon,
                ttl=self.lease_seconds,
                accept=self._scope.accepting,
            )
        self._context.count("frontier/leased", len(leases))
        if leases:
            self._in_vain = 0
        for lease in leases:
            try:
                self._ready.append(self._request(lease))
            except ValueError as error:  # no address for Scrapy, or for the rules as they are now
                logger.warning("set aside url=%s fault=%s", lease.entry.url, error)
                self._context.count("errors/bad_url")
                self.recovery.set_aside(lease)
        if self.recovery:
            self.recovery.catch_up()

    def _request(self, lease: Lease) -> Request:
        entry = lease.entry
        rule = self._context.rules.get(entry.data.get("source", "")) or self._context.rule_for(entry.url)
        visit = Visit(lease=lease, rule=rule, started=self._context.clock(), outcome=Outcome(kind=entry.kind))
        visit.url = entry.url
        request = Request(
            entry.url,
            callback=self.spider.parse,
            errback=getattr(self.spider, "failed", None),
            meta={META_KEY: visit},
            dont_filter=True,
        )
        if entry.kind in (Kind.FEED, Kind.SITEMAP):
            request.meta["download_maxsize"] = self.source_maxsize
        visit.carrier = request
        return request

    def _beat(self) -> None:
        with suppress(DataError):
            self._context.frontier.extend(self._crawl.owner, self.lease_seconds)
        trim()
        with suppress(DataError):
            self._removals.take_out()
        with suppress(DataError):
            self._crawl.write_sites()

    def _leases(self) -> Iterator[Lease]:
        """Yield what this worker works on."""
        waiting = [request for _, request in self._hops]
        for request in (*self._ready, *waiting, *self.slot.inprogress):
            visit: Visit | None = request.meta.get(META_KEY)
            if visit is not None:
                yield visit.lease
        yield from self.completed.leases()

    def _refill(self) -> None:
        if self._crawl.refill is not None and not self._context.outage.wait:
            with suppress(DataError):
                self._crawl.refill.step()

    # --- the end of a visit
    def _finished(self, request: Request) -> None:
        visit: Visit | None = request.meta.get(META_KEY)
        if visit is None or visit.carrier is not request:
            return  # robots.txt, or a hop that handed its visit on
        self.completed.add(visit)
        if not self._context.outage.wait:
            with suppress(DataError):
                self.completed.settle()

    # --- waiting
    def _wake_later(self) -> None:
        if self._wake is not None:
            return
        now = self._context.clock()
        wait = self._context.outage.wait
        if not wait:
            next_at = None
            with suppress(DataError):
                next_at = self._outlook().next_at
            turns = [at for at, _ in self._hops]
            if next_at is not None:
                turns.append(next_at if next_at > now else now + self._taken())
            wait = min(max(min(turns, default=now + LOOK_AGAIN) - now, 0.002), LOOK_AGAIN)
        self._wake = call_later(wait, self._woken)

    def _taken(self) -> float:
        self._in_vain += 1
        return min(TAKEN * 2.0 ** min(self._in_vain - 1, 10), MAX_TAKEN)

    def _woken(self) -> None:
        self._wake = None
        self.slot.nextcall.schedule()

    def _end_of_disk(self) -> None:
        """End the crawl: the local disk is full, nothing can be kept."""
        engine = self.crawler.engine
        assert engine is not None
        if self._ending is None:
            self._ending = asyncio.ensure_future(engine.close_spider_async(reason="disk_full"))
