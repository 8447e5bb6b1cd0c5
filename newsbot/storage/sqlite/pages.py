"""Stores the crawl database, with one row for each URL, and the waiting links, with one row for each link."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import fields
from operator import attrgetter
from typing import Any

from newsbot.connections.sqlite import select_in
from newsbot.items import Event, Kind, PageRecord
from newsbot.pages.text.words import clean
from newsbot.storage.base import (
    MAX_HISTORY,
    MAX_REFERRERS,
    Pages,
    Referrers,
    WaitingLink,
    WaitingLinks,
    merged,
    referrers_of,
)
from newsbot.storage.notes import to_json
from newsbot.storage.sqlite.connection import Repository

_COLUMNS = tuple(field.name for field in fields(PageRecord))
_READ = ", ".join(_COLUMNS)
_WITH_KEYS = "SELECT {} FROM page WHERE fingerprint IN"
_KEPT = frozenset({"fingerprint", "referrers", "referrer_count", "first_seen"})
_LARGEST = (1 << 63) - 1  # the largest integer of SQLite; a header may state any Content-Length
_AT_ONCE = 500  # maximum number of rows in a batch of a stream

_OWN = tuple(name for name in _COLUMNS if name not in ("depth", "referrers", "referrer_count", "history"))
_WRITTEN = (*_OWN, "depth", "referrers", "referrer_count", "referrer_bitmap", "history")
_NOW = "(julianday('now') - 2440587.5) * 86400.0"
INSERT = f"INSERT INTO page ({', '.join(_WRITTEN)}, added) VALUES ({'?, ' * len(_WRITTEN)}{_NOW})"
"""Inserts a row with the values of :func:`row_of`."""
_values_of = attrgetter(*_OWN)
_SAVE = f"{INSERT} ON CONFLICT (fingerprint) DO UPDATE SET " + ", ".join(
    f"{name} = excluded.{name}" for name in _COLUMNS if name not in _KEPT
)
_ADD_LINKS = (
    "UPDATE page SET depth = ?, referrer_count = ?, referrers = ?, referrer_bitmap = ? WHERE fingerprint = ?"
)


class SqlitePages(Repository, Pages):
    """:class:`newsbot.storage.base.Pages` in the data file."""

    def discover(self, pages: Sequence[PageRecord]) -> None:
        if not pages:
            return
        with self.file.writing() as database:
            known = _links_to(database, [page.fingerprint for page in pages])
            new: dict[bytes, tuple[PageRecord, Referrers, int]] = {}
            changed: dict[bytes, tuple[Referrers, int]] = {}
            for page in pages:
                key = page.fingerprint
                if key in known:
                    referrers, depth = known[key]
                    # Most links of a crawl change nothing, and nothing is written. "|" is used because add()
                    # must run in any case.
                    if referrers.add(map(clean, page.referrers)) | (page.depth < depth):
                        changed[key] = known[key] = (referrers, min(depth, page.depth))
                elif key in new:  # a second link to a new page in the same batch
                    first, referrers, depth = new[key]
                    referrers.add(map(clean, page.referrers))
                    new[key] = (first, referrers, min(depth, page.depth))
                else:
                    new[key] = (page, referrers_of(page), page.depth)
            rows = [row_of(page, referrers, depth, page.history) for page, referrers, depth in new.values()]
            database.executemany(INSERT, rows)
            links = [
                (depth, referrers.count, to_json(referrers.kept), referrers.bitmap, key)
                for key, (referrers, depth) in changed.items()
            ]
            database.executemany(_ADD_LINKS, links)

    def get(self, fingerprints: Sequence[bytes]) -> dict[bytes, PageRecord]:
        with self.file.reading() as database:
            return {
                row["fingerprint"]: record_of(row)
                for row in select_in(database, _WITH_KEYS.format(_READ), fingerprints)
            }

    def save(self, pages: Sequence[PageRecord]) -> None:
        if not pages:
            return
        with self.file.writing() as database:
            keys = [page.fingerprint for page in pages]
            found = select_in(database, _WITH_KEYS.format("fingerprint, history"), keys)
            histories = {row["fingerprint"]: json.loads(row["history"]) for row in found}
            rows = []
            for page in pages:
                # converted to JSON and back, so that new events can be equal to stored events
                history = merged(histories.get(page.fingerprint, []), json.loads(to_json(page.history)))
                histories[page.fingerprint] = history  # the batch may contain the page again
                rows.append(row_of(page, referrers_of(page), page.depth, history))
            database.executemany(_SAVE, rows)

    def iter(self, *, site: str | None = None, kind: Kind | None = None) -> Iterator[PageRecord]:
        return self.file.streamed(self._batches({"source": site, "kind": kind}))

    def due(self, *, after: float, until: float) -> Iterator[PageRecord]:
        return self.file.streamed(self._due_batches(after, until))

    def added(self, since: float) -> Iterator[PageRecord]:
        return self.file.streamed(self._added_batches(since))

    def by_key(self, after: bytes = b"") -> Iterator[PageRecord]:
        return self.file.streamed(self._key_batches(after))

    def _added_batches(self, since: float) -> Iterator[list[PageRecord]]:
        database = self.file.database
        last = database.execute("SELECT coalesce(max(id), 0) FROM page").fetchone()[0]
        low, high = 0, last + 1
        while low < high:  # a binary search for the first row: the times grow with the ids
            middle = (low + high) // 2
            row = database.execute("SELECT id, added FROM page WHERE id >= ? LIMIT 1", [middle]).fetchone()
            if row is None or row["added"] >= since:
                high = middle
            else:
                low = row["id"] + 1
        query = f"SELECT id, {_READ} FROM page WHERE id >= ? AND id <= ? ORDER BY id LIMIT {_AT_ONCE}"
        while rows := database.execute(query, [low, last]).fetchall():
            yield [record_of(row) for row in rows]
            low = rows[-1]["id"] + 1

    def _key_batches(self, after: bytes) -> Iterator[list[PageRecord]]:
        query = f"SELECT {_READ} FROM page WHERE fingerprint > ? ORDER BY fingerprint LIMIT {_AT_ONCE}"
        while rows := self.file.database.execute(query, [after]).fetchall():
            yield [record_of(row) for row in rows]
            after = rows[-1]["fingerprint"]

    def _batches(self, asked: dict[str, str | None]) -> Iterator[list[PageRecord]]:
        """Yield the matching records in batches, without pages that were added after the start."""
        given = {name: str(value) for name, value in asked.items() if value is not None}
        last = self.file.database.execute("SELECT coalesce(max(id), 0) FROM page").fetchone()[0]
        tests = "".join(f" AND {name} = ?" for name in given)
        query = f"SELECT id, {_READ} FROM page WHERE id > ? AND id <= ?{tests} ORDER BY id LIMIT {_AT_ONCE}"
        for rows in self.file.numbered(query, [last, *given.values()]):
            yield [record_of(row) for row in rows]

    def _due_batches(self, after: float, until: float) -> Iterator[list[PageRecord]]:
        # Several pages can have the same time, so the position in the stream is a time and a row number.
        place: tuple[float, int] = (after, _LARGEST)  # after all pages that are due at ``after``
        query = (
            f"SELECT id, {_READ} FROM page WHERE (next_due, id) > (?, ?) AND next_due <= ?"
            f" ORDER BY next_due, id LIMIT {_AT_ONCE}"
        )
        while rows := self.file.database.execute(query, (*place, until)).fetchall():
            yield [record_of(row) for row in rows]
            place = (rows[-1]["next_due"], rows[-1]["id"])


def row_of(page: PageRecord, referrers: Referrers, depth: int, history: list[Event]) -> tuple[Any, ...]:
    """Return the values of a row for :data:`INSERT`."""
    return (
        *[_plain(value) if value.__class__ in (str, int) else value for value in _values_of(page)],
        depth,
        to_json(referrers.kept),
        referrers.count,
        referrers.bitmap,
        to_json(history[-MAX_HISTORY:]) if history else "[]",
    )


def record_of(row: sqlite3.Row) -> PageRecord:
    """Return the page record of a row with all columns of the table."""
    values = {name: row[name] for name in _COLUMNS}
    values["kind"] = Kind(row["kind"])
    values["referrers"] = json.loads(row["referrers"])[:MAX_REFERRERS]
    values["history"] = json.loads(row["history"])
    return PageRecord(**values)


def _links_to(
    database: sqlite3.Connection, fingerprints: Sequence[bytes]
) -> dict[bytes, tuple[Referrers, int]]:
    """Return the referrers and the depth of known pages, by fingerprint. Unknown pages are left out."""
    columns = "fingerprint, depth, referrers, referrer_count, referrer_bitmap"
    rows = select_in(database, _WITH_KEYS.format(columns), fingerprints)
    return {
        row["fingerprint"]: (
            Referrers(json.loads(row["referrers"]), row["referrer_count"], row["referrer_bitmap"]),
            row["depth"],
        )
        for row in rows
    }


def _plain(value: str | int) -> str | int:
    return clean(value) if isinstance(value, str) else min(value, _LARGEST)


# --- waiting links
_KEEP = (
    "INSERT INTO waiting_link (fingerprint, source, family, at, priority, body) VALUES (?, ?, ?, ?, ?, ?)"
    " ON CONFLICT (fingerprint) DO NOTHING"
)
_TRIM = (
    "DELETE FROM waiting_link WHERE fingerprint IN (SELECT fingerprint FROM waiting_link"
    " WHERE source = ? AND family = ? ORDER BY at DESC, fingerprint LIMIT -1 OFFSET ?)"
)
_OF_FAMILY = (
    "SELECT * FROM waiting_link WHERE source = ? AND family = ?"
    " ORDER BY priority DESC, at DESC, fingerprint LIMIT ?"
)


class SqliteWaitingLinks(Repository, WaitingLinks):
    """:class:`newsbot.storage.base.WaitingLinks` in the data file."""

    def save(self, links: Sequence[WaitingLink], most: int) -> None:
        rows = [
            (one.fingerprint, clean(one.source), clean(one.family), one.at, one.priority, clean(one.body))
            for one in links
        ]
        with self.file.writing() as database:
            database.executemany(_KEEP, rows)
            families = {(source, family) for _, source, family, *_ in rows}
            database.executemany(_TRIM, [(*family, most) for family in sorted(families)])

    def counts(self, site: str) -> dict[str, int]:
        query = "SELECT family, count(*) FROM waiting_link WHERE source = ? GROUP BY family"
        with self.file.reading() as database:
            return {str(family): int(number) for family, number in database.execute(query, (clean(site),))}

    def of_family(self, site: str, family: str, limit: int) -> list[WaitingLink]:
        with self.file.reading() as database:
            rows = database.execute(_OF_FAMILY, (clean(site), clean(family), limit))
            return [_link(row) for row in rows]

    def get(self, fingerprints: Sequence[bytes]) -> dict[bytes, WaitingLink]:
        with self.file.reading() as database:
            rows = select_in(database, "SELECT * FROM waiting_link WHERE fingerprint IN", fingerprints)
            return {row["fingerprint"]: _link(row) for row in rows}

    def forget(self, fingerprints: Sequence[bytes]) -> int:
        with self.file.writing() as database:
            keys = [(key,) for key in fingerprints]
            return database.executemany("DELETE FROM waiting_link WHERE fingerprint = ?", keys).rowcount

    def forget_site(self, site: str) -> int:
        with self.file.writing() as database:
            return database.execute("DELETE FROM waiting_link WHERE source = ?", (clean(site),)).rowcount


def _link(row: sqlite3.Row) -> WaitingLink:
    return WaitingLink(
        fingerprint=row["fingerprint"],
        source=row["source"],
        family=row["family"],
        at=row["at"],
        priority=row["priority"],
        body=row["body"],
    )
