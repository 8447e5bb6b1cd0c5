"""What all pages share: the data, cached figures, access, and the form of answers."""

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
from newsbot.web.dashboard.rendering import HEADERS, json_answer, link, make_environment, page, site_path
from newsbot.web.incoming import read_form
from newsbot.web.readers import Readers

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

PAGES = (
    ("/", "Overview"),
    ("/sources", "Sources"),
    ("/articles", "Articles"),
    ("/stories", "Stories"),
    ("/why", "Why"),
    ("/monitor", "Monitor"),
    ("/simulator", "Simulator"),
)
CLOSED = (
    "No token is set: start scrapy serve with NEWSBOT_WEB_TOKEN. Without one it answers only reads, on a "
    "loopback address, asked by a loopback name, and without --public-url."
)
FEEDS = "/articles."
"""How the addresses of feeds begin."""
PROGRAMS = ("/api/", "/openapi.json", "/metrics", "/healthz", "/push/", "/indexnow", FEEDS)
"""How the addresses begin that only programs ask for."""
KINDS = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}
ASSETS = ("style.css", "keys.js", "icon.svg")


@dataclass(slots=True)
class Dashboard:
    """One for a process."""

    readers: Readers
    memos: Memos
    access: Access
    clock: Clock
    reports: Path
    """Where the simulator's reports are."""
    environment: Environment = field(default_factory=make_environment)

    # --- answers
    def page(
        self, request: web.Request, name: str, status: int = 200, here: str = "", **values: Any
    ) -> web.Response:
        """Return what the template ``name`` makes of ``values``; ``here`` is the place in the menu."""
        session = self.access.session(request)
        html = self.environment.get_template(name).render(
            **values,
            here=here,
            pages=PAGES,
            version=__version__,
            session=session,
            can_log_in=bool(self.access.token),
            site_path=site_path,
            link=link,
        )
        return page(html, status)

    def refusal(self, request: web.Request, status: int, title: str, text: str) -> web.Response:
        """Return an answer that says why there is none, for people or for programs."""
        if is_program(request):
            return json_answer({"error": text}, status)
        return self.page(request, "message.html", status, title=title, text=text)

    # --- doors
    def reading(self, handler: Handler) -> Handler:
        """Return a handler that answers only who may read, and says in one line what cannot be answered."""

        async def guarded(request: web.Request) -> web.StreamResponse:
            if not self.access.may_read(request):
                return self.closed(request)
            return await self._readable(request, handler)

        return guarded

    def following(self, handler: Handler) -> Handler:
        """Return a handler of a feed: as :meth:`reading`, also for who sends the token as a password."""

        async def guarded(request: web.Request) -> web.StreamResponse:
            if not self.access.may_follow(request):
                return self.closed(request)
            return await self._readable(request, handler)

        return guarded

    def acting(self, handler: Handler) -> Handler:
        """Return a handler of POST requests that obeys only who may act."""

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
            answer = self.refusal(request, 503, "Not now", str(error))
            answer.headers["Retry-After"] = "10"
            return answer
        except web.HTTPNotFound as missing:
            return self.refusal(request, 404, "Nothing here", missing.text or "There is no such page.")
        except web.HTTPBadRequest as bad:
            return self.refusal(request, 400, "That cannot be", bad.text or "The request is not right.")

    def closed(self, request: web.Request) -> web.Response:
        """Return the answer for who may not."""
        if not self.access.token:
            return self.refusal(request, 403, "Closed", CLOSED)
        if is_program(request):
            feed = request.path.startswith(FEEDS)
            how = (
                "the token as the password, with any name"
                if feed
                else "the header Authorization: Bearer TOKEN"
            )
            answer = json_answer({"error": f"send {how}"}, 401)
            answer.headers["WWW-Authenticate"] = 'Basic realm="newsbot"' if feed else "Bearer"
            return answer
        return self.page(request, "login.html", 401, wrong=False)


def is_program(request: web.Request) -> bool:
    """Return True if who asks wants no page."""
    return request.path.startswith(PROGRAMS)


def _is_form(request: web.Request) -> bool:
    return request.content_type in ("application/x-www-form-urlencoded", "multipart/form-data")


async def asset(request: web.Request) -> web.Response:
    """Answer with one of the files that pages need."""
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
