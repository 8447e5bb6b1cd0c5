"""Runs robots or sensors on a history of pages, and returns the measurements.

A history has one number per row of a change log, ``time * 2^32 + size * 4 + OPEN + NEW``. The first row of a
page is its state at time 0. The last row has the time :data:`NEVER`, so that loops need not check where a
page ends. Rows of the log at time 0 and beyond the end of the run are left out.

A change is *seen* when a robot or sensor detects it. A page with an unseen change is *stale*.

A series has a row every ``step`` units, beginning at 0. Each row shows the state before the events at the
time of the row. For the end of the run there are two rows: the state before the events at this time, and the
state after them.

A robot visits its pages in turn; a modified robot sends a HEAD request before a GET. A visit of an
unavailable page takes no time. So a robot would loop endlessly while all its pages are unavailable.
Therefore, after a round that took no time, the robot waits until a page becomes available. The round counts
as a cycle.

With sensors, a visitor's request for a changed page causes a notice, and the page is downloaded. If the page
is unavailable, its download has no bytes and ends after all arrivals of notices at this time. Pages do not
influence each other, so they are run one after the other. Only the number of simultaneous downloads is
counted over all pages.

Events at the same time have this order: the row of a series, changes of pages in the order of the log, steps
of robots, queries in the order of their log, ends of downloads, arrivals of notices.

There are also twelve schemes by which a search engine learns about changes of sites, on the same pages.

In each scheme, one side begins an exchange, and something is sent: :data:`SCHEMES` says what. The first two
schemes are the robots of the experiment, and ``sensor`` is its sensor. The other schemes follow
the same rules: a page is loaded in 1 to 40 units, and a short message (HEAD, a response without a body, a
notice) takes 1 to 3 units. A longer message, such as a list, is sent at the speed :data:`SPEED`.

The pages are split into sites of about the same size. Lists are asked for at intervals, one site after the
other, and the pages that a list names are loaded one after the other. Notices and contents are sent at once,
without a limit of simultaneous loads. If a page changes again before a change is known, it stays stale until
both are known.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np

from newsbot.apps.simulator.model import (
    AVAILABLE,
    BROKEN,
    FRESH_STEP,
    GROWS,
    LAST_MOMENT,
    MAX_LOAD,
    MAX_NOTICE,
    MAX_SIZE,
    MIN_LOAD,
    MIN_NOTICE,
    MIN_SIZE,
    SHRINKS,
    TRAFFIC_STEP,
    Array,
    ChangeLog,
    Columns,
    Ended,
    QueryLog,
    Routes,
    Table,
    between,
    compiled,
    ignore,
    inlined,
    joined,
    stream,
)

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


@compiled
def run_robot(  # noqa: C901  # one loop: a call for each visit would take longer than the visit
    state: State,
    measures: Measures,
    traffic: Array,
    route: Array,
    keys: tuple[np.uint64, np.uint64],
    modified: bool,
) -> int:
    """Let one robot repeat its route until the end of the run.

    Return the number of complete cycles. The bytes of its downloads are added to ``traffic``. ``keys``
    contains two streams of draws. For visit k, draw k of the first stream is the duration of the HEAD
    request, and draw k of the second stream is the duration of the download.
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
                # The draw depends only on the number of the visit. So two variants that make the same visits
                # have the same durations.
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
                # If the page changes during the download, the download brings the new content. But its bytes
                # are the size of the page at the start of the download.
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

    All pages of the route are unavailable now.
    """
    first = NEVER
    for number in range(len(route)):
        place = state.cursor[route[number]]
        while moment(state.rows[place]) < first:
            now = moment(state.rows[place])
            # If several rows have the same time, only the last one counts, because the state of an earlier
            # row lasts no time.
            if state.rows[place] & OPEN and moment(state.rows[place + 1]) > now:
                first = now
            place += 1
    return first


Keys = tuple[np.uint64, np.uint64]


class Crawls(NamedTuple):
    """The crawls that sensors have started: notices and the downloads after them."""

    running: Array
    """The change of the number of running downloads in each unit of time.

    A download without bytes runs for one unit.
    """
    arrivals: Array
    """Arrival times of the notices of the current page that have not arrived."""
    queries: Array
    """Rows of the query log that caused these notices."""


@compiled
def run_sensors(
    history: History, starts: Array, times: Array, measures: Measures, crawls: Crawls, keys: Keys
) -> int:
    """Run all pages until the end of the run.

    Return the largest number of simultaneous downloads. ``starts`` and ``times`` are the query log. ``keys``
    contains two streams of draws. For query k, draw k of the first stream is the duration of the notice, and
    draw k of the second stream is the duration of the download.
    """
    for page in range(len(starts) - 1):
        last = starts[page + 1]
        _run_page(history, times[:last], measures, crawls, keys, history.starts[page] + 1, starts[page])
    running, most = 0, 0
    for change in crawls.running[: measures.end + 1]:
        running += change
        most = max(most, running)
    return most


@inlined
def _run_page(
    history: History, times: Array, measures: Measures, crawls: Crawls, keys: Keys, place: int, query: int
) -> None:
    """Run one page.

    ``place`` is its next row in the history, and ``query`` is its first query in ``times``.
    """
    since, pending, due = KNOWN, 0, NEVER
    while True:
        # Without an unseen change and without a notice on its way, queries have no effect. The loop then
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
    """Process the notices of the current page that arrive now. ``row`` is the state of the page.

    Returns the number of notices that have not arrived, and the time of the next arrival.
    """
    end, steps = measures.end, measures.steps
    # Notices that are not due move to the front of the arrays; ``left`` is their number.
    left, due = 0, NEVER
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
        crawls.running[now] += 1
        if not row & OPEN:
            crawls.running[now + 1] -= 1
            continue
        done = now + between(load_key, query, MIN_LOAD, MAX_LOAD)
        crawls.running[min(done, end + 1)] -= 1
        # Rows of a series are differences, which make_run() adds up.
        measures.processing[row_after(now, end, steps.fresh)] += 1
        if done <= end:
            measures.processing[row_after(done, end, steps.fresh)] -= 1
            measures.traffic[0, row_after(done, end, steps.traffic)] += size_of(row)
            measures.tally[DOWNLOADS] += 1
            measures.tally[FOUND] += found
    return left, due


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """The measurements of a run. Times are in units of 100 ms."""

    pages: int
    time: int
    """Length of the run."""
    steps: Steps
    stale: Array
    """Number of pages with an unseen change, at the times of :meth:`fresh_times`."""
    traffic: Array
    """Number of downloaded bytes up to each of the times of :meth:`traffic_times`.

    There is one row per robot, or one row for all sensors.
    """
    processing: Array | None = None
    """Number of running downloads of sensors, at the times of :meth:`fresh_times`."""
    waits: int
    """Number of changes that were seen by the robots or sensors."""
    wait_sum: int
    """Sum of the times from a change until it was seen."""
    min_wait: int | None
    max_wait: int | None
    downloads: int
    """Number of downloads of available pages that ended before the end of the run."""
    found: int
    """Number of these downloads that brought new content."""
    cycles: tuple[int, ...] = ()
    """Number of complete rounds of each robot."""
    max_processing: int | None = None
    """Largest number of simultaneous downloads of sensors."""

    @property
    def needfresh(self) -> int:
        """Number of stale pages at the end."""
        return int(self.stale[-1])

    @property
    def freshness(self) -> float:
        """Percentage of pages whose known state is correct at the end."""
        return 100.0 * (self.pages - self.needfresh) / self.pages

    @property
    def mean_freshness(self) -> float:
        """Mean of the freshness over the rows of the series, in percent."""
        return 100.0 * (self.pages - float(self.stale.mean())) / self.pages

    @property
    def sumsize(self) -> int:
        """Bytes of all downloads."""
        return int(self.traffic[:, -1].sum())

    @property
    def mean_wait(self) -> float | None:
        """Mean time from a change until it was seen; None if no change was seen."""
        return self.wait_sum / self.waits if self.waits else None

    @property
    def useful(self) -> float:
        """Share of downloads that brought new content, from 0 to 1."""
        return self.found / self.downloads if self.downloads else 0.0

    def fresh_times(self) -> Array:
        """Return the times of the rows of ``stale`` and ``processing``."""
        return row_times(self.time, self.steps.fresh)

    def traffic_times(self) -> Array:
        """Return the times of the rows of ``traffic``."""
        return row_times(self.time, self.steps.traffic)


def run_robots(
    history: History, routes: Routes, time: int, key: np.uint64, *, modified: bool, steps: Steps = FULL_STEPS
) -> Run:
    """Run robots on their routes for ``time`` units. Modified robots send HEAD before GET.

    ``key`` is the key of the random draws. Robots do not influence each other.
    """
    state = make_state(history)
    measures = make_measures(time, steps, routes.robots)
    cycles = []
    for robot in range(routes.robots):
        route = routes.pages[routes.starts[robot] : routes.starts[robot + 1]]
        keys = stream(key, robot, "head"), stream(key, robot, "load")
        cycles.append(int(run_robot(state, measures, measures.traffic[robot], route, keys, modified)))
    advance_all(state, measures)
    return make_run(history, measures, cycles=tuple(cycles))


def run_sensor(
    history: History, queries: QueryLog, time: int, key: np.uint64, *, steps: Steps = FULL_STEPS
) -> Run:
    """Run sensors for ``time`` units. A sensor reports a changed page when a visitor requests it.

    ``key`` is the key of the random draws.
    """
    measures = make_measures(time, steps, 1)
    busiest = max(1, int(np.diff(queries.starts).max(initial=0)))
    arrivals, senders = np.empty(busiest, np.int64), np.empty(busiest, np.int64)
    crawls = Crawls(np.zeros(time + 2, np.int32), arrivals, senders)
    keys = stream(key, "notice"), stream(key, "load")
    most = run_sensors(history, queries.starts, queries.times, measures, crawls, keys)
    return make_run(history, measures, max_processing=int(most))


def make_run(
    history: History, measures: Measures, *, cycles: tuple[int, ...] = (), max_processing: int | None = None
) -> Run:
    """Return the measurements of a run that has ended."""
    tally = measures.tally.tolist()
    return Run(
        pages=len(history.starts) - 1,
        time=measures.end,
        steps=measures.steps,
        # Until now, the rows of series are differences.
        stale=measures.stale.cumsum(),
        traffic=measures.traffic.cumsum(axis=1),
        processing=None if max_processing is None else measures.processing.cumsum(),
        waits=tally[WAITS],
        wait_sum=tally[WAIT_SUM],
        min_wait=tally[MIN_WAIT] if tally[WAITS] else None,
        max_wait=tally[MAX_WAIT] if tally[WAITS] else None,
        downloads=tally[DOWNLOADS],
        found=tally[FOUND],
        cycles=cycles,
        max_processing=max_processing,
    )


ENTRY: Final = 100
"""Bytes of one page in a list: its URL and the time of its last change."""
SPEED: Final = MAX_SIZE // MAX_LOAD
"""Bytes of a list, or of several pages in one response, that arrive in one unit."""

# What begins an exchange. Each number up to CHANGES is a request of the robot.
GET, HEAD, CONDITION, LIST, CHANGES, QUERY, NOTICE, CONTENT, FORWARDED = range(9)
# What a response with content has.
PAGE, DIFFERENCE, TOGETHER = range(3)
# Indexes of counts: exchanges about a page, lists, bytes of lists, and the rows of the history.
EXCHANGES, LISTS, LIST_BYTES, SEEN = range(4)


@dataclass(frozen=True, slots=True)
class Scheme:
    """A scheme of co-operation of a site and a search engine."""

    name: str
    about: str
    web: str
    """The standard with which sites offer it."""
    begins: int
    body: int = PAGE
    broker: bool = False
    """True if a third party collects the notices of all sites, and robots ask it for its list."""


_ALL: Final = (
    Scheme("polling", "each page is loaded in turn", "GET", GET),
    Scheme("head", "a page is loaded if a HEAD request shows a change", "HEAD", HEAD),
    Scheme(
        "conditional", "one request brings the page if it has changed", "If-Modified-Since, ETag", CONDITION
    ),
    Scheme(
        "delta",
        "like conditional, but the response has only the difference",
        "RFC 3229 (A-IM)",
        CONDITION,
        DIFFERENCE,
    ),
    Scheme(
        "sitemap", "a list of all pages of the site has the time of each change", "sitemap with lastmod", LIST
    ),
    Scheme(
        "changelist",
        "a list has only the pages that changed since the last request",
        "feed, ResourceSync change list",
        CHANGES,
    ),
    Scheme(
        "dump",
        "one response has all pages that changed since the last request",
        "feed with full texts, ResourceSync change dump",
        CHANGES,
        TOGETHER,
    ),
    Scheme("sensor", "the site reports a changed page when a visitor requests it", "newsbot sensor", QUERY),
    Scheme("notice", "the site reports each change", "IndexNow, ping", NOTICE),
    Scheme("content", "the site sends each changed page", "webhook with the content", CONTENT),
    Scheme(
        "broker",
        "a third party collects the reports of all sites, and gives a list of them",
        "ping server with a change list",
        CHANGES,
        broker=True,
    ),
    Scheme(
        "hub", "a hub loads each reported page once, and sends it to all subscribers", "WebSub", FORWARDED
    ),
)
SCHEMES: Final = {one.name: one for one in _ALL}


class Counts(NamedTuple):
    """What a run counts besides :class:`Measures`. The arrays are changed in place."""

    numbers: Array
    """Numbers at the indexes :data:`EXCHANGES` to :data:`SEEN`."""
    history: Array
    """A row for each seen change: its page, its time, and the time at which it was seen."""


@inlined
def _see(measures: Measures, counts: Counts, page: int, since: int, now: int) -> None:
    """Count a change that was seen, and add it to the history."""
    mark_seen(measures, since, now)
    row = counts.numbers[SEEN]
    counts.history[row, 0], counts.history[row, 1], counts.history[row, 2] = page, since, now
    counts.numbers[SEEN] = row + 1


class Way(NamedTuple):
    """How a robot asks."""

    sites: Array
    """The first page of each site, and one more entry: the number of pages."""
    keys: tuple[np.uint64, np.uint64]
    """The streams of draws of short messages and of loads."""
    begins: int
    body: int
    interval: int
    """Units between two lists of a site."""
    lag: int
    """Lists show the state before this number of units."""


@compiled
def _take_all(state: State, measures: Measures, counts: Counts, pages: Array, now: int) -> None:
    """Mark changed pages as seen: one response has shown all of them."""
    since, stale, end, step = state.since, measures.stale, measures.end, measures.steps.fresh
    for page in pages:
        measures.tally[DOWNLOADS] += state.last[page] & OPEN > 0
        measures.tally[FOUND] += state.last[page] & OPEN > 0
        _see(measures, counts, page, since[page], now)
        since[page] = KNOWN
        advance(state, measures, page, now)
        # The response shows the page at the request. If it has changed since, it stays stale.
        if since[page] != KNOWN:
            stale[row_after(since[page], end, step)] -= 1
            stale[row_after(now, end, step)] += 1


@compiled
def _pull(  # noqa: C901, PLR0912, PLR0915  # one loop, like run_robot()
    state: State, measures: Measures, counts: Counts, way: Way
) -> int:
    """Let a robot ask until the end of the run, and return the number of its rounds."""
    sites, keys, begins, body, interval, lag = way
    since, last, next_time = state.since, state.last, state.next_time
    traffic, tally, numbers, end = measures.traffic[0], measures.tally, counts.numbers, measures.end
    had = last.copy()  # the state of each page that the robot has, for differences
    chosen = np.empty(len(last), np.int64)
    now, visit, rounds = 0, 0, 0
    while True:
        began = now
        for site in range(len(sites) - 1):
            count, size = 0, 0
            for page in range(sites[site], sites[site + 1]):
                if begins >= LIST:
                    if next_time[page] <= now - lag:
                        advance(state, measures, page, now - lag)
                    if since[page] == KNOWN:
                        continue
                    if body == TOGETHER and last[page] & OPEN:
                        size += size_of(last[page])
                chosen[count] = page
                count += 1
            if begins >= LIST:
                size += ENTRY * (sites[site + 1] - sites[site] if begins == LIST else count)
                now += max(1, -(-size // SPEED))
                if now > end:
                    return rounds
                traffic[row_after(now, end, measures.steps.traffic)] += size
                numbers[LISTS] += 1
                numbers[LIST_BYTES] += size
            if body == TOGETHER:
                _take_all(state, measures, counts, chosen[:count], now)
                continue
            for page in chosen[:count]:
                if begins in (HEAD, CONDITION):
                    now += between(keys[0], visit, MIN_NOTICE, MAX_NOTICE)
                    if now > end:
                        return rounds
                    numbers[EXCHANGES] += 1
                if next_time[page] <= now:
                    advance(state, measures, page, now)
                if (begins == GET or since[page] != KNOWN) and last[page] & OPEN:
                    before, had[page] = size_of(had[page]), last[page]
                    size = size_of(last[page])
                    now += between(keys[1], visit, MIN_LOAD, MAX_LOAD)
                    if now > end:
                        return rounds
                    if next_time[page] <= now:
                        advance(state, measures, page, now)
                    if body == DIFFERENCE:
                        size = min(size, max(MIN_SIZE, abs(size - before)))
                    traffic[row_after(now, end, measures.steps.traffic)] += size
                    numbers[EXCHANGES] += begins != CONDITION  # the condition is part of the same request
                    tally[DOWNLOADS] += 1
                    tally[FOUND] += since[page] != KNOWN
                if since[page] != KNOWN:
                    _see(measures, counts, page, since[page], now)
                    since[page] = KNOWN
                visit += 1
        rounds += 1
        # A round takes no time if all pages are unavailable.
        now = max(now, began + (interval if begins >= LIST else 1))


@compiled
def _push(  # noqa: C901  # one loop for each page
    history: History, measures: Measures, counts: Counts, keys: tuple[np.uint64, ...], begins: int
) -> None:
    """Let sites report all changes, or send the changed pages. Pages do not influence each other."""
    end, steps = measures.end, measures.steps
    for page in range(len(history.starts) - 1):
        since, known = KNOWN, 0
        for place in range(history.starts[page] + 1, history.starts[page + 1] - 1):
            row = history.rows[place]
            if not row & NEW:
                continue
            at, is_open = moment(row), row & OPEN > 0
            if since != KNOWN and known < at:
                _see(measures, counts, page, since, known)
                since = KNOWN
            if since == KNOWN:
                since = at
                measures.stale[row_after(at, end, steps.fresh)] += 1
            arrives = at
            if begins != CONTENT or not is_open:
                arrives += between(keys[0], place, MIN_NOTICE, MAX_NOTICE)
                counts.numbers[EXCHANGES] += 1
            if is_open:
                arrives += between(keys[1], place, MIN_LOAD, MAX_LOAD)
                counts.numbers[EXCHANGES] += 1
            if begins == FORWARDED:
                arrives += between(keys[2], place, MIN_LOAD, MAX_LOAD) if is_open else MIN_NOTICE
            known = max(known, arrives)
            if is_open and arrives <= end:
                measures.traffic[0, row_after(arrives, end, steps.traffic)] += size_of(row)
                measures.tally[DOWNLOADS] += 1
                measures.tally[FOUND] += 1
        if since != KNOWN and known <= end:
            _see(measures, counts, page, since, known)


@dataclass(frozen=True, slots=True)
class Exchange:
    """The results of a scheme. Bytes and messages are those that a site sends and receives."""

    scheme: Scheme
    run: Run
    requests: int
    """Requests of one search engine, and messages to it."""
    site_messages: int
    """Messages of all sites for all subscribers."""
    site_bytes: int
    """Bytes that all sites send for all subscribers."""
    history: Columns
    """The page, the time, and the time of arrival of each seen change. Empty for ``sensor``."""

    def row(self) -> dict[str, Any]:
        """Return the figures as a row of the table ``schemes``. Times are in seconds."""
        wait = self.run.mean_wait
        return {
            "scheme": self.scheme.name,
            "freshness": self.run.mean_freshness,
            "mean_wait": None if wait is None else wait / 10,
            "requests": self.requests,
            "megabytes": self.run.sumsize / 1e6,
            "site_messages": self.site_messages,
            "site_megabytes": self.site_bytes / 1e6,
        }


def run_scheme(
    scheme: Scheme,
    history: History,
    queries: QueryLog,
    time: int,
    seed: int,
    *,
    sites: int,
    interval: int,
    subscribers: int,
) -> Exchange:
    """Run a scheme for ``time`` units. All schemes with the same seed have the same durations.

    ``interval`` is the number of units between two lists, and ``subscribers`` is the number of search engines
    that do the same.
    """
    pages = len(history.starts) - 1
    counts = Counts(np.zeros(4, np.int64), np.zeros((int((history.rows & NEW > 0).sum()) + 1, 3), np.int64))
    numbers = counts.numbers
    measures = make_measures(time, FULL_STEPS, 1)
    key = stream("scheme", seed)
    if scheme.begins == QUERY:
        run = run_sensor(history, queries, time, key)
        numbers[EXCHANGES] = 2 * run.downloads  # a notice and a load; those of unavailable pages do not count
    elif scheme.begins > QUERY:
        draws = tuple(stream(key, name) for name in ("notice", "load", "delivery"))
        _push(history, measures, counts, draws, scheme.begins)
        run = make_run(history, measures)
    else:
        state = make_state(history)
        # A broker has one list for all sites.
        parts = 1 if scheme.broker else sites
        first = np.array([pages * site // parts for site in range(parts + 1)], np.int64)
        lag = MAX_NOTICE if scheme.broker else 0
        keys = stream(key, 0, "head"), stream(key, 0, "load")  # as in run_robots()
        way = Way(first, keys, scheme.begins, scheme.body, interval, lag)
        rounds = _pull(state, measures, counts, way)
        advance_all(state, measures)
        run = make_run(history, measures, cycles=(int(rounds),))
    seen = counts.history[: numbers[SEEN]]
    changes = int((history.rows & NEW > 0).sum()) - pages  # the last row of each page is not a change
    messages, sent = int(numbers[EXCHANGES]) * subscribers, run.sumsize * subscribers
    if scheme.broker:  # the lists come from the broker
        messages, sent = messages + changes, sent - int(numbers[LIST_BYTES]) * subscribers
    elif scheme.begins == FORWARDED:  # the hub is the only one that asks
        messages, sent = int(numbers[EXCHANGES]), run.sumsize
    else:
        messages += int(numbers[LISTS]) * subscribers
    requests = changes if scheme.begins == FORWARDED else int(numbers[EXCHANGES] + numbers[LISTS])
    named = {"page": seen[:, 0] + 1, "changed": seen[:, 1], "seen": seen[:, 2]}
    return Exchange(scheme, run, requests, messages, sent, named)


def run_schemes(
    history: History,
    queries: QueryLog,
    time: int,
    seed: int,
    *,
    sites: int,
    interval: int,
    subscribers: int,
    progress: Ended = ignore,
) -> list[Exchange]:
    """Run all schemes on the same changes. ``progress`` is called after each run."""
    found = []
    for scheme in SCHEMES.values():
        found.append(
            run_scheme(
                scheme, history, queries, time, seed, sites=sites, interval=interval, subscribers=subscribers
            )
        )
        progress("schemes", seed, scheme.name)
    return found


def as_tables(found: list[Exchange]) -> dict[str, Table | Columns]:
    """Return the tables ``schemes`` and ``history``."""
    history = joined("scheme", {one.scheme.name: one.history for one in found})
    return {"schemes": [one.row() for one in found], "history": history}
