"""Deletes rows on request, deletes old versions of articles, and clears old data in page records."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from datetime import datetime

from newsbot.clock import stamp
from newsbot.pages.text.words import clean
from newsbot.storage.base import Removal
from newsbot.storage.sqlite.articles import DERIVED, THESE
from newsbot.storage.sqlite.connection import Repository
from newsbot.urls import fingerprint

_OLD_VERSIONS = "FROM article_version WHERE json_extract(document, '$.fetched_at') < ?"
_OLD_PAGES = (
    "FROM page WHERE next_due IS NULL AND coalesce(last_fetched, first_seen) < ?"
    " AND (history <> '[]' OR referrers <> '[]')"
)


class SqliteRemoval(Repository, Removal):
    """:class:`newsbot.storage.base.Removal` in the data file."""

    def addresses(self, canonical_urls: Sequence[str]) -> list[str]:
        with self.file.reading() as database:
            numbers = json.dumps(list(_articles(database, canonical_urls)))
            rows = database.execute(f"SELECT url FROM article_alias WHERE article IN {THESE}", (numbers,))
            return [str(row[0]) for row in rows]

    def articles(self, canonical_urls: Sequence[str]) -> int:
        with self.file.writing() as database:
            found = _articles(database, canonical_urls)
            # if a URL is an alias of another article, which stays, only the alias is deleted
            keys = ((fingerprint(clean(url)),) for url in canonical_urls)
            database.executemany("DELETE FROM article_alias WHERE fingerprint = ?", keys)
            if not found:
                return 0
            numbers = json.dumps(list(found))
            urls = json.dumps([row["canonical_url"] for row in found.values()])
            database.execute(f"UPDATE article SET duplicate_of = NULL WHERE duplicate_of IN {THESE}", (urls,))
            database.execute(DERIVED, (urls, None))
            # This table has no index on the article, so the rows of each site are read once.
            for source in sorted({row["source"] for row in found.values()}):
                database.execute(
                    f"DELETE FROM article_text WHERE source = ? AND article IN {THESE}", (source, numbers)
                )
            for table, column in (
                ("article_alias", "article"),
                ("article_version", "article"),
                ("article", "id"),
            ):
                database.execute(f"DELETE FROM {table} WHERE {column} IN {THESE}", (numbers,))
            return len(found)

    def pages(self, fingerprints: Sequence[bytes]) -> int:
        count = 0
        with self.file.writing() as database:
            for key in dict.fromkeys(fingerprints):
                count += database.execute("DELETE FROM page WHERE fingerprint = ?", (key,)).rowcount
        return count

    def sources(self, urls: Sequence[str]) -> int:
        given = json.dumps([clean(url) for url in urls])
        with self.file.writing() as database:
            database.execute(f"DELETE FROM poll_day WHERE url IN {THESE}", (given,))
            return database.execute(f"DELETE FROM source WHERE url IN {THESE}", (given,)).rowcount

    def site(self, site: str) -> None:
        with self.file.writing() as database:
            for table in ("site", "site_counter", "site_hour"):
                database.execute(f"DELETE FROM {table} WHERE source = ?", (site,))

    def old_versions(self, before: datetime) -> int:
        return self._count(_OLD_VERSIONS, stamp(before))

    def drop_versions(self, before: datetime, limit: int) -> int:
        with self.file.writing() as database:
            rows = database.execute(
                f"SELECT article, version {_OLD_VERSIONS} LIMIT ?", (stamp(before), limit)
            ).fetchall()
            database.executemany("DELETE FROM article_version WHERE article = ? AND version = ?", rows)
            return len(rows)

    def old_pages(self, before: float) -> int:
        return self._count(_OLD_PAGES, before)

    def slim_pages(self, before: float, limit: int) -> int:
        with self.file.writing() as database:
            return database.execute(
                "UPDATE page SET history = '[]', referrers = '[]', referrer_bitmap = x''"
                f" WHERE id IN (SELECT id {_OLD_PAGES} LIMIT ?)",
                (before, limit),
            ).rowcount

    def _count(self, condition: str, before: str | float | None) -> int:
        with self.file.reading() as database:
            return int(database.execute(f"SELECT count(*) {condition}", (before,)).fetchone()[0])


def _articles(database: sqlite3.Connection, canonical_urls: Sequence[str]) -> dict[int, sqlite3.Row]:
    """Return the articles with these canonical URLs, by row number. Aliases are not considered."""
    asked = "SELECT id, fingerprint, canonical_url, source FROM article WHERE fingerprint = ?"
    found = (
        database.execute(asked, (fingerprint(clean(url)),)).fetchone()
        for url in dict.fromkeys(canonical_urls)
    )
    return {row["id"]: row for row in found if row is not None}
