"""Runs ``scrapy serve``: opens the data, serves, and runs regular tasks until the process is stopped."""

from __future__ import annotations

import asyncio
import logging
import random
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from urllib.parse import urlsplit

from aiohttp import web

from newsbot import backends
from newsbot.alerts.watch import Watch, options_from, tell
from newsbot.cli.command import Call
from newsbot.clock import system_clock
from newsbot.config.check import SettingsLike
from newsbot.config.contact import introduce
from newsbot.crawl.memory import keep_free
from newsbot.errors import ArgumentError, DataError
from newsbot.frontier.owners import owner_name
from newsbot.search.articles import ArticleSearch
from newsbot.web.dashboard.access import make_access
from newsbot.web.dashboard.app import dashboard
from newsbot.web.incoming import MAX_BODY, listening, receiving
from newsbot.web.outgoing import Outgoing
from newsbot.web.push_intake import Desk, OffThread
from newsbot.web.push_receiver import Receiver
from newsbot.web.subscriptions import Subscriber, Subscriptions

logger = logging.getLogger(__name__)

FIRST_AFTER = 60.0
"""Seconds between the start and the first check. A crawl that starts at the same time needs this time to
begin."""


@asynccontextmanager
async def alert_rounds(
    settings: SettingsLike, desk: Desk, data: OffThread
) -> AsyncIterator[tuple[float, Callable[[], Awaitable[None]]] | None]:
    """Yield the interval of checks in seconds and a coroutine function that checks; None if alerts are off.

    At the end the lock is released, so that another process can send the alerts. ``data`` is the thread in
    which the storage of ``desk`` is used. Raises :class:`newsbot.errors.ArgumentError` for invalid settings.
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
        deliveries = await data.call(watch.look)
        if deliveries:
            # Sending can take many seconds, so it does not run in the thread that also handles notices.
            for fault in await asyncio.to_thread(tell, deliveries):
                logger.error("alert not sent fault=%s", fault)
            await data.call(watch.note, deliveries)

    try:
        yield options.every, look
    finally:
        with suppress(DataError):  # then another process can send alerts when the lock expires
            await data.call(watch.leave)


HUBS_EVERY = 5.0
"""Seconds between two rounds of requests to WebSub hubs."""
REVIEW_EVERY = 60.0
"""Seconds between two checks which push notices led to changes."""
AGAIN_EVERY = 1.0
"""Seconds between two attempts to queue pages that were being fetched when their notice came."""
FOLLOW_EVERY = 2.0
"""Seconds between two updates of the search index."""
FOLLOW_FOR = 2.0
"""Maximum time in seconds of one step of an update of the search index. The process can stop between two
steps."""
FREE_KEPT = 32 * 2**20
"""Bytes of free memory that each thread keeps for later responses. It returns more than that to the
system."""
_SPREAD = random.Random()  # noqa: S311  (varies intervals, keeps no secret)


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The options of ``scrapy serve``."""

    host: str
    port: int
    public_url: str = ""
    """The URL at which hubs reach the server. If it is empty, there are no subscriptions."""
    user_agent: str = "newsbot"
    """The ``User-Agent`` header of requests to hubs and for key files."""
    allow_private: bool = False
    """Whether requests may go to private addresses and unusual ports (NEWSBOT_ALLOW_PRIVATE)."""
    sensor_secret: str = ""
    """The key with which sensors sign notices. If it is empty, their notices are refused."""
    token: str = ""
    """The token that is needed for changes, and also for reading if the server is reachable from other
    machines. See newsbot/web/dashboard/access.py."""
    per_host: float = 600.0
    """Maximum number of fetches per hour that notices may cause on one host."""
    per_sender: float = 1200.0
    """Maximum number of requests per hour that one address may send to the receiver."""


async def serve(settings: SettingsLike, options: Options, ready: Callable[[str], None] | None = None) -> None:
    """Serve until SIGINT or SIGTERM. ``ready`` is called with the URL when the server accepts connections.

    Raises subclasses of :class:`newsbot.errors.UserError` if the server cannot start.
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
    """Serve until the block ends. Yield the URL of the server.

    Raises subclasses of :class:`newsbot.errors.UserError` if the server cannot start.
    """
    keep_free(FREE_KEPT)
    access = make_access(options.token, options.host, public=bool(options.public_url))
    # The stack is closed in reverse order: first the regular tasks (rounds), then the server, then the data.
    async with AsyncExitStack() as stack:
        data = OffThread()
        stack.callback(data.close)
        desk, subscriptions = await data.call(_open, settings, options)
        stack.push_async_callback(data.call, _close, desk)
        outgoing = await stack.enter_async_context(
            Outgoing(options.user_agent, allow_private=options.allow_private)
        )
        app = web.Application(client_max_size=MAX_BODY, middlewares=[_readable_faults])
        await stack.enter_async_context(
            dashboard(app, settings, access, lambda: _told(desk), allow_private=options.allow_private)
        )
        receiver = Receiver(
            desk,
            subscriptions,
            outgoing,
            data,
            clock=system_clock,
            sensor_secret=options.sensor_secret,
            per_sender=options.per_sender,
        )
        receiver.add_to(app)
        app.middlewares.append(receiving(receiver.limit_of))  # innermost: the others handle its errors
        address = await stack.enter_async_context(listening(app, options.host, options.port))
        rounds = [_every(AGAIN_EVERY, data, desk.queue_again), _every(REVIEW_EVERY, data, desk.review)]
        follower = _SearchFollower(settings)
        stack.push_async_callback(follower.close)
        rounds.append(_repeat(FOLLOW_EVERY, follower.round))
        if options.public_url:
            subscriber = Subscriber(
                subscriptions, outgoing, desk, data, public_url=options.public_url, clock=system_clock
            )
            rounds.append(_repeat(HUBS_EVERY, subscriber.round))
        # Entered before the rounds are started, so that it ends after them.
        watching = await stack.enter_async_context(alert_rounds(settings, desk, data))
        if watching is not None:
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
    with suppress(DataError):  # the review stores only statistics of notifiers, which may be lost
        desk.review()
    desk.close()


class _SearchFollower:
    """Keeps the search index of this machine up to date, in a thread with its own storage."""

    def __init__(self, settings: SettingsLike) -> None:
        self._settings = settings
        self._thread = OffThread()
        self._open = ExitStack()
        self._search: ArticleSearch | None = None

    async def round(self) -> None:
        """Index all changes since the last round."""
        # A thread cannot be stopped. With steps of FOLLOW_FOR seconds, close() waits for one step at most.
        while not await self._thread.call(self._follow):
            pass

    async def close(self) -> None:
        """Wait for the thread and close the storage."""
        await self._thread.call(self._open.close)
        self._thread.close()

    def _follow(self) -> bool:
        if self._search is None:  # opened in this thread, to which SQLite connections are bound
            self._search = self._open.enter_context(backends.searching(self._settings))
        return self._search.follow(FOLLOW_FOR)


def _told(desk: Desk) -> dict[tuple[str, str], int]:
    return {(protocol, fate.value): count for (protocol, fate), count in desk.fates.items()}


@web.middleware
async def _readable_faults(
    request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
) -> web.StreamResponse:
    """Respond with 503 and one line if the data are unavailable. Then senders of notices try again later."""
    try:
        return await handler(request)
    except DataError as error:
        logger.error("data away fault=%s", error)
        return web.Response(status=503, text="the data are unavailable", headers={"Retry-After": "30"})


async def _every(seconds: float, data: OffThread, work: Callable[[], None]) -> None:
    async def once() -> None:
        await data.call(work)

    await _repeat(seconds, once)


async def _repeat(seconds: float, work: Callable[[], Awaitable[None]]) -> None:
    """Run ``work`` again and again, with pauses of about ``seconds``, until the task is cancelled.

    A :class:`DataError` does not end the loop.
    """
    said = ""
    while True:
        try:
            await work()
            said = ""
        except DataError as error:
            if str(error) != said:  # log the same error once, not in each round
                logger.error("data away fault=%s", error)
            said = str(error)
        # The interval varies by 10 % so that several servers do not load the data at the same moments.
        await asyncio.sleep(seconds * (0.9 + 0.2 * _SPREAD.random()))


async def _cancel(task: asyncio.Future[None]) -> None:
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


def run(call: Call) -> int:
    """Serve until Ctrl-C."""
    settings = call.settings
    introduce(settings)
    public_url = str(call.options.public_url or settings.get("NEWSBOT_PUBLIC_URL") or "")
    if public_url and urlsplit(public_url).scheme not in ("http", "https"):
        raise ArgumentError(f"--public-url {public_url!r} is not a URL; write https://news.example.org")
    options = Options(
        host=call.options.host,
        port=call.options.port,
        public_url=public_url,
        user_agent=str(settings.get("USER_AGENT")),
        allow_private=settings.getbool("NEWSBOT_ALLOW_PRIVATE"),
        sensor_secret=str(settings.get("NEWSBOT_SENSOR_SECRET") or ""),
        token=str(settings.get("NEWSBOT_WEB_TOKEN") or ""),
        per_host=settings.getfloat("NEWSBOT_PUSH_PER_HOST"),
        per_sender=settings.getfloat("NEWSBOT_PUSH_PER_SENDER"),
    )

    def ready(address: str) -> None:
        call.note(f"listening on {address}")
        if not public_url:
            call.note("without --public-url no WebSub hub can reach this server, so no feed is subscribed")

    asyncio.run(serve(settings, options, ready))
    return 0
