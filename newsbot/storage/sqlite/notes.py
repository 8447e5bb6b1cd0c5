"""Notes: one row for each kind and key."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from typing import Any

from newsbot.storage.notes import key_of, packed, unpacked


def save_note(database: sqlite3.Connection, kind: str, key: str, note: Mapping[str, Any]) -> None:
    """Keep a note; within a write transaction."""
    database.execute(
        "INSERT INTO note (kind, key, body) VALUES (?, ?, ?)"
        " ON CONFLICT (kind, key) DO UPDATE SET body = excluded.body",
        (*key_of(kind, key), packed(key, note)),
    )


def swap_note(
    database: sqlite3.Connection, kind: str, key: str, old: Mapping[str, Any] | None, new: Mapping[str, Any]
) -> bool:
    """Keep ``new`` if ``old`` still stands there; within a write transaction."""
    where, body = key_of(kind, key), packed(key, new)
    if old is None:
        done = database.execute(
            "INSERT INTO note (kind, key, body) VALUES (?, ?, ?) ON CONFLICT (kind, key) DO NOTHING",
            (*where, body),
        )
    else:
        done = database.execute(
            "UPDATE note SET body = ? WHERE kind = ? AND key = ? AND body = ?",
            (body, *where, packed(key, old)),
        )
    return done.rowcount > 0


def notes(database: sqlite3.Connection, kind: str) -> dict[str, dict[str, Any]]:
    """Return all notes of a kind by key."""
    rows = database.execute("SELECT key, body FROM note WHERE kind = ?", (key_of(kind, "")[0],))
    return {row["key"]: unpacked(row["body"]) for row in rows}


def forget_note(database: sqlite3.Connection, kind: str, key: str) -> bool:
    """Delete a note; within a write transaction."""
    done = database.execute("DELETE FROM note WHERE kind = ? AND key = ?", key_of(kind, key))
    return done.rowcount > 0
