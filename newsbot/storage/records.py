"""Articles as rows: the fields that are asked for as columns, the rest as one JSON text."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from newsbot.clock import from_stamp, stamp
from newsbot.items import Article
from newsbot.text.words import clean
from newsbot.urls import canonicalize, fingerprint

COLUMNS = (
    "canonical_url", "url", "source", "language", "story", "duplicate_of", "published_at", "fetched_at",
    "content_hash", "version", "title", "text",
)  # fmt: skip
"""Fields of an article that are columns of their own."""
_TIMES = frozenset({"published_at", "modified_at", "discovered_at", "fetched_at"})
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=str).encode
_REST = tuple(field.name for field in fields(Article) if field.name not in COLUMNS)


def to_json(value: object) -> str:
    """Return ``value`` as JSON that people can read in the file."""
    return clean(_encode(value))


def to_row(article: Article) -> dict[str, Any]:
    """Return the columns of an article, ``data`` with the rest among them."""
    row = {name: _plain(name, getattr(article, name)) for name in COLUMNS}
    row["data"] = to_json({name: _plain(name, getattr(article, name)) for name in _REST})
    return row


def from_row(row: Mapping[str, Any]) -> Article:
    """Return the article of a row; rows with more columns are welcome."""
    values = {name: row[name] for name in COLUMNS} | json.loads(row["data"])
    for name in _TIMES:
        values[name] = from_stamp(values[name])
    return Article(**values)


def of_one_page(one: str, other: str) -> bool:
    """Tell whether two addresses that were fetched are one page's; also where one of them is none."""
    try:
        return fingerprint(canonicalize(one)) == fingerprint(canonicalize(other))
    except ValueError:
        return True


def _plain(name: str, value: Any) -> Any:
    if name in _TIMES:
        return stamp(value)
    return clean(value) if isinstance(value, str) else value
