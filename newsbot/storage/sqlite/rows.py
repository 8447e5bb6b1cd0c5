"""Converts articles to rows and back.

Fields that queries use have a column each. The other fields are stored together as one JSON text.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from newsbot.clock import from_stamp, stamp
from newsbot.items import Article, ArticleFilter
from newsbot.pages.text.words import clean
from newsbot.storage.notes import to_json

COLUMNS = (
    "canonical_url", "url", "source", "language", "story", "duplicate_of", "published_at", "fetched_at",
    "content_hash", "version", "title", "text",
)  # fmt: skip
"""Fields of an article that have a column."""
READ = ", ".join(f"a.{name}" for name in (*COLUMNS, "data"))
"""The columns to read for :func:`from_row`. The table of articles must have the alias ``a``."""
_IS_POST = "json_extract(a.data, '$.form') IS 'post'"
IN_STORY = (
    "a.story = (SELECT ifnull(j.into_story, w.story) FROM (SELECT ? AS story) w"
    " LEFT JOIN story_joined j ON j.story = w.story)"
)
"""SQL condition: the article is in this story, or in the story with which this story was joined."""
THESE = "(SELECT value FROM json_each(?))"
"""SQL for a list of values in one JSON parameter, because SQLite limits the number of parameters."""
_TIMES = frozenset({"published_at", "modified_at", "discovered_at", "fetched_at"})
_REST = tuple(field.name for field in fields(Article) if field.name not in COLUMNS)


def to_row(article: Article) -> dict[str, Any]:
    """Return the columns of an article by name. The column ``data`` has the other fields as JSON."""
    row = {name: _plain(name, getattr(article, name)) for name in COLUMNS}
    row["data"] = to_json({name: _plain(name, getattr(article, name)) for name in _REST})
    return row


def from_row(row: Mapping[str, Any] | sqlite3.Row) -> Article:
    """Return the article of a row with the columns of :data:`READ`. Other columns are ignored."""
    values = {name: row[name] for name in COLUMNS} | json.loads(row["data"])
    for name in _TIMES:
        values[name] = from_stamp(values[name])
    return Article(**values)


def conditions(where: ArticleFilter | None) -> tuple[list[str], list[Any]]:
    """Return the SQL conditions of a filter, and their values. The table must have the alias ``a``.

    If both site and language are given, the unary plus prevents SQLite from using the index on languages. The
    index on sites is faster, because a site has fewer articles than a language.
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
    of_form = [] if where.posts is None else [_IS_POST if where.posts else f"NOT ({_IS_POST})"]
    return [*(condition for condition, _ in given), *of_form], [value for _, value in given]


def where_all(tests: list[str]) -> str:
    """Return a WHERE clause that requires all conditions, or an empty string if there are none."""
    return f"WHERE {' AND '.join(tests)}" if tests else ""


def _plain(name: str, value: Any) -> Any:
    if name in _TIMES:
        return stamp(value)
    return clean(value) if isinstance(value, str) else value
