"""Who may see the dashboard, and who may act.

On a loopback address all may read, if they call us by a loopback name (a page on the web that lets its own
name lead to 127.0.0.1 may not). Elsewhere, and where a proxy leads from the web to us (``--public-url``), a
token is asked for, also to read. Acting always takes the token: programs send it with each request
(``Authorization: Bearer``), people log in once and have a session, whose forms carry a secret of their own.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import ipaddress
import secrets
from collections import OrderedDict
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from aiohttp import web

from newsbot.clock import Clock, system_clock
from newsbot.errors import UserError
from newsbot.push.budget import Budget

COOKIE = "newsbot_session"
SESSION_SECONDS = 14 * 86400.0
MAX_SESSIONS = 1000
MIN_TOKEN = 16
"""Characters."""
TRIES_PER_HOUR = 60.0
_HOST_NAMES = frozenset({"localhost", "ip6-localhost"})


@dataclass(frozen=True, slots=True)
class Session:
    """A browser that logged in. ``secret`` stands in each of its forms."""

    until: float
    secret: str


@dataclass(slots=True)
class Access:
    """The rules of the module's text. ``token`` empty: nobody may act."""

    token: str
    reads_open: bool
    host: str = "127.0.0.1"
    """Where we listen."""
    clock: Clock = system_clock
    _sessions: OrderedDict[bytes, Session] = field(default_factory=OrderedDict)
    _tries: Budget = field(init=False)

    def __post_init__(self) -> None:
        self._tries = Budget(TRIES_PER_HOUR, 10.0, self.clock)

    # --- questions
    def may_read(self, request: web.Request) -> bool:
        """Return True if the request may see the dashboard."""
        if self.reads_open and self._calls_us_by_our_name(request):
            return True
        return self._has_token(request) or self.session(request) is not None

    def may_follow(self, request: web.Request) -> bool:
        """Return True if the request may read feeds: feed readers send a name and a password, the token.

        A browser sends these by itself, also where another site's page asks it to: they open nothing else.
        """
        if self.may_read(request):
            return True
        kind, _, given = request.headers.get("Authorization", "").partition(" ")
        if kind.lower() != "basic":
            return False
        try:
            _name, _, password = base64.b64decode(given, validate=True).decode().partition(":")
        except (binascii.Error, UnicodeDecodeError):
            return False
        return self._is_token(request, password)

    def may_act(self, request: web.Request, form_secret: str | None) -> bool:
        """Return True if the request may change something."""
        if self._has_token(request):
            return True
        session = self.session(request)
        if session is None or not form_secret or not _same_origin(request):
            return False
        return _equal(form_secret, session.secret)

    def session(self, request: web.Request) -> Session | None:
        """Return the session of the browser, if it logged in and that still holds."""
        given = request.cookies.get(COOKIE)
        session = self._sessions.get(_digest(given)) if given else None
        return session if session is not None and session.until > self.clock() else None

    # --- logging in
    def log_in(self, request: web.Request, token: str) -> str | None:
        """Return the cookie of a new session; None if the token is wrong, or too many were tried."""
        if not self.token or not self._tries.take(request.remote or "") or not _equal(token, self.token):
            return None
        cookie = secrets.token_urlsafe(32)
        self._sessions[_digest(cookie)] = Session(self.clock() + SESSION_SECONDS, secrets.token_urlsafe(32))
        while len(self._sessions) > MAX_SESSIONS:
            self._sessions.popitem(last=False)
        return cookie

    def log_out(self, request: web.Request) -> None:
        """End the browser's session."""
        given = request.cookies.get(COOKIE)
        if given:
            self._sessions.pop(_digest(given), None)

    # --- inside
    def _has_token(self, request: web.Request) -> bool:
        kind, _, given = request.headers.get("Authorization", "").partition(" ")
        return kind.lower() == "bearer" and self._is_token(request, given.strip())

    def _is_token(self, request: web.Request, given: str) -> bool:
        if not self.token or not given:
            return False
        if _equal(given, self.token):
            return True
        self._tries.take(request.remote or "")
        return False

    def _calls_us_by_our_name(self, request: web.Request) -> bool:
        name = _host_name(request.headers.get("Host", ""))
        return name in _HOST_NAMES or name == self.host or is_loopback(name)


def make_access(token: str, host: str, *, public: bool) -> Access:
    """Return the rules for who listens on ``host``; ``public``: a proxy leads from the web to us.

    Raises :class:`newsbot.errors.UserError` for a token that is too short, or missing where one is needed.
    """
    if token and len(token) < MIN_TOKEN:
        raise UserError(
            f"NEWSBOT_WEB_TOKEN has less than {MIN_TOKEN} characters; make one: "
            "python -c 'import secrets; print(secrets.token_urlsafe())'"
        )
    if not token and not (is_loopback(host) or host in _HOST_NAMES):
        raise UserError(
            f"--host {host} can be reached from elsewhere: set NEWSBOT_WEB_TOKEN (the dashboard asks for "
            "it), or leave --host out"
        )
    loopback = is_loopback(host) or host in _HOST_NAMES
    return Access(token, reads_open=loopback and not public, host=host)


def is_loopback(name: str) -> bool:
    """Return True for an address of this machine alone."""
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


def _host_name(header: str) -> str:
    try:
        return urlsplit(f"//{header}").hostname or ""
    except ValueError:
        return ""


def _same_origin(request: web.Request) -> bool:
    """Return False if a browser says that another site's page sends this."""
    if request.headers.get("Sec-Fetch-Site", "same-origin") not in ("same-origin", "none"):
        return False
    origin = request.headers.get("Origin")
    return origin is None or urlsplit(origin).netloc == request.headers.get("Host")


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).digest()


def _equal(one: str, other: str) -> bool:
    """Compare in a time that tells nothing of either."""
    return hmac.compare_digest(_digest(one), _digest(other))
