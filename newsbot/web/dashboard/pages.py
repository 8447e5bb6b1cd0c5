"""Handles the requests for HTML pages. Each function reads the data of one page and renders its template."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from urllib.parse import urlencode

from aiohttp import web

from newsbot.cli.terminal import clean
from newsbot.errors import ArgumentError
from newsbot.items import ArticleFilter
from newsbot.operations.explain import lines
from newsbot.search.articles import MAX_COMPARED
from newsbot.sites.health import Health
from newsbot.text.differences import word_changes
from newsbot.web.dashboard import endpoints as operations
from newsbot.web.dashboard import reports
from newsbot.web.dashboard.articles import MAX_PAGE, Whole, blocks
from newsbot.web.dashboard.endpoints import COMPARED, FILTERS, KINDS, OPERATIONS, RANGE, SITE_PLACE, URL
from newsbot.web.dashboard.overview import SITES_BAD, signs
from newsbot.web.dashboard.plots import RANGE_NAMES, activity_plots, attention_plots
from newsbot.web.dashboard.proposals import PATIENCE, site_named
from newsbot.web.dashboard.rendering import answer, link
from newsbot.web.dashboard.schema import Parameter, flag, given, number, one_of, words
from newsbot.web.dashboard.service import Dashboard
from newsbot.web.dashboard.sites import ORDERS, TREND_DAYS, has_problem, in_order

SHOWN_ALARMS = 8
SITES_PER_PAGE = 50
NEWEST = 5
"""Number of newest articles on the page of a site."""
SHOWN_CHARACTERS = 30_000
"""Maximum number of characters of an article's text that are shown."""
SHOWN_LINES = 100
"""Maximum number of changed lines between two versions that are shown."""
SHOWN_PAGES = 50
"""Maximum number of pages in each list of a monitor report."""

Page = Callable[[Dashboard, web.Request], Awaitable[web.Response]]

PROBLEMS = "with problems"
_STATES = (PROBLEMS, "paused", *(one.value for one in Health))
_OF_SITES: tuple[Parameter, ...] = (
    one_of("sort", "", tuple(ORDERS), "health"),
    flag("backwards", ""),
    words("site", ""),
    one_of("health", "", _STATES, None),
    number("page", "", 1, 10_000),
)
_SITE_COLUMNS = (
    ("site", "site", False),
    ("health", "health", False),
    ("articles", "articles", True),
    ("trend", f"{TREND_DAYS} days", False),
    ("useful", "useful", True),
    ("last", "last article", True),
    ("next", "next poll", True),
    ("errors", "errors", True),
)
_SHOW = one_of("show", "", ("articles", "share"), "articles")
REFRESH = 10
"""Seconds between two refreshes of a page; see assets/live.js."""
LOOK_AGAIN = 2
"""Seconds between two refreshes of the page of a new site while it is crawled."""


async def front(board: Dashboard, request: web.Request) -> web.Response:
    """Return the front page: the current news, and the state of the crawl in one line."""
    view = (await board.memos.overview.get()).value
    found = (await board.memos.troubles.get()).value
    rows = (await board.memos.sites.get()).value
    now = await operations.news(board, {})
    return board.page(
        request,
        "news.html",
        here="/",
        view=view,
        signs=signs(view, found, {row.site: row.failing_since for row in rows if row.health in SITES_BAD}),
        sites=len(rows),
        articles=(await board.memos.articles.get()).value,
        news=now,
    )


async def crawl(board: Dashboard, request: web.Request) -> web.Response:
    """Return the page on the state of the whole crawl."""
    asked = given(request, (RANGE,), {})
    known = await board.memos.overview.get()
    found = (await board.memos.troubles.get()).value
    done = await operations.activity(board, asked | {"source": None})
    return board.page(
        request,
        "crawl.html",
        here="/crawl",
        refresh=REFRESH,
        view=known.value,
        at=known.at,
        articles=(await board.memos.articles.get()).value,
        troubles=found[:SHOWN_ALARMS],
        more_troubles=len(found) - SHOWN_ALARMS,
        ranges=RANGE_NAMES,
        chosen=asked["range"],
        plots=activity_plots(done, asked["range"]),
        has_jobs=board.jobs is not None,
    )


async def sources(board: Dashboard, request: web.Request) -> web.Response:
    """Return the list of sites, filtered and sorted."""
    asked = given(request, _OF_SITES, {})
    known = await board.memos.sites.get()
    rows = [
        row
        for row in known.value
        # clean() converts an international domain to its own letters. Users can search for both forms.
        if (not asked["site"] or asked["site"].lower() in f"{row.site} {clean(row.site)}")
        and (not asked["health"] or asked["health"] in (row.health, PROBLEMS if has_problem(row) else ""))
    ]
    skip = (asked["page"] - 1) * SITES_PER_PAGE
    shown = in_order(rows, asked["sort"], backwards=asked["backwards"])[skip : skip + SITES_PER_PAGE]
    # the query parameters of the links to the previous and the next page
    same = {name: asked[name] for name in ("sort", "backwards", "site", "health")}
    same |= {"backwards": "1" if asked["backwards"] else ""}
    return board.page(
        request,
        "sources.html",
        here="/sources",
        refresh=REFRESH,
        all=known.value,
        problems=sum(map(has_problem, known.value)),
        with_problems=link("/sources", health=PROBLEMS),
        rows=rows,
        shown=shown,
        skip=skip,
        previous=link("/sources", **same, page=asked["page"] - 1) if asked["page"] > 1 else "",
        next=link("/sources", **same, page=asked["page"] + 1) if skip + len(shown) < len(rows) else "",
        at=known.at,
        asked=asked,
        states=_STATES,
        columns=_SITE_COLUMNS,
        trend_days=TREND_DAYS,
    )


async def source(board: Dashboard, request: web.Request) -> web.Response:
    """Return the page of one site."""
    asked = given(request, (SITE_PLACE, RANGE), {})
    sheet = await operations.source(board, asked)
    where = ArticleFilter(source=sheet.row.site)
    done, newest = await asyncio.gather(
        operations.activity(board, asked | {"source": sheet.row.site}),
        board.readers.call(lambda data: data.storage.articles.newest(where, limit=NEWEST)),
    )
    return board.page(
        request,
        "source.html",
        here="/sources",
        refresh=REFRESH,
        sheet=sheet,
        newest=newest,
        ranges=RANGE_NAMES,
        chosen=asked["range"],
        plots=activity_plots(done, asked["range"]),
    )


async def new_source(board: Dashboard, request: web.Request) -> web.Response:
    """Return the page on which a user adds a site: the findings of the small crawl, and the proposed rule."""
    asked = given(request, (words("site", ""),), {})
    try:
        found = board.proposals.get(asked["site"]) if asked["site"] else None
    except ArgumentError as error:
        raise web.HTTPBadRequest(text=str(error)) from error
    looking = found is not None and found.state == "looking"
    site = site_named(asked["site"]) if asked["site"] else ""
    return board.page(
        request,
        "new_source.html",
        here="/sources",
        refresh=LOOK_AGAIN if looking else 0,
        site=site,
        found=found,
        looking=looking,
        seconds=PATIENCE,
    )


async def jobs(board: Dashboard, request: web.Request) -> web.Response:
    """Return the list of scrapyd's jobs."""
    return board.page(
        request,
        "jobs.html",
        here="/crawl",
        refresh=REFRESH,
        jobs=await operations.jobs(board, {}),
        modes=operations.MODES,
    )


async def job(board: Dashboard, request: web.Request) -> web.Response:
    """Return the page with the log of a job."""
    found = await operations.job_log(board, {"job": request.match_info["job"]})
    return board.page(request, "job.html", here="/crawl", refresh=REFRESH, job=found.job, log=found.log)


async def articles(board: Dashboard, request: web.Request) -> web.Response:
    """Return the search page: articles by words and filters."""
    asked = given(request, FILTERS, {})
    raw = {name: request.query.get(name, "") for name in ("since", "until")}  # as typed, not dates
    found, attention = await asyncio.gather(
        operations.articles(board, asked),
        operations.attention(board, asked | {"q": [asked["q"] or ""]}),
    )
    (counted,) = attention.queries
    same = {name: request.query.get(name, "") for name in ("q", "source", "language", "story", "sort")} | raw
    return board.page(
        request,
        "articles.html",
        here="/articles",
        asked=asked,
        raw=raw,
        found=found,
        last_page=MAX_PAGE,
        counts=counted.counts,
        days=len(attention.days),
        chart=attention_plots(attention, share=False)[0],
        same=same,
        compare=link("/attention", **same | {"sort": "", "story": ""}),
        previous=link("/articles", **same, page=found.page - 1),
        next=link("/articles", **same, page=found.page + 1),
        feed=link("/articles.atom", **{name: value for name, value in same.items() if name != "sort"}),
    )


async def attention(board: Dashboard, request: web.Request) -> web.Response:
    """Return the page that compares several queries by day."""
    asked = given(request, (*COMPARED, _SHOW), {})
    found = await operations.attention(board, asked)
    narrowing = {name: request.query.get(name, "") for name in ("source", "language", "since", "until")}
    shown = {name: value for name, value in narrowing.items() if value}
    pairs = [*(("q", one) for one in asked["q"]), *shown.items()]
    return board.page(
        request,
        "attention.html",
        here="/articles",
        asked=asked,
        raw=narrowing,
        found=found,
        most=MAX_COMPARED,
        plots=attention_plots(found, share=asked["show"] == "share"),
        shown=shown,
        csv=f"/attention.csv?{urlencode(pairs)}",
        jsonl=f"/attention.jsonl?{urlencode(pairs)}",
        here_link=f"/attention?{urlencode([*pairs, ('show', asked['show'])])}",
    )


async def saved(board: Dashboard, request: web.Request) -> web.Response:
    """Return the list of saved searches."""
    rows = await operations.saved(board, {})
    return board.page(request, "saved.html", here="/saved", rows=rows)


async def article(board: Dashboard, request: web.Request) -> web.Response:
    """Return the page of one article."""
    asked = given(request, (URL,), {})
    known = await operations.whole_article(board, asked)
    text = known.article.text
    explained = await board.readers.call(lambda data: operations.explained(data, known.article.canonical_url))
    return board.page(
        request,
        "article.html",
        here="/articles",
        one=known.article,
        fields=_fields(known),
        blocks=blocks(text[:SHOWN_CHARACTERS], known.article.structure),
        why=list(lines(explained, time.time())),
        cut=len(text) > SHOWN_CHARACTERS,
        text_method=known.article.extraction.get("text"),
        versions=known.versions,
        members=known.members,
        event=known.event,
        others=known.others,
        max_lines=SHOWN_LINES,
        word_changes=word_changes,
    )


def _fields(known: Whole) -> list[tuple[str, str, str | None]]:
    """Return name, value and extraction method of each field that has a value."""
    row = known.article.to_dict()
    hidden = ("text", "extraction", "url", "content_hash")
    return [
        (name, (", ".join(map(str, value)) if isinstance(value, list) else str(value))[:2000], method)
        for name, value in row.items()
        if name not in hidden and value not in (None, [], {}, "", False)
        for method in (known.article.extraction.get(name),)
    ]


async def stories(board: Dashboard, request: web.Request) -> web.Response:
    """Return the list of the latest stories."""
    known = await board.memos.stories.get()
    return board.page(request, "stories.html", here="/stories", stories=known.value, at=known.at)


async def story(board: Dashboard, request: web.Request) -> web.Response:
    """Return the page of one story."""
    asked = given(request, (words("story", "", required=True, place="path"),), {})
    return board.page(request, "story.html", here="/stories", one=await operations.story(board, asked))


async def why(board: Dashboard, request: web.Request) -> web.Response:
    """Return the page that explains what newsbot knows of a URL, with its history."""
    asked = given(request, (words("url", ""),), {})
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
    )


async def monitor(board: Dashboard, request: web.Request) -> web.Response:
    """Return the list of monitored sites."""
    found = await operations.monitor(board, {})
    return board.page(request, "monitor.html", here="/monitor", sites=sorted(found.items())[:500])


async def monitored(board: Dashboard, request: web.Request) -> web.Response:
    """Return the monitor's report on one site."""
    asked = given(request, (SITE_PLACE,), {})
    report = await operations.monitor_report(board, asked)
    return board.page(
        request, "monitored.html", here="/monitor", domain=asked["site"], report=report, shown=SHOWN_PAGES
    )


async def simulator(board: Dashboard, request: web.Request) -> web.Response:
    """Return the list of the simulator's reports."""
    rows = await board.readers.call(lambda _data: reports.reports(board.reports))
    return board.page(request, "simulator.html", here="/simulator", rows=rows, folder=board.reports)


async def report(board: Dashboard, request: web.Request) -> web.Response:
    """Return one report of the simulator, unchanged. Its content security policy puts it into a sandbox."""
    name = request.match_info["name"]
    found = await board.readers.call(lambda _data: reports.report(board.reports, name))
    if found is None:
        raise operations.missing("there is no such report")
    return answer(found, "text/html", headers={"Content-Security-Policy": reports.CSP})


async def api(board: Dashboard, request: web.Request) -> web.Response:
    """Return the documentation of the API."""
    return board.page(request, "api.html", here="/api", operations=OPERATIONS)


PAGES: tuple[tuple[str, Page], ...] = (
    ("/", front),
    ("/crawl", crawl),
    ("/jobs", jobs),
    ("/jobs/{job}", job),
    ("/sources", sources),
    ("/sources/new", new_source),
    ("/sources/{site}", source),
    ("/articles", articles),
    ("/attention", attention),
    ("/saved", saved),
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
