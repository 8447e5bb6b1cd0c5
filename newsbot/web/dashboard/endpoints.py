"""The operations of the API: this list is what is served and what ``/openapi.json`` describes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import PurePath
from typing import Any

from aiohttp import web

from newsbot.items import Article
from newsbot.monitoring.kept_reports import kept_report, monitored
from newsbot.operations.explain import Explanation, explain
from newsbot.operations.explain_text import document
from newsbot.search.query import ArticleFilter
from newsbot.storage.spider_results import SearchSummary
from newsbot.web.dashboard import actions, articles, sites
from newsbot.web.dashboard.overview import Overview, Queue, Trouble
from newsbot.web.dashboard.parameters import Parameter, date, number, one_of, words
from newsbot.web.dashboard.schema import plain
from newsbot.web.dashboard.service import Dashboard
from newsbot.web.readers import Data

Given = Mapping[str, Any]
Run = Callable[[Dashboard, Given], Awaitable[Any]]

SITE_PLACE = words("site", "The domain of a site, as its rule names it.", required=True, place="path")
URL = words("url", "An absolute address.", required=True)
FILTERS = (
    words("q", 'Words in all their forms; "a phrase", -without, title:word. Empty: all, newest first.'),
    words("source", "Only of this site."),
    words("language", "Only in this language, e.g. ru."),
    words("story", "Only members of this story."),
    date("since", "Published (or, where unknown, fetched) at or after: a date, or an age such as 7d."),
    date("until", "Published (or, where unknown, fetched) before."),
    one_of("sort", "Best first, or newest first.", ("rank", "time"), "rank"),
    number("page", f"Pages of {articles.PER_PAGE}.", 1, articles.MAX_PAGE),
)


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation. ``path`` is below ``/api``; POST takes its parameters as a form."""

    path: str
    name: str
    text: str
    returns: Any
    run: Run
    parameters: Sequence[Parameter] = ()
    method: str = "GET"


def missing(what: str) -> web.HTTPNotFound:
    """Return the fault for what is not there."""
    return web.HTTPNotFound(text=what)


def filter_of(given: Given) -> ArticleFilter:
    """Return the filter that :data:`FILTERS` say."""
    return ArticleFilter(
        source=given["source"] and given["source"].lower(),
        language=given["language"] and given["language"].lower(),
        story=given["story"],
        since=given["since"],
        until=given["until"],
    )


async def _overview(board: Dashboard, _given: Given) -> Overview:
    return (await board.memos.overview.get()).value


async def _queue(board: Dashboard, _given: Given) -> Queue:
    return (await board.memos.overview.get()).value.queue


async def _troubles(board: Dashboard, _given: Given) -> list[Trouble]:
    return (await board.memos.troubles.get()).value


async def _sites(board: Dashboard, _given: Given) -> list[sites.SiteRow]:
    return (await board.memos.sites.get()).value


async def site_sheet(board: Dashboard, given: Given) -> sites.SiteSheet:
    """One site. Raises ``HTTPNotFound``."""
    sheet = await board.readers.call(lambda data: sites.one_site(data, given["site"]))
    if sheet is None:
        raise missing(f"{given['site']!r} is no site of the rules or the data")
    return sheet


async def found_articles(board: Dashboard, given: Given) -> articles.Found:
    """One page of a search."""
    where, by_time = filter_of(given), given["sort"] == "time"
    return await board.readers.call(
        lambda data: articles.find(data, given["q"] or "", where, given["page"], by_time=by_time)
    )


async def whole_article(board: Dashboard, given: Given) -> articles.Whole:
    """One article. Raises ``HTTPNotFound``, ``HTTPBadRequest``."""
    try:
        found = await board.readers.call(lambda data: articles.whole(data, given["url"]))
    except ValueError as error:
        raise web.HTTPBadRequest(text=str(error)) from error
    if found is None:
        raise missing(f"{given['url']}: no article is stored under this address")
    return found


async def _article(board: Dashboard, given: Given) -> Article:
    return (await whole_article(board, given)).article


async def _versions(board: Dashboard, given: Given) -> list[articles.VersionRow]:
    return (await whole_article(board, given)).versions


async def _stories(board: Dashboard, _given: Given) -> list[articles.StoryRow]:
    return (await board.memos.stories.get()).value


async def story_row(board: Dashboard, given: Given) -> articles.StoryRow:
    """One story. Raises ``HTTPNotFound``."""
    found = await board.readers.call(lambda data: articles.one_story(data, given["story"]))
    if found is None:
        raise missing("no article is in a story of this name")
    return found


def explained(data: Data, url: str) -> Explanation:
    """The whole story of a URL, without our folders: who reads may sit elsewhere. Raises ``ValueError``."""
    story = explain(url, data.rules, data.storage, data.frontier, now=data.clock())
    match, rule = story.match, replace(story.rule, file=PurePath(story.rule.file).name)
    if match.pattern is not None:
        match = replace(match, pattern=replace(match.pattern, file=PurePath(match.pattern.file).name))
    return replace(story, rule=rule, match=match)


async def why(board: Dashboard, given: Given) -> dict[str, Any]:
    """The whole story of a URL. Raises ``HTTPBadRequest``."""
    try:
        return await board.readers.call(lambda data: document(explained(data, given["url"])))
    except ValueError as error:
        raise web.HTTPBadRequest(text=str(error)) from error


async def monitor(board: Dashboard, _given: Given) -> dict[str, dict[str, Any]]:
    """What `scrapy crawl monitor` found, by site."""
    return await board.readers.call(lambda data: monitored(data.notes))


async def monitor_report(board: Dashboard, given: Given) -> dict[str, Any]:
    """The report on one site. Raises ``HTTPNotFound``."""
    found = await board.readers.call(lambda data: kept_report(data.notes, given["site"]))
    if found is None:
        raise missing(f"{given['site']!r} was never monitored; run: scrapy crawl monitor")
    return found


async def searches(board: Dashboard, _given: Given) -> list[SearchSummary]:
    """What `scrapy crawl search` found."""
    return await board.readers.call(lambda data: data.storage.searches.all()[:200])


async def _results(board: Dashboard, given: Given) -> list[dict[str, Any]]:
    def look(data: Data) -> list[dict[str, Any]]:
        results = data.storage.searches.results(given["search"], source=given["source"])
        return [plain(one) for one in islice(results, 500)]

    return await board.readers.call(look)


async def add(board: Dashboard, given: Given) -> actions.Done:
    """Queue a URL."""
    return await board.readers.call(lambda data: actions.add(data, given["url"], given.get("kind")))


async def pause(board: Dashboard, given: Given) -> actions.Done:
    """Pause a site."""
    done = await board.readers.call(lambda data: actions.set_pause(data, given["site"], paused=True))
    board.memos.sites.forget()
    return done


async def resume(board: Dashboard, given: Given) -> actions.Done:
    """Let a site go on."""
    done = await board.readers.call(lambda data: actions.set_pause(data, given["site"], paused=False))
    board.memos.sites.forget()
    return done


_FORM_URL = words("url", "An absolute address.", required=True, place="form")
_FORM_SITE = words("site", "The domain of a site.", required=True, place="form")
_KIND = Parameter(
    "kind",
    "What it is; else what the rule says; else an article.",
    {"type": "string", "enum": list(actions.KINDS)},
    one_of("kind", "", actions.KINDS, None).read,
    place="form",
)

OPERATIONS: tuple[Operation, ...] = (
    Operation("/overview", "overview", "Articles by hour and day, latency, queue.", Overview, _overview),
    Operation("/queue", "queue", "The frontier: sizes, lag, workers with their leases.", Queue, _queue),
    Operation("/troubles", "troubles", "What is wrong now: alerts.", list[Trouble], _troubles),
    Operation("/sources", "sources", "All sites and how they do.", list[sites.SiteRow], _sites),
    Operation(
        "/sources/{site}",
        "source",
        "One site: its feeds, sitemaps and sections, learned patterns, errors.",
        sites.SiteSheet,
        site_sheet,
        (SITE_PLACE,),
    ),
    Operation(
        "/articles", "articles", "Articles by words and filters.", articles.Found, found_articles, FILTERS
    ),
    Operation("/article", "article", "One article, whole.", Article, _article, (URL,)),
    Operation(
        "/article/versions",
        "versions",
        "The versions of an article and what changed.",
        list[articles.VersionRow],
        _versions,
        (URL,),
    ),
    Operation(
        "/stories", "stories", "The latest stories of several articles.", list[articles.StoryRow], _stories
    ),
    Operation(
        "/stories/{story}",
        "story",
        "One story.",
        articles.StoryRow,
        story_row,
        (words("story", "Its id.", required=True, place="path"),),
    ),
    Operation(
        "/why",
        "why",
        "Where a URL was found, how judged, fetched, stored, when due.",
        dict[str, Any],
        why,
        (URL,),
    ),
    Operation("/monitor", "monitor", "Sites that were monitored.", dict[str, Any], monitor),
    Operation(
        "/monitor/{site}",
        "monitor_report",
        "What the monitor found on a site (docs/monitoring.md has the fields).",
        dict[str, Any],
        monitor_report,
        (SITE_PLACE,),
    ),
    Operation("/searches", "searches", "Searches over pages of sites.", list[SearchSummary], searches),
    Operation(
        "/searches/results",
        "search_results",
        "What a search found, 500 pages at most.",
        list[dict[str, Any]],
        _results,
        (words("search", "Its name.", required=True), words("source", "Only on this site.")),
    ),
    Operation(
        "/actions/add", "add", "Queue a URL, also a known one.", actions.Done, add, (_FORM_URL, _KIND), "POST"
    ),
    Operation(
        "/actions/refetch", "refetch", "Fetch a page again now.", actions.Done, add, (_FORM_URL,), "POST"
    ),
    Operation("/actions/pause", "pause", "Pause a site.", actions.Done, pause, (_FORM_SITE,), "POST"),
    Operation("/actions/resume", "resume", "Let a site go on.", actions.Done, resume, (_FORM_SITE,), "POST"),
)
