"""The subscriptions of a WebSub hub: verifies subscribers, and sends them each new content.

Source: W3C Recommendation WebSub, 23 January 2018 (https://www.w3.org/TR/websub/). The network and the feeds
are given as functions. Verified subscriptions are stored as notes. A request that is not verified changes
nothing.

The function :func:`add` adds the route ``/hub`` to the dashboard, and the regular task of the hub.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import secrets
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any, Final
from urllib.parse import parse_qsl, urlencode, urljoin, urlsplit, urlunsplit

from aiohttp import web
from yarl import URL

from newsbot.apps.push.protocols import sign
from newsbot.apps.web.dashboard.app import content
from newsbot.apps.web.dashboard.service import Dashboard
from newsbot.apps.web.http import Outgoing, OutgoingError, read_form
from newsbot.apps.web.readers import repeating
from newsbot.clock import Clock, system_clock
from newsbot.config.settings import value_of
from newsbot.errors import ArgumentError
from newsbot.items import Bounded

logger = logging.getLogger(__name__)

PATH: Final = "/hub"
"""Path of the hub on this server."""
KIND: Final = "hub_subscriber"
"""Kind of the notes with subscriptions; the key is a digest of topic and callback."""
LEASE, LONGEST = 10 * 86400, 30 * 86400
"""The lease in seconds if the subscriber names none, and the longest one."""
MAX_SECRET = 199
"""Maximum length of a secret in bytes (section 5.1)."""
MAX_URL = 2000
MAX_SUBSCRIPTIONS = 200
MAX_WAITING = 100
"""Maximum number of requests that wait for their verification."""
MAX_PAUSE = 3600.0
"""Maximum number of seconds between two attempts to deliver."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Subscribed:
    """A subscription of another program. Times are POSIX seconds."""

    callback: str
    topic: str
    secret: str = ""
    leaving: bool = False
    lease: int = LEASE
    until: float = 0.0
    sent: str = ""
    """Digest of the content that the subscriber has."""
    tries: int = 0
    """Number of attempts to deliver since the last success."""
    due: float = 0.0
    """Time of the next attempt."""

    @property
    def key(self) -> str:
        """Identity of the subscription: topic and callback (section 5.1)."""
        return hashlib.sha256(f"{self.topic}\0{self.callback}".encode()).hexdigest()[:40]


def read_request(form: Mapping[str, Any]) -> Subscribed:
    """Return what a request asks for (section 5.1). Raises ``ValueError`` with the reason."""
    fields = {
        name: form.get(f"hub.{name}") for name in ("mode", "callback", "topic", "secret", "lease_seconds")
    }
    mode, callback, topic, secret, lease = (one if isinstance(one, str) else "" for one in fields.values())
    if mode not in ("subscribe", "unsubscribe"):
        raise ValueError("hub.mode must be subscribe or unsubscribe")
    for name, url in (("hub.callback", callback), ("hub.topic", topic)):
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname or len(url) > MAX_URL:
            raise ValueError(f"{name} must be a URL with at most {MAX_URL} characters")
    if len(secret.encode()) > MAX_SECRET:
        raise ValueError(f"hub.secret must have at most {MAX_SECRET} bytes")
    if lease and not (lease.isascii() and lease.isdigit() and 0 < len(lease) < 12 and int(lease) > 0):
        raise ValueError("hub.lease_seconds must be a number above 0")
    return Subscribed(
        callback=callback,
        topic=topic,
        secret=secret,
        leaving=mode == "unsubscribe",
        lease=min(int(lease or LEASE), LONGEST),
    )


def verification_url(one: Subscribed, challenge: str) -> str:
    """Return the URL with which the intent of a subscriber is verified (section 5.3)."""
    asked = {
        "hub.mode": "unsubscribe" if one.leaving else "subscribe",
        "hub.topic": one.topic,
        "hub.challenge": challenge,
    }
    if not one.leaving:
        asked["hub.lease_seconds"] = str(one.lease)
    parts = urlsplit(one.callback)
    # The query of the callback must be kept.
    query = urlencode([*parse_qsl(parts.query, keep_blank_values=True), *asked.items()])
    return urlunsplit(parts._replace(query=query))


@dataclass(frozen=True, slots=True)
class Network:
    """The functions that a hub needs."""

    get: Callable[[str], Awaitable[tuple[int, bytes]]]
    """Fetch a URL. Return the status and the body of the response; the status is 0 without a response."""
    post: Callable[[str, bytes, Mapping[str, str]], Awaitable[int]]
    """Send a body with headers, and return the status, or 0."""
    content: Callable[[str], Awaitable[tuple[bytes, str]]]
    """Return the present content of a topic, and its media type. Raises ``LookupError`` if there is no such
    feed (any more)."""
    notes: Callable[..., Awaitable[Any]]
    """Call the method of the notes with this name: ``save``, ``forget`` or ``all``."""


class Hub:
    """The subscriptions, and the requests that wait for their verification."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._waiting = Bounded[str, Subscribed](MAX_WAITING)
        self._known: dict[str, Subscribed] | None = None

    def ask(self, one: Subscribed) -> bool:
        """Take a request, which :meth:`round` verifies. Return False if there are too many subscriptions."""
        if not one.leaving and len(self._known or ()) + len(self._waiting) >= MAX_SUBSCRIPTIONS:
            return False
        self._waiting[one.key] = one
        return True

    async def round(self, network: Network) -> None:
        """Verify requests, end old subscriptions, and send new content.

        Raises :class:`newsbot.errors.DataError`.
        """
        if self._known is None:
            stored = await network.notes("all", KIND)
            self._known = {key: Subscribed(**note) for key, note in stored.items()}
        # All are asked at the same time, so that a program that answers slowly delays no other one.
        await asyncio.gather(*(self._verify(network, one) for one in self._waiting.values()))
        now = self._clock()
        due: dict[str, list[Subscribed]] = defaultdict(list)
        for one in list(self._known.values()):
            if one.until <= now:
                await self._forget(network, one)
            elif one.due <= now:
                due[one.topic].append(one)
        work: list[tuple[Subscribed, bytes, str, str]] = []
        for topic, readers in due.items():
            try:
                body, kind = await network.content(topic)
            except LookupError:  # for example because its category was deleted
                for one in readers:
                    await self._forget(network, one)
                continue
            digest = hashlib.sha256(body).hexdigest()
            work += [(one, body, kind, digest) for one in readers if one.sent != digest]
        await asyncio.gather(*(self._send(network, *one) for one in work))

    async def _verify(self, network: Network, one: Subscribed) -> None:
        challenge = secrets.token_urlsafe(24)
        status, body = await network.get(verification_url(one, challenge))
        # Until now, the request counted as a subscription. It may have been replaced in the meantime.
        if self._waiting.get(one.key) is one:
            del self._waiting[one.key]
        if not 200 <= status < 300 or body != challenge.encode():
            return
        if one.leaving:
            await self._forget(network, one)
            return
        try:
            content, _kind = await network.content(one.topic)  # only later content is sent
        except LookupError:
            return
        digest = hashlib.sha256(content).hexdigest()
        await self._keep(network, replace(one, until=self._clock() + one.lease, sent=digest))

    async def _send(self, network: Network, one: Subscribed, body: bytes, kind: str, digest: str) -> None:
        headers = {
            "Content-Type": kind,
            "Link": f'<{urljoin(one.topic, PATH)}>; rel="hub", <{one.topic}>; rel="self"',
        }
        if one.secret:
            headers["X-Hub-Signature"] = f"sha256={sign('sha256', one.secret.encode(), body)}"
        status = await network.post(one.callback, body, headers)
        if status == 410:  # the subscriber ends the subscription (section 7)
            await self._forget(network, one)
        elif 200 <= status < 300:
            await self._keep(network, replace(one, sent=digest, tries=0, due=0.0))
        else:
            pause = min(5.0 * 2.0 ** min(one.tries, 20), MAX_PAUSE)
            await self._keep(network, replace(one, tries=one.tries + 1, due=self._clock() + pause))

    async def _keep(self, network: Network, one: Subscribed) -> None:
        assert self._known is not None
        self._known[one.key] = one
        await network.notes("save", KIND, one.key, asdict(one))

    async def _forget(self, network: Network, one: Subscribed) -> None:
        assert self._known is not None
        if self._known.pop(one.key, None) is not None:
            await network.notes("forget", KIND, one.key)


ROUND_EVERY = 15.0
"""Seconds between two looks for new content."""


def add(board: Dashboard, app: web.Application) -> None:
    """Add the hub (an entry of :attr:`newsbot.config.apps.App.pages`)."""
    hub = Hub(system_clock)
    board.hub = PATH
    app.router.add_post(PATH, board.following(partial(_subscribe, hub)))
    app.cleanup_ctx.append(partial(_running, hub, board))


async def _running(hub: Hub, board: Dashboard, _app: web.Application) -> AsyncIterator[None]:
    settings = await board.readers.call(lambda data: data.settings)
    private = value_of(settings, "NEWSBOT_ALLOW_PRIVATE")
    async with (
        Outgoing(settings.get("USER_AGENT") or "newsbot", allow_private=private) as outgoing,
        repeating(ROUND_EVERY, partial(hub.round, _network(board, outgoing))),
    ):
        yield


def _network(board: Dashboard, outgoing: Outgoing) -> Network:
    async def get(url: str) -> tuple[int, bytes]:
        try:
            answer = await outgoing.get(url)
        except OutgoingError:
            return 0, b""
        return answer.status, answer.body

    async def post(url: str, body: bytes, headers: Mapping[str, str]) -> int:
        try:
            return (await outgoing.post(url, body, headers=headers)).status
        except OutgoingError:
            return 0

    async def notes(name: str, *arguments: Any) -> Any:
        return await board.readers.call(lambda data: getattr(data.storage.notes, name)(*arguments))

    return Network(get, post, partial(_content, board), notes)


async def _content(board: Dashboard, topic: str) -> tuple[bytes, str]:
    """Return the feed of a topic. Raises ``LookupError`` with the reason if it is not a feed."""
    try:
        return await content(board, URL(topic))
    except KeyError:
        raise LookupError("hub.topic must be a feed of this server") from None
    except web.HTTPBadRequest as error:
        raise LookupError(error.text) from error
    except ArgumentError as error:
        raise LookupError(str(error)) from error


async def _subscribe(hub: Hub, board: Dashboard, request: web.Request) -> web.Response:
    # On this machine, everyone may read. A page in a browser would subscribe for another site.
    if {"Origin", "Sec-Fetch-Site"} & request.headers.keys():
        return web.Response(status=403, text="browsers cannot subscribe")
    try:
        one = await _read(board, request)
    except ValueError as error:
        return web.Response(status=400, text=str(error))
    return web.Response(status=202 if hub.ask(one) else 503)


async def _read(board: Dashboard, request: web.Request) -> Subscribed:
    """Return the subscription that a request asks for. Raises ``ValueError`` with the reason."""
    one = read_request(await read_form(request))
    if URL(one.topic).origin() != board.origin(request):
        raise ValueError("hub.topic must be a feed of this server")
    try:
        await _content(board, one.topic)
    except LookupError as error:
        raise ValueError(*error.args) from error
    return one
