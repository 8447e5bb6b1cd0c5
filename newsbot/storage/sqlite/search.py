"""Full text in the embedded file; see :mod:`newsbot.search.index`."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from newsbot.items import Article
from newsbot.search.index.answering import answer
from newsbot.search.index.entry import Entry, entry_of
from newsbot.search.index.searching import WordIndex
from newsbot.search.query import ArticleFilter, Hit
from newsbot.search.snippets import snippet
from newsbot.storage.records import from_row
from newsbot.storage.sqlite.articles import IN_STORY, READ, by_number, conditions

_AT_ONCE = 500  # parameters of a statement


def search(
    database: sqlite3.Connection,
    index: WordIndex,
    text: str,
    where: ArticleFilter | None,
    *,
    limit: int,
    by_time: bool,
) -> list[Hit]:
    """Return what :meth:`newsbot.storage.base.Storage.search` promises."""

    def load(keys: Sequence[bytes]) -> dict[bytes, Article]:
        return _by_key(database, keys)

    def members(story: str) -> list[Entry]:
        rows = database.execute(f"SELECT fingerprint, {READ} FROM article a WHERE {IN_STORY}", (story,))
        found = [(row["fingerprint"], from_row(row)) for row in rows]
        return [entry_of(article, key, article.version) for key, article in found]

    hits = answer(index, text, where, limit=limit, by_time=by_time, load=load, members=members)
    return _newest(database, where, limit) if hits is None else hits


def _newest(database: sqlite3.Connection, where: ArticleFilter | None, limit: int) -> list[Hit]:
    tests, values = conditions(where)
    chosen = f"WHERE {' AND '.join(tests)}" if tests else ""
    rows = database.execute(
        f"SELECT a.id FROM article a {chosen} ORDER BY a.moment DESC, a.id DESC LIMIT ?", [*values, limit]
    )
    found = by_number(database, [row["id"] for row in rows])
    return [Hit(article, snippet(article.title, article.text, frozenset()), 0.0) for article in found]


def _by_key(database: sqlite3.Connection, keys: Sequence[bytes]) -> dict[bytes, Article]:
    found: dict[bytes, Article] = {}
    for start in range(0, len(keys), _AT_ONCE):
        some = keys[start : start + _AT_ONCE]
        marks = ", ".join("?" * len(some))
        rows = database.execute(
            f"SELECT fingerprint, {READ} FROM article a WHERE fingerprint IN ({marks})", some
        )
        found |= {row["fingerprint"]: from_row(row) for row in rows}
    return found
