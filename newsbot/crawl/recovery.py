"""Keeps a worker's state in the frontier, and restores it after an outage.

The worker's leases may have expired during the outage. The worker first resumes its leases
(:meth:`newsbot.frontier.base.Frontier.resume`). Then it repeats the writes that failed during the outage.

Redis copies writes to a replica with a short delay. If the primary server fails, the replica that takes over
may lack the last writes: links that were just queued, delays of hosts, ends of leases. The worker notices
that another server process has the data. It then writes its hosts again, and the refill
(:mod:`newsbot.crawl.refill`) queues all pages that the storage has and the queue lacks.
"""

from __future__ import annotations

import logging
import math
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial

from scrapy import Request

from newsbot.crawl.context import Context
from newsbot.crawl.links.queue import Links
from newsbot.crawl.politeness import Politeness
from newsbot.crawl.refill import Refill
from newsbot.crawl.scope import Scope
from newsbot.crawl.seeds import seeds
from newsbot.crawl.visit import Found
from newsbot.errors import DataError, RecordRefused
from newsbot.frontier.base import Lease, Resumed
from newsbot.items import Kind, Link, Where

logger = logging.getLogger(__name__)

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
