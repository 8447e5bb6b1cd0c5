"""The HTTP client of Scrapy with two changes: heads of responses, and the time at which requests are sent.

*Heads.* Twisted closes the connection at the first line of a head that is not valid. Here, headers with
invalid names are skipped, as in browsers, and lines may be long. If a head cannot be parsed, the error has
the status of the response (:class:`newsbot.crawl.failures.HeadFault`).

*Sending.* A request may wait long for its connection (names, TLS). Its turn
(:mod:`newsbot.crawl.politeness`) is therefore checked when it is sent.
"""

from __future__ import annotations

import asyncio
from typing import Any

from scrapy.core.downloader.handlers import http11
from twisted.internet.defer import Deferred
from twisted.internet.error import ConnectionLost
from twisted.web.http_headers import InvalidHeaderName

from newsbot.crawl.failures import HeadFault
from newsbot.crawl.politeness import Politeness
from newsbot.urls import host_key

MAX_HEAD = 256 * 1024
"""Maximum number of bytes of a head. Chromium has the same limit."""
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
