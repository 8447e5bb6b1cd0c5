"""Limits for foreign code that reads a page: its CPU time is limited, and it has no network."""

from __future__ import annotations

import signal
import socket
from collections.abc import Callable
from types import FrameType
from typing import Any, NoReturn
from unittest.mock import patch

CPU_SECONDS = 20.0
AGAIN = 1.0
"""Seconds until the next attempt if the code swallowed the exception."""


class TooSlow(BaseException):
    """The limit was exceeded. This is not an ``Exception``, because extractors catch exceptions and
    continue."""


def bounded(
    extract: Callable[[bytes, str], dict[str, Any]], seconds: float = CPU_SECONDS
) -> Callable[[bytes, str], dict[str, Any]]:
    """Return ``extract`` with a limit of CPU time per page; it raises :class:`TooSlow`.

    It works in the main thread only. The network is blocked: an extractor that fetches pictures of the site
    would wait for it.
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
