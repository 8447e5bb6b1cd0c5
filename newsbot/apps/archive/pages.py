"""The page ``/original`` of the dashboard: an archived page as the site sent it.

The content comes from strangers. The sandbox of its content security policy gives it an origin of its own:
it runs no scripts, sends no forms, loads nothing, and has no access to the dashboard.
"""

from __future__ import annotations

import re
from typing import Any

from aiohttp import web

from newsbot.apps.archive.command import archived
from newsbot.errors import ArgumentError, DataError, UserError

HEADERS = {
    "Content-Security-Policy": (
        "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; form-action 'none'; "
        "base-uri 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "X-DNS-Prefetch-Control": "off",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "private, no-cache",
    "Server": "newsbot",
}
_CHARSET = re.compile(r"charset=[\"']?([\w.:-]{1,40})", re.IGNORECASE)


async def original(board: Any, request: web.Request) -> web.Response:
    """Return the archived page of a URL. Other kinds than HTML and text are downloads."""
    url = request.query.get("url", "")
    try:
        _, page = await board.readers.call(lambda data: archived(data.settings, data.storage, url))
    except (ArgumentError, DataError):
        raise
    except UserError as error:
        raise web.HTTPNotFound(text="No archived page has this address.") from error
    stated = page.headers.get("content-type", "")
    kind = stated.partition(";")[0].strip().lower()
    headers = dict(HEADERS)
    if kind in ("text/html", "application/xhtml+xml", "text/plain", ""):
        charset = _CHARSET.search(stated)
        plain = "text/plain" if kind == "text/plain" else "text/html"
        headers["Content-Type"] = plain + (f"; charset={charset[1]}" if charset else "")
    else:
        headers["Content-Type"] = "application/octet-stream"
        headers["Content-Disposition"] = "attachment; filename=original"
    return web.Response(body=page.body, headers=headers)


def add(board: Any, app: web.Application) -> None:
    """Add the page. Only people who may read the dashboard see it."""
    app.router.add_get("/original", board.reading(original))
