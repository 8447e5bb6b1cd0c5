"""The word index in the embedded file; see :mod:`newsbot.search.index`."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from newsbot.connections.sqlite import readable_errors, transaction
from newsbot.search.index.entry import Entry, entry_of, unpacked
from newsbot.search.index.segments import State, state_of
from newsbot.storage.records import from_row
from newsbot.storage.sqlite.articles import READ

_FOLDED = (  # one that was removed and came again meanwhile may have the same version: its words still wait
    "DELETE FROM search_waiting WHERE fingerprint = ? AND (version = ? OR body IS NULL)"
    " AND fingerprint NOT IN (SELECT fingerprint FROM search_removed)"
)
_OLDEST = "SELECT fingerprint, version, body FROM search_waiting ORDER BY number LIMIT ?"
_NEWEST = _OLDEST.replace("number", "number DESC")
_REMOVED = "SELECT fingerprint FROM search_removed"
_DROP = (
    "DELETE FROM search_block WHERE number IN"
    " (SELECT number FROM search_block WHERE number >= ? AND number < ? LIMIT ?)"
)
_AT_ONCE = 500
"""Blocks that are deleted in one transaction: a crawl that stores articles waits for it."""


def add(database: sqlite3.Connection, entry: Entry) -> None:
    """Let a version of an article wait to be indexed; within a write transaction."""
    database.execute(
        "INSERT OR REPLACE INTO search_waiting (fingerprint, version, body) VALUES (?, ?, ?)",
        (entry.key, entry.version, entry.packed()),
    )


def forget(database: sqlite3.Connection, keys: Sequence[bytes]) -> None:
    """Take removed articles from the list, and note that they are in segments; within a write transaction."""
    for key in keys:
        database.execute("DELETE FROM search_waiting WHERE fingerprint = ?", (key,))
        database.execute("INSERT OR IGNORE INTO search_removed (fingerprint) VALUES (?)", (key,))


def only_present(database: sqlite3.Connection, number: int) -> None:
    """Index the present version of an article anew, and take out all others; within a write transaction."""
    row = database.execute(f"SELECT fingerprint, {READ} FROM article a WHERE id = ?", (number,)).fetchone()
    if row is not None:
        article = from_row(row)
        forget(database, [row["fingerprint"]])
        add(database, entry_of(article, row["fingerprint"], article.version))


class SqliteBlocks:
    """:class:`newsbot.search.index.blocks.BlockStore` in the embedded file."""

    def __init__(self, database: sqlite3.Connection, path: Path) -> None:
        self._database, self._path = database, path

    def state(self) -> State:
        """See :meth:`newsbot.search.index.blocks.BlockStore.state`."""
        with readable_errors(self._path):
            row = self._database.execute("SELECT state FROM search_state").fetchone()
        return state_of(None if row is None else row[0])

    def change(
        self, old: State, new: State, folded: Sequence[Entry] = (), purged: Iterable[bytes] = ()
    ) -> bool:
        """See :meth:`newsbot.search.index.blocks.BlockStore.change`."""
        with readable_errors(self._path), transaction(self._database) as database:
            row = database.execute("SELECT state FROM search_state").fetchone()
            if state_of(None if row is None else row[0]).revision != old.revision:
                return False
            database.execute(
                "INSERT OR REPLACE INTO search_state (one, state) VALUES (1, ?)", (new.to_json(),)
            )
            database.executemany(_FOLDED, [(one.key, one.version) for one in folded])
            database.executemany(
                "DELETE FROM search_removed WHERE fingerprint = ?", [(one,) for one in purged]
            )
        return True

    def removed(self, among: Sequence[bytes] | None = None) -> frozenset[bytes]:
        """See :meth:`newsbot.search.index.blocks.BlockStore.removed`."""
        with readable_errors(self._path):
            if among is None:
                return frozenset(row[0] for row in self._database.execute(_REMOVED))
            asked = f"{_REMOVED} WHERE fingerprint = ?"
            found = (self._database.execute(asked, (key,)).fetchone() for key in among)
            return frozenset(row[0] for row in found if row)

    def waiting(self, limit: int, *, newest: bool = False) -> list[Entry]:
        """See :meth:`newsbot.search.index.blocks.BlockStore.waiting`."""
        with readable_errors(self._path):
            rows = self._database.execute(_NEWEST if newest else _OLDEST, (limit,)).fetchall()
            return [
                one
                for row in rows
                if (one := unpacked(*row) if row["body"] is not None else self._made(row["fingerprint"]))
            ]

    def count_waiting(self, most: int) -> int:
        """Return how many wait, or ``most`` if more do."""
        with readable_errors(self._path):
            counted = self._database.execute(
                "SELECT count(*) FROM (SELECT 1 FROM search_waiting LIMIT ?)", (most,)
            )
            return int(counted.fetchone()[0])

    def blocks(self, numbers: Sequence[int]) -> Mapping[int, bytes]:
        """See :meth:`newsbot.search.index.blocks.BlockStore.blocks`."""
        with readable_errors(self._path):
            rows = self._database.execute(
                "SELECT number, body FROM search_block WHERE number IN (SELECT value FROM json_each(?))",
                (json.dumps(list(numbers)),),
            )
            return {row[0]: row[1] for row in rows}

    def write(self, blocks: Mapping[int, bytes]) -> None:
        """See :meth:`newsbot.search.index.blocks.BlockStore.write`."""
        with readable_errors(self._path), transaction(self._database) as database:
            database.executemany("INSERT OR REPLACE INTO search_block VALUES (?, ?)", sorted(blocks.items()))

    def drop(self, first: int, after: int) -> None:
        """See :meth:`newsbot.search.index.blocks.BlockStore.drop`."""
        gone = -1
        while gone:
            with readable_errors(self._path), transaction(self._database) as database:
                gone = database.execute(_DROP, (first, after, _AT_ONCE)).rowcount

    def _made(self, key: bytes) -> Entry | None:
        """The entry of an article that was stored before there was this index."""
        row = self._database.execute(f"SELECT {READ} FROM article a WHERE fingerprint = ?", (key,)).fetchone()
        if row is None:
            return None
        article = from_row(row)
        return entry_of(article, key, article.version)
