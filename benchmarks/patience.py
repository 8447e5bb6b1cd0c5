"""Bounds for what others' code may do with one page: so much CPU time, and no network."""

from __future__ import annotations

import signal
import socket
from collections.abc import Callable
from types import FrameType
from typing import Any, NoReturn
from unittest.mock import patch

CPU_SECONDS = 20.0
AGAIN = 1.0
"""Seconds until the next attempt where code swallowed the first."""


class TooSlow(BaseException):
    """Not an ``Exception``: extractors catch those and go on."""


def bounded(
    extract: Callable[[bytes, str], dict[str, Any]], seconds: float = CPU_SECONDS
) -> Callable[[bytes, str], dict[str, Any]]:
    """Return ``extract`` with a bound of CPU time a page; it raises :class:`TooSlow`. For the main thread.

    It meets no network: a page is a page, and who asks its site for pictures would wait for that.
    """

    def patient(html: bytes, url: str) -> dict[str, Any]:
        before = signal.signal(signal.SIGPROF, _stop)
        signal.setitimer(signal.ITIMER_PROF, seconds, AGAIN)
        try:
            with patch.object(socket.socket, "connect", _no_network):
                return extract(html, url)
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
            signal.signal(signal.SIGPROF, before)

    return patient


def _no_network(*_: object) -> NoReturn:
    raise OSError("no network in a benchmark")


def _stop(_: int, __: FrameType | None) -> None:
    raise TooSlow(f"over {CPU_SECONDS:.0f} seconds of CPU")
