"""Full text by FTS5 over stems.

The index is contentless and only added to: FTS5 of SQLite 3.40 takes a row out of such a table only
when it is told exactly what was put in, and an error there damages the index silently. So each
version of an article is a row of its own (:data:`_ROW`), rows of earlier versions meet no article
any more, and their room is the price of an update.
"""

from __future__ import annotations

import sqlite3

from newsbot.storage.base import ArticleFilter, Hit
from newsbot.storage.query import Query, Term, parse
from newsbot.storage.snippet import snippet
from newsbot.storage.sqlite.articles import by_number, conditions
from newsbot.storage.stems import stems

_ROW = "((a.version - 1) << 40 | a.id)"
"""The row of ``article_search`` that holds the present version of article ``a``."""
_ARTICLE = "(article_search.rowid & 0xFFFFFFFFFF)"
_TITLE_WEIGHT = 4.0


def add(database: sqlite3.Connection, number: int, version: int, title: str, text: str) -> None:
    """Make a version of an article findable; within a write transaction."""
    database.execute(
        "INSERT INTO article_search (rowid, title, text) VALUES (?, ?, ?)",
        ((version - 1) << 40 | number, " ".join(stems(title)), " ".join(stems(text))),
    )


def remove(database: sqlite3.Connection, number: int, version: int, title: str, text: str) -> None:
    """Take the words of a version out; it must be given exactly as it was added."""
    database.execute(
        "INSERT INTO article_search (article_search, rowid, title, text) VALUES ('delete', ?, ?, ?)",
        ((version - 1) << 40 | number, " ".join(stems(title)), " ".join(stems(text))),
    )


def search(
    database: sqlite3.Connection, text: str, where: ArticleFilter | None, *, limit: int, by_time: bool
) -> list[Hit]:
    """Return what :meth:`newsbot.storage.base.Storage.search` promises."""
    query = parse(text)
    if limit <= 0:
        return []
    if query.wanted:
        rows = _matching(database, query, where, limit, by_time=by_time)
    elif query.unwanted or query.blank:
        rows = _newest(database, query, where, limit)
    else:
        return []
    scores = {row["id"]: 0.0 - row["rank"] for row in rows}  # bm25 is better the smaller it is
    found = by_number(database, list(scores))
    return [
        Hit(article, snippet(article.title, article.text, query.stems), score)
        for article, score in zip(found, scores.values(), strict=True)
    ]


def _matching(
    database: sqlite3.Connection, query: Query, where: ArticleFilter | None, limit: int, *, by_time: bool
) -> list[sqlite3.Row]:
    tests, values = conditions(where)
    more = "".join(f" AND {test}" for test in tests)
    order = "a.moment DESC, a.id DESC" if by_time else "rank, a.id DESC"
    return database.execute(
        f"SELECT a.id, bm25(article_search, {_TITLE_WEIGHT}, 1.0) AS rank FROM article_search"
        f" JOIN article a ON a.id = {_ARTICLE} AND article_search.rowid = {_ROW}"
        f" WHERE article_search MATCH ?{more} ORDER BY {order} LIMIT ?",
        [_expression(query), *values, limit],
    ).fetchall()


def _newest(
    database: sqlite3.Connection, query: Query, where: ArticleFilter | None, limit: int
) -> list[sqlite3.Row]:
    """Articles by time: all, or those without the unwanted words (FTS5 has no bare NOT)."""
    tests, values = conditions(where)
    if query.unwanted:
        tests.append(f"{_ROW} NOT IN (SELECT rowid FROM article_search WHERE article_search MATCH ?)")
        values.append(_any(query.unwanted))
    chosen = f"WHERE {' AND '.join(tests)}" if tests else ""
    return database.execute(
        f"SELECT a.id, 0.0 AS rank FROM article a {chosen} ORDER BY a.moment DESC, a.id DESC LIMIT ?",
        [*values, limit],
    ).fetchall()


def _expression(query: Query) -> str:
    """The query in FTS5's language. Stems are letters and digits only: quoting them is enough."""
    wanted = " AND ".join(map(_term, query.wanted))
    return f"({wanted}) NOT ({_any(query.unwanted)})" if query.unwanted else wanted


def _any(terms: tuple[Term, ...]) -> str:
    return " OR ".join(map(_term, terms))


def _term(term: Term) -> str:
    phrases = " OR ".join(f'"{" ".join(phrase)}"' for phrase in term.phrases())
    return f"(title : ({phrases}))" if term.in_title else f"({phrases})"
