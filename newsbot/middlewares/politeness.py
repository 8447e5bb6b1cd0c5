"""Lets a host rest that says "slow down" or does not answer: for all workers.

429 and 503 with Retry-After (RFC 9110, 10.2.3) rest the host as long as it asks; without it, and after
timeouts and refused connections, the pause doubles with every further fault up to a limit.
"""

from __future__ import annotations

from scrapy.crawler import Crawler
from scrapy.http import Request, Response

from newsbot.crawl.assembly import Crawl
from newsbot.crawl.context import MAX_HOSTS
from newsbot.crawl.failures import cause_of
from newsbot.crawl.visit import ASIDE_KEY, META_KEY, Visit
from newsbot.items import EventKind, Reason
from newsbot.recrawl import parse_retry_after
from newsbot.urls import host_key

SLOW_DOWN = (429, 503)
HOST_FAULTS = (
    Reason.TIMEOUT,
    Reason.REFUSED,
    Reason.DNS,
    Reason.CONNECTION,
    Reason.TLS,
    Reason.PROXY,
)
FIRST_PAUSE = 2.0
LONGEST_PAUSE = 900.0
MAX_RETRY_AFTER = 24 * 3600.0


class PolitenessMiddleware:
    """See the module's text."""

    def __init__(self, crawler: Crawler) -> None:
        crawl = Crawl.of(crawler)
        self._context, self._politeness = crawl.context, crawl.politeness
        self._faults: dict[str, int] = {}

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> PolitenessMiddleware:
        """Make the middleware as Scrapy does."""
        return cls(crawler)

    def process_response(self, request: Request, response: Response) -> Response:
        """Rest the host on 429 and 503; forget earlier faults on any other answer."""
        visit: Visit | None = request.meta.get(META_KEY)
        if visit is None and ASIDE_KEY not in request.meta:
            return response
        host = host_key(request.url)
        if response.status not in SLOW_DOWN:
            self._faults.pop(host, None)
            return response
        header = (response.headers.get("Retry-After") or b"").decode("latin-1")
        asked = parse_retry_after(header, self._context.clock())
        asked = None if asked is None else min(asked, MAX_RETRY_AFTER)
        if visit is not None:
            visit.outcome.retry_after = asked
        self._rest(host, visit, asked)
        return response

    def process_exception(self, request: Request, exception: Exception) -> None:
        """Rest the host when it could not be reached."""
        visit: Visit | None = request.meta.get(META_KEY)
        if (visit is not None or ASIDE_KEY in request.meta) and cause_of(exception) in HOST_FAULTS:
            asked = None if visit is None else visit.outcome.retry_after
            self._rest(host_key(request.url), visit, asked)

    def _rest(self, host: str, visit: Visit | None, asked: float | None) -> None:
        """Rest the host that answered or failed: after a redirect not the one that was leased."""
        if len(self._faults) >= MAX_HOSTS:
            self._faults.clear()
        faults = self._faults[host] = self._faults.get(host, 0) + 1
        pause = asked if asked is not None else min(FIRST_PAUSE * 2.0 ** min(faults - 1, 30), LONGEST_PAUSE)
        self._politeness.rest(host, pause)
        self._context.count("backed_off")
        if visit is not None:
            visit.note(self._context.clock(), EventKind.HOST_RESTS, host=host, seconds=round(pause, 1))
