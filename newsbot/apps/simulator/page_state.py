"""The data of the compiled loops: the packed history of pages, their state, and the counters of a run.

A history has one number per row of a change log, ``time * 2^32 + size * 4 + OPEN + NEW``. The first row of a
page is its state at time 0. The last row has the time :data:`NEVER`, so that loops need not check where a
page ends. Rows of the log at time 0 and beyond the end of the run are left out.

A change is *seen* when a robot or sensor detects it. A page with an unseen change is *stale*.

A series has a row every ``step`` units, beginning at 0. Each row shows the state before the events at the
time of the row. For the end of the run there are two rows: the state before the events at this time, and the
state after them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from newsbot.apps.simulator.model import (
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
from newsbot.apps.simulator.requirements import compiled, inlined

NEVER = LAST_MOMENT
"""Time of an event that does not happen."""
NEW, OPEN = 1, 2
"""Bits of a row. ``NEW``: the page has new content. ``OPEN``: the page is available."""
MAX_BYTES = 2**29
"""All sizes of pages in bytes are below this number."""
KNOWN = -1
"""The value of ``since`` for a page without an unseen change."""

WAITS, WAIT_SUM, MIN_WAIT, MAX_WAIT, DOWNLOADS, FOUND = range(6)
"""Indexes in :attr:`Measures.tally`.

The first four are the number of seen changes, and the sum, the minimum and the maximum of the times until
these changes were seen. ``DOWNLOADS`` counts downloads of available pages that ended before the end of the
run. ``FOUND`` counts the downloads among them that brought new content.
"""


class Steps(NamedTuple):
    """Units of time between two rows of a series: for stale pages and downloads, and for traffic."""

    fresh: int
    traffic: int


FULL_STEPS = Steps(FRESH_STEP, TRAFFIC_STEP)
"""The steps of the published experiment."""


class History(NamedTuple):
    """Packed rows. The rows of page p are ``starts[p]`` to ``starts[p + 1]`` (excluded)."""

    starts: Array
    rows: Array


class State(NamedTuple):
    """The position of each page in its history. The arrays are changed in place."""

    rows: Array
    cursor: Array
    """Index of the next row, for each page."""
    next_time: Array
    """Time of the next row of each page. It is stored separately because a loop reads it at each visit."""
    last: Array
    """The last applied row of each page. It describes the current state of the page."""
    since: Array
    """The time of the first unseen change of each page, or :data:`KNOWN`."""


class Measures(NamedTuple):
    """The counters of a run.

    During the run, a row of a series contains only the difference from the previous row. At the end, the
    differences are added up.
    """

    end: int
    """Length of the run in units."""
    steps: Steps
    stale: Array
    """Series of the number of pages with an unseen change."""
    processing: Array
    """Series of the number of running downloads of sensors."""
    traffic: Array
    """Series of downloaded bytes: one for each robot, or one for all sensors."""
    tally: Array
    """Numbers at the indexes :data:`WAITS` to :data:`FOUND`."""


def make_state(history: History) -> State:
    """Return the state at time 0: all pages are available, unchanged and known."""
    first = history.starts[:-1]
    return State(
        rows=history.rows,
        cursor=first + 1,
        next_time=history.rows[first + 1] >> 32,
        last=history.rows[first],
        since=np.full(len(first), KNOWN, np.int64),
    )


def make_measures(end: int, steps: Steps, robots: int) -> Measures:
    """Return counters that are all zero."""
    fresh, traffic = (len(row_times(end, step)) for step in steps)
    tally = np.zeros(6, np.int64)
    tally[MIN_WAIT] = np.iinfo(np.int64).max  # the first minimum replaces it
    stale, processing = np.zeros((2, fresh), np.int64)
    return Measures(end, steps, stale, processing, np.zeros((robots, traffic), np.int64), tally)


def row_times(end: int, step: int) -> Array:
    """Return the time of each row of a series."""
    return np.append(np.arange(0, end, step, dtype=np.int64), [end, end])


def pack(sizes: Array, log: ChangeLog, end: int) -> History:
    """Return the history of pages with these initial sizes, up to the time ``end``."""
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
                # Types of changes up to BROKEN make the page unavailable.
                flags = OPEN * (now > BROKEN) + NEW * _is_new(before, now)
                packed[place] = (time << 32) + int(row_sizes[row]) * 4 + flags
                place += 1
                before = now
        # The row with the time NEVER ends the page.
        packed[place] = (NEVER << 32) + NEW
        place += 1
        packed_starts[page + 1] = place
    return packed_starts, packed[:place]


@compiled
def _is_new(before: int, now: int) -> bool:
    """Return True if a change of type ``now`` after a change of type ``before`` brings new content.

    ``AVAILABLE`` after a change of size brings nothing new, because the page was available already. A change
    from available to unavailable, or back, counts as new content.
    """
    if now == before:
        return now in (SHRINKS, GROWS)
    return not (now == AVAILABLE and before in (SHRINKS, GROWS))


@compiled
def moment(row: int) -> int:
    """Return the time of a packed row."""
    return row >> 32


@compiled
def size_of(row: int) -> int:
    """Return the size of the page in a packed row."""
    return (row & 0xFFFFFFFF) >> 2


@compiled
def row_after(at: int, end: int, step: int) -> int:
    """Return the index of the first row of a series that shows an event at the time ``at``."""
    # This division takes half of the time of a robot's loop. With 32 bits it is three times as fast as with
    # 64 bits.
    row = np.uint32(min(at, end - 1)) // np.uint32(step)
    # 1 is added, because a row shows the state before the events at its time. Only the last row shows the
    # events at the end of the run.
    return int(row) + 1 + (at >= end)


@inlined
def apply_changes(rows: Array, measures: Measures, place: int, since: int, until: int) -> tuple[int, int]:
    """Apply the changes of a page from row ``place`` on, up to and including the time ``until``.

    ``since`` is the time of the first unseen change, or :data:`KNOWN`. Returns the index of the next row and
    the new value of ``since``. ``until`` must not be beyond the end of the run.
    """
    while moment(rows[place]) <= until:
        if rows[place] & NEW and since == KNOWN:
            since = moment(rows[place])
            measures.stale[row_after(since, measures.end, measures.steps.fresh)] += 1
        place += 1
    return place, since


@compiled
def advance(state: State, measures: Measures, page: int, until: int) -> None:
    """Apply the changes of a page up to and including the time ``until``."""
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
    """Count a change that happened at the time ``since`` and was seen at ``now``."""
    wait = now - since
    tally = measures.tally
    measures.stale[row_after(now, measures.end, measures.steps.fresh)] -= 1
    tally[WAITS] += 1
    tally[WAIT_SUM] += wait
    tally[MIN_WAIT] = min(tally[MIN_WAIT], wait)
    tally[MAX_WAIT] = max(tally[MAX_WAIT], wait)
