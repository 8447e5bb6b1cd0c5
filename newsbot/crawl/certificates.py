"""Verifies the TLS certificates of sites, unless the rule of a site says ``tls: ignore``."""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import partial
from typing import Any

from scrapy.core.downloader.handlers.http11 import HTTP11DownloadHandler
from scrapy.crawler import Crawler
from scrapy.http import Request, Response
from twisted.web.client import BrowserLikePolicyForHTTPS

from newsbot.crawl.assembly import Crawl
from newsbot.crawl.http_client import ClientFactory
from newsbot.urls import without_dots

MAX_IDLE = 256
"""Maximum number of idle connections to sites, and maximum number of hosts that the connection pool
remembers."""


class HttpHandler(HTTP11DownloadHandler):
    """Scrapy's handler for downloads, with a limit on idle connections.

    Twisted keeps each connection for four minutes after its last request, and the name of the host forever.
    The rule of each host decides whether certificates are verified.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        factory: Any = partial(ClientFactory, politeness=Crawl.of(crawler).politeness)
        self._pool._factory = factory  # noqa: SLF001  (as Scrapy does)
        if crawler.settings.getbool("DOWNLOAD_VERIFY_CERTIFICATES"):
            context = Crawl.of(crawler).context
            self._contextFactory: Any = ByRule(self._contextFactory, context.ignores_certificate)

    async def download_request(self, request: Request) -> Response:
        """Return the response. A status that is not in RFC 9110 (15) counts as 500, as the RFC says.

        Dot segments of the path are resolved before the request is sent, as in browsers.
        """
        if (url := without_dots(request.url)) != request.url:
            request = request.replace(url=url)
        response = await super().download_request(request)
        hosts: dict[Any, list[Any]] = self._pool._connections  # noqa: SLF001  (Twisted has no such limit)
        for timeout in list(self._pool._timeouts.values())[:-MAX_IDLE]:  # noqa: SLF001  (the oldest first)
            # a timeout closes its connection; with 0 seconds, this happens in the next turn of the event loop
            timeout.reset(0)
        for host in [one for one, idle in hosts.items() if not idle] if len(hosts) > MAX_IDLE else ():
            del hosts[host]
        return response if 100 <= response.status < 600 else response.replace(status=500)


class ByRule(BrowserLikePolicyForHTTPS):
    """Verifies the certificates of all hosts, except hosts for which ``ignores(host)`` is True.

    ``verifying`` is Scrapy's own policy. It reads the certificate authorities of the system again for each
    connection, which takes 20 ms or more. Twisted 26.4 stores the authorities in an object that does not
    depend on the host, so the object of the first connection is used for all connections.
    """

    def __init__(self, verifying: Any, ignores: Callable[[str], bool]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._verifying, self._ignores = verifying, ignores
        self._lenient = copy.copy(verifying)
        self._lenient._verify_certificates = False  # noqa: SLF001  (Scrapy has no setting for single hosts)
        self._connect: Any = None

    def creatorForNetloc(self, hostname: bytes, port: int) -> Any:  # noqa: N802 (Twisted)
        """Return the object that makes TLS connections to a host."""
        if self._ignores(hostname.decode("ascii")):
            return self._lenient.creatorForNetloc(hostname, port)
        creator = self._verifying.creatorForNetloc(hostname, port)
        self._connect = creator._createConnection = self._connect or creator._createConnection  # noqa: SLF001
        return creator
