"""What looks at pages found: one row a page, with its last checks."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Sequence
from typing import Any

from newsbot.storage.checks import MAX_CHECKS, CheckedPage, PageCheck, packed, unpacked
from newsbot.storage.history import merged
from newsbot.storage.records import to_json
from newsbot.text.words import clean
from newsbot.urls import fingerprint

_AT_ONCE = 500
_SAVE = """
    INSERT INTO page_check (fingerprint, url, source, last, checks) VALUES (?, ?, ?, ?, ?)
    ON CONFLICT (fingerprint) DO UPDATE SET url = excluded.url, source = excluded.source,
        last = excluded.last, checks = excluded.checks
"""


def save_checks(database: sqlite3.Connection, checks: Sequence[PageCheck]) -> None:
    """Keep checks; within a write transaction."""
    for check in checks:
        url = clean(check.url)
        key = fingerprint(url)
        row = database.execute("SELECT checks FROM page_check WHERE fingerprint = ?", (key,)).fetchone()
        kept = [] if row is None else json.loads(row["checks"])
        events = merged(kept, [json.loads(to_json(packed(check)))], MAX_CHECKS)
        database.execute(_SAVE, (key, url, clean(check.source), events[-1]["at"], to_json(events)))


def checked(database: sqlite3.Connection, fingerprints: Sequence[bytes]) -> dict[bytes, CheckedPage]:
    """Return the checks of those URLs."""
    asked = list(dict.fromkeys(fingerprints))
    found: dict[bytes, CheckedPage] = {}
    for start in range(0, len(asked), _AT_ONCE):
        some = asked[start : start + _AT_ONCE]
        marks = ", ".join("?" * len(some))
        rows = database.execute(f"SELECT * FROM page_check WHERE fingerprint IN ({marks})", some)
        found |= {row["fingerprint"]: _page(row) for row in rows}
    return found


def checked_batches(
    database: sqlite3.Connection, source: str | None, *, unlisted: bool
) -> Iterator[list[CheckedPage]]:
    """Yield checked pages, batch by batch: no cursor stays open while the caller works."""
    condition = "" if source is None else "source = :source AND "
    if unlisted:
        condition += "NOT EXISTS (SELECT 1 FROM page p WHERE p.fingerprint = page_check.fingerprint) AND "
    place = 0
    while True:
        rows = database.execute(
            f"SELECT * FROM page_check WHERE {condition}id > :place ORDER BY id LIMIT {_AT_ONCE}",
            {"source": None if source is None else clean(source), "place": place},
        ).fetchall()
        if not rows:
            return
        yield [_page(row) for row in rows]
        place = rows[-1]["id"]


def forget_checks(
    database: sqlite3.Connection, source: str | None, url: str | None, before: float | None
) -> int:
    """Delete the checks of pages; within a write transaction."""
    conditions, values = ["1"], list[Any]()
    for condition, value in (
        ("source = ?", None if source is None else clean(source)),
        ("fingerprint = ?", None if url is None else fingerprint(clean(url))),
        ("last < ?", before),
    ):
        if value is not None:
            conditions.append(condition)
            values.append(value)
    return database.execute(f"DELETE FROM page_check WHERE {' AND '.join(conditions)}", values).rowcount


def _page(row: sqlite3.Row) -> CheckedPage:
    return unpacked(row["url"], row["source"], json.loads(row["checks"]))
