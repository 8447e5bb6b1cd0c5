"""The loop of sensors on a site: a request for a changed page sends a notice, and the page is downloaded.

Events at the same time have this order: the row of a series, changes in the order of their log, queries in
the order of their log, ends of downloads, arrivals of notices. If a page is unavailable, its download has no
bytes and ends after all arrivals of that time. Pages do not influence each other, so each page is run alone.
Only the number of simultaneous downloads is counted over all pages. It is computed from the times at which
notices arrive and downloads end.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from newsbot.simulator.draws import between
from newsbot.simulator.model import MAX_LOAD, MAX_NOTICE, MIN_LOAD, MIN_NOTICE, Array, QueryLog
from newsbot.simulator.page_state import (
    DOWNLOADS,
    FOUND,
    KNOWN,
    NEVER,
    NEW,
    OPEN,
    History,
    Measures,
    apply_changes,
    mark_seen,
    moment,
    row_after,
    size_of,
)
from newsbot.simulator.requirements import compiled, inlined

_END, _ARRIVAL, _EMPTY = 0, 1, 2
"""Kinds of marks: the end of a download, the arrival of a notice, and a download without bytes.

A mark is the number ``time * 4 + kind``. So sorted marks have the right order also at equal times.
"""
Keys = tuple[np.uint64, np.uint64]


class Crawls(NamedTuple):
    """The crawls that sensors have started: notices and the downloads after them."""

    marks: Array
    """Arrivals of notices and ends of downloads. ``marks[0]`` is the number of marks; the marks follow."""
    arrivals: Array
    """Arrival times of the notices of the current page that have not arrived."""
    queries: Array
    """Rows of the query log that caused these notices."""


def run_sensors(history: History, queries: QueryLog, measures: Measures, keys: Keys) -> int:
    """Run all pages until the end of the run. Returns the largest number of simultaneous downloads.

    Draw k of the first key of ``keys`` is the duration of the notice of query k of the log, draw k of the
    second key the duration of its download.
    """
    busiest = max(1, int(np.diff(queries.starts).max(initial=0)))
    arrivals, senders = np.empty(busiest, np.int64), np.empty(busiest, np.int64)
    marks = np.empty(1 + 2 * busiest + 2 * len(history.rows), np.int64)
    marks[0] = 0
    page = 0
    while page < queries.pages:
        crawls = Crawls(marks, arrivals, senders)
        page = _run_pages(history, queries.starts, queries.times, measures, crawls, keys, page)
        if page < queries.pages:  # the array has no room for the marks of this page
            marks = np.append(marks, np.empty(len(marks), np.int64))
    used = marks[1 : marks[0] + 1]
    used.sort()
    return int(_most_at_once(used[: np.searchsorted(used, 4 * (measures.end + 1))]))


@compiled
def _run_pages(
    history: History, starts: Array, times: Array, measures: Measures, crawls: Crawls, keys: Keys, page: int
) -> int:
    """Run pages from ``page`` on, while the array has room for their marks.

    Returns the first page that was not run, or the number of pages if all pages were run.
    """
    while page < len(starts) - 1:
        first, last = starts[page], starts[page + 1]
        if crawls.marks[0] + 2 * (last - first) >= len(crawls.marks):
            return page
        _run_page(history, times[:last], measures, crawls, keys, history.starts[page] + 1, first)
        page += 1
    return page


@inlined
def _run_page(
    history: History, times: Array, measures: Measures, crawls: Crawls, keys: Keys, place: int, query: int
) -> None:
    """Run one page. ``place`` is its next row in the history, ``query`` its first query in ``times``."""
    since, pending, due = KNOWN, 0, NEVER
    while True:
        # If there is no unseen change and no notice on its way, queries have no effect. The loop then
        # continues at the next change.
        if pending == 0:
            if since == KNOWN:
                place, since = _next_change(history, measures, place)
            while query < len(times) and times[query] < since:
                query += 1
        now = int(times[query]) if query < len(times) else NEVER
        if min(now, due) > measures.end:
            break
        if due < now:
            place, since = apply_changes(history.rows, measures, place, since, due)
            row = history.rows[place - 1]
            pending, due = _arrive(measures, crawls, row, since, pending, due, keys[1])
            since = KNOWN
            continue
        if since == KNOWN:
            place, since = apply_changes(history.rows, measures, place, since, now)
        if since != KNOWN:
            arrival = now + between(keys[0], query, MIN_NOTICE, MAX_NOTICE)
            crawls.arrivals[pending], crawls.queries[pending] = arrival, query
            pending, due = pending + 1, min(due, arrival)
        query += 1
    apply_changes(history.rows, measures, place, since, measures.end)


@inlined
def _next_change(history: History, measures: Measures, place: int) -> tuple[int, int]:
    """Return the row after the next change with new content, and the time of this change.

    The time is NEVER if there is no such change.
    """
    while not history.rows[place] & NEW:
        place += 1
    since = moment(history.rows[place])
    if since == NEVER:
        return place, since
    measures.stale[row_after(since, measures.end, measures.steps.fresh)] += 1
    return place + 1, since


@inlined
def _arrive(
    measures: Measures, crawls: Crawls, row: int, since: int, pending: int, now: int, load_key: np.uint64
) -> tuple[int, int]:
    """Let the notices of the current page arrive that are due now. ``row`` is the state of the page.

    Returns the number of notices that have not arrived, and the time of the next arrival.
    """
    end, steps = measures.end, measures.steps
    left, due, count = 0, NEVER, crawls.marks[0]
    for place in range(pending):
        arrival, query = crawls.arrivals[place], crawls.queries[place]
        if arrival != now:
            crawls.arrivals[left], crawls.queries[left] = arrival, query
            left, due = left + 1, min(due, arrival)
            continue
        # Several notices can report the same change. Only the first one finds something new.
        found = since != KNOWN
        if found:
            mark_seen(measures, since, now)
            since = KNOWN
        if not row & OPEN:
            count += 1
            crawls.marks[count] = now * 4 + _EMPTY
            continue
        done = now + between(load_key, query, MIN_LOAD, MAX_LOAD)
        crawls.marks[count + 1], crawls.marks[count + 2] = now * 4 + _ARRIVAL, done * 4 + _END
        count += 2
        measures.processing[row_after(now, end, steps.fresh)] += 1
        if done <= end:
            measures.processing[row_after(done, end, steps.fresh)] -= 1
            measures.traffic[0, row_after(done, end, steps.traffic)] += size_of(row)
            measures.tally[DOWNLOADS] += 1
            measures.tally[FOUND] += found
    crawls.marks[0] = count
    return left, due


@compiled
def _most_at_once(marks: Array) -> int:
    """Return the largest number of simultaneous downloads. ``marks`` must be sorted."""
    running, empty, most, before = 0, 0, 0, -1
    for mark in marks:
        if mark >> 2 != before:
            before = mark >> 2
            empty = 0
        what = mark & 3
        # Downloads without bytes take no time, so they count only at their own time.
        running += (what == _ARRIVAL) - (what == _END)
        empty += what == _EMPTY
        most = max(most, running + empty)
    return most
