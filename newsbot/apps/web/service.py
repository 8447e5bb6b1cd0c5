"""Runs ``scrapy serve``: opens the data, serves requests, and runs regular tasks until the process ends."""

from __future__ import annotations

import argparse
import asyncio
import ctypes
import logging
import secrets
import signal
from collections import ChainMap
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from functools import partial
from urllib.parse import urlsplit

from aiohttp import web

from newsbot import backends
from newsbot.apps.alerts.extension import Watch, one_round, options_from
from newsbot.apps.followers.following import FollowerThread
from newsbot.apps.signatures.middleware import DIRECTORY, Signer, open_signer
from newsbot.apps.web.dashboard.access import is_local_name, kept_token, make_access
from newsbot.apps.web.dashboard.app import dashboard
from newsbot.apps.web.http import MAX_BODY, Outgoing, listening, receiving
from newsbot.apps.web.push import Desk, OffThread, Receiver, Subscriber, Subscriptions
from newsbot.apps.web.readers import repeating
from newsbot.cli.command import Action, Argument, Call
from newsbot.clock import system_clock
from newsbot.config.settings import SettingsLike, introduce, number_of, value_of
from newsbot.crawl.memory import libc_function
from newsbot.errors import ArgumentError, DataError
from newsbot.frontier.base import owner_name

logger = logging.getLogger(__name__)

FIRST_AFTER = 60.0
"""Seconds between the start and the first check for alerts.

A crawl that starts together with the server needs this time to begin its work.
"""


_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3  # malloc.h


def keep_free(size: int) -> bool:
    """Let glibc keep ``size`` free bytes at the end of each heap (mallopt(3)).

    By default, a search for a phrase repeatedly requests 19 MB from the system for arrays that exist for
    milliseconds, and returns the memory. These requests take a quarter of the time of the search. Blocks of
    more than an eighth of ``size`` still come directly from the system. Returns False if the C library is not
    glibc.
    """
    mallopt = libc_function("mallopt", ctypes.c_int, ctypes.c_int)
    if mallopt is None:
        return False
    return mallopt(_M_TRIM_THRESHOLD, size) == 1 and mallopt(_M_MMAP_THRESHOLD, size // 8) == 1


@asynccontextmanager
async def alert_rounds(
    settings: SettingsLike, desk: Desk, data: OffThread
) -> AsyncIterator[tuple[float, Callable[[], Awaitable[None]]] | None]:
    """Yield the seconds between two checks, and a coroutine function that runs a check.

    Yield None if alerts are off. At the end the lock is released, so that another process can send the
    alerts. ``data`` is the thread in which the storage of ``desk`` is used. Raises
    :class:`newsbot.errors.ArgumentError` for invalid settings.
    """
    options = options_from(settings)
    if not options.every:
        yield None
        return
    watch = Watch(desk.storage, desk.frontier, options, owner=owner_name(system_clock()), clock=system_clock)
    first = [min(FIRST_AFTER, options.every)]

    async def look() -> None:
        """Check for alerts and send them. Raises :class:`newsbot.errors.DataError`."""
        if first:
            await asyncio.sleep(first.pop())
        await one_round(watch, data.call)

    try:
        yield options.every, look
    finally:
        with suppress(DataError):  # without the release, another process would wait until the lock expires
            await data.call(watch.leave)


HUBS_EVERY = 5.0
"""Seconds between two rounds of requests to WebSub hubs."""
REVIEW_EVERY = 60.0
"""Seconds between two calls of :meth:`newsbot.apps.web.push.Desk.review`."""
AGAIN_EVERY = 1.0
"""Seconds between two attempts to queue pages that were being fetched when their notice arrived."""
FREE_KEPT = 32 * 2**20
"""Bytes of free memory that each thread keeps for later responses. The rest is returned to the system."""


async def serve(
    settings: SettingsLike,
    host: str,
    port: int,
    public_url: str,
    ready: Callable[[str], None],
    *,
    once: str = "",
) -> None:
    """Serve until SIGINT or SIGTERM. ``ready`` is called with the URL when the server accepts connections.

    ``once`` is a secret with which a browser can log in once.

    Raises subclasses of :class:`newsbot.errors.UserError` if the server cannot start.
    """
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stopped.set)
    async with running(settings, host, port, public_url, once) as address:
        ready(address)
        await stopped.wait()


@asynccontextmanager
async def running(
    settings: SettingsLike, host: str, port: int, public_url: str = "", once: str = ""
) -> AsyncIterator[str]:
    """Serve until the block ends. Yield the URL of the server.

    ``public_url`` is the URL at which hubs reach the server. If it is empty, there are no subscriptions.
    Raises subclasses of :class:`newsbot.errors.UserError` if the server cannot start.
    """
    keep_free(FREE_KEPT)
    access = make_access(value_of(settings, "NEWSBOT_WEB_TOKEN"), host, public=bool(public_url))
    access.once = once
    # The stack closes in reverse order: first the regular tasks (``rounds``), then the server, then the data.
    async with AsyncExitStack() as stack:
        data = OffThread()
        stack.callback(data.close)
        desk, subscriptions = await data.call(_open, settings)
        stack.push_async_callback(data.call, _close, desk)
        outgoing = await stack.enter_async_context(
            Outgoing(
                settings.get("USER_AGENT", "newsbot"),
                allow_private=value_of(settings, "NEWSBOT_ALLOW_PRIVATE"),
            )
        )
        app = web.Application(client_max_size=MAX_BODY, middlewares=[_readable_faults])
        board = await stack.enter_async_context(dashboard(app, settings, access, lambda: _counts(desk)))
        board.public_url = public_url.rstrip("/")
        receiver = Receiver(
            desk,
            subscriptions,
            outgoing,
            data,
            clock=system_clock,
            sensor_secret=value_of(settings, "NEWSBOT_SENSOR_SECRET"),
            per_sender=number_of(settings, "NEWSBOT_PUSH_PER_SENDER"),
        )
        receiver.add_to(app)
        if (signer := open_signer(settings)) is not None:
            app.router.add_get(DIRECTORY, partial(_directory, signer))
        # The last middleware is the innermost one, so the other middlewares handle its errors.
        app.middlewares.append(receiving(receiver.limit_of))
        address = await stack.enter_async_context(listening(app, host, port))
        rounds: list[tuple[float, Callable[[], Awaitable[None]]]] = [
            (AGAIN_EVERY, partial(data.call, desk.queue_again)),
            (REVIEW_EVERY, partial(data.call, desk.review)),
        ]
        followers = FollowerThread(settings, machine=True)
        followers.start()
        # A thread cannot be stopped: it ends after the batch that it is writing.
        stack.push_async_callback(asyncio.to_thread, followers.stop)
        if public_url:
            subscriber = Subscriber(subscriptions, outgoing, desk, data, public_url, system_clock)
            rounds.append((HUBS_EVERY, subscriber.round))
        # This block is entered before the rounds are started, so it ends after them.
        watching = await stack.enter_async_context(alert_rounds(settings, desk, data))
        if watching is not None:
            rounds.append(watching)
        for one in rounds:
            await stack.enter_async_context(repeating(*one))
        yield address


async def _directory(signer: Signer, _request: web.Request) -> web.Response:
    """Publish the public key with which crawls sign their requests."""
    body, headers = signer.directory(system_clock())
    return web.Response(body=body, headers={**headers, "Cache-Control": "max-age=3600"})


def _open(settings: SettingsLike) -> tuple[Desk, Subscriptions]:
    storage = backends.open_storage(settings, hurried=True)
    try:
        frontier = backends.open_frontier(settings)
    except BaseException:
        storage.close()
        raise
    per_hour = number_of(settings, "NEWSBOT_PUSH_PER_HOST")
    desk = Desk(storage, frontier, backends.open_rules(settings), per_hour=per_hour)
    return desk, Subscriptions(desk.notes)


def _close(desk: Desk) -> None:
    with suppress(DataError):  # only statistics of notifiers are lost
        desk.review()
    desk.close()


def _counts(desk: Desk) -> dict[tuple[str, str], int]:
    return {(protocol, fate.value): count for (protocol, fate), count in desk.fates.items()}


@web.middleware
async def _readable_faults(
    request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
) -> web.StreamResponse:
    """If the data are unavailable, respond with 503 and one line. Senders of notices then try again later."""
    try:
        return await handler(request)
    except DataError as error:
        logger.error("data away fault=%s", error)
        return web.Response(status=503, text="the data are unavailable", headers={"Retry-After": "30"})


def run(call: Call) -> int:
    """Serve until Ctrl-C."""
    settings: SettingsLike = call.settings
    introduce(call.settings)
    public_url = str(call.options.public_url or settings.get("NEWSBOT_PUBLIC_URL") or "")
    if public_url and urlsplit(public_url).scheme not in ("http", "https"):
        raise ArgumentError(f"--public-url {public_url!r} is not a URL; write https://news.example.org")

    once = ""
    if not settings.get("NEWSBOT_WEB_TOKEN") and not public_url and is_local_name(call.options.host):
        settings = ChainMap({"NEWSBOT_WEB_TOKEN": kept_token(backends.data_folder(settings))}, call.settings)
        once = secrets.token_urlsafe(24)

    def ready(address: str) -> None:
        call.note(f"listening on {address}")
        if once:
            call.note(f"to log in, open {address}/login?once={once} (works once)")
        if not public_url:
            call.note("WebSub hubs cannot reach this server without --public-url, so no feeds are subscribed")

    asyncio.run(serve(settings, call.options.host, call.options.port, public_url, ready, once=once))
    return 0


HOST, PORT = "127.0.0.1", 8765


def _port(text: str) -> int:
    if not text.isascii() or not text.isdigit() or int(text) > 65_535:
        raise argparse.ArgumentTypeError(f"{text!r} is not a port (0 to 65535; 0: any free port)")
    return int(text)


ACTIONS = (
    Action(
        "",
        "Serve the dashboard and its API beside running crawls, and receive notices of changed pages",
        run,
        Argument("--host", default=HOST, metavar="ADDRESS", help=f"address to listen on ({HOST})"),
        Argument("--port", type=_port, default=PORT, metavar="PORT", help=f"port ({PORT}; 0: any free)"),
        Argument(
            "--public-url",
            metavar="URL",
            help="URL at which hubs reach this server (default: NEWSBOT_PUBLIC_URL)",
        ),
    ),
)
