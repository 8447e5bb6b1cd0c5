"""Feeds and the like, and the counters of sites."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict

from pymongo import ReplaceOne, UpdateOne
from pymongo.errors import BulkWriteError

from newsbot.connections.mongo import Collections, Document, all_duplicates
from newsbot.items import Kind
from newsbot.storage.base import SiteRecord, SourceRecord
from newsbot.storage.mongo.documents import harmless
from newsbot.text.words import clean

_ESCAPES = (("%", "%25"), (".", "%2E"), ("$", "%24"), ("\0", "%00"))
"""Signs that mean something in the name of a field."""


def save_sources(database: Collections, records: Iterable[SourceRecord]) -> None:
    """Write source records whole."""
    operations = []
    for record in records:
        document = harmless(asdict(record))
        operations.append(ReplaceOne({"_id": document.pop("url")}, document, upsert=True))
    if not operations:
        return
    try:
        database["sources"].bulk_write(operations, ordered=True)
    except BulkWriteError as error:
        if not all_duplicates(error):  # another worker wrote one for the first time in this instant
            raise
        database["sources"].bulk_write(operations, ordered=True)


def sources(database: Collections, source: str | None) -> list[SourceRecord]:
    """Return all source records, or those of one site, by URL."""
    found = database["sources"].find({} if source is None else {"source": clean(source)}).sort("_id", 1)
    return [_source(document) for document in found]


def count_site(database: Collections, record: SiteRecord) -> None:
    """Add the counters, and keep the later times."""
    key = {"_id": clean(record.source)}
    first: Document = {}
    if record.counters:
        first["$inc"] = {f"counters.{_escaped(name)}": value for name, value in record.counters.items()}
    if record.last_article is not None:
        first["$max"] = {"last_article": record.last_article}
    operations = [UpdateOne(key, first or {"$setOnInsert": {"counters": {}}}, upsert=True)]
    at = record.last_error_at
    given = {"last_error": harmless(record.last_error), "last_error_at": at}
    changes = {name: value for name, value in given.items() if value is not None}
    if changes:
        earlier = [{"last_error_at": None}, {"last_error_at": {"$lte": at or 0.0}}]
        operations.append(UpdateOne(key | {"$or": earlier}, {"$set": changes}))
    database["sites"].bulk_write(operations, ordered=True)


def sites(database: Collections) -> dict[str, SiteRecord]:
    """Return all site records by domain."""
    return {
        document["_id"]: SiteRecord(
            source=document["_id"],
            counters={_plain(name): value for name, value in document.get("counters", {}).items()},
            last_article=document.get("last_article"),
            last_error=document.get("last_error"),
            last_error_at=document.get("last_error_at"),
        )
        for document in database["sites"].find().sort("_id", 1)
    }


def site_document(record: SiteRecord) -> Document:
    """Return the document of a site's record, whole."""
    document: Document = harmless(asdict(record))
    document["_id"] = document.pop("source")
    document["counters"] = {_escaped(name): value for name, value in record.counters.items()}
    return {name: value for name, value in document.items() if value is not None}


def _source(document: Document) -> SourceRecord:
    values = {**document, "url": document["_id"], "kind": Kind(document["kind"])}
    del values["_id"]
    return SourceRecord(**values)


def _escaped(name: str) -> str:
    for sign, written in _ESCAPES:
        name = name.replace(sign, written)
    return clean(name)


def _plain(name: str) -> str:
    for sign, written in reversed(_ESCAPES):
        name = name.replace(written, sign)
    return name
