"""What a worker does first when its data are back after an outage.

Its leases may have ended meanwhile, although it lives: it takes them up again before anything else of it is
carried out (:meth:`newsbot.frontier.base.Frontier.resume`), then tells what it could not tell.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from dataclasses import replace

from scrapy import Request

from newsbot.crawl.context import CrawlState
from newsbot.crawl.links.judge import queue_found
from newsbot.crawl.sources import sources
from newsbot.crawl.visit import Found
from newsbot.errors import RecordRefused
from newsbot.frontier.base import Lease
from newsbot.items import Kind, Link, Where

logger = logging.getLogger(__name__)


class Resumption:
    """``leases`` gives what this worker works on; ``ttl`` how long a lease lasts, in seconds."""

    def __init__(self, state: CrawlState, leases: Callable[[], Iterable[Lease]], ttl: float) -> None:
        self._state = state
        self._leases = leases
        self._ttl = ttl
        self._emptied = False
        self._unqueued: list[Request] = []
        self._unusable: list[Lease] = []
        state.outage.on_return[state.bare_frontier.place] = self._resume

    def __bool__(self) -> bool:
        """True while something is still to be told."""
        return bool(self._emptied or self._unqueued or self._unusable)

    def queue_later(self, request: Request) -> None:
        """Keep a request of somebody's spider that could not be queued."""
        self._unqueued.append(request)

    def set_aside(self, lease: Lease) -> None:
        """Set a lease aside with the next :meth:`catch_up`."""
        self._unusable.append(lease)

    def _resume(self) -> None:
        """Take up the leases again; called by the outage before any other call to the frontier."""
        held = list(self._leases())
        resumed = self._state.bare_frontier.resume(self._state.owner, held, self._ttl)
        if resumed.emptied:
            self._emptied = True
            logger.error(
                "queue came back empty in_work=%d; its server has lost its data (is appendonly on?),"
                " pages in work go on, sources are queued again",
                len(held),
            )

    def catch_up(self) -> None:
        """Tell the frontier what it missed. Raises :class:`newsbot.errors.DataError`; may be called again."""
        state = self._state
        if self._emptied:
            self._begin_again()
            self._emptied = False
        state.tell_rests()
        while self._unqueued:
            queue_request(state, self._unqueued[0])
            del self._unqueued[0]
        while self._unusable:
            state.frontier.nack(self._unusable[0], delay=0.0, aside=True)
            del self._unusable[0]

    def _begin_again(self) -> None:
        """Fill an empty frontier: how to treat the hosts, then the sources; the storage has the rest."""
        state = self._state
        state.refill_anew()
        for host in state.known_hosts:
            delay = state.delay_of(host)
            rule = state.rule_for(f"http://{host}/")
            concurrency = 1 if delay > rule.delay else rule.concurrency
            state.frontier.set_politeness(host, delay=delay, concurrency=concurrency, at_least=True)
            state.frontier.back_off(host, delay)
        for found in sources(state):
            queue_found(state, replace(found, force=False))  # what was fetched already is not asked for again


def queue_request(state: CrawlState, request: Request) -> bool:
    """Queue a request that somebody's spider made; True if it was not known.

    Raises :class:`newsbot.errors.DataError`.
    """
    link = Link(url=request.url, where=Where.ARGUMENT, kind=request.meta.get("kind", Kind.ARTICLE))
    found = Found(links=(link,), referrer=None, depth=0, force=request.dont_filter)
    try:
        new = queue_found(state, found)
    except RecordRefused as error:
        logger.warning("not queued url=%s fault=%s", request.url, error)
        return False
    return new > 0 or request.dont_filter
