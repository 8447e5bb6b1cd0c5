"""Reads copies of all data from the tables, and writes copies to them, for ``scrapy move``."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from newsbot.apps.transfer.copies import (
    AT_ONCE,
    AliasCopy,
    ArticleCopy,
    Book,
    Domains,
    Dump,
    JoinedStory,
    KeptNote,
    Load,
    PageCopy,
    SiteHour,
    TextCopy,
    poll_day,
)
from newsbot.connections.sqlite import readable_errors
from newsbot.items import Article
from newsbot.pages.text.words import clean
from newsbot.storage.base import COUNTED, Referrers, SiteRecord, WaitingLink
from newsbot.storage.sqlite import articles, pages, sources
from newsbot.storage.sqlite.articles import READ, from_row, to_row
from newsbot.storage.sqlite.connection import Repository

_TABLES = {"pages": "page", "articles": "article", "texts": "article_text", "aliases": "article_alias"}
_PAGES = "SELECT *, fingerprint AS key FROM page WHERE fingerprint > ? {sites} ORDER BY fingerprint LIMIT ?"
_ARTICLES = (
    f"SELECT a.id, a.fingerprint AS key, {READ} FROM article a"
    " WHERE a.fingerprint > ? {sites} ORDER BY a.fingerprint LIMIT ?"
)
_VERSIONS = "SELECT document FROM article_version WHERE article = ? ORDER BY version"
# The inner query selects the texts of one batch, so that only these texts are joined with their articles.
_TEXTS = (
    "SELECT source, content_hash, a.fingerprint AS key"
    " FROM (SELECT * FROM article_text WHERE (source, content_hash) > (?, ?) {sites}"
    " ORDER BY source, content_hash LIMIT ?) JOIN (SELECT id, fingerprint FROM article) a ON a.id = article"
    " ORDER BY source, content_hash"
)
_ALIASES = (
    "SELECT s.fingerprint, s.url, a.fingerprint AS key"
    " FROM article_alias s JOIN article a ON a.id = s.article"
    " WHERE s.fingerprint > ? {sites} ORDER BY s.fingerprint LIMIT ?"
)
_HOUR = f"source, hour, {', '.join(COUNTED)}"
_WAITING = "fingerprint, source, family, at, priority, body"
_BOOKS: tuple[tuple[str, tuple[Any, ...], Callable[..., Book]], ...] = (
    (
        "SELECT story, into_story FROM story_joined WHERE story > ? ORDER BY story LIMIT ?",
        ("",),
        JoinedStory,
    ),
    (
        "SELECT kind, key, body FROM note WHERE (kind, key) > (?, ?) ORDER BY kind, key LIMIT ?",
        ("", ""),
        KeptNote,
    ),
    (
        "SELECT url, day, polls FROM poll_day WHERE (url, day) > (?, ?) ORDER BY url, day LIMIT ?",
        ("", 0),
        poll_day,
    ),
    (
        f"SELECT {_HOUR} FROM site_hour WHERE (source, hour) > (?, ?) ORDER BY source, hour LIMIT ?",
        ("", -1),
        lambda source, hour, *counts: SiteHour(source, hour, counts),
    ),
    (
        f"SELECT {_WAITING} FROM waiting_link WHERE fingerprint > ? ORDER BY fingerprint LIMIT ?",
        (b"",),
        lambda *row: WaitingLink(**dict(zip(_WAITING.split(", "), row, strict=True))),
    ),
)
"""Has an entry for each type of :data:`newsbot.apps.transfer.copies.Book`: the query, the key before the
first row, and the function that converts a row."""
_TAKE_TEXT = (
    "INSERT OR IGNORE INTO article_text (source, content_hash, article)"
    " SELECT ?, ?, id FROM article WHERE fingerprint = ?"
)
_TAKE_ALIAS = (
    "INSERT OR IGNORE INTO article_alias (fingerprint, article, url)"
    " SELECT ?, id, ? FROM article WHERE fingerprint = ?"
)


class SqliteDump(Repository, Dump):
    """:class:`newsbot.apps.transfer.copies.Dump` of the data file."""

    def count(self) -> dict[str, int]:
        with readable_errors(self.file.path):
            return {
                kind: int(self.file.database.execute(f"SELECT count(*) FROM {table}").fetchone()[0])
                for kind, table in _TABLES.items()
            }

    def pages(self, after: str = "", sites: Domains = None) -> Iterator[PageCopy]:
        for row in self._rows(_PAGES, (bytes.fromhex(after),), sites):
            yield PageCopy(pages.record_of(row), row["referrer_bitmap"])

    def articles(self, after: str = "", sites: Domains = None) -> Iterator[ArticleCopy]:
        for row in self._rows(_ARTICLES, (bytes.fromhex(after),), sites, table="a."):
            yield ArticleCopy(row["key"], from_row(row), self._earlier(row["id"]))

    def texts(self, after: str = "", sites: Domains = None) -> Iterator[TextCopy]:
        source, _, digest = after.partition(" ")
        for row in self._rows(_TEXTS, (source, digest), sites, keys=("source", "content_hash")):
            yield TextCopy(row["source"], row["content_hash"], row["key"])

    def aliases(self, after: str = "", sites: Domains = None) -> Iterator[AliasCopy]:
        for row in self._rows(_ALIASES, (bytes.fromhex(after),), sites, table="a.", keys=("fingerprint",)):
            yield AliasCopy(row["fingerprint"], row["url"], row["key"])

    def books(self) -> Iterator[Book]:
        for query, place, make in _BOOKS:
            for row in self.file.streamed(self._batches(query, place, (), range(len(place)))):
                yield make(*row)

    def _rows(
        self,
        query: str,
        place: tuple[Any, ...],
        sites: Domains,
        *,
        table: str = "",
        keys: Sequence[str] = ("key",),
    ) -> Iterator[sqlite3.Row]:
        marks = ", ".join("?" * len(sites or ()))
        of_sites = "" if sites is None else f"AND {table}source IN ({marks})"
        return self.file.streamed(self._batches(query.format(sites=of_sites), place, sites or (), keys))

    def _batches(
        self, query: str, place: tuple[Any, ...], values: Sequence[str], keys: Sequence[str] | Sequence[int]
    ) -> Iterator[list[sqlite3.Row]]:
        """Yield the rows of ``query`` in batches, sorted by the columns ``keys``.

        The first batch starts after the row whose keys have the values ``place``.
        """
        # The next batch is sought by its key. OFFSET would read all earlier rows again.
        while rows := self.file.database.execute(query, (*place, *values, AT_ONCE)).fetchall():
            yield rows
            place = tuple(rows[-1][key] for key in keys)

    def _earlier(self, number: int) -> tuple[Article, ...]:
        with readable_errors(self.file.path):
            rows = self.file.database.execute(_VERSIONS, (number,)).fetchall()
        return tuple(from_row(json.loads(row[0])) for row in rows)


class SqliteLoad(Repository, Load):
    """:class:`newsbot.apps.transfer.copies.Load` for the data file."""

    def pages(self, copies: Sequence[PageCopy]) -> None:
        rows = []
        for copy in copies:
            page = copy.page
            referrers = Referrers([clean(url) for url in page.referrers], page.referrer_count, copy.bitmap)
            rows.append(pages.row_of(page, referrers, page.depth, page.history))
        self._write(f"{pages.INSERT} ON CONFLICT DO NOTHING", rows)

    def articles(self, copies: Sequence[ArticleCopy]) -> None:
        known = "SELECT 1 FROM article WHERE fingerprint = ?"
        with self.file.writing() as database:
            for copy in copies:
                if database.execute(known, (copy.fingerprint,)).fetchone() is not None:
                    continue
                # The triggers of the table number this as a change, and write article_basis.
                number = articles.insert(database, to_row(copy.article), copy.fingerprint)
                database.executemany(
                    "INSERT INTO article_version VALUES (?, ?, ?)",
                    [
                        (number, one.version, json.dumps(to_row(one), ensure_ascii=False))
                        for one in copy.earlier
                    ],
                )

    def texts(self, copies: Sequence[TextCopy]) -> None:
        self._write(_TAKE_TEXT, [(copy.source, copy.content_hash, copy.article) for copy in copies])

    def aliases(self, copies: Sequence[AliasCopy]) -> None:
        self._write(_TAKE_ALIAS, [(copy.fingerprint, copy.url, copy.article) for copy in copies])

    def sites(self, records: Iterable[SiteRecord]) -> None:
        with self.file.writing() as database:
            for record in records:
                # ADD_SITE and ADD_COUNTER add to stored values, so the old values are deleted first.
                for table in ("site", "site_counter"):
                    database.execute(f"DELETE FROM {table} WHERE source = ?", (record.source,))
                row, counters = sources.site_rows(record)
                database.execute(sources.ADD_SITE, row)
                database.executemany(sources.ADD_COUNTER, counters)

    def books(self, books: Sequence[Book]) -> None:
        with self.file.writing() as database:
            for book in books:
                table, values = _row(book)
                marks = ", ".join("?" * len(values))
                database.execute(f"INSERT OR IGNORE INTO {table} VALUES ({marks})", values)

    def _write(self, statement: str, rows: Sequence[tuple[Any, ...]]) -> None:
        with self.file.writing() as database:
            database.executemany(statement, rows)


def _row(book: Book) -> tuple[str, tuple[str | int | float | bytes, ...]]:
    """Return the table in which a :data:`Book` is stored, and the values of its row."""
    if isinstance(book, JoinedStory):
        return "story_joined", (book.story, book.into)
    if isinstance(book, KeptNote):
        return "note", (book.kind, book.key, book.body)
    if isinstance(book, WaitingLink):
        row = (book.fingerprint, book.source, book.family, book.at, book.priority, book.body)
        return f"waiting_link ({_WAITING})", row
    if isinstance(book, SiteHour):
        return f"site_hour ({_HOUR})", (book.source, book.hour, *book.counts)
    # The stored text of a day begins with ``;``. So each poll follows a ``;``, and a search for ``;`` and a
    # poll finds only whole polls.
    return "poll_day", (book.url, book.day, f";{''.join(book.polls)}")
