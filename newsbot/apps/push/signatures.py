"""Creates and checks the signatures of notices, and remembers recent notices.

A hub signs the content with HMAC (WebSub, section 8: ``X-Hub-Signature: method=hex``). A sensor of newsbot
signs time and body: ``X-Newsbot-Signature: t=<POSIX seconds>,sha256=<hex>`` over ``<t>.<body>``. The signed
time limits the replay of a recorded notice to a few minutes. Signatures are compared in constant time.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections import OrderedDict

from newsbot.clock import Clock

STRENGTHS = ("sha1", "sha256", "sha384", "sha512")
"""The signature methods of WebSub, the weakest first."""
TOLERANCE = 300.0
"""Seconds by which the clocks of a sensor and of this machine may differ."""

_HUB = re.compile(r"(sha1|sha256|sha384|sha512)=([0-9a-fA-F]{40,128})")
_NOTICE = re.compile(r"t=([0-9]{1,12}),sha256=([0-9a-fA-F]{64})")


def sign(method: str, secret: bytes, body: bytes) -> str:
    """Return the HMAC (RFC 2104) of ``body`` in hexadecimal; ``method`` is one of :data:`STRENGTHS`."""
    return hmac.new(secret, body, getattr(hashlib, method)).hexdigest()


def hub_method(header: str, secret: str, body: bytes, *, at_least: str = STRENGTHS[0]) -> str | None:
    """Return the signature method if the header of a hub contains a valid signature of ``body``, or None.

    A method weaker than ``at_least`` is not accepted. After a hub has used a strong method, an attacker must
    not be able to use a weaker one.
    """
    found = _HUB.fullmatch(header.strip())
    if found is None or STRENGTHS.index(found[1]) < STRENGTHS.index(at_least):
        return None
    # The duration of compare_digest() does not depend on the position of the first difference, so it does not
    # reveal the right signature.
    right = hmac.compare_digest(sign(found[1], secret.encode(), body), found[2].lower())
    return found[1] if right else None


def notice_header(secret: str, body: bytes, now: float) -> str:
    """Return the header ``X-Newsbot-Signature`` for a notice that is sent at ``now`` (POSIX seconds)."""
    moment = str(int(now))
    return f"t={moment},sha256={sign('sha256', secret.encode(), _dated(moment, body))}"


def genuine_notice(header: str, secret: str, body: bytes, now: float) -> str | None:
    """Return an identifier of a sensor's notice if its signature and its time are valid, or None.

    The time must be within :data:`TOLERANCE` of ``now`` (POSIX seconds). The identifier does not depend on
    the spelling of the header, so that :class:`SeenOnce` recognises every repetition.
    """
    found = _NOTICE.fullmatch(header.strip())
    if found is None or abs(now - int(found[1])) > TOLERANCE:
        return None
    digest = sign("sha256", secret.encode(), _dated(found[1], body))
    return f"{int(found[1])} {digest}" if hmac.compare_digest(digest, found[2].lower()) else None


def _dated(moment: str, body: bytes) -> bytes:
    return moment.encode() + b"." + body


MAX_SEEN = 100_000
"""Maximum number of keys that are remembered."""


class SeenOnce:
    """Remembers at most :data:`MAX_SEEN` keys, each for ``seconds``.

    The oldest keys are dropped first.
    """

    def __init__(self, seconds: float, clock: Clock) -> None:
        self._seconds = seconds
        self._clock = clock
        self._seen: OrderedDict[bytes, float] = OrderedDict()

    def is_new(self, key: bytes) -> bool:
        """Remember ``key``. Return True if it was not remembered before."""
        self._forget()
        if key in self._seen:
            return False
        self._seen[key] = self._clock() + self._seconds
        return True

    def knows(self, key: bytes) -> bool:
        """Return True if ``key`` is remembered."""
        self._forget()
        return key in self._seen

    def _forget(self) -> None:
        now = self._clock()
        while self._seen:
            until = next(iter(self._seen.values()))
            # A key that would be kept longer than a new key was stored while the clock was ahead. It is
            # dropped too.
            if len(self._seen) < MAX_SEEN and now < until <= now + self._seconds:
                break
            self._seen.popitem(last=False)
