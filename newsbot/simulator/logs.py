"""Making pages, their changes and their queries from a seed.

The gaps between two rows of a page are exponential; times are their running sum, cut to whole units.
The first row beyond the end is kept too, so that a log has about (intensity + 1) rows a page.
"""

from __future__ import annotations

from math import sqrt

import numpy as np

from newsbot.simulator.compiled import compiled
from newsbot.simulator.draws import between, draw, exponential, stream, unit
from newsbot.simulator.model import (
    GROWS,
    MAX_SIZE,
    MIN_SIZE,
    SHRINKS,
    Array,
    ChangeLog,
    QueryLog,
)

_NEVER = 2**31 - 1
"""The last moment that fits; a row beyond the end may stand there, since it never happens."""


def make_pages(pages: int, key: np.uint64) -> Array:
    """Return the size of each page at the start."""
    return _make_sizes(pages, key)


def make_queries(pages: int, time: int, intensity: float, key: np.uint64) -> QueryLog:
    """Return the moments at which each page is asked for, ``intensity`` times a page on average."""
    guess = guess_rows(pages, intensity)
    starts, times = _make_times(pages, time, time / intensity, guess, key)
    return QueryLog(starts, times)


def make_changes(
    sizes: Array, time: int, intensity: float, frequencies: tuple[float, ...], key: np.uint64
) -> ChangeLog:
    """Return what happens to the pages, ``intensity`` times a page on average.

    ``frequencies`` says how often each type of change occurs. A size shrinks to something uniform from
    the smallest to what it was, or grows to something uniform from that to the largest.
    """
    guess = guess_rows(len(sizes), intensity)
    starts, times = _make_times(len(sizes), time, time / intensity, guess, stream(key, "times"))
    bounds = np.cumsum(frequencies)[:-1]
    types, row_sizes = _make_types(starts, sizes, bounds, stream(key, "types"), stream(key, "sizes"))
    return ChangeLog(starts, times, types, row_sizes)


def guess_rows(pages: int, intensity: float) -> int:
    """Return how many rows a log will hold, with room for what chance adds."""
    return int(pages * (intensity + 1) + 6 * sqrt(pages * intensity) + 64)


@compiled
def _make_sizes(pages: int, key: np.uint64) -> Array:
    sizes = np.empty(pages, np.int32)
    for page in range(pages):
        sizes[page] = between(key, page, MIN_SIZE, MAX_SIZE)
    return sizes


@compiled
def _make_times(pages: int, end: int, mean: float, guess: int, key: np.uint64) -> tuple[Array, Array]:
    starts = np.zeros(pages + 1, np.int64)
    times = np.empty(guess, np.int32)
    row = 0
    for page in range(pages):
        page_key = draw(key, page)
        moment, number = 0.0, 0
        while moment < end + 1:
            moment += exponential(page_key, number, mean)
            number += 1
            if row == len(times):
                times = np.append(times, np.empty(len(times) // 2 + 64, np.int32))
            times[row] = min(int(moment), _NEVER)
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
