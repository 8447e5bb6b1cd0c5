"""HTTP of the server: limits of the requests that it gets, and the client for the requests that it sends.

The number of connections, the size and time of requests, and the number of log lines are limited. Without
limits, a connection that sends half a request would use a file descriptor for an hour. Many such connections
would use all file descriptors of the process.

Push notices cause requests to WebSub hubs, and for key files of IndexNow. Any machine can send a notice, so
requests to its URLs must not reach machines in the private network (server-side request forgery). Private
addresses are refused. Ports that web servers do not usually use are refused too. The resolver checks the IP
address, and the connection uses the checked address. So an attack with a name that later resolves to a
private address (DNS rebinding) fails. The target of each redirect is checked too.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import resource
import socket
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, nullcontext, suppress
from dataclasses import dataclass
from email import message_from_bytes
from email.message import Message
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from types import TracebackType
from typing import Any, Final
from urllib.parse import urljoin, urlsplit

from aiohttp import ClientError, ClientSession, ClientTimeout, DummyCookieJar, TCPConnector, web
from aiohttp.abc import ResolveResult
from aiohttp.http_exceptions import HttpProcessingError
from aiohttp.resolver import ThreadedResolver
from aiohttp.typedefs import Middleware

from newsbot.apps.push.protocols import SeenOnce
from newsbot.cli.program import PROGRAM
from newsbot.clock import DAY, system_clock
from newsbot.crawl import address_guard as publichosts
from newsbot.errors import UserError
from newsbot.urls import canonicalize

logger = logging.getLogger(__name__)

HEADER_SECONDS = 30.0
"""Maximum time in seconds for the headers of a request, and between two requests of a connection."""
BODY_SECONDS = 60.0
"""Maximum time in seconds for the body of a request."""
MAX_LINE = 2**15
"""Maximum length of the request line in bytes.

This is enough for a URL of 2,000 letters, which take up to 12 bytes each if they are percent-encoded.
"""
MAX_BODY = 2**20
"""Maximum length in bytes of a body, except for the feeds that subscribed hubs send.

The rest of a response is ignored.
"""
LARGE_AT_ONCE = 4
"""Maximum number of bodies larger than MAX_BODY that are in memory at once."""
MAX_CONNECTIONS = 1000
MIN_DESCRIPTORS = 256
"""Minimum number of files that the process must be allowed to open. Data files take up to 100."""
_BACKLOG = 32
"""Maximum number of connections that wait to be accepted. :func:`most_connections` never returns less."""
_LINES_A_MINUTE = 30
"""Maximum number of log lines of the server per minute."""


def need_descriptors() -> None:
    """Raise the process's limit of open files to the limit of the system, if it is lower than needed.

    Raises :class:`newsbot.errors.UserError` if this is not enough.
    """
    now, highest = resource.getrlimit(resource.RLIMIT_NOFILE)
    if 0 <= now < MIN_DESCRIPTORS:
        with suppress(ValueError, OSError):
            wanted = MIN_DESCRIPTORS if highest < 0 else min(MIN_DESCRIPTORS, highest)
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, highest))
        now, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        if now < MIN_DESCRIPTORS:
            raise UserError(
                f"the limit of open files is {now}, and {PROGRAM} serve needs {MIN_DESCRIPTORS}: raise it "
                "with ulimit -n 1024 (systemd: LimitNOFILE)"
            )


def most_connections() -> int:
    """Return the maximum number of open connections: half of the file descriptors that the process may have.

    The other half is for data files and outgoing requests. The result is at most MAX_CONNECTIONS.
    """
    # A negative number means that the number of files is not limited.
    descriptors, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return MAX_CONNECTIONS if descriptors < 0 else max(_BACKLOG, min(MAX_CONNECTIONS, descriptors // 2))


@asynccontextmanager
async def listening(app: web.Application, host: str, port: int) -> AsyncIterator[str]:
    """Serve ``app`` until the block ends. Yield its URL.

    Raises :class:`newsbot.errors.UserError` if the address cannot be used, for example because the port is
    taken.
    """
    need_descriptors()
    _limit_lines()
    runner = web.AppRunner(
        app,
        access_log=None,
        handle_signals=False,
        shutdown_timeout=5.0,
        keepalive_timeout=HEADER_SECONDS,
        lingering_time=5.0,
        max_line_size=MAX_LINE,
        logger=logger,
    )
    await runner.setup()
    server, most = runner.server, most_connections()
    assert server is not None

    # aiohttp does not limit the number of connections. asyncio calls this function for each new connection.
    def connection() -> asyncio.BaseProtocol:
        _make_room(server, most)
        return server()

    try:
        try:
            listener = await asyncio.get_running_loop().create_server(
                connection, host, port, backlog=_BACKLOG
            )
        except OSError as error:
            taken = f"the port is taken; is {PROGRAM} serve running already?"
            why = taken if error.errno == errno.EADDRINUSE else error.strerror or error
            raise UserError(f"cannot listen on {host}:{port}: {why} (options: --host, --port)") from error
        async with listener:
            name, number = listener.sockets[0].getsockname()[:2]
            yield f"http://[{name}]:{number}" if ":" in name else f"http://{name}:{number}"
    finally:
        await runner.cleanup()


def _make_room(server: web.Server, most: int) -> None:
    """If ``most`` connections are open, close the oldest connection of the sender with the most connections.

    So a sender that opens too many connections loses only its own connections.
    """
    peers = {
        one: one.transport.get_extra_info("peername") or ("",)
        for one in server.connections
        if one.transport is not None and not one.transport.is_closing()  # closing connections are not counted
    }
    if len(peers) >= most:
        crowd, _ = Counter(peer[0] for peer in peers.values()).most_common(1)[0]
        # A dict keeps the order of insertion, so the first connection of the sender is its oldest one.
        next(one for one, peer in peers.items() if peer[0] == crowd).force_close()


def receiving(limit_of: Callable[[web.Request], int]) -> Middleware:
    """Return a middleware that reads the whole body before the handler runs.

    ``limit_of`` returns the maximum length of the body in bytes. The response is 413 if the body is too long,
    408 if it takes too long, and 400 if it is incomplete.
    """
    large = asyncio.Semaphore(LARGE_AT_ONCE)
    logged = SeenOnce(DAY, system_clock)

    @web.middleware
    async def middleware(
        request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
    ) -> web.StreamResponse:
        if not request.can_read_body:
            return await handler(request)
        most = limit_of(request)
        # The semaphore is held until the handler has ended, because the body is in memory until then.
        async with large if most > MAX_BODY else nullcontext():
            request = request.clone(client_max_size=most)
            try:
                if (request.content_length or 0) > most:
                    raise web.HTTPRequestEntityTooLarge(most, request.content_length or 0)
                async with asyncio.timeout(BODY_SECONDS):
                    await request.read()
            except web.HTTPRequestEntityTooLarge:
                sender = sender_of(request)
                if logged.is_new(sender.encode()):  # log each sender once a day
                    logger.warning(
                        "body too long sender=%s path=%s limit=%d", sender, request.path[:200], most
                    )
                raise
            except TimeoutError as error:
                raise web.HTTPRequestTimeout(text="the body took too long to arrive") from error
            except (web.RequestPayloadError, HttpProcessingError, ConnectionError, RuntimeError) as error:
                # RuntimeError: the connection was closed before the first byte was read
                raise web.HTTPBadRequest(text="the body is incomplete") from error
            return await handler(request)

    return middleware


class LimitedLines(logging.Filter):
    """A log filter that limits the lines per minute, replaces tracebacks with one line, and drops some lines.

    Lines about invalid requests and broken connections are dropped, because any sender could fill the log
    with such lines.
    """

    def __init__(self, a_minute: int) -> None:
        super().__init__()
        self._a_minute, self._minute, self._lines = a_minute, 0, 0

    def filter(self, record: logging.LogRecord) -> bool:
        """Return True if the line should be logged."""
        error = record.exc_info[1] if record.exc_info else None
        if isinstance(error, HttpProcessingError | ConnectionError | web.RequestPayloadError):
            return False
        minute = int(time.monotonic() // 60)
        if minute != self._minute:
            self._minute, self._lines = minute, 0
        self._lines += 1
        if error is not None:
            record.msg, record.args = f"{record.getMessage()} error={type(error).__name__}: {error}"[:500], ()
            # Without exc_info, logging prints no traceback.
            record.exc_info = None
        return self._lines <= self._a_minute


_LINES: Final = LimitedLines(_LINES_A_MINUTE)


def _limit_lines() -> None:
    for name in (__name__, "asyncio", "aiohttp.server", "newsbot.apps.web.dashboard.service"):
        logging.getLogger(name).addFilter(_LINES)


async def read_form(request: web.Request) -> Mapping[str, Any]:
    """Return the fields of a form by name; a file is bytes. The mapping is empty if the request has no body.

    Raises ``aiohttp.web.HTTPBadRequest`` for an invalid form.
    """
    try:
        if request.content_type == "multipart/form-data":
            return _parts(request.headers["Content-Type"], await request.read())
        return await request.post()
    except (ValueError, LookupError, RuntimeError) as error:
        # aiohttp raises these errors for a missing boundary, an unknown charset and an unknown content
        # encoding.
        raise web.HTTPBadRequest(text="the form cannot be read") from error


def _parts(content_type: str, body: bytes) -> dict[str, str | bytes]:
    """Return the fields of a form with files. Raises ``ValueError`` for an invalid form.

    aiohttp reads such forms from the connection, but :func:`receiving` has already read the body.
    """
    head = f"Content-Type: {content_type}\r\n\r\n".encode("utf-8", "surrogateescape")
    found: dict[str, str | bytes] = {}
    for part in message_from_bytes(head + body).get_payload():
        value = part.get_payload(decode=True) if isinstance(part, Message) else None
        if not isinstance(part, Message) or not isinstance(value, bytes):
            raise ValueError
        name = str(part.get_param("name", header="Content-Disposition"))
        found[name] = value.decode() if part.get_filename() is None else value
    return found


_OF_ONE = 64
"""Prefix length of the smallest IPv6 network that providers assign to a customer (RFC 6177).

All addresses in a network of this size count as one sender.
"""


def sender_of(request: web.Request) -> str:
    """Return the address of the sender of a request.

    For an IPv6 address, return its /64 network. If the request comes from loopback, a proxy on this machine
    may have forwarded it. In this case the sender is the last entry of ``X-Forwarded-For``, which the proxy
    wrote. Otherwise all requests through the proxy would have the same sender, and too many requests of one
    client would block all clients. Earlier entries of the header are not trusted, and proxies on other
    machines are not trusted either.
    """
    remote = _address(request.remote or "")
    if remote is not None and remote.is_loopback:
        senders = ",".join(request.headers.getall("X-Forwarded-For", []))
        remote = _address(senders.rpartition(",")[2]) or remote
    return network_of(str(remote or ""))


def network_of(address: str) -> str:
    """Return an IPv4 address as it is, and the /64 network of an IPv6 address: one person may use all of it.

    Other texts are returned as an empty string.
    """
    remote = _address(address)
    if isinstance(remote, IPv6Address) and remote.ipv4_mapped is None:
        return str(ip_network((int(remote), _OF_ONE), strict=False))
    return str(remote or "")


def _address(text: str) -> IPv4Address | IPv6Address | None:
    try:
        return ip_address(text.strip())
    except ValueError:
        return None


MAX_HOPS = 5
"""Maximum number of redirects that a request follows."""
REQUEST_TIMEOUT = 10.0
"""Maximum time in seconds from a request to the end of its response."""


class OutgoingError(Exception):
    """No response was received. The message gives the reason in one line."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A response. ``url`` is the URL after redirects, and ``body`` has at most MAX_BODY bytes, or those of
    the limit that the caller has given."""

    url: str
    status: int
    headers: Mapping[str, str]
    body: bytes


Check = Callable[[str], Awaitable[None]]
"""A function that refuses the URL of a request with :class:`OutgoingError`."""


class GuardedResolver(ThreadedResolver):
    """A resolver for aiohttp that refuses names with private addresses."""

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        """Return the addresses of a host. Raises ``OSError`` if one of them is private."""
        found = await super().resolve(host, port, family)
        # One private address is enough to refuse the host, because aiohttp may connect to any of its
        # addresses.
        private = [one["host"] for one in found if not publichosts.is_public(one["host"])]
        if private:
            raise OSError(errno.EACCES, f"{host} resolves to the private address {private[0]}")
        return found


class Outgoing:
    """An HTTP client that refuses private addresses and unusual ports. Use it with ``async with``.

    With ``allow_private`` (setting NEWSBOT_ALLOW_PRIVATE), all addresses and ports are allowed.
    """

    def __init__(self, user_agent: str, *, allow_private: bool = False) -> None:
        self._allow_private = allow_private
        resolver = None if allow_private else GuardedResolver()
        self._session = ClientSession(
            # Without a DNS cache, the resolver checks each connection.
            connector=TCPConnector(resolver=resolver, use_dns_cache=False, limit=20),
            timeout=ClientTimeout(total=REQUEST_TIMEOUT),
            headers={"User-Agent": user_agent},
            # Without cookies, a site cannot recognise later requests.
            cookie_jar=DummyCookieJar(),
            # A proxy from the environment variables would resolve the names itself, without the guard.
            trust_env=False,
        )

    async def __aenter__(self) -> Outgoing:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._session.close()

    async def get(self, url: str, *, limit: int = MAX_BODY, check: Check | None = None) -> Answer:
        """Fetch ``url`` and follow redirects. At most ``limit`` bytes of the body are read.

        ``check`` is called before each request; it refuses a URL with :class:`OutgoingError`. Raises
        :class:`OutgoingError`.
        """
        return await self._ask("GET", url, None, limit=limit, check=check)

    async def post(
        self, url: str, form: Mapping[str, str] | bytes, headers: Mapping[str, str] | None = None
    ) -> Answer:
        """Send a form, or bytes with their media type in ``headers``. Follow redirects that keep the method.

        Raises :class:`OutgoingError`.
        """
        return await self._ask("POST", url, form, headers)

    async def _ask(
        self,
        method: str,
        url: str,
        data: Mapping[str, str] | bytes | None,
        headers: Mapping[str, str] | None = None,
        *,
        limit: int = MAX_BODY,
        check: Check | None = None,
    ) -> Answer:
        for _ in range(MAX_HOPS + 1):
            self._check(url)
            if check is not None:
                await check(url)
            answer = await self._once(method, url, data, headers, limit)
            target = answer.headers.get("Location")
            # 301, 302 and 303 would change POST to GET, so only 307 and 308 are followed (RFC 9110, 15.4).
            follows = answer.status in ((307, 308) if method == "POST" else (301, 302, 303, 307, 308))
            if not follows or not target:
                return answer
            url = urljoin(url, target)
        raise OutgoingError(f"{url[:200]}: more than {MAX_HOPS} redirects")

    def _check(self, url: str) -> None:
        """Raise :class:`OutgoingError` if the host or the port of a URL is not allowed.

        This check is needed in addition to the resolver, which is not called if the host is an IP address.
        """
        try:
            parts = urlsplit(canonicalize(url))
            host, port = parts.hostname or "", parts.port
        except ValueError as error:
            raise OutgoingError(f"{url[:200]!r} is not a valid URL") from error
        if not self._allow_private and publichosts.is_local(host):
            raise OutgoingError(f"{host} is not a public address")
        if not self._allow_private and port not in publichosts.USUAL_PORTS:
            raise OutgoingError(f"{host}: port {port} is not a usual port of web servers")

    async def _once(
        self,
        method: str,
        url: str,
        data: Mapping[str, str] | bytes | None,
        headers: Mapping[str, str] | None,
        limit: int,
    ) -> Answer:
        try:
            async with self._session.request(
                method, canonicalize(url), data=data, headers=headers, allow_redirects=False
            ) as response:
                # read() returns the bytes that have arrived so far. This can be only the beginning of the
                # body.
                body = bytearray()
                while len(body) < limit and (part := await response.content.read(limit - len(body))):
                    body += part
                return Answer(url, response.status, response.headers, bytes(body))
        except (ClientError, OSError, TimeoutError, ValueError) as error:
            raise OutgoingError(f"{url[:200]}: {str(error) or type(error).__name__}"[:400]) from error
