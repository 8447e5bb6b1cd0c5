"""The pages ``/login/sso``, which sends a browser to the provider, and ``/login/sso/back``, its way back.

Only people in the team may log in (``newsbot team add EMAIL --no-token``). They have the role of the team.
"""

from __future__ import annotations

import hmac
import logging
import secrets
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from functools import partial

from aiohttp import web

from newsbot.apps.sso.provider import Provider, Refused, check_installed
from newsbot.apps.web.dashboard.app import is_local, logged_in
from newsbot.apps.web.dashboard.rendering import HEADERS
from newsbot.apps.web.dashboard.service import Dashboard
from newsbot.cli.terminal import one_line
from newsbot.clock import system_clock
from newsbot.items import Bounded

logger = logging.getLogger(__name__)

COOKIE = "newsbot_sso"
"""The cookie that binds a log-in to the browser that began it."""
BACK = "/login/sso/back"
SECONDS = 600
"""Seconds that a person has for the log-in at the provider."""
MAX_BEGUN = 1000
NOT_HERE = "{0} is not in the team of this server. Whoever runs it can add you with: newsbot team add"
FAILED = "The single sign-on did not succeed: {0}."


@dataclass(slots=True)
class Begun:
    """A log-in that has begun."""

    nonce: str
    verifier: str
    back: str
    redirect: str
    until: float


@dataclass(slots=True)
class SignOn:
    """The provider, and the log-ins that have begun, by their state."""

    provider: Provider
    public_url: str
    begun: Bounded[str, Begun] = field(default_factory=lambda: Bounded(MAX_BEGUN))


SIGN_ON = web.AppKey("sign_on", SignOn)


async def begin(board: Dashboard, request: web.Request) -> web.Response:
    """Send the browser to the provider."""
    sign_on = request.app.get(SIGN_ON)
    if sign_on is None:
        raise web.HTTPNotFound
    state, nonce, verifier = (secrets.token_urlsafe(32) for _ in range(3))
    back = request.query.get("back", "/")
    redirect = (sign_on.public_url or _origin(request)).rstrip("/") + BACK
    try:
        place = await sign_on.provider.address(redirect, state, nonce, verifier)
    except Refused as error:
        return _failed(board, request, error)
    until = system_clock() + SECONDS
    sign_on.begun[state] = Begun(nonce, verifier, back if is_local(back) else "/", redirect, until)
    response = web.Response(status=303, headers=HEADERS | {"Location": place})
    secure = redirect.startswith("https:")
    # Lax: the browser comes back from another site.
    response.set_cookie(
        COOKIE, state, max_age=SECONDS, httponly=True, samesite="Lax", secure=secure, path="/login"
    )
    return response


async def finish(board: Dashboard, request: web.Request) -> web.Response:
    """Log in a person whom the provider sends back."""
    sign_on, state = request.app.get(SIGN_ON), request.query.get("state", "")
    if sign_on is None:
        raise web.HTTPNotFound
    own = request.cookies.get(COOKIE, "")
    ours = bool(state) and hmac.compare_digest(own.encode(), state.encode())
    begun = sign_on.begun.pop(state, None) if ours else None
    try:
        if begun is None or begun.until < system_clock():
            raise Refused("it took too long, or it was begun in another browser")
        if "code" not in request.query:
            raise Refused("the provider refused it")
        code = request.query["code"]
        email = await sign_on.provider.email(code, begun.redirect, begun.nonce, begun.verifier)
    except Refused as error:
        sign_on.provider.forget()
        return _failed(board, request, error)
    if email not in board.access.people:
        return board.refusal(request, 403, "No access", NOT_HERE.format(one_line(email)[:100]))
    return logged_in(request, board.access.begin_session(email), begun.back)


def _failed(board: Dashboard, request: web.Request, error: Refused) -> web.Response:
    logger.warning("single sign-on failed: %s", error)
    return board.refusal(request, 403, "No access", FAILED.format(error))


def _origin(request: web.Request) -> str:
    secure = request.secure or request.headers.get("X-Forwarded-Proto") == "https"
    return f"{'https' if secure else 'http'}://{request.host}"


async def _opened(board: Dashboard, app: web.Application) -> AsyncIterator[None]:
    settings = await board.readers.call(lambda data: data.settings)
    issuer = str(settings.get("NEWSBOT_OIDC_ISSUER") or "")
    if issuer:
        check_installed()
        client = str(settings.get("NEWSBOT_OIDC_CLIENT") or "newsbot")
        secret = str(settings.get("NEWSBOT_OIDC_SECRET") or "")
        app[SIGN_ON] = SignOn(Provider(issuer, client, secret), str(settings.get("NEWSBOT_PUBLIC_URL") or ""))
        board.has_sign_on = True
    yield


def add(board: Dashboard, app: web.Application) -> None:
    """Add the pages. Without the setting NEWSBOT_OIDC_ISSUER, they do not exist."""
    app.router.add_get("/login/sso", partial(begin, board))
    app.router.add_get(BACK, partial(finish, board))
    app.cleanup_ctx.append(partial(_opened, board))
