"""Serves the results of searches as feeds for feed readers. The newest article comes first."""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable

from aiohttp import ETag, web

from newsbot.operations.exporting.feed import TYPES, feed_of
from newsbot.operations.exporting.opml import as_opml
from newsbot.web.dashboard.endpoints import FILTERS, filter_of
from newsbot.web.dashboard.parameters import given, number
from newsbot.web.dashboard.rendering import COMPRESSED_FROM, HEADERS
from newsbot.web.dashboard.service import FEEDS, Dashboard

LIMIT = 50
"""Number of articles in a feed if the request has no parameter ``limit``."""
MAX_LIMIT = 200
_NO_FILTERS = ("sort", "page")
PARAMETERS = (
    *(one for one in FILTERS if one.name not in _NO_FILTERS),
    number("limit", "Maximum number of articles.", LIMIT, MAX_LIMIT),
)


def add_feeds(board: Dashboard, app: web.Application) -> None:
    """Add a route for each feed format, and one for the feeds of all sites (OPML)."""
    for kind in TYPES:
        app.router.add_get(FEEDS + kind, board.following(_feed(board, kind)))
    app.router.add_get("/sites.opml", board.reading(_opml(board)))


def _opml(board: Dashboard) -> Callable[[web.Request], Awaitable[web.Response]]:
    async def opml(_request: web.Request) -> web.Response:
        body = await board.readers.call(lambda data: as_opml(data.rules, data.storage.sources))
        headers = HEADERS | {
            "Content-Type": "text/x-opml; charset=utf-8",
            "Content-Disposition": 'attachment; filename="sites.opml"',
        }
        response = web.Response(body=body, headers=headers)
        response.enable_compression()
        return response

    return opml


def _feed(board: Dashboard, kind: str) -> Callable[[web.Request], Awaitable[web.Response]]:
    async def feed(request: web.Request) -> web.Response:
        asked = given(request, PARAMETERS, {})
        where, address = filter_of(asked), str(request.url)
        page = str(request.url.with_path("/articles", keep_query=True).update_query(sort="time"))
        body = await board.readers.call(
            lambda data: feed_of(
                data.search,
                asked["q"] or "",
                where,
                kind=kind,
                limit=asked["limit"],
                address=address,
                page=page,
            )
        )
        # Feed readers poll often. With the ETag, the response for an unchanged feed is 304 without a body.
        mark = ETag(hashlib.sha256(body).hexdigest()[:32])
        if mark in (request.if_none_match or ()):
            response = web.Response(status=304, headers=HEADERS)
        else:
            headers = HEADERS | {"Content-Type": f"{TYPES[kind]}; charset=utf-8"}
            response = web.Response(body=body, headers=headers)
            if len(body) >= COMPRESSED_FROM:
                response.enable_compression()
        response.etag = mark
        return response

    return feed
