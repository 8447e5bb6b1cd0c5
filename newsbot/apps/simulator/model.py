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
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import log, sqrt
from pathlib import Path
from typing import Any, TypeVar, cast

import numpy as np
import numpy.typing as npt

from newsbot.apps.optional import load_optional
from newsbot.errors import UserError

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

    So there is no call at run time. A call is slow, because numba counts the references to each array.
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
