"""The crawl database: one row a URL."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from itertools import islice
from operator import attrgetter
from typing import Any

from newsbot.items import Kind, PageRecord
from newsbot.storage.base import MAX_HISTORY, MAX_REFERRERS
from newsbot.storage.history import merged
from newsbot.storage.records import to_json
from newsbot.storage.referrers import Referrers, referrers_of
from newsbot.text.words import clean

_COLUMNS = tuple(field.name for field in fields(PageRecord))
_KEPT = frozenset({"fingerprint", "referrers", "referrer_count", "first_seen"})
_LARGEST = (1 << 63) - 1  # SQLite's integers; a header may claim any Content-Length
_AT_ONCE = 500  # parameters of one statement, and rows of one batch of a stream

_OWN = tuple(name for name in _COLUMNS if name not in ("depth", "referrers", "referrer_count", "history"))
_WRITTEN = (*_OWN, "depth", "referrers", "referrer_count", "referrer_bitmap", "history")
INSERT = f"INSERT INTO page ({', '.join(_WRITTEN)}) VALUES ({', '.join('?' * len(_WRITTEN))})"
_values_of = attrgetter(*_OWN)
_SAVE = f"{INSERT} ON CONFLICT (fingerprint) DO UPDATE SET " + ", ".join(
    f"{name} = excluded.{name}" for name in _COLUMNS if name not in _KEPT
)


def discover(database: sqlite3.Connection, pages: Sequence[PageRecord]) -> None:
    """Record pages that links point to; within a write transaction."""
    known = _links_to(database, [page.fingerprint for page in pages])
    new: dict[bytes, tuple[PageRecord, Referrers, int]] = {}
    changed: dict[bytes, tuple[Referrers, int]] = {}
    for page in pages:
        if page.fingerprint in known:
            referrers, depth = known[page.fingerprint]
            if referrers.add(map(clean, page.referrers)) | (page.depth < depth):
                changed[page.fingerprint] = known[page.fingerprint] = (referrers, min(depth, page.depth))
        elif page.fingerprint in new:
            first, referrers, depth = new[page.fingerprint]
            referrers.add(map(clean, page.referrers))
            new[page.fingerprint] = (first, referrers, min(depth, page.depth))
        else:
            new[page.fingerprint] = (page, referrers_of(page), page.depth)
    rows = [row_of(page, referrers, depth, page.history) for page, referrers, depth in new.values()]
    database.executemany(INSERT, rows)
    database.executemany(
        "UPDATE page SET depth = ?, referrer_count = ?, referrers = ?, referrer_bitmap = ?"
        " WHERE fingerprint = ?",
        [
            (depth, referrers.count, to_json(referrers.kept), referrers.bitmap, fingerprint)
            for fingerprint, (referrers, depth) in changed.items()
        ],
    )


def pages(database: sqlite3.Connection, fingerprints: Sequence[bytes]) -> dict[bytes, PageRecord]:
    """Return the records of those URLs that are known."""
    rows = _select(database, ", ".join(_COLUMNS), fingerprints)
    return {row["fingerprint"]: record_of(row) for row in rows}


def save_pages(database: sqlite3.Connection, records: Sequence[PageRecord]) -> None:
    """Write records whole, but for what only grows; within a write transaction."""
    wanted = [record.fingerprint for record in records]
    histories = {
        row["fingerprint"]: json.loads(row["history"])
        for row in _select(database, "fingerprint, history", wanted)
    }
    rows = []
    for record in records:
        history = merged(histories.get(record.fingerprint, []), json.loads(to_json(record.history)))
        histories[record.fingerprint] = history
        rows.append(row_of(record, referrers_of(record), record.depth, history))
    database.executemany(_SAVE, rows)


def page_batches(
    database: sqlite3.Connection, source: str | None, kind: Kind | None, state: str | None
) -> Iterator[list[PageRecord]]:
    """Yield all records that match, batch by batch: no cursor stays open while the caller works.

    Pages that come in meanwhile are left out.
    """
    asked = {"source": source, "kind": kind, "state": state}
    conditions = " AND ".join(
        ["id > ?", "id <= ?"] + [f"{name} = ?" for name, value in asked.items() if value is not None]
    )
    values = [str(value) for value in asked.values() if value is not None]
    last: int = database.execute("SELECT coalesce(max(id), 0) FROM page").fetchone()[0]
    place = 0
    while True:
        rows = database.execute(
            f"SELECT id, {', '.join(_COLUMNS)} FROM page WHERE {conditions} ORDER BY id LIMIT {_AT_ONCE}",
            [place, last, *values],
        ).fetchall()
        if not rows:
            return
        yield [record_of(row) for row in rows]
        place = rows[-1]["id"]


def due_batches(database: sqlite3.Connection, after: float, until: float) -> Iterator[list[PageRecord]]:
    """Yield the records that are due in this time, the earliest first, batch by batch."""
    place: tuple[float, int] = (after, _LARGEST)  # behind all that is due at ``after``
    while True:
        rows = database.execute(
            f"SELECT id, {', '.join(_COLUMNS)} FROM page WHERE (next_due, id) > (?, ?) AND next_due <= ?"
            f" ORDER BY next_due, id LIMIT {_AT_ONCE}",
            (*place, until),
        ).fetchall()
        if not rows:
            return
        yield [record_of(row) for row in rows]
        place = (rows[-1]["next_due"], rows[-1]["id"])


def _links_to(
    database: sqlite3.Connection, fingerprints: Sequence[bytes]
) -> dict[bytes, tuple[Referrers, int]]:
    rows = _select(database, "fingerprint, depth, referrers, referrer_count, referrer_bitmap", fingerprints)
    return {
        row["fingerprint"]: (
            Referrers(json.loads(row["referrers"]), row["referrer_count"], row["referrer_bitmap"]),
            row["depth"],
        )
        for row in rows
    }


def _select(
    database: sqlite3.Connection, columns: str, fingerprints: Iterable[bytes]
) -> Iterator[sqlite3.Row]:
    asked = iter(dict.fromkeys(fingerprints))
    while some := list(islice(asked, _AT_ONCE)):
        marks = ", ".join("?" * len(some))
        yield from database.execute(f"SELECT {columns} FROM page WHERE fingerprint IN ({marks})", some)


def row_of(
    page: PageRecord, referrers: Referrers, depth: int, history: Sequence[Mapping[str, Any]]
) -> tuple[Any, ...]:
    """Return the values of a row for :data:`INSERT`."""
    return (
        *[_plain(value) if value.__class__ in (str, int) else value for value in _values_of(page)],
        depth,
        to_json(referrers.kept),
        referrers.count,
        referrers.bitmap,
        to_json(history[-MAX_HISTORY:]) if history else "[]",
    )


def _plain(value: str | int) -> str | int:
    return clean(value) if isinstance(value, str) else min(value, _LARGEST)


def record_of(row: sqlite3.Row) -> PageRecord:
    """Return the record of a whole row."""
    values = {name: row[name] for name in _COLUMNS}
    values["kind"] = Kind(row["kind"])
    values["referrers"] = json.loads(row["referrers"])[:MAX_REFERRERS]
    values["history"] = json.loads(row["history"])
    return PageRecord(**values)
