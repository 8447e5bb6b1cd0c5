"""Stores the results of the spiders ``monitor`` and ``search``.

The checks of ``monitor`` have one row for each page. The results of ``search`` have one row for each search,
text and page.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from typing import Any

from newsbot.apps.monitor.results import (
    MAX_CHECKS,
    CheckedPage,
    Checks,
    PageCheck,
    Searches,
    SearchResult,
    SearchSummary,
    bounded,
    packed_check,
    unpacked_checks,
)
from newsbot.apps.search.phrases import Position
from newsbot.connections.sqlite import select_in
from newsbot.pages.text.words import clean
from newsbot.storage.base import merged
from newsbot.storage.notes import to_json
from newsbot.storage.sqlite.connection import Repository
from newsbot.urls import fingerprint

_CHECKS_AT_ONCE = 500
_RESULTS_AT_ONCE = 200
_SAVE_CHECKS = """
    INSERT INTO page_check (fingerprint, url, source, last, checks) VALUES (?, ?, ?, ?, ?)
    ON CONFLICT (fingerprint) DO UPDATE SET url = excluded.url, source = excluded.source,
        last = excluded.last, checks = excluded.checks
"""
_UNLISTED = " AND NOT EXISTS (SELECT 1 FROM page p WHERE p.fingerprint = page_check.fingerprint)"
_SAVE_RESULT = """
    INSERT INTO search_result (search, text, fingerprint, url, source, regex, looked_at, hits, positions)
    VALUES (:search, :text, :fingerprint, :url, :source, :regex, :looked_at, :hits, :positions)
    ON CONFLICT (search, text, fingerprint) DO UPDATE SET url = excluded.url, source = excluded.source,
        regex = excluded.regex, looked_at = excluded.looked_at, hits = excluded.hits,
        positions = excluded.positions
    WHERE excluded.looked_at >= looked_at
"""
# The conditions on ``looked_at`` keep the result of the latest visit, although workers write in any order.
_NOT_FOUND = """
    DELETE FROM search_result
    WHERE search = :search AND text = :text AND fingerprint = :fingerprint AND looked_at <= :looked_at
"""
_SEARCHES = """
    SELECT search, count(DISTINCT fingerprint) AS pages, sum(hits) AS hits,
        min(looked_at) AS first, max(looked_at) AS last
    FROM search_result GROUP BY search ORDER BY last DESC, search
"""


class SqliteChecks(Repository, Checks):
    """:class:`newsbot.apps.monitor.results.Checks` in the data file."""

    def save(self, checks: Sequence[PageCheck]) -> None:
        asked = "SELECT checks FROM page_check WHERE fingerprint = ?"
        with self.file.writing() as database:
            for check in checks:
                url = clean(check.url)
                key = fingerprint(url)
                row = database.execute(asked, (key,)).fetchone()
                kept = [] if row is None else json.loads(row["checks"])
                # converted to JSON and back, so that a repeated check compares equal to the stored one
                events = merged(kept, [json.loads(to_json(packed_check(check)))], MAX_CHECKS)
                values = (key, url, clean(check.source), events[-1]["at"], to_json(events))
                database.execute(_SAVE_CHECKS, values)

    def get(self, fingerprints: Sequence[bytes]) -> dict[bytes, CheckedPage]:
        with self.file.reading() as database:
            rows = select_in(database, "SELECT * FROM page_check WHERE fingerprint IN", fingerprints)
            return {row["fingerprint"]: _page(row) for row in rows}

    def iter(self, site: str | None = None, *, unlisted: bool = False) -> Iterator[CheckedPage]:
        return self.file.streamed(self._batches(site, _UNLISTED if unlisted else ""))

    def _batches(self, site: str | None, test: str) -> Iterator[list[CheckedPage]]:
        of_site, values = ("", []) if site is None else (" AND source = ?", [clean(site)])
        query = f"SELECT * FROM page_check WHERE id > ?{of_site}{test} ORDER BY id LIMIT {_CHECKS_AT_ONCE}"
        for rows in self.file.numbered(query, values):
            yield [_page(row) for row in rows]

    def forget(self, *, site: str | None = None, pages: Sequence[bytes] | None = None) -> int:
        with self.file.writing() as database:
            if pages is None and site is None:
                return database.execute("DELETE FROM page_check").rowcount
            return _deleted(database, "page_check", pages, source=site)


class SqliteSearches(Repository, Searches):
    """:class:`newsbot.apps.monitor.results.Searches` in the data file."""

    def save(self, found: Sequence[SearchResult]) -> None:
        with self.file.writing() as database:
            for result in map(bounded, found):
                row = {**asdict(result), "fingerprint": fingerprint(result.url)}
                row["positions"] = to_json(row["positions"])
                database.execute(_SAVE_RESULT if result.positions else _NOT_FOUND, row)

    def selected(self, values: dict[str, Any]) -> Iterator[SearchResult]:
        return self.file.streamed(self._batches(values))

    def _batches(self, values: dict[str, Any]) -> Iterator[list[SearchResult]]:
        query = (
            f"SELECT * FROM search_result WHERE {' AND '.join(f'{name} = :{name}' for name in values)}"
            # SQLite compares row values like tuples. The unique index has the same order, so each batch
            # begins with one seek.
            " AND (text, fingerprint) > (:after_text, :after_key)"
            f" ORDER BY text, fingerprint LIMIT {_RESULTS_AT_ONCE}"
        )
        place = {"after_text": "", "after_key": b""}
        while rows := self.file.database.execute(query, {**values, **place}).fetchall():
            yield [_result(row) for row in rows]
            place = {"after_text": rows[-1]["text"], "after_key": rows[-1]["fingerprint"]}

    def all(self) -> list[SearchSummary]:
        with self.file.reading() as database:
            return [SearchSummary(**dict(row)) for row in database.execute(_SEARCHES)]

    def forget(self, search: str | None = None, *, pages: Sequence[bytes] | None = None) -> int:
        with self.file.writing() as database:
            return _deleted(database, "search_result", pages, search=search)


def _deleted(
    database: sqlite3.Connection, table: str, pages: Sequence[bytes] | None, **chosen: str | None
) -> int:
    """Delete the rows of pages, or else those with a value, and return their number."""
    ((name, value),) = chosen.items()
    keys: Iterable[bytes | str] = [clean(value or "")]
    if pages is not None:
        name, keys = "fingerprint", dict.fromkeys(pages)
    return sum(database.execute(f"DELETE FROM {table} WHERE {name} = ?", (key,)).rowcount for key in keys)


def _page(row: sqlite3.Row) -> CheckedPage:
    return unpacked_checks(row["url"], row["source"], json.loads(row["checks"]))


def _result(row: sqlite3.Row) -> SearchResult:
    positions = tuple(Position(**one) for one in json.loads(row["positions"]))
    names = ("search", "text", "url", "source", "looked_at", "hits")
    return SearchResult(**{name: row[name] for name in names}, regex=bool(row["regex"]), positions=positions)
