"""Tables as CSV and Parquet files, and logs from Parquet files that may come from anywhere."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from newsbot.errors import UserError
from newsbot.operations.exporting import atomic_target
from newsbot.simulator.memory import require
from newsbot.simulator.tables import Table

try:
    import pyarrow as pa
    import pyarrow.csv as pc
    import pyarrow.parquet as pq
except ModuleNotFoundError as error:
    if (error.name or "").partition(".")[0] != "pyarrow":
        raise
    raise UserError(
        "the simulator needs numba and pyarrow: pip install -r requirements-simulator.txt"
    ) from error

Columns = dict[str, Any]


def make_folder(folder: Path) -> None:
    """Make a folder for results. Raises :class:`UserError` for what the file system refuses."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"{folder}: cannot be made ({error.strerror}); give --out another folder") from error


def write_parquet(path: Path, table: Table) -> None:
    """Write a table as Parquet (zstd); the file is there whole or not at all."""
    with atomic_target(path) as stream:
        pq.write_table(pa.table(table), stream, compression="zstd")


def write_csv(path: Path, table: Table) -> None:
    """Write a table as CSV; a list is JSON in its cell."""
    flat = {name: _flat(column) for name, column in table.items()}
    with atomic_target(path) as stream:
        pc.write_csv(pa.table(flat), stream)


def write_text(path: Path, text: str) -> None:
    """Write text in UTF-8; the file is there whole or not at all."""
    with atomic_target(path) as stream:
        stream.write(text.encode())


def read_table(path: Path, kind: str, columns: Sequence[str], *, whole: bool = False) -> Any:
    """Return these columns of a Parquet file as a pyarrow table, or all if ``whole``.

    Raises :class:`UserError` if it is no such file, or too large to hold.
    """
    try:
        with pq.ParquetFile(path) as file:
            missing = [name for name in columns if name not in file.schema_arrow.names]
            if missing:
                raise UserError(
                    f"{path}: lacks the column {missing[0]!r}; {kind} has the columns {', '.join(columns)}"
                )
            require(24.0 * len(columns) * file.metadata.num_rows, f"{path} ({file.metadata.num_rows:,} rows)")
            return file.read(None if whole else list(columns))
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror or error})") from error
    except pa.ArrowException as error:
        raise UserError(f"{path}: is no Parquet file with {kind} ({str(error).splitlines()[0]})") from error


def read_columns(path: Path, kind: str, limits: dict[str, tuple[int, int]]) -> Columns:
    """Return columns of whole numbers, each within its limits (both included).

    Raises :class:`UserError` that names the file, the row (from 1) and the column.
    """
    table = read_table(path, kind, list(limits))
    found = {}
    for name, (low, high) in limits.items():
        column = table.column(name)
        if not pa.types.is_integer(column.type) or column.null_count:
            raise UserError(f"{path}: the column {name!r} must hold whole numbers, without gaps")
        values = column.to_numpy()
        wrong = np.flatnonzero((values < low) | (values > high))
        if wrong.size:
            row = int(wrong[0])
            what = f"{name} {values[row]} is negative" if values[row] < 0 else f"{name} is {values[row]}"
            raise UserError(f"{path}: row {row + 1}: {what}; allowed are {low} to {high}")
        found[name] = values
    return found


def _flat(column: Any) -> Any:
    if len(column) and isinstance(column[0], list):
        return [json.dumps(value) for value in column]
    return column
