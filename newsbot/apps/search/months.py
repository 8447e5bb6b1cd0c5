"""The words of the search index: files beside ``search.db``, one for each month of publication or for fewer
days.

A file of words has the FTS5 table and the data that are needed to delete an article from it. All other tables
of the index are in ``search.db``. A file of the past changes only if one of its articles changes. Files can
be moved to another disk or deleted.

A batch of changes is written to the files of words before it is written to ``search.db``. If the writing
process dies in between, a file has rows that ``search.db`` does not have. The table ``dirty`` names the files
that are being written. Before the next batch, such rows are removed from them.
"""

from __future__ import annotations

import re
import shutil
import sqlite3
import zlib
from collections.abc import Iterable, Sequence
from pathlib import Path

from newsbot.apps.search.query import PAIR
from newsbot.connections.sqlite import open_database, readable_errors, transaction
from newsbot.items import Bounded

UNDATED = "0000-00"
"""The month of articles without a date."""
_NAME = re.compile(r"\d{4}-\d\d(-\d\d)?")
_OPEN = 128
"""Maximum number of files that are open for searches."""
_MERGED = 250
"""Approximate number of pages of the file that one step of merging writes. Other writers wait for at most one
step."""
_MIGRATIONS = {
    1: """
    CREATE VIRTUAL TABLE words USING fts5 (title, text, authors, marks, content='', tokenize='ascii');
    -- FTS5 stores words in segments, and merges segments of one level. 0: no merging during insertions.
    -- merge() does it in its own short transactions, before a level has 64 segments. Then one insertion would
    -- merge all of them.
    INSERT INTO words (words, rank) VALUES ('automerge', 0);
    INSERT INTO words (words, rank) VALUES ('crisismerge', 64);
    -- The words of each article, to delete it from the FTS5 table.
    CREATE TABLE stems (row INTEGER PRIMARY KEY, body BLOB NOT NULL);
    """
}

Columns = tuple[str, str, str, str]
"""The columns of the FTS5 table."""
Words = tuple[int, Columns, bytes]
"""An article: row number, columns, and the data that are needed to delete it."""


class Months:
    """The files of words of all generations, in one folder. Only one thread may use an object."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._open = Bounded[Path, tuple[int, sqlite3.Connection]](_OPEN)
        """Open files, each with its inode: another process may have moved or deleted the file."""
        self._unmerged: dict[tuple[int, str], None] = {}

    def close(self) -> None:
        """Close all files."""
        while self._open:
            self._open.popitem()[1][1].close()

    def names(self, generation: int) -> list[str]:
        """Return the names of all files, the latest first."""
        folder = self._of(generation)
        found = (one.stem for one in folder.glob("*.db")) if folder.is_dir() else ()
        return sorted(filter(_NAME.fullmatch, found), reverse=True)

    def size(self, generation: int) -> int:
        """Return the number of bytes of all files."""
        return sum(self.path(generation, name).stat().st_size for name in self.names(generation))

    def path(self, generation: int, name: str) -> Path:
        """Return the path of a file."""
        return self._of(generation) / f"{name}.db"

    def opened(self, generation: int, name: str, *, create: bool = False) -> sqlite3.Connection | None:
        """Return an open file; None if it does not exist."""
        path = self.path(generation, name)
        inode = path.stat().st_ino if path.exists() else 0
        if path in self._open:
            self._open.move_to_end(path)
            before, connection = self._open[path]
            if before == inode:
                return connection
            self._shut(path)
        if not create and not inode:
            return None
        path.parent.mkdir(parents=True, exist_ok=True)
        if len(self._open) >= _OPEN:
            self._shut(next(iter(self._open)))
        connection = open_database(path, component="search", migrations=_MIGRATIONS)
        connection.execute("PRAGMA cache_size=-4096")  # KiB
        self._open[path] = path.stat().st_ino, connection
        return connection

    def _shut(self, path: Path) -> None:
        if path in self._open:
            self._open.pop(path)[1].close()

    def interrupt(self) -> None:
        """Interrupt running queries of another thread."""
        for _, one in list(self._open.values()):
            one.interrupt()

    def write(self, generation: int, name: str, gone: Iterable[int], rows: Sequence[Words]) -> None:
        """Delete and insert articles in one transaction. Repeating the call changes nothing."""
        connection = self.opened(generation, name, create=True)
        assert connection is not None
        with readable_errors(self.path(generation, name)), transaction(connection):
            for row in sorted({*gone, *(row for row, *_ in rows)}):
                _forget(connection, row)
            connection.executemany("INSERT INTO stems VALUES (?, ?)", ((row, body) for row, _, body in rows))
            connection.executemany(
                "INSERT INTO words (rowid, title, text, authors, marks) VALUES (?, ?, ?, ?, ?)",
                # sorted, because FTS5 flushes its memory whenever the row numbers decrease
                sorted((row, *columns) for row, columns, _ in rows),
            )
        self._unmerged[generation, name] = None

    def rows(self, generation: int, name: str) -> set[int]:
        """Return the row numbers of all articles of a file."""
        connection = self.opened(generation, name)
        return (
            set() if connection is None else {row[0] for row in connection.execute("SELECT row FROM stems")}
        )

    def merge(self) -> bool:
        """Do one step of merging FTS5's segments. Return False if there was nothing to merge."""
        while self._unmerged:
            generation, name = next(iter(self._unmerged))
            connection = self.opened(generation, name)
            if connection is not None:
                with readable_errors(self.path(generation, name)), transaction(connection):
                    before = connection.total_changes
                    connection.execute("INSERT INTO words (words, rank) VALUES ('merge', ?)", (_MERGED,))
                    if connection.total_changes - before > 1:  # 1 means no work (FTS5, 'merge')
                        return True
            del self._unmerged[generation, name]
        return False

    def drop(self, generation: int, names: Iterable[str] | None = None) -> None:
        """Delete files; all of them if ``names`` is None."""
        for name in self.names(generation) if names is None else names:
            path = self.path(generation, name)
            self._shut(path)
            self._unmerged.pop((generation, name), None)
            target = path.resolve()  # it differs if the file was moved to another disk
            for end in ("", "-wal", "-shm"):
                target.with_name(target.name + end).unlink(missing_ok=True)
            path.unlink(missing_ok=True)
        if names is None:
            shutil.rmtree(self._of(generation), ignore_errors=True)

    def keep(self, generations: Sequence[int]) -> None:
        """Delete the files of all other generations."""
        for folder in self.folder.iterdir() if self.folder.is_dir() else ():
            if folder.name.isdecimal() and int(folder.name) not in generations:
                self.drop(int(folder.name))

    def move(self, generation: int, name: str, folder: Path) -> None:
        """Move a file to another folder. A link remains in its place."""
        path = self.path(generation, name)
        connection = self.opened(generation, name)
        assert connection is not None
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        self._shut(path)
        before = path.resolve()
        target = folder.resolve() / f"search-{generation}-{name}.db"
        if target == before:
            return
        shutil.copyfile(before, target)
        link = path.with_suffix(".new")
        link.unlink(missing_ok=True)
        link.symlink_to(target)
        link.replace(path)
        if before != path:
            before.unlink()

    def _of(self, generation: int) -> Path:
        return self.folder / str(generation)


def _forget(connection: sqlite3.Connection, row: int) -> None:
    found = connection.execute("SELECT body FROM stems WHERE row = ?", (row,)).fetchone()
    if found is None:
        return
    connection.execute(
        "INSERT INTO words (words, rowid, title, text, authors, marks) VALUES ('delete', ?, ?, ?, ?, ?)",
        (row, *unpacked(found[0])),
    )
    connection.execute("DELETE FROM stems WHERE row = ?", (row,))


def packed(columns: tuple[str, str, str, str]) -> bytes:
    """Return the data that are needed to delete an article, in compressed form.

    Instead of the text, they contain each different word once, and the total number of words.
    """
    title, text, authors, marks = columns
    words = text.split()
    lines = (title, " ".join(dict.fromkeys(words)), str(len(words)), authors, marks)
    return zlib.compress("\n".join(lines).encode())


def unpacked(body: bytes) -> tuple[str, str, str, str]:
    """Return columns that FTS5 can use to delete an article.

    The words of the text are in another order. FTS5 needs only the different words and the total number of
    words.
    """
    title, text, number, authors, marks = zlib.decompress(body).decode().split("\n")
    words = text.split()
    again = words[:1] * (int(number) - len(words))  # repeat any word until the number is right
    return title, " ".join([*words, *again]), authors, marks


def stems_of(body: bytes) -> tuple[frozenset[str], frozenset[str]]:
    """Return the stems of the title, and the stems of title and text, from the data of :func:`packed`."""
    # the pairs are after all stems
    title, text = (line.partition(f" {PAIR}")[0] for line in zlib.decompress(body).decode().split("\n")[:2])
    return frozenset(title.split()), frozenset((*title.split(), *text.split()))
