"""The process of ``scrapy serve``: opens the data, serves, and does its regular work until it is stopped."""

from __future__ import annotations

import asyncio
import logging
import random
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass

from aiohttp import web

from newsbot import backends
from newsbot.clock import system_clock
from newsbot.config.check import SettingsLike
from newsbot.crawl.memory import keep_free
from newsbot.errors import DataError, UserError
from newsbot.web.alerting import alert_rounds
from newsbot.web.dashboard.access import make_access
from newsbot.web.dashboard.app import dashboard
from newsbot.web.outgoing import Outgoing
from newsbot.web.push_intake import Desk, OffThread
from newsbot.web.push_receiver import MAX_BODY, make_receiver
from newsbot.web.subscriber import Subscriber
from newsbot.web.subscriptions import Subscriptions

logger = logging.getLogger(__name__)

HUBS_EVERY = 5.0
REVIEW_EVERY = 60.0
AGAIN_EVERY = 1.0
FREE_KEPT = 32 * 2**20
"""Bytes of free memory that a thread may keep for its next answer."""
_SPREAD = random.Random()  # noqa: S311  (spreads rounds, keeps no secret)


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What ``scrapy serve`` was asked for."""

    host: str
    port: int
    public_url: str = ""
    """Where hubs reach us; empty: nothing is subscribed to."""
    user_agent: str = "newsbot"
    allow_private: bool = False
    sensor_secret: str = ""
    token: str = ""
    """What acting takes, and reading where others can reach us; see newsbot/web/dashboard/access.py."""
    per_host: float = 600.0
    """Fetches that notices may cause on one host in an hour."""
    per_sender: float = 1200.0
    """Requests that one address may send to the receiver in an hour."""


async def serve(settings: SettingsLike, options: Options, ready: Callable[[str], None] | None = None) -> None:
    """Serve until SIGINT or SIGTERM; ``ready`` is called with our address.

    Raises :class:`newsbot.errors.UserError` kinds.
    """
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stopped.set)
    async with running(settings, options) as address:
        if ready is not None:
            ready(address)
        await stopped.wait()


@asynccontextmanager
async def running(settings: SettingsLike, options: Options) -> AsyncIterator[str]:
    """Serve within the block, which gets our address. Raises :class:`newsbot.errors.UserError` kinds."""
    keep_free(FREE_KEPT)
    access = make_access(options.token, options.host, public=bool(options.public_url))
    async with AsyncExitStack() as stack:
        data = OffThread()
        stack.callback(data.close)
        desk, subscriptions = await data.call(_open, settings, options)
        stack.push_async_callback(data.call, _close, desk)
        outgoing = await stack.enter_async_context(
            Outgoing(options.user_agent, allow_private=options.allow_private)
        )
        app = web.Application(client_max_size=MAX_BODY, middlewares=[_readable_faults])
        await stack.enter_async_context(dashboard(app, settings, access, system_clock, lambda: _told(desk)))
        make_receiver(
            desk,
            subscriptions,
            outgoing,
            data,
            clock=system_clock,
            sensor_secret=options.sensor_secret,
            per_sender=options.per_sender,
        ).add_to(app)
        address = await _listen(app, options, stack)
        rounds = [_every(AGAIN_EVERY, data, desk.queue_again), _every(REVIEW_EVERY, data, desk.review)]
        if options.public_url:
            subscriber = Subscriber(
                subscriptions, outgoing, desk, data, public_url=options.public_url, clock=system_clock
            )
            rounds.append(_repeat(HUBS_EVERY, subscriber.round))
        if (watching := alert_rounds(settings, desk, data)) is not None:
            rounds.append(_repeat(*watching))
        for one in rounds:
            stack.push_async_callback(_cancel, asyncio.ensure_future(one))
        yield address


def _open(settings: SettingsLike, options: Options) -> tuple[Desk, Subscriptions]:
    storage = backends.open_storage(settings, hurried=True)
    try:
        frontier = backends.open_frontier(settings)
    except BaseException:
        storage.close()
        raise
    desk = Desk(storage, frontier, backends.open_rules(settings), per_hour=options.per_host)
    return desk, Subscriptions(desk.notes)


def _close(desk: Desk) -> None:
    with suppress(DataError):  # what is not kept is only how much a notifier is trusted
        desk.review()
    desk.close()


async def _listen(app: web.Application, options: Options, stack: AsyncExitStack) -> str:
    runner = web.AppRunner(app, access_log=None, handle_signals=False, shutdown_timeout=5.0)
    await runner.setup()
    stack.push_async_callback(runner.cleanup)
    try:
        await web.TCPSite(runner, options.host, options.port).start()
    except OSError as error:
        raise UserError(
            f"cannot listen on {options.host}:{options.port} ({error.strerror or error}); choose --port"
        ) from error
    host, port = runner.addresses[0][:2]
    return f"http://{host}:{port}"


def _told(desk: Desk) -> dict[tuple[str, str], int]:
    return {(protocol, fate.value): count for (protocol, fate), count in desk.fates.items()}


@web.middleware
async def _readable_faults(
    request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
) -> web.StreamResponse:
    """Let data that are away be an answer in one line: who sent a notice sends it again later."""
    try:
        return await handler(request)
    except DataError as error:
        logger.error("data away fault=%s", error)
        return web.Response(status=503, text="the data are away", headers={"Retry-After": "30"})


async def _every(seconds: float, data: OffThread, work: Callable[[], None]) -> None:
    async def once() -> None:
        await data.call(work)

    await _repeat(seconds, once)


async def _repeat(seconds: float, work: Callable[[], Awaitable[None]]) -> None:
    said = ""
    while True:
        try:
            await work()
            said = ""
        except DataError as error:
            if str(error) != said:  # once an outage
                logger.error("data away fault=%s", error)
            said = str(error)
        await asyncio.sleep(seconds * (0.9 + 0.2 * _SPREAD.random()))


async def _cancel(task: asyncio.Future[None]) -> None:
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task
