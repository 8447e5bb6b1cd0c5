"""Holds the open data file, with transactions, streams, and errors with readable messages."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from newsbot.connections.sqlite import (
    migrations_in,
    open_database,
    readable_errors,
    snapshot,
    transaction,
)

MIGRATIONS = migrations_in("storage/sqlite")

_Record = TypeVar("_Record")


class DataFile:
    """One connection to the data file. All repositories of a storage share it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.database = open_database(path, component="storage", migrations=MIGRATIONS)

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """Run the block as one write transaction, which is stored completely or not at all.

        The transaction takes the write lock at its beginning, so the data that the block reads cannot change
        before the block writes.
        """
        with readable_errors(self.path), transaction(self.database) as database:
            yield database

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Run the block as one read transaction, in which all statements see the same state of the data."""
        with readable_errors(self.path), snapshot(self.database) as database:
            yield database

    def streamed(self, batches: Iterator[list[_Record]]) -> Iterator[_Record]:
        """Yield the records of ``batches`` one by one.

        The iterator must not keep a cursor open between two batches, because the caller may write between two
        records.
        """
        while True:
            with readable_errors(self.path):
                batch = next(batches, None)
            if batch is None:
                return
            yield from batch

    def numbered(self, query: str, values: Sequence[object]) -> Iterator[list[sqlite3.Row]]:
        """Yield the rows of ``query`` in batches.

        The first condition of the query must be ``id > ?``. The query must order by ``id`` and have a LIMIT.
        ``values`` are its other parameters. Each batch is a separate query that starts after the last row of
        the previous batch.
        """
        after = 0
        while rows := self.database.execute(query, [after, *values]).fetchall():
            yield rows
            after = rows[-1]["id"]


class Repository:
    """A part of the storage, with its tables in the data file."""

    def __init__(self, file: DataFile) -> None:
        self.file = file
