"""Sensors on the site: a query of a changed page calls the crawler to it.

At one instant: first the row of a series, then changes in the order of the log, then queries in the order
of their log, then ends of downloads, then arrivals of notices; a download of no bytes (page unavailable)
ends after all arrivals of its instant. Pages do not wait for each other, so each is run alone; only the
number of downloads at one time is counted over all of them, from the moments of their ends and arrivals.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from newsbot.simulator.compiled import compiled, inlined
from newsbot.simulator.draws import between
from newsbot.simulator.history import NEVER, NEW, OPEN, History, moment, size_of
from newsbot.simulator.model import MAX_LOAD, MAX_NOTICE, MIN_LOAD, MIN_NOTICE, Array, QueryLog
from newsbot.simulator.pagestate import DOWNLOADS, FOUND, KNOWN, Measures, settle
from newsbot.simulator.series import row_after

_END, _ARRIVAL, _EMPTY = 0, 1, 2
"""What a mark ``moment * 4 + what`` stands for, in the order at one instant."""


class Crawls(NamedTuple):
    """What crawls that sensors started leave behind."""

    processing: Array
    """Of each row of the series, the downloads more than at the row before."""
    marks: Array
    """Moments of arrivals and ends. ``marks[0]`` is their number, they stand after it."""
    arrivals: Array
    """Notices under way of the page at hand: when they arrive."""
    queries: Array
    """And the rows of the query log that sent them."""


def run_sensors(
    history: History,
    queries: QueryLog,
    measures: Measures,
    processing: Array,
    keys: tuple[np.uint64, np.uint64],
    end: int,
    steps: tuple[int, int],
) -> int:
    """Run all pages until ``end``; return the most downloads at one time.

    ``processing`` gets, of each row of the series, the downloads more than at the row before. Draw k of the
    first of ``keys`` is the time of the notice of query k of the log, of the second that of its download.
    """
    busiest = max(1, int(np.diff(queries.starts).max(initial=0)))
    arrivals, senders = np.empty(busiest, np.int64), np.empty(busiest, np.int64)
    marks = np.empty(1 + 2 * busiest + 2 * len(history.rows), np.int64)
    marks[0] = 0
    page = 0
    while page < queries.pages:
        crawls = Crawls(processing, marks, arrivals, senders)
        page = _run_pages(history, queries.starts, queries.times, measures, crawls, keys, end, steps, page)
        if page < queries.pages:
            marks = np.append(marks, np.empty(len(marks), np.int64))
    used = marks[1 : marks[0] + 1]
    used.sort()
    return int(_most_at_once(used[: np.searchsorted(used, 4 * (end + 1))]))


@compiled
def _run_pages(
    history: History,
    query_starts: Array,
    query_times: Array,
    measures: Measures,
    crawls: Crawls,
    keys: tuple[np.uint64, np.uint64],
    end: int,
    steps: tuple[int, int],
    page: int,
) -> int:
    """Run pages from ``page`` on; return the first that was not run because its marks might lack room."""
    while page < len(query_starts) - 1:
        first, last = query_starts[page], query_starts[page + 1]
        if crawls.marks[0] + 2 * (last - first) >= len(crawls.marks):
            return page
        _run_page(history, query_times, measures, crawls, keys, end, steps, history.starts[page], first, last)
        page += 1
    return page


@inlined
def _run_page(
    history: History,
    query_times: Array,
    measures: Measures,
    crawls: Crawls,
    keys: tuple[np.uint64, np.uint64],
    end: int,
    steps: tuple[int, int],
    start: int,
    query: int,
    last: int,
) -> None:
    """Run the page whose history begins in row ``start``, with queries from ``query`` to before ``last``."""
    place, since, pending, due = start + 1, KNOWN, 0, NEVER
    while True:
        if pending == 0:
            if since == KNOWN:
                place, since = _next_change(history, measures, place, end, steps[0])
            while query < last and query_times[query] < since:
                query += 1
        now = int(query_times[query]) if query < last else NEVER
        if min(now, due) > end:
            break
        if due < now:
            place, since = _advance(history, measures, place, since, due, end, steps[0])
            row = history.rows[place - 1]
            pending, due = _arrive(measures, crawls, row, since, pending, due, keys[1], end, steps)
            since = KNOWN
            continue
        if since == KNOWN:
            place, since = _advance(history, measures, place, since, now, end, steps[0])
        if since != KNOWN:
            arrival = now + between(keys[0], query, MIN_NOTICE, MAX_NOTICE)
            crawls.arrivals[pending], crawls.queries[pending] = arrival, query
            pending, due = pending + 1, min(due, arrival)
        query += 1
    _advance(history, measures, place, since, end, end, steps[0])


@inlined
def _next_change(history: History, measures: Measures, place: int, end: int, step: int) -> tuple[int, int]:
    """Go on to the next thing that is new to see; return the row after it, and its moment."""
    while not history.rows[place] & NEW:
        place += 1
    since = moment(history.rows[place])
    if since == NEVER:
        return place, since
    measures.stale[row_after(since, end, step)] += 1
    return place + 1, since


@inlined
def _advance(
    history: History, measures: Measures, place: int, since: int, until: int, end: int, step: int
) -> tuple[int, int]:
    """Let happen what happens up to and at ``until``; return the row after, and since when a change waits."""
    row = history.rows[place]
    while moment(row) <= until:
        if row & NEW and since == KNOWN:
            since = moment(row)
            measures.stale[row_after(since, end, step)] += 1
        place += 1
        row = history.rows[place]
    return place, since


@inlined
def _arrive(
    measures: Measures,
    crawls: Crawls,
    row: int,
    since: int,
    pending: int,
    now: int,
    load_key: np.uint64,
    end: int,
    steps: tuple[int, int],
) -> tuple[int, int]:
    """Let the notices arrive that are due now at a page in state ``row``; return how many are left, the next
    moment."""
    left, due, count = 0, NEVER, crawls.marks[0]
    for place in range(pending):
        arrival, query = crawls.arrivals[place], crawls.queries[place]
        if arrival != now:
            crawls.arrivals[left], crawls.queries[left] = arrival, query
            left, due = left + 1, min(due, arrival)
            continue
        found = since != KNOWN
        if found:
            settle(measures, since, now, end, steps[0])
            since = KNOWN
        if not row & OPEN:
            count += 1
            crawls.marks[count] = now * 4 + _EMPTY
            continue
        done = now + between(load_key, query, MIN_LOAD, MAX_LOAD)
        crawls.marks[count + 1], crawls.marks[count + 2] = now * 4 + _ARRIVAL, done * 4 + _END
        count += 2
        crawls.processing[row_after(now, end, steps[0])] += 1
        if done <= end:
            crawls.processing[row_after(done, end, steps[0])] -= 1
            measures.traffic[0, row_after(done, end, steps[1])] += size_of(row)
            measures.tally[DOWNLOADS] += 1
            measures.tally[FOUND] += found
    crawls.marks[0] = count
    return left, due


@compiled
def _most_at_once(marks: Array) -> int:
    """Return the most downloads that ran at one time; ``marks`` are sorted."""
    running, empty, most, before = 0, 0, 0, -1
    for mark in marks:
        if mark >> 2 != before:
            before = mark >> 2
            empty = 0
        what = mark & 3
        running += (what == _ARRIVAL) - (what == _END)
        empty += what == _EMPTY
        most = max(most, running + empty)
    return most
