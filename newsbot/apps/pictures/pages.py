"""The page ``/picture``: the picture of a stored article, only for people who are logged in.

The address of the page names the article and not the picture, so the server fetches nothing but pictures of
stored articles.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from functools import partial

from aiohttp import web

from newsbot.apps.pictures.cache import KINDS, open_cache
from newsbot.apps.pictures.fetching import Pictures
from newsbot.apps.web.dashboard.rendering import HEADERS
from newsbot.apps.web.dashboard.service import Dashboard
from newsbot.apps.web.outgoing import Outgoing
from newsbot.apps.web.readers import Data
from newsbot.config.settings import value_of

PICTURES = web.AppKey("pictures", Pictures)
_HEADERS = HEADERS | {
    "Content-Security-Policy": "sandbox; default-src 'none'; frame-ancestors 'none'",
    "Cache-Control": "private, max-age=86400",
}
_RESERVED = ("noarchive", "noindex")
"""Reservations of an article (:mod:`newsbot.pages.rights`) that its picture keeps as well."""


async def picture(board: Dashboard, request: web.Request) -> web.Response:
    """Return the picture of the article ``url``; 404 if there is none that may be shown."""
    if board.access.session(request) is None:
        return board.closed(request)
    url = request.query.get("url", "")
    address = await board.readers.call(lambda data: _address(data, url))
    shown = request.app.get(PICTURES)
    found = await shown.get(address) if shown and address else None
    if found is None:
        raise web.HTTPNotFound(text="The article has no picture that can be shown.")
    return web.Response(body=found.body, headers=_HEADERS | {"Content-Type": KINDS[found.kind]})


def _address(data: Data, url: str) -> str | None:
    article = data.storage.articles.get(url)
    if article is None or any(name in article.rights for name in _RESERVED):
        return None
    return article.image


async def _opened(board: Dashboard, app: web.Application) -> AsyncIterator[None]:
    settings = await board.readers.call(lambda data: data.settings)
    megabytes = int(value_of(settings, "NEWSBOT_PICTURES"))
    if not megabytes:
        yield
        return
    agent = str(settings.get("ROBOTSTXT_USER_AGENT") or "newsbot")
    private = bool(value_of(settings, "NEWSBOT_ALLOW_PRIVATE"))
    async with Outgoing(settings.get("USER_AGENT") or agent, allow_private=private) as outgoing:
        app[PICTURES] = Pictures(outgoing, open_cache(settings, megabytes), board.readers, agent)
        board.has_pictures = True
        yield


def add(board: Dashboard, app: web.Application) -> None:
    """Add the page. It answers with 404 if the setting NEWSBOT_PICTURES is 0."""
    app.router.add_get("/picture", board.reading(picture))
    app.cleanup_ctx.append(partial(_opened, board))
