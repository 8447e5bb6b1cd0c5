"""Converts articles to documents and back, and makes the keys of documents that belong to articles.

Times of articles are BSON dates, which have a resolution of milliseconds. The field ``finer`` has the
remaining microseconds. The fields ``fetched`` and ``moment`` are for sorting, in microseconds since 1970.
``moment`` is the time of publication, or the time of the fetch if the time of publication is unknown.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from newsbot.apps.mongodb.client import Collections, Document
from newsbot.clock import from_stamp, stamp
from newsbot.items import Article, ArticleFilter
from newsbot.pages.text.words import clean
from newsbot.urls import fingerprint

KEY = 16
"""Length in bytes of a fingerprint, which is the ``_id`` of an article."""
_FIELDS = tuple(field.name for field in fields(Article))
_TIMES = ("published_at", "modified_at", "discovered_at", "fetched_at")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_LARGEST = (1 << 63) - 1  # BSON integers have 64 bits; a header may state any Content-Length


def micros(moment: datetime | None) -> int | None:
    """Return a time in microseconds since 1970 (UTC), or None if there is no time."""
    normal = from_stamp(stamp(moment))
    return None if normal is None else (normal - _EPOCH) // _MICROSECOND


def harmless(value: Any) -> Any:
    """Return ``value`` in a form that BSON accepts.

    Invalid characters are removed or replaced. Integers are limited to 64 bits. NUL is removed from keys.
    """
    if isinstance(value, str):
        return clean(str(value))
    if isinstance(value, dict):
        return {clean(str(key)).replace("\0", ""): harmless(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [harmless(item) for item in value]
    # True and False are ints, too.
    if isinstance(value, int) and not isinstance(value, bool):
        return max(-_LARGEST, min(value, _LARGEST))
    return value


def to_document(article: Article) -> Document:
    """Return the document of an article, with its ``_id``."""
    document: Document = {"_id": fingerprint(article.canonical_url)}
    document |= {name: harmless(getattr(article, name)) for name in _FIELDS}
    finer: dict[str, int] = {}
    for name in _TIMES:
        # The time is converted to the text that SQLite stores, so that both backends return the same time.
        moment = document[name] = from_stamp(stamp(document[name]))
        if moment is not None and moment.microsecond % 1000:
            finer[name] = moment.microsecond % 1000
    if finer:
        document["finer"] = finer
    document["fetched"] = micros(article.fetched_at)
    document["moment"] = document["fetched"] if article.published_at is None else micros(article.published_at)
    return document


def from_document(document: Document) -> Article:
    """Return the article of a document. Missing fields get the default of :class:`Article`."""
    values = {name: document[name] for name in _FIELDS if name in document}
    for name, more in document.get("finer", {}).items():
        values[name] += more * _MICROSECOND
    return Article(**values)


def articles_by_key(database: Collections, keys: Sequence[bytes]) -> dict[bytes, Article]:
    """Return articles by key (the fingerprint of the canonical URL). Unknown keys are left out."""
    documents = database["articles"].find({"_id": {"$in": list(keys)}})
    return {document["_id"]: from_document(document) for document in documents}


def conditions(where: ArticleFilter | None) -> Document:
    """Return the query for the articles that match a filter."""
    if where is None:
        return {}
    asked = {"source": where.source, "language": where.language, "story": where.story}
    found: Document = {name: clean(value) for name, value in asked.items() if value is not None}
    if where.posts is not None:
        found["form"] = "post" if where.posts else {"$ne": "post"}
    if "story" in found:
        found["story"] = strings(found["story"])
    bounds = {"$gte": micros(where.since), "$lt": micros(where.until)}
    moment = {operator: value for operator, value in bounds.items() if value is not None}
    return found | {"moment": moment} if moment else found


def strings(*values: str) -> Document:
    """Return the condition that a field is one of these strings, for a field whose index has only strings
    (``only`` in schema.py).

    MongoDB uses such an index only for queries with the same ``$type``. Otherwise it reads all documents.
    """
    return {"$in": list(values), "$type": "string"}


def current(database: Collections, where: ArticleFilter | None) -> ArticleFilter | None:
    """Return the filter, but with the current story if the filter's story was joined with another story."""
    if where is None or where.story is None:
        return where
    joined = database["joined"].find_one({"_id": clean(where.story)})
    return where if joined is None else replace(where, story=str(joined["into"]))


def text_key(site: str, content_hash: str) -> str:
    """Return the ``_id`` of a text: its site and its hash, separated by a space.

    Neither the site nor the hash contains a space.
    """
    return clean(f"{site} {content_hash}")


def texts_of_site(site: str) -> Document:
    """Return the condition on ``_id`` for all texts of a site."""
    # "!" is the character after the space
    return {"$gte": f"{site} ", "$lt": f"{site}!"}


def version_key(article: bytes, number: int) -> bytes:
    """Return the ``_id`` of a version, so that the versions of an article are sorted by number."""
    return article + number.to_bytes(4, "big")


def all_versions(article: bytes) -> Document:
    """Return the query for all earlier versions of an article."""
    return {"_id": {"$gte": version_key(article, 0), "$lte": version_key(article, 0xFFFFFFFF)}}
