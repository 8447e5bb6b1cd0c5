"""The HTML pages for people."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable

from aiohttp import web

from newsbot.operations.explain_text import lines
from newsbot.sites.health import Health
from newsbot.web.dashboard import endpoints as operations
from newsbot.web.dashboard import reports
from newsbot.web.dashboard.actions import KINDS
from newsbot.web.dashboard.articles import MAX_PAGE, Whole
from newsbot.web.dashboard.endpoints import FILTERS, OPERATIONS, SITE_PLACE, URL
from newsbot.web.dashboard.parameters import Parameter, flag, given, one_of, words
from newsbot.web.dashboard.plots import fetched_plot, overview_plots, spark, trend_plot
from newsbot.web.dashboard.rendering import HEADERS, link
from newsbot.web.dashboard.service import Dashboard
from newsbot.web.dashboard.sites import ORDERS, in_order

SHOWN_ALARMS = 8
SHOWN_SITES = 100
SHOWN_CHARACTERS = 30_000
"""Of a text."""
SHOWN_LINES = 100
"""Lines of a change."""
SHOWN_PAGES = 50
"""Of each list of the monitor."""

Page = Callable[[Dashboard, web.Request], Awaitable[web.Response]]

_STATES = ("paused", *(one.value for one in Health))
_OF_SITES: tuple[Parameter, ...] = (
    one_of("sort", "", tuple(ORDERS), "health"),
    flag("backwards", ""),
    words("site", ""),
    one_of("health", "", _STATES, None),
)
_SITE_COLUMNS = (
    ("site", "site", False),
    ("health", "health", False),
    ("articles", "articles", True),
    ("trend", "14 days", False),
    ("useful", "useful", True),
    ("last", "last article", True),
    ("next", "next poll", True),
    ("errors", "errors", True),
)
_DONE = (words("done", ""),)


async def overview(board: Dashboard, request: web.Request) -> web.Response:
    """How the crawl does as a whole."""
    known = await board.memos.overview.get()
    found = (await board.memos.troubles.get()).value
    return board.page(
        request,
        "overview.html",
        here="/",
        view=known.value,
        at=known.at,
        articles=(await board.memos.articles.get()).value,
        troubles=found[:SHOWN_ALARMS],
        more_troubles=len(found) - SHOWN_ALARMS,
        **overview_plots(known.value),
    )


async def sources(board: Dashboard, request: web.Request) -> web.Response:
    """All sites."""
    asked = given(request, _OF_SITES, {})
    known = await board.memos.sites.get()
    rows = [
        row
        for row in known.value
        if (not asked["site"] or asked["site"].lower() in row.site)
        and (not asked["health"] or row.health == asked["health"])
    ]
    shown = in_order(rows, asked["sort"], backwards=asked["backwards"])[:SHOWN_SITES]
    return board.page(
        request,
        "sources.html",
        here="/sources",
        rows=rows,
        shown=shown,
        at=known.at,
        asked=asked,
        states=_STATES,
        columns=_SITE_COLUMNS,
        sparks={row.site: spark(f"{sum(row.trend)} articles in 14 days", row.trend) for row in shown},
    )


async def source(board: Dashboard, request: web.Request) -> web.Response:
    """One site."""
    asked = given(request, (SITE_PLACE, *_DONE), {})
    sheet = await operations.site_sheet(board, asked)
    return board.page(
        request,
        "source.html",
        here="/sources",
        sheet=sheet,
        done=_told(board, request, asked["done"]),
        days_plot=trend_plot(sheet.row.trend, board.clock()),
        hours_plot=fetched_plot(sheet.hours),
    )


async def articles(board: Dashboard, request: web.Request) -> web.Response:
    """Articles by words and filters."""
    asked = given(request, FILTERS, {})
    raw = {name: request.query.get(name, "") for name in ("since", "until")}
    found = await operations.found_articles(board, asked)
    same = {name: request.query.get(name, "") for name in ("q", "source", "language", "story", "sort")} | raw
    return board.page(
        request,
        "articles.html",
        here="/articles",
        asked=asked,
        raw=raw,
        found=found,
        last_page=MAX_PAGE,
        previous=link("/articles", **same, page=found.page - 1),
        next=link("/articles", **same, page=found.page + 1),
        feed=link("/articles.atom", **{name: value for name, value in same.items() if name != "sort"}),
    )


async def article(board: Dashboard, request: web.Request) -> web.Response:
    """One article."""
    asked = given(request, (URL, *_DONE), {})
    known = await operations.whole_article(board, asked)
    text = known.article.text
    return board.page(
        request,
        "article.html",
        here="/articles",
        one=known.article,
        fields=_fields(known),
        text=text[:SHOWN_CHARACTERS],
        cut=len(text) > SHOWN_CHARACTERS,
        text_method=known.article.extraction.get("text"),
        versions=known.versions,
        members=known.members,
        max_lines=SHOWN_LINES,
        done=_told(board, request, asked["done"]),
    )


def _fields(known: Whole) -> list[tuple[str, str, str | None]]:
    """Name, value and method of each field that has one."""
    row = known.article.as_row()
    hidden = ("text", "extraction", "url", "content_hash")
    return [
        (name, (", ".join(map(str, value)) if isinstance(value, list) else str(value))[:2000], method)
        for name, value in row.items()
        if name not in hidden and value not in (None, [], {}, "", False)
        for method in (known.article.extraction.get(name),)
    ]


async def stories(board: Dashboard, request: web.Request) -> web.Response:
    """The latest stories."""
    known = await board.memos.stories.get()
    return board.page(request, "stories.html", here="/stories", stories=known.value, at=known.at)


async def story(board: Dashboard, request: web.Request) -> web.Response:
    """One story."""
    asked = given(request, (words("story", "", required=True, place="path"),), {})
    return board.page(request, "story.html", here="/stories", one=await operations.story_row(board, asked))


async def why(board: Dashboard, request: web.Request) -> web.Response:
    """The whole story of a URL."""
    asked = given(request, (words("url", ""), *_DONE), {})
    told: list[str] = []
    problem, found = "", None

    if asked["url"]:
        try:
            explained = await board.readers.call(lambda data: operations.explained(data, asked["url"]))
        except ValueError as error:
            problem = str(error)
        else:
            told = list(lines(explained, time.time()))
            found = explained.article.canonical_url if explained.article else None
    return board.page(
        request,
        "why.html",
        400 if problem else 200,
        here="/why",
        url=asked["url"] or "",
        lines=told,
        problem=problem,
        article=found,
        kinds=KINDS,
        done=_told(board, request, asked["done"]),
    )


async def monitor(board: Dashboard, request: web.Request) -> web.Response:
    """Sites that were monitored."""
    found = await operations.monitor(board, {})
    return board.page(request, "monitor.html", here="/monitor", sites=sorted(found.items())[:500])


async def monitored(board: Dashboard, request: web.Request) -> web.Response:
    """What the monitor found on one site."""
    asked = given(request, (SITE_PLACE,), {})
    report = await operations.monitor_report(board, asked)
    return board.page(
        request, "monitored.html", here="/monitor", domain=asked["site"], report=report, shown=SHOWN_PAGES
    )


async def simulator(board: Dashboard, request: web.Request) -> web.Response:
    """The reports of the simulator."""
    rows = await board.readers.call(lambda _data: reports.reports(board.reports))
    return board.page(request, "simulator.html", here="/simulator", rows=rows, folder=board.reports)


async def report(board: Dashboard, request: web.Request) -> web.Response:
    """One report, as it is, in a sandbox."""
    name = request.match_info["name"]
    found = await board.readers.call(lambda _data: reports.report(board.reports, name))
    if found is None:
        raise operations.missing("there is no such report")
    response = web.Response(
        body=found,
        content_type="text/html",
        charset="utf-8",
        headers=HEADERS | {"Content-Security-Policy": reports.CSP},
    )
    response.enable_compression()
    return response


async def api(board: Dashboard, request: web.Request) -> web.Response:
    """What the API offers."""
    return board.page(request, "api.html", here="/api", operations=OPERATIONS)


def _told(board: Dashboard, request: web.Request, done: str | None) -> str:
    """What an action said: only to who may act, so that no link puts words into our mouth."""
    return (done or "")[:500] if board.access.session(request) else ""


PAGES: tuple[tuple[str, Page], ...] = (
    ("/", overview),
    ("/sources", sources),
    ("/sources/{site}", source),
    ("/articles", articles),
    ("/article", article),
    ("/stories", stories),
    ("/stories/{story}", story),
    ("/why", why),
    ("/monitor", monitor),
    ("/monitor/{site}", monitored),
    ("/simulator", simulator),
    ("/simulator/{name:.+}", report),
    ("/api", api),
)
