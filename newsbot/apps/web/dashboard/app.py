"""Defines the routes of the dashboard, and opens the data while it runs.

The HTTP API has an OpenAPI description. Both are made from the list
:data:`newsbot.apps.web.dashboard.endpoints.OPERATIONS`, so the description always agrees with the API.

For other programs there are also searches as feeds and files, sites as OPML, and metrics for Prometheus.
"""

from __future__ import annotations

import asyncio
import hashlib
import io
import re
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager, suppress
from functools import lru_cache, partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final, cast
from urllib.parse import quote, urlencode, urlsplit

from aiohttp import ETag, web
from yarl import URL

from newsbot import __version__
from newsbot.apps.export.formats import (
    TYPES,
    as_opml,
    feed_of,
    rows_as_csv,
    rows_as_jsonl,
    write_csv,
    write_json_lines,
)
from newsbot.apps.followers.following import states
from newsbot.apps.operations.explain import explain
from newsbot.apps.team.people import Journal, people
from newsbot.apps.web.dashboard.access import COOKIE, SESSION_SECONDS, Access
from newsbot.apps.web.dashboard.articles import BACK, Marks
from newsbot.apps.web.dashboard.endpoints import (
    COMPARED,
    FILTERS,
    MAX_IN_FILE,
    OPERATIONS,
    Operation,
    Parameter,
    Schema,
    attention,
    filter_of,
    given,
    number,
    query_of,
    schema_of,
)
from newsbot.apps.web.dashboard.overview import Overview, crawl_state
from newsbot.apps.web.dashboard.pages import PAGES, simulator_report
from newsbot.apps.web.dashboard.proposals import Jobs, Proposals
from newsbot.apps.web.dashboard.rendering import COOKIE as COOKIE_OF_LANGUAGE
from newsbot.apps.web.dashboard.rendering import HEADERS, LANGUAGES, answer, json_answer
from newsbot.apps.web.dashboard.service import FEEDS, Dashboard, Memos, asset, in_our_words, stored_articles
from newsbot.apps.web.http import read_form
from newsbot.apps.web.readers import Data, Readers, repeating
from newsbot.backends import data_folder
from newsbot.cli.command import plain
from newsbot.config.apps import active_apps, load
from newsbot.config.settings import SettingsLike
from newsbot.errors import ArgumentError, DataError
from newsbot.storage.base import SiteRecord

_ERRORS: Mapping[str, str] = {
    "400": "A parameter is wrong; the error says which one.",
    "401": "The token is missing or wrong.",
    "403": "The server has no token, or the role of the person does not allow the request.",
    "404": "Not found; the error says what does not exist.",
    "503": "The data are unavailable, or the request takes too long; try again later.",
}


def add_api(board: Dashboard, app: web.Application) -> None:
    """Add the routes of all operations below ``/api``, and ``/openapi.json``."""
    for one in OPERATIONS:
        run = partial(_run, operation=one)
        handler = board.acting(run, one.role) if one.method == "POST" else board.reading(run)
        app.router.add_route(one.method, f"/api{one.path}", handler)
    app.router.add_get("/openapi.json", board.reading(_description))


async def _run(board: Dashboard, request: web.Request, *, operation: Operation) -> web.Response:
    form: Mapping[str, Any] = await read_form(request) if operation.method == "POST" else {}
    return json_answer(plain(await operation.run(board, given(request, operation.parameters, form))))


async def _description(_board: Dashboard, _request: web.Request) -> web.Response:
    return json_answer(description())


@lru_cache(1)
def description() -> Schema:
    """Return the OpenAPI 3.1 description of the API (https://spec.openapis.org/oas/v3.1.0)."""
    components: dict[str, Schema] = {}
    paths: dict[str, Schema] = {}
    for one in OPERATIONS:
        paths.setdefault(f"/api{one.path}", {})[one.method.lower()] = _operation(one, components)
    components["Error"] = {
        "type": "object",
        "properties": {"error": {"type": "string"}},
        "required": ["error"],
        "additionalProperties": False,
    }
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "newsbot",
            "version": __version__,
            "description": "The state of a news crawl and the stored articles. Times are UTC (RFC 3339).",
        },
        # {} means that requests without the token are possible: they may read if the server listens on a
        # loopback address. Operations that change something override this value.
        "security": [{}, {"token": []}],
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _operation(one: Operation, components: dict[str, Schema]) -> Schema:
    found: Schema = {
        "operationId": one.name,
        "summary": one.text,
        "parameters": [_parameter(parameter) for parameter in one.parameters if parameter.place != "form"],
        "responses": {
            "200": {
                "description": one.text,
                "content": {"application/json": {"schema": schema_of(one.returns, components)}},
            }
        }
        | {status: _error(text) for status, text in _ERRORS.items()},
    }
    form = [parameter for parameter in one.parameters if parameter.place == "form"]
    if form:  # operations with a form change something and always need the token
        found["security"] = [{"token": []}]
        found["requestBody"] = {
            "required": True,
            "content": {
                "application/x-www-form-urlencoded": {
                    "schema": {
                        "type": "object",
                        "properties": {one.name: {**one.schema, "description": one.text} for one in form},
                        "required": [one.name for one in form if one.required],
                    }
                }
            },
        }
    return found


def _parameter(one: Parameter) -> Schema:
    return {
        "name": one.name,
        "in": one.place,
        "required": one.required,
        "description": one.text,
        "schema": dict(one.schema),
    }


def _error(text: str) -> Schema:
    return {
        "description": text,
        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}},
    }


MAX_KEPT = 500
"""Maximum number of characters of each field that are kept when a form is shown again."""
MEET_EVERY = 5.0
"""Seconds after which it is noticed that a person was added or revoked."""
COUNT_EVERY = 60.0
"""Seconds after which uses of articles are stored (:mod:`newsbot.apps.search.usefulness`)."""
YEAR = 365 * 86400
"""Seconds for which a browser remembers the language."""
QUICK_THREADS = 3
"""Number of threads that read data for requests. One more thread computes the cached figures."""


@asynccontextmanager
async def dashboard(
    app: web.Application,
    settings: SettingsLike,
    access: Access,
    notices: Notices,
) -> AsyncIterator[Dashboard]:
    """Add the dashboard to ``app`` and keep its data open within the block.

    ``settings`` contains the choice of the backends (:mod:`newsbot.backends`). ``notices`` returns counts of
    push notices for the metrics. Raises :class:`newsbot.errors.RulesError` for invalid rules.
    """
    quick = Readers(settings, QUICK_THREADS, "look")
    slow = Readers(settings, 1, "count")
    folder = Path(settings.get("NEWSBOT_REPORTS") or "simulation")
    scrapyd = str(settings.get("NEWSBOT_SCRAPYD") or "")
    jobs = Jobs(scrapyd) if scrapyd else None
    proposals = Proposals(settings)
    marks = Marks(quick)
    journal = Journal(data_folder(settings))
    board = Dashboard(quick, Memos(slow), access, folder, proposals, jobs, marks, journal)
    board.has_archive = bool(settings.get("NEWSBOT_WARC_DIR"))
    add_routes(board, app, notices)
    for one in active_apps(settings.get("NEWSBOT_APPS")):
        for place in one.pages:
            load(place)(board, app)
    app.middlewares.append(in_our_words(board))
    board.memos.warm()  # in the background, so that the server can accept connections
    await _meet(quick, access)
    warming = asyncio.gather(_warm_up(slow), *(_warm_search(quick) for _ in range(QUICK_THREADS)))
    meeting = repeating(MEET_EVERY, partial(_meet, quick, access))
    counting = repeating(COUNT_EVERY, partial(_count, quick))
    try:
        async with meeting, counting:
            yield board
    finally:
        warming.cancel()
        await proposals.close()
        await marks.close()
        await _count(quick)
        slow.close()
        quick.close()
        await asyncio.gather(warming, return_exceptions=True)
        await board.memos.close()


async def _meet(readers: Readers, access: Access) -> None:
    """Read who may use the dashboard. While the data are unavailable, those who were known still may."""
    with suppress(DataError):
        access.people = await readers.call(lambda data: people(data.storage.notes))


async def _count(readers: Readers) -> None:
    """Store how often articles of each site were used."""
    with suppress(DataError):  # they are stored later
        await readers.call(lambda data: data.uses.write(data.storage, data.clock()))


async def _warm_up(readers: Readers) -> None:
    """Explain an arbitrary URL once. This loads the models that the page ``/why`` needs."""
    with suppress(DataError):
        await readers.call(
            lambda data: explain(
                "http://localhost/", data.rules, data.storage, data.frontier, now=data.clock()
            )
        )


async def _warm_search(readers: Readers) -> None:
    """Search once in a thread, so that the first search of a user finds filled caches.

    The caller starts as many calls at the same time as there are threads. A read is given to the thread with
    the shortest queue, so each thread gets one search.
    """

    def search(data: Data) -> None:
        for newest in data.storage.articles.newest(limit=1):
            data.search.find(newest.title, limit=1)

    with suppress(DataError):
        await readers.call(search)


def add_routes(board: Dashboard, app: web.Application, notices: Notices) -> None:
    """Add all routes of the dashboard, each with its access check."""
    for one in PAGES:
        app.router.add_get(one.path, board.reading(one.show))
    app.router.add_get("/simulator/{name:.+}", board.reading(simulator_report))
    add_api(board, app)
    add_exports(board, app, notices)
    app.router.add_get("/assets/{name}", asset)
    for operation in OPERATIONS:
        if operation.shown:
            handler = board.acting(partial(_do, operation=operation), operation.role)
            app.router.add_post(f"/do/{operation.name}", handler)
    app.router.add_get("/healthz", partial(_health, board))
    app.router.add_get("/language/{code}", _language)
    app.router.add_get("/login", partial(_login, board))
    app.router.add_post("/login", partial(_log_in, board))
    app.router.add_post("/logout", board.acting(_log_out, "read"))


async def _do(board: Dashboard, request: web.Request, *, operation: Operation) -> web.Response:
    """Run the operation of a form, and redirect to a page that shows the result."""
    typed = await read_form(request)
    try:
        form = given(request, operation.parameters, typed)
        done = await operation.run(board, form)
    except (ArgumentError, web.HTTPBadRequest) as error:
        # The page shows the form again, with the message and what was typed.
        fault = (error.text if isinstance(error, web.HTTPException) else str(error)) or ""
        fields = [one.name for one in operation.parameters if not one.is_file]
        kept = {name: str(typed.get(name) or "")[:MAX_KEPT] for name in fields}
        query = {"wrong": fault[:MAX_KEPT]} | ({"form": operation.name} if operation.form else {})
        query |= {f"typed_{name}": text for name, text in kept.items()}
        if operation.shown == BACK:
            return _moved_to(_with_query(_page_before(request), query))
        return _moved_to(_place(operation.form or operation.shown, kept, query))
    if operation.shown == BACK:
        return _moved_to(_page_before(request))
    return _moved_to(_place(operation.shown, form, {"done": done.text}))


def _page_before(request: web.Request) -> str:
    """Return the path and query of the page of this server on which a form was; otherwise the front page."""
    before = urlsplit(request.headers.get("Referer", ""))
    place = f"{before.path}?{before.query}" if before.query else before.path
    ours = before.netloc == request.headers.get("Host")
    return place if ours and is_local(place) else "/"


def is_local(place: str) -> bool:
    """Return True for a path of this server."""
    # "//host" and "/\\host" are addresses of other servers
    return re.fullmatch(r"/(?![/\\])[\x21-\x5b\x5d-\x7e]*", place) is not None


async def _language(request: web.Request) -> web.Response:
    """Choose the language of the pages for this browser, and show the page ``back``."""
    code, back = request.match_info["code"], request.query.get("back", "/")
    if code not in LANGUAGES:
        raise web.HTTPNotFound
    response = _moved_to(back if is_local(back) else "/")
    response.set_cookie(COOKIE_OF_LANGUAGE, code, max_age=YEAR, samesite="Lax", httponly=True)
    return response


def _place(pattern: str, values: Mapping[str, Any], query: Mapping[str, str]) -> str:
    """Return a path whose names in braces are replaced by ``values``, with a query."""
    place = pattern.format(**{name: quote(str(value), safe="") for name, value in values.items()})
    return _with_query(place, query)


def _with_query(place: str, query: Mapping[str, str]) -> str:
    return f"{place}{'&' if '?' in place else '?'}{urlencode(query)}"


def _moved_to(place: str) -> web.Response:
    return web.Response(status=303, headers=HEADERS | {"Location": place})


async def _health(board: Dashboard, _request: web.Request) -> web.Response:
    def look(data: Data) -> None:  # checks that the backends respond; the key need not exist
        data.storage.pages.get([bytes(16)])
        data.frontier.known([bytes(16)])

    await board.readers.call(look)
    return web.json_response({"status": "ok"}, headers={"Cache-Control": "no-store"})


async def _login(board: Dashboard, request: web.Request) -> web.Response:
    secret = request.query.get("once", "")
    if cookie := board.access.log_in_once(secret):
        return logged_in(request, cookie, "/")
    return board.page(
        request, "login.html", wrong=False, used=bool(secret), back=request.query.get("back", "/")
    )


async def _log_in(board: Dashboard, request: web.Request) -> web.Response:
    form = await read_form(request)
    token, back = form.get("token"), str(form.get("back", "/"))
    cookie = board.access.log_in(request, token if isinstance(token, str) else "")
    if cookie is None:
        return board.page(request, "login.html", 403, wrong=True, used=False, back=back)
    return logged_in(request, cookie, back)


def logged_in(request: web.Request, cookie: str, back: str) -> web.Response:
    """Return a response that starts a session and shows the page ``back`` of this server."""
    response = _moved_to(back if is_local(back) else "/")
    # A proxy forwards the request as plain HTTP. The header that it adds says whether the browser uses HTTPS.
    # A sender that forges the header restricts only its own cookie.
    secure = request.secure or request.headers.get("X-Forwarded-Proto") == "https"
    response.set_cookie(
        COOKIE, cookie, max_age=int(SESSION_SECONDS), httponly=True, samesite="Strict", secure=secure
    )
    return response


async def _log_out(board: Dashboard, request: web.Request) -> web.Response:
    board.access.log_out(request)
    response = _moved_to("/")
    response.del_cookie(COOKIE)
    return response


Notices = Callable[[], Mapping[tuple[str, str], int]]
"""A function that returns the number of URLs in push notices, by protocol and outcome."""
LIMIT = 50
"""Number of articles in a feed if the request has no parameter ``limit``."""
MAX_LIMIT = 200
_NO_FILTERS = ("sort", "page")
_SEARCH = tuple(one for one in FILTERS if one.name not in _NO_FILTERS)
PARAMETERS = (*_SEARCH, number("limit", "Maximum number of articles.", LIMIT, MAX_LIMIT))
FILE_PARAMETERS = (*_SEARCH, number("limit", "Maximum number of articles.", MAX_IN_FILE, MAX_IN_FILE))
_FILES = {"csv": "text/csv", "jsonl": "application/x-ndjson"}


def add_exports(board: Dashboard, app: web.Application, notices: Notices) -> None:
    """Add the routes of feeds, files and metrics."""
    for kind in TYPES:
        app.router.add_get(FEEDS + kind, board.following(_feed))
    for kind in ("csv", "jsonl"):
        app.router.add_get(f"/attention.{kind}", board.reading(partial(_attention, kind=kind)))
        app.router.add_get(FEEDS + kind, board.following(partial(_articles, kind=kind)))
    app.router.add_get("/sites.opml", board.reading(_opml))
    app.router.add_get("/metrics", board.reading(partial(_metrics, notices=notices)))


async def _opml(board: Dashboard, _request: web.Request) -> web.Response:
    body = await board.readers.call(lambda data: as_opml(data.rules, data.storage.sources))
    return answer(body, "text/x-opml", headers={"Content-Disposition": 'attachment; filename="sites.opml"'})


async def content(board: Dashboard, address: URL) -> tuple[bytes, str]:
    """Return the feed at an address of this server, and its media type.

    Raises ``HTTPBadRequest`` for wrong parameters, ``KeyError`` if the path is not that of a feed, and
    subclasses of :class:`newsbot.errors.DataError`.
    """
    kind = address.path.removeprefix(FEEDS)
    found = TYPES[kind]
    wanted = given(cast("web.Request", SimpleNamespace(query=address.query, match_info={})), PARAMETERS, {})
    where, limit, query = filter_of(wanted), wanted["limit"], query_of(wanted)
    page = str(address.with_path("/articles", keep_query=True))
    hub, named = str(address.with_path(board.hub)) if board.hub else "", str(address)
    body = await board.readers.call(
        lambda data: feed_of(
            data.search, query, where, kind=kind, limit=limit, address=named, page=page, hub=hub
        )
    )
    return body, found


async def _feed(board: Dashboard, request: web.Request) -> web.Response:
    address = board.origin(request).join(request.rel_url)
    body, kind = await content(board, address)
    # Feed readers poll often. With the ETag, the response for an unchanged feed is 304 without a body.
    mark = ETag(hashlib.sha256(body).hexdigest()[:32])
    if mark in (request.if_none_match or ()):
        response = web.Response(status=304, headers=HEADERS)
    else:
        response = answer(body, kind)
    if board.hub:
        response.headers["Link"] = f'<{address.with_path(board.hub)}>; rel="hub", <{address}>; rel="self"'
    response.etag = mark
    return response


async def _articles(board: Dashboard, request: web.Request, *, kind: str) -> web.Response:
    wanted = given(request, FILE_PARAMETERS, {})
    query, where, file = query_of(wanted), filter_of(wanted), io.BytesIO()

    def write(data: Data) -> None:
        hits = data.search.find(query, where, limit=wanted["limit"])
        (write_csv if kind == "csv" else write_json_lines)(file, [one.article for one in hits])

    await board.readers.call(write)
    headers = {"Content-Disposition": f'attachment; filename="articles.{kind}"'}
    return answer(file.getvalue(), _FILES[kind], headers=headers)


async def _metrics(board: Dashboard, _request: web.Request, *, notices: Notices) -> web.Response:
    view, articles = await board.memos.get(crawl_state), await board.memos.get(stored_articles)
    sites = await board.readers.call(lambda data: data.storage.sites.all())
    followers = await board.readers.call(lambda data: list(_followers(data)))
    return answer(exposition(view, articles, sites, notices()) + "\n".join([*followers, ""]), CONTENT_TYPE)


def _followers(data: Data) -> Iterator[str]:
    """Yield the metrics of sinks and other followers whose position is stored."""
    # A follower with a position of its own has no cursor in its note.
    known = {name: one for name, one in states(data.storage.notes).items() if one.cursor or one.fault}
    after = data.storage.articles.changes_after
    lags = [({"follower": name}, after(one.cursor)) for name, one in known.items() if one.cursor]
    yield from metric("follower_lag_changes", "Changes of articles that a follower has not received.", lags)
    failing = [({"follower": name}, int(bool(one.fault))) for name, one in known.items()]
    yield from metric("follower_failing", "1 if the last attempt of a follower failed.", failing)
    taken = [({"follower": name}, one.taken) for name, one in known.items()]
    yield from metric("follower_changes_total", "Changes of articles that a follower has received.", taken)


async def _attention(board: Dashboard, request: web.Request, *, kind: str) -> web.Response:
    found = await attention(board, given(request, COMPARED, {}))
    return answer((rows_as_csv if kind == "csv" else rows_as_jsonl)(found.rows()), _FILES[kind])


CONTENT_TYPE: Final = "text/plain; version=0.0.4"
MAX_SITES: Final = 2000
"""Maximum number of sites that have metrics, because each site needs memory in Prometheus.

The sites with the most fetched pages are chosen.
"""

Sample = tuple[Mapping[str, str], float | None]
"""Labels and value of a sample."""
_COUNTERS = (
    ("fetched", "Responses to requests."),
    ("pages", "Fetched pages, without feeds, sitemaps and sections."),
    ("article_pages", "Fetched pages that contained an article."),
    ("articles", "New articles stored."),
    ("updated", "New versions stored."),
    ("duplicates", "Articles that were not stored, because the same text of the site is already stored."),
)


def exposition(
    view: Overview, articles: int, sites: Mapping[str, SiteRecord], notices: Mapping[tuple[str, str], int]
) -> str:
    """Return metrics for Prometheus in the text exposition format 0.0.4.

    https://prometheus.io/docs/instrumenting/exposition_formats/ describes the format. ``articles`` is the
    number of stored articles. ``notices`` contains the number of URLs in push notices, by protocol and
    outcome.
    """
    queue, latency = view.queue, view.latency
    states = [({"state": name}, getattr(queue, name)) for name in ("pending", "leased", "done", "aside")]
    quantiles = [({"quantile": "0.5"}, latency.p50), ({"quantile": "0.95"}, latency.p95)]
    overdue = sum(worker.overdue for worker in queue.workers)
    fates = [({"protocol": one[0], "fate": one[1]}, count) for one, count in sorted(notices.items())]
    text = "Time from the publication to the storage of the latest articles."
    lines = [
        *metric("build_info", "The version of newsbot.", [({"version": __version__}, 1)]),
        *metric("articles", "Articles stored.", [({}, articles)]),
        *metric("frontier_urls", "URLs in the frontier, by state.", states),
        *metric("frontier_hosts", "Hosts in the frontier.", [({}, queue.hosts)]),
        *metric("frontier_lag_seconds", "How late due entries are.", [({}, queue.lag)]),
        *metric("workers", "Workers that hold leases.", [({}, len(queue.workers))]),
        *metric("workers_overdue", "Workers whose leases have expired.", [({}, overdue)]),
        *metric("latency_seconds", text, quantiles),
        *_sites(sites),
        *metric("push_notices_total", "URLs in notices by protocol and outcome.", fates),
    ]
    return "\n".join([*lines, ""])


def _sites(sites: Mapping[str, SiteRecord]) -> Iterator[str]:
    records = sorted(sites.values(), key=lambda one: (-one.counters.get("pages", 0), one.source))[:MAX_SITES]
    for name, text in _COUNTERS:
        counts = [({"site": one.source}, one.counters.get(name)) for one in records]
        yield from metric(f"site_{name}_total", text, counts)
    causes = [
        ({"site": one.source, "cause": name.removeprefix("errors/")}, value)
        for one in records
        for name, value in sorted(one.counters.items())
        if name.startswith("errors/")
    ]
    yield from metric("site_errors_total", "Failed pages, by cause.", causes)
    last = [({"site": one.source}, one.last_article) for one in records]
    text = "Time at which the last article was stored."
    yield from metric("site_last_article_timestamp_seconds", text, last)


def metric(name: str, text: str, samples: Iterable[Sample]) -> Iterator[str]:
    """Yield the lines of the metric ``newsbot_<name>``.

    A metric is a counter if its name ends in ``_total``, otherwise a gauge. ``text`` is the help text.
    Samples without a value are left out.
    """
    yield f"# HELP newsbot_{name} {text}"
    yield f"# TYPE newsbot_{name} {'counter' if name.endswith('_total') else 'gauge'}"
    for labels, value in samples:
        if value is not None:
            named = ",".join(f'{label}="{_escaped(content)}"' for label, content in labels.items())
            yield f"newsbot_{name}{f'{{{named}}}' if named else ''} {_number(value)}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _number(value: float) -> str:
    return str(int(value)) if float(value).is_integer() else repr(float(value))
