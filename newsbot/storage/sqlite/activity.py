"""Hours of sites: one row a site and hour, and one for all of them; articles by the time of their fetch."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping

from newsbot.clock import from_stamp
from newsbot.storage.activity import COUNTED, HOUR, KEEP_HOURS, Arrival, Hour, counted
from newsbot.text.words import clean

_ADD = (
    f"INSERT INTO site_hour (source, hour, {', '.join(COUNTED)})"
    f" VALUES (:source, :hour, {', '.join(f':{name}' for name in COUNTED)})"
    f" ON CONFLICT (source, hour) DO UPDATE SET {', '.join(f'{name} = {name} + :{name}' for name in COUNTED)}"
)
_TRENDS = """
SELECT source, hour / 24, sum(articles) FROM site_hour
WHERE hour >= ? AND source <> '' AND articles > 0 GROUP BY 1, 2
"""
_ARRIVALS = """
SELECT source, published_at, fetched_at, json_extract(data, '$.published_precision') AS precision
FROM article WHERE version = 1 {} ORDER BY fetched_at DESC LIMIT ?
"""


def add_activity(database: sqlite3.Connection, at: float, sites: Mapping[str, Mapping[str, float]]) -> None:
    """Add counters to an hour; within a write transaction."""
    none = dict.fromkeys(COUNTED, 0)
    hour = int(at // HOUR)
    for source, counters in counted(sites).items():
        name = clean(source)
        database.execute(_ADD, none | counters | {"source": name, "hour": hour})
        database.execute("DELETE FROM site_hour WHERE source = ? AND hour <= ?", (name, hour - KEEP_HOURS))


def activity(database: sqlite3.Connection, since: float, source: str) -> list[Hour]:
    """Return the hours of a site, or of all together."""
    rows = database.execute(
        "SELECT * FROM site_hour WHERE source = ? AND hour >= ? ORDER BY hour",
        (clean(source), int(since // HOUR)),
    )
    return [
        Hour(row["source"], row["hour"], {name: row[name] for name in COUNTED if row[name]}) for row in rows
    ]


def trends(database: sqlite3.Connection, since: float) -> dict[str, dict[int, int]]:
    """Return the new articles of each site by the day."""
    found: dict[str, dict[int, int]] = {}
    for source, day, articles in database.execute(_TRENDS, (int(since // HOUR),)):
        found.setdefault(source, {})[day] = articles
    return found


def watched_since(database: sqlite3.Connection) -> dict[str, float]:
    """Return the first hour of each site."""
    rows = database.execute("SELECT source, min(hour) FROM site_hour WHERE source <> '' GROUP BY source")
    return {source: float(hour * HOUR) for source, hour in rows}


def arrivals(database: sqlite3.Connection, limit: int, source: str | None) -> list[Arrival]:
    """Return the articles that were fetched last."""
    chosen, values = ("", []) if source is None else ("AND source = ?", [source])
    rows = database.execute(_ARRIVALS.format(chosen), [*values, max(0, limit)])
    return [
        Arrival(
            row["source"],
            from_stamp(row["published_at"]),
            row["precision"] in ("second", "minute"),
            from_stamp(row["fetched_at"]),
        )
        for row in rows
    ]
