"""Shows how many articles match each of several queries, by day: as an HTML page, CSV and JSON lines."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any
from urllib.parse import urlencode

from aiohttp import web

from newsbot.operations.exporting.formats import defused
from newsbot.search.articles import MAX_COMPARED, Attention
from newsbot.web.dashboard.endpoints import COMPARED, attention
from newsbot.web.dashboard.parameters import given, one_of
from newsbot.web.dashboard.plots import attention_plots
from newsbot.web.dashboard.rendering import HEADERS, link
from newsbot.web.dashboard.service import Dashboard

_SHOW = one_of("show", "Numbers of articles, or shares of all articles.", ("articles", "share"), "articles")
_DATES = ("since", "until")


def add_attention(board: Dashboard, app: web.Application) -> None:
    """Add the routes of the page and of its downloads."""
    app.router.add_get("/attention", board.reading(partial(_page, board)))
    for kind, (content_type, write) in FILES.items():
        app.router.add_get(f"/attention.{kind}", board.reading(_file(board, content_type, write)))


async def _page(board: Dashboard, request: web.Request) -> web.Response:
    asked = given(request, (*COMPARED, _SHOW), {})
    found = await attention(board, asked)
    narrowing = {name: request.query.get(name, "") for name in ("source", "language", *_DATES)}
    shown = {name: value for name, value in narrowing.items() if value}
    pairs = [*(("q", one) for one in asked["q"]), *shown.items()]

    def search(path: str, query: str) -> str:
        return link(path, q=query, **shown)

    def narrowed(query: str, field: str, value: str) -> str:
        return link("/articles", **{"q": query, **shown, field: value})

    return board.page(
        request,
        "attention.html",
        here="/articles",
        asked=asked,
        raw=narrowing,
        found=found,
        most=MAX_COMPARED,
        plots=attention_plots(found, share=asked["show"] == "share"),
        searches=[search("/articles", one.query) for one in found.queries],
        feeds=[search("/articles.atom", one.query) for one in found.queries],
        narrowed=[partial(narrowed, one.query) for one in found.queries],
        csv=f"/attention.csv?{urlencode(pairs)}",
        jsonl=f"/attention.jsonl?{urlencode(pairs)}",
        here_link=f"/attention?{urlencode([*pairs, ('show', asked['show'])])}",
    )


def _file(
    board: Dashboard, content_type: str, write: Callable[[Attention], str]
) -> Callable[[web.Request], Awaitable[web.Response]]:
    async def file(request: web.Request) -> web.Response:
        body = write(await attention(board, given(request, COMPARED, {})))
        response = web.Response(text=body, content_type=content_type, headers=HEADERS)
        response.enable_compression()
        return response

    return file


def as_csv(found: Attention) -> str:
    """Return the counts as CSV: a header, and a line for each day and query."""
    text = io.StringIO()
    lines: Any = csv.writer(text)
    lines.writerow(("day", "query", "articles", "of", "share"))
    # A query that begins with "=" must not become a formula in a spreadsheet.
    lines.writerows([defused(value) for value in row.values()] for row in found.rows())
    return text.getvalue()


def as_jsonl(found: Attention) -> str:
    """Return the counts as JSON lines: an object for each day and query."""
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in found.rows())


FILES: dict[str, tuple[str, Callable[[Attention], str]]] = {
    "csv": ("text/csv", as_csv),
    "jsonl": ("application/x-ndjson", as_jsonl),
}
