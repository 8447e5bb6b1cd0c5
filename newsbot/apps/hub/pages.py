"""The route ``/hub`` of the dashboard, and the regular task of the hub."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from functools import partial
from typing import Any

from aiohttp import web
from yarl import URL

from newsbot.apps.hub.subscriptions import PATH, Hub, Network, Subscribed, read_request
from newsbot.apps.web.dashboard.exports import content
from newsbot.apps.web.dashboard.service import Dashboard
from newsbot.apps.web.incoming import read_form
from newsbot.apps.web.outgoing import Outgoing, OutgoingError
from newsbot.clock import system_clock
from newsbot.config.settings import value_of
from newsbot.errors import ArgumentError, DataError

logger = logging.getLogger(__name__)
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
    async with Outgoing(settings.get("USER_AGENT") or "newsbot", allow_private=private) as outgoing:
        task = asyncio.ensure_future(_rounds(hub, _network(board, outgoing)))
        yield
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def _rounds(hub: Hub, network: Network) -> None:
    while True:
        await asyncio.sleep(ROUND_EVERY)
        try:
            await hub.round(network)
        except DataError:
            continue  # the data are unavailable; the next round tries again
        except Exception as error:
            logger.error("a round of the hub failed; it is tried again", exc_info=error)


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
