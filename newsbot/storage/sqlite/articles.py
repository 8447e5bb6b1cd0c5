"""Reading articles: by URL, by text, by version, and streamed."""

from __future__ import annotations

import json
import sqlite3
import time
from array import array
from collections.abc import Iterator, Mapping

from newsbot.clock import stamp
from newsbot.items import Article
from newsbot.search.query import ArticleFilter
from newsbot.storage.base import RepeatedText
from newsbot.storage.records import COLUMNS, from_row, to_json
from newsbot.urls import fingerprint

READ = ", ".join(f"a.{name}" for name in (*COLUMNS, "data"))
"""The columns of an article, the table being called ``a``."""
IN_STORY = (
    "a.story = (SELECT ifnull(j.into_story, w.story) FROM (SELECT ? AS story) w"
    " LEFT JOIN story_joined j ON j.story = w.story)"
)
"""The condition of being in a story, or in the one with which it was joined."""
_AT_ONCE = 100


def conditions(where: ArticleFilter | None) -> tuple[list[str], list[str]]:
    """Return the SQL conditions of a filter, the table being called ``a``, and their values.

    A site has fewer articles than a language: SQLite, which does not know, is told by the plus.
    """
    if where is None:
        return [], []
    asked = (
        ("a.source = ?", where.source),
        ("a.language = ?" if where.source is None else "+a.language = ?", where.language),
        (IN_STORY, where.story),
        ("a.moment >= ?", stamp(where.since)),
        ("a.moment < ?", stamp(where.until)),
    )
    given = [(condition, value) for condition, value in asked if value is not None]
    return [condition for condition, _ in given], [value for _, value in given]


def article(database: sqlite3.Connection, canonical_url: str) -> Article | None:
    """Return the article kept under this URL, or whose text was also seen under it."""
    key = fingerprint(canonical_url)
    row = database.execute(f"SELECT {READ} FROM article a WHERE fingerprint = ?", (key,)).fetchone()
    if row is None:
        row = database.execute(
            f"SELECT {READ} FROM article_alias s JOIN article a ON a.id = s.article WHERE s.fingerprint = ?",
            (key,),
        ).fetchone()
    return None if row is None else from_row(row)


def text_owner(database: sqlite3.Connection, source: str, content_hash: str) -> str | None:
    """Return the canonical URL of the article of ``source`` that has or had this text."""
    row = database.execute(
        "SELECT a.canonical_url FROM article_text t JOIN article a ON a.id = t.article"
        " WHERE t.source = ? AND t.content_hash = ?",
        (source, content_hash),
    ).fetchone()
    return None if row is None else str(row[0])


def assign_story(
    database: sqlite3.Connection, canonical_url: str, story: str, duplicate_of: str | None
) -> None:
    """Put a stored article into a story; within a write transaction."""
    database.execute(
        "UPDATE article SET story = ?, duplicate_of = ? WHERE fingerprint = ?",
        (story, duplicate_of, fingerprint(canonical_url)),
    )


def save_rights(database: sqlite3.Connection, canonical_url: str, rights: Mapping[str, str]) -> None:
    """Write what the site reserves of a stored article; within a write transaction."""
    database.execute(
        "UPDATE article SET data = json_set(data, '$.rights', json(?)), stored = ? WHERE fingerprint = ?",
        (to_json(dict(rights)), time.time(), fingerprint(canonical_url)),
    )


def repeated_texts(database: sqlite3.Connection, least: int, limit: int) -> list[RepeatedText]:
    """Return the texts that came under at least so many URLs, those under most first."""
    rows = database.execute(
        "SELECT a.source, a.canonical_url, s.urls FROM"
        " (SELECT article, count(*) + 1 AS urls FROM article_alias GROUP BY article HAVING urls >= ?) s"
        " JOIN article a ON a.id = s.article ORDER BY s.urls DESC, a.canonical_url LIMIT ?",
        (least, max(0, limit)),
    )
    return [RepeatedText(*row) for row in rows]


def versions(database: sqlite3.Connection, canonical_url: str) -> list[Article]:
    """Return all kept versions, oldest first, the present one last."""
    present = database.execute(
        f"SELECT a.id, {READ} FROM article a WHERE fingerprint = ?", (fingerprint(canonical_url),)
    ).fetchone()
    if present is None:
        return []
    earlier = database.execute(
        "SELECT document FROM article_version WHERE article = ? ORDER BY version", (present["id"],)
    ).fetchall()
    return [*(from_row(json.loads(row[0])) for row in earlier), from_row(present)]


def article_batches(database: sqlite3.Connection, where: ArticleFilter | None) -> Iterator[list[Article]]:
    """Yield the articles that match now, oldest fetch first, batch by batch.

    Which ones is fixed at the start (8 bytes an article), so that each comes once whatever is written
    meanwhile, and no cursor stays open while the caller works.
    """
    tests, values = conditions(where)
    chosen = array("q")
    chosen.extend(
        row[0]
        for row in database.execute(
            f"SELECT a.id FROM article a {_where(tests)} ORDER BY a.fetched_at, a.id",
            values,
        )
    )
    for start in range(0, len(chosen), _AT_ONCE):
        yield by_number(database, chosen[start : start + _AT_ONCE].tolist())


def by_number(database: sqlite3.Connection, numbers: list[int]) -> list[Article]:
    """Return articles by their row numbers, in that order."""
    rows = database.execute(
        f"SELECT a.id, {READ} FROM article a WHERE a.id IN (SELECT value FROM json_each(?))",
        (json.dumps(numbers),),
    )
    found = {row["id"]: from_row(row) for row in rows}
    return [found[number] for number in numbers if number in found]


def count_articles(database: sqlite3.Connection, where: ArticleFilter | None) -> int:
    """Return how many articles match."""
    tests, values = conditions(where)
    return int(database.execute(f"SELECT count(*) FROM article a {_where(tests)}", values).fetchone()[0])


def _where(tests: list[str]) -> str:
    return f"WHERE {' AND '.join(tests)}" if tests else ""
