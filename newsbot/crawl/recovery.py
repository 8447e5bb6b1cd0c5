"""Restores a worker's state in the frontier after an outage.

The worker's leases may have expired during the outage. The worker resumes its leases before it does anything
else (:meth:`newsbot.frontier.base.Frontier.resume`). Then it repeats the writes that failed during the
outage.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial

from scrapy import Request

from newsbot.backends import place_of
from newsbot.crawl.context import Context
from newsbot.crawl.links.queue import Links
from newsbot.crawl.politeness import Politeness
from newsbot.crawl.refill import Refill
from newsbot.crawl.scope import Scope
from newsbot.crawl.seeds import seeds
from newsbot.crawl.visit import Found
from newsbot.errors import RecordRefused
from newsbot.frontier.base import Lease
from newsbot.items import Kind, Link, Where

logger = logging.getLogger(__name__)


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
        """True if the frontier's server has lost its data and the sources are not queued again yet."""
        self._unqueued: list[Request] = []
        self._unusable: list[Lease] = []
        context.outage.on_return[place_of(context.bare_frontier)] = self._resume

    def __bool__(self) -> bool:
        """True while something is still to be written to the frontier."""
        return bool(self._emptied or self._unqueued or self._unusable)

    def queue_later(self, request: Request) -> None:
        """Keep a request of a user's spider that could not be queued."""
        self._unqueued.append(request)

    def set_aside(self, lease: Lease) -> None:
        """Set a lease aside in the next :meth:`catch_up`."""
        self._unusable.append(lease)

    def _resume(self) -> None:
        """Resume the leases. The outage calls this before any other call to the frontier."""
        held = list(self._leases())
        # The guarded frontier must not be used here: it would call this method again.
        frontier = self._context.bare_frontier
        resume = partial(frontier.resume, self._owner, held, self._ttl)
        resumed = resume() if frontier.is_local else self._context.calls.call(frontier.place, resume)
        if resumed.emptied:
            self._emptied = True
            logger.error(
                "queue came back empty in_work=%d; its server has lost its data (is appendonly on?)."
                " Pages in progress are completed, and sources are queued again",
                len(held),
            )

    def catch_up(self) -> None:
        """Do the writes to the frontier that failed during the outage.

        Raises :class:`newsbot.errors.DataError`; may be called again.
        """
        if self._emptied:
            self._begin_again()
            self._emptied = False
        self._politeness.tell_rests()
        while self._unqueued:
            queue_request(self._links, self._unqueued[0])
            # Removed only after the write has succeeded, because the call above may raise.
            del self._unqueued[0]
        while self._unusable:
            self._context.frontier.nack(self._unusable[0], delay=0.0, aside=True)
            del self._unusable[0]

    def _begin_again(self) -> None:
        """Write hosts and sources to an empty frontier. The refill loads all other pages from the storage."""
        if self._refill is not None:
            self._refill.restart()
        self._politeness.introduce_again()
        for found in seeds(self._context, self._scope):
            self._links.queue(replace(found, force=False))  # so that fetched pages are not fetched again


def queue_request(links: Links, request: Request) -> bool:
    """Queue a request of a user's spider. Return True if its URL was not known or ``dont_filter`` is set.

    Raises :class:`newsbot.errors.DataError`.
    """
    link = Link(url=request.url, where=Where.ARGUMENT, kind=request.meta.get("kind", Kind.ARTICLE))
    found = Found(links=(link,), referrer=None, depth=0, force=request.dont_filter)
    try:
        new = links.queue(found)
    except RecordRefused as error:
        logger.warning("not queued url=%s fault=%s", request.url, error)
        return False
    return new > 0 or request.dont_filter
