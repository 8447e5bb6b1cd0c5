"""Copies of all data in the data file."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from newsbot.apps.transfer.copies import (
    AT_ONCE,
    BOOKS,
    AliasCopy,
    ArticleCopy,
    Book,
    Copies,
    Domains,
    PageCopy,
    TextCopy,
    sorted_polls,
)
from newsbot.connections.sqlite import readable_errors
from newsbot.items import Article
from newsbot.storage.base import SiteRecord
from newsbot.storage.sqlite import articles, pages, sources
from newsbot.storage.sqlite.connection import Repository

_TABLES = {"pages": "page", "articles": "article", "texts": "article_text", "aliases": "article_alias"}
_READ = {
    "pages": "SELECT *, fingerprint AS key FROM page"
    " WHERE fingerprint > ? {sites} ORDER BY fingerprint LIMIT ?",
    "articles": f"SELECT a.id, a.fingerprint AS key, {articles.READ} FROM article a"
    " WHERE a.fingerprint > ? {sites} ORDER BY a.fingerprint LIMIT ?",
    # The inner query selects the texts of one batch, so that only these texts are joined with their articles.
    "texts": "SELECT source, content_hash, a.fingerprint"
    " FROM (SELECT * FROM article_text WHERE (source, content_hash) > (?, ?) {sites}"
    " ORDER BY source, content_hash LIMIT ?) JOIN (SELECT id, fingerprint FROM article) a ON a.id = article"
    " ORDER BY source, content_hash",
    "aliases": "SELECT s.fingerprint AS key, s.url, a.fingerprint"
    " FROM article_alias s JOIN article a ON a.id = s.article"
    " WHERE s.fingerprint > ? {sites} ORDER BY s.fingerprint LIMIT ?",
}
_WRITE = {
    "pages": f"{pages.INSERT} ON CONFLICT DO NOTHING",
    "texts": "INSERT OR IGNORE INTO article_text (source, content_hash, article)"
    " SELECT ?, ?, id FROM article WHERE fingerprint = ?",
    "aliases": "INSERT OR IGNORE INTO article_alias (fingerprint, url, article)"
    " SELECT ?, ?, id FROM article WHERE fingerprint = ?",
}
_BOOKS: Mapping[str, tuple[str, tuple[Any, ...]]] = {
    "joined": ("story_joined", ("",)),
    "notes": ("note", ("", "")),
    "polls": ("poll_day", ("", 0)),
    "site_hours": ("site_hour", ("", -1)),
    "waiting_links": ("waiting_link", (b"",)),
}
"""The table of each kind of book, and the key before its first row. The first columns are the key."""


class SqliteCopies(Repository, Copies):
    """:class:`newsbot.apps.transfer.copies.Copies` of the data file."""

    def count(self) -> dict[str, int]:
        with readable_errors(self.file.path):
            return {
                kind: int(self.file.database.execute(f"SELECT count(*) FROM {table}").fetchone()[0])
                for kind, table in _TABLES.items()
            }

    def read(self, kind: str, after: str = "", sites: Domains = None) -> Iterator[Any]:
        if kind == "books":
            for book in BOOKS:
                yield from self._books(book)
            return
        keys: tuple[str, ...] = ("source", "content_hash") if kind == "texts" else ("key",)
        place = after.partition(" ")[::2] if kind == "texts" else (bytes.fromhex(after),)
        of_sites = "" if sites is None else f"AND source IN ({_marks(sites)})"
        query = _READ[kind].format(sites=of_sites)
        for row in self.file.streamed(self._batches(query, place, keys, sites or ())):
            match kind:
                case "pages":
                    yield PageCopy(pages.record_of(row), row["referrer_bitmap"])
                case "articles":
                    yield ArticleCopy(row["key"], articles.from_row(row), self._earlier(row["id"]))
                case _:
                    yield (TextCopy if kind == "texts" else AliasCopy)(*row)

    def _books(self, kind: str) -> Iterator[Book]:
        table, place = _BOOKS[kind]
        columns = _columns(kind)
        keys = columns[: len(place)]
        query = f"SELECT {', '.join(columns)} FROM {table} WHERE ({', '.join(keys)}) > ({_marks(place)})"
        query += f" ORDER BY {', '.join(keys)} LIMIT ?"
        for row in self.file.streamed(self._batches(query, place, keys)):
            values = (row["url"], row["day"], sorted_polls(row["polls"])) if kind == "polls" else row
            yield kind, *values

    def _batches(
        self, query: str, place: tuple[Any, ...], keys: Sequence[str], values: Sequence[str] = ()
    ) -> Iterator[list[sqlite3.Row]]:
        """Yield the rows of ``query`` in batches, sorted by the columns ``keys``.

        The first batch starts after the row whose keys have the values ``place``.
        """
        # The next batch is sought by its key. OFFSET would read all earlier rows again.
        while rows := self.file.database.execute(query, (*place, *values, AT_ONCE)).fetchall():
            yield rows
            place = tuple(rows[-1][key] for key in keys)

    def _earlier(self, number: int) -> tuple[Article, ...]:
        query = "SELECT document FROM article_version WHERE article = ? ORDER BY version"
        with readable_errors(self.file.path):
            rows = self.file.database.execute(query, (number,)).fetchall()
        return tuple(articles.from_row(json.loads(row[0])) for row in rows)

    def write(self, kind: str, copies: Sequence[Any]) -> None:
        with self.file.writing() as database:
            match kind:
                case "pages":
                    rows = [
                        pages.row_of(one.page, one.referrers, one.page.depth, one.page.history)
                        for one in copies
                    ]
                    database.executemany(_WRITE[kind], rows)
                case "articles":
                    _write_articles(database, copies)
                case "books":
                    for name, *values in copies:
                        table, columns = _BOOKS[name][0], ", ".join(_columns(name))
                        # The stored text of a day begins with ``;``. So each poll follows a ``;``, and a
                        # search for ``;`` and a poll finds only whole polls.
                        row = (*values[:2], f";{values[2]}") if name == "polls" else values
                        statement = f"INSERT OR IGNORE INTO {table} ({columns}) VALUES ({_marks(row)})"
                        database.execute(statement, row)
                case _:
                    database.executemany(_WRITE[kind], copies)

    def put_sites(self, records: Iterable[SiteRecord]) -> None:
        with self.file.writing() as database:
            for record in records:
                # ADD_SITE and ADD_COUNTER add to stored values, so the old values are deleted first.
                for table in ("site", "site_counter"):
                    database.execute(f"DELETE FROM {table} WHERE source = ?", (record.source,))
                row, counters = sources.site_rows(record)
                database.execute(sources.ADD_SITE, row)
                database.executemany(sources.ADD_COUNTER, counters)


def _columns(kind: str) -> list[str]:
    return ["into_story" if name == "into" else name for name in BOOKS[kind]]


def _marks(values: Sequence[object]) -> str:
    return ", ".join("?" * len(values))


def _write_articles(database: sqlite3.Connection, copies: Sequence[ArticleCopy]) -> None:
    for copy in copies:
        known = database.execute("SELECT 1 FROM article WHERE fingerprint = ?", (copy.fingerprint,))
        if known.fetchone() is None:
            # The triggers of the table number this as a change, and write article_basis.
            number = articles.insert(database, articles.to_row(copy.article), copy.fingerprint)
            versions = [
                (number, one.version, json.dumps(articles.to_row(one), ensure_ascii=False))
                for one in copy.earlier
            ]
            database.executemany("INSERT INTO article_version VALUES (?, ?, ?)", versions)
