"""Gives each request a turn of its host, and pauses hosts that answer 429 or 503, or do not answer.

*Pauses* apply to all workers. If a response with the status 429 or 503 has the header Retry-After (RFC 9110,
10.2.3), this header gives the length of the pause. Without Retry-After, and after timeouts and refused
connections, the pause doubles with each further fault up to a limit. Another site could stop the crawl of a
host by linking to URLs of this host that always fail. If such a URL fails and both sites have rules, the host
therefore pauses only briefly. If the whole host has problems, links from its own site fail too.

*Turns* are times that are reserved for one request to a host. They are one delay apart. Every request needs a
turn, including requests for robots.txt and for the targets of redirects. A request without a turn takes the
next free turn. A request that is late for its turn also takes the next free turn. Otherwise, the following
request would come too soon after it. The connection may take long, so the turn is checked again when the
request is sent (:meth:`newsbot.crawl.politeness.Politeness.wait_to_send`).
"""

from __future__ import annotations

import asyncio

from scrapy.crawler import Crawler
from scrapy.http import Request, Response

from newsbot.crawl.address_guard import was_refused
from newsbot.crawl.assembly import Crawl
from newsbot.crawl.context import MAX_HOSTS
from newsbot.crawl.failures import NO_TLS, cause_of
from newsbot.crawl.politeness import MOST_TURNS
from newsbot.crawl.visit import ASIDE_KEY, META_KEY, PART_KEY, TURN_KEY, Turn, Visit
from newsbot.items import Bounded, EventKind, Reason
from newsbot.middlewares import SLOW_DOWN, Middleware, retry_after
from newsbot.urls import host_key

HOST_FAULTS = (
    Reason.TIMEOUT,
    Reason.REFUSED,
    Reason.DNS,
    Reason.CONNECTION,
    Reason.TLS,
    Reason.PROXY,
)
"""Errors that mean that a host could not be reached."""
LATE = 0.05
"""Maximum time by which a request may be late for its turn, as a share of the host's delay."""
LONGEST_WAIT = 60.0
"""Maximum number of seconds for which a page keeps its slot while it waits for its turn."""
FIRST_PAUSE = 2.0
"""Length of the pause after the first fault of a host, in seconds."""
LONGEST_PAUSE = 900.0
"""Maximum length of the doubled pauses, in seconds."""
_REFUSALS = frozenset(NO_TLS) - {Reason.TIMEOUT}
"""Faults that an https request to a host without TLS may cause."""
_COUNTS = {ASIDE_KEY, PART_KEY}
"""Meta keys of requests without a visit whose responses count for the host's pauses."""


class PolitenessMiddleware(Middleware):
    """Gives each request a turn, and pauses hosts after errors."""

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        crawl = Crawl.of(crawler)
        self._context, self._politeness = crawl.context, crawl.politeness
        self._reachability = crawl.reachability
        self._faults = Bounded[str, int](MAX_HOSTS)
        self._plain = Bounded[str, None](MAX_HOSTS)
        """Hosts that answered to http with something other than a redirect."""

    async def process_request(self, request: Request) -> Request | None:
        """Let a request wait for the next turn if it has no turn, or if it is late for its turn.

        If the wait is longer than :data:`LONGEST_WAIT`, the request of a visit is returned to the scheduler
        and waits there, so that its slot becomes free.
        """
        # The turn is removed, because a copy of the request, such as the next hop of a redirect, needs its
        # own turn.
        turn: Turn | None = request.meta.pop(TURN_KEY, None)
        host = host_key(request.url)
        if self._politeness.delay_of(host) <= 0:
            return None
        for _ in range(MOST_TURNS):
            if turn is not None and self._politeness.is_on_time(host, turn, LATE):
                break
            # If no other request has taken a later turn, the frontier can reuse the missed turn of a lease.
            missed = None if turn is None else turn.leased
            # While the frontier is unavailable, the request waits, because other workers may have turns.
            asked, wait = await self._context.outage.patiently(self._take_turn, host, missed)
            turn = Turn(asked + wait)
            if wait > LONGEST_WAIT and META_KEY in request.meta:
                return request.replace(meta={**request.meta, TURN_KEY: turn})
            if wait > 0:
                await asyncio.sleep(wait)
        if turn is not None:
            self._politeness.expect(host, turn)
        return None

    def _take_turn(self, host: str, missed: float | None) -> tuple[float, float]:
        asked = self._context.clock()
        return asked, self._politeness.take_turn(host, missed=missed)

    async def process_response(self, request: Request, response: Response) -> Response:
        """Pause the host after the statuses 429 and 503. Any other response resets its count of faults."""
        self._reachability.answered()
        visit: Visit | None = request.meta.get(META_KEY)
        # An error of robots.txt or tdmrep.json is handled by the middleware that requested the file.
        if visit is None and not _COUNTS.intersection(request.meta):
            return response
        host = host_key(request.url)
        if response.status not in SLOW_DOWN:
            self._faults.pop(host, None)
            if request.url.startswith("http:") and not 300 <= response.status < 400:
                self._plain.add(host)
            return response
        await self._rest(request.url, visit, retry_after(response, self._context.clock()))
        return response

    def _is_strangers(self, visit: Visit, url: str) -> bool:
        """Return True if another site linked to ``url`` or redirected to it, and both sites have rules."""
        named_by = visit.data.get("referrer") or visit.lease.entry.url
        sites = {self._context.rule_for(one).domain for one in (url, named_by)}
        return len(sites) > 1 and all(self._context.rules.get(one) is not None for one in sites)

    async def process_exception(self, request: Request, exception: Exception) -> None:
        """Pause the host if it could not be reached."""
        visit: Visit | None = request.meta.get(META_KEY)
        cause = cause_of(exception)
        if cause not in (*HOST_FAULTS, Reason.PRIVATE_ADDRESS):
            return
        host = host_key(request.url)
        if was_refused(request.url):
            cause = Reason.PRIVATE_ADDRESS
        self._reachability.failed(self._context.rule_for(request.url).domain, cause)
        if request.url.startswith("https:") and host in self._plain and cause in _REFUSALS:
            return  # the host has no TLS, but it answers to http, so it needs no pause
        if (visit is not None or _COUNTS.intersection(request.meta)) and cause in HOST_FAULTS:
            await self._rest(request.url, visit, None)

    async def _rest(self, url: str, visit: Visit | None, asked: float | None) -> None:
        """Pause the host of ``url``. After a redirect, it can differ from the host of the leased entry.

        ``asked`` is the length of the pause from Retry-After in seconds, or None.
        """
        host = host_key(url)
        if visit is not None and self._is_strangers(visit, url):
            pause = FIRST_PAUSE
        else:
            faults = self._faults[host] = self._faults.get(host, 0) + 1
            # The exponent is limited, because 2.0 ** 1024 raises OverflowError.
            longer = min(FIRST_PAUSE * 2.0 ** min(faults - 1, 30), LONGEST_PAUSE)
            pause = longer if asked is None else asked
        await self._context.calls.run(self._politeness.rest, host, pause)
        self._context.count("backed_off")
        if visit is not None:
            visit.note(self._context.clock(), EventKind.HOST_RESTS, host=host, seconds=round(pause, 1))
