"""Generates the data of the experiment of 2005: sizes, changes and queries of pages, and routes of robots.

The requirements of the simulator are here too: optional packages, compiled functions, and enough memory.

Random numbers depend only on their purpose. Draw k of a stream is a hash of k and the key of the stream. It
does not depend on earlier draws. So the history of a page does not depend on the number of pages, a run does
not depend on the order of the threads, and another model can use the same draws. The hash is the output
function of SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014).

Times are in whole units of 100 ms, and sizes are in bytes. The rows of a log are sorted by page and then by
time. The rows of page p are ``starts[p]`` to ``starts[p + 1]`` (excluded). The gaps between two events of a
page are exponentially distributed. Times are the sums of the gaps, rounded down to whole units. As in the
experiment of 2005, a log also has the first event of each page beyond the end of a run, so it has about
(intensity + 1) rows per page. Events at time 0 and beyond the end have no effect.

Robots or sensors run on a history of pages, and the result has their measurements.

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
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import log, sqrt
from pathlib import Path
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np
import numpy.typing as npt

from newsbot.apps.optional import load_optional
from newsbot.errors import UserError

# --- requirements
_MEMINFO = Path("/proc/meminfo")
# The memory limit and the memory use of a container (control group version 2 of Linux).
_GROUP_LIMIT = Path("/sys/fs/cgroup/memory.max")
_GROUP_USED = Path("/sys/fs/cgroup/memory.current")
F = TypeVar("F", bound=Callable[..., object])
Ended = Callable[[str, int, str], None]
"""A function that is called after each run, with the module, the seed, and a description of the run."""


def ignore(_module: str, _seed: int, _run: str) -> None:
    """Do nothing (an :data:`Ended`)."""


def optional(module: str) -> Any:
    """Import and return a module of a package that only the simulator uses.

    Raises :class:`UserError` with the command that installs it if the package is missing.
    """
    return load_optional(module, "simulator", "the simulator")


numba = optional("numba")
_OPTIONS = {"nogil": True, "error_model": "numpy"}


def compiled(function: F) -> F:
    """Return a version of ``function`` that numba compiles to machine code at its first call.

    The machine code runs without the global interpreter lock. It is stored beside the module, or in the
    folder ``NUMBA_CACHE_DIR``. Plain Python would need hours for the published plan. A run cannot be written
    as numpy operations on arrays, because each step of a robot depends on its earlier steps.
    """
    try:
        return cast("F", numba.njit(cache=True, **_OPTIONS)(function))
    except RuntimeError:  # no folder is writable, so each process compiles the function again
        return cast("F", numba.njit(**_OPTIONS)(function))


def inlined(function: F) -> F:
    """Return a version of ``function`` that is copied into each compiled function that calls it.

    This avoids calls at run time. They are slow, because numba counts the references to each array.
    """
    return cast("F", numba.njit(inline="always", **_OPTIONS)(function))


def available_memory() -> int:
    """Return the free memory in bytes, within the memory limit of the container."""
    free = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if _MEMINFO.exists():
        lines = dict(line.split(":", 1) for line in _MEMINFO.read_text(encoding="ascii").splitlines())
        free = int(lines["MemAvailable"].split()[0]) * 1024
    if _GROUP_LIMIT.exists() and _GROUP_USED.exists():
        limit = _GROUP_LIMIT.read_text(encoding="ascii").strip()
        # cgroup v2 writes "max" for unlimited memory.
        if limit != "max":
            free = min(free, int(limit) - int(_GROUP_USED.read_text(encoding="ascii")))
    return free


def require_memory(needed: float, what: str) -> None:
    """Raise :class:`UserError` if ``what`` needs more bytes of memory than are free."""
    free = available_memory()
    if needed > free:
        raise UserError(
            f"{what} would need {needed / 2**30:,.1f} GB of memory, but {free / 2**30:,.1f} GB are free; "
            "use fewer pages, a lower intensity, or a larger --scale"
        )


# --- random numbers
# The constants of SplitMix64: the increment, which is 2^64 divided by the golden ratio, and two multipliers.
_STEP = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)
_30, _27, _31, _32, _11 = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(32), np.uint64(11)
_ONE = np.uint64(1)
# A float has 53 bits of precision.
_UNIT = 2.0**-53


def stream(*words: object) -> np.uint64:
    """Return the key of the stream that these words name, for example a seed and a purpose."""
    text = "/".join(map(str, words)).encode()
    return np.uint64(int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "big"))


@compiled
def draw(key: np.uint64, number: int) -> np.uint64:
    """Return draw ``number`` of a stream: 64 random bits. A draw can be the key of another stream."""
    mixed = key + (np.uint64(number) + _ONE) * _STEP
    mixed = (mixed ^ (mixed >> _30)) * _FIRST
    mixed = (mixed ^ (mixed >> _27)) * _SECOND
    return mixed ^ (mixed >> _31)


@compiled
def between(key: np.uint64, number: int, low: int, high: int) -> int:
    """Return a uniform whole number from ``low`` to ``high``, both included (at most 2^32 values)."""
    # The upper 32 bits are scaled to the span by a multiplication, which is faster than a modulo.
    span = np.uint64(high - low + 1)
    return low + int(((draw(key, number) >> _32) * span) >> _32)


@compiled
def unit(key: np.uint64, number: int) -> float:
    """Return a uniform number above 0 and up to 1, so that its logarithm is finite."""
    return (np.float64(draw(key, number) >> _11) + 1.0) * _UNIT


@compiled
def exponential(key: np.uint64, number: int, mean: float) -> float:
    """Return an exponentially distributed number with this mean."""
    return -log(unit(key, number)) * mean


Array = npt.NDArray[Any]
Table = list[dict[str, Any]]
"""A table as rows with the same keys."""
Columns = dict[str, Any]
"""A table as arrays by name, all with the same length."""

MIN_SIZE, MAX_SIZE = 65, 122_880
"""Smallest and largest size of a page in bytes, at the start of a run and after changes."""
MIN_LOAD, MAX_LOAD = 1, 40
"""Shortest and longest time of a download, in units."""
MIN_NOTICE, MAX_NOTICE = 1, 3
"""Shortest and longest time of a HEAD request or of a sensor's notice, in units."""
FRESH_STEP, TRAFFIC_STEP = 5_000, 10_000
"""Units of time between two rows of a series.

``FRESH_STEP`` is for the series of stale pages and of downloads, and ``TRAFFIC_STEP`` is for the series of
traffic.
"""
MAX_TIME = 10**9
"""Duration of the longest run in units (about three years). Times are stored in 32 bits."""
LAST_MOMENT = 2**31 - 1
"""The latest time that a row can have."""

FORBIDDEN, GONE, BROKEN, SHRINKS, GROWS, AVAILABLE = 1, 2, 3, 4, 5, 6
"""Types of changes.

The first three types make a page unavailable (status 403, 404, 500). The last three types make it available.
``SHRINKS`` and ``GROWS`` also change the size of the page.
"""

FREQUENCIES = {
    "published": (0.083, 0.125, 0.125, 0.167, 0.25, 0.25),
    "printed": (0.083, 0.125, 0.125, 0.25, 0.25, 0.167),
}
"""The probability of each type of change, in the order of their numbers.

Only ``published`` reproduces the published figures. ``printed`` follows the text of the publication, in which
the probabilities of types 4 and 6 are exchanged.
"""


@dataclass(frozen=True, slots=True)
class Log:
    """The times of events of pages."""

    starts: Array
    """Index of the first row of each page, and one more entry: the end of the last page."""
    times: Array

    @property
    def pages(self) -> int:
        """Number of pages."""
        return len(self.starts) - 1

    @property
    def rows(self) -> int:
        """Number of rows, including rows without effect."""
        return len(self.times)


class QueryLog(Log):
    """The times at which visitors requested each page."""


@dataclass(frozen=True, slots=True)
class ChangeLog(Log):
    """The changes of pages.

    ``sizes`` contains the size of the page after each change, even while the page is unavailable.
    """

    types: Array
    sizes: Array


@dataclass(frozen=True, slots=True)
class Routes:
    """The order in which robots visit pages.

    Robot r visits ``pages[starts[r]:starts[r + 1]]`` repeatedly.
    """

    starts: Array
    pages: Array

    @property
    def robots(self) -> int:
        """Number of robots."""
        return len(self.starts) - 1


def make_routes(pages: int, robots: int) -> Routes:
    """Return routes that split all pages, in order, into contiguous parts of about equal size."""
    starts = np.array([pages * robot // robots for robot in range(robots + 1)], dtype=np.int64)
    return Routes(starts, np.arange(pages, dtype=np.int32))


@compiled
def make_pages(pages: int, key: np.uint64) -> Array:
    """Return the size of each page at the start of a run."""
    sizes = np.empty(pages, np.int32)
    for page in range(pages):
        sizes[page] = between(key, page, MIN_SIZE, MAX_SIZE)
    return sizes


def make_queries(pages: int, time: int, intensity: float, key: np.uint64) -> QueryLog:
    """Return a log in which each page is requested ``intensity`` times on average from 0 to ``time``."""
    return QueryLog(*_make_times(pages, time, time / intensity, estimate_rows(pages, intensity), key))


def make_changes(
    sizes: Array, time: int, intensity: float, frequencies: tuple[float, ...], key: np.uint64
) -> ChangeLog:
    """Return a log in which each page changes ``intensity`` times on average from 0 to ``time``.

    ``frequencies`` are the probabilities of the types of changes. The size after a change is uniformly
    distributed. After ``SHRINKS`` it is between the smallest size and the size before the change. After
    ``GROWS`` it is between the size before the change and the largest size.
    """
    rows = estimate_rows(len(sizes), intensity)
    starts, times = _make_times(len(sizes), time, time / intensity, rows, stream(key, "times"))
    # The last bound is left out. Otherwise, if the sum of the probabilities is rounded below 1, a seventh
    # type could be drawn.
    bounds = np.cumsum(frequencies)[:-1]
    types, row_sizes = _make_types(starts, sizes, bounds, stream(key, "types"), stream(key, "sizes"))
    return ChangeLog(starts, times, types, row_sizes)


def estimate_rows(pages: int, intensity: float) -> int:
    """Return an estimate of the number of rows of a log.

    It includes 6 standard deviations, so it is rarely too low.
    """
    return int(pages * (intensity + 1) + 6 * sqrt(pages * intensity) + 64)


@compiled
def _make_times(pages: int, end: int, mean: float, estimate: int, key: np.uint64) -> tuple[Array, Array]:
    starts = np.zeros(pages + 1, np.int64)
    times = np.empty(estimate, np.int32)
    row = 0
    for page in range(pages):
        page_key = draw(key, page)
        moment, number = 0.0, 0
        while moment < end + 1:
            moment += exponential(page_key, number, mean)
            number += 1
            if row == len(times):  # the estimate was too low
                times = np.append(times, np.empty(len(times) // 2 + 64, np.int32))
            times[row] = min(int(moment), LAST_MOMENT)
            row += 1
        starts[page + 1] = row
    return starts, times[:row]


@compiled
def _make_types(
    starts: Array, sizes: Array, bounds: Array, type_key: np.uint64, size_key: np.uint64
) -> tuple[Array, Array]:
    rows = starts[-1]
    types, row_sizes = np.empty(rows, np.int8), np.empty(rows, np.int32)
    for page in range(len(sizes)):
        size = int(sizes[page])
        for row in range(starts[page], starts[page + 1]):
            # ``bounds`` has cumulative probabilities. The type is the number of bounds below ``chance``, plus
            # one.
            chance = unit(type_key, row)
            kind = 1
            for bound in bounds:
                kind += chance > bound
            if kind == SHRINKS:
                size = between(size_key, row, MIN_SIZE, size)
            elif kind == GROWS:
                size = between(size_key, row, size, MAX_SIZE)
            types[row] = kind
            row_sizes[row] = size
    return types, row_sizes


def joined(key: str, tables: Mapping[str, Columns]) -> Columns:
    """Return one table of several ones with the same columns. Its first column ``key`` has their names."""
    some = list(tables.values())
    lengths = [len(next(iter(one.values()))) for one in some]
    columns = {name: np.concatenate([one[name] for one in some]) for name in some[0]}
    return {key: np.repeat(list(tables), lengths), **columns}


# --- runs
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
