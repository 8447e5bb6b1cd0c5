"""Data of the compiled loops: the packed history of pages, their state, the counts of a run.

A history holds one number per row of a change log, ``time * 2^32 + size * 4 + OPEN + NEW``. Each page begins
with its state at time 0 and ends with a row that never happens, so that loops need not check where a page
ends. Rows of the log at time 0 and beyond the end of the run are left out.

A series has a row every ``step`` units from 0, and two at the end: before and after what happens at that
moment. A row shows the state before what happens at its own moment.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from newsbot.simulator.model import (
    AVAILABLE,
    BROKEN,
    FRESH_STEP,
    GROWS,
    LAST_MOMENT,
    SHRINKS,
    TRAFFIC_STEP,
    Array,
    ChangeLog,
)
from newsbot.simulator.requirements import compiled, inlined

NEVER = LAST_MOMENT
NEW, OPEN = 1, 2
"""Bits of a row: the page has new content; the page is available."""
MAX_BYTES = 2**29
"""Sizes are below this."""
KNOWN = -1
"""Stands for a moment: the page has no unseen change."""

WAITS, WAIT_SUM, MIN_WAIT, MAX_WAIT, DOWNLOADS, FOUND = range(6)
"""Places in a tally. ``DOWNLOADS`` counts downloads of available pages that ended in time, ``FOUND`` those
of them that brought something new."""


class Steps(NamedTuple):
    """Units between two rows of the series of stale pages and downloads, and of the series of traffic."""

    fresh: int = FRESH_STEP
    traffic: int = TRAFFIC_STEP


class History(NamedTuple):
    """Packed rows; those of page p are ``starts[p]`` to ``starts[p + 1]``."""

    starts: Array
    rows: Array


class State(NamedTuple):
    """How far the history of each page has come. The arrays are changed in place."""

    rows: Array
    cursor: Array
    """The row that happens next."""
    next_time: Array
    """When that row happens."""
    last: Array
    """The last row that happened."""
    since: Array
    """The time of the first unseen change, or :data:`KNOWN`."""


class Measures(NamedTuple):
    """What a run counts. Series hold differences from the row before."""

    end: int
    steps: Steps
    stale: Array
    """Pages with an unseen change."""
    processing: Array
    """Downloads of sensors that run."""
    traffic: Array
    """Bytes, by robot (or one row for all sensors)."""
    tally: Array


def make_state(history: History) -> State:
    """Return the state at time 0: all pages available, unchanged, known."""
    first = history.starts[:-1]
    return State(
        rows=history.rows,
        cursor=first + 1,
        next_time=history.rows[first + 1] >> 32,
        last=history.rows[first],
        since=np.full(len(first), KNOWN, np.int64),
    )


def make_measures(end: int, steps: Steps, robots: int) -> Measures:
    """Return measures with all counts zero."""
    fresh, traffic = (len(row_times(end, step)) for step in steps)
    tally = np.zeros(6, np.int64)
    tally[MIN_WAIT] = np.iinfo(np.int64).max
    stale, processing = np.zeros((2, fresh), np.int64)
    return Measures(end, steps, stale, processing, np.zeros((robots, traffic), np.int64), tally)


def row_times(end: int, step: int) -> Array:
    """Return the moment of each row of a series."""
    return np.append(np.arange(0, end, step, dtype=np.int64), [end, end])


def pack(sizes: Array, log: ChangeLog, end: int) -> History:
    """Return what happens until ``end`` to pages that begin with these sizes."""
    return History(*_pack(sizes, log.starts, log.times, log.types, log.sizes, end))


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


@compiled
def _is_new(before: int, now: int) -> bool:
    """Return True if a change of type ``now`` after one of type ``before`` shows new content."""
    if now == before:
        return now in (SHRINKS, GROWS)
    return not (now == AVAILABLE and before in (SHRINKS, GROWS))


@compiled
def moment(row: int) -> int:
    """Return when a packed row happens."""
    return row >> 32


@compiled
def size_of(row: int) -> int:
    """Return the size that a packed row gives its page."""
    return (row & 0xFFFFFFFF) >> 2


@compiled
def row_after(at: int, end: int, step: int) -> int:
    """Return the first row of a series that shows what happened at the moment ``at``."""
    # A robot spends half of its time in this division; with 32 bits it takes a third of the time of 64 bits.
    row = np.uint32(min(at, end - 1)) // np.uint32(step)
    return int(row) + 1 + (at >= end)


@inlined
def apply_changes(rows: Array, measures: Measures, place: int, since: int, until: int) -> tuple[int, int]:
    """Apply the rows of a page from ``place`` on, up to and at ``until``, not beyond the end of the run.

    ``since`` is the time of the first unseen change, or :data:`KNOWN`. Return the next row and ``since``.
    """
    while moment(rows[place]) <= until:
        if rows[place] & NEW and since == KNOWN:
            since = moment(rows[place])
            measures.stale[row_after(since, measures.end, measures.steps.fresh)] += 1
        place += 1
    return place, since


@compiled
def advance(state: State, measures: Measures, page: int, until: int) -> None:
    """Apply the changes of a page up to and at ``until``."""
    place, since = apply_changes(state.rows, measures, state.cursor[page], state.since[page], until)
    state.cursor[page], state.since[page] = place, since
    state.next_time[page], state.last[page] = moment(state.rows[place]), state.rows[place - 1]


@compiled
def advance_all(state: State, measures: Measures) -> None:
    """Apply all changes until the end of the run."""
    for page in range(len(state.cursor)):
        advance(state, measures, page, measures.end)


@inlined
def mark_seen(measures: Measures, since: int, now: int) -> None:
    """Count a change of the time ``since`` that was seen at ``now``."""
    wait = now - since
    tally = measures.tally
    measures.stale[row_after(now, measures.end, measures.steps.fresh)] -= 1
    tally[WAITS] += 1
    tally[WAIT_SUM] += wait
    tally[MIN_WAIT] = min(tally[MIN_WAIT], wait)
    tally[MAX_WAIT] = max(tally[MAX_WAIT], wait)
