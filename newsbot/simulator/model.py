"""What the experiment of 2005 is made of: pages, their changes, queries of them.

Times are whole units of 100 ms, sizes are bytes. A log keeps its rows sorted by page and then by time;
the rows of page p are ``starts[p]`` to ``starts[p + 1]``. Rows at time 0 and rows beyond the end of a
run are kept, but never happen.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

MIN_SIZE, MAX_SIZE = 65, 122_880
"""Bytes of a page, at the start of a run and after changes."""
MIN_LOAD, MAX_LOAD = 1, 40
"""Units that a download takes."""
MIN_NOTICE, MAX_NOTICE = 1, 3
"""Units that a HEAD request or a sensor's notice takes."""
FRESH_STEP = 5_000
"""Units between two rows of stale pages and of downloads that run."""
TRAFFIC_STEP = 10_000
"""Units between two rows of traffic."""
MAX_TIME = 10**9
"""Longest run in units, some three years: times are kept in 32 bits."""

FORBIDDEN, GONE, BROKEN, SHRINKS, GROWS, AVAILABLE = 1, 2, 3, 4, 5, 6
"""Types of change: 403, 404 and 500 make a page unavailable, 4 to 6 available; 4 and 5 change its size."""

FREQUENCIES = {
    "published": (0.083, 0.125, 0.125, 0.167, 0.25, 0.25),
    "printed": (0.083, 0.125, 0.125, 0.25, 0.25, 0.167),
}
"""How often each type occurs. Only the first reproduces the published figures; the other is what the
text prints (types 4 and 6 exchanged)."""


@dataclass(frozen=True, slots=True)
class Situation:
    """One field of the plan: ``pages``, ``time`` in units, changes and queries a page in that time."""

    index: int
    pages: int
    time: int
    change: int
    query: int


@dataclass(frozen=True, slots=True)
class ChangeLog:
    """What happened to the pages."""

    starts: Array
    times: Array
    types: Array
    sizes: Array
    """Size of the page from this change on, also while it is unavailable."""

    @property
    def pages(self) -> int:
        """Number of pages."""
        return len(self.starts) - 1

    @property
    def rows(self) -> int:
        """Number of rows, those that never happen too."""
        return len(self.times)


@dataclass(frozen=True, slots=True)
class QueryLog:
    """When each page was asked for."""

    starts: Array
    times: Array

    @property
    def pages(self) -> int:
        """Number of pages."""
        return len(self.starts) - 1

    @property
    def rows(self) -> int:
        """Number of rows, those that never happen too."""
        return len(self.times)


@dataclass(frozen=True, slots=True)
class Routes:
    """In which order robots visit pages: robot r takes ``pages[starts[r]:starts[r + 1]]`` again and again."""

    starts: Array
    pages: Array

    @property
    def robots(self) -> int:
        """Number of robots."""
        return len(self.starts) - 1


def make_routes(pages: int, robots: int) -> Routes:
    """Return pages in order, split into contiguous parts of about equal size."""
    starts = np.array([pages * robot // robots for robot in range(robots + 1)], dtype=np.int64)
    return Routes(starts, np.arange(pages, dtype=np.int32))
