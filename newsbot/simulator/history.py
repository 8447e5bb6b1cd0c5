"""A change log packed for the loops: one number a row, ready for every strategy of a field.

The number is ``time * 2^32 + size * 4``, and 2 if available, and 1 if there is something new to see. Each
page begins with its state at the start (time 0) and ends with something new that never happens, so that
loops need not look where a page ends. Rows of the log at time 0 and beyond the end are left out: they
never happen.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from newsbot.simulator.compiled import compiled
from newsbot.simulator.model import AVAILABLE, BROKEN, GROWS, SHRINKS, Array, ChangeLog

NEVER = 2**31 - 1
NEW, OPEN = 1, 2
"""Bits of a row: there is something new to see; the page is available."""
MAX_BYTES = 2**29
"""Sizes are below this."""


class History(NamedTuple):
    """Packed rows; those of page p are ``starts[p]`` to ``starts[p + 1]``."""

    starts: Array
    rows: Array


def pack(sizes: Array, log: ChangeLog, end: int) -> History:
    """Return what happens to pages of these sizes until ``end``."""
    starts, rows = _pack(sizes, log.starts, log.times, log.types, log.sizes, end)
    return History(starts, rows)


@compiled
def moment(row: int) -> int:
    """Return when a packed row happens."""
    return row >> 32


@compiled
def size_of(row: int) -> int:
    """Return the size that a packed row gives its page."""
    return (row & 0xFFFFFFFF) >> 2


@compiled
def _is_new(before: int, now: int) -> bool:
    """Return True if a page whose last type was ``before`` has something new to see after ``now``."""
    if now == before:
        return now in (SHRINKS, GROWS)
    return not (now == AVAILABLE and before in (SHRINKS, GROWS))


@compiled
def _pack(
    sizes: Array, starts: Array, times: Array, types: Array, row_sizes: Array, end: int
) -> tuple[Array, Array]:
    pages = len(sizes)
    packed_starts = np.zeros(pages + 1, np.int64)
    packed = np.empty(len(times) + 2 * pages, np.int64)
    place = 0
    for page in range(pages):
        packed[place] = int(sizes[page]) * 4 + OPEN
        place += 1
        before = AVAILABLE
        for row in range(starts[page], starts[page + 1]):
            time, now = int(times[row]), int(types[row])
            if 0 < time <= end:
                flags = OPEN * (now > BROKEN) + NEW * _is_new(before, now)
                packed[place] = (time << 32) + int(row_sizes[row]) * 4 + flags
                place += 1
                before = now
        packed[place] = (NEVER << 32) + NEW
        place += 1
        packed_starts[page + 1] = place
    return packed_starts, packed[:place]
