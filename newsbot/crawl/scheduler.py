"""Scrapy's scheduler on top of the frontier, for the news crawl.

Each request that leaves the scheduler carries a lease and a visit (:mod:`newsbot.crawl.visit`). The visit is
completed when the request and everything that it yielded are done.

A *turn* is a time reserved for one request to a host. Turns of a host are at least its delay apart.

Nothing is leased while the backends are unavailable; see :mod:`newsbot.crawl.backend_calls`.
"""

from __future__ import annotations

import asyncio
import atexit
import logging
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from enum import Enum, auto
from functools import partial
from typing import Any

from scrapy import Request
from scrapy.core.scheduler import BaseScheduler
from scrapy.crawler import Crawler
from scrapy.exceptions import CloseSpider
from scrapy.spiders import Spider
from scrapy.utils.asyncio import call_later, create_looping_call
from scrapy.utils.defer import deferred_from_coro
from twisted.internet.defer import Deferred

from newsbot.backends import ignored_settings
from newsbot.config.apps import unmet_needs
from newsbot.config.settings import ASK_FOR_CONTACT
from newsbot.crawl.assembly import Component, Crawl
from newsbot.crawl.backend_calls import LONGEST, TURN
from newsbot.crawl.completion import CompletionQueue
from newsbot.crawl.components import not_used
from newsbot.crawl.failures import UNREACHABLE
from newsbot.crawl.links.queue import WAIT
from newsbot.crawl.memory import renew_threads, trim
from newsbot.crawl.politeness import NO_ANSWER, Slots, Waiting
from newsbot.crawl.recovery import Recovery
from newsbot.crawl.visit import META_KEY, TURN_KEY, Turn, Visit
from newsbot.errors import DataError
from newsbot.frontier.base import ALONE, Lease, Outlook, dead_owners
from newsbot.pages.discovery.reader import claiming
from newsbot.sites.statistics import Run, begin_run, end_run, note_run
from newsbot.urls import host_key

logger = logging.getLogger(__name__)

LOOK_AGAIN = 1.0
"""Maximum number of seconds between two tries while nothing can be leased."""
LOOK_SHARE = 0.05
"""Maximum share of the time that is spent on finding out when the next entry can be leased.

The answer may change with each finished page, up to a hundred times per second, and each query takes a few
milliseconds of the server's time.
"""
REFILL_EVERY = 0.1
"""Seconds between two steps of the refill."""
EXPLAIN_EVERY = 2.0
"""Seconds between two updates of the stat :data:`WAITS_FOR`."""
WAITS_FOR = "newsbot/queue/waits_for"
"""Name of the stat with the reason why an idle crawl waits."""
SLICE = 0.03
"""Maximum number of seconds for which visits are completed without a break."""
GO_ON = 0.002
"""Length of the break in seconds. Other tasks use the event loop in the meantime."""
TAKEN = 0.02
"""Seconds until the next try if an entry was due but could not be leased.

Another worker may have been faster, or the entry is a *suspect*: a worker died while it held the entry
(:mod:`newsbot.frontier.base`). A worker holds at most one suspect, so further suspects wait. A try takes
time, so each failed try doubles the pause.
"""
MAX_TAKEN = 0.5
"""Maximum of the doubled pause, in seconds."""
MOST_LEFT = 100
"""Maximum number of times that one call of ``next_request`` leases entries.

The call leases again if some of the leased entries are not worth a fetch. With this limit, the call takes
less than a second.
"""


def is_about_us(record: logging.LogRecord) -> bool:
    """Logging filter: return False for Scrapy's error about a scraper that was never opened."""
    return record.msg != "Scraper close failure"


async def open_crawl(crawl: Crawl, *then: Callable[[], None]) -> None:
    """Open the backends of a crawl, and call ``then``. Raises ``CloseSpider`` if a backend is unavailable."""
    try:
        for step in (crawl.open, *then):
            await crawl.context.calls.run(step)
    except DataError as error:
        logger.error("data unavailable fault=%s", error)
        # Scrapy then closes a scraper that it has not opened, and logs a long traceback about it.
        logging.getLogger("scrapy.core.engine").addFilter(is_about_us)
        raise CloseSpider("data_unavailable") from error


def engine_slot(crawler: Crawler) -> Any:
    """Return the slot of Scrapy's engine, which knows the requests in flight and can wake the engine.

    The slot is private in Scrapy. Raises ``RuntimeError`` if this version of Scrapy has another slot.
    """
    slot = getattr(crawler.engine, "_slot", None)
    names = ("remove_request", "inprogress", "nextcall", "closing")
    if not all(hasattr(slot, name) for name in names):
        raise RuntimeError(
            f"the engine slot of this Scrapy lacks one of {', '.join(names)}: install the version that "
            "requirements.txt names"
        )
    return slot


class _Decision(Enum):
    """The decision on a lease."""

    TAKEN = auto()
    """The page is fetched, or is set aside because its URL is not valid."""
    LEFT = auto()
    """The lease ends without a fetch."""
    HANDED_BACK = auto()
    """The lease is returned to the frontier."""


class FrontierScheduler(Component, BaseScheduler):
    """Leases entries from the frontier, makes requests of them, and completes their visits."""

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self._crawl = crawl = Crawl.of(crawler)
        self._context, self._scope = crawl.context, crawl.scope
        self._politeness, self._links, self._removals = crawl.politeness, crawl.links, crawl.removals
        self._reachability = crawl.reachability
        settings = crawler.settings
        self.lease_seconds = settings.getfloat("NEWSBOT_LEASE_SECONDS")
        self.patience = settings.getfloat("NEWSBOT_PATIENCE")
        self.concurrency = settings.getint("CONCURRENT_REQUESTS")
        self.source_maxsize = settings.getint("NEWSBOT_SOURCE_MAXSIZE")
        self._undecided: deque[Lease] = deque()
        """Leases without a decision. If a backend becomes unavailable, they stay here."""
        self._asked = 0.0
        """The time when the frontier's ``lease`` was last called (POSIX seconds).

        The requests of these leases get this time as their turn.
        """
        self._ready: deque[Request] = deque()
        """Requests that can be sent. They have a lease, or are the next hop of a redirect."""
        self._hops: deque[tuple[float, Request]] = deque()
        """Next hops of redirects that wait for a turn of their host: pairs (time of the turn, request)."""
        self._without_turn: deque[Request] = deque()
        """Next hops of redirects for which no turn is taken yet."""
        self._slots = Slots(self.concurrency, self._context.clock)
        self._heartbeat: Any = None
        self._refilling: Any = None
        self._explaining = create_looping_call(partial(self._context.calls.start, self._explain))
        self._waiting = Waiting(crawl.context, crawl.scope)
        self._leased_before = 0
        self._wake: Any = None
        self._settling: Any = None
        self._look_at = 0.0
        """The time when :meth:`_look` may be called again (seconds of :func:`time.monotonic`)."""
        self._next_at = 0.0
        """The time when the next entry can probably be leased, from the last :meth:`_look` (POSIX
        seconds)."""
        self._wake_is_old = False
        """True if a lease began or ended after the wake-up was planned.

        The next entry may then be ready before the planned wake-up, so a new wake-up is planned.
        """
        self._left = True
        """True if work was left at the last :meth:`_check`."""
        self._has_work: bool | None = None
        """The prepared answer of :meth:`has_pending_requests`; None if none is prepared."""
        self._in_vain = 0
        """Number of consecutive tries in which an entry was due but could not be leased."""
        self._ending: asyncio.Future[None] | None = None
        self._run: Run | None = None

    # --- life
    def open(self, spider: Spider) -> Deferred[None]:
        """Open the backends and hook into the engine. Raises ``CloseSpider`` if they cannot be opened."""
        self.spider = spider
        self._hook()
        if not self.crawler.settings.get("NEWSBOT_CONTACT"):
            logger.info("%s", ASK_FOR_CONTACT)
        for name in ignored_settings(self.crawler.settings):
            logger.warning("setting not used name=%s; see docs/settings.md, REDIS_URL", name)
        for name, why in not_used(self.crawler.settings):
            logger.warning("setting not used name=%s; %s", name, why)
        if unmet := unmet_needs(self.crawler.settings.get("NEWSBOT_APPS")):
            apps = ", ".join(f"{name} (needs {needs})" for name, needs in unmet.items())
            logger.info("apps not used because NEWSBOT_APPS leaves out what they need: %s", apps)
        return deferred_from_coro(self._open())

    async def _open(self) -> None:
        await open_crawl(self._crawl, self._release_lost, self._note_run)
        atexit.register(self._hand_back)  # a second Ctrl-C ends the process without calling close()
        self._begin()
        self._context.outage.ending = lambda: self.slot.closing is not None
        self._context.outage.give_up = lambda: self._end("data_damaged")
        start = self._context.calls.start
        self._heartbeat = create_looping_call(partial(start, self._beat))
        # Two beats may be lost or late before a lease expires.
        self._heartbeat.start(self.lease_seconds / 4, now=False)
        self._explaining.start(EXPLAIN_EVERY, now=False)
        if self._crawl.refill is not None:
            self._refilling = create_looping_call(partial(start, self._refill))
            self._refilling.start(REFILL_EVERY, now=True)

    def _release_lost(self) -> None:
        """Release the leases of this machine's killed workers now, without waiting for the deadline."""
        for owner in dead_owners(self._context.frontier.owners()):
            handed_back = self._context.frontier.release(owner, lost=True)
            logger.info("released for a dead worker leases=%d owner=%s", handed_back, owner)

    def _note_run(self) -> None:
        """Record that this worker runs (:mod:`newsbot.sites.statistics`)."""
        crawl, arguments = self._crawl, self._scope.arguments
        until = self._context.clock() + self.lease_seconds
        fetched = int(self._context.stats.get_value("response_received_count", 0) or 0)
        if self._run is not None:
            self._run = replace(self._run, until=until, fetched=fetched)
            note_run(self._context.notes, self._run)
        else:
            self._run = Run(owner=crawl.owner, mode=arguments.mode, began=crawl.started, until=until)
            begin_run(self._context.notes, self._run)

    def _begin(self) -> None:
        """Create the completion queue and the recovery. The backends must be open."""
        crawl = self._crawl
        self.completed = CompletionQueue(
            self.crawler, self._context, self._scope, crawl.completion, crawl.reachability
        )
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
        self.slot = slot = engine_slot(self.crawler)
        # Scrapy has no signal for the end of a request. But the engine's slot removes each request from
        # ``inprogress`` exactly once. This is the last step after success, drop, error, redirect and ignore.
        remove_request = slot.remove_request

        # The visit must be in the completion queue before the request leaves ``inprogress``: while the spider
        # closes, Scrapy closes the scheduler as soon as the last request is removed.
        def remove_and_settle(request: Request) -> None:
            try:
                self._finished(request)
            finally:
                remove_request(request)

        slot.remove_request = remove_and_settle

    def close(self, reason: str) -> Deferred[None]:
        """Complete the visits that can be completed, release all leases, and close the backends."""
        self._context.stats.set_value(WAITS_FOR, "")
        for call in (self._heartbeat, self._refilling, self._explaining):
            if call is not None and call.running:
                call.stop()
        return deferred_from_coro(self._context.calls.finish(self._close, reason))

    def _close(self, reason: str) -> None:
        for planned in filter(None, (self._wake, self._settling)):
            planned.cancel()
        if not self._context.is_open:
            return
        if not hasattr(self, "recovery"):  # the opening failed when the backends were open already
            self._begin()
        if reason in ("finished", "no_network") and (fault := self._reachability.fault) is not None:
            self._context.stats.set_value(UNREACHABLE, fault)
        # A closing crawl cannot try again later, so each write is tried once, even during an outage.
        self._context.outage.try_now()
        with suppress(
            DataError
        ):  # the leases of the other visits are released; their pages are fetched again
            self.recovery.catch_up()
            self.completed.settle()
        atexit.unregister(self._hand_back)
        self._hand_back()
        with suppress(DataError):
            self._crawl.write_sites()
        with suppress(DataError):
            if self._run is not None:
                fault = self._context.stats.get_value(UNREACHABLE) or ""
                end_run(self._context.notes, self._run, self._context.clock(), reason, fault)
        self._context.outage.close()
        self._crawl.close()

    def _hand_back(self) -> None:
        """Release all leases of this worker, so that other workers can fetch their pages."""
        try:
            self._context.frontier.release(self._crawl.owner)
        except DataError:  # the outage has logged the fault
            held = len({lease.entry.fingerprint for lease in self._leases()})
            again = self.lease_seconds
            logger.warning("not released leases=%d free_in_seconds=%.0f", held, again)

    # --- Scrapy's scheduler interface
    def has_pending_requests(self) -> bool:
        """Return True while the crawl has work, for this worker or for another worker.

        Scrapy closes the spider if this is False and no request is in progress.
        """
        if self._has_work is not None:
            return self._has_work
        return self._context.calls.busy or self._work_is_left()

    def _work_is_left(self) -> bool:
        if self._ready or self._hops or self._without_turn or self.completed or self.recovery:
            return True
        if self._scope.arguments.mode == "continuous":  # runs until it is stopped
            return True
        refill = self._crawl.refill
        filling = refill is not None and not refill.covers(self._crawl.started)
        if filling or self._context.outage.wait > 0:
            return True
        try:
            outlook = self._outlook()
        except DataError:
            return True
        # Pages that other workers are fetching may have new links, so this worker stays.
        if outlook.leased > self.completed.held:
            return True
        return outlook.next_at is not None and outlook.next_at - self._context.clock() <= self.patience

    def enqueue_request(self, request: Request) -> bool:
        """Take the next hop of a redirect, or queue a request of a user's spider in the frontier."""
        visit: Visit | None = request.meta.get(META_KEY)
        if visit is None:
            self.recovery.queue_later(request)
            self._context.calls.start(self._settle, then=self._worked)
        else:
            # Scrapy also finishes the request that was redirected. _finished() must not treat this as the end
            # of the visit.
            visit.carrier = request
            self._without_turn.append(request)
        return True

    def next_request(self) -> Request | None:
        """Return the next request with its lease, or None. If None, Scrapy is woken for the next request."""
        self._take_hops()
        # _has_work is set while Scrapy is about to read the prepared answer: see _worked().
        if not self._ready and self._has_work is None:
            self._context.calls.start(self._work, then=self._worked)
        return self._ready.popleft() if self._ready else None

    def _work(self) -> None:
        """Complete visits and lease entries. If no request is ready then, plan when to try again."""
        self._take_turns()
        self._take_hops()
        if self._ready:
            return
        if not self._context.outage.wait:
            with suppress(DataError):  # the outage is logged already
                self.recovery.catch_up()
                # Finished visits usually wait, so that they are completed together. If no request is in
                # flight, no other visit ends soon, so they are completed now. Their results may also decide
                # whether the next entry is downloaded.
                if self._settling is None or not self.slot.inprogress:
                    self.completed.settle(SLICE)
                if not self._reachability.enough_tried:
                    self._lease()
                self._judge_failures()
        if not self._ready:
            self._wake_later()

    def _settle(self) -> None:
        if not self._context.outage.wait:
            with suppress(DataError):
                self.recovery.catch_up()
                self.completed.settle(SLICE)

    def _worked(self) -> None:
        """Wake Scrapy after work that waited for a slow server.

        If Scrapy gets no request, it calls :meth:`has_pending_requests`. This call must not block the event
        loop. The answer is therefore prepared in a section, and no new work begins before Scrapy has it.
        """
        if self._ready or (self.completed and not self._reachability.in_doubt):
            self.slot.nextcall.schedule()
        elif not self.slot.inprogress and self._context.calls.start(self._check, then=self._checked):
            self._checked()

    def _check(self) -> None:
        self._left = self._work_is_left()

    def _checked(self) -> None:
        if not self.slot.inprogress:
            self._has_work = self._left
            self.slot.nextcall.schedule()
            # _forget() runs after Scrapy's call, which nextcall.schedule() has just planned
            call_later(0, self._forget)

    def _forget(self) -> None:
        self._has_work = None

    def _judge_failures(self) -> None:
        """Decide whether the network or the sites are at fault, if no host was reached.

        The decision is made when no request is in flight. Either the crawl ends because there is no network,
        or the failures are attributed to the few sites that were tried.
        """
        if not self._reachability.in_doubt or self._ready or self.slot.inprogress:
            return
        if not (self._reachability.begun or self._reachability.enough_tried):
            return
        if self._reachability.is_ours:
            self._end("no_network")
        else:
            self._reachability.believe()
            self.completed.settle()

    def _take_turns(self) -> None:
        """Let the next hops of redirects wait for a turn of their host, like every other request."""
        while self._without_turn:
            request = self._without_turn[0]
            if TURN_KEY not in request.meta:
                asked = self._context.clock()
                try:
                    rest = self._politeness.take_turn(host_key(request.url))
                except DataError:
                    return  # the outage is logged already
                request.meta[TURN_KEY] = Turn(asked + rest)
                self._hops.append((self._context.clock() + rest, self._without_turn.popleft()))
                continue
            self._hops.append((request.meta[TURN_KEY].at, self._without_turn.popleft()))

    def _take_hops(self) -> None:
        now = self._context.clock()
        # Each hop is taken from the front once. If its turn has not come, it is added at the end again.
        for _ in range(len(self._hops)):
            at, request = self._hops.popleft()
            if at <= now:
                self._ready.append(request)
            else:
                self._hops.append((at, request))

    # --- leases
    @property
    def _horizon(self) -> float:
        """Only entries due up to this time are leased (POSIX seconds).

        In mode ``once``, this is the start of the crawl. In mode ``continuous``, it is the present time.
        Newly found links are leased in mode ``once`` too, since their due time is 0.
        """
        return self._crawl.started if self._scope.arguments.mode == "once" else self._context.clock()

    def _outlook(self) -> Outlook:
        return self._context.frontier.outlook(horizon=self._horizon, accept=self._scope.accepting)

    def _lease(self) -> None:
        free = self.concurrency - len(self.slot.inprogress)
        if free <= 0:
            return
        in_flight = list(self._in_flight())
        # A suspect whose leases were lost ALONE times is fetched alone: if this worker dies too, the suspect
        # must be the cause. Nothing else is leased while such an entry is in flight.
        if any(lease.lost >= ALONE for lease in in_flight):
            return
        taken = 0
        for _ in range(MOST_LEFT):
            if not self._undecided:
                with self._context.timed("lease"):
                    self._undecided.extend(self._leased(free - taken, alone=not in_flight and not taken))
            full = self._slots.full
            decided = [self._decide(lease) for lease in self._take_undecided()]
            taken += sum(one is _Decision.TAKEN for one in decided)
            # Another call makes sense only if slots are free, and if some of these entries were not worth a
            # fetch, or were of hosts that the next call leaves out.
            if taken >= free or (_Decision.LEFT not in decided and self._slots.full <= full):
                break
        self._context.count("frontier/leased", taken)
        if taken:
            self._in_vain, self._wake_is_old = 0, True
        if self.recovery:
            self.recovery.catch_up()

    def _leased(self, free: int, *, alone: bool) -> list[Lease]:
        self._asked = self._context.clock()
        return self._context.frontier.lease(
            self._crawl.owner,
            free,
            horizon=self._horizon,
            ttl=self.lease_seconds,
            accept=self._slots.accepting(self._scope.accepting),
            alone=alone,
        )

    def _take_undecided(self) -> Iterator[Lease]:
        """Yield each undecided lease.

        A lease is removed after the caller's decision, because the decision may raise DataError.
        """
        while self._undecided:
            yield self._undecided[0]
            self._undecided.popleft()

    def _decide(self, lease: Lease) -> _Decision:
        """Decide on a lease: fetch its page, return it if no slot is free, or end it if the page is not worth
        a fetch."""
        # After a suspend that was longer than the lease, this worker may lease a page that it is still
        # fetching. The visit then continues with the new lease.
        for visit in (*self._visits_in_flight(), *self.completed.visits()):
            if visit.lease.entry.fingerprint == lease.entry.fingerprint:
                visit.lease = lease
                self._context.frontier.return_turn(lease.entry.host, lease.turn)
                return _Decision.LEFT
        if reason := self._crawl.families.left(lease):
            self._crawl.families.leave(lease, reason)
            return _Decision.LEFT
        if self._crawl.room.must_wait(lease):
            self._context.frontier.nack(lease, delay=WAIT, counted=False)
            self._context.frontier.return_turn(lease.entry.host, lease.turn)
            self._context.count("queue/sitemaps_waiting")
            return _Decision.LEFT
        if not self._slots.take(lease):
            # A window of the entry's groups (newsbot.crawl.politeness) is full. The frontier leases the entry
            # again when accepting() allows its host.
            self._context.frontier.nack(lease, delay=0.0, counted=False)
            return _Decision.HANDED_BACK
        try:
            self._ready.append(self._request(lease))
        except ValueError as error:  # Scrapy or the present rules do not accept the URL
            logger.warning("set aside url=%s fault=%s", lease.entry.url, error)
            self._context.count("errors/bad_url")
            self._slots.end(lease, answered=True)
            self.recovery.set_aside(lease)
        return _Decision.TAKEN

    def _request(self, lease: Lease) -> Request:
        """Return the request for a lease, with a new visit. Raises ``ValueError`` if the URL is not valid."""
        entry = lease.entry
        # The rule is the rule of the site that queued the entry, because a feed may be on another site's
        # host.
        rule = self._context.rules.get(entry.data.get("source", "")) or self._context.rule_for(entry.url)
        reader = claiming(self._context.readers, entry.url) if entry.kind.is_feed else None
        address = entry.url if reader is None else reader.address(entry.url)
        visit = Visit(lease=lease, rule=rule, started=self._context.clock(), address=address)
        self._crawl.pages.expect(entry.fingerprint)
        self._crawl.known.expect(entry.fingerprint)
        self._crawl.sites.expect(rule.domain, entry.url)
        request = Request(
            visit.url,
            callback=self.spider.parse,
            errback=getattr(self.spider, "failed", None),
            meta={META_KEY: visit},
            # the frontier has removed known URLs already
            dont_filter=True,
        )
        if host_key(visit.url) == entry.host:
            request.meta[TURN_KEY] = Turn(self._asked, leased=lease.turn)
        if entry.kind.is_listing:
            request.meta["download_maxsize"] = self.source_maxsize
        visit.carrier = request
        return request

    def _beat(self) -> None:
        """Extend the leases, and write what was learned of each site (:mod:`newsbot.crawl.context`).

        This method is called four times in the duration of a lease.
        """
        # Each step has its own ``suppress``, so that the other steps run after a fault.
        with suppress(DataError):
            self.recovery.beat()
        renew_threads()
        trim()
        with suppress(DataError):
            self._removals.take_out()
        with suppress(DataError):
            self._crawl.write_sites()
        with suppress(DataError):
            self._note_run()

    def _leases(self) -> Iterator[Lease]:
        """Yield the leases that this worker holds, including those of visits that wait for completion."""
        yield from self._undecided
        yield from self._in_flight()
        yield from self.completed.leases()

    def _in_flight(self) -> Iterator[Lease]:
        yield from (visit.lease for visit in self._visits_in_flight())

    def _visits_in_flight(self) -> Iterator[Visit]:
        waiting = [request for _, request in self._hops]
        for request in (*self._ready, *waiting, *self._without_turn, *self.slot.inprogress):
            visit: Visit | None = request.meta.get(META_KEY)
            if visit is not None:
                yield visit

    def _refill(self) -> None:
        if self._crawl.refill is not None and not self._context.outage.wait:
            with suppress(DataError):
                self._crawl.refill.step()

    # --- the end of a visit
    def _finished(self, request: Request) -> None:
        """Complete the visit of a request that Scrapy has finished."""
        visit: Visit | None = request.meta.get(META_KEY)
        if visit is None or visit.carrier is not request:
            return  # a request for robots.txt, or a redirected request: the next hop carries the visit
        self._wake_is_old = True
        busy = self._context.clock() - visit.reading.began if visit.reading.began else 0.0
        self._slots.end(visit.lease, answered=visit.reading.error not in NO_ANSWER, busy=busy)
        self.completed.add(visit)
        if self._settling is None:
            # Visits whose pages are being read end soon. Visits that end within this time are completed
            # together.
            wait = LONGEST if self._context.together.reading else TURN
            self._settling = call_later(wait, self._settle_soon)

    def _settle_soon(self) -> None:
        """Complete the visits that have ended, and wake Scrapy, because their links may be queued now."""
        self._settling = None
        if self._context.calls.start(self._settle, then=self.slot.nextcall.schedule):
            self.slot.nextcall.schedule()

    # --- waiting
    def _wake_later(self) -> None:
        """Plan to wake Scrapy when a request may be ready: at a turn, at a due time, or after an outage."""
        # If next_request() returns None, Scrapy itself calls it again only after 5 seconds.
        if self._wake is not None and not self._wake_is_old:
            return
        self._wake_is_old = False
        now = self._context.clock()
        wait = self._context.outage.wait
        if not wait and self.completed and self._settling is None and not self._reachability.in_doubt:
            wait = GO_ON
        if not wait:
            look_in = self._look_at - time.monotonic()
            if look_in <= 0:
                self._look(now)
                look_in = LOOK_AGAIN  # other programs add to the frontier, too
            waits = (look_in, self._next_at - now, *(at - now for at, _ in self._hops))
            wait = max(min(one for one in waits if one > 0), 0.002)
        if self._wake is not None:
            self._wake.cancel()
        self._wake = call_later(wait, self._woken)

    def _look(self, now: float) -> None:
        """Ask the frontier when the next entry can be leased."""
        began, next_at = time.monotonic(), None
        with suppress(DataError):
            next_at = self._outlook().next_at
        self._next_at = now + LOOK_AGAIN if next_at is None else next_at
        if self._next_at <= now:
            self._next_at = now + self._taken()  # a due entry could not be leased: wait
        ended = time.monotonic()
        self._look_at = ended + min((ended - began) / LOOK_SHARE, LOOK_AGAIN)

    def _explain(self) -> None:
        """Set the stat :data:`WAITS_FOR`. The text is empty if an entry was leased since the last call."""
        leased = self._context.stats.get_value("newsbot/frontier/leased", 0)
        idle, self._leased_before = leased == self._leased_before, leased
        text = ""
        if idle:
            hosts = {host_key(request.url) for request in self.slot.inprogress}
            with suppress(DataError):
                text = self._waiting.text(hosts, horizon=self._horizon, own=lambda: self.completed.held)
        self._context.stats.set_value(WAITS_FOR, text)

    def _taken(self) -> float:
        self._in_vain += 1
        # the exponent is limited, because a very large power would overflow
        return min(TAKEN * 2.0 ** min(self._in_vain - 1, 10), MAX_TAKEN)

    def _woken(self) -> None:
        self._wake = None
        self.slot.nextcall.schedule()

    def _end(self, reason: str) -> None:
        """End the crawl with this reason. Only the first call has an effect."""
        engine = self.crawler.engine
        assert engine is not None
        if self._ending is None:
            self._ending = asyncio.ensure_future(engine.close_spider_async(reason=reason))
