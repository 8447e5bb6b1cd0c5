"""The HTML pages. Each function returns the values that the template of its page shows.

A page that shows the result of one operation does not need its own function (:func:`_result_page`).

The reports of the simulator are in the folder that NEWSBOT_REPORTS names. They are served unchanged, but in a
sandbox: browsers neither run scripts of a report nor load further files.

Charts are scales, points and texts, which the template ``plots.html`` draws as SVG.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from math import ceil, floor, log10
from pathlib import Path
from typing import Any

from aiohttp import web

from newsbot.apps.authoring.learn import starter_sites
from newsbot.apps.numbers import percent
from newsbot.apps.operations.explain import Explanation, conclusion, details, rows
from newsbot.apps.search.articles import MAX_COMPARED, Attention, Followed
from newsbot.apps.search.usefulness import READ
from newsbot.apps.web.dashboard import endpoints as operations
from newsbot.apps.web.dashboard.access import person
from newsbot.apps.web.dashboard.articles import (
    MAX_PAGE,
    Reports,
    Whole,
    blocks,
    newest_articles,
    recent_stories,
    rising_terms,
    row_of,
    starred_articles,
)
from newsbot.apps.web.dashboard.endpoints import (
    ADDRESS,
    CHOICE,
    COLLECTION,
    COMPARED,
    FILTERS,
    KINDS,
    MAX_IN_FILE,
    OPERATIONS,
    RANGE,
    SITE_PLACE,
    URL,
    Given,
    Parameter,
    choice_of,
    flag,
    given,
    number,
    one_of,
    words,
)
from newsbot.apps.web.dashboard.overview import (
    ORDERS,
    RANGES,
    TREND_DAYS,
    Period,
    all_sites,
    crawl_state,
    crawl_verdict,
    current_troubles,
    has_problem,
    in_order,
    together,
)
from newsbot.apps.web.dashboard.proposals import CRAWL_TIMEOUT
from newsbot.apps.web.dashboard.rendering import (
    answer,
    count,
    counted_text,
    day_text,
    decimal_text,
    message,
    number_text,
    plain,
)
from newsbot.apps.web.dashboard.service import (
    Dashboard,
    all_by_day,
    known_languages,
    published_today,
    saved_today,
    stored_articles,
    top_events_of,
)
from newsbot.apps.web.readers import StillComputing
from newsbot.cli.terminal import clean
from newsbot.clock import DAY, utc
from newsbot.errors import ArgumentError
from newsbot.items import ArticleFilter
from newsbot.sites.health import Health
from newsbot.storage.base import HOUR
from newsbot.urls import fingerprint


# --- plots
@dataclass(frozen=True, slots=True)
class Point:
    """One bar, or one point of a line."""

    label: str
    """The name of the point, for its tooltip and for the table."""
    part: float | None
    """The height, from 0 to 1 (the upper end of the axis). If it is None, the line has a gap."""
    shown: str
    """The value as text."""
    tick: str
    """The text below the point; empty for most points."""


@dataclass(frozen=True, slots=True)
class Plot:
    """A chart: bars, or a line."""

    title: str
    ticks: Sequence[tuple[float, str]]
    """Position (0 to 1) and text of each tick of the vertical axis."""
    points: Sequence[Point]
    line: bool = False


def bars(
    title: str,
    given: Sequence[tuple[str, float, str]],
    shown: Callable[[float], str] = number_text,
    *,
    largest: float = 0.0,
) -> Plot:
    """Return a bar chart whose axis begins at 0. Each bar has a label, a value and a tick.

    ``shown`` converts a value to text. The axis reaches at least to ``largest``, so that several charts can
    have the same scale.
    """
    top, ticks = _scale(max([largest, *(value for _, value, _ in given)]))
    points = [Point(label, value / top, shown(value), tick) for label, value, tick in given]
    return Plot(title, [(tick / top, shown(tick)) for tick in ticks], points)


def _scale(largest: float) -> tuple[float, list[float]]:
    """Return the upper end and the ticks of an axis that reaches to ``largest``, as round numbers."""
    if largest <= 0:
        return 1.0, [0.0]
    # The axis has about four steps. A step is 1, 2 or 5 times a power of ten.
    rough = largest / 4
    unit = 10.0 ** floor(log10(rough))
    step = next(factor * unit for factor in (1, 2, 5, 10) if factor * unit >= rough)
    step = max(step, 1.0) if largest >= 1 else step  # an axis of counts has no fractions
    number = ceil(largest / step)
    return step * number, [step * place for place in range(number + 1)]


def activity_plots(given: Sequence[Period], chosen: str) -> dict[str, Plot]:
    """Return charts of the crawl's activity in a range of time, by caption.

    ``chosen`` is a key of :data:`newsbot.apps.web.dashboard.overview.RANGES`, and ``given`` contains its
    periods.
    """
    seconds, days = RANGES[chosen][0], range_names()[chosen]
    whole, ticks = together(given), _ticks(given, seconds)
    labels = [_label(utc(one.at), hour=seconds % DAY != 0) for one in given]

    def chart(what: str, name: str) -> Plot:
        values = [getattr(one, name) for one in given]
        title = plain("{what} in {days}", what=what, days=days)
        return bars(title, list(zip(labels, values, ticks, strict=True)))

    useful = [
        Point(label, one.useful_share, percent(one.useful_share), tick)
        for label, one, tick in zip(labels, given, ticks, strict=True)
    ]
    share_ticks = [(tick, percent(tick)) for tick in (0.0, 0.5, 1.0)]
    share = plain(
        "{share} of the pages were articles in {days}", share=percent(whole.useful_share), days=days
    )
    fetched = str(count("{n} page fetched", "{n} pages fetched", whole.fetched))
    return {
        plain("New articles"): chart(counted_text(whole.articles, "article"), "articles"),
        plain("Pages fetched"): chart(fetched, "fetched"),
        plain("Useful share"): Plot(share, share_ticks, useful, line=True),
        plain("Errors"): chart(counted_text(whole.errors, "error"), "errors"),
    }


def range_names() -> dict[str, str]:
    """Return the ranges of time that a user can choose, with their names."""
    return {name: counted_text(int(name[:-1]), "day") for name in RANGES}


def _label(at: datetime, *, hour: bool) -> str:
    day = day_text(at, with_year=False)
    return f"{day} {at:%H:00}" if hour else day


def _ticks(given: Sequence[Period], seconds: int) -> list[str]:
    """Return the text below each period. Most texts are empty.

    Periods of an hour have two texts for each day. Longer periods have about six texts in total.
    """
    moments = [utc(one.at) for one in given]
    if seconds == HOUR:
        return [
            (f"{one:%H:00}" if one.hour else day_text(one, with_year=False)) if one.hour % 12 == 0 else ""
            for one in moments
        ]
    # toordinal() counts the days since the year 1, so the same days have a text when the range moves on.
    step = max(1, len({one.date() for one in moments}) // 6)
    return [
        day_text(one, with_year=False) if one.hour == 0 and one.toordinal() % step == 0 else ""
        for one in moments
    ]


TICKS = 5
"""Approximate number of ticks in a chart of days or of reports."""


def reports_plot(given: Sequence[Reports]) -> Plot:
    """Return the chart of the reports of a story or an event, by the hour or by longer periods."""
    step = len(given) // TICKS + 1
    points = []
    for place, one in enumerate(given):
        label, day = _label(one.at, hour=one.hours < 24), day_text(one.at, with_year=False)
        # The first one has no hour: the next one may be near, and their texts must not overlap.
        tick = "" if place % step else f"{one.at:%H:00}" if one.hours < 24 and place and one.at.hour else day
        points.append((label, float(one.articles), tick))
    hours = given[0].hours if given else 1
    title = (
        count("Reports by the hour (UTC)", "Reports in each {n} hours (UTC)", hours)
        if hours < 24
        else count("Reports by the day (UTC)", "Reports in each {n} days (UTC)", hours // 24)
    )
    return bars(str(title), points)


@dataclass(frozen=True, slots=True)
class Series:
    """One line of a chart with several lines."""

    name: str
    total: str
    """A sentence with the sum."""
    parts: Sequence[float]
    """The heights, from 0 to 1."""
    shown: Sequence[str]
    """The values as text."""


@dataclass(frozen=True, slots=True)
class LinePlot:
    """A chart with a line for each series."""

    title: str
    ticks: Sequence[tuple[float, str]]
    labels: Sequence[str]
    """The names of the points, for the text under the chart and for the table."""
    below: Sequence[str]
    """The text below each point; empty for most points."""
    series: Sequence[Series]


def attention_plot(found: Attention, *, share: bool) -> LinePlot:
    """Return a chart with a line for each query.

    A line shows the number of matching articles of each day. With ``share`` it shows their share of the day's
    articles.
    """
    lines = [
        [_part(number, every) if share else float(number) for number, every in _counts(found, one)]
        for one in found.queries
    ]
    top, ticks = _scale(max((value for line in lines for value in line), default=0.0))
    series = [
        _series(found, one, [value / top for value in line])
        for one, line in zip(found.queries, lines, strict=True)
    ]
    step = len(found.days) // TICKS + 1
    labels = [day_text(_midnight(day), with_year=False) for day in found.days]
    return LinePlot(
        "; ".join(one.total for one in series),
        [(tick / top, _tenths(tick) if share else number_text(tick)) for tick in ticks],
        labels,
        [label if place % step == 0 else "" for place, label in enumerate(labels)],
        series,
    )


def _counts(found: Attention, one: Followed) -> list[tuple[int, int]]:
    return list(zip(found.numbers(one), found.articles, strict=True))


def _series(found: Attention, one: Followed, parts: Sequence[float]) -> Series:
    name = one.query or plain("all articles")
    articles = counted_text(sum(found.numbers(one)), "article")
    total = plain("{query}: {articles} in {days}", query=name, articles=articles, days=_days(found))
    shown = [
        plain(
            "{number} ({share} of {all})",
            number=number_text(number),
            share=_tenths(_part(number, every)),
            all=number_text(every),
        )
        for number, every in _counts(found, one)
    ]
    return Series(name, total, parts, shown)


def _days(found: Attention) -> str:
    return counted_text(len(found.days), "day")


def days_plot(found: Attention) -> Plot:
    """Return a bar chart of the articles of the first query, by day."""
    one, step = found.queries[0], len(found.days) // TICKS + 1
    points = []
    for place, (day, articles_of_day) in enumerate(zip(found.days, found.numbers(one), strict=True)):
        label = day_text(_midnight(day), with_year=False)
        points.append((label, float(articles_of_day), "" if place % step else label))
    articles = counted_text(sum(found.numbers(one)), "article")
    return bars(plain("{what} in {days}", what=articles, days=_days(found)), points)


def _midnight(day: str) -> datetime:
    return datetime.fromisoformat(day).replace(tzinfo=UTC)


def _part(number: int, every: int) -> float:
    return number / every if every else 0.0


def _tenths(share: float) -> str:
    return f"{decimal_text(f'{100 * share:.1f}')} %"


# --- pages
SHOWN_ALARMS = 8
SHOWN_STARRED = 50
"""Number of starred articles that are shown, those that were starred last."""
SITES_PER_PAGE = 50
NEWEST = 5
"""Number of newest articles on the page of a site."""
SHOWN_CHARACTERS = 30_000
"""Maximum number of characters of an article's text that are shown."""
SHOWN_PAGES = 50
"""Maximum number of pages in each list of a monitor report."""
PROBLEMS = message("with problems")
_STATES = (PROBLEMS, "paused", *(one.value for one in Health))
_OF_SITES: tuple[Parameter, ...] = (
    one_of("sort", "", tuple(ORDERS), "health"),
    flag("backwards", ""),
    words("site", ""),
    one_of("health", "", _STATES, None),
    number("page", "", 1, 10_000),
    COLLECTION,
)
_SITE_COLUMNS = (
    ("site", message("site"), False),
    ("health", message("health"), False),
    ("articles", message("articles"), True),
    ("trend", message("30 days"), False),
    ("useful", message("useful"), True),
    ("last", message("last article"), True),
    ("next", message("next poll"), True),
    ("errors", message("errors"), True),
)
REFRESH = 10
"""Seconds between two refreshes of a page; see assets/live.js."""
LOOK_AGAIN = 2
"""Seconds between two refreshes of the page of a new site while it is crawled."""
FIGURES_AGAIN = 1
"""Seconds until a page is loaded again whose figures are being computed."""

Values = dict[str, Any]
"""The values that a template shows. ``status`` is the HTTP status of the page, if it is not 200."""
Run = Callable[[Dashboard, Given], Awaitable[Values]]
"""A function that takes the parameters of the request and returns the values of a page."""


@dataclass(frozen=True, slots=True)
class Page:
    """One page. The parameters of a request are checked before ``run`` gets them."""

    path: str
    template: str
    here: str
    """The path of the entry in the menu that is marked as current."""
    run: Run
    parameters: Sequence[Parameter]
    refresh: int = 0
    """Seconds between two refreshes of the page; 0 if it is not refreshed."""

    async def show(self, board: Dashboard, request: web.Request) -> web.Response:
        """Return the page. The template gets the parameters of the request as ``asked``."""
        asked = given(request, self.parameters, {})
        try:
            reading = await board.reading_of(request)
            values: Values = {"asked": asked, "refresh": self.refresh, "reading": reading}
            values |= await self.run(board, asked)
        except StillComputing:
            response = board.page(request, "computing.html", here=self.here)
            response.headers["Refresh"] = str(FIGURES_AGAIN)  # the browser then loads the page again
            return response
        return board.page(request, self.template, here=self.here, **values)


PAGES: list[Page] = []
"""All pages."""


def page(
    path: str, template: str, here: str, *parameters: Parameter, refresh: int = 0
) -> Callable[[Run], Run]:
    """Return a decorator that adds a page to :data:`PAGES`."""

    def add_to_list(run: Run) -> Run:
        PAGES.append(Page(path, template, here, run, parameters, refresh))
        return run

    return add_to_list


def _result_page(path: str, template: str, here: str, *, refresh: int = 0, **more: Any) -> None:
    """Add a page that shows the result of the operation with the same path.

    The template gets the result as ``found``, and the values ``more``.
    """
    (operation,) = (one for one in OPERATIONS if one.path == path)

    @page(path, template, here, *operation.parameters, refresh=refresh)
    async def _run(board: Dashboard, asked: Given) -> Values:
        return {"found": await operation.run(board, asked), **more}


_result_page("/jobs", "jobs.html", "/crawl", refresh=REFRESH, modes=operations.MODES)
_result_page("/jobs/{job}", "job.html", "/crawl", refresh=REFRESH)
_result_page("/monitor", "monitor.html", "/monitor")
_result_page("/monitor/{site}", "monitored.html", "/monitor", shown=SHOWN_PAGES)


@page("/", "news.html", "/", *CHOICE, flag("unread", ""))
async def front(board: Dashboard, asked: Given) -> Values:
    """Show the current news, and the state of the crawl in one line."""
    chosen = choice_of(asked)
    figures = await board.memos.present(
        crawl_verdict,
        crawl_state,
        stored_articles,
        published_today,
        top_events_of(chosen),
        rising_terms,
        known_languages,
        saved_today,
    )
    verdict, view, stored, published, top, rising, languages, searches = figures
    is_read = (await board.marks.of(person())).is_read if asked["unread"] and person() else None
    newest = await board.readers.call(lambda data: newest_articles(data, chosen, is_read))
    # Counting the changes is expensive, and the number only explains why there is no event.
    unindexed = 0 if top or top is None else await board.readers.call(lambda data: data.search.waiting())
    return {
        "refresh": FIGURES_AGAIN if None in figures else 0,
        "verdict": verdict,
        "view": view,
        "stored": stored,
        "published": published,
        "top": top,
        "rising": rising,
        "searches": searches,
        "newest": newest,
        "unindexed": unindexed,
        "known_languages": languages or [],
        "has_rules": bool(len(board.readers.rules())),
        "starter": len(starter_sites()),
    }


@page("/crawl", "crawl.html", "/crawl", RANGE, refresh=REFRESH)
async def crawl(board: Dashboard, asked: Given) -> Values:
    """Show the state of the whole crawl."""
    known = await board.memos.soon(crawl_state)
    found = (await board.memos.soon(current_troubles)).value
    done = await operations.activity(board, {**asked, "source": None})
    return {
        "view": known.value,
        "verdict": (await board.memos.soon(crawl_verdict)).value,
        "at": known.at,
        "articles": (await board.memos.soon(stored_articles)).value,
        "published": (await board.memos.soon(published_today)).value,
        "troubles": found[:SHOWN_ALARMS],
        "more_troubles": len(found) - SHOWN_ALARMS,
        "ranges": range_names(),
        "plots": activity_plots(done, asked["range"]),
    }


@page("/sources", "sources.html", "/sources", *_OF_SITES, refresh=REFRESH)
async def sources(board: Dashboard, asked: Given) -> Values:
    """Show the list of sites, filtered and sorted."""
    known = await board.memos.soon(all_sites)
    within = _sites_of(board, asked)
    rows = [
        row
        for row in known.value
        # clean() converts an international domain name to its own script. Users can search for both forms.
        if (not asked["site"] or asked["site"].lower() in f"{row.site} {clean(row.site)}")
        and (within is None or row.site in within)
        and (not asked["health"] or asked["health"] in (row.health, PROBLEMS if has_problem(row) else ""))
    ]
    skip = (asked["page"] - 1) * SITES_PER_PAGE
    return {
        "all": known.value,
        "verdict": (await board.memos.soon(crawl_verdict)).value,
        "problems": sum(map(has_problem, known.value)),
        "rows": rows,
        "shown": in_order(rows, asked["sort"], backwards=asked["backwards"])[skip : skip + SITES_PER_PAGE],
        "skip": skip,
        "at": known.at,
        "states": _STATES,
        "columns": _SITE_COLUMNS,
        "trend_days": TREND_DAYS,
    }


@page("/sources/new", "new_source.html", "/sources", ADDRESS)
async def new_source(board: Dashboard, asked: Given) -> Values:
    """Let a user add a site: show the findings of the small crawl, and the proposed rule."""
    found = board.proposals.get(asked["site"]) if asked["site"] else None
    looking = found is not None and found.state == "looking"
    refresh = LOOK_AGAIN if looking else 0
    return {"refresh": refresh, "found": found, "looking": looking, "seconds": CRAWL_TIMEOUT}


@page("/sources/{site}", "source.html", "/sources", SITE_PLACE, RANGE, refresh=REFRESH)
async def source(board: Dashboard, asked: Given) -> Values:
    """Show one site."""
    sheet = await operations.source(board, asked)
    where = ArticleFilter(source=sheet.row.site)
    done, newest = await asyncio.gather(
        operations.activity(board, {**asked, "source": sheet.row.site}),
        board.readers.call(lambda data: data.storage.articles.newest(where, limit=NEWEST)),
    )
    plots = activity_plots(done, asked["range"])
    newest_rows = [row_of(one) for one in newest]
    return {"sheet": sheet, "newest": newest_rows, "ranges": range_names(), "plots": plots}


@page("/articles", "articles.html", "/articles", *FILTERS)
async def articles(board: Dashboard, asked: Given) -> Values:
    """Show articles by words and filters."""
    if operations.query_of(asked) or operations.filter_of(asked) != ArticleFilter():
        counting = operations.attention(board, {**asked, "q": [asked["q"] or ""]})
    else:
        counting = board.memos.get(all_by_day)
    found, attention = await asyncio.gather(operations.articles(board, asked), counting)
    (counted,) = attention.queries
    return {
        "found": found,
        "last_page": MAX_PAGE,
        "most_in_file": MAX_IN_FILE,
        "counts": counted.counts,
        "days": len(attention.days),
        "chart": days_plot(attention),
        "query_text": operations.query_of(asked),
        "known_languages": await _languages(board),
    }


_SHOW = one_of("show", "", ("articles", "share"), "articles")


@page("/attention", "attention.html", "/articles", *COMPARED, _SHOW)
async def attention(board: Dashboard, asked: Given) -> Values:
    """Compare several queries by day."""
    found = await operations.attention(board, asked)
    chart = attention_plot(found, share=asked["show"] == "share")
    return {
        "found": found,
        "most": MAX_COMPARED,
        "chart": chart,
        "known_languages": await _languages(board),
    }


@page("/article", "article.html", "/articles", URL)
async def article(board: Dashboard, asked: Given) -> Values:
    """Show one article. It is read from then on, if the reader is logged in."""
    known = await operations.whole_article(board, asked)
    one = known.article
    board.readers.uses.count([one.source], READ)
    if person():
        await board.marks.opened(person(), fingerprint(one.canonical_url))
    explained = await board.readers.call(lambda data: operations.explained(data, one.canonical_url))
    return {
        "known": known,
        "one": one,
        "fields": _fields(known),
        "blocks": blocks(one.text[:SHOWN_CHARACTERS], one.structure),
        "cut": len(one.text) > SHOWN_CHARACTERS,
        "why": history(explained, time.time()),
    }


def history(found: Explanation, now: float) -> list[Values]:
    """Return the present facts about a URL, the steps of its history, and the conclusion."""
    told: list[Values] = [{"kind": "fact", "name": name, "text": text} for name, text in rows(found, now)]
    for event in found.page.history if found.page else ():
        known, at = details(event).items(), event.get("at")
        name = str(event.get("event", "")).replace("_", " ")
        told.append({"kind": "step", "name": name, "at": at, "details": list(known)})
    text, command = conclusion(found)
    return [*told, {"kind": "conclusion", "text": text, "command": command}]


def _fields(known: Whole) -> list[tuple[str, str, str | None]]:
    """Return name, value and extraction method of each field that has a value."""
    row = known.article.to_dict()
    hidden = ("text", "extraction", "url", "content_hash", "media")
    return [
        (name, (", ".join(map(str, value)) if isinstance(value, list) else str(value))[:2000], method)
        for name, value in row.items()
        if name not in hidden and value not in (None, [], {}, "", False)
        for method in (known.article.extraction.get(name),)
    ]


@page("/stories", "stories.html", "/stories", *CHOICE)
async def stories(board: Dashboard, asked: Given) -> Values:
    """Show the list of the latest stories that a chosen site reports, in a chosen language."""
    known = await board.memos.soon(recent_stories)
    within, language = _sites_of(board, asked), choice_of(asked).language
    rows = [
        one
        for one in known.value
        if (within is None or not within.isdisjoint(one.sources)) and language in (None, one.first.language)
    ]
    return {
        "known": known,
        "rows": rows,
        "known_languages": await _languages(board),
    }


def _sites_of(board: Dashboard, asked: Given) -> frozenset[str] | None:
    """Return the sites of the collection that is asked for; None without a collection."""
    return frozenset(board.readers.rules().tagged(asked["collection"])) if asked["collection"] else None


async def _languages(board: Dashboard) -> list[str]:
    """Return the languages in the search index, or none while they are being read."""
    (found,) = await board.memos.present(known_languages)
    return found or []


_STORY = words("story", "", required=True, place="path")


@page("/stories/{story}", "story.html", "/stories", _STORY, words("changes", ""))
async def story(board: Dashboard, asked: Given) -> Values:
    """Show one story as a timeline, and what changed in one of its articles (``changes``)."""
    found = await operations.story(board, asked)
    versions = await operations.versions(board, {"url": asked["changes"]}) if asked["changes"] else []
    return {
        "found": found,
        "chart": reports_plot(found.reports),
        "versions": versions,
    }


_EVENT = words("event", "", required=True, place="path")


@page("/events/{event}", "event.html", "/", _EVENT)
async def event(board: Dashboard, asked: Given) -> Values:
    """Show one event: its reports by the hour, when each site joined, and its stories."""
    found = await operations.event(board, asked)
    return {"found": found, "chart": reports_plot(found.reports)}


@page("/why", "why.html", "/why", words("url", ""))
async def why(board: Dashboard, asked: Given) -> Values:
    """Explain what newsbot knows about a URL, with its history."""
    if not asked["url"]:
        return {"kinds": KINDS}
    try:
        found = await board.readers.call(lambda data: operations.explained(data, asked["url"]))
    except ArgumentError as error:
        return {"kinds": KINDS, "problem": str(error), "status": 400}
    archived = board.has_archive and (found.page is not None or found.article is not None)
    return {
        "kinds": KINDS,
        "found": found,
        "rows": history(found, time.time()),
        "has_archive": archived,
    }


@page("/saved", "saved.html", "/saved")
async def saved(board: Dashboard, asked: Given) -> Values:
    """Show the saved searches, and the articles that the reader has starred."""
    searches = await operations.saved(board, asked)
    keys = [bytes.fromhex(key) for key in (await board.marks.of(person())).starred] if person() else []
    latest = keys[: -SHOWN_STARRED - 1 : -1]
    starred = await board.readers.call(lambda data: starred_articles(data, latest)) if latest else []
    (counted,) = await board.memos.present(saved_today)
    today = {name: number for name, _, number in counted or ()}
    more = len(keys) - len(latest)
    return {"found": searches, "today": today, "starred": starred, "more_starred": more}


@page("/simulator", "simulator.html", "/simulator")
async def simulator(board: Dashboard, _asked: Given) -> Values:
    """Show the list of the simulator's reports."""
    rows = await board.readers.call(lambda _data: reports(board.reports))
    return {"rows": rows, "folder": board.reports}


@page("/api", "api.html", "/api")
async def api(_board: Dashboard, _asked: Given) -> Values:
    """Show the documentation of the API."""
    return {"operations": OPERATIONS}


async def simulator_report(board: Dashboard, request: web.Request) -> web.Response:
    """Return one report of the simulator unchanged. Its content security policy makes browsers sandbox it."""
    name = request.match_info["name"]
    found = await board.readers.call(lambda _data: report(board.reports, name))
    if found is None:
        raise operations.missing("there is no such report")
    return answer(found, "text/html", headers={"Content-Security-Policy": CSP})


MAX_REPORTS = 200
MAX_BYTES = 8 * 2**20
"""Maximum size of a report in bytes. Larger files are not listed."""
DEPTH = 2
"""Number of subfolder levels that are searched."""
CSP = "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'none'"
"""The content security policy of reports."""


@dataclass(frozen=True, slots=True)
class ReportRow:
    """One report."""

    name: str
    """The path within the folder."""
    at: datetime
    """The time at which the file was written."""
    size: int
    """Bytes."""


def reports(folder: Path) -> list[ReportRow]:
    """Return at most MAX_REPORTS reports, newest first. The list is empty if the folder does not exist."""
    found = []
    for path in _files(folder, DEPTH):
        try:
            status = path.stat()
        except OSError:  # deleted since the folder was read
            continue
        if status.st_size <= MAX_BYTES:
            found.append(ReportRow(path.relative_to(folder).as_posix(), utc(status.st_mtime), status.st_size))
    return sorted(found, key=lambda one: (one.at, one.name), reverse=True)[:MAX_REPORTS]


def report(folder: Path, name: str) -> bytes | None:
    """Return the content of a report, or None if :func:`reports` does not list it.

    The name comes from a URL. It must be in the list, so that no other file can be read.
    """
    if name not in {one.name for one in reports(folder)}:
        return None
    try:
        return (folder / name).read_bytes()[:MAX_BYTES]
    except OSError:
        return None


def _files(folder: Path, depth: int) -> Iterator[Path]:
    try:
        places = sorted(folder.iterdir())[: 10 * MAX_REPORTS]
    except OSError:
        return
    for place in places:
        if place.name.startswith(".") or place.is_symlink():  # a link could lead out of the folder
            continue
        if place.is_dir() and depth:
            yield from _files(place, depth - 1)
        elif place.suffix == ".html" and place.is_file():
            yield place
