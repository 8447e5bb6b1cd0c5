"""The loop of a robot, which visits its pages in turn. A modified robot sends a HEAD request before a GET.

Events at the same time have this order: the row of a series, changes of pages in the order of the log, steps
of robots. A visit of an unavailable page takes no time, so a robot would loop for ever if all its pages are
unavailable. After such a round, which counts as a cycle, the robot waits until a page becomes available.
"""

from __future__ import annotations

import numpy as np

from newsbot.simulator.draws import between
from newsbot.simulator.model import MAX_LOAD, MAX_NOTICE, MIN_LOAD, MIN_NOTICE, Array
from newsbot.simulator.page_state import (
    DOWNLOADS,
    FOUND,
    KNOWN,
    NEVER,
    OPEN,
    Measures,
    State,
    advance,
    mark_seen,
    moment,
    row_after,
    size_of,
)
from newsbot.simulator.requirements import compiled


@compiled
def run_robot(  # noqa: C901  # one loop: a call for each visit would take longer than the visit
    state: State,
    measures: Measures,
    traffic: Array,
    route: Array,
    keys: tuple[np.uint64, np.uint64],
    modified: bool,
) -> int:
    """Let one robot repeat its route until the end of the run. Returns the number of its complete cycles.

    The bytes of its downloads are added to ``traffic``. Draw k of the first key of ``keys`` is the duration
    of the HEAD request of visit k, draw k of the second key the duration of its download.
    """
    next_time, last, since, tally = state.next_time, state.last, state.since, measures.tally
    head_key, load_key = keys
    end = measures.end
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
                advance(state, measures, page, now)
            if (not modified or since[page] != KNOWN) and last[page] & OPEN:
                size = size_of(last[page])
                now += between(load_key, visit, MIN_LOAD, MAX_LOAD)
                if now > end:
                    return cycles
                # If the page changed during the download, the download brings the new content. But its size
                # is the size that the page had at the start of the download.
                if next_time[page] <= now:
                    advance(state, measures, page, now)
                traffic[row_after(now, end, measures.steps.traffic)] += size
                tally[DOWNLOADS] += 1
                tally[FOUND] += since[page] != KNOWN
            if since[page] != KNOWN:
                mark_seen(measures, since[page], now)
                since[page] = KNOWN
            visit += 1
        cycles += 1
        if now == began:  # no page was available
            now = _next_open(state, route)
            if now > end:
                return cycles
    return cycles


@compiled
def _next_open(state: State, route: Array) -> int:
    """Return the time at which a page of a route becomes available again.

    All its pages are unavailable now.
    """
    first = NEVER
    for number in range(len(route)):
        place = state.cursor[route[number]]
        while moment(state.rows[place]) < first:
            now = moment(state.rows[place])
            # If several rows have the same time, only the last one counts. An earlier row of that time makes
            # the page available for no time at all.
            if state.rows[place] & OPEN and moment(state.rows[place + 1]) > now:
                first = now
            place += 1
    return first
