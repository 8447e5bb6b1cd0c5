"""Robots that go round their pages, and modified ones that ask with HEAD first.

At one instant: first the row of a series, then changes of pages in the order of the log, then steps of
robots. A robot that finds all pages of its route unavailable would go round in no time for ever; after
such a round, which counts as a cycle, it rests until one of them becomes available.
"""

from __future__ import annotations

import numpy as np

from newsbot.simulator.compiled import compiled
from newsbot.simulator.draws import between
from newsbot.simulator.history import NEVER, OPEN, moment, size_of
from newsbot.simulator.model import MAX_LOAD, MAX_NOTICE, MIN_LOAD, MIN_NOTICE, Array
from newsbot.simulator.pagestate import (
    DOWNLOADS,
    FOUND,
    KNOWN,
    Measures,
    State,
    advance,
    settle,
)
from newsbot.simulator.series import row_after


@compiled
def run_robot(  # noqa: C901  # one loop: a call for each visit would take longer than the visit
    state: State,
    measures: Measures,
    traffic: Array,
    route: Array,
    keys: tuple[np.uint64, np.uint64],
    end: int,
    steps: tuple[int, int],
    modified: bool,
) -> int:
    """Send one robot round its route until ``end``; return its whole cycles.

    ``traffic`` gets the robot's bytes in each row of the series. Draw k of the first of ``keys`` is the
    time of the k-th visit's HEAD, of the second that of its download. ``steps`` are the units between two
    rows of the stale pages and of the traffic.
    """
    next_time, last, since, tally = state.next_time, state.last, state.since, measures.tally
    head_key, load_key = keys
    fresh_step, traffic_step = steps
    now, visit, cycles = 0, 0, 0
    while len(route):
        began = now
        for place in range(len(route)):
            page = int(route[place])
            if modified:
                now += between(head_key, visit, MIN_NOTICE, MAX_NOTICE)
                if now > end:
                    return cycles
            if next_time[page] <= now:
                advance(state, measures.stale, page, now, end, fresh_step)
            if (not modified or since[page] != KNOWN) and last[page] & OPEN:
                size = size_of(last[page])
                now += between(load_key, visit, MIN_LOAD, MAX_LOAD)
                if now > end:
                    return cycles
                if next_time[page] <= now:
                    advance(state, measures.stale, page, now, end, fresh_step)
                traffic[row_after(now, end, traffic_step)] += size
                tally[DOWNLOADS] += 1
                tally[FOUND] += since[page] != KNOWN
            if since[page] != KNOWN:
                settle(measures, since[page], now, end, fresh_step)
                since[page] = KNOWN
            visit += 1
        cycles += 1
        if now == began:
            now = _next_open(state, route)
            if now > end:
                return cycles
    return cycles


@compiled
def _next_open(state: State, route: Array) -> int:
    """Return when the first of the pages, which are all unavailable now, becomes available."""
    first = NEVER
    for number in range(len(route)):
        place = state.cursor[route[number]]
        while moment(state.rows[place]) < first:
            now = moment(state.rows[place])
            if state.rows[place] & OPEN and moment(state.rows[place + 1]) > now:  # the last of its instant
                first = now
            place += 1
    return first
