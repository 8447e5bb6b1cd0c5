"""Deleting what is old; see :mod:`newsbot.storage.retention`. Writes within a write transaction."""

from __future__ import annotations

import sqlite3
from datetime import datetime

from newsbot.clock import stamp
from newsbot.storage.sqlite import words

_OLD_VERSIONS = "FROM article_version WHERE json_extract(document, '$.fetched_at') < ?"
_OLD_PAGES = (
    "FROM page WHERE next_due IS NULL AND coalesce(last_fetched, first_seen) < ?"
    " AND (history <> '[]' OR referrers <> '[]')"
)


def old_versions(database: sqlite3.Connection, before: datetime) -> int:
    """Return how many earlier versions are that old."""
    return int(database.execute(f"SELECT count(*) {_OLD_VERSIONS}", (stamp(before),)).fetchone()[0])


def drop_versions(database: sqlite3.Connection, before: datetime, limit: int) -> int:
    """Delete earlier versions, with their words."""
    rows = database.execute(
        f"SELECT article, version {_OLD_VERSIONS} LIMIT ?", (stamp(before), limit)
    ).fetchall()
    for number in {row["article"] for row in rows}:
        words.only_present(database, number)
    for number, version in rows:
        database.execute("DELETE FROM article_version WHERE article = ? AND version = ?", (number, version))
    return len(rows)


def old_pages(database: sqlite3.Connection, before: float) -> int:
    """Return how many page records could be made smaller."""
    return int(database.execute(f"SELECT count(*) {_OLD_PAGES}", (before,)).fetchone()[0])


def slim_pages(database: sqlite3.Connection, before: float, limit: int) -> int:
    """Take history and referrers from page records."""
    return database.execute(
        "UPDATE page SET history = '[]', referrers = '[]', referrer_bitmap = x''"
        f" WHERE id IN (SELECT id {_OLD_PAGES} LIMIT ?)",
        (before, limit),
    ).rowcount
