"""Deleting rows; see :mod:`newsbot.storage.removal`. All within a write transaction."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence

from newsbot.storage.sqlite import words
from newsbot.text.words import clean
from newsbot.urls import fingerprint

_THESE = "(SELECT value FROM json_each(?))"
_BASIS = "json_extract(data, '$.derived_from')"
DERIVED = (
    "UPDATE article SET data = json_set(data, '$.derived_from', ?)"
    f" WHERE {_BASIS} IN {{names}} AND {_BASIS} IS NOT NULL"
)
"""Lets articles name another one as that from which they are derived; ``names``: the one until now."""


def addresses(database: sqlite3.Connection, canonical_urls: Sequence[str]) -> list[str]:
    """Return the other URLs that lead to these articles."""
    numbers = json.dumps(list(_articles(database, canonical_urls)))
    rows = database.execute(f"SELECT url FROM article_alias WHERE article IN {_THESE}", (numbers,))
    return [str(row[0]) for row in rows]


def remove_articles(database: sqlite3.Connection, canonical_urls: Sequence[str]) -> int:
    """Delete articles with all that belongs to them."""
    found = _articles(database, canonical_urls)
    keys = ((fingerprint(clean(url)),) for url in canonical_urls)
    database.executemany("DELETE FROM article_alias WHERE fingerprint = ?", keys)
    if not found:
        return 0
    words.forget(database, [row["fingerprint"] for row in found.values()])
    numbers = json.dumps(list(found))
    sources = sorted({row["source"] for row in found.values()})
    urls = json.dumps([row["canonical_url"] for row in found.values()])
    database.execute(f"UPDATE article SET duplicate_of = NULL WHERE duplicate_of IN {_THESE}", (urls,))
    database.execute(DERIVED.format(names=_THESE), (None, urls))
    for source in sources:  # there is no index by article: one look through each site's rows
        database.execute(
            f"DELETE FROM article_text WHERE source = ? AND article IN {_THESE}", (source, numbers)
        )
    for table, column in (("article_alias", "article"), ("article_version", "article"), ("article", "id")):
        database.execute(f"DELETE FROM {table} WHERE {column} IN {_THESE}", (numbers,))
    return len(found)


def remove_pages(database: sqlite3.Connection, fingerprints: Sequence[bytes]) -> int:
    """Delete page records, and what searches and checks found there."""
    count = 0
    for key in dict.fromkeys(fingerprints):
        count += database.execute("DELETE FROM page WHERE fingerprint = ?", (key,)).rowcount
        for table in ("page_check", "search_result"):
            database.execute(f"DELETE FROM {table} WHERE fingerprint = ?", (key,))
    return count


def remove_sources(database: sqlite3.Connection, urls: Sequence[str]) -> int:
    """Delete the records of sources, with their polls."""
    given = json.dumps([clean(url) for url in urls])
    database.execute(f"DELETE FROM poll_day WHERE url IN {_THESE}", (given,))
    return database.execute(f"DELETE FROM source WHERE url IN {_THESE}", (given,)).rowcount


def forget_site(database: sqlite3.Connection, source: str) -> None:
    """Delete the counters of a site."""
    for table in ("site", "site_counter", "site_hour"):
        database.execute(f"DELETE FROM {table} WHERE source = ?", (source,))


def _articles(database: sqlite3.Connection, canonical_urls: Sequence[str]) -> dict[int, sqlite3.Row]:
    found = {}
    for url in dict.fromkeys(canonical_urls):
        row = database.execute(
            "SELECT id, fingerprint, canonical_url, source FROM article WHERE fingerprint = ?",
            (fingerprint(clean(url)),),
        ).fetchone()
        if row is not None:
            found[row["id"]] = row
    return found
