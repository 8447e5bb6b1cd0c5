"""Pages, logs and routes as Parquet files, so that recorded ones can replace generated ones.

Pages are numbered from 1. A file of pages has ``page`` and ``size``, in order; a change log
``page``, ``time``, ``type``, ``size``, and a query log ``page``, ``time``, both sorted by page and then by
time; routes have ``robot`` and ``page``, sorted by robot (from 1), the pages of each in the order of visits.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from newsbot.errors import UserError
from newsbot.simulator.files import read_columns, write_parquet
from newsbot.simulator.history import MAX_BYTES
from newsbot.simulator.model import AVAILABLE, FORBIDDEN, Array, ChangeLog, QueryLog, Routes

MAX_PAGES = 10**8
MAX_MOMENT = 2**31 - 1
"""The last moment that a row may have; what is beyond the end of a run never happens."""
_SIZE = (0, MAX_BYTES - 1)
_TIME = (0, MAX_MOMENT)


def write_pages(path: Path, sizes: Array) -> None:
    """Write pages."""
    write_parquet(path, {"page": np.arange(1, len(sizes) + 1, dtype=np.int32), "size": sizes})


def read_pages(path: Path) -> Array:
    """Return the sizes of pages. Raises :class:`UserError`."""
    columns = read_columns(path, "a file of pages", {"page": (1, MAX_PAGES), "size": _SIZE})
    pages = columns["page"]
    wrong = np.flatnonzero(pages != np.arange(1, len(pages) + 1))
    if wrong.size:
        raise UserError(f"{path}: row {wrong[0] + 1}: pages must be numbered 1, 2, 3, … in this order")
    if not len(pages):
        raise UserError(f"{path}: holds no pages")
    sizes: Array = columns["size"].astype(np.int32)
    return sizes


def write_changes(path: Path, log: ChangeLog) -> None:
    """Write a change log."""
    columns = {"page": _pages(log.starts), "time": log.times, "type": log.types, "size": log.sizes}
    write_parquet(path, columns)


def read_changes(path: Path, pages: int) -> ChangeLog:
    """Return the change log of so many pages. Raises :class:`UserError`."""
    limits = {"page": (1, pages), "time": _TIME, "type": (FORBIDDEN, AVAILABLE), "size": _SIZE}
    columns = read_columns(path, "a change log", limits)
    starts = _starts(path, columns, pages)
    return ChangeLog(
        starts,
        columns["time"].astype(np.int32),
        columns["type"].astype(np.int8),
        columns["size"].astype(np.int32),
    )


def write_queries(path: Path, log: QueryLog) -> None:
    """Write a query log."""
    write_parquet(path, {"page": _pages(log.starts), "time": log.times})


def read_queries(path: Path, pages: int) -> QueryLog:
    """Return the query log of so many pages. Raises :class:`UserError`."""
    columns = read_columns(path, "a query log", {"page": (1, pages), "time": _TIME})
    return QueryLog(_starts(path, columns, pages), columns["time"].astype(np.int32))


def write_routes(path: Path, routes: Routes) -> None:
    """Write routes."""
    robots = np.repeat(np.arange(1, routes.robots + 1, dtype=np.int32), np.diff(routes.starts))
    write_parquet(path, {"robot": robots, "page": routes.pages + 1})


def read_routes(path: Path, pages: int) -> Routes:
    """Return routes over so many pages. Raises :class:`UserError`."""
    columns = read_columns(path, "routes", {"robot": (1, pages), "page": (1, pages)})
    robots, visited = columns["robot"], columns["page"].astype(np.int32) - 1
    if not len(robots):
        raise UserError(f"{path}: holds no routes")
    wrong = np.flatnonzero(np.diff(robots) < 0)
    if wrong.size:
        raise UserError(f"{path}: row {wrong[0] + 2}: not sorted by robot; sort the routes first")
    counts = np.bincount(visited, minlength=pages)
    if counts.max() > 1:
        raise UserError(
            f"{path}: page {int(counts.argmax()) + 1} occurs twice; one robot visits it, once a round"
        )
    starts = np.searchsorted(robots, np.arange(1, int(robots[-1]) + 2))
    return Routes(starts.astype(np.int64), visited)


def _pages(starts: Array) -> Array:
    return np.repeat(np.arange(1, len(starts), dtype=np.int32), np.diff(starts))


def _starts(path: Path, columns: dict[str, Any], pages: int) -> Array:
    page, time = columns["page"].astype(np.int64), columns["time"].astype(np.int64)
    wrong = np.flatnonzero(np.diff((page << 32) + time) < 0)
    if wrong.size:
        raise UserError(
            f"{path}: row {wrong[0] + 2}: not sorted by page and then by time; sort the log first"
        )
    starts: Array = np.searchsorted(page, np.arange(1, pages + 2))
    return starts.astype(np.int64)
