"""HTTP/2 with Scrapy's client (``scrapy.core._http2``), made fit for hosts of which nothing is known.

Scrapy's pool waits for ever for a connection that was refused, takes a server that negotiates nothing for one
that speaks HTTP/2 (RFC 9113, 3.2: only ``h2`` by ALPN says so), and sends requests into connections that are
closing. All of it is private to Scrapy, whose version is bounded for it.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from time import monotonic
from typing import Any, Final
from urllib.parse import urlsplit

from scrapy.core._http2.agent import H2Agent, H2ConnectionPool
from scrapy.core._http2.protocol import (
    PROTOCOL_NAME,
    H2ClientFactory,
    H2ClientProtocol,
    InvalidNegotiatedProtocol,
)
from scrapy.core.downloader.contextfactory import _load_context_factory_from_settings
from scrapy.crawler import Crawler
from scrapy.exceptions import DownloadTimeoutError
from scrapy.http import Request, Response
from scrapy.utils._download_handlers import normalize_bind_address, wrap_twisted_exceptions
from scrapy.utils.defer import maybe_deferred_to_future
from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

MAX_HOSTS: Final = 100_000
"""Hosts without HTTP/2 that are remembered, the latest ones."""
ASK_AGAIN: Final = 24 * 3600.0
"""Seconds after which such a host is asked again whether it speaks HTTP/2."""
IDLE: Final = 60
"""Seconds after which a connection without traffic is closed."""


class Http2:
    """Downloads over HTTP/2, and remembers who does not speak it."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._pool = _Pool(crawler)
        self._context_factory = _load_context_factory_from_settings(crawler)
        self._bind_address = crawler.settings.get("DOWNLOAD_BIND_ADDRESS")
        self._timeout = crawler.settings.getfloat("DOWNLOAD_TIMEOUT")
        self._without: OrderedDict[str, float] = OrderedDict()

    async def download(self, request: Request) -> Response | None:
        """Return the answer; None if the host does not speak HTTP/2. Raises Scrapy's download errors."""
        host = urlsplit(request.url).netloc.lower()
        if monotonic() < self._without.get(host, 0.0):
            return None
        try:
            with wrap_twisted_exceptions():
                response: Response = await self._ask(request)
        except Exception as error:
            if not _means_no_http2(error):
                raise
            self._remember(host)
            self._count("other")
            return None
        self._count("responses")
        return response

    async def _ask(self, request: Request) -> Any:
        assert self._crawler.spider is not None
        timeout = float(request.meta.get("download_timeout") or self._timeout)
        bind_address = normalize_bind_address(request.meta.get("bindaddress") or self._bind_address)
        agent = H2Agent(_reactor(), self._pool, self._context_factory, timeout, bind_address)
        began, late = monotonic(), False
        asked = agent.request(request, self._crawler.spider)

        def give_up() -> None:
            nonlocal late
            late = True
            asked.cancel()

        timer = _reactor().callLater(timeout, give_up)
        try:
            return await maybe_deferred_to_future(asked)
        finally:
            request.meta["download_latency"] = monotonic() - began
            if late:  # what a cancelled stream had got until then is no answer
                raise DownloadTimeoutError(f"Getting {request.url} took longer than {timeout} seconds.")
            timer.cancel()

    def _remember(self, host: str) -> None:
        self._without[host] = monotonic() + ASK_AGAIN
        self._without.move_to_end(host)
        if len(self._without) > MAX_HOSTS:
            self._without.popitem(last=False)

    def _count(self, what: str) -> None:
        if self._crawler.stats is not None:
            self._crawler.stats.inc_value(f"newsbot/http2/{what}")

    def close(self) -> None:
        """Close all connections."""
        self._pool.close_connections()


def _reactor() -> Any:
    from twisted.internet import reactor  # noqa: PLC0415  (Scrapy installs it)

    return reactor


def _means_no_http2(error: BaseException) -> bool:
    """Return True if a server said in the handshake that it does not speak HTTP/2 (RFC 7301, 3.2)."""
    seen: BaseException | None = error
    while seen is not None:
        for reason in getattr(seen, "reasons", ()):
            value = reason.value if isinstance(reason, Failure) else reason
            if isinstance(value, InvalidNegotiatedProtocol) or "no application protocol" in str(value):
                return True
        seen = seen.__cause__
    return False


class _Protocol(H2ClientProtocol):
    """A connection that is given up unless ``h2`` was negotiated."""

    IDLE_TIMEOUT = IDLE

    def handshakeCompleted(self) -> None:  # noqa: N802  (Twisted)
        assert self.transport is not None
        negotiated = self.transport.negotiatedProtocol
        if negotiated != PROTOCOL_NAME:
            self._lose_connection_with_error([InvalidNegotiatedProtocol(negotiated or b"")])
            return
        super().handshakeCompleted()

    @property
    def closing(self) -> bool:
        """True when no further request can be answered over it."""
        return bool(self._conn_lost_errors) or self.transport is None or bool(self.transport.disconnecting)


class _Factory(H2ClientFactory):
    def buildProtocol(self, addr: Any) -> _Protocol:  # noqa: ARG002, N802  (Twisted)
        return _Protocol(
            self.uri, self.crawler, self.conn_lost_deferred, tls_verbose_logging=self.tls_verbose_logging
        )


class _Pool(H2ConnectionPool):
    """One connection for each host, whose end or failure everybody is told who waits for it."""

    def get_connection(self, key: Any, uri: Any, endpoint: Any) -> Deferred[H2ClientProtocol]:
        connection = self._connections.get(key)
        if isinstance(connection, _Protocol) and connection.closing:
            del self._connections[key]
        return super().get_connection(key, uri, endpoint)

    def _new_connection(self, key: Any, uri: Any, endpoint: Any) -> Deferred[H2ClientProtocol]:
        waiting: Deferred[H2ClientProtocol] = Deferred()
        self._pending_requests[key] = deque([waiting])
        lost: Deferred[None] = Deferred()
        connecting = endpoint.connect(
            _Factory(uri, self._crawler, lost, tls_verbose_logging=self._tls_verbose_logging)
        )
        connecting.addCallbacks(self._made, self._tell_all, callbackArgs=(key, lost), errbackArgs=(key,))
        return waiting

    def _made(self, connection: H2ClientProtocol, key: Any, lost: Deferred[None]) -> None:
        lost.addCallback(self._forget, key, connection)
        self.put_connection(connection, key)

    def _forget(self, _: None, key: Any, connection: H2ClientProtocol) -> None:
        if self._connections.get(key) is connection:  # perhaps there is a newer one
            del self._connections[key]

    def _tell_all(self, failure: Failure, key: Any) -> None:
        for waiting in self._pending_requests.pop(key, ()):
            waiting.errback(failure)
