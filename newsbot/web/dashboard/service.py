"""The object that all handlers share.

It has the data and the cached figures, checks access, and makes responses.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from aiohttp import web
from jinja2 import Environment

from newsbot import __version__
from newsbot.clock import Clock
from newsbot.errors import DataError
from newsbot.web.dashboard.access import Access
from newsbot.web.dashboard.cached_figures import Memos
from newsbot.web.dashboard.jobs import Jobs
from newsbot.web.dashboard.proposals import Proposals
from newsbot.web.dashboard.rendering import HEADERS, json_answer, link, make_environment, page, site_path
from newsbot.web.incoming import read_form
from newsbot.web.readers import Readers

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

PAGES = (
    ("/", "News", "n"),
    ("/articles", "Search", "a"),
    ("/stories", "Stories", "t"),
    ("/saved", "Saved", "d"),
    ("/sources", "Sources", "s"),
    ("/crawl", "Crawl", "c"),
)
"""The entries of the menu: path, name, and the key that opens the page if it is pressed after ``g``."""
MORE_PAGES = (
    ("/why", "Why", "w"),
    ("/monitor", "Monitor", "m"),
    ("/simulator", "Simulator", "u"),
    ("/api", "API", "i"),
)
"""The entries of the menu in the footer, in the same form."""
CLOSED = (
    "No token is set: start scrapy serve with NEWSBOT_WEB_TOKEN. Without a token, pages can only be read, on "
    "this machine, under a name such as localhost, and without --public-url."
)
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
    FEEDS,
)
"""Prefixes of the paths that only programs request. Errors on these paths are JSON."""
KINDS = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}
ASSETS = ("style.css", "keys.js", "live.js", "icon.svg")


@dataclass(slots=True)
class Dashboard:
    """The data and settings of all handlers; one object for a process."""

    readers: Readers
    memos: Memos
    access: Access
    clock: Clock
    reports: Path
    """The folder of the simulator's reports."""
    proposals: Proposals
    jobs: Jobs | None
    """The jobs of scrapyd; None if no scrapyd is configured."""
    environment: Environment = field(default_factory=make_environment)

    # --- answers
    def page(
        self, request: web.Request, name: str, status: int = 200, here: str = "", **values: Any
    ) -> web.Response:
        """Return the template ``name``, rendered with ``values``, as a response.

        ``here`` is the path of the current entry in the menu. ``refresh`` (in ``values``) is the number of
        seconds between two refreshes of the page.
        """
        session = self.access.session(request)
        html = self.environment.get_template(name).render(
            **{"refresh": 0, **values},
            here=here,
            pages=PAGES,
            more_pages=MORE_PAGES,
            version=__version__,
            session=session,
            can_log_in=bool(self.access.token),
            site_path=site_path,
            link=link,
        )
        return page(html, status)

    def refusal(self, request: web.Request, status: int, title: str, text: str) -> web.Response:
        """Return an error response, as HTML for browsers or as JSON for programs (without ``title``)."""
        if is_program(request):
            return json_answer({"error": text}, status)
        return self.page(request, "message.html", status, title=title, text=text)

    # --- doors
    def reading(self, handler: Handler) -> Handler:
        """Return a handler that checks the right to read first, and turns errors into readable responses."""

        async def guarded(request: web.Request) -> web.StreamResponse:
            if not self.access.may_read(request):
                return self.closed(request)
            return await self._readable(request, handler)

        return guarded

    def following(self, handler: Handler) -> Handler:
        """Do the same as :meth:`reading` for a feed, whose token can also be sent as a password."""

        async def guarded(request: web.Request) -> web.StreamResponse:
            if not self.access.may_follow(request):
                return self.closed(request)
            return await self._readable(request, handler)

        return guarded

    def acting(self, handler: Handler) -> Handler:
        """Do the same as :meth:`reading` for a POST request, but check the right to change something."""

        async def guarded(request: web.Request) -> web.StreamResponse:
            secret = (await read_form(request)).get("secret") if _is_form(request) else None
            if not self.access.may_act(request, secret if isinstance(secret, str) else None):
                return self.closed(request)
            return await self._readable(request, handler)

        return guarded

    async def _readable(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        try:
            return await handler(request)
        except DataError as error:
            answer = self.refusal(request, 503, "Unavailable", str(error))
            answer.headers["Retry-After"] = "10"
            return answer
        except web.HTTPNotFound as missing:
            return self.refusal(request, 404, "Not found", missing.text or "There is no such page.")
        except web.HTTPBadRequest as bad:
            return self.refusal(request, 400, "Invalid request", bad.text or "The request is invalid.")

    def closed(self, request: web.Request) -> web.Response:
        """Return the response to a request that is not allowed: the log-in page, or 401 for programs.

        If the server has no token, nobody can log in, and the response is 403.
        """
        if not self.access.token:
            return self.refusal(request, 403, "No access", CLOSED)
        if is_program(request):
            feed = request.path.startswith(FEEDS)
            how = (
                "the token as the password, with any name"
                if feed
                else "the header Authorization: Bearer TOKEN"
            )
            # With "Basic", feed readers ask the user for a name and a password.
            answer = json_answer({"error": f"send {how}"}, 401)
            answer.headers["WWW-Authenticate"] = 'Basic realm="newsbot"' if feed else "Bearer"
            return answer
        return self.page(request, "login.html", 401, wrong=False)


def is_program(request: web.Request) -> bool:
    """Return True if only programs, which do not want HTML, request the path."""
    return request.path.startswith(PROGRAMS)


def _is_form(request: web.Request) -> bool:
    return request.content_type in ("application/x-www-form-urlencoded", "multipart/form-data")


async def asset(request: web.Request) -> web.Response:
    """Return a static file of the pages. Raises ``HTTPNotFound`` for names that are not in :data:`ASSETS`."""
    name = request.match_info["name"]
    if name not in ASSETS:
        raise web.HTTPNotFound
    headers = HEADERS | {"Cache-Control": "public, max-age=300"}
    response = web.Response(text=_asset(name), content_type=KINDS[name.rpartition(".")[2]], headers=headers)
    response.enable_compression()
    return response


@lru_cache(len(ASSETS))
def _asset(name: str) -> str:
    return (files("newsbot.web.dashboard") / "assets" / name).read_text(encoding="utf-8")
