"""Feeds and the like, and the counters of sites."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable
from dataclasses import asdict, fields

from newsbot.items import Kind
from newsbot.storage.base import SiteRecord, SourceRecord
from newsbot.storage.records import to_json
from newsbot.text.words import clean

_COLUMNS = tuple(field.name for field in fields(SourceRecord))
_SAVE = (
    f"INSERT OR REPLACE INTO source ({', '.join(_COLUMNS)})"
    f" VALUES ({', '.join(f':{name}' for name in _COLUMNS)})"
)
_COUNT_SITE = """
    INSERT INTO site (source, last_article, last_error, last_error_at)
    VALUES (:source, :last_article, :last_error, :last_error_at)
    ON CONFLICT (source) DO UPDATE SET
        last_article = coalesce(max(last_article, excluded.last_article),
            last_article, excluded.last_article),
        last_error = iif(coalesce(excluded.last_error_at, 0) >= coalesce(last_error_at, 0),
            coalesce(excluded.last_error, last_error), last_error),
        last_error_at = coalesce(max(last_error_at, excluded.last_error_at),
            last_error_at, excluded.last_error_at)
"""


def save_sources(database: sqlite3.Connection, records: Iterable[SourceRecord]) -> None:
    """Write source records whole; within a write transaction."""
    rows = [asdict(record) for record in records]
    for row in rows:
        row["kind"] = str(row["kind"])
        row["rhythm"] = to_json(row["rhythm"])
        row["last_error"] = None if row["last_error"] is None else clean(row["last_error"])
    database.executemany(_SAVE, rows)


def sources(database: sqlite3.Connection, source: str | None) -> list[SourceRecord]:
    """Return all source records, or those of one site, by URL."""
    chosen, values = ("", []) if source is None else ("WHERE source = ?", [source])
    rows = database.execute(f"SELECT {', '.join(_COLUMNS)} FROM source {chosen} ORDER BY url", values)
    return [
        SourceRecord(**{**dict(row), "kind": Kind(row["kind"]), "rhythm": json.loads(row["rhythm"])})
        for row in rows
    ]


def count_site(database: sqlite3.Connection, record: SiteRecord) -> None:
    """Add the counters, and keep the later times; within a write transaction."""
    database.executemany(
        "INSERT INTO site_counter VALUES (?, ?, ?)"
        " ON CONFLICT (source, name) DO UPDATE SET value = value + excluded.value",
        [(record.source, name, value) for name, value in record.counters.items()],
    )
    database.execute(
        _COUNT_SITE,
        {
            "source": record.source,
            "last_article": record.last_article,
            "last_error": None if record.last_error is None else clean(record.last_error),
            "last_error_at": record.last_error_at,
        },
    )


def sites(database: sqlite3.Connection) -> dict[str, SiteRecord]:
    """Return all site records by domain."""
    found = {
        row["source"]: SiteRecord(**dict(row))
        for row in database.execute("SELECT * FROM site ORDER BY source")
    }
    for row in database.execute("SELECT source, name, value FROM site_counter"):
        found[row["source"]].counters[row["name"]] = row["value"]
    return found
