"""How https pages are downloaded: over HTTP/2 where NEWSBOT_HTTP2 asks for it and the server offers it.

Scrapy's own HTTP/2 handler fails where a server speaks HTTP/1.1 only, and knows no proxies. Here such
requests go over HTTP/1.1. Guard, delays, timeouts and limits of size are the same for both: connections are
made through the same resolver, and the frontier decides when a host's turn has come.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.core.downloader.handlers.http11 import HTTP11DownloadHandler
from scrapy.crawler import Crawler
from scrapy.http import Request, Response

from newsbot.errors import ArgumentError

if TYPE_CHECKING:
    from newsbot.http2 import Http2


class DownloadHandler(HTTP11DownloadHandler):
    """Scrapy's handler, which asks :class:`newsbot.http2.Http2` first if the setting says so."""

    lazy = True

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self._http2: Http2 | None = None
        if crawler.settings.getbool("NEWSBOT_HTTP2"):
            self._http2 = _load(crawler)

    async def download_request(self, request: Request) -> Response:
        """Return the answer. Raises Scrapy's download errors."""
        if self._http2 is not None and not request.meta.get("proxy"):
            response = await self._http2.download(request)
            if response is not None:
                return response
        return await super().download_request(request)

    async def close(self) -> None:
        """Close all connections."""
        if self._http2 is not None:
            self._http2.close()
        await super().close()


def _load(crawler: Crawler) -> Http2:
    try:
        from newsbot.http2 import Http2  # noqa: PLC0415  (h2 is needed by those who switch it on)
    except ImportError as error:
        raise ArgumentError(f"NEWSBOT_HTTP2 needs the package h2: pip install h2 ({error})") from error
    return Http2(crawler)
