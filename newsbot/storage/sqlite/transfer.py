"""Copies of all that the tables hold, and taking them; see :mod:`newsbot.storage.transfer`."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from newsbot.search.index.entry import entry_of
from newsbot.storage.base import SiteRecord
from newsbot.storage.records import from_row, to_row
from newsbot.storage.referrers import Referrers
from newsbot.storage.sqlite import articles, pages, sources, store, words
from newsbot.storage.transfer import AT_ONCE, AliasCopy, ArticleCopy, PageCopy, Sites, TextCopy
from newsbot.text.words import clean

_PAGES = "SELECT *, fingerprint AS key FROM page WHERE fingerprint > ? {sites} ORDER BY fingerprint LIMIT ?"
_ARTICLES = (
    f"SELECT a.id, a.fingerprint AS key, {articles.READ} FROM article a"
    " WHERE a.fingerprint > ? {sites} ORDER BY a.fingerprint LIMIT ?"
)
_VERSIONS = "SELECT document FROM article_version WHERE article = ? ORDER BY version"
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
_TAKE_TEXT = (
    "INSERT OR IGNORE INTO article_text (source, content_hash, article)"
    " SELECT ?, ?, id FROM article WHERE fingerprint = ?"
)
_TAKE_ALIAS = (
    "INSERT OR IGNORE INTO article_alias (fingerprint, article, url)"
    " SELECT ?, id, ? FROM article WHERE fingerprint = ?"
)


def count_copies(database: sqlite3.Connection) -> dict[str, int]:
    """Return how many rows there are of each kind."""
    tables = {"pages": "page", "articles": "article", "texts": "article_text", "aliases": "article_alias"}
    return {
        kind: int(database.execute(f"SELECT count(*) FROM {table}").fetchone()[0])
        for kind, table in tables.items()
    }


def copy_pages(database: sqlite3.Connection, after: str, sites: Sites) -> Iterator[list[PageCopy]]:
    """Yield pages with what is counted of their referrers."""
    for rows in _batches(database, _PAGES, (bytes.fromhex(after),), sites):
        yield [PageCopy(pages.record_of(row), row["referrer_bitmap"]) for row in rows]


def copy_articles(database: sqlite3.Connection, after: str, sites: Sites) -> Iterator[list[ArticleCopy]]:
    """Yield articles with their versions."""
    for rows in _batches(database, _ARTICLES, (bytes.fromhex(after),), sites, table="a."):
        yield [ArticleCopy(row["key"], from_row(dict(row)), _earlier(database, row["id"])) for row in rows]


def copy_texts(database: sqlite3.Connection, after: str, sites: Sites) -> Iterator[list[TextCopy]]:
    """Yield the texts that articles have or had."""
    source, _, digest = after.partition(" ")
    for rows in _batches(database, _TEXTS, (source, digest), sites, keys=("source", "content_hash")):
        yield [TextCopy(row["source"], row["content_hash"], row["key"]) for row in rows]


def copy_aliases(database: sqlite3.Connection, after: str, sites: Sites) -> Iterator[list[AliasCopy]]:
    """Yield other URLs of articles."""
    keys = ("fingerprint",)
    for rows in _batches(database, _ALIASES, (bytes.fromhex(after),), sites, table="a.", keys=keys):
        yield [AliasCopy(row["fingerprint"], row["url"], row["key"]) for row in rows]


def take_pages(database: sqlite3.Connection, copies: Sequence[PageCopy]) -> None:
    """Keep pages that are not there; within a write transaction, as all that follows."""
    rows = []
    for copy in copies:
        page = copy.page
        referrers = Referrers([clean(url) for url in page.referrers], page.referrer_count, copy.bitmap)
        rows.append(pages.row_of(page, referrers, page.depth, page.history))
    database.executemany(f"{pages.INSERT} ON CONFLICT DO NOTHING", rows)


def take_articles(database: sqlite3.Connection, copies: Sequence[ArticleCopy]) -> None:
    """Keep articles with their versions, where they are not there."""
    for copy in copies:
        known = database.execute("SELECT 1 FROM article WHERE fingerprint = ?", (copy.fingerprint,))
        if known.fetchone() is not None:
            continue
        number = store.insert(database, to_row(copy.article) | {"fingerprint": copy.fingerprint})
        database.executemany(
            "INSERT INTO article_version VALUES (?, ?, ?)",
            [(number, one.version, json.dumps(to_row(one), ensure_ascii=False)) for one in copy.earlier],
        )
        words.add(database, entry_of(copy.article, copy.fingerprint, copy.article.version))


def take_texts(database: sqlite3.Connection, copies: Sequence[TextCopy]) -> None:
    """Keep the texts of articles that are there."""
    database.executemany(_TAKE_TEXT, [(copy.source, copy.content_hash, copy.article) for copy in copies])


def take_aliases(database: sqlite3.Connection, copies: Sequence[AliasCopy]) -> None:
    """Keep the other URLs of articles that are there."""
    database.executemany(_TAKE_ALIAS, [(copy.fingerprint, copy.url, copy.article) for copy in copies])


def take_sites(database: sqlite3.Connection, records: Iterable[SiteRecord]) -> None:
    """Write the records of sites whole."""
    for record in records:
        for table in ("site", "site_counter"):
            database.execute(f"DELETE FROM {table} WHERE source = ?", (record.source,))
        sources.count_site(database, record)


def _earlier(database: sqlite3.Connection, number: int) -> tuple[Any, ...]:
    return tuple(from_row(json.loads(row[0])) for row in database.execute(_VERSIONS, (number,)))


def _batches(
    database: sqlite3.Connection,
    statement: str,
    place: tuple[Any, ...],
    sites: Sites,
    *,
    table: str = "",
    keys: Sequence[str] = ("key",),
) -> Iterator[list[sqlite3.Row]]:
    """Yield rows of ``statement`` in the order of ``keys``, beginning behind ``place``."""
    marks = ", ".join("?" * len(sites or ()))
    query = statement.format(sites="" if sites is None else f"AND {table}source IN ({marks})")
    while True:
        rows = database.execute(query, (*place, *(sites or ()), AT_ONCE)).fetchall()
        if not rows:
            return
        yield rows
        place = tuple(rows[-1][name] for name in keys)
