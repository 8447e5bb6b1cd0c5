"""The crawl database: one document a URL.

No transaction is needed: each change of a document is one operation that does nothing the second
time, and reading before only spares operations that would change nothing. Times are POSIX seconds
as in :class:`newsbot.items.PageRecord`; ``added`` is the server's time of the first writing.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields
from itertools import islice
from typing import Any

from pymongo import UpdateOne
from pymongo.errors import BulkWriteError

from newsbot.connections.mongo import Collections, Document, all_duplicates
from newsbot.items import Event, Kind, PageRecord
from newsbot.storage.base import MAX_HISTORY
from newsbot.storage.history import BEGINNING
from newsbot.storage.mongo.documents import harmless
from newsbot.storage.mongo.links import from_links, to_links
from newsbot.storage.referrers import referrers_of
from newsbot.text.words import clean

_FIELDS = tuple(field.name for field in fields(PageRecord))
_LINKS = ("referrers", "referrer_count")
_KEPT = frozenset({"fingerprint", "first_seen", "history", *_LINKS})
_WRITTEN = tuple(name for name in _FIELDS if name not in _KEPT)
_AT_ONCE = 500
_TURNS = 5  # a page that is written for the first time by two workers at once takes a second turn


def pages(database: Collections, fingerprints: Iterable[bytes]) -> dict[bytes, PageRecord]:
    """Return the records of those URLs that are known."""
    return {found["_id"]: record(found) for found in select(database, fingerprints, None)}


def save_pages(database: Collections, records: Sequence[PageRecord]) -> None:
    """Write records whole, but for what only grows."""
    left = iter(records)
    while some := list(islice(left, _AT_ONCE)):
        for turn in range(1, _TURNS + 1):
            try:
                database["pages"].bulk_write([_saving(page) for page in some], ordered=True)
                break
            except BulkWriteError as error:
                if turn == _TURNS or not all_duplicates(error):
                    raise


def page_batches(
    database: Collections, source: str | None, kind: Kind | None, state: str | None
) -> Iterator[list[PageRecord]]:
    """Yield all records that match, batch by batch: no cursor stays open while the caller works.

    Pages that come in meanwhile are left out.
    """
    asked = {"source": source, "kind": kind, "state": state}
    query: Document = {name: clean(str(value)) for name, value in asked.items() if value is not None}
    query["added"] = {"$lte": database.client.admin.command("hello")["localTime"]}
    time.sleep(0.002)  # what the caller writes from now on has a later millisecond
    while True:
        found = list(database["pages"].find(query).sort("_id", 1).limit(_AT_ONCE))
        if not found:
            return
        yield [record(document) for document in found]
        query["_id"] = {"$gt": found[-1]["_id"]}


def due_batches(database: Collections, after: float, until: float) -> Iterator[list[PageRecord]]:
    """Yield the records that are due in this time, the earliest first, batch by batch."""
    asked: Document = {"next_due": {"$gt": max(after, 0.0), "$lte": until}}
    while True:
        order = [("next_due", 1), ("_id", 1)]
        found = list(database["pages"].find(asked).sort(order).limit(_AT_ONCE))
        if not found:
            return
        yield [record(document) for document in found]
        due, key = found[-1]["next_due"], found[-1]["_id"]
        later = {"next_due": {"$gt": due, "$lte": until}}
        asked = {"$or": [{"next_due": due, "_id": {"$gt": key}}, later]}


def new_page(page: PageRecord) -> Document:
    """Return the fields that are written once."""
    return {"first_seen": page.first_seen, "history": [], **to_links(referrers_of(page))}


def to_document(page: PageRecord) -> Document:
    """Return the fields that are written each time."""
    return {name: harmless(getattr(page, name)) for name in _WRITTEN}


def upsert(key: bytes, once: Document, always: Document, events: Sequence[Event] = ()) -> UpdateOne:
    """Write ``once`` where the page is new, ``always`` in any case, and add events to its history."""
    known = [{"$literal": once}, {"added": "$$NOW"}, "$$ROOT", {"$literal": always}]
    steps: list[Document] = [{"$replaceWith": {"$mergeObjects": known}}]
    if events:
        steps.append({"$set": {"history": with_events(events, "$history", MAX_HISTORY)}})
    return UpdateOne({"_id": key}, steps, upsert=True)


def with_events(events: Sequence[Event], kept: str, most: int) -> Document:
    """Return the list ``kept`` as :func:`newsbot.storage.history.merged` does, in the database.

    MongoDB 5.0 cannot sort an array in an update: each event goes between what is not later and the rest.
    """
    earlier = {"$lte": [_time_of("$$kept"), _time_of("$$this")]}
    added = {
        "$concatArrays": [
            {"$filter": {"input": "$$value", "as": "kept", "cond": earlier}},
            ["$$this"],
            {"$filter": {"input": "$$value", "as": "kept", "cond": {"$not": [earlier]}}},
        ]
    }
    merged = {
        "$reduce": {
            "input": {"$literal": list(events)},
            "initialValue": kept,
            "in": {"$cond": [{"$in": ["$$this", "$$value"]}, "$$value", added]},
        }
    }
    begins = {"$eq": [{"$getField": {"field": "event", "input": {"$first": "$$all"}}}, BEGINNING]}
    with_first = {"$concatArrays": [{"$slice": ["$$all", 1]}, {"$slice": ["$$all", 1 - most]}]}
    too_many = {"$gt": [{"$size": "$$all"}, most]}
    chosen = {"$cond": [{"$and": [too_many, begins]}, with_first, {"$slice": ["$$all", -most]}]}
    return {"$let": {"vars": {"all": merged}, "in": chosen}}


def _time_of(event: str) -> Document:
    return {"$ifNull": [f"{event}.at", 0]}


def select(
    database: Collections, fingerprints: Iterable[bytes], names: Sequence[str] | None
) -> Iterator[Document]:
    """Yield the documents of those URLs, with these fields (None: all)."""
    asked = iter(dict.fromkeys(fingerprints))
    while some := list(islice(asked, _AT_ONCE)):
        yield from database["pages"].find({"_id": {"$in": some}}, names)


def record(document: Document) -> PageRecord:
    """Return the record of a document."""
    values: dict[str, Any] = {name: document[name] for name in _FIELDS if name in document}
    referrers = from_links(document)
    return PageRecord(
        **values
        | {
            "fingerprint": document["_id"],
            "kind": Kind(document["kind"]),
            "referrers": referrers.kept,
            "referrer_count": referrers.count,
        }
    )


def _saving(page: PageRecord) -> UpdateOne:
    return upsert(page.fingerprint, new_page(page), to_document(page), harmless(page.history))
