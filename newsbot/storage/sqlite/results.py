"""What searches over pages found: one row for each search, text and page."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import asdict

from newsbot.search.phrases import Position
from newsbot.storage.records import to_json
from newsbot.storage.results import SearchResult, SearchSummary, bounded
from newsbot.text.words import clean
from newsbot.urls import fingerprint

_AT_ONCE = 200
_SAVE = """
    INSERT INTO search_result (search, text, fingerprint, url, source, regex, looked_at, hits, positions)
    VALUES (:search, :text, :fingerprint, :url, :source, :regex, :looked_at, :hits, :positions)
    ON CONFLICT (search, text, fingerprint) DO UPDATE SET url = excluded.url, source = excluded.source,
        regex = excluded.regex, looked_at = excluded.looked_at, hits = excluded.hits,
        positions = excluded.positions
    WHERE excluded.looked_at >= looked_at
"""
_GONE = """
    DELETE FROM search_result
    WHERE search = :search AND text = :text AND fingerprint = :fingerprint AND looked_at <= :looked_at
"""
_SEARCHES = """
    SELECT search, count(DISTINCT fingerprint) AS pages, sum(hits) AS hits,
        min(looked_at) AS first, max(looked_at) AS last
    FROM search_result GROUP BY search ORDER BY last DESC, search
"""


def save_results(database: sqlite3.Connection, results: Sequence[SearchResult]) -> None:
    """Keep results, or take out what is no longer true; within a write transaction."""
    for result in map(bounded, results):
        row = {
            "search": result.search,
            "text": result.text,
            "fingerprint": fingerprint(result.url),
            "url": result.url,
            "source": result.source,
            "regex": result.regex,
            "looked_at": result.looked_at,
            "hits": result.hits,
            "positions": to_json([asdict(one) for one in result.positions]),
        }
        database.execute(_SAVE if result.positions else _GONE, row)


def result_batches(
    database: sqlite3.Connection, search: str, text: str | None, source: str | None
) -> Iterator[list[SearchResult]]:
    """Yield the results of a search, batch by batch: no cursor stays open while the caller works."""
    asked = {"text": text, "source": source}
    given = {name: clean(value) for name, value in asked.items() if value is not None}
    conditions = "".join(f" AND {name} = :{name}" for name in given)
    place = {"after_text": "", "after_key": b""}
    while True:
        rows = database.execute(
            f"SELECT * FROM search_result WHERE search = :search{conditions}"
            f" AND (text, fingerprint) > (:after_text, :after_key)"
            f" ORDER BY text, fingerprint LIMIT {_AT_ONCE}",
            {"search": clean(search), **given, **place},
        ).fetchall()
        if not rows:
            return
        yield [_result(row) for row in rows]
        place = {"after_text": rows[-1]["text"], "after_key": rows[-1]["fingerprint"]}


def searches(database: sqlite3.Connection) -> list[SearchSummary]:
    """Return all searches, the latest first."""
    return [SearchSummary(**dict(row)) for row in database.execute(_SEARCHES)]


def forget_search(database: sqlite3.Connection, search: str) -> int:
    """Delete the results of a search; within a write transaction."""
    return database.execute("DELETE FROM search_result WHERE search = ?", (clean(search),)).rowcount


def _result(row: sqlite3.Row) -> SearchResult:
    return SearchResult(
        search=row["search"],
        text=row["text"],
        url=row["url"],
        source=row["source"],
        looked_at=row["looked_at"],
        regex=bool(row["regex"]),
        positions=tuple(Position(**one) for one in json.loads(row["positions"])),
        hits=row["hits"],
    )
