"""The gate before each download: a page is not fetched again before its interval has passed.

The decision is :func:`newsbot.recrawl.gate`; this part looks up the page record, adds the conditional
headers and notes what the answer says of the page.
"""

from __future__ import annotations

from scrapy.crawler import Crawler
from scrapy.http import Request, Response

from newsbot.crawl.assembly import Crawl
from newsbot.crawl.failures import Ignored
from newsbot.crawl.seeds import refuse_unnamed
from newsbot.crawl.visit import META_KEY, Ending, Visit
from newsbot.items import Reason, Where
from newsbot.middlewares.heads import Heads
from newsbot.recrawl import gate, parse_max_age
from newsbot.recrawl.planning import LONGEST_SOURCE_REST


class ReprocessingMiddleware:
    """See the module's text."""

    def __init__(self, crawler: Crawler) -> None:
        crawl = Crawl.of(crawler)
        self._context, self._scope, self._removals = crawl.context, crawl.scope, crawl.removals
        self._canonical, self._frontier_knows_all = crawl.canonical, crawl.frontier_knows_all
        self._heads = Heads(crawl.context)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> ReprocessingMiddleware:
        """Make the middleware as Scrapy does."""
        return cls(crawler)

    def process_request(self, request: Request) -> None:
        """Let the request pass with conditional headers, or raise :class:`Ignored` (``too_young``)."""
        visit: Visit | None = request.meta.get(META_KEY)
        # robots.txt, or a later hop of a visit that was let through
        if visit is None or visit.hops or visit.asked_head:
            return
        if visit.rule.domain in self._scope.limited:
            visit.end(Ending.HELD)
            raise Ignored(Reason.LIMIT, "this crawl has all that it may take of the site")
        now = self._context.clock()
        if self._removals.covers(visit.lease.entry.fingerprint, visit.lease.entry.host):
            raise Ignored(Reason.REMOVED, "taken out by scrapy remove, which keeps it out")
        refuse_unnamed(self._context, self._scope, visit)
        if self._canonical.other_name(visit) is not None:
            raise Ignored(Reason.SAME_PAGE, "differs from a known page in a session's id only")
        self._look_up(visit)
        interval = 0.0 if visit.forced else visit.rule.interval.get(visit.kind, 0.0)
        if visit.kind.is_source:
            interval = min(interval, LONGEST_SOURCE_REST)
        decision = gate(visit.record, interval, now)
        if not decision.fetch and not visit.forced and visit.lease.attempts == 0:
            self._context.count("gated")
            visit.page["next_due"] = decision.until
            raise Ignored(Reason.TOO_YOUNG, decision.reason)
        kept_as = None if visit.record is None else visit.record.kind
        visit.anew = visit.kind.is_source and (self._scope.arguments.narrows or kept_as is not visit.kind)
        if visit.anew:
            return
        for name, value in decision.headers.items():
            request.headers.setdefault(name, value)
        self._heads.begin(request, visit)

    def _look_up(self, visit: Visit) -> None:
        """Find the page's record. The frontier knows which were never fetched: those are not looked up."""
        lease, data = visit.lease, visit.data
        untouched = lease.last_fetched is None and lease.attempts == 0
        found = not data.get("again") and data.get("where") != Where.REDIRECT
        if untouched and found and not visit.kind.is_source and self._frontier_knows_all():
            return
        key = lease.entry.fingerprint
        visit.record = self._context.storage.pages.get([key]).get(key)

    def process_response(self, request: Request, response: Response) -> Request | Response:
        """Note status and validators of the answer in the visit; after HEAD, ask for the page if need be."""
        visit: Visit | None = request.meta.get(META_KEY)
        if visit is not None and request.method == "HEAD":
            following = self._heads.answer(visit, request, response)
            if isinstance(following, Request):
                return following
            response = following
        if visit is not None:
            visit.url = response.url
            visit.outcome.status = response.status
            visit.outcome.not_modified = response.status == 304
            cache_control = response.headers.get("Cache-Control") or b""
            visit.outcome.max_age = parse_max_age(cache_control.decode("latin-1"))
            self._note_headers(visit, response)
            self._context.count("bytes", len(response.body))
            if response.status == 304:
                self._count_saving(visit, request)
        return response

    def _count_saving(self, visit: Visit, request: Request) -> None:
        if visit.record is not None and visit.record.content_length:
            kind = "head" if request.method == "HEAD" else "unchanged"
            self._context.count(f"bytes_saved/{kind}", visit.record.content_length)

    @staticmethod
    def _note_headers(visit: Visit, response: Response) -> None:
        names = {"etag": "ETag", "last_modified": "Last-Modified", "server": "Server"}
        if response.status != 304:
            names["content_type"] = "Content-Type"
            visit.page["content_length"] = len(response.body)
        for field, name in names.items():
            value = response.headers.get(name)
            if value is not None:
                visit.page[field] = value.decode("latin-1")[:500]
            elif response.status == 200:
                visit.page[field] = None
