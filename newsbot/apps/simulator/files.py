"""Reads and writes the files of the simulator: tables (CSV and Parquet), input files and runs (Parquet).

Users can replace generated logs with recorded logs, so files are checked when they are read. Pages are
numbered from 1. The following list has the columns of each file and the order of its rows:

* pages: ``page``, ``size``; by page, without missing pages
* change log: ``page``, ``time``, ``type``, ``size``; by page, then by time
* query log: ``page``, ``time``; by page, then by time
* routes: ``robot`` (from 1), ``page``; by robot, then in the order of its visits

All functions that read raise :class:`newsbot.errors.UserError` with the file and, if possible, the row.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from newsbot.apps.files import atomic_target
from newsbot.apps.simulator.model import (
    AVAILABLE,
    FORBIDDEN,
    LAST_MOMENT,
    Array,
    ChangeLog,
    Columns,
    QueryLog,
    Routes,
    Table,
    optional,
    require_memory,
)
from newsbot.apps.simulator.runs import MAX_BYTES, Run, Steps
from newsbot.cli.program import PROGRAM
from newsbot.errors import UserError

pa, pc, pq = optional("pyarrow"), optional("pyarrow.csv"), optional("pyarrow.parquet")

MAX_PAGES = 10**8
_SIZE = (0, MAX_BYTES - 1)
_TIME = (0, LAST_MOMENT)
_NUMBERS = (
    "pages", "time", "waits", "wait_sum", "min_wait", "max_wait", "downloads", "found", "max_processing",
)  # fmt: skip
_RUN = ("strategy", *_NUMBERS, "fresh_step", "traffic_step", "stale", "processing", "cycles", "traffic")


def write_parquet(path: Path, table: Table | Columns) -> Any:
    """Write a table as Parquet, compressed by zstd, and return it as a pyarrow table.

    The file appears only when it is complete.
    """
    found = pa.Table.from_pylist(table) if isinstance(table, list) else pa.table(table)
    with atomic_target(path) as stream:
        pq.write_table(found, stream, compression="zstd")
    return found


def write_tables(folder: Path, tables: Mapping[str, Table | Columns]) -> None:
    """Write each table as CSV and as Parquet. In CSV, a list is written as JSON."""
    for name, table in tables.items():
        flat = write_parquet(folder / f"{name}.parquet", table)
        for place, field in enumerate(flat.schema):
            if pa.types.is_list(field.type):
                flat = flat.set_column(place, field.name, [[json.dumps(one.as_py()) for one in flat[place]]])
        with atomic_target(folder / f"{name}.csv") as stream:
            pc.write_csv(flat, stream)


def read_table(path: Path, kind: str, columns: Sequence[str], *, whole: bool = False) -> Any:
    """Return these columns of a Parquet file as a pyarrow table, or all columns if ``whole`` is True.

    ``kind`` is the name of this kind of file in error messages.
    """
    try:
        with pq.ParquetFile(path) as file:
            missing = [name for name in columns if name not in file.schema_arrow.names]
            if missing:
                raise UserError(
                    f"{path}: column {missing[0]!r} is missing; {kind} has the columns {', '.join(columns)}"
                )
            rows = file.metadata.num_rows
            # The metadata of the file have the number of rows, so the memory can be checked before the rows
            # are read.
            require_memory(24.0 * len(columns) * rows, f"{path} ({rows:,} rows)")
            return file.read(None if whole else list(columns))
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror or error})") from error
    except pa.ArrowException as error:
        reason = str(error).splitlines()[0]
        raise UserError(f"{path}: is not a Parquet file with {kind} ({reason})") from error


def write_pages(path: Path, sizes: Array) -> None:
    """Write a file of pages with these sizes."""
    write_parquet(path, {"page": np.arange(1, len(sizes) + 1, dtype=np.int32), "size": sizes})


def read_pages(path: Path) -> Array:
    """Return the sizes in a file of pages."""
    columns = _read_numbers(path, "a file of pages", {"page": (1, MAX_PAGES), "size": _SIZE})
    pages = columns["page"]
    _check_rows(
        path, pages != np.arange(1, len(pages) + 1), "pages must be numbered 1, 2, 3, … in this order", 1
    )
    if not len(pages):
        raise UserError(f"{path}: has no pages")
    return columns["size"].astype(np.int32)


def write_changes(path: Path, log: ChangeLog) -> None:
    """Write a change log."""
    columns = {"page": _pages(log.starts), "time": log.times, "type": log.types, "size": log.sizes}
    write_parquet(path, columns)


def read_changes(path: Path, pages: int) -> ChangeLog:
    """Return a change log for ``pages`` pages."""
    limits = {"page": (1, pages), "time": _TIME, "type": (FORBIDDEN, AVAILABLE), "size": _SIZE}
    columns = _read_numbers(path, "a change log", limits)
    types, sizes = columns["type"].astype(np.int8), columns["size"].astype(np.int32)
    return ChangeLog(_starts(path, columns, pages), columns["time"].astype(np.int32), types, sizes)


def write_queries(path: Path, log: QueryLog) -> None:
    """Write a query log."""
    write_parquet(path, {"page": _pages(log.starts), "time": log.times})


def read_queries(path: Path, pages: int) -> QueryLog:
    """Return a query log for ``pages`` pages."""
    columns = _read_numbers(path, "a query log", {"page": (1, pages), "time": _TIME})
    return QueryLog(_starts(path, columns, pages), columns["time"].astype(np.int32))


def write_routes(path: Path, routes: Routes) -> None:
    """Write routes."""
    write_parquet(path, {"robot": _pages(routes.starts), "page": routes.pages + 1})


def read_routes(path: Path, pages: int) -> Routes:
    """Return routes through at most ``pages`` pages."""
    columns = _read_numbers(path, "routes", {"robot": (1, pages), "page": (1, pages)})
    robots, visited = columns["robot"], columns["page"].astype(np.int32) - 1
    if not len(robots):
        raise UserError(f"{path}: has no routes")
    _check_rows(path, np.diff(robots) < 0, "not sorted by robot; sort the routes first", 2)
    counts = np.bincount(visited, minlength=pages)
    if counts.max() > 1:
        raise UserError(
            f"{path}: page {int(counts.argmax()) + 1} occurs twice; a page may occur only once in the file"
        )
    # The number of starts is one more than the number of robots, because the last start is the end of the
    # last route.
    return Routes(np.searchsorted(robots, np.arange(1, int(robots[-1]) + 2)).astype(np.int64), visited)


def write_run(path: Path, strategy: str, run: Run) -> None:
    """Write one run as a table with one row. ``strategy`` is its name in reports."""
    row = {
        "strategy": strategy,
        **{name: getattr(run, name) for name in _NUMBERS},
        "fresh_step": run.steps.fresh,
        "traffic_step": run.steps.traffic,
        "stale": run.stale.tolist(),
        "processing": None if run.processing is None else run.processing.tolist(),
        "cycles": list(run.cycles),
        "traffic": run.traffic.tolist(),
    }
    write_parquet(path, [row])


def read_run(path: Path) -> tuple[str, Run]:
    """Return the strategy and the run in a file of :func:`write_run`."""
    rows = read_table(path, "a run", _RUN).to_pylist()
    if len(rows) != 1:
        raise UserError(f"{path}: has {len(rows)} rows; a run has one")
    row = rows[0]
    try:
        run = Run(
            steps=Steps(row["fresh_step"], row["traffic_step"]),
            stale=np.array(row["stale"], np.int64),
            traffic=np.array(row["traffic"], np.int64),
            processing=None if row["processing"] is None else np.array(row["processing"], np.int64),
            cycles=tuple(row["cycles"]),
            **{name: row[name] for name in _NUMBERS},
        )
        # A series of a wrong length, for example in an edited file, would lead to wrong charts without an
        # error.
        sizes = len(run.fresh_times()), len(run.traffic_times())
        if (len(run.stale), run.traffic.shape[1]) != sizes:
            raise ValueError("series of wrong length")
    except (ValueError, TypeError, IndexError, ZeroDivisionError) as error:
        raise UserError(f"{path}: is not a run that {PROGRAM} simulate wrote ({error})") from error
    return str(row["strategy"]), run


def _read_numbers(path: Path, kind: str, limits: dict[str, tuple[int, int]]) -> dict[str, Array]:
    """Read columns of whole numbers and check their values.

    ``limits`` has the names of the columns, each with its lowest and its highest allowed value.
    """
    table = read_table(path, kind, list(limits))
    found = {}
    for name, (low, high) in limits.items():
        column = table.column(name)
        if not pa.types.is_integer(column.type) or column.null_count:
            raise UserError(f"{path}: the column {name!r} must have whole numbers, without empty cells")
        values = column.to_numpy()
        wrong = np.flatnonzero((values < low) | (values > high))
        if wrong.size:
            value = values[wrong[0]]
            what = f"{name} {value} is negative" if value < 0 else f"{name} is {value}"
            raise UserError(f"{path}: row {wrong[0] + 1}: {what}; allowed are {low} to {high}")
        found[name] = values
    return found


def _check_rows(path: Path, wrong: Array, what: str, first: int) -> None:
    """Raise :class:`UserError` if an item of ``wrong`` is True.

    Item 0 belongs to row ``first`` of the file.
    """
    if wrong.any():
        raise UserError(f"{path}: row {int(wrong.argmax()) + first}: {what}")


def _pages(starts: Array) -> Array:
    """Return the number of the page (or robot) of each row, from 1."""
    return np.repeat(np.arange(1, len(starts), dtype=np.int32), np.diff(starts))


def _starts(path: Path, columns: dict[str, Array], pages: int) -> Array:
    """Return the index of the first row of each page, after a check of the order of the rows."""
    page, time = columns["page"].astype(np.int64), columns["time"].astype(np.int64)
    # Page and time are compared as one number. Its upper bits are the page, and its lower 32 bits are the
    # time. Item 0 of diff() compares rows 1 and 2 of the file. If this item is negative, row 2 is wrong.
    unsorted = np.diff((page << 32) + time) < 0
    _check_rows(path, unsorted, "not sorted by page and then by time; sort the log first", 2)
    return np.searchsorted(page, np.arange(1, pages + 2)).astype(np.int64)
