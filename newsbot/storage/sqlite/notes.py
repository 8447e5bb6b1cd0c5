"""Stores notes in a table with one row for each kind and key."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from newsbot.storage.notes import NoteName, Notes, key_of, packed_note, unpacked_note
from newsbot.storage.sqlite.connection import Repository

_SAVE = (
    "INSERT INTO note (kind, key, body) VALUES (?, ?, ?)"
    " ON CONFLICT (kind, key) DO UPDATE SET body = excluded.body"
)
_GET = "SELECT body FROM note WHERE kind = ? AND key = ?"
_MAKE = "INSERT INTO note (kind, key, body) VALUES (?, ?, ?) ON CONFLICT (kind, key) DO NOTHING"
# Compares the text of the old note, so that nothing is replaced if another worker has changed the note.
_REPLACE = "UPDATE note SET body = ? WHERE kind = ? AND key = ? AND body = ?"


class SqliteNotes(Repository, Notes):
    """:class:`newsbot.storage.notes.Notes` in the data file."""

    def save(self, kind: str, key: str, note: Mapping[str, Any]) -> None:
        with self.file.writing() as database:
            database.execute(_SAVE, (*key_of(kind, key), packed_note(key, note)))

    def swap(self, kind: str, key: str, old: Mapping[str, Any] | None, new: Mapping[str, Any]) -> bool:
        where, body = key_of(kind, key), packed_note(key, new)
        with self.file.writing() as database:
            if old is None:
                return database.execute(_MAKE, (*where, body)).rowcount > 0
            return database.execute(_REPLACE, (body, *where, packed_note(key, old))).rowcount > 0

    def get_many(self, names: Sequence[NoteName]) -> dict[NoteName, dict[str, Any]]:
        with self.file.reading() as database:
            rows = {name: database.execute(_GET, key_of(*name)).fetchone() for name in names}
        return {name: unpacked_note(row["body"]) for name, row in rows.items() if row is not None}

    def all(self, kind: str) -> dict[str, dict[str, Any]]:
        with self.file.reading() as database:
            rows = database.execute("SELECT key, body FROM note WHERE kind = ?", (key_of(kind, "")[0],))
            return {row["key"]: unpacked_note(row["body"]) for row in rows}

    def forget(self, kind: str, key: str) -> bool:
        with self.file.writing() as database:
            done = database.execute("DELETE FROM note WHERE kind = ? AND key = ?", key_of(kind, key))
            return done.rowcount > 0
