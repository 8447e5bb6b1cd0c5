"""The object that all handlers share, and the responses to errors.

The object holds the data and the cached figures, checks access, and makes responses.
"""

from __future__ import annotations

import asyncio
import logging
import traceback
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache, partial
from importlib.resources import files
from pathlib import Path, PurePath
from typing import Any, TypeVar

from aiohttp import web
from aiohttp.typedefs import Middleware
from jinja2 import Environment
from yarl import URL

from newsbot import __version__
from newsbot.apps.alerts.saved import saved_searches
from newsbot.apps.search.articles import Attention
from newsbot.apps.team.people import Journal, Reading
from newsbot.apps.web.dashboard.access import Access, become, person
from newsbot.apps.web.dashboard.articles import (
    EVERYTHING,
    WINDOW,
    Choice,
    Marks,
    TopEvent,
    recent_stories,
    rising_terms,
    top_events,
)
from newsbot.apps.web.dashboard.overview import all_sites, crawl_state, crawl_verdict, current_troubles
from newsbot.apps.web.dashboard.proposals import Jobs, Proposals
from newsbot.apps.web.dashboard.rendering import (
    again,
    answer,
    choose,
    json_answer,
    link,
    make_environment,
    message,
)
from newsbot.apps.web.http import read_form
from newsbot.apps.web.readers import SOON, Data, Known, Memo, Readers, StillComputing
from newsbot.cli.program import PROGRAM
from newsbot.clock import system_clock, utc
from newsbot.errors import ArgumentError, DataError, UserError
from newsbot.items import ArticleFilter, Bounded

logger = logging.getLogger(__name__)

_Value = TypeVar("_Value")


def stored_articles(data: Data) -> int:
    """Return the number of stored articles."""
    return data.storage.articles.count(ArticleFilter(posts=False))


def published_today(data: Data) -> int:
    """Return the number of stored articles that were published in the last 24 hours."""
    now = utc(data.clock())
    return data.storage.articles.count(ArticleFilter(since=now - WINDOW, until=now, posts=False))


def all_by_day(data: Data) -> Attention:
    """Return the numbers of all articles by day, site and language."""
    return data.search.attention([""], ArticleFilter(), utc(data.clock()))


def saved_today(data: Data) -> list[tuple[str, str, int | None]]:
    """Return the saved searches: name, query, and number of articles of the last 24 hours.

    Instead of 0, the number is None while the search index is being built.
    """
    now = utc(data.clock())
    where = ArticleFilter(since=now - WINDOW, until=now)
    searches = saved_searches(data.storage.notes)
    totals = [data.search.counts(one.query, where).total for one in searches]
    nothing = None if 0 in totals and data.search.waiting() else 0
    return [(one.name, one.query, total or nothing) for one, total in zip(searches, totals, strict=True)]


def known_languages(data: Data) -> list[str]:
    """Return the languages of the articles in the search index."""
    return [code for code in data.search.known_languages() if code]


@lru_cache(64)
def top_events_of(chosen: Choice) -> Callable[[Data], list[TopEvent]]:
    """Return the function that computes the top events of the chosen sites and language."""
    return top_events if chosen == EVERYTHING else lambda data: top_events(data, chosen)


FIGURES: Mapping[Callable[[Data], Any], float] = {
    crawl_state: 10.0,
    crawl_verdict: 10.0,
    stored_articles: 60.0,
    published_today: 60.0,
    current_troubles: 30.0,
    all_sites: 60.0,
    top_events: 60.0,
    recent_stories: 120.0,
    saved_today: 60.0,
    all_by_day: 120.0,
    rising_terms: 600.0,
    known_languages: 600.0,
}
"""The functions whose results are cached, in the order of their first computation.

The number is the age in seconds at which a result is computed again.
"""


MAX_CHOSEN = 20
"""Maximum number of figures of chosen sites and languages in the cache."""


class Memos:
    """The cached figures of the process.

    Each figure is identified by the function that computes it. ``readers`` must have a separate thread,
    because the computations take long.
    """

    def __init__(self, readers: Readers) -> None:
        self._readers = readers
        self._memos = {work: Memo(readers, work, seconds) for work, seconds in FIGURES.items()}
        self._chosen = Bounded[Callable[[Data], Any], Memo[Any]](MAX_CHOSEN)
        """The figures of functions that are not in FIGURES, such as those of :func:`top_events_of`."""

    def _memo(self, work: Callable[[Data], Any]) -> Memo[Any]:
        found = self._memos.get(work) or self._chosen.get(work)
        if found is None:
            found = self._chosen[work] = Memo(self._readers, work, FIGURES[top_events])
        return found

    async def get(self, work: Callable[[Data], _Value]) -> _Value:
        """Return the result of ``work``."""
        known: Known[_Value] = await self._memo(work).get()
        return known.value

    async def soon(self, work: Callable[[Data], _Value]) -> Known[_Value]:
        """Return the result of ``work``, with the time at which it was computed.

        Raises :class:`StillComputing` almost at once if it is being computed for the first time.
        """
        return await self._memo(work).get(SOON)

    async def present(self, *works: Callable[[Data], Any]) -> list[Any]:
        """Return the results of ``works``; None for each that is being computed for the first time."""
        found = await asyncio.gather(*map(self.soon, works), return_exceptions=True)
        for one in found:
            if isinstance(one, BaseException) and not isinstance(one, StillComputing):
                raise one
        return [one.value if isinstance(one, Known) else None for one in found]

    def forget(self, work: Callable[[Data], Any]) -> None:
        """Delete the result of ``work``, so that a user sees the effect of an action."""
        self._memos[work].forget()

    def warm(self) -> None:
        """Start to compute all figures in the background, so that the first page waits for a shorter time."""
        for memo in self._memos.values():
            memo.refresh()

    async def close(self) -> None:
        """Cancel running computations."""
        memos = (*self._memos.values(), *self._chosen.values())
        await asyncio.gather(*(memo.close() for memo in memos))


_Bound = Callable[[web.Request], Awaitable[web.StreamResponse]]
Handler = Callable[["Dashboard", web.Request], Awaitable[web.StreamResponse]]
"""A function that makes the response to a request."""

PAGES = (
    ("/", message("News"), "n"),
    ("/articles", message("Search"), "a"),
    ("/stories", message("Stories"), "t"),
    ("/saved", message("Saved"), "d"),
    ("/sources", message("Sources"), "s"),
    ("/crawl", message("Crawl"), "c"),
)
"""The entries of the menu: path, name, and the key that opens the page when it is pressed after ``g``."""
MORE_PAGES = (
    ("/why", message("Why"), "w"),
    ("/monitor", message("Monitor"), "m"),
    ("/simulator", message("Simulator"), "u"),
    ("/api", message("API"), "i"),
)
"""The entries of the menu in the footer, in the same form."""
CLOSED = (
    f"No token is set: start {PROGRAM} serve with NEWSBOT_WEB_TOKEN. Without a token, pages can only be read "
    "on this machine, under a name such as localhost, and not with --public-url."
)
NOT_YOURS = "Your role ({0}) does not allow this. Ask whoever runs the server for another one."
FEEDS = "/articles."
"""Prefix of the paths of feeds."""
PROGRAMS = (
    "/api/",
    "/attention.",
    "/sites.opml",
    "/openapi.json",
    "/metrics",
    "/healthz",
    "/push/",
    "/indexnow",
    "/hub",
    FEEDS,
)
"""Prefixes of the paths that only programs request. Errors on these paths are JSON."""
KINDS = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}
ASSETS = ("style.css", "keys.js", "live.js", "times.js", "plots.js", "icon.svg")


MAX_COLLECTIONS = 100
"""Maximum number of collections of sites in a list of choices."""


@dataclass(slots=True)
class Dashboard:
    """The data and settings of all handlers; one object for a process."""

    readers: Readers
    memos: Memos
    access: Access
    reports: Path
    """The folder of the simulator's reports."""
    proposals: Proposals
    jobs: Jobs | None
    """The jobs of scrapyd; None if no scrapyd is configured."""
    marks: Marks
    journal: Journal
    public_url: str = ""
    """The URL at which other machines reach this server."""
    hub: str = ""
    """The path of the WebSub hub of the feeds; empty if there is none."""
    has_archive: bool = False
    """True if pages are archived, so that the page ``/original`` can show them."""
    has_pictures: bool = False
    """True if the page ``/picture`` shows the pictures of articles."""
    has_sign_on: bool = False
    """True if people can log in through the page ``/login/sso``."""
    environment: Environment = field(default_factory=make_environment)

    def origin(self, request: web.Request) -> URL:
        """Return the URL of this server without a path."""
        return URL(self.public_url) if self.public_url else request.url.origin()

    # --- answers
    def page(
        self, request: web.Request, name: str, status: int = 200, here: str = "", **values: Any
    ) -> web.Response:
        """Return the template ``name``, rendered with ``values``, as a response.

        ``here`` is the path of the current entry in the menu. ``refresh`` (in ``values``) is the number of
        seconds between two refreshes of the page.
        """
        session = self.access.session(request)
        who = self.access.who(request) if session else None
        # The message of an action is in the URL, so a link on another site can contain any text. Therefore it
        # is shown only to users who are logged in.
        done = request.query.get("done", "")[:500] if session else ""
        back = str(request.rel_url) if request.method == "GET" else ""
        html = self.environment.get_template(name).render(
            **{"refresh": 0, "reading": None, "back": back, **values},
            board=self,
            here=here,
            pages=PAGES,
            more_pages=MORE_PAGES,
            version=__version__,
            visitor=session,
            session=session if who is not None and who.may("act") else None,
            pictures=self.has_pictures and session is not None,
            done=done,
            wrong_input=request.query if session and request.query.get("wrong") else {},
            can_log_in=self.access.can_log_in or self.has_sign_on,
            login=link("/login", back=back),
            query=request.query,
            again=partial(again, list(request.query.items())),
        )
        return answer(html, "text/html", status)

    async def reading_of(self, request: web.Request) -> Reading | None:
        """Return what the reader has read and starred; None if the reader is not logged in."""
        session = self.access.session(request)
        return None if session is None else await self.marks.of(session.person)

    def collections(self) -> list[str]:
        """Return the collections of sites: the tags in the rules."""
        return sorted({tag for rule in self.readers.rules() for tag in rule.tags})[:MAX_COLLECTIONS]

    def refusal(self, request: web.Request, status: int, title: str, text: str) -> web.Response:
        """Return an error response, as HTML for browsers or as JSON for programs (without ``title``)."""
        if is_program(request):
            return json_answer({"error": text}, status)
        return self.page(request, "message.html", status, title=title, text=text)

    # --- doors
    def reading(self, handler: Handler) -> _Bound:
        """Return a handler that checks the right to read first."""
        return self._guarded(handler, lambda request, _secret: self.access.may_read(request))

    def following(self, handler: Handler) -> _Bound:
        """Do the same as :meth:`reading` for a feed, whose token can also be sent as a password."""
        return self._guarded(handler, lambda request, _secret: self.access.may_follow(request))

    def acting(self, handler: Handler, role: str = "act") -> _Bound:
        """Do the same as :meth:`reading` for a POST request, but check the right to do what needs ``role``.

        What was done is written to the log, except for the marks of people.
        """

        async def noted(board: Dashboard, request: web.Request) -> web.StreamResponse:
            response = await handler(board, request)
            if role != "read" and response.status < 400:
                sent = (await read_form(request)).items()
                form = {name: value for name, value in sent if name != "secret" and isinstance(value, str)}
                action = request.path.rpartition("/")[2]
                with suppress(OSError):  # a full disk does not stop people from acting
                    now = system_clock()
                    await asyncio.to_thread(self.journal.write, now, person(), action, form)
            return response

        return self._guarded(noted, partial(self.access.may_act, role=role))

    def _guarded(self, handler: Handler, may: Callable[[web.Request, str | None], bool]) -> _Bound:
        """Return a handler that runs only if ``may`` allows the request.

        ``may`` takes the request and the secret of its form, if it has one.
        """

        async def guarded(request: web.Request) -> web.StreamResponse:
            # A request without a form has no secret. Programs send the token instead.
            secret = (await read_form(request)).get("secret") if _is_form(request) else None
            if not may(request, secret if isinstance(secret, str) else None):
                return self.closed(request)
            become(self.access.who(request))
            try:
                return await handler(self, request)
            except DataError as error:
                response = self.refusal(request, 503, "Unavailable", str(error))
                response.headers["Retry-After"] = "10"
                return response

        return guarded

    def closed(self, request: web.Request) -> web.Response:
        """Return the response to a request that is not allowed: the log-in page, or 401 for programs.

        If the server has no token, users cannot log in, and the response is 403.
        """
        if not self.access.can_log_in and not self.has_sign_on:
            return self.refusal(request, 403, "No access", CLOSED)
        if request.method != "GET" and (known := self.access.who(request)) and not known.may("admin"):
            return self.refusal(request, 403, "No access", NOT_YOURS.format(known.role))
        if is_program(request):
            feed = request.path.startswith(FEEDS)
            how = (
                "the token as the password, with any name"
                if feed
                else "the header Authorization: Bearer TOKEN"
            )
            # With "Basic", feed readers ask the user for a name and a password.
            response = json_answer({"error": f"send {how}"}, 401)
            response.headers["WWW-Authenticate"] = 'Basic realm="newsbot"' if feed else "Bearer"
            return response
        back = str(request.rel_url) if request.method == "GET" else "/"
        return self.page(request, "login.html", 401, wrong=False, used=False, back=back)


def is_program(request: web.Request) -> bool:
    """Return True if only programs request the path. They do not get HTML."""
    return request.path.startswith(PROGRAMS)


def _is_form(request: web.Request) -> bool:
    return request.content_type in ("application/x-www-form-urlencoded", "multipart/form-data")


async def asset(request: web.Request) -> web.Response:
    """Return a static file of the pages. Raises ``HTTPNotFound`` for names that are not in :data:`ASSETS`."""
    name = request.match_info["name"]
    if name not in ASSETS:
        raise web.HTTPNotFound
    kind = KINDS[name.rpartition(".")[2]]
    return answer(_asset(name), kind, headers={"Cache-Control": "public, max-age=300"})


@lru_cache(len(ASSETS))
def _asset(name: str) -> str:
    return (files("newsbot.apps.web.dashboard") / "assets" / name).read_text(encoding="utf-8")


_TEXTS = {
    "404: Not Found": "There is no such page.",
    "405: Method Not Allowed": "This address does not accept this method.",
}
"""Texts for users, by the text that aiohttp gives to an error."""
MAX_TOLD = 500
"""Maximum number of characters of a path, and of an error message, in a log line."""
_FAULT = "This is an error in newsbot. The log has the details. Please report the error."


def in_our_words(board: Dashboard) -> Middleware:
    """Return a middleware that responds to errors with an HTML page, or with JSON for programs."""

    @web.middleware
    async def middleware(
        request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
    ) -> web.StreamResponse:
        choose(request)
        try:
            return await handler(request)
        except web.HTTPException as error:
            if error.status < 400:
                raise
            return _refusal(board, request, error)
        except ArgumentError as error:
            return board.refusal(request, 400, "Invalid request", str(error))
        except DataError:
            raise  # the middleware in newsbot.apps.web.service makes the response
        except UserError as error:  # for example a rule file that is being edited
            logger.error("data away fault=%s", error)
            return board.refusal(request, 503, "Unavailable", "Not possible now. The log has the reason.")
        except Exception as error:  # noqa: BLE001  (an error ends its request, not the process)
            _note(request, error)
            return board.refusal(request, 500, "Internal error", _FAULT)

    return middleware


def _refusal(board: Dashboard, request: web.Request, error: web.HTTPException) -> web.Response:
    if request.match_info.http_exception is not None and not board.access.may_read(request):
        return board.closed(request)  # do not reveal which paths exist
    title = "Not found" if error.status == 404 else "Invalid request"
    reason = error.text or error.reason
    text = "The request is too long." if error.status == 413 else _TEXTS.get(reason, reason)
    response = board.refusal(request, error.status, title, text)
    if allowed := error.headers.get("Allow"):
        response.headers["Allow"] = allowed
    return response


def _note(request: web.Request, error: Exception) -> None:
    """Log an error in one line, with the file and line where it was raised."""
    frames = traceback.extract_tb(error.__traceback__)
    place = f"{PurePath(frames[-1].filename).name}:{frames[-1].lineno}" if frames else "-"
    text = " ".join(str(error).split())[:MAX_TOLD]
    kind = type(error).__name__
    path = request.rel_url.raw_path[:MAX_TOLD]
    logger.error("fault method=%s path=%s error=%s at=%s text=%r", request.method, path, kind, place, text)
    logger.debug("traceback of the fault", exc_info=error)
