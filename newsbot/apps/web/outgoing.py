"""Sends the requests that push notices cause: to WebSub hubs, and for key files of IndexNow.

Any machine can send a notice, so requests to its URLs must not reach machines in the private network
(server-side request forgery). Private addresses are refused. Ports that web servers do not usually use are
refused too. The resolver checks the IP address, and the connection uses the checked address. So an attack
with a name that later resolves to a private address (DNS rebinding) fails. The target of each redirect is
checked too.
"""

from __future__ import annotations

import errno
import socket
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from types import TracebackType
from urllib.parse import urljoin, urlsplit

from aiohttp import ClientError, ClientSession, ClientTimeout, DummyCookieJar, TCPConnector
from aiohttp.abc import ResolveResult
from aiohttp.resolver import ThreadedResolver

from newsbot.crawl import address_guard as publichosts
from newsbot.urls import canonicalize

MAX_BODY = 2**20
"""Maximum number of bytes of a response that are read. The rest is ignored."""
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
        self,
        url: str,
        form: Mapping[str, str] | bytes,
        kind: str = "",
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        """Send a form, or bytes of the media type ``kind``, and follow redirects that keep the method.

        Raises :class:`OutgoingError`.
        """
        return await self._ask("POST", url, form, headers or ({"Content-Type": kind} if kind else None))

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
