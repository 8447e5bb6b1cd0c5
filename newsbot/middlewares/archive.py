"""Passes requests and responses to the WARC archive, after the page was read.

A page may say ``noarchive`` in its markup, which is known only after the page was read. Such a page is not
archived. If the URL or canonical URL of a page was removed during the fetch, the page is not archived either.
Redirects are archived at once. An *exchange* is a request and its response.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any

from scrapy.crawler import Crawler
from scrapy.http import Request, Response

from newsbot.crawl.assembly import Crawl
from newsbot.crawl.context import Context
from newsbot.crawl.scope import Removals
from newsbot.crawl.visit import META_KEY, Visit
from newsbot.middlewares import Middleware
from newsbot.rights import page_rights
from newsbot.sites.rights import headers_of
from newsbot.urls import canonicalize, fingerprint, host_key
from newsbot.warc.writer import Exchange

GIVEN_KEY = "given"
"""Request meta key: the names of the headers that the rule has given to the request."""
_PUBLIC = ("User-Agent", "Accept-Language", "Proxy-Authorization")
RAW_KEY = "exchange"
"""Request meta key: the exchange that waits until the page is read."""


class WireMiddleware(Middleware):
    """Keeps each response as the server sent it, before it is decompressed.

    Does nothing if there is no archive.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self._context = Crawl.of(crawler).context

    async def process_response(self, request: Request, response: Response) -> Response:
        """Keep the response in the request's meta for :func:`keep_page`. Archive a redirect at once."""
        archive = self._context.archive
        if archive is None:
            return response
        exchange = _exchange(request, response)
        # The spider does not get a redirect, but only the response of its target. A 304 response is not a
        # redirect: the spider gets it.
        if 300 <= response.status < 400 and response.status != 304:
            await archive.keep(exchange)
        else:
            request.meta[RAW_KEY] = exchange
        return response


class ArchiveMiddleware(Middleware):
    """Archives a response after the spider has read it."""

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        crawl = Crawl.of(crawler)
        self._context, self._removals = crawl.context, crawl.removals

    async def process_spider_output(
        self, response: Response, result: AsyncIterator[Any]
    ) -> AsyncIterator[Any]:
        """Pass on everything that the spider yields. Then archive the page, unless it says ``noarchive``."""
        async for output in result:
            yield output
        visit: Visit | None = response.meta.get(META_KEY)
        if visit is None or visit.rights.archive:
            await keep_page(self._context, self._removals, response)


async def keep_page(context: Context, removals: Removals, response: Response) -> None:
    """Archive a response that was read, unless its headers say ``noarchive`` or its page was removed."""
    request = response.request
    exchange = request.meta.pop(RAW_KEY, None) if request is not None else None
    if context.archive is None or exchange is None:
        return
    # This is checked after the download, because a page may be removed while it is fetched.
    if _was_taken_out(removals, response):
        context.count("archive/removed")
    elif page_rights(headers_of(response)).archive:
        await context.archive.keep(exchange)
    else:
        context.count("archive/noarchive")


def _was_taken_out(removals: Removals, response: Response) -> bool:
    visit: Visit | None = response.meta.get(META_KEY)
    canonical_url = "" if visit is None else str(visit.page.get("canonical_url") or "")
    drop = () if visit is None else visit.rule.drop_query
    urls = {canonicalize(url, drop) for url in (response.url, canonical_url) if url}
    return any(removals.covers(fingerprint(url), host_key(url)) for url in urls)


def _exchange(request: Request, response: Response) -> Exchange:
    # What the rule of the site gives may be secret, and so may be the cookies that the site returns for it.
    given = [name.encode() for name in request.meta.get(GIVEN_KEY, ()) if name not in _PUBLIC]
    hidden = {*given, *([b"Set-Cookie"] if request.headers.get("Cookie") or given else ())}
    return Exchange(
        url=response.url,
        at=datetime.now(UTC),
        method=request.method,
        asked=_pairs(request.headers, hidden),
        status=response.status,
        protocol=response.protocol or "",
        answered=_pairs(response.headers, hidden),
        body=response.body,
        address="" if response.ip_address is None else str(response.ip_address),
    )


def _pairs(headers: Any, hidden: set[bytes]) -> tuple[tuple[bytes, bytes], ...]:
    left_out = {name.lower() for name in hidden}
    shown = ((name, values) for name, values in dict(headers).items() if name.lower() not in left_out)
    return tuple((name, value) for name, values in shown for value in values)
