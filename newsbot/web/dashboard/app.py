"""Defines the routes of the dashboard, and opens the data while it runs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from aiohttp import web

from newsbot.clock import Clock
from newsbot.config.check import SettingsLike
from newsbot.errors import ArgumentError, DataError
from newsbot.operations.explain import explain
from newsbot.web.dashboard import endpoints as operations
from newsbot.web.dashboard import pages
from newsbot.web.dashboard.access import COOKIE, SESSION_SECONDS, Access
from newsbot.web.dashboard.api import add_api
from newsbot.web.dashboard.attention import add_attention
from newsbot.web.dashboard.cached_figures import make_memos
from newsbot.web.dashboard.endpoints import Run
from newsbot.web.dashboard.faults import in_our_words
from newsbot.web.dashboard.feeds import add_feeds
from newsbot.web.dashboard.jobs import Jobs
from newsbot.web.dashboard.metrics import CONTENT_TYPE, exposition
from newsbot.web.dashboard.parameters import given
from newsbot.web.dashboard.proposals import Proposals, site_named
from newsbot.web.dashboard.rendering import HEADERS, link, site_path
from newsbot.web.dashboard.service import Dashboard, asset
from newsbot.web.incoming import read_form
from newsbot.web.readers import Data, Readers

QUICK_THREADS = 3
"""Number of threads that read data for requests. One more thread computes the cached figures."""
Notices = Callable[[], Mapping[tuple[str, str], int]]
"""A function that returns the number of URLs that push notices contained, by protocol and outcome."""

_DOING: tuple[tuple[str, Run, Callable[[Mapping[str, Any]], str]], ...] = (
    ("add", operations.add, lambda form: link("/why", url=form["url"])),
    ("refetch", operations.add, lambda form: link("/why", url=form["url"])),
    ("pause", operations.pause, lambda form: site_path(form["site"])),
    ("resume", operations.resume, lambda form: site_path(form["site"])),
    ("poll", operations.poll, lambda form: site_path(form["site"])),
    ("propose", operations.propose, lambda form: link("/sources/new", site=form["site"])),
    ("add_site", operations.add_site, lambda form: site_path(site_named(form["site"]))),
    ("start_job", operations.start_job, lambda _form: "/jobs"),
    ("stop_job", operations.stop_job, lambda _form: "/jobs"),
    ("save", operations.save, lambda _form: "/saved"),
    ("forget", operations.forget, lambda _form: "/saved"),
)
"""The actions of HTML forms: the name, the operation, and a function that returns the URL of the page that is
shown afterwards."""


@asynccontextmanager
async def dashboard(
    app: web.Application,
    settings: SettingsLike,
    access: Access,
    clock: Clock,
    notices: Notices,
    *,
    allow_private: bool,
) -> AsyncIterator[Dashboard]:
    """Add the dashboard to ``app`` and keep its data open within the block.

    ``settings``: see :mod:`newsbot.backends`. ``notices`` returns counts of push notices for the metrics.
    Raises :class:`newsbot.errors.RulesError` for invalid rules.
    """
    quick = Readers(settings, QUICK_THREADS, "look")
    slow = Readers(settings, 1, "count")
    folder = Path(settings.get("NEWSBOT_REPORTS") or "simulation")
    scrapyd = str(settings.get("NEWSBOT_SCRAPYD") or "")
    jobs = Jobs(scrapyd) if scrapyd else None
    proposals = Proposals(settings, clock, allow_private=allow_private)
    board = Dashboard(quick, make_memos(slow, clock), access, clock, folder, proposals, jobs)
    add_routes(board, app, notices)
    app.middlewares.append(in_our_words(board))
    board.memos.warm()  # in the background, so that the server can accept connections
    warming = asyncio.gather(_warm_up(slow), *(_warm_search(quick) for _ in range(QUICK_THREADS)))
    try:
        yield board
    finally:
        warming.cancel()
        await proposals.close()
        slow.close()
        quick.close()
        await asyncio.gather(warming, return_exceptions=True)
        await board.memos.close()


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

    The caller runs this function once for each thread, at the same time. A read goes to the thread with the
    shortest queue, so each thread gets one search.
    """

    def search(data: Data) -> None:
        for newest in data.storage.articles.newest(limit=1):
            data.search.find(newest.title, limit=1)

    with suppress(DataError):
        await readers.call(search)


def add_routes(board: Dashboard, app: web.Application, notices: Notices) -> None:
    """Add all routes of the dashboard, each with its access check."""
    for path, handler in pages.PAGES:
        app.router.add_get(path, board.reading(_bound(board, handler)))
    add_api(board, app)
    add_feeds(board, app)
    add_attention(board, app)
    app.router.add_get("/assets/{name}", asset)
    for name, run, back in _DOING:
        app.router.add_post(f"/do/{name}", board.acting(_doing(board, name, run, back)))
    app.router.add_get("/healthz", _health(board))
    app.router.add_get("/metrics", board.reading(_metrics(board, notices)))
    app.router.add_get("/login", _login_page(board))
    app.router.add_post("/login", _log_in(board))
    app.router.add_post("/logout", board.acting(_log_out(board)))


def _bound(
    board: Dashboard, handler: Callable[[Dashboard, web.Request], Awaitable[web.Response]]
) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
    async def bound(request: web.Request) -> web.StreamResponse:
        return await handler(board, request)

    return bound


def _doing(
    board: Dashboard, name: str, run: Run, back: Callable[[Mapping[str, Any]], str]
) -> Callable[[web.Request], Awaitable[web.Response]]:
    """Return the handler of a form. It runs an operation and redirects to a page that shows the result."""
    (operation,) = [one for one in operations.OPERATIONS if one.name == name]

    async def doing(request: web.Request) -> web.Response:
        form = given(request, operation.parameters, await read_form(request))
        try:
            done = await run(board, form)
        except ArgumentError as error:
            raise web.HTTPBadRequest(text=str(error)) from error
        place = back(form)
        place += ("&" if "?" in place else "?") + urlencode({"done": done.text})
        return web.Response(status=303, headers=HEADERS | {"Location": place})

    return doing


def _health(board: Dashboard) -> Callable[[web.Request], Awaitable[web.Response]]:
    def look(data: Data) -> None:  # any key will do: the read shows whether the backends respond
        data.storage.pages.get([bytes(16)])
        data.frontier.known([bytes(16)])

    async def health(_request: web.Request) -> web.Response:
        await board.readers.call(look)
        return web.json_response({"status": "ok"}, headers={"Cache-Control": "no-store"})

    return health


def _metrics(board: Dashboard, notices: Notices) -> Callable[[web.Request], Awaitable[web.Response]]:
    async def metrics(_request: web.Request) -> web.Response:
        view = (await board.memos.overview.get()).value
        articles = (await board.memos.articles.get()).value
        sites = await board.readers.call(lambda data: data.storage.sites.all())
        text = exposition(view, articles, sites, notices())
        response = web.Response(body=text.encode(), headers=HEADERS | {"Content-Type": CONTENT_TYPE})
        response.enable_compression()
        return response

    return metrics


def _login_page(board: Dashboard) -> Callable[[web.Request], Awaitable[web.Response]]:
    async def login(request: web.Request) -> web.Response:
        return board.page(request, "login.html", wrong=False)

    return login


def _log_in(board: Dashboard) -> Callable[[web.Request], Awaitable[web.Response]]:
    async def log_in(request: web.Request) -> web.Response:
        token = (await read_form(request)).get("token")
        cookie = board.access.log_in(request, token if isinstance(token, str) else "")
        if cookie is None:
            return board.page(request, "login.html", 403, wrong=True)
        answer = web.Response(status=303, headers=HEADERS | {"Location": "/"})
        # Behind a proxy, the request itself is plain HTTP, so the proxy's header is used. If a sender forges
        # the header, only the sender's own cookie is restricted.
        secure = request.secure or request.headers.get("X-Forwarded-Proto") == "https"
        answer.set_cookie(
            COOKIE, cookie, max_age=int(SESSION_SECONDS), httponly=True, samesite="Strict", secure=secure
        )
        return answer

    return log_in


def _log_out(board: Dashboard) -> Callable[[web.Request], Awaitable[web.Response]]:
    async def log_out(request: web.Request) -> web.Response:
        board.access.log_out(request)
        answer = web.Response(status=303, headers=HEADERS | {"Location": "/"})
        answer.del_cookie(COOKIE)
        return answer

    return log_out
