"""Decides who may read the dashboard, and who may change something.

If the server listens on a loopback address, all users may read, but the ``Host`` header must have a loopback
name. This check prevents DNS rebinding, in which the host name of an attacker's web page resolves to
127.0.0.1. On other addresses, and behind a proxy (``--public-url``), the token is needed to read. The token
is always needed to change something. Programs send the token with each request (``Authorization: Bearer``).
Users log in once and get a session. Each form of a session has a secret, so that other sites cannot forge
requests (CSRF).

Besides the token of the server, whose owner may do everything, people can have tokens of their own with a
role (:mod:`newsbot.apps.team.people`).
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import ipaddress
import secrets
from collections.abc import Mapping
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from aiohttp import web

from newsbot.apps.team.people import OWNER, Person, hashed
from newsbot.apps.web.http import sender_of
from newsbot.clock import Clock, system_clock
from newsbot.errors import UserError
from newsbot.items import Bounded

COOKIE = "newsbot_session"
SESSION_SECONDS = 14 * 86400.0
MAX_SESSIONS = 1000
"""Maximum number of sessions. If there are more, the oldest sessions end."""
MIN_TOKEN = 16
"""Minimum length of a token in characters."""
FREE_TRIES = 10
"""After this number of wrong tokens, a sender has to wait before the next one is compared."""
LONGEST_WAIT = 300.0
"""Maximum time in seconds for which a sender has to wait."""
FORGOTTEN_AFTER = 3600.0
"""The count of a sender starts again if its last wrong token was sent this number of seconds ago."""
MAX_GUESSERS = 10_000
"""Maximum number of senders whose wrong tokens are counted."""
_HOST_NAMES = frozenset({"localhost", "ip6-localhost"})


_bearer: ContextVar[tuple[web.Request, Person | None] | None] = ContextVar("bearer", default=None)
"""The request that is being answered, and the person whose token it has."""
_person: ContextVar[str] = ContextVar("person", default="")


def become(who: Person | None) -> None:
    """Note who sends the request that is being answered."""
    _person.set(who.name if who else "")


def person() -> str:
    """Return who sends the request that is being answered; empty if that is not known."""
    return _person.get()


@dataclass(frozen=True, slots=True)
class Session:
    """A session of a browser."""

    until: float
    """The end of the session in POSIX seconds."""
    secret: str
    """The value of a hidden field in each form of the session."""
    person: str = OWNER
    """The name of the person who has logged in."""


class Guesses:
    """Counts wrong tokens by sender.

    After FREE_TRIES wrong tokens, each further wrong token doubles the waiting time.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._wrong = Bounded[str, tuple[int, float]](MAX_GUESSERS)
        """The number of wrong tokens and the time of the last one (POSIX seconds), by sender."""

    def must_wait(self, sender: str) -> bool:
        """Return True if this sender has to wait before the next token is compared."""
        number, last = self._wrong.get(sender, (0, 0.0))
        wait = 0.0 if number < FREE_TRIES else min(2.0 ** min(number - FREE_TRIES, 20), LONGEST_WAIT)
        # If the clock was set back, the difference is negative. The sender then does not have to wait.
        return 0.0 <= self._clock() - last < wait

    def wrong(self, sender: str) -> None:
        """Count a wrong token."""
        number, last = self._wrong.get(sender, (0, 0.0))
        now = self._clock()
        self._wrong[sender] = (1 if now - last > FORGOTTEN_AFTER else number + 1, now)


@dataclass(slots=True)
class Access:
    """Checks the rules in the docstring of this module, and keeps the sessions."""

    token: str
    """The token. If it is empty, changes are not allowed."""
    reads_open: bool
    """True if requests without the token may read."""
    host: str = "127.0.0.1"
    """The address that the server listens on."""
    clock: Clock = system_clock
    people: Mapping[str, Person] = field(default_factory=dict)
    """The people with their roles, by name."""
    once: str = ""
    """A secret with which one browser can log in once, without the token; empty if there is none."""
    _sessions: Bounded[bytes, Session] = field(default_factory=lambda: Bounded(MAX_SESSIONS))
    _guesses: Guesses = field(init=False)

    def __post_init__(self) -> None:
        self._guesses = Guesses(self.clock)

    # --- questions
    def may_read(self, request: web.Request) -> bool:
        """Return True if the request may read the dashboard."""
        if self.reads_open and self._calls_us_by_our_name(request):
            return True
        return self.who(request) is not None

    def who(self, request: web.Request) -> Person | None:
        """Return who sends a request; None if nobody is logged in and no valid token is sent."""
        if (found := self._bearer(request)) is not None:
            return found
        session = self.session(request)
        return self._known(session.person) if session else None

    @property
    def can_log_in(self) -> bool:
        """True if there is a token with which somebody can log in."""
        return bool(self.token or self.people)

    def may_follow(self, request: web.Request) -> bool:
        """Return True if the request may read feeds.

        Feed readers send the token as the password of basic authentication. A browser also sends such a
        password with requests that other sites cause. So basic authentication is accepted only for feeds.
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
        return self._owner_of(request, password) is not None

    def may_act(self, request: web.Request, form_secret: str | None, role: str = "act") -> bool:
        """Return True if the request may do what needs ``role``.

        ``form_secret`` is the hidden field of the form, if the request has one.
        """
        if (found := self._bearer(request)) is not None:
            return found.may(role)
        session = self.session(request)
        if session is None or not form_secret or not _same_origin(request):
            return False
        person = self._known(session.person)
        return person is not None and person.may(role) and _equal(form_secret, session.secret)

    def session(self, request: web.Request) -> Session | None:
        """Return the session of the browser; None if there is no session or if it has expired."""
        given = request.cookies.get(COOKIE)
        # The keys are hashes, so the duration of the look-up does not reveal a valid cookie.
        session = self._sessions.get(_digest(given)) if given else None
        if session is None or session.until <= self.clock():
            return None
        return session if self._known(session.person) else None  # otherwise the person was revoked

    # --- logging in
    def log_in(self, request: web.Request, token: str) -> str | None:
        """Return the cookie of a new session, or None if the token is wrong or the sender must wait."""
        person = self._owner_of(request, token)
        return self.begin_session(person.name) if person else None

    def log_in_once(self, secret: str) -> str | None:
        """Return the cookie of a new session, or None if the secret is wrong or was used before."""
        if not self.once or not secret or not _equal(secret, self.once):
            return None
        self.once = ""
        return self.begin_session(OWNER)

    def begin_session(self, name: str) -> str:
        """Return the cookie of a new session of a person, who is known already."""
        cookie, until = secrets.token_urlsafe(32), self.clock() + SESSION_SECONDS
        self._sessions[_digest(cookie)] = Session(until, secrets.token_urlsafe(32), name)
        return cookie

    def log_out(self, request: web.Request) -> None:
        """End the browser's session."""
        given = request.cookies.get(COOKIE)
        if given:
            self._sessions.pop(_digest(given), None)

    # --- inside
    def _known(self, name: str) -> Person | None:
        return Person(OWNER, "admin") if name == OWNER else self.people.get(name)

    def _bearer(self, request: web.Request) -> Person | None:
        # Several steps of a request ask for its sender, but a wrong token counts as one guess.
        known = _bearer.get()
        if known is None or known[0] is not request:
            kind, _, given = request.headers.get("Authorization", "").partition(" ")
            is_bearer = kind.lower() == "bearer"
            known = request, self._owner_of(request, given.strip()) if is_bearer else None
            _bearer.set(known)
        return known[1]

    def _owner_of(self, request: web.Request, given: str) -> Person | None:
        # While a sender must wait, tokens are not compared. Otherwise the sender could continue to guess.
        if not self.can_log_in or not given or self._guesses.must_wait(sender_of(request)):
            return None
        if self.token and _equal(given, self.token):
            return self._known(OWNER)
        key = hashed(given)
        found = next((one for one in self.people.values() if one.token and _equal(one.token, key)), None)
        if found is None:
            self._guesses.wrong(sender_of(request))
        return found

    def _calls_us_by_our_name(self, request: web.Request) -> bool:
        name = _host_name(request.headers.get("Host", ""))
        return name in _HOST_NAMES or name == self.host or is_loopback(name)


TOKEN_FILE = "web-token"  # noqa: S105  (the name of a file)
"""Name of the file in the data folder with the token that ``serve`` makes if none is set."""


def kept_token(folder: Path) -> str:
    """Return the token in the file :data:`TOKEN_FILE` of a folder; make the file if it does not exist.

    Only the user of this process may read it. Raises :class:`newsbot.errors.UserError`.
    """
    path = folder / TOKEN_FILE
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(
            f"{folder}: cannot be created ({error.strerror}); set NEWSBOT_DATA to a writable folder"
        ) from error
    try:
        with suppress(FileExistsError):
            path.touch(mode=0o600, exist_ok=False)  # the file has its rights before it has its content
            path.write_text(secrets.token_urlsafe(32))
        if path.stat().st_mode & 0o077:
            raise UserError(f"{path}: other users may read the token; delete the file, and start again")
        return path.read_text().strip()
    except OSError as error:
        raise UserError(f"{path}: {error.strerror}; set NEWSBOT_WEB_TOKEN instead") from error


def make_access(token: str, host: str, *, public: bool) -> Access:
    """Return the access rules of a server that listens on ``host``.

    ``public`` is true if a proxy makes the server reachable from other machines. Raises
    :class:`newsbot.errors.UserError` if the token is too short, or if a required token is missing.
    """
    if token and len(token) < MIN_TOKEN:
        raise UserError(
            f"NEWSBOT_WEB_TOKEN has fewer than {MIN_TOKEN} characters; create a longer one: "
            "python -c 'import secrets; print(secrets.token_urlsafe())'"
        )
    loopback = is_local_name(host)
    if not token and not loopback:
        raise UserError(
            f"--host {host} is reachable from other machines: set NEWSBOT_WEB_TOKEN (the dashboard asks for "
            "it), or leave out --host"
        )
    return Access(token, reads_open=loopback and not public, host=host)


def is_local_name(host: str) -> bool:
    """Return True for a loopback IP address and the names of this machine."""
    return is_loopback(host) or host in _HOST_NAMES


def is_loopback(name: str) -> bool:
    """Return True for a loopback IP address. Return False for other addresses and for names."""
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
    """Return False if the browser's headers show that a page of another site sent the request.

    Old browsers send neither of the two headers. For them, the secret of the form is the only check.
    """
    if request.headers.get("Sec-Fetch-Site", "same-origin") not in ("same-origin", "none"):
        return False
    origin = request.headers.get("Origin")
    return origin is None or urlsplit(origin).netloc == request.headers.get("Host")


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).digest()


def _equal(one: str, other: str) -> bool:
    """Return True if two texts are equal. The duration of the comparison does not reveal the token."""
    # compare_digest() needs bytes or ASCII, and reveals the length. So digests are compared, which all have
    # the same length.
    return hmac.compare_digest(_digest(one), _digest(other))
