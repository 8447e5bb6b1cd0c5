"""Lists the operations of the API. The server and ``/openapi.json`` are made from this list."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import PurePath
from typing import Any

from aiohttp import web

from newsbot.alerts import saved as saving
from newsbot.clock import utc
from newsbot.items import ArticleFilter
from newsbot.monitoring.kept_reports import kept_report, monitored
from newsbot.operations.explain import Explanation, explain
from newsbot.operations.explain_text import document
from newsbot.search.articles import MAX_COMPARED, Attention
from newsbot.search.index import Counts
from newsbot.storage.spider_results import SearchSummary
from newsbot.urls import ascii_host
from newsbot.web.dashboard import actions, articles, overview, sites
from newsbot.web.dashboard.jobs import Job, JobLog, Jobs
from newsbot.web.dashboard.news import News, newest_articles
from newsbot.web.dashboard.overview import RANGES, Overview, Period, Queue, Trouble
from newsbot.web.dashboard.parameters import Parameter, date, number, one_of, several, words
from newsbot.web.dashboard.proposals import Proposal
from newsbot.web.dashboard.schema import plain
from newsbot.web.dashboard.service import Dashboard
from newsbot.web.readers import Data

Given = Mapping[str, Any]
"""The values of parameters by name. They are checked already."""
MODES = ("once", "continuous")
Run = Callable[[Dashboard, Given], Awaitable[Any]]
"""The function of an operation. :func:`newsbot.web.dashboard.schema.plain` converts its result to JSON."""

SITE_PLACE = words("site", "The domain of a site, as in its rule.", required=True, place="path")
URL = words("url", "An absolute URL.", required=True)
FILTERS = (
    words(
        "q",
        'Words in all their forms; "a phrase", -without, a OR b, brackets, beginn*, fields; see '
        "docs/search.md. Empty: all, newest first.",
    ),
    words("source", "Only articles of this site."),
    words("language", "Only articles in this language, e.g. ru."),
    words("story", "Only members of this story."),
    date("since", "Published (if unknown: fetched) at or after: a date, or an age such as 7d."),
    date("until", "Published (if unknown: fetched) before: a date, or an age such as 7d."),
    one_of("sort", "The order: best first (rank), or newest first (time).", ("rank", "time"), "rank"),
    number("page", f"The page; each has {articles.PER_PAGE} articles.", 1, articles.MAX_PAGE),
)
"""The parameters of searches."""
COMPARED = (
    several("q", "A query as in /articles; up to four are compared.", MAX_COMPARED),
    *(one for one in FILTERS if one.name not in ("q", "story", "sort", "page")),
)
"""The parameters of comparisons of queries."""


RANGE = one_of("range", "The last days: counted by hour, by six hours, or by day.", tuple(RANGES), "2d")


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation of the API. The parameters of a POST request are sent as a form."""

    path: str
    """The path below ``/api``."""
    name: str
    text: str
    """A description in one sentence."""
    returns: Any
    """The type of the result, from which its JSON schema is made."""
    run: Run
    parameters: Sequence[Parameter] = ()
    method: str = "GET"


def missing(what: str) -> web.HTTPNotFound:
    """Return a 404 error. ``what`` is a sentence for users that says what does not exist."""
    return web.HTTPNotFound(text=what)


def filter_of(given: Given) -> ArticleFilter:
    """Return the article filter of the parameters in :data:`FILTERS`."""
    return ArticleFilter(
        source=given["source"] and given["source"].lower(),
        language=given["language"] and given["language"].lower(),
        story=given.get("story"),
        since=given["since"],
        until=given["until"],
    )


async def _overview(board: Dashboard, _given: Given) -> Overview:
    return (await board.memos.overview.get()).value


async def news(board: Dashboard, _given: Given) -> News:
    """Return the lists of the news page."""
    top, rising = await board.memos.top.get(), await board.memos.rising.get()
    newest = await board.readers.call(newest_articles)
    # Counting all articles is expensive, and the number only explains why ``top`` is empty.
    unindexed = 0 if top.value else await board.readers.call(lambda data: data.search.waiting())
    return News(top.value, rising.value, newest, unindexed)


async def _queue(board: Dashboard, _given: Given) -> Queue:
    return (await board.memos.overview.get()).value.queue


async def _troubles(board: Dashboard, _given: Given) -> list[Trouble]:
    return (await board.memos.troubles.get()).value


async def _sites(board: Dashboard, _given: Given) -> list[sites.SiteRow]:
    return (await board.memos.sites.get()).value


async def site_sheet(board: Dashboard, given: Given) -> sites.SiteSheet:
    """Return all data of one site. Raises ``HTTPNotFound`` for an unknown site."""
    sheet = await board.readers.call(lambda data: sites.one_site(data, given["site"]))
    if sheet is None:
        raise missing(f"{given['site']!r} is not a site of the rules or the data")
    return sheet


async def found_articles(board: Dashboard, given: Given) -> articles.Found:
    """Return one page of search results."""
    where, by_time = filter_of(given), given["sort"] == "time"
    return await board.readers.call(
        lambda data: articles.find(data, given["q"] or "", where, given["page"], by_time=by_time)
    )


async def _counts(board: Dashboard, given: Given) -> Counts:
    """Return the number of articles that match a query, by day, site and language."""
    where = filter_of(given)
    return await board.readers.call(lambda data: data.search.counts(given["q"] or "", where))


async def attention(board: Dashboard, given: Given) -> Attention:
    """Return the number of articles that match each of up to four queries, by day."""
    where, queries = filter_of(given), given["q"] or [""]
    now = utc(board.clock())
    return await board.readers.call(lambda data: data.search.attention(queries, where, now))


async def whole_article(board: Dashboard, given: Given) -> articles.Whole:
    """Return one article.

    Raises ``HTTPNotFound`` if none is stored, and ``HTTPBadRequest`` for an invalid URL.
    """
    try:
        found = await board.readers.call(lambda data: articles.whole(data, given["url"]))
    except ValueError as error:
        raise web.HTTPBadRequest(text=str(error)) from error
    if found is None:
        raise missing(f"{given['url']}: no article is stored under this address")
    return found


async def _article(board: Dashboard, given: Given) -> articles.ArticleInEvent:
    return articles.ArticleInEvent.of(await whole_article(board, given))


async def _versions(board: Dashboard, given: Given) -> list[articles.VersionRow]:
    return (await whole_article(board, given)).versions


async def _stories(board: Dashboard, _given: Given) -> list[articles.StoryRow]:
    return (await board.memos.stories.get()).value


async def story_row(board: Dashboard, given: Given) -> articles.StoryRow:
    """Return one story. Raises ``HTTPNotFound`` for an unknown id."""
    found = await board.readers.call(lambda data: articles.one_story(data, given["story"]))
    if found is None:
        raise missing("there is no story with this id")
    return found


def explained(data: Data, url: str) -> Explanation:
    """Return the history of a URL. Raises ``ValueError`` for an invalid URL.

    Of rule files only the names are given: paths would reveal folders of the machine.
    """
    story = explain(url, data.rules, data.storage, data.frontier, now=data.clock())
    match, rule = story.match, replace(story.rule, file=PurePath(story.rule.file).name)
    if match.pattern is not None:
        match = replace(match, pattern=replace(match.pattern, file=PurePath(match.pattern.file).name))
    return replace(story, rule=rule, match=match)


async def why(board: Dashboard, given: Given) -> dict[str, Any]:
    """Return the history of a URL. Raises ``HTTPBadRequest`` for an invalid URL."""
    try:
        return await board.readers.call(lambda data: document(explained(data, given["url"])))
    except ValueError as error:
        raise web.HTTPBadRequest(text=str(error)) from error


async def monitor(board: Dashboard, _given: Given) -> dict[str, dict[str, Any]]:
    """Return the results of ``scrapy crawl monitor`` by site."""
    return await board.readers.call(lambda data: monitored(data.notes))


async def monitor_report(board: Dashboard, given: Given) -> dict[str, Any]:
    """Return the monitor's report on one site. Raises ``HTTPNotFound`` if there is none."""
    found = await board.readers.call(lambda data: kept_report(data.notes, ascii_host(given["site"])))
    if found is None:
        raise missing(f"{given['site']!r} was never monitored; run: scrapy crawl monitor")
    return found


async def searches(board: Dashboard, _given: Given) -> list[SearchSummary]:
    """Return the searches of ``scrapy crawl search`` with their numbers of results."""
    return await board.readers.call(lambda data: data.storage.searches.all()[:200])


async def _results(board: Dashboard, given: Given) -> list[dict[str, Any]]:
    def look(data: Data) -> list[dict[str, Any]]:
        results = data.storage.searches.results(given["search"], source=given["source"])
        return [plain(one) for one in islice(results, 500)]

    return await board.readers.call(look)


async def saved(board: Dashboard, _given: Given) -> list[dict[str, Any]]:
    """Return the saved searches."""
    return await board.readers.call(lambda data: [one.plain() for one in saving.saved_searches(data.notes)])


async def save(board: Dashboard, given: Given) -> actions.Done:
    """Save a search."""
    return await board.readers.call(lambda data: actions.save(data, given["name"], given["q"], given["tell"]))


async def forget(board: Dashboard, given: Given) -> actions.Done:
    """Delete a saved search."""
    return await board.readers.call(lambda data: actions.forget(data, given["name"]))


async def add(board: Dashboard, given: Given) -> actions.Done:
    """Queue a URL."""
    return await board.readers.call(lambda data: actions.add(data, given["url"], given.get("kind")))


async def pause(board: Dashboard, given: Given) -> actions.Done:
    """Pause a site."""
    done = await board.readers.call(lambda data: actions.set_pause(data, given["site"], paused=True))
    board.memos.sites.forget()
    return done


async def poll(board: Dashboard, given: Given) -> actions.Done:
    """Poll the sources of a site now."""
    return await board.readers.call(lambda data: actions.poll(data, given["site"], given.get("url")))


async def activity(board: Dashboard, given: Given) -> list[Period]:
    """Return the figures of a site, or of the whole crawl, by period."""
    return await board.readers.call(lambda data: overview.activity(data, given["source"], given["range"]))


async def propose(board: Dashboard, given: Given) -> actions.Done:
    """Start the small crawl of a new site."""
    found = board.proposals.begin(given["site"])
    return actions.Done("looking", f"{found.site} is being looked at.")


async def proposal(board: Dashboard, given: Given) -> Proposal:
    """Return the proposal for a new site. Raises ``HTTPNotFound`` if none was requested."""
    if (found := board.proposals.get(given["site"])) is None:
        raise missing(f"{given['site']}: no proposal was requested")
    return found


async def add_site(board: Dashboard, given: Given) -> actions.Done:
    """Write the rule that is proposed for a new site."""
    file = await board.proposals.save(given["site"])
    board.memos.sites.forget()
    return actions.Done("added", f"{file} is written. A running crawl loads it automatically.")


def _jobs(board: Dashboard) -> Jobs:
    if board.jobs is None:
        raise missing("no scrapyd is configured (setting NEWSBOT_SCRAPYD)")
    return board.jobs


async def jobs(board: Dashboard, _given: Given) -> list[Job]:
    """Return the jobs of scrapyd. Raises ``HTTPNotFound`` if no scrapyd is configured."""
    return await _jobs(board).all()


async def job_log(board: Dashboard, given: Given) -> JobLog:
    """Return a job and the end of its log. Raises ``HTTPNotFound`` if there is no such job or scrapyd."""
    if (found := await _jobs(board).log(given["job"])) is None:
        raise missing("scrapyd has no such job")
    return found


async def start_job(board: Dashboard, given: Given) -> actions.Done:
    """Start a crawl as a job of scrapyd."""
    job = await _jobs(board).start(given["sites"], given["mode"])
    return actions.Done("queued", f"Job {job} was queued: scrapyd starts it within seconds.")


async def stop_job(board: Dashboard, given: Given) -> actions.Done:
    """Stop a job of scrapyd."""
    before = await _jobs(board).stop(given["job"])
    return actions.Done("stopped", f"Job {given['job']} is being stopped; it was {before}.")


async def resume(board: Dashboard, given: Given) -> actions.Done:
    """Resume a site."""
    done = await board.readers.call(lambda data: actions.set_pause(data, given["site"], paused=False))
    board.memos.sites.forget()
    return done


_FORM_URL = words("url", "An absolute URL.", required=True, place="form")
_FORM_SITE = words("site", "The domain of a site.", required=True, place="form")
_ADDRESS = words("site", "A domain, or a URL on the site.", required=True)
_FORM_ADDRESS = replace(_ADDRESS, place="form")
_KIND = Parameter(
    "kind",
    "The kind of the page. Default: the kind that the rule gives, otherwise an article.",
    {"type": "string", "enum": list(actions.KINDS)},
    one_of("kind", "", actions.KINDS, None).read,
    place="form",
)
_START = (
    words("sites", "Only these sites, separated by commas.", place="form"),
    replace(one_of("mode", "Until nothing is due, or until it is stopped.", MODES, "once"), place="form"),
)
_SAVED = (
    words("name", "The name of a saved search.", required=True, place="form"),
    words("q", "The query.", required=True, place="form"),
    replace(one_of("tell", "When new articles are reported.", tuple(saving.RHYTHMS), "off"), place="form"),
)

OPERATIONS: tuple[Operation, ...] = (
    Operation("/news", "news", "Top events and rising words of 24 hours; newest articles.", News, news),
    Operation("/overview", "overview", "Articles by hour and day, latency, queue.", Overview, _overview),
    Operation(
        "/activity",
        "activity",
        "Articles, pages and errors of the crawl, or of one site, by period.",
        list[Period],
        activity,
        (words("source", "Only this site."), RANGE),
    ),
    Operation("/queue", "queue", "The frontier: sizes, lag, workers with their leases.", Queue, _queue),
    Operation("/troubles", "troubles", "The current problems: alerts.", list[Trouble], _troubles),
    Operation("/sources", "sources", "All sites with their state.", list[sites.SiteRow], _sites),
    Operation(
        "/sources/{site}",
        "source",
        "One site: its feeds, sitemaps and sections, learned patterns, errors.",
        sites.SiteSheet,
        site_sheet,
        (SITE_PLACE,),
    ),
    Operation(
        "/proposal",
        "proposal",
        "The feeds and articles found on a new site, and the proposed rule.",
        Proposal,
        proposal,
        (_ADDRESS,),
    ),
    Operation(
        "/articles", "articles", "Articles by words and filters.", articles.Found, found_articles, FILTERS
    ),
    Operation(
        "/articles/counts",
        "counts",
        "How many articles match, by day; by site and language among the newest 20,000.",
        Counts,
        _counts,
        [one for one in FILTERS if one.name not in ("sort", "page")],
    ),
    Operation(
        "/articles/attention",
        "attention",
        "How many articles match up to four queries, day by day, and how many articles there are.",
        Attention,
        attention,
        COMPARED,
    ),
    Operation("/article", "article", "One article in full.", articles.ArticleInEvent, _article, (URL,)),
    Operation(
        "/article/versions",
        "versions",
        "The versions of an article and their differences.",
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
        (words("story", "The id of the story.", required=True, place="path"),),
    ),
    Operation(
        "/why",
        "why",
        "The history of a URL: how it was found, judged, fetched and stored, and when it is due.",
        dict[str, Any],
        why,
        (URL,),
    ),
    Operation("/monitor", "monitor", "Sites that were monitored.", dict[str, Any], monitor),
    Operation(
        "/monitor/{site}",
        "monitor_report",
        "The monitor's report on a site (docs/monitoring.md has the fields).",
        dict[str, Any],
        monitor_report,
        (SITE_PLACE,),
    ),
    Operation("/jobs", "jobs", "The jobs of scrapyd.", list[Job], jobs),
    Operation(
        "/jobs/{job}",
        "job_log",
        "A job of scrapyd and the end of its log.",
        JobLog,
        job_log,
        (words("job", "The id of the job.", required=True, place="path"),),
    ),
    Operation("/saved", "saved", "Saved searches.", list[dict[str, Any]], saved),
    Operation("/searches", "searches", "Searches over pages of sites.", list[SearchSummary], searches),
    Operation(
        "/searches/results",
        "search_results",
        "The pages that a search found, 500 at most.",
        list[dict[str, Any]],
        _results,
        (words("search", "The name of the search.", required=True), words("source", "Only on this site.")),
    ),
    Operation(
        "/actions/add", "add", "Queue a URL, known or not.", actions.Done, add, (_FORM_URL, _KIND), "POST"
    ),
    Operation(
        "/actions/refetch", "refetch", "Fetch a page again now.", actions.Done, add, (_FORM_URL,), "POST"
    ),
    Operation("/actions/pause", "pause", "Pause a site.", actions.Done, pause, (_FORM_SITE,), "POST"),
    Operation(
        "/actions/poll",
        "poll",
        "Poll the feeds, sitemaps and sections of a site now.",
        actions.Done,
        poll,
        (_FORM_SITE, words("url", "Only this one.", place="form")),
        "POST",
    ),
    Operation(
        "/actions/propose",
        "propose",
        "Look at a new site: a small crawl, which takes up to four minutes.",
        actions.Done,
        propose,
        (_FORM_ADDRESS,),
        "POST",
    ),
    Operation(
        "/actions/add_site",
        "add_site",
        "Write the rule that is proposed for a new site.",
        actions.Done,
        add_site,
        (_FORM_ADDRESS,),
        "POST",
    ),
    Operation(
        "/actions/start_job",
        "start_job",
        "Start a crawl by scrapyd.",
        actions.Done,
        start_job,
        _START,
        "POST",
    ),
    Operation(
        "/actions/stop_job",
        "stop_job",
        "Stop a job of scrapyd.",
        actions.Done,
        stop_job,
        (words("job", "The id of the job.", required=True, place="form"),),
        "POST",
    ),
    Operation("/actions/save", "save", "Save a search under a name.", actions.Done, save, _SAVED, "POST"),
    Operation(
        "/actions/forget", "forget", "Delete a saved search.", actions.Done, forget, _SAVED[:1], "POST"
    ),
    Operation("/actions/resume", "resume", "Resume a site.", actions.Done, resume, (_FORM_SITE,), "POST"),
)
