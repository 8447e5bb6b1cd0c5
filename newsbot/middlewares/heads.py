"""Sends HEAD first where a site's rule says so (``head``); the GET follows in the same visit if needed.

The GET waits for the turn of its host like the next hop of a redirect, so that both keep the rule's delay.
"""

from __future__ import annotations

from scrapy.http import Request, Response

from newsbot.crawl.context import Context
from newsbot.crawl.visit import Visit
from newsbot.items import EventKind
from newsbot.recrawl.gating import PASSING, UNWILLING, tells_unchanged
from newsbot.urls import host_key

MAX_HOSTS = 10_000


class Heads:
    """Decides for each request; remembers the hosts that do not know HEAD, as long as the crawl runs."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._unwilling: set[str] = set()

    def begin(self, request: Request, visit: Visit) -> None:
        """Make a HEAD of a conditional request if the rule wants it; not where somebody waits, nor twice."""
        if visit.kind not in visit.rule.head or visit.forced or visit.lease.attempts:
            return
        conditional = "If-None-Match" in request.headers or "If-Modified-Since" in request.headers
        if conditional and host_key(request.url) not in self._unwilling:
            request.method = "HEAD"

    def answer(self, visit: Visit, request: Request, response: Response) -> Request | Response:
        """Return what follows an answer to HEAD: the answer itself, one of 304, or the request for a GET."""
        self._context.count("head/asked")
        if response.status in PASSING:
            return response
        fields = [response.headers.get(name) for name in ("ETag", "Last-Modified")]
        etag, last_modified = (None if value is None else value.decode("latin-1") for value in fields)
        if tells_unchanged(visit.record, response.status, etag, last_modified):
            self._context.count("head/unchanged")
            visit.note(self._context.clock(), EventKind.HEAD, status=response.status, unchanged=True)
            return response.replace(status=304, body=b"")
        if response.status in UNWILLING:
            self._context.count("head/refused")
            if len(self._unwilling) >= MAX_HOSTS:
                self._unwilling.clear()
            self._unwilling.add(host_key(request.url))
        visit.asked_head = True
        visit.note(self._context.clock(), EventKind.HEAD, status=response.status, unchanged=False)
        return request.replace(method="GET")
