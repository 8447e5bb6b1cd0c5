"""Checks for alerts in ``scrapy serve``, so that alerts are also sent while no crawl is running."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

from newsbot.alerts.watch import Watch, options_from, tell
from newsbot.clock import system_clock
from newsbot.config.check import SettingsLike
from newsbot.errors import DataError
from newsbot.frontier.owners import owner_name
from newsbot.web.push_intake import Desk, OffThread

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
