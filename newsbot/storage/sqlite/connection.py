"""The open data file: its transactions, and its faults in readable words."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from newsbot.connections.sqlite import open_database, readable_errors, snapshot, transaction
from newsbot.storage.sqlite.schema import MIGRATIONS

_Record = TypeVar("_Record")


class DataFile:
    """One connection to the data file; every repository of a storage works on it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.database = open_database(path, component="storage", migrations=MIGRATIONS)

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """Run the block as one write transaction: all of it or nothing."""
        with readable_errors(self.path), transaction(self.database) as database:
            yield database

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Let all statements of the block see one state of the data."""
        with readable_errors(self.path), snapshot(self.database) as database:
            yield database

    def streamed(self, batches: Iterator[list[_Record]]) -> Iterator[_Record]:
        """Yield the records of batches. A batch must leave no cursor open: the caller may write in
        between."""
        while True:
            with readable_errors(self.path):
                batch = next(batches, None)
            if batch is None:
                return
            yield from batch

    def numbered(self, query: str, values: Sequence[object]) -> Iterator[list[sqlite3.Row]]:
        """Yield the rows of ``query`` in batches; it asks for ``id > ?`` first, orders by ``id`` and has a
        LIMIT."""
        after = 0
        while rows := self.database.execute(query, [after, *values]).fetchall():
            yield rows
            after = rows[-1]["id"]
