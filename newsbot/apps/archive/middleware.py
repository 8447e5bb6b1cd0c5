"""Opens the WARC archive of a crawl, and passes requests and responses to it.

:mod:`newsbot.crawl.visit` decides which pages are archived.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any

from scrapy import signals
from scrapy.crawler import Crawler
from scrapy.http import Request, Response

from newsbot.apps.archive.recording import open_archive
from newsbot.apps.archive.writer import Exchange
from newsbot.crawl.assembly import Crawl
from newsbot.crawl.visit import EXCHANGE_KEY, GIVEN_KEY, META_KEY, Visit, keep_page
from newsbot.middlewares import Middleware

_PUBLIC = ("User-Agent", "Accept-Language", "Proxy-Authorization")


class WireMiddleware(Middleware):
    """Keeps each response as the server sent it, before it is decompressed.

    Does nothing if there is no archive.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self._crawl = Crawl.of(crawler)
        self._context = self._crawl.context
        crawler.signals.connect(self._open, signals.spider_opened)

    def _open(self) -> None:
        """Open the archive that the settings name. A dry run has none."""
        if not self._crawl.scope.arguments.dry_run:
            self._context.archive = open_archive(self.crawler.settings, self._context.count)

    async def process_response(self, request: Request, response: Response) -> Response:
        """Keep the response in the request's meta for the spider. Archive a redirect at once."""
        archive = self._context.archive
        if archive is None:
            return response
        exchange = _exchange(request, response)
        # The spider does not get a redirect, but only the response of its target. A 304 response is not a
        # redirect: the spider gets it.
        if 300 <= response.status < 400 and response.status != 304:
            await archive.keep(exchange)
        else:
            request.meta[EXCHANGE_KEY] = exchange
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
        if visit is None or visit.reading.rights.archive:
            await keep_page(self._context, self._removals, response)


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
