"""The operations of the API. The routes and ``/openapi.json`` are made from the list :data:`OPERATIONS`.

An operation is a function. In ``/openapi.json``, it is described by its name, the first paragraph of its
docstring, and the type of its result. Pages use the same functions.

The declaration of a parameter is used to read, check and describe it. The description of the API states the
types of results as JSON Schema.
"""

from __future__ import annotations

import argparse
import ast
import inspect
import textwrap
import types
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, is_dataclass, replace
from datetime import datetime
from enum import StrEnum
from functools import wraps
from itertools import islice, pairwise
from pathlib import PurePath
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints, is_typeddict

from aiohttp import web

from newsbot.apps.alerts import saved as saving
from newsbot.apps.alerts.extension import only_log
from newsbot.apps.authoring.learn import site_named
from newsbot.apps.monitor.results import SearchSummary, kept_report, monitored, searches_of
from newsbot.apps.operations.add import entry_by_hand, queue_by_hand
from newsbot.apps.operations.explain import Explanation, document, explain
from newsbot.apps.operations.sources import chosen_site, sites_of
from newsbot.apps.operations.verdict import Verdict
from newsbot.apps.search.articles import MAX_COMPARED, Attention
from newsbot.apps.search.index import Counts
from newsbot.apps.search.query import narrowed
from newsbot.apps.search.usefulness import FOUND, SAVED
from newsbot.apps.team.people import State
from newsbot.apps.web.dashboard import articles as library
from newsbot.apps.web.dashboard.access import person
from newsbot.apps.web.dashboard.articles import (
    BACK,
    ArticleInEvent,
    Choice,
    EventSheet,
    Found,
    News,
    StoryRow,
    VersionRow,
    Whole,
)
from newsbot.apps.web.dashboard.overview import (
    RANGES,
    Overview,
    Period,
    Queue,
    SiteRow,
    SiteSheet,
    Trouble,
    all_sites,
    crawl_state,
    crawl_verdict,
    current_troubles,
    one_site,
    periods,
)
from newsbot.apps.web.dashboard.proposals import Job, JobLog, Jobs, Proposal
from newsbot.apps.web.dashboard.service import Dashboard, saved_today, top_events_of
from newsbot.apps.web.http import MAX_BODY
from newsbot.apps.web.readers import Data
from newsbot.cli.command import moment, plain, properties_of
from newsbot.cli.program import PROGRAM
from newsbot.cli.terminal import counted
from newsbot.clock import utc
from newsbot.errors import ArgumentError
from newsbot.items import ArticleFilter, Kind
from newsbot.sites import pauses_and_removals as pauses
from newsbot.storage.base import ALL
from newsbot.urls import ascii_host, canonicalize, fingerprint

# --- parameters and schemas
MAX_LENGTH = 2000
"""Maximum length of a value in characters."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a request."""

    name: str
    text: str
    """The description in the documentation of the API."""
    schema: Mapping[str, Any]
    """The JSON schema of the value."""
    read: Callable[[str], Any]
    """Converts the text of a request to a value. Raises ``ValueError`` with the allowed values."""
    default: Any = None
    required: bool = False
    place: str = "query"
    """Where the parameter is: ``path``, ``query`` or ``form``."""
    most: int = 1
    """Maximum number of values for the parameter. If it is more than 1, the value is a list."""
    longest: int = MAX_LENGTH
    """Maximum length of a value in characters."""
    is_file: bool = False
    """True if the field of a form can be a file."""


def words(
    name: str, text: str, *, required: bool = False, place: str = "query", longest: int = MAX_LENGTH
) -> Parameter:
    """Return a parameter for any text."""
    schema = {"type": "string", "minLength": int(required), "maxLength": longest}
    return Parameter(name, text, schema, str, None, required, place, longest=longest)


def upload(name: str, text: str, longest: int) -> Parameter:
    """Return a required parameter for a file, or for its content. The value is bytes."""

    def read(given: str) -> bytes:
        return given.encode("utf-8", _BYTES)

    schema = {"type": "string", "minLength": 1, "maxLength": longest}
    return Parameter(name, text, schema, read, None, required=True, longest=longest, is_file=True)


_BYTES = "surrogateescape"
"""The error handler that keeps bytes that are not UTF-8."""


def several(name: str, text: str, most: int) -> Parameter:
    """Return a parameter that can be given up to ``most`` times, each time with any text."""
    schema = {"type": "array", "items": {"type": "string", "maxLength": MAX_LENGTH}, "maxItems": most}
    return Parameter(name, text, schema, str, [], most=most)


def one_of(name: str, text: str, allowed: Sequence[str], default: str | None) -> Parameter:
    """Return a parameter for one of the ``allowed`` words."""

    def read(given: str) -> str:
        if given not in allowed:
            raise ValueError(f"is one of: {', '.join(allowed)}")
        return given

    schema: dict[str, Any] = {"type": "string", "enum": list(allowed)}
    return Parameter(name, text, schema | ({"default": default} if default else {}), read, default)


def number(name: str, text: str, default: int, largest: int) -> Parameter:
    """Return a parameter for a whole number from 1 to ``largest``."""

    def read(given: str) -> int:
        # isdigit() alone is true for "²". The length is limited, because int() is slow for huge numbers.
        if not (given.isascii() and given.isdigit() and len(given) < 10 and 1 <= int(given) <= largest):
            raise ValueError(f"is a whole number from 1 to {largest}")
        return int(given)

    schema = {"type": "integer", "minimum": 1, "maximum": largest, "default": default}
    return Parameter(name, text, schema, read, default)


def date(name: str, text: str) -> Parameter:
    """Return a parameter for a point in time: a date, a time with a time zone, or an age such as 7d."""

    def read(given: str) -> Any:
        try:
            return moment(given)
        except argparse.ArgumentTypeError as error:
            raise ValueError(str(error)) from error

    return Parameter(name, text, {"type": "string", "examples": ["2026-11-21", "7d"]}, read)


def flag(name: str, text: str) -> Parameter:
    """Return a parameter for true (1, true) or false (0, false, the default)."""
    allowed = {"1": True, "true": True, "0": False, "false": False}

    def read(given: str) -> bool:
        if given.lower() not in allowed:
            raise ValueError("is true or false")
        return allowed[given.lower()]

    return Parameter(name, text, {"type": "boolean", "default": False}, read, False)


def given(request: web.Request, parameters: Sequence[Parameter], form: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of all ``parameters`` in a request by name. Empty values count as missing.

    Raises ``HTTPBadRequest`` with all errors in one line.
    """
    found: dict[str, Any] = {}
    wrong = []
    for one in parameters:
        source: Mapping[str, Any] = {"path": request.match_info, "query": request.query}.get(one.place, form)
        text = source.get(one.name)
        if one.is_file and isinstance(text, bytes):
            text = text.decode("utf-8", _BYTES)
        if one.most > 1:
            texts = [word.strip() for word in request.query.getall(one.name, ()) if word.strip()]
            found[one.name] = [one.read(word) for word in texts]
            if len(texts) > one.most or any(len(word) > MAX_LENGTH for word in texts):
                wrong.append(
                    f"{one.name}: at most {one.most} values with {MAX_LENGTH} characters each are allowed"
                )
        elif not isinstance(text, str) or not text.strip():  # the field of a form can also be a file
            found[one.name] = one.default
            if one.required:
                wrong.append(f"{one.name} is missing")
        elif len(text) > one.longest:
            wrong.append(f"{one.name} is longer than {one.longest} characters")
        else:
            try:
                found[one.name] = one.read(text if one.is_file else text.strip())
            except ValueError as error:
                wrong.append(f"{one.name} {error}")
    if wrong:
        raise web.HTTPBadRequest(text="; ".join(wrong))
    return found


Schema = dict[str, Any]
_PLAIN: Mapping[Any, Schema] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    datetime: {"type": "string", "format": "date-time"},
    Any: {},
    type(None): {"type": "null"},
}


def schema_of(kind: Any, components: dict[str, Schema]) -> Schema:
    """Return the JSON Schema of a type. Dataclasses are added to ``components`` and referenced.

    Raises ``TypeError`` for a type that the API does not use.
    """
    if kind in _PLAIN:
        return dict(_PLAIN[kind])
    if is_dataclass(kind) and isinstance(kind, type):
        return _record(kind, components)
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        return {"anyOf": [schema_of(one, components) for one in arguments]}
    if origin is Literal or (isinstance(kind, type) and issubclass(kind, StrEnum)):
        return {"enum": [str(one) for one in arguments or kind]}
    if origin in (list, tuple):
        return {"type": "array", "items": schema_of(arguments[0], components)}
    if origin is dict or is_typeddict(kind):
        hints = get_type_hints(kind) if origin is None else {}
        known = {name: schema_of(hint, components) for name, hint in hints.items()}
        others = schema_of(arguments[1], components) if arguments else False
        return {
            "type": "object",
            **({"properties": known} if known else {}),
            "additionalProperties": others,
        }
    raise TypeError(f"{kind}: there is no JSON Schema for this type")


def _record(kind: type, components: dict[str, Schema]) -> Schema:
    if kind.__name__ not in components:
        schema: Schema = {"type": "object"}
        components[kind.__name__] = schema  # added before its fields, because a type can contain itself
        texts = _texts(kind)
        hints = get_type_hints(kind) | {
            name: get_type_hints(getattr(kind, name).fget)["return"] for name in properties_of(kind)
        }
        names = [*(field.name for field in fields(kind)), *properties_of(kind)]
        schema["description"] = " ".join((inspect.getdoc(kind) or "").split())
        schema["properties"] = {
            name: schema_of(hints[name], components)
            | ({"description": texts[name]} if texts.get(name) else {})
            for name in names
        }
        schema["required"] = names
        schema["additionalProperties"] = False
    return {"$ref": f"#/components/schemas/{kind.__name__}"}


def _texts(kind: type) -> dict[str, str]:
    """Return the description of each field (the string below it in the source) and of each property."""
    found = {name: " ".join((getattr(kind, name).__doc__ or "").split()) for name in properties_of(kind)}
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(kind)))
    except (OSError, TypeError):  # no source file, for example in an egg of compiled files
        return found
    body = tree.body[0].body if isinstance(tree.body[0], ast.ClassDef) else []
    for one, after in pairwise(body):
        match one, after:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
                found[name] = " ".join(text.split())
    return found


# --- endpoints
Given = Mapping[str, Any]
"""The checked values of the parameters of a request, by name."""
Run = Callable[[Dashboard, Given], Awaitable[Any]]
"""The function of an operation. :func:`newsbot.cli.command.plain` converts its result to JSON."""
ACTIONS = "/actions/"
"""The beginning of the paths of operations that change something."""
MODES = ("once", "continuous")
KINDS = ("feed", "sitemap", "section", "article")
MAX_POLLED = 50
"""Maximum number of sources of a site that one action polls: feeds first, then sections, then sitemaps."""

MAX_IN_FILE = 1000
"""Maximum number of articles in a file."""

_Read = TypeVar("_Read")
_Run = TypeVar("_Run", bound=Run)

SITE_PLACE = words("site", "The domain of a site, as in its rule.", required=True, place="path")
URL = words("url", "An absolute URL.", required=True)
COLLECTION = words("collection", "Only sites of this collection: a tag in the rules of the sites.")
FILTERS = (
    words(
        "q",
        'Words in any grammatical form, "a phrase", -without, a OR b, brackets, beginn*, fields: see '
        "docs/search.md. Empty: all, newest first.",
    ),
    words("source", "Only articles of this site."),
    words("language", "Only articles in this language, e.g. ru."),
    COLLECTION,
    words("section", "Only articles of this section of their site."),
    words("story", "Only members of this story."),
    date("since", "Published since this date or age (such as 7d); if the date is unknown: fetched since."),
    date("until", "Published before this date or age (such as 7d); if the date is unknown: fetched before."),
    one_of("sort", "The order: newest first (time), or best first (rank).", ("time", "rank"), "time"),
    number("page", f"The page; each has {library.PER_PAGE} articles.", 1, library.MAX_PAGE),
)
"""The parameters of searches."""
COMPARED = (
    several("q", "A query as in /articles; up to four are compared.", MAX_COMPARED),
    *(one for one in FILTERS if one.name not in ("q", "story", "sort", "page")),
)
"""The parameters of comparisons of queries."""
RANGE = one_of("range", "The last days, counted by hour, by six hours, or by day.", tuple(RANGES), "2d")
ADDRESS = replace(words("site", "A domain, or a URL on the site."), read=site_named)
"""The site of a proposal. The value is its domain, see :func:`site_named`."""
_THE_ADDRESS = replace(ADDRESS, required=True)


def _checked(address: str) -> str:
    site_named(address)
    return address


_BEGINNING = replace(
    words("site", "A domain, or the URL of a page, section or feed.", required=True), read=_checked
)
_SITE = words("site", "The domain of a site.", required=True)
_KIND = one_of(
    "kind", "The kind of the page. Default: the kind that the rule gives, otherwise an article.", KINDS, None
)
_LIST = upload("list", "A list of sites: OPML, or one address on each line.", MAX_BODY)
_NAME = words("name", "The name of a saved search.", required=True)
_TELL = one_of("tell", "When new articles are reported.", tuple(saving.RHYTHMS), "off")
_MODE = one_of("mode", "once: until no URL is due; continuous: until it is stopped.", MODES, "once")


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
    parameters: Sequence[Parameter]
    shown: str = ""
    """The URL of the page that shows the result of an action, with the names of its fields in braces."""
    form: str = ""
    """The path of the page with a form for the action. It is shown again if the input is wrong, with the
    message beside the form. Without a form, the page ``shown`` has the message at its top."""
    role: str = "act"
    """The role that an action needs (:mod:`newsbot.apps.team.people`)."""

    @property
    def method(self) -> str:
        """The HTTP method: POST for an action, otherwise GET."""
        return "POST" if self.path.startswith(ACTIONS) else "GET"


@dataclass(frozen=True, slots=True)
class Done:
    """The result of an action."""

    verdict: str
    """One word: new, sooner or known (for a URL); queued (for a poll or a job); stopped (for a job); paused,
    resumed or unchanged (for a site); saved or forgotten (for a search); looking or added (new sites);
    starred, not starred, read or not read (for articles)."""
    text: str
    """A sentence for users that says the same."""


OPERATIONS: list[Operation] = []
"""All operations, in the order of the documentation."""


def operation(
    path: str, *parameters: Parameter, shown: str = "", form: str = "", role: str = "act"
) -> Callable[[_Run], _Run]:
    """Return a decorator that adds a function to :data:`OPERATIONS`."""

    def add_to_list(run: _Run) -> _Run:
        text = (run.__doc__ or "").partition("\n\n")[0]
        returns = get_type_hints(run)["return"]
        OPERATIONS.append(Operation(path, run.__name__, text, returns, run, parameters, shown, form, role))
        return run

    return add_to_list


def action(shown: str, *fields: Parameter, form: str = "", role: str = "act") -> Callable[[_Run], _Run]:
    """Return a decorator that adds an operation that changes something.

    ``fields`` are the fields of its form. If the form was on a page, the browser then shows the page at
    ``shown`` (see :class:`Operation`).
    """

    def add_to_list(run: _Run) -> _Run:
        inputs = (replace(one, place="form") for one in fields)
        return operation(f"{ACTIONS}{run.__name__}", *inputs, shown=shown, form=form, role=role)(run)

    return add_to_list


def reading(work: Callable[[Data, Given], _Read]) -> Callable[[Dashboard, Given], Awaitable[_Read]]:
    """Return ``work`` as the function of an operation that runs in a thread of the readers."""

    @wraps(work)
    async def run(board: Dashboard, given: Given) -> _Read:
        return await board.readers.call(lambda data: work(data, given))

    return run


_Change = Callable[[Data, Given], Done]
_Act = Callable[[Dashboard, Given], Awaitable[Done]]


def changing(figure: Callable[[Data], Any]) -> Callable[[_Change], _Act]:
    """Do the same as :func:`reading` for functions that change a cached figure."""

    def of(work: _Change) -> _Act:
        @wraps(work)
        async def run(board: Dashboard, given: Given) -> Done:
            done = await board.readers.call(lambda data: work(data, given))
            board.memos.forget(figure)
            return done

        return run

    return of


def missing(what: str) -> web.HTTPNotFound:
    """Return a 404 error with the text ``what``, which says what does not exist."""
    return web.HTTPNotFound(text=what)


@contextmanager
def told_to_users() -> Iterator[None]:
    """Convert a ``ValueError`` in the block to an :class:`ArgumentError`, whose text is shown to users."""
    try:
        yield
    except ValueError as error:
        raise ArgumentError(str(error)) from error


def filter_of(given: Given) -> ArticleFilter:
    """Return the article filter of the parameters in :data:`FILTERS`."""
    return ArticleFilter(
        source=given["source"] and given["source"].lower(),
        language=given["language"] and given["language"].lower(),
        story=given.get("story"),
        since=given["since"],
        until=given["until"],
    )


def query_of(given: Given) -> str:
    """Return the query of the parameters in :data:`FILTERS`, with the collection and the section."""
    return narrowed(given["q"] or "", tag=given["collection"], section=given["section"])


CHOICE = (COLLECTION, next(one for one in FILTERS if one.name == "language"))
"""The parameters of the front page."""


def choice_of(given: Given) -> Choice:
    """Return what a reader has chosen with the parameters in :data:`CHOICE`."""
    return Choice(given["collection"], given["language"] and given["language"].lower())


# --- the crawl and its sites
@operation("/news", *CHOICE)
async def news(board: Dashboard, given: Given) -> News:
    """Top events and rising words of the last 24 hours, and the newest articles."""
    chosen = choice_of(given)
    top = await board.memos.get(top_events_of(chosen))
    rising = await board.memos.get(library.rising_terms)
    newest = await board.readers.call(lambda data: library.newest_articles(data, chosen))
    # Counting all articles is expensive, and the number only explains why ``top`` is empty.
    unindexed = 0 if top else await board.readers.call(lambda data: data.search.waiting())
    return News(top, rising, newest, unindexed)


@operation("/overview")
async def overview(board: Dashboard, _given: Given) -> Overview:
    """The state of the crawl: articles by hour and day, latency, and the queue."""
    return await board.memos.get(crawl_state)


@operation("/activity", words("source", "Only this site."), RANGE)
@reading
def activity(data: Data, given: Given) -> list[Period]:
    """Articles, pages and errors of the crawl, or of one site, by period."""
    seconds, number = RANGES[given["range"]]
    now = data.clock()
    hours = data.storage.activity.hours(now - seconds * number, given["source"] or ALL)
    return periods(hours, now, seconds, number)


@operation("/queue")
async def queue(board: Dashboard, _given: Given) -> Queue:
    """The state of the frontier: its sizes, its lag, and the workers with their leases."""
    return (await board.memos.get(crawl_state)).queue


@operation("/verdict")
async def verdict(board: Dashboard, _given: Given) -> Verdict:
    """Whether the whole crawl works: its state, the reason, and faults of its parts."""
    return await board.memos.get(crawl_verdict)


@operation("/troubles")
async def troubles(board: Dashboard, _given: Given) -> list[Trouble]:
    """The current problems of the crawl."""
    return await board.memos.get(current_troubles)


@operation("/sources")
async def sources(board: Dashboard, _given: Given) -> list[SiteRow]:
    """All sites with their state."""
    return await board.memos.get(all_sites)


@operation("/sources/{site}", SITE_PLACE)
@reading
def source(data: Data, given: Given) -> SiteSheet:
    """One site with its feeds, sitemaps, sections, learned patterns and errors.

    Raises ``HTTPNotFound`` for an unknown site.
    """
    sheet = one_site(data, given["site"])
    if sheet is None:
        raise missing(f"{given['site']!r} is not a site of the rules or the data")
    return sheet


@operation("/proposal", _THE_ADDRESS)
async def proposal(board: Dashboard, given: Given) -> Proposal:
    """The feeds and articles that were found on a new site, and the proposed rule.

    Raises ``HTTPNotFound`` if no proposal was requested.
    """
    if (found := board.proposals.get(given["site"])) is None:
        raise missing(f"{given['site']}: no proposal was requested")
    return found


# --- articles
@operation("/articles", *FILTERS)
@reading
def articles(data: Data, given: Given) -> Found:
    """Articles that match words and filters."""
    where, by_time = filter_of(given), given["sort"] == "time"
    found = library.find(data, query_of(given), where, given["page"], by_time=by_time)
    if query_of(given):
        data.uses.count((one.source for one in found.articles), FOUND)
    return found


@operation("/articles/counts", *(one for one in FILTERS if one.name not in ("sort", "page")))
@reading
def counts(data: Data, given: Given) -> Counts:
    """The number of matches by day; also by site and by language for the newest 20,000 matches."""
    return data.search.counts(query_of(given), filter_of(given))


@operation("/articles/attention", *COMPARED)
@reading
def attention(data: Data, given: Given) -> Attention:
    """For each of at most four queries, the number of matches per day; also the number of all articles."""
    queries = [query_of({**given, "q": one}) for one in given["q"] or [""]]
    return data.search.attention(queries, filter_of(given), utc(data.clock()))


@reading
def whole_article(data: Data, given: Given) -> Whole:
    """Return one article.

    Raises ``HTTPNotFound`` if the article is not stored, and :class:`ArgumentError` for an invalid URL.
    """
    with told_to_users():
        found = library.whole(data, given["url"])
    if found is None:
        raise missing(f"{given['url']}: no article is stored under this URL")
    return found


@operation("/article", URL)
async def article(board: Dashboard, given: Given) -> ArticleInEvent:
    """One article with all its fields."""
    return ArticleInEvent.of(await whole_article(board, given))


@operation("/article/versions", URL)
async def versions(board: Dashboard, given: Given) -> list[VersionRow]:
    """The versions of an article and their differences."""
    return (await whole_article(board, given)).versions


@operation("/stories")
async def stories(board: Dashboard, _given: Given) -> list[StoryRow]:
    """The latest stories that have more than one article."""
    return await board.memos.get(library.recent_stories)


@operation("/stories/{story}", words("story", "The id of the story.", required=True, place="path"))
@reading
def story(data: Data, given: Given) -> StoryRow:
    """One story.

    Raises ``HTTPNotFound`` for an unknown id.
    """
    found = library.one_story(data, given["story"])
    if found is None:
        raise missing("there is no story with this id")
    return found


@operation("/events/{event}", words("event", "The id of the event.", required=True, place="path"))
@reading
def event(data: Data, given: Given) -> EventSheet:
    """One event: its reports by the hour, its stories, and when each site joined.

    Raises ``HTTPNotFound`` for an unknown id.
    """
    found = library.one_event(data, given["event"])
    if found is None:
        raise missing("there is no event with this id")
    return found


def explained(data: Data, url: str) -> Explanation:
    """Return the history of a URL. Raises :class:`ArgumentError` for an invalid URL.

    Only the names of rule files are given, because paths would reveal folders of the machine.
    """
    with told_to_users():
        found = explain(url, data.rules, data.storage, data.frontier, now=data.clock())
    match, rule = found.match, replace(found.rule, file=PurePath(found.rule.file).name)
    if match.pattern is not None:
        match = replace(match, pattern=replace(match.pattern, file=PurePath(match.pattern.file).name))
    return replace(found, rule=rule, match=match)


@operation("/why", URL)
@reading
def why(data: Data, given: Given) -> dict[str, Any]:
    """The history of a URL: how it was found, judged, fetched and stored, and when it is due.

    Raises :class:`ArgumentError` for an invalid URL.
    """
    return document(explained(data, given["url"]))


# --- other results
@operation("/monitor")
@reading
def monitor(data: Data, _given: Given) -> dict[str, Any]:
    """Sites that were monitored."""
    return monitored(data.storage.notes)


@operation("/monitor/{site}", SITE_PLACE)
@reading
def monitor_report(data: Data, given: Given) -> dict[str, Any]:
    """The monitor's report on a site (docs/monitoring.md has the fields).

    Raises ``HTTPNotFound`` if there is no report.
    """
    found = kept_report(data.storage.notes, ascii_host(given["site"]))
    if found is None:
        raise missing(f"{given['site']!r} was never monitored; run: {PROGRAM} crawl monitor")
    return found


def _jobs(board: Dashboard) -> Jobs:
    if board.jobs is None:
        raise missing("no scrapyd is configured (setting NEWSBOT_SCRAPYD)")
    return board.jobs


@operation("/jobs")
async def jobs(board: Dashboard, _given: Given) -> list[Job]:
    """The jobs of scrapyd.

    Raises ``HTTPNotFound`` if no scrapyd is configured.
    """
    return await _jobs(board).all()


@operation("/jobs/{job}", words("job", "The id of the job.", required=True, place="path"))
async def job_log(board: Dashboard, given: Given) -> JobLog:
    """A job of scrapyd and the end of its log.

    Raises ``HTTPNotFound`` if the job does not exist, or if no scrapyd is configured.
    """
    if (found := await _jobs(board).log(given["job"])) is None:
        raise missing("scrapyd has no such job")
    return found


@operation("/saved")
@reading
def saved(data: Data, _given: Given) -> list[dict[str, Any]]:
    """Saved searches."""
    return [one.plain() for one in saving.saved_searches(data.storage.notes)]


@operation("/searches")
@reading
def searches(data: Data, _given: Given) -> list[SearchSummary]:
    """Searches made with ``scrapy crawl search``."""
    return searches_of(data.storage).all()[:200]


@operation(
    "/searches/results",
    words("search", "The name of the search.", required=True),
    words("source", "Only on this site."),
)
@reading
def search_results(data: Data, given: Given) -> list[dict[str, Any]]:
    """The pages that a search found (at most 500)."""
    results = searches_of(data.storage).results(given["search"], site=given["source"])
    return [plain(one) for one in islice(results, 500)]


# --- actions
_SAID = {
    "new": "was queued; a running crawl fetches it at once",
    "sooner": "was known and is fetched again now",
    "known": "is already queued or being fetched",
}


@action("/why?url={url}", URL, _KIND, form="/why")
@reading
def add(data: Data, given: Given) -> Done:
    """Queue a URL, even if it is known.

    Raises :class:`ArgumentError` for an invalid URL.
    """
    kind = given.get("kind")
    with told_to_users():
        entry = entry_by_hand(given["url"], data.rules, Kind(kind) if kind else None, data.clock())
    (verdict,) = queue_by_hand([entry], data.rules, data.storage, data.frontier)
    return Done(verdict.value, f"{entry.url} {_SAID[verdict.value]}.")


@action("/why?url={url}", URL)
async def refetch(board: Dashboard, given: Given) -> Done:
    """Fetch a page again now."""
    # ``given`` has no kind here, so the rule decides the kind.
    return await add(board, given)


@action("/sources/{site}", _SITE)
@changing(all_sites)
def pause(data: Data, given: Given) -> Done:
    """Pause a site."""
    domain = chosen_site(given["site"], data.storage, data.rules)
    pauses.pause(data.storage.notes, domain, data.clock())
    return Done("paused", f"{domain} is paused. Workers stop fetching its pages within a few seconds.")


@action("/sources/{site}", _SITE, words("url", "Only this source."))
@reading
def poll(data: Data, given: Given) -> Done:
    """Poll the feeds, sitemaps and sections of a site now.

    Raises :class:`ArgumentError` if the site or the source is not known.
    """
    domain, url = chosen_site(given["site"], data.storage, data.rules), given.get("url")
    (known,) = sites_of(data.storage, data.rules, [domain])
    urls = [(one.url, one.kind) for one in known.sources if one.url == (url or one.url)]
    if not url:  # only sources in the rule, because a crawl finds many more sections
        urls = [one for one in urls if one[0] in known.named][:MAX_POLLED]
    if not urls:
        raise ArgumentError(f"{url or domain}: no such source is known; crawls look for feeds by themselves")
    rule = data.rules.get(domain)
    entries = [entry_by_hand(one, data.rules, kind, data.clock(), rule) for one, kind in urls]
    queue_by_hand(entries, data.rules, data.storage, data.frontier)
    text = f"{counted(len(urls), 'source')} of {domain} queued; a running crawl polls them at once."
    return Done("queued", text)


@action("/sources/new?site={site}", _BEGINNING, form="/sources/new")
async def propose(board: Dashboard, given: Given) -> Done:
    """Start a small crawl of a new site to propose a rule. It takes at most four minutes in all."""
    found = board.proposals.begin(given["site"])
    return Done("looking", f"A small crawl of {found.site} has begun.")


@action("/sources/{site}", _THE_ADDRESS, role="admin")
async def add_site(board: Dashboard, given: Given) -> Done:
    """Write the rule that is proposed for a new site."""
    file = await board.proposals.save(given["site"])
    board.memos.forget(all_sites)
    return Done("added", f"{file} is written. A running crawl loads it automatically.")


@action("/sources", role="admin")
async def add_starter(board: Dashboard, _given: Given) -> Done:
    """Write the rules of the news sites that newsbot brings along. Existing rules are kept."""
    made = await board.proposals.add_starter()
    board.memos.forget(all_sites)
    return Done("added", f"{counted(len(made), 'rule')} written. A running crawl loads them automatically.")


@action("/sources", _LIST, form="/sources/new", role="admin")
async def add_list(board: Dashboard, given: Given) -> Done:
    """Write a rule for each site of a list. Existing rules are kept.

    Raises :class:`ArgumentError` if the list has no site, or if a rule cannot be written.
    """
    made = await board.proposals.add_list(given["list"])
    board.memos.forget(all_sites)
    first = f" The first of these: {made.left_out[0]}." if made.left_out else ""
    rules, kept, lost = counted(len(made.written), "rule"), len(made.kept), len(made.left_out)
    told = f"{rules} written, {kept} existed already, {lost} left out.{first} A running crawl loads them."
    return Done("added", told)


@action("/jobs", words("sites", "Only these sites, separated by commas."), _MODE, form="/jobs", role="admin")
async def start_job(board: Dashboard, given: Given) -> Done:
    """Start a crawl with scrapyd."""
    job = await _jobs(board).start(given["sites"], given["mode"])
    return Done("queued", f"Job {job} was queued; scrapyd starts it within seconds.")


@action("/jobs", words("job", "The id of the job.", required=True), role="admin")
async def stop_job(board: Dashboard, given: Given) -> Done:
    """Stop a job of scrapyd."""
    before = await _jobs(board).stop(given["job"])
    return Done("stopped", f"Job {given['job']} is being stopped; its state was: {before}.")


@action(
    "/saved",
    _NAME,
    words("q", "The query.", required=True),
    _TELL,
    words("fields", "Fields of articles in notices, separated by commas (default: without the text)."),
    form="/saved",
)
@changing(saved_today)
def save(data: Data, given: Given) -> Done:
    """Save a search under a name.

    Raises :class:`ArgumentError` for a search that cannot be saved.
    """
    tell = given["tell"]
    kept = saving.save(data.storage, given["name"], given["q"], tell, data.clock(), fields=given["fields"])
    when = "" if tell == "off" else f" New articles are reported {tell.replace('_', ' ')}."
    hint = "" if tell == "off" else only_log(data.settings)
    return Done("saved", f"{kept.name} is saved.{when}{hint and f' But {hint}.'}")


@action("/saved", _NAME)
@changing(saved_today)
def forget(data: Data, given: Given) -> Done:
    """Delete a saved search.

    Raises :class:`ArgumentError` if no search has this name.
    """
    if not saving.forget(data.storage.notes, given["name"]):
        raise ArgumentError(f"no saved search has the name {given['name']!r}")
    return Done("forgotten", f"{given['name']} is deleted.")


# --- what a reader has read and starred
async def _mark(board: Dashboard, given: Given, state: State) -> Done:
    with told_to_users():
        url = canonicalize(given["url"])
        await board.marks.change(person(), [fingerprint(url)], state)
    if state is State.STARRED:
        board.readers.uses.count([board.readers.rules().for_url(url).domain], SAVED)
    return Done(state.value, f"{url} is {state.value}.")


@action(BACK, URL, role="read")
async def star(board: Dashboard, given: Given) -> Done:
    """Star an article, for the person who acts.

    Raises :class:`ArgumentError` if too many articles are starred.
    """
    return await _mark(board, given, State.STARRED)


@action(BACK, URL, role="read")
async def unstar(board: Dashboard, given: Given) -> Done:
    """Remove the star of an article."""
    return await _mark(board, given, State.UNSTARRED)


@action(BACK, URL, role="read")
async def mark_read(board: Dashboard, given: Given) -> Done:
    """Mark an article as read, for the person who acts."""
    return await _mark(board, given, State.READ)


@action(BACK, words("urls", "URLs, with blanks between them.", required=True, longest=2**16), role="read")
async def mark_all_read(board: Dashboard, given: Given) -> Done:
    """Mark several articles as read, for the person who acts."""
    with told_to_users():
        keys = [fingerprint(canonicalize(url)) for url in given["urls"].split()]
        await board.marks.change(person(), keys, State.READ)
    return Done(State.READ.value, f"{counted(len(keys), 'article')} marked as read.")


@action(BACK, URL, role="read")
async def mark_unread(board: Dashboard, given: Given) -> Done:
    """Mark an article as not read."""
    return await _mark(board, given, State.UNREAD)


@action("/sources/{site}", _SITE)
@changing(all_sites)
def resume(data: Data, given: Given) -> Done:
    """Resume a site."""
    domain = chosen_site(given["site"], data.storage, data.rules)
    if pauses.go_on(data.storage.notes, domain):
        return Done("resumed", f"{domain} is resumed.")
    return Done("unchanged", f"{domain} was not paused.")
