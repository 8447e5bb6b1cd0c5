"""Keeps the queue complete: restores it after an outage, and loads pages from the storage when they are due.

**After an outage** (:class:`Recovery`), the worker's leases may have expired during the outage. It first
resumes its leases (:meth:`newsbot.frontier.base.Frontier.resume`). Then it repeats the writes that failed
during the outage.

Redis copies writes to a replica with a short delay. If the primary server fails, the replica that takes over
may lack the last writes: links that were just queued, delays of hosts, ends of leases. The worker notices
that another server process has the data. It then writes its hosts again, and the refill
queues all pages that the storage has and the queue lacks.

**The refill** (:class:`Refill`). The frontier in Redis keeps only entries that are due within the next
``keep_within`` seconds (its horizon) and drops all other entries. The refill reads the dropped pages from the
storage when their due time comes within the horizon. The order of writes ensures that no page is missed: a
page's record is written with its next due time before its lease is acknowledged. A page that the frontier
drops is due later than all pages of the last read, so the next read finds it.

If a frontier was never filled, it gets all pending pages, all due pages, and the fingerprints of all known
URLs. A frontier counts as never filled if it is new, or if its server has lost its data. This read continues
where it stopped, also in another worker. After a restart or a failover of the server, the frontier may lack
its last writes. Only pages that were added, or that are due, since the last sign of life in its data are then
compared. Page records are written before entries are queued, so the storage has everything that was lost.
"""

from __future__ import annotations

import logging
import math
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice

from scrapy import Request

from newsbot.clock import Clock
from newsbot.crawl.context import Context
from newsbot.crawl.entries import entry_again
from newsbot.crawl.links.queue import Links
from newsbot.crawl.politeness import Politeness
from newsbot.crawl.scope import Scope
from newsbot.crawl.sources import seeds
from newsbot.crawl.visit import Found
from newsbot.errors import DataError, RecordRefused
from newsbot.frontier.base import Entry, LeanFrontier, Lease, RefillTurn, Resumed, known_of
from newsbot.items import Kind, Link, PageRecord, Where
from newsbot.storage.base import Storage

logger = logging.getLogger(__name__)

PAGES_AT_ONCE = 500
"""Maximum number of pages that one step queues. A step takes a few milliseconds."""
RIGHT_SECONDS = 60.0
"""Seconds for which a worker holds the refill lock.

If the worker stops in the middle of a refill, another worker can take over after this time.
"""
ASK_AGAIN = 1.0
"""Seconds after which a worker checks again whether the refilling worker has finished or stopped."""
TELL_EVERY = 60.0
"""Seconds between two log lines on the progress of a read."""
PENDING = ("pending", "leased")
"""States of page records whose visit has not begun or is not completed."""
WRONG_CLOCK = 5.0
"""A warning is logged if a worker's clock differs from the frontier's by more than this, in seconds."""


class Refill:
    """One worker's part of the refill.

    :meth:`step` is called several times per second. Usually, it has nothing to do.
    """

    def __init__(self, frontier: LeanFrontier, storage: Storage, owner: str, clock: Clock) -> None:
        self._frontier = frontier
        self._storage = storage
        self._owner = owner
        self._clock = clock
        self._clock_reported = False
        self.restart()

    def restart(self) -> None:
        """Start again, because the frontier's server has lost its data, or may have lost its last writes."""
        self._pages: Iterator[tuple[PageRecord, bytes]] | None = None
        """The remaining pages of the current read; None if no read is in progress. With each page comes its
        fingerprint in a read of all pages, otherwise the empty key."""
        self._at = b""
        """All pages up to this fingerprint are queued, in a read of all pages."""
        self._read = 0
        """Number of pages read in the current read."""
        self._told_at = 0.0
        """The time of the last log line on the progress."""
        self._anew = False
        """True if the current read fills an empty frontier, or one that has lost its last writes."""
        self._until = 0.0
        """The latest due time of the pages that are being read (POSIX seconds)."""
        self._done_until: float | None = None
        """All pages that are due until this time are queued (POSIX seconds); None before the first read."""
        self._next_move = 0.0
        """The time when known URLs may be moved again, in POSIX seconds."""
        self._next = 0.0
        """The time when the next read may begin, in POSIX seconds."""
        self._queued = 0
        """Number of pages queued in the current read."""

    def covers(self, moment: float) -> bool:
        """Return True if all pages that are due until ``moment`` (POSIX seconds) have been queued."""
        return self._done_until is not None and self._done_until >= moment

    def step(self) -> None:
        """Queue up to :data:`PAGES_AT_ONCE` due pages, if this worker holds the refill lock.

        Raises :class:`newsbot.errors.DataError`.
        """
        if self._pages is None and self._clock() < self._next:
            self._move_known()
            return
        try:
            self._step()
        except BaseException:
            self._pages = None  # after an error, a generator cannot continue; the next step reads again
            raise

    def _step(self) -> None:
        asked = self._clock()
        reading = self._pages is not None
        at = self._at if reading else b""
        turn = self._frontier.refill(self._owner, ttl=RIGHT_SECONDS, reading=reading, at=at)
        self._check_clock(asked, turn.now)
        self._done_until = turn.until
        if not turn.yours:
            self._pages = None
            self._next = self._clock() + ASK_AGAIN
            return
        if self._pages is None:
            self._ask(turn)
        assert self._pages is not None
        some = list(islice(self._pages, PAGES_AT_ONCE))
        self._queue([page for page, _ in some])
        self._read += len(some)
        if len(some) < PAGES_AT_ONCE:
            self._finish()
        else:
            self._at = some[-1][1]
            self._tell("queue is compared with the storage")

    def _move_known(self) -> None:
        """Move known URLs to other queues if the number of queues has changed."""
        if self._clock() < self._next_move:
            return
        at = self._frontier.known_to_move()
        if at is None:
            self._next_move = self._clock() + ASK_AGAIN
            return
        some = list(islice(self._storage.pages.by_key(at), PAGES_AT_ONCE))
        hosts = {page.fingerprint: page.host for page in some}
        self._frontier.move_known(hosts, last=len(some) < PAGES_AT_ONCE)
        self._read += len(some)
        self._at = some[-1].fingerprint if some else b""
        self._tell("known URLs are moved to their queues")

    def _check_clock(self, asked: float, now: float) -> None:
        """Log once if this worker's clock differs from the clock of the frontier's server.

        The worker plans visits by its own clock, so a wrong clock leads to visits at the wrong time.
        ``asked`` is the worker's time before the call, and ``now`` is the server's time during the call.
        """
        if self._clock_reported or asked - WRONG_CLOCK <= now <= self._clock() + WRONG_CLOCK:
            return
        self._clock_reported = True
        logger.warning(
            "clock wrong seconds=%+.0f; this worker's clock differs from that of the queue's server, so"
            " pages are fetched too early or too late. Set the clock (NTP)",
            asked - now,
        )

    def _ask(self, turn: RefillTurn) -> None:
        """Begin to read the pages that are due after ``turn.until``, or all pages if it is None."""
        self._until = turn.now + self._frontier.keep_within
        self._anew = turn.until is None or turn.since is not None
        self._queued = self._read = 0
        self._at, self._told_at = b"", self._clock()
        self._pages = self._stream(turn)

    def _stream(self, turn: RefillTurn) -> Iterator[tuple[PageRecord, bytes]]:
        pages = self._storage.pages
        if turn.since is not None:
            yield from ((page, b"") for page in pages.added(turn.since))
        if turn.until is None:
            yield from ((page, page.fingerprint) for page in pages.by_key(turn.at))
        else:
            yield from ((page, b"") for page in pages.due(after=turn.until, until=self._until))

    def _tell(self, what: str) -> None:
        """Log the progress of a long read."""
        if self._clock() - self._told_at < TELL_EVERY:
            return
        self._told_at = self._clock()
        # Fingerprints are distributed evenly.
        share = f" share={int.from_bytes(self._at[:4]) / 2**32:.1%}" if self._at else ""
        logger.info("%s pages=%d queued=%d%s", what, self._read, self._queued, share)

    def _finish(self) -> None:
        self._pages = None
        turn = self._frontier.refill(self._owner, ttl=RIGHT_SECONDS, until=self._until, reading=True)
        self._done_until = turn.until
        if not turn.yours:
            return  # the lock was lost during the read, so the next step begins again
        # The next read begins well before the horizon is reached, so that there is time for a retry.
        self._next = self._clock() + self._frontier.keep_within / 4
        if self._anew and self._queued:
            logger.warning(
                "queue filled from the storage pages=%d; the queue lacked these pages", self._queued
            )

    def _queue(self, pages: Sequence[PageRecord]) -> None:
        again: list[Entry] = []
        known: dict[bytes, float | None] = {}
        hosts: list[str] = []
        present = known_of(self._frontier, pages)
        for page in pages:
            kept = present.get(page.fingerprint)
            if kept is not None and (
                kept.state != "done" or kept.next_due is not None or page.next_due is None
            ):
                continue  # the frontier has the page, or the page is never due again
            if self._is_wanted(page):
                again.append(entry_again(page))
            else:
                known[page.fingerprint] = page.last_fetched
                hosts.append(page.host)
        # With force, the frontier queues known URLs again, although they are done.
        self._frontier.add(again, force=True)
        self._frontier.remember(known, hosts)
        self._queued += len(again)

    def _is_wanted(self, page: PageRecord) -> bool:
        if page.state in PENDING:
            return True
        # Sources are always kept in the queue (LeanFrontier.keep_within), even if they are due later.
        return page.next_due is not None and (page.kind.is_source or page.next_due <= self._until)


# --- recovery
SLICE = 0.03
"""Maximum number of seconds for which one call writes hosts."""


class Recovery:
    """Resumes leases and repeats missed writes.

    ``leases`` returns the leases that this worker holds. ``ttl`` is the duration of a lease in seconds.
    """

    def __init__(
        self,
        *,
        context: Context,
        scope: Scope,
        politeness: Politeness,
        links: Links,
        refill: Refill | None,
        owner: str,
        leases: Callable[[], Iterable[Lease]],
        ttl: float,
    ) -> None:
        self._context, self._scope, self._politeness, self._links = context, scope, politeness, links
        self._refill, self._owner, self._leases, self._ttl = refill, owner, leases, ttl
        self._emptied = False
        """True after the frontier's server has lost its data, until the sources are queued again."""
        self._replaced = False
        """True after the server may have lost its last writes, until the hosts are written again."""
        self._hosts: Iterator[str] | None = None
        """The iterator that writes one host in each step; None before it was started."""
        self._unqueued: deque[Request] = deque()
        self._unusable: list[Lease] = []
        context.outage.on_return[context.bare_frontier.place] = self._resume

    def __bool__(self) -> bool:
        """True while some writes to the frontier are missing."""
        return bool(self._emptied or self._replaced or self._unqueued or self._unusable)

    def queue_later(self, request: Request) -> None:
        """Keep a request of a user's spider. The next :meth:`catch_up` queues it."""
        self._unqueued.append(request)

    def set_aside(self, lease: Lease) -> None:
        """Keep a lease. The next :meth:`catch_up` sets its entry aside."""
        self._unusable.append(lease)

    def beat(self) -> None:
        """Extend the leases of this worker. Raises :class:`newsbot.errors.DataError`."""
        held = self._held()
        self._judge(self._context.frontier.resume(self._owner, held, self._ttl), held)

    def _held(self) -> list[Lease]:
        return [*self._leases(), *self._unusable]

    def _resume(self) -> None:
        """Resume the leases. After an outage, this method is called before any other call to the frontier."""
        held = self._held()
        # The guarded frontier must not be used here: it would call this method again.
        frontier = self._context.bare_frontier
        resume = partial(frontier.resume, self._owner, held, self._ttl)
        self._judge(resume() if frontier.is_local else self._context.calls.call(frontier.place, resume), held)

    def _judge(self, resumed: Resumed, held: Sequence[Lease]) -> None:
        self._emptied |= resumed.emptied
        self._replaced |= resumed.replaced
        if resumed.emptied or resumed.replaced:
            self._hosts = None
        if resumed.emptied:
            logger.error(
                "queue came back empty in_work=%d; its server has lost its data (is appendonly on?)."
                " Pages in progress are completed, and sources are queued again",
                len(held),
            )
        elif resumed.replaced:
            logger.info(
                "queue has another server process in_work=%d kept=%d; the server may have lost its last"
                " writes, so the queue is compared with the storage",
                *(len(held), resumed.kept),
            )

    def catch_up(self) -> None:
        """Do the writes to the frontier that failed during the outage.

        Raises :class:`newsbot.errors.DataError`; may be called again.
        """
        if self._emptied or self._replaced:
            try:
                self._begin_again()
            except DataError:
                self._hosts = None  # an iterator that raised cannot continue
                raise
        self._politeness.tell_rests()
        while self._unqueued:
            _queue_request(self._links, self._unqueued[0])
            # The request is removed after the write, because the call above may raise an error.
            self._unqueued.popleft()
        while self._unusable:
            self._context.frontier.nack(self._unusable[0], delay=0.0, aside=True)
            del self._unusable[0]

    def _begin_again(self) -> None:
        """Write the hosts to the frontier again. If it is empty, queue the sources too.

        The refill loads all other pages. Because there may be 65,536 hosts, each call works for :data:`SLICE`
        seconds only, unless the frontier is empty.
        """
        if self._hosts is None:
            if self._refill is not None:
                self._refill.restart()
            self._hosts = self._politeness.introduce_again()
        # If the queue is empty, there is nothing to lease, so the crawl can wait until all hosts are written.
        until = math.inf if self._emptied else time.monotonic() + SLICE
        for _ in self._hosts:
            if time.monotonic() > until:
                return
        for found in seeds(self._context, self._scope) if self._emptied else ():
            self._links.queue(replace(found, force=False))  # so that fetched pages are not fetched again
        self._emptied, self._replaced, self._hosts = False, False, None


def _queue_request(links: Links, request: Request) -> None:
    link = Link(url=request.url, where=Where.ARGUMENT, kind=request.meta.get("kind", Kind.ARTICLE))
    found = Found(links=(link,), referrer=None, depth=0, force=request.dont_filter)
    try:
        links.queue(found)
    except RecordRefused as error:
        logger.warning("not queued url=%s fault=%s", request.url, error)
