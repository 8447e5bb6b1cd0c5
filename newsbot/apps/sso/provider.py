"""An OpenID Connect provider (https://openid.net/specs/openid-connect-core-1_0.html, code flow with PKCE).

The package authlib checks the tokens. Its own HTTP clients are not used, because they need further packages.

The pages ``/login/sso``, which sends a browser to the provider, and ``/login/sso/back``, its way back.

Only people in the team may log in (``newsbot team add EMAIL --no-token``). They have the role of the team.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import logging
import secrets
import time
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from typing import Any
from urllib.parse import quote_plus, urlencode

from aiohttp import ClientError, ClientSession, ClientTimeout, web

from newsbot.apps.optional import load_optional
from newsbot.apps.web.dashboard.app import is_local, logged_in
from newsbot.apps.web.dashboard.rendering import HEADERS
from newsbot.apps.web.dashboard.service import Dashboard
from newsbot.cli.terminal import one_line
from newsbot.clock import system_clock
from newsbot.errors import DataUnavailable
from newsbot.items import Bounded

logger = logging.getLogger(__name__)

REQUEST_TIMEOUT = 10.0
"""Maximum time in seconds of a request to the provider."""
MAX_BODY = 2**20
"""Maximum number of bytes of a response."""
FRESH = 3600.0
"""Seconds for which metadata and keys are kept."""
LEEWAY = 60
"""Seconds by which the clocks may differ."""
ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512")
"""Algorithms of signatures that are accepted. Those with a shared secret are not among them."""


class Refused(Exception):
    """The provider, or what it sent, was refused. The message gives the reason in one line."""


def check_installed() -> None:
    """Raise :class:`newsbot.errors.UserError` if the package is missing."""
    load_optional("authlib", "sso", "NEWSBOT_OIDC_ISSUER")


@dataclass(slots=True)
class Provider:
    """The provider ``issuer``, at which this server has the name ``client``."""

    issuer: str
    client: str
    secret: str
    _kept: dict[str, tuple[float, dict[str, Any]]] = field(default_factory=dict)

    async def address(self, back: str, state: str, nonce: str, verifier: str) -> str:
        """Return the URL at which a person logs in. The provider then sends the browser to ``back``."""
        query = {
            "response_type": "code",
            "client_id": self.client,
            "redirect_uri": back,
            "scope": "openid email",
            "state": state,
            "nonce": nonce,
            "code_challenge": _base64(hashlib.sha256(verifier.encode()).digest()).rstrip("="),
            "code_challenge_method": "S256",
        }
        place = str((await self._metadata())["authorization_endpoint"])
        return f"{place}{'&' if '?' in place else '?'}{urlencode(query)}"

    async def email(self, code: str, back: str, nonce: str, verifier: str) -> str:
        """Return the verified e-mail address of the person who got ``code``.

        Raises :class:`Refused`, and :class:`newsbot.errors.DataUnavailable` if the provider does not answer.
        """
        metadata = await self._metadata()
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": back,
            "code_verifier": verifier,
            "client_id": self.client,
        }
        # Without a list, providers accept the secret as the password (OpenID Connect Discovery, section 3).
        ways = metadata.get("token_endpoint_auth_methods_supported") or ["client_secret_basic"]
        as_password = "client_secret_basic" in ways
        if self.secret and not as_password:
            form["client_secret"] = self.secret
        # RFC 6749, 2.3.1: name and secret are encoded like fields of a form.
        pair = f"{quote_plus(self.client)}:{quote_plus(self.secret)}".encode()
        headers = (
            {"Authorization": f"Basic {base64.b64encode(pair).decode()}"}
            if self.secret and as_password
            else {}
        )
        answer = await _ask(str(metadata["token_endpoint"]), form, headers)
        keys = await self._keys(metadata)
        claims = _claims(answer, keys, metadata, self.client, nonce)
        if claims.get("email_verified") is not True or not isinstance(claims.get("email"), str):
            raise Refused("the provider does not state a verified e-mail address")
        return str(claims["email"])

    async def _metadata(self) -> dict[str, Any]:
        found = await self._get(f"{self.issuer.rstrip('/')}/.well-known/openid-configuration")
        needed = ("authorization_endpoint", "token_endpoint", "jwks_uri")
        if found.get("issuer") != self.issuer or not all(isinstance(found.get(name), str) for name in needed):
            raise Refused("the metadata of the provider are of another issuer, or not complete")
        return found

    async def _keys(self, metadata: Mapping[str, Any]) -> dict[str, Any]:
        return await self._get(str(metadata["jwks_uri"]))

    async def _get(self, url: str) -> dict[str, Any]:
        at, found = self._kept.get(url, (0.0, {}))
        if time.monotonic() - at > FRESH or not found:
            found = await _ask(url)
            self._kept[url] = time.monotonic(), found
        return found

    def forget(self) -> None:
        """Read metadata and keys again at the next log-in, because a provider changes its keys."""
        self._kept.clear()


def _claims(
    answer: Mapping[str, Any], keys: Mapping[str, Any], metadata: Mapping[str, Any], client: str, nonce: str
) -> Mapping[str, Any]:
    """Return the claims of the ID token in an answer. Raises :class:`Refused`."""
    core, jose = import_module("authlib.oidc.core"), import_module("joserfc")
    key_set = import_module("joserfc.jwk").KeySet
    try:
        token = import_module("joserfc.jwt").decode(
            str(answer.get("id_token", "")), key_set.import_key_set(dict(keys)), algorithms=list(ALGORITHMS)
        )
        options = {"iss": {"values": [metadata["issuer"]]}, "aud": {"value": client}}
        params = {"nonce": nonce, "client_id": client}
        claims = core.CodeIDToken(token.claims, token.header, options, params)
        claims.validate(leeway=LEEWAY)
    except (jose.errors.JoseError, ValueError, KeyError, TypeError) as error:
        raise Refused(f"the token of the provider is not valid ({type(error).__name__})") from error
    if claims.get("nonce") != nonce:
        raise Refused("the token of the provider is not for this log-in")
    return dict(claims)


def _base64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode()


async def _ask(
    url: str, form: Mapping[str, str] | None = None, headers: Mapping[str, str] | None = None
) -> dict[str, Any]:
    try:
        async with (
            ClientSession(timeout=ClientTimeout(REQUEST_TIMEOUT), trust_env=False) as session,
            session.request(
                "GET" if form is None else "POST", url, data=form, headers=headers, allow_redirects=False
            ) as answer,
        ):
            body = bytearray()
            while len(body) < MAX_BODY and (part := await answer.content.read(MAX_BODY - len(body))):
                body += part
            if answer.status != 200:
                raise Refused(f"the provider answers with HTTP {answer.status}")
            found = json.loads(body)
    except (ClientError, OSError, TimeoutError) as error:  # str(error) could contain the secret
        raise DataUnavailable(f"the single sign-on does not answer: {type(error).__name__}") from error
    except ValueError as error:
        raise Refused("the provider does not answer with JSON") from error
    if not isinstance(found, dict):
        raise Refused("the provider does not answer with JSON")
    return found


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
