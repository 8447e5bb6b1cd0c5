"""Articles as rows: the fields that are asked for as columns, the rest as one JSON text."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import fields
from datetime import UTC, datetime
from typing import Any

from newsbot.items import Article
from newsbot.urls import canonicalize, fingerprint

COLUMNS = (
    "canonical_url", "url", "source", "language", "story", "duplicate_of", "published_at", "fetched_at",
    "content_hash", "version", "title", "text",
)  # fmt: skip
"""Fields of an article that are columns of their own."""
_TIMES = frozenset({"published_at", "modified_at", "discovered_at", "fetched_at"})
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=str).encode
_REST = tuple(field.name for field in fields(Article) if field.name not in COLUMNS)


def stamp(moment: datetime | None) -> str | None:
    """Return a time as text in UTC that sorts as time does, microseconds kept."""
    if moment is None:
        return None
    if moment.tzinfo is not None:
        with suppress(OverflowError):  # within a day of year 1 or 10000: as written
            moment = moment.astimezone(UTC)
    return moment.replace(tzinfo=None).isoformat(sep=" ", timespec="microseconds")


def from_stamp(text: str | None) -> datetime | None:
    """Read what :func:`stamp` wrote."""
    return None if text is None else datetime.fromisoformat(text).replace(tzinfo=UTC)


def clean(text: str) -> str:
    """Return ``text`` without lone surrogates (half a sign, as broken JSON gives): no file takes them."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace").decode()
    return text


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
