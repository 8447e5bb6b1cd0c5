"""One open data file: its transactions, and its faults in readable words."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from newsbot.connections.sqlite import open_database, readable_errors, transaction
from newsbot.storage.sqlite.schema import MIGRATIONS

_Record = TypeVar("_Record")


class Access:
    """What the parts of the storage share."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._database = open_database(path, component="storage", migrations=MIGRATIONS)

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        with readable_errors(self._path), transaction(self._database) as database:
            yield database

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        """One reading method sees one state of the data, however many statements it takes."""
        with readable_errors(self._path):
            self._database.execute("BEGIN")
            try:
                yield self._database
            finally:
                if self._database.in_transaction:  # some faults end it by themselves
                    self._database.execute("ROLLBACK")

    def _streamed(self, batches: Iterator[list[_Record]]) -> Iterator[_Record]:
        while True:
            with readable_errors(self._path):
                batch = next(batches, None)
            if batch is None:
                return
            yield from batch
