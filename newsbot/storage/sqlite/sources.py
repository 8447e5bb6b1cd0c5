"""Stores sources with their polls, counters of sites, hourly counters of sites, and notes."""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, fields
from typing import Any

from newsbot.clock import from_stamp
from newsbot.items import Kind
from newsbot.pages.text.words import clean
from newsbot.storage.base import (
    ALL,
    COUNTED,
    HOUR,
    KEEP_DAYS,
    KEEP_HOURS,
    MAX_POLLS,
    Activity,
    Arrival,
    Hour,
    Poll,
    SiteRecord,
    Sites,
    SourceRecord,
    Sources,
    counted,
    packed_poll,
    unpacked_polls,
)
from newsbot.storage.notes import NoteName, Notes, key_of, packed_note, to_json, unpacked_note
from newsbot.storage.sqlite.connection import Repository

_COLUMNS = tuple(field.name for field in fields(SourceRecord))
_RECORDS = f"SELECT {', '.join(_COLUMNS)} FROM source"
_SAVE = (
    f"INSERT INTO source ({', '.join(_COLUMNS)}) VALUES ({', '.join(f':{name}' for name in _COLUMNS)})"
    f" ON CONFLICT (url) DO UPDATE SET {', '.join(f'{name} = :{name}' for name in _COLUMNS[1:])}"
)
# Rows are drawn from an index, so that only the chosen records are read.
_SAMPLE = f"""
    {_RECORDS} WHERE rowid IN (SELECT rowid FROM source WHERE failures < ? ORDER BY random() LIMIT ?)
"""
_TROUBLED = f"""
    {_RECORDS} WHERE source IN (
        SELECT source FROM source WHERE silent UNION
        SELECT source FROM source AS one WHERE failures >= :failures AND NOT EXISTS (
            SELECT 1 FROM source AS other
            WHERE other.source = one.source AND failures < :failures AND last_poll IS NOT NULL))
    ORDER BY url
"""
# The statement is idempotent: if the text of the day contains the poll, nothing is added. The maximum length
# of this text (:most) is in characters.
_ADD_POLL = """
    INSERT INTO poll_day (url, day, polls) VALUES (:url, :day, ';' || :poll)
    ON CONFLICT (url, day) DO UPDATE SET polls = polls || :poll
    WHERE instr(polls, ';' || :poll) = 0 AND length(polls) < :most
"""
_BATCH = 500
_SHORT_POLL = 12
"""Number of characters of a typical poll. The maximum length of a day's text is computed from it."""
# If one of two values is NULL, SQLite's max() returns NULL. coalesce() then returns the other value.
ADD_SITE = """
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
ADD_COUNTER = (
    "INSERT INTO site_counter VALUES (?, ?, ?)"
    " ON CONFLICT (source, name) DO UPDATE SET value = value + excluded.value"
)
_ADD_HOUR = (
    f"INSERT INTO site_hour (source, hour, {', '.join(COUNTED)})"
    f" VALUES (:source, :hour, {', '.join(f':{name}' for name in COUNTED)})"
    f" ON CONFLICT (source, hour) DO UPDATE SET {', '.join(f'{name} = {name} + :{name}' for name in COUNTED)}"
)
# The source '' stands for all sites together.
_TRENDS = """
    SELECT source, hour / 24, sum(articles) FROM site_hour
    WHERE hour >= ? AND source <> '' AND articles > 0 GROUP BY 1, 2
"""
# Only articles with version 1 are read, because later versions have the time of a later fetch.
_ARRIVALS = """
    SELECT source, published_at, fetched_at, json_extract(data, '$.published_precision') AS precision
    FROM article WHERE version = 1 ORDER BY fetched_at DESC LIMIT ?
"""


class SqliteSources(Repository, Sources):
    """:class:`newsbot.storage.base.Sources` in the data file."""

    def save(self, records: Iterable[SourceRecord]) -> None:
        rows = [asdict(record) for record in records]
        for row in rows:
            row["kind"] = str(row["kind"])
            row["rhythm"] = to_json(row["rhythm"])
            row["last_error"] = None if row["last_error"] is None else clean(row["last_error"])
        with self.file.writing() as database:
            database.executemany(_SAVE, rows)

    def iter(self, site: str | None = None) -> Iterator[SourceRecord]:
        return self.file.streamed(self._batches(site))

    def _batches(self, site: str | None) -> Iterator[list[SourceRecord]]:
        chosen, values = ("", []) if site is None else ("AND source = ?", [site])
        after = ""
        while rows := self._read(f"WHERE url > ? {chosen} ORDER BY url LIMIT {_BATCH}", [after, *values]):
            yield rows
            after = rows[-1].url

    def get(self, url: str) -> SourceRecord | None:
        return next(iter(self._read("WHERE url = ?", [url])), None)

    def best(self, site: str, kind: Kind, limit: int) -> list[SourceRecord]:
        chosen = "WHERE source = ? AND kind = ? ORDER BY failures LIMIT ?"
        return self._read(chosen, [site, str(kind), limit])

    def sample(self, limit: int, *, failures: int) -> list[SourceRecord]:
        return self._read("", [failures, limit], _SAMPLE)

    def troubled(self, failures: int) -> list[SourceRecord]:
        return self._read("", {"failures": failures}, _TROUBLED)

    def count(
        self,
        *,
        failures: int | None = None,
        due: float | None = None,
        sites: Collection[str] | None = None,
    ) -> int:
        chosen, values = _chosen(failures, due, sites)
        with self.file.reading() as database:
            return int(database.execute(f"SELECT count(*) FROM source {chosen}", values).fetchone()[0])

    def first_due(
        self, *, failures: int | None = None, sites: Collection[str] | None = None
    ) -> SourceRecord | None:
        chosen, values = _chosen(failures, math.inf, sites)
        return next(iter(self._read(f"{chosen} ORDER BY next_due, url LIMIT 1", values)), None)

    def failing(self, limit: int, after: str | None = None) -> list[SourceRecord]:
        if after is None:
            return self._read("WHERE failures > 0 ORDER BY failures DESC LIMIT ?", [limit])
        return self._read("WHERE failures > 0 AND source > ? ORDER BY source LIMIT ?", [after, limit])

    def _read(
        self, chosen: str, values: Sequence[object] | Mapping[str, object], query: str = _RECORDS
    ) -> list[SourceRecord]:
        with self.file.reading() as database:
            rows = map(dict, database.execute(f"{query} {chosen}", values))
            return [
                SourceRecord(
                    **{
                        **row,
                        "kind": Kind(row["kind"]),
                        "rhythm": json.loads(row["rhythm"]),
                        "silent": bool(row["silent"]),
                    }
                )
                for row in rows
            ]

    def log_poll(self, url: str, poll: Poll) -> None:
        day, text = packed_poll(poll)
        key = clean(url)
        given = {"url": key, "day": day, "poll": text, "most": MAX_POLLS * _SHORT_POLL}
        with self.file.writing() as database:
            database.execute(_ADD_POLL, given)
            database.execute("DELETE FROM poll_day WHERE url = ? AND day <= ?", (key, day - KEEP_DAYS))

    def polls(self, url: str | None = None) -> Iterator[tuple[str, Poll]]:
        chosen, values = ("", []) if url is None else ("WHERE url = ?", [clean(url)])
        query = f"SELECT url, day, polls FROM poll_day {chosen} ORDER BY url, day"
        with self.file.reading() as database:
            rows = database.execute(query, values).fetchall()
        return ((row["url"], poll) for row in rows for poll in unpacked_polls(row["day"], row["polls"]))


def _chosen(
    failures: int | None, due: float | None, sites: Collection[str] | None
) -> tuple[str, list[object]]:
    """Return the WHERE clause of the conditions of :meth:`SqliteSources.count`, and its values."""
    given = (
        ("failures < ?", failures),
        ("next_due <= ?", due),
        ("source IN (SELECT value FROM json_each(?))", None if sites is None else json.dumps([*sites])),
    )
    kept = [(text, value) for text, value in given if value is not None]
    return "WHERE " + " AND ".join(["1", *(text for text, _ in kept)]), [value for _, value in kept]


class SqliteSites(Repository, Sites):
    """:class:`newsbot.storage.base.Sites` in the data file."""

    def add(self, records: Sequence[SiteRecord]) -> None:
        rows = [site_rows(record) for record in records]
        with self.file.writing() as database:
            for row, counters in rows:
                database.executemany(ADD_COUNTER, counters)
                database.execute(ADD_SITE, row)

    def all(self, names: Collection[str] | None = None) -> dict[str, SiteRecord]:
        chosen = "" if names is None else "WHERE source IN (SELECT value FROM json_each(:names))"
        given = {"names": json.dumps([*(names or ())])}
        with self.file.reading() as database:
            # includes all sites with counters
            rows = database.execute(f"SELECT * FROM site {chosen} ORDER BY source", given)
            found = {row["source"]: SiteRecord(**dict(row)) for row in rows}
            for row in database.execute(f"SELECT source, name, value FROM site_counter {chosen}", given):
                found[row["source"]].counters[row["name"]] = row["value"]
        return found

    def latest(self, limit: int) -> dict[str, SiteRecord]:
        return self.all(self._column("SELECT source FROM site ORDER BY last_error_at DESC LIMIT ?", limit))

    def names(self, after: str, limit: int) -> list[str]:
        sites, sources = (f"SELECT source FROM {kind} WHERE source > ?" for kind in ("site", "source"))
        return self._column(f"{sites} UNION {sources} ORDER BY 1 LIMIT ?", after, after, limit)

    def count(self, others: Collection[str] = ()) -> int:
        new = "SELECT count(*) FROM json_each(?) WHERE value NOT IN (SELECT source FROM site)"
        return int(self._column(f"SELECT count(*) + ({new}) FROM site", json.dumps([*others]))[0])

    def _column(self, query: str, *values: object) -> list[Any]:
        with self.file.reading() as database:
            return [value for (value,) in database.execute(query, values)]


class SqliteActivity(Repository, Activity):
    """:class:`newsbot.storage.base.Activity` in the data file."""

    def add(self, at: float, sites: Mapping[str, Mapping[str, float]]) -> None:
        none = dict.fromkeys(COUNTED, 0)
        hour = int(at // HOUR)
        with self.file.writing() as database:
            for source, counters in counted(sites).items():
                name = clean(source)
                database.execute(_ADD_HOUR, {**none, **counters, "source": name, "hour": hour})
                database.execute(
                    "DELETE FROM site_hour WHERE source = ? AND hour <= ?", (name, hour - KEEP_HOURS)
                )

    def hours(self, since: float, site: str = ALL) -> list[Hour]:
        query = "SELECT * FROM site_hour WHERE source = ? AND hour >= ? ORDER BY hour"
        with self.file.reading() as database:
            rows = database.execute(query, (clean(site), int(since // HOUR)))
            return [
                Hour(row["source"], row["hour"], {name: row[name] for name in COUNTED if row[name]})
                for row in rows
            ]

    def trends(self, since: float) -> dict[str, dict[int, int]]:
        found: dict[str, dict[int, int]] = {}
        with self.file.reading() as database:
            for source, day, articles in database.execute(_TRENDS, (int(since // HOUR),)):
                found.setdefault(source, {})[day] = articles
        return found

    def watched_since(self) -> dict[str, float]:
        query = "SELECT source, min(hour) FROM site_hour WHERE source <> '' GROUP BY source"
        with self.file.reading() as database:
            return {source: float(hour * HOUR) for source, hour in database.execute(query)}

    def arrivals(self, limit: int) -> list[Arrival]:
        with self.file.reading() as database:
            return [
                Arrival(
                    row["source"],
                    from_stamp(row["published_at"]),
                    # a date alone says nothing about the delay between publication and fetch
                    row["precision"] in ("second", "minute"),
                    from_stamp(row["fetched_at"]),
                )
                for row in database.execute(_ARRIVALS, (max(0, limit),))
            ]


def site_rows(
    record: SiteRecord,
) -> tuple[dict[str, str | float | None], list[tuple[str, str, float]]]:
    """Return the values for :data:`ADD_SITE`, and the list of values for :data:`ADD_COUNTER`."""
    row = {
        "source": record.source,
        "last_article": record.last_article,
        "last_error": None if record.last_error is None else clean(record.last_error),
        "last_error_at": record.last_error_at,
    }
    return row, [(record.source, name, value) for name, value in record.counters.items()]


# --- notes
_SAVE_NOTE = (
    "INSERT INTO note (kind, key, body) VALUES (?, ?, ?)"
    " ON CONFLICT (kind, key) DO UPDATE SET body = excluded.body"
)
_GET_NOTE = "SELECT body FROM note WHERE kind = ? AND key = ?"
_MAKE_NOTE = "INSERT INTO note (kind, key, body) VALUES (?, ?, ?) ON CONFLICT (kind, key) DO NOTHING"
# Compares the text of the old note, so that nothing is replaced if another worker has changed the note.
_REPLACE_NOTE = "UPDATE note SET body = ? WHERE kind = ? AND key = ? AND body = ?"


class SqliteNotes(Repository, Notes):
    """:class:`newsbot.storage.notes.Notes` in the data file."""

    def save(self, kind: str, key: str, note: Mapping[str, Any]) -> None:
        with self.file.writing() as database:
            database.execute(_SAVE_NOTE, (*key_of(kind, key), packed_note(key, note)))

    def swap(self, kind: str, key: str, old: Mapping[str, Any] | None, new: Mapping[str, Any]) -> bool:
        where, body = key_of(kind, key), packed_note(key, new)
        with self.file.writing() as database:
            if old is None:
                return database.execute(_MAKE_NOTE, (*where, body)).rowcount > 0
            return database.execute(_REPLACE_NOTE, (body, *where, packed_note(key, old))).rowcount > 0

    def get_many(self, names: Sequence[NoteName]) -> dict[NoteName, dict[str, Any]]:
        with self.file.reading() as database:
            rows = {name: database.execute(_GET_NOTE, key_of(*name)).fetchone() for name in names}
        return {name: unpacked_note(row["body"]) for name, row in rows.items() if row is not None}

    def all(self, kind: str) -> dict[str, dict[str, Any]]:
        with self.file.reading() as database:
            rows = database.execute("SELECT key, body FROM note WHERE kind = ?", (key_of(kind, "")[0],))
            return {row["key"]: unpacked_note(row["body"]) for row in rows}

    def forget(self, kind: str, key: str) -> bool:
        with self.file.writing() as database:
            done = database.execute("DELETE FROM note WHERE kind = ? AND key = ?", key_of(kind, key))
            return done.rowcount > 0
