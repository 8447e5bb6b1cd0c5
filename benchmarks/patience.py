"""A bound for what others' code may take for one page, also where it catches every exception."""

from __future__ import annotations

import signal
from collections.abc import Callable
from types import FrameType
from typing import Any

CPU_SECONDS = 20.0
AGAIN = 1.0
"""Seconds until the next attempt where code swallowed the first."""


class TooSlow(BaseException):
    """Not an ``Exception``: extractors catch those and go on."""


def bounded(
    extract: Callable[[bytes, str], dict[str, Any]], seconds: float = CPU_SECONDS
) -> Callable[[bytes, str], dict[str, Any]]:
    """Return ``extract`` with a bound of CPU time a page; it raises :class:`TooSlow`. For the main thread."""

    def patient(html: bytes, url: str) -> dict[str, Any]:
        before = signal.signal(signal.SIGPROF, _stop)
        signal.setitimer(signal.ITIMER_PROF, seconds, AGAIN)
        try:
            return extract(html, url)
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
            signal.signal(signal.SIGPROF, before)

    return patient


def _stop(_: int, __: FrameType | None) -> None:
    raise TooSlow(f"over {CPU_SECONDS:.0f} seconds of CPU")
