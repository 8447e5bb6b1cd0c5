"""What is known of the pages while robots go round, and what a run counts."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from newsbot.simulator.compiled import compiled, inlined
from newsbot.simulator.history import NEW, History, moment
from newsbot.simulator.model import Array
from newsbot.simulator.series import count_rows, row_after

KNOWN = -1
"""Instead of the start of waiting: nothing of the page waits to be seen."""

WAITS, WAIT_SUM, MIN_WAIT, MAX_WAIT, DOWNLOADS, FOUND = range(6)
"""Places in a tally. Downloads are those of available pages that ended in time; found are those of them
that brought something new."""


class Measures(NamedTuple):
    """What a run writes down."""

    stale: Array
    """Of each row of the series, how many pages more than at the row before wait to be seen."""
    tally: Array
    traffic: Array
    """Of each robot (or of all sensors) and each row of the series, the bytes since the row before."""


class State(NamedTuple):
    """Of each page, how far its history went. Changed in place."""

    rows: Array
    cursor: Array
    """The row that happens next."""
    next_time: Array
    """When that row happens."""
    last: Array
    """The last row that happened."""
    since: Array
    """The first change that nobody has seen, or :data:`KNOWN`."""


def make_measures(end: int, steps: tuple[int, int], robots: int) -> Measures:
    """Return measures of which all counts are zero."""
    tally = np.zeros(6, np.int64)
    tally[MIN_WAIT] = np.iinfo(np.int64).max
    return Measures(
        stale=np.zeros(count_rows(end, steps[0]), np.int64),
        tally=tally,
        traffic=np.zeros((robots, count_rows(end, steps[1])), np.int64),
    )


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


@compiled
def advance(state: State, stale: Array, page: int, until: int, end: int, step: int) -> None:
    """Let happen what happens to a page up to and at ``until``, which is not beyond ``end``."""
    place, since = state.cursor[page], state.since[page]
    row = state.rows[place]
    while moment(row) <= until:
        if row & NEW and since == KNOWN:
            since = moment(row)
            stale[row_after(since, end, step)] += 1
        place += 1
        row = state.rows[place]
    state.cursor[page], state.since[page] = place, since
    state.next_time[page], state.last[page] = moment(row), state.rows[place - 1]


@inlined
def settle(measures: Measures, since: int, now: int, end: int, step: int) -> None:
    """Count that a change that waited since ``since`` was seen."""
    wait = now - since
    tally = measures.tally
    measures.stale[row_after(now, end, step)] -= 1
    tally[WAITS] += 1
    tally[WAIT_SUM] += wait
    tally[MIN_WAIT] = min(tally[MIN_WAIT], wait)
    tally[MAX_WAIT] = max(tally[MAX_WAIT], wait)


@compiled
def advance_all(state: State, stale: Array, end: int, step: int) -> None:
    """Let happen what is left to happen to all pages."""
    for page in range(len(state.cursor)):
        advance(state, stale, page, end, end, step)
