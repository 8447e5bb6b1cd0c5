"""When sources are polled again: what all policies share.

A policy works on arrays, one row for each source, so that the crawler (one row at a time) and the simulator
(thousands in a step) run the same object. Nothing here does I/O, and the present moment is passed in.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Rows = NDArray[np.intp]

HOUR: Final = 3600.0
DAY: Final = 24 * HOUR
SHORTEST: Final = 300.0
"""Seconds; no policy polls a source sooner."""
LONGEST: Final = 6 * HOUR
"""Seconds; no source is older, so that an item is found within 12 hours even if one poll is missed."""


@dataclass(frozen=True, slots=True)
class Polled:
    """Good answers of some sources, one of each."""

    rows: Rows
    """Which sources."""
    at: Array
    """POSIX seconds."""
    new: Array
    """Items that were not known before."""
    shown: Array
    """Items that the source shows at once; 0: not known."""


class PollPolicy(Protocol):
    """Decides from counts of new items when each source is polled next.

    It keeps what it has learned of the sources; the same polls in the same order give the same answers.
    """

    def next_polls(self, polled: Polled) -> Array:
        """Learn from polls; return when each of these sources is wanted again, in POSIX seconds."""

    def spend(self, requests: float, hours: float) -> None:
        """Learn how many requests all sources took in the last ``hours``, so as to meet a budget."""


def no_rows(count: int, *more: int) -> Array:
    """Return zeros for ``count`` sources."""
    return np.zeros((count, *more))


def rounded(values: Any) -> Any:
    """Return a number or (nested) list of numbers with what is worth keeping of them: 5 digits."""
    if isinstance(values, list):
        return [rounded(value) for value in values]
    return float(f"{values:.5g}")
