"""After a failed attempt: whether the page is tried again soon, and after how many seconds."""

from __future__ import annotations

from typing import Final

FIRST_DELAY: Final = 10.0


LONGEST_DELAY: Final = 3600.0


_TRIES = {
    "http_429": 5,  # it will pass, by its own words
    "timeout": 4,
    "connection": 4,
    "http_408": 4,
    "http_425": 4,
    "http_5xx": 4,
    "dns": 3,
    "refused": 3,
    "proxy": 3,
    "truncated": 3,
    "robots_unreachable": 3,
    "robots_failing": 3,
    "ours": 3,
    "tls": 2,  # mostly a certificate that nobody renews today
}
"""Attempts in all, by cause. Causes that are not here are final for the visit."""


def may_retry(cause: str | None, attempts: int) -> bool:
    """Return True if a visit that failed for ``cause`` may be tried again after ``attempts`` failed ones."""
    return cause is not None and attempts < _TRIES.get(cause, 1)


def retry_delay(attempts: int, jitter: float = 0.5) -> float:
    """Return the seconds before the next attempt after ``attempts`` failed ones (at least 1).

    Doubles from 10 s up to an hour. ``jitter`` (0 to 1, random) spreads it from half to one and a half
    times that, so that what failed together does not come back together.
    """
    doubled = FIRST_DELAY * 2.0 ** min(max(attempts, 1) - 1, 30)
    return min(doubled, LONGEST_DELAY) * (0.5 + jitter)
