"""Articles and what they hold as documents.

Times of articles are dates of MongoDB, which have milliseconds; what is finer stands in ``finer``
(microseconds of each time), and what is sorted and compared (``moment``: published, or fetched where
that is unknown, and ``fetched``) is an integer of microseconds since 1970 beside them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields
from datetime import UTC, datetime, timedelta
from typing import Any

from newsbot.clock import from_stamp, stamp
from newsbot.connections.mongo import Document
from newsbot.items import Article
from newsbot.search.query import ArticleFilter
from newsbot.text.words import clean
from newsbot.urls import fingerprint

_FIELDS = tuple(field.name for field in fields(Article))
_TIMES = ("published_at", "modified_at", "discovered_at", "fetched_at")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_LARGEST = (1 << 63) - 1  # integers of BSON; a header may claim any Content-Length


def micros(moment: datetime | None) -> int | None:
    """Return a time in microseconds since 1970."""
    normal = from_stamp(stamp(moment))
    return None if normal is None else (normal - _EPOCH) // _MICROSECOND


def harmless(value: Any) -> Any:
    """Return ``value`` as BSON takes it: whole signs, integers of 64 bits, keys without NUL."""
    if isinstance(value, str):
        return clean(str(value))
    if isinstance(value, dict):
        return {clean(str(key)).replace("\0", ""): harmless(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [harmless(item) for item in value]
    if isinstance(value, int) and not isinstance(value, bool):
        return max(-_LARGEST, min(value, _LARGEST))
    return value


def to_document(article: Article) -> Document:
    """Return the document of an article."""
    document: Document = {"_id": fingerprint(article.canonical_url)}
    document |= {name: harmless(getattr(article, name)) for name in _FIELDS}
    finer: dict[str, int] = {}
    for name in _TIMES:
        moment = document[name] = from_stamp(stamp(document[name]))
        if moment is not None and moment.microsecond % 1000:
            finer[name] = moment.microsecond % 1000
    if finer:
        document["finer"] = finer
    document["fetched"] = micros(article.fetched_at)
    document["moment"] = document["fetched"] if article.published_at is None else micros(article.published_at)
    return document


def from_document(document: Document) -> Article:
    """Return the article of a document."""
    values = {name: document[name] for name in _FIELDS if name in document}
    for name, more in document.get("finer", {}).items():
        values[name] += more * _MICROSECOND
    return Article(**values)


def conditions(
    where: ArticleFilter | None, names: Iterable[str] = ("source", "language", "story")
) -> Document:
    """Return the query of a filter; ``names`` are the fields that the collection has beside ``moment``."""
    if where is None:
        return {}
    found: Document = {name: clean(value) for name in names if (value := getattr(where, name)) is not None}
    bounds = {"$gte": micros(where.since), "$lt": micros(where.until)}
    moment = {operator: value for operator, value in bounds.items() if value is not None}
    if moment:
        found["moment"] = moment
    return found
