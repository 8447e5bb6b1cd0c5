"""The texts of articles in the data file: the tables of the word index (:mod:`newsbot.search.index`), and
searches."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from newsbot.connections.sqlite import open_database, readable_errors, transaction
from newsbot.items import Article
from newsbot.search.index.answering import answer
from newsbot.search.index.background import Background
from newsbot.search.index.blocks import BlockStore
from newsbot.search.index.entry import Entry, entry_of, unpacked
from newsbot.search.index.indexer import index_all
from newsbot.search.index.searching import WordIndex
from newsbot.search.index.segments import State, state_of
from newsbot.search.query import ArticleFilter, Hit
from newsbot.search.snippets import snippet
from newsbot.storage.articles import RepeatedText, Texts
from newsbot.storage.sqlite.connection import DataFile
from newsbot.storage.sqlite.rows import IN_STORY, READ, THESE, conditions, from_row, where_all
from newsbot.storage.sqlite.schema import MIGRATIONS

_FOLDED = (  # one that was removed and came again meanwhile may have the same version: its words still wait
    "DELETE FROM search_waiting WHERE fingerprint = ? AND (version = ? OR body IS NULL)"
    " AND fingerprint NOT IN (SELECT fingerprint FROM search_removed)"
)
_OLDEST = "SELECT fingerprint, version, body FROM search_waiting ORDER BY number LIMIT ?"
_NEWEST = _OLDEST.replace("number", "number DESC")
_REMOVED = "SELECT fingerprint FROM search_removed"
_DROP = (
    "DELETE FROM search_block WHERE number IN"
    " (SELECT number FROM search_block WHERE number >= ? AND number < ? LIMIT ?)"
)
_ALL = 1 << 62
_AT_ONCE = 500
"""Blocks that are deleted in one transaction: a crawl that stores articles waits for it."""


def add(database: sqlite3.Connection, entry: Entry) -> None:
    """Let a version of an article wait to be indexed; within a write transaction."""
    database.execute(
        "INSERT OR REPLACE INTO search_waiting (fingerprint, version, body) VALUES (?, ?, ?)",
        (entry.key, entry.version, entry.packed()),
    )


def forget(database: sqlite3.Connection, keys: Sequence[bytes]) -> None:
    """Take removed articles from the list, and note that they are in segments; within a write transaction."""
    for key in keys:
        database.execute("DELETE FROM search_waiting WHERE fingerprint = ?", (key,))
        database.execute("INSERT OR IGNORE INTO search_removed (fingerprint) VALUES (?)", (key,))


def only_present(database: sqlite3.Connection, number: int) -> None:
    """Index the present version of an article anew, and take out all others; within a write transaction."""
    row = database.execute(f"SELECT fingerprint, {READ} FROM article a WHERE id = ?", (number,)).fetchone()
    if row is not None:
        article = from_row(row)
        forget(database, [row["fingerprint"]])
        add(database, entry_of(article, row["fingerprint"], article.version))


class SqliteTexts(Texts):
    """:class:`newsbot.storage.articles.Texts` in the data file. A thread keeps the word index in order."""

    def __init__(self, file: DataFile) -> None:
        self._file = file
        self.blocks = SqliteBlocks(file.database, file.path)
        self._words = WordIndex(self.blocks)
        self._background = Background(self._blocks_apart)

    def owner(self, source: str, content_hash: str) -> str | None:
        with self._file.reading() as database:
            row = database.execute(
                "SELECT a.canonical_url FROM article_text t JOIN article a ON a.id = t.article"
                " WHERE t.source = ? AND t.content_hash = ?",
                (source, content_hash),
            ).fetchone()
        return None if row is None else str(row[0])

    def repeated(self, *, least: int = 10, limit: int = 100) -> list[RepeatedText]:
        with self._file.reading() as database:
            rows = database.execute(
                "SELECT a.source, a.canonical_url, s.urls FROM (SELECT article, count(*) + 1 AS urls"
                " FROM article_alias GROUP BY article HAVING urls >= ?) s"
                " JOIN article a ON a.id = s.article ORDER BY s.urls DESC, a.canonical_url LIMIT ?",
                (least, max(0, limit)),
            )
            return [RepeatedText(*row) for row in rows]

    def search(
        self, query: str, where: ArticleFilter | None = None, *, limit: int = 20, by_time: bool = False
    ) -> list[Hit]:
        with self._file.reading() as database:

            def members(story: str) -> list[Entry]:
                rows = _articles(database, IN_STORY, story)
                return [entry_of(article, key, article.version) for key, article in rows.items()]

            def load(keys: Sequence[bytes]) -> dict[bytes, Article]:
                asked = ", ".join("?" * len(keys))
                return _articles(database, f"fingerprint IN ({asked})", *keys)

            hits = answer(self._words, query, where, limit=limit, by_time=by_time, load=load, members=members)
            return _newest(database, where, limit) if hits is None else hits

    def waiting(self) -> int:
        return self.blocks.count_waiting(_ALL)

    def index(self) -> bool:
        return index_all(self.blocks)

    def stored(self, articles: int = 1) -> None:
        """Wake the thread if there is enough to index, after so many articles were stored."""
        self._background.stored(self.blocks.count_waiting, articles)

    def close(self) -> None:
        """End the thread."""
        self._background.close()

    @contextmanager
    def _blocks_apart(self) -> Iterator[BlockStore]:
        """The word index on a connection of its own, for the thread."""
        path = self._file.path
        with closing(open_database(path, component="storage", migrations=MIGRATIONS)) as database:
            yield SqliteBlocks(database, path)


def _newest(database: sqlite3.Connection, where: ArticleFilter | None, limit: int) -> list[Hit]:
    tests, values = conditions(where)
    chosen = f"{where_all(tests)} ORDER BY a.moment DESC, a.id DESC LIMIT ?"
    found = map(from_row, database.execute(f"SELECT {READ} FROM article a {chosen}", [*values, limit]))
    return [Hit(article, snippet(article.title, article.text, frozenset()), 0.0) for article in found]


def _articles(database: sqlite3.Connection, condition: str, *values: object) -> dict[bytes, Article]:
    rows = database.execute(f"SELECT fingerprint, {READ} FROM article a WHERE {condition}", values)
    return {row["fingerprint"]: from_row(row) for row in rows}


class SqliteBlocks(BlockStore):
    """:class:`newsbot.search.index.blocks.BlockStore` in the embedded file."""

    def __init__(self, database: sqlite3.Connection, path: Path) -> None:
        self._database, self._path = database, path

    def state(self) -> State:
        with readable_errors(self._path):
            row = self._database.execute("SELECT state FROM search_state").fetchone()
        return state_of(None if row is None else row[0])

    def change(
        self, old: State, new: State, folded: Sequence[Entry] = (), purged: Iterable[bytes] = ()
    ) -> bool:
        with readable_errors(self._path), transaction(self._database) as database:
            row = database.execute("SELECT state FROM search_state").fetchone()
            if state_of(None if row is None else row[0]).revision != old.revision:
                return False
            database.execute(
                "INSERT OR REPLACE INTO search_state (one, state) VALUES (1, ?)", (new.to_json(),)
            )
            database.executemany(_FOLDED, [(one.key, one.version) for one in folded])
            database.executemany(
                "DELETE FROM search_removed WHERE fingerprint = ?", [(one,) for one in purged]
            )
        return True

    def removed(self, among: Sequence[bytes] | None = None) -> frozenset[bytes]:
        with readable_errors(self._path):
            if among is None:
                return frozenset(row[0] for row in self._database.execute(_REMOVED))
            asked = f"{_REMOVED} WHERE fingerprint = ?"
            found = (self._database.execute(asked, (key,)).fetchone() for key in among)
            return frozenset(row[0] for row in found if row)

    def waiting(self, limit: int, *, newest: bool = False) -> list[Entry]:
        with readable_errors(self._path):
            rows = self._database.execute(_NEWEST if newest else _OLDEST, (limit,)).fetchall()
            return [
                one
                for row in rows
                if (one := unpacked(*row) if row["body"] is not None else self._made(row["fingerprint"]))
            ]

    def count_waiting(self, most: int) -> int:
        """Return how many wait, or ``most`` if more do."""
        with readable_errors(self._path):
            counted = self._database.execute(
                "SELECT count(*) FROM (SELECT 1 FROM search_waiting LIMIT ?)", (most,)
            )
            return int(counted.fetchone()[0])

    def blocks(self, numbers: Sequence[int]) -> Mapping[int, bytes]:
        with readable_errors(self._path):
            rows = self._database.execute(
                f"SELECT number, body FROM search_block WHERE number IN {THESE}",
                (json.dumps(list(numbers)),),
            )
            return {row[0]: row[1] for row in rows}

    def write(self, blocks: Mapping[int, bytes]) -> None:
        with readable_errors(self._path), transaction(self._database) as database:
            database.executemany("INSERT OR REPLACE INTO search_block VALUES (?, ?)", sorted(blocks.items()))

    def drop(self, first: int, after: int) -> None:
        gone = -1
        while gone:
            with readable_errors(self._path), transaction(self._database) as database:
                gone = database.execute(_DROP, (first, after, _AT_ONCE)).rowcount

    def _made(self, key: bytes) -> Entry | None:
        """The entry of an article that was stored before there was this index."""
        row = self._database.execute(f"SELECT {READ} FROM article a WHERE fingerprint = ?", (key,)).fetchone()
        if row is None:
            return None
        article = from_row(row)
        return entry_of(article, key, article.version)
