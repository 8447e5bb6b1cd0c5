"""Refuses the download of a page before its interval has passed, and makes requests conditional.

:func:`newsbot.recrawl.planning.gate` decides whether the page may be downloaded. This middleware reads the
page record, adds the conditional headers (RFC 9110, 13.1), and records status and validators of the response
in the visit.
"""

from __future__ import annotations

from scrapy.crawler import Crawler
from scrapy.http import Request, Response

from newsbot.cli.program import PROGRAM
from newsbot.crawl.assembly import Crawl
from newsbot.crawl.context import Context
from newsbot.crawl.failures import Ignored, cause_of_status
from newsbot.crawl.seeds import refuse_unnamed
from newsbot.crawl.visit import META_KEY, Ending, Visit
from newsbot.items import Bounded, EventKind, Reason, Where
from newsbot.middlewares import Middleware
from newsbot.recrawl.planning import (
    LONGEST_SOURCE_REST,
    PASSING,
    UNWILLING,
    gate,
    parse_max_age,
    tells_unchanged,
)
from newsbot.urls import host_key


class ReprocessingMiddleware(Middleware):
    """Applies :func:`newsbot.recrawl.planning.gate` to each request, and makes requests conditional."""

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        crawl = Crawl.of(crawler)
        self._context, self._scope, self._removals = crawl.context, crawl.scope, crawl.removals
        self._canonical, self._frontier_knows_all = crawl.canonical, crawl.frontier_knows_all
        self._pages, self._heads = crawl.pages, Heads(crawl.context)

    async def process_request(self, request: Request) -> None:
        """Let the request pass with conditional headers, or raise :class:`Ignored` with the reason.

        Reasons: ``limit``, ``removed``, ``unnamed``, ``same_page``, ``too_young``.
        """
        visit: Visit | None = request.meta.get(META_KEY)
        # Two kinds of requests are not checked: requests without a visit, such as requests for robots.txt,
        # and later requests of a visit whose first request was checked.
        if visit is not None and not visit.hops and not visit.asked_head:
            await self._context.calls.run(self._check, request, visit)

    def _check(self, request: Request, visit: Visit) -> None:
        if visit.rule.domain in self._scope.limited:
            # The lease is kept until this crawl closes. The next crawl then fetches the page.
            visit.end(Ending.HELD)
            raise Ignored(Reason.LIMIT, "the crawl has reached its limit of articles for this site")
        now = self._context.clock()
        if self._removals.covers(visit.lease.entry.fingerprint, visit.lease.entry.host):
            raise Ignored(Reason.REMOVED, f"the URL was removed with {PROGRAM} remove")
        refuse_unnamed(self._context, self._scope, visit)
        if self._canonical.other_name(visit) is not None:
            raise Ignored(Reason.SAME_PAGE, "the URL differs from a known URL only in a session id")
        self._look_up(visit)
        interval = 0.0 if visit.forced else visit.rule.interval.get(visit.kind.like, 0.0)
        if visit.kind.is_source:
            interval = min(interval, LONGEST_SOURCE_REST)
        decision = gate(visit.record, interval, now)
        # A retry is not refused, because the page may have been fetched in a visit that was not completed.
        if not decision.fetch and not visit.forced and visit.lease.attempts == 0:
            self._context.count("gated")
            visit.page["next_due"] = decision.until
            raise Ignored(Reason.TOO_YOUNG, decision.reason)
        kept_as = None if visit.record is None else visit.record.kind
        # A page that was read as a list may be read as an article, or the reverse.
        visit.anew = kept_as is not visit.kind or (visit.kind.is_source and self._scope.arguments.narrows)
        if visit.anew:
            return  # no conditional headers, because a 304 response would have neither links nor text
        for name, value in decision.headers.items():
            request.headers.setdefault(name, value)
        self._heads.begin(request, visit)

    def _look_up(self, visit: Visit) -> None:
        """Read the page's record into the visit, unless the frontier knows that the page was never fetched.

        Without this exception, each new article would cost a query.
        """
        lease, data = visit.lease, visit.data
        untouched = lease.last_fetched is None and lease.attempts == 0
        found = not data.get("again") and data.get("where") != Where.REDIRECT
        if untouched and found and not visit.kind.is_source and self._frontier_knows_all():
            return
        visit.record = self._pages.get(lease.entry.fingerprint)

    def process_response(self, request: Request, response: Response) -> Request | Response:
        """Record status and validators of the response in the visit. After HEAD, send a GET if needed."""
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
                # The server violates HTTP: it answers 304 to a request without conditional headers, so the
                # response has no body.
                if not _is_conditional(request):
                    raise Ignored(cause_of_status(304), "status 304, although the request had no condition")
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
            elif response.status == 200:  # the stored value is of old content; other responses may omit it
                visit.page[field] = None


def _is_conditional(request: Request) -> bool:
    return "If-None-Match" in request.headers or "If-Modified-Since" in request.headers


MAX_HOSTS = 10_000
"""Maximum number of hosts without support for HEAD that are remembered."""


class Heads:
    """Sends HEAD first if the site's rule says so (``head``). If needed, a GET follows in the same visit.

    The GET waits for its host's turn like the next hop of a redirect, so that the rule's delay is kept. Hosts
    that do not support HEAD are remembered as long as the crawl runs.
    """

    def __init__(self, context: Context) -> None:
        self._context = context
        self._unwilling = Bounded[str, None](MAX_HOSTS)

    def begin(self, request: Request, visit: Visit) -> None:
        """Turn a conditional request into a HEAD request if the rule says so.

        Requests for pages that a person requested, and retries, are not changed.
        """
        if visit.kind.like not in visit.rule.head or visit.forced or visit.lease.attempts:
            return
        if _is_conditional(request) and host_key(request.url) not in self._unwilling:
            request.method = "HEAD"

    def answer(self, visit: Visit, request: Request, response: Response) -> Request | Response:
        """Return what follows a HEAD response.

        The result is the response itself if a GET would not help, a 304 response if the page is unchanged,
        and a GET request otherwise.
        """
        self._context.count("head/asked")
        if response.status in PASSING:
            return response
        fields = [response.headers.get(name) for name in ("ETag", "Last-Modified")]
        etag, last_modified = (None if value is None else value.decode("latin-1") for value in fields)
        if tells_unchanged(visit.record, response.status, etag, last_modified):
            self._context.count("head/unchanged")
            visit.note(self._context.clock(), EventKind.HEAD, status=response.status, unchanged=True)
            # all other parts treat this page like a page that was unchanged at a conditional GET
            return response.replace(status=304, body=b"")
        if response.status in UNWILLING:
            self._context.count("head/refused")
            self._unwilling.add(host_key(request.url))
        # otherwise process_request() would turn the GET into HEAD again
        visit.asked_head = True
        visit.note(self._context.clock(), EventKind.HEAD, status=response.status, unchanged=False)
        return request.replace(method="GET")
