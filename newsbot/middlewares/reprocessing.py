"""Refuses the download of a page before its interval has passed, and makes requests conditional.

:func:`newsbot.recrawl.planning.gate` decides whether the page may be downloaded. This middleware reads the
page record, adds the conditional headers (RFC 9110, 13.1), and records status and validators of the response
in the visit.
"""

from __future__ import annotations

from typing import Any

from scrapy.crawler import Crawler
from scrapy.http import Request, Response

from newsbot.cli.program import PROGRAM
from newsbot.crawl.assembly import Crawl
from newsbot.crawl.failures import Ignored, cause_of_status
from newsbot.crawl.sources import refuse_unnamed
from newsbot.crawl.visit import META_KEY, Answer, Check, Due, Ending, Visit
from newsbot.items import PageRecord, Reason, Where
from newsbot.middlewares import Middleware, retry_after
from newsbot.recrawl.planning import LONGEST_SOURCE_REST, gate, parse_max_age


class ReprocessingMiddleware(Middleware):
    """Applies :func:`newsbot.recrawl.planning.gate` to each request, and makes requests conditional."""

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        crawl = Crawl.of(crawler)
        self._context, self._scope, self._removals = crawl.context, crawl.scope, crawl.removals
        self._canonical, self._frontier_knows_all = crawl.canonical, crawl.frontier_knows_all
        self._pages = crawl.pages

    async def process_request(self, request: Request) -> None:
        """Let the request pass with conditional headers, or raise :class:`Ignored` with the reason.

        Reasons: ``limit``, ``removed``, ``unnamed``, ``same_page``, ``too_young``.
        """
        visit: Visit | None = request.meta.get(META_KEY)
        # Two kinds of requests are not checked: requests without a visit, such as requests for robots.txt,
        # and later requests of a visit whose first request was checked.
        if visit is not None and not visit.hops:
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
        record = self._known(visit)
        # A page that was read as a list may be read as an article, or the reverse.
        kept_as = None if record is None else record.kind
        anew = kept_as is not visit.kind or (visit.kind.is_source and self._scope.arguments.narrows)
        visit.check = Check(record=record, anew=anew)
        interval = 0.0 if visit.forced else visit.rule.interval.get(visit.kind.like, 0.0)
        if visit.kind.is_source:
            interval = min(interval, LONGEST_SOURCE_REST)
        decision = gate(record, interval, now)
        # A retry is not refused, because the page may have been fetched in a visit that was not completed.
        if not decision.fetch and not visit.forced and visit.lease.attempts == 0:
            self._context.count("gated")
            visit.due = Due(decision.until)
            raise Ignored(Reason.TOO_YOUNG, decision.reason)
        if anew:
            return  # no conditional headers, because a 304 response would have neither links nor text
        for name, value in decision.headers.items():
            request.headers.setdefault(name, value)

    def _known(self, visit: Visit) -> PageRecord | None:
        """Return the page's record, or None if the frontier knows that the page was never fetched.

        Without this exception, each new article would cost a query.
        """
        lease, data = visit.lease, visit.data
        untouched = lease.last_fetched is None and lease.attempts == 0
        found = not data.get("again") and data.get("where") != Where.REDIRECT
        if untouched and found and not visit.kind.is_source and self._frontier_knows_all():
            return None
        return self._pages.get(lease.entry.fingerprint)

    def process_response(self, request: Request, response: Response) -> Response:
        """Record status and validators of the response in the visit."""
        visit: Visit | None = request.meta.get(META_KEY)
        if visit is not None:
            visit.answer = Answer(
                url=response.url,
                status=response.status,
                max_age=parse_max_age((response.headers.get("Cache-Control") or b"").decode("latin-1")),
                retry_after=retry_after(response, self._context.clock()),
                fields={**(visit.answer.fields if visit.answer else {}), **_fields(response)},
            )
            self._context.count("bytes", len(response.body))
            if response.status == 304:
                # The server violates HTTP: it answers 304 to a request without conditional headers, so the
                # response has no body.
                if not _is_conditional(request):
                    raise Ignored(cause_of_status(304), "status 304, although the request had no condition")
                if visit.record is not None and visit.record.content_length:
                    self._context.count("bytes_saved/unchanged", visit.record.content_length)
        return response


def _fields(response: Response) -> dict[str, Any]:
    """Return the fields of the page record that the headers of a response give."""
    names = {"etag": "ETag", "last_modified": "Last-Modified", "server": "Server"}
    found: dict[str, Any] = {}
    if response.status != 304:
        names["content_type"] = "Content-Type"
        found["content_length"] = len(response.body)
    for field, name in names.items():
        value = response.headers.get(name)
        if value is not None:
            found[field] = value.decode("latin-1")[:500]
        elif response.status == 200:  # the stored value is of old content; other responses may omit it
            found[field] = None
    return found


def _is_conditional(request: Request) -> bool:
    return "If-None-Match" in request.headers or "If-Modified-Since" in request.headers
