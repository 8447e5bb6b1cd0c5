"""Articles by when they were stored; see :mod:`newsbot.storage.changes`."""

from __future__ import annotations

import json
import sqlite3
from array import array
from collections.abc import Iterator

from newsbot.items import Article
from newsbot.search.query import ArticleFilter
from newsbot.storage.records import from_row
from newsbot.storage.sqlite.articles import READ, conditions

_AT_ONCE = 100


def changed_batches(
    database: sqlite3.Connection, where: ArticleFilter | None, after: float, until: float
) -> Iterator[list[Article]]:
    """Yield the articles of a time, batch by batch: no cursor stays open while the caller works."""
    tests, values = conditions(where)
    chosen = array("q")
    rows = database.execute(
        f"SELECT a.id FROM article a WHERE {' AND '.join(['a.stored > ?', 'a.stored <= ?', *tests])}"
        " ORDER BY a.stored, a.id",
        [after, until, *values],
    )
    chosen.extend(row[0] for row in rows)
    for start in range(0, len(chosen), _AT_ONCE):
        some = chosen[start : start + _AT_ONCE].tolist()
        found = database.execute(
            f"SELECT {READ} FROM article a WHERE a.id IN (SELECT value FROM json_each(?)) AND a.stored <= ?"
            " ORDER BY a.stored, a.id",
            (json.dumps(some), until),
        )
        yield [from_row(row) for row in found.fetchall()]
