"""The HTTP client of Scrapy with three changes: heads of responses, the time of requests, and certificates.

*Heads.* Twisted closes the connection at the first line of a head that is not valid. Here, headers with
invalid names are skipped, as in browsers, and lines may be long. If a head cannot be parsed, the error has
the status of the response (:class:`newsbot.crawl.failures.HeadFault`).

*Sending.* A request may wait long for its connection (names, TLS). Its turn
(:mod:`newsbot.crawl.politeness`) is therefore checked when it is sent.

*Certificates.* The TLS certificates of sites are verified, unless the rule of a site says ``tls: ignore``.
"""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Callable
from functools import partial
from typing import Any

from scrapy.core.downloader.handlers import http11
from scrapy.core.downloader.handlers.http11 import HTTP11DownloadHandler
from scrapy.crawler import Crawler
from scrapy.http import Request, Response
from twisted.internet.defer import Deferred
from twisted.internet.error import ConnectionLost
from twisted.web.client import BrowserLikePolicyForHTTPS
from twisted.web.http_headers import InvalidHeaderName

from newsbot.crawl.assembly import Crawl
from newsbot.crawl.failures import HeadFault
from newsbot.crawl.politeness import Politeness
from newsbot.urls import host_key, without_dots

MAX_HEAD = 256 * 1024
"""Maximum number of bytes of a head. Chromium has the same limit."""
MAX_IDLE = 256
"""Maximum number of idle connections to sites, and maximum number of hosts that the connection pool
remembers."""
_TEXT = 200
_FILES_OF_HOSTS = (b"/robots.txt", b"/.well-known/tdmrep.json")


class HeadParser(http11._LenientHTTPClientParser):  # noqa: SLF001
    """Parses one response. Scrapy's parser skips lines without a colon."""

    MAX_LENGTH = MAX_HEAD
    size = 0
    """Number of bytes of the head so far."""

    def headerReceived(self, name: bytes, value: bytes) -> None:  # noqa: N802 (Twisted)
        """Keep a header, unless its name is not valid."""
        try:
            super().headerReceived(name.strip(), value)  # type: ignore[no-untyped-call]
        except InvalidHeaderName:
            return

    def lineReceived(self, line: bytes) -> None:  # noqa: N802 (Twisted)
        """Parse one line of the head. Raises :class:`HeadFault`."""
        self.size += len(line)
        if self.size > MAX_HEAD:
            self.lineLengthExceeded(line)
        try:
            super().lineReceived(line)
        except Exception as error:
            raise self._fault(f"the head of the response is not valid: {error}") from error

    def lineLengthExceeded(self, line: bytes) -> Any:  # noqa: ARG002, N802 (Twisted)
        """Raise :class:`HeadFault`."""
        raise self._fault(f"the head of the response is longer than {MAX_HEAD} bytes")

    def _fault(self, text: str) -> HeadFault:
        response = getattr(self, "response", None)
        return HeadFault(None if response is None else response.code, text[:_TEXT])


class Client(http11._LenientHTTP11ClientProtocol):  # noqa: SLF001
    """One connection to a site."""

    def __init__(self, quiescent: Any, politeness: Politeness) -> None:
        super().__init__(quiescent)  # type: ignore[no-untyped-call]
        self._politeness = politeness

    def request(self, request: Any) -> Deferred[Any]:
        """Send a request when its host may get one, and return its response."""
        [name] = request.headers.getRawHeaders(b"host")
        host = host_key(f"http://{name.decode('latin-1')}/")
        if self._politeness.may_send(host):
            return self._send(request)
        waiting = Deferred.fromFuture(asyncio.ensure_future(self._politeness.wait_to_send(host)))
        return waiting.addCallbacks(lambda _: self._send(request), self._give_up)

    def _send(self, request: Any) -> Deferred[Any]:
        if self.transport is None or self.state != "QUIESCENT":
            raise ConnectionLost("the site closed the connection before the request was sent")
        response = super().request(request)
        # Scrapy replaces the class of the parser in the same way.
        self._parser.__class__ = HeadParser
        if request.uri.endswith(_FILES_OF_HOSTS):
            response.addCallback(self._without_error_page)
        return response

    def _without_error_page(self, response: Any) -> Any:
        """Drop the body of an error. Only the status of such a file counts, and its body may be endless."""
        if response.code >= 400:
            response.length = 0
            self.abort()  # type: ignore[no-untyped-call]
        return response

    def _finishResponse_ABORTING(self, rest: bytes) -> None:  # noqa: N802 (Twisted)
        """Do nothing at the end of a body that is dropped, as when it ends with the connection.

        Twisted calls the method for the state of the connection, and has none for this state.
        """

    def _give_up(self, failure: Any) -> Any:
        self.abort()  # type: ignore[no-untyped-call]
        return failure


class ClientFactory(http11._LenientHTTP11ClientFactory):  # noqa: SLF001
    """Makes connections. ``politeness`` has the turns of the hosts."""

    def __init__(self, quiescent: Any, metadata: Any, politeness: Politeness) -> None:
        super().__init__(quiescent, metadata)  # type: ignore[no-untyped-call]
        self._politeness = politeness

    def buildProtocol(self, addr: Any) -> Client:  # noqa: ARG002, N802 (Twisted)
        """Return the protocol of a new connection."""
        return Client(self._quiescentCallback, self._politeness)


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
