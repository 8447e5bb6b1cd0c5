"""Serves data for other programs: searches as feeds, sites as OPML, comparisons as files, and metrics."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from types import SimpleNamespace
from typing import Final, cast

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
from newsbot.apps.web.dashboard.endpoints import COMPARED, FILTERS, attention, filter_of, query_of
from newsbot.apps.web.dashboard.overview import Overview, crawl_state
from newsbot.apps.web.dashboard.rendering import HEADERS, answer
from newsbot.apps.web.dashboard.schema import given, number
from newsbot.apps.web.dashboard.service import FEEDS, Dashboard, stored_articles
from newsbot.apps.web.readers import Data
from newsbot.storage.base import SiteRecord

Notices = Callable[[], Mapping[tuple[str, str], int]]
"""A function that returns the number of URLs in push notices, by protocol and outcome."""
LIMIT = 50
"""Number of articles in a feed if the request has no parameter ``limit``."""
MAX_LIMIT = 200
MAX_IN_FILE = 1000
"""Maximum number of articles in a file."""
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
