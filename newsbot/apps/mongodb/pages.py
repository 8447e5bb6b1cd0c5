"""Stores the crawl database, which has one document for each URL.

Transactions are not needed, because each change of a document is one idempotent operation. Documents are read
before a write only to avoid operations that would change nothing. Times are POSIX seconds as in
:class:`newsbot.items.PageRecord`. The field ``added`` is the server's time of the first write.

The first referrers are in a list. All other referrers are bits of a bitmap
(:class:`newsbot.storage.base.Referrers`), stored as 32 numbers of 32 bits, because MongoDB can set a bit of
a number in one operation.

Waiting links are in a collection with one document for each link. The ``_id`` is the fingerprint.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields
from functools import partial
from typing import Any

from bson import Int64
from pymongo import UpdateOne
from pymongo.errors import BulkWriteError

from newsbot.apps.mongodb.client import (
    Collections,
    Document,
    Repository,
    all_duplicates,
    harmless,
    write_in_turns,
)
from newsbot.clock import utc
from newsbot.items import Event, Kind, PageRecord, batched
from newsbot.pages.text.words import clean
from newsbot.storage.base import (
    BEGINNING,
    MAX_HISTORY,
    MAX_REFERRERS,
    Pages,
    Referrers,
    WaitingLink,
    WaitingLinks,
    bit_of,
    estimate,
    referrers_of,
)

_FIELDS = tuple(field.name for field in fields(PageRecord))
_LINKS = ("referrers", "referrer_count")
_KEPT = frozenset({"fingerprint", "first_seen", "history", *_LINKS})
_WRITTEN = tuple(name for name in _FIELDS if name not in _KEPT)
_AT_ONCE = 500
"""Maximum number of documents in a batch, and of operations in a bulk write."""
_BITS = 32
"""Number of integers in the bitmap, and number of bits in each integer."""


@dataclass(slots=True)
class _Met:
    """A page within one batch: its first record, all its referrers, and its smallest depth."""

    page: PageRecord
    depth: int
    referrers: dict[str, None] = field(default_factory=dict)


class MongoPages(Repository, Pages):
    """:class:`newsbot.storage.base.Pages` in MongoDB."""

    def discover(self, pages: Sequence[PageRecord]) -> None:
        met: dict[bytes, _Met] = {}
        for page in pages:  # a batch often has several links to one page
            one = met.setdefault(page.fingerprint, _Met(page, page.depth))
            one.depth = min(one.depth, page.depth)
            one.referrers |= dict.fromkeys(map(clean, page.referrers))
        for some in batched(met, _AT_ONCE):
            batch = {key: met[key] for key in some}
            known = _add_to_known(self.database, batch)
            faster = _insert(self.database, {key: one for key, one in batch.items() if key not in known})
            if faster:  # pages that another worker recorded in the meantime
                _add_to_known(self.database, {key: batch[key] for key in faster})

    def get(self, fingerprints: Sequence[bytes]) -> dict[bytes, PageRecord]:
        return {found["_id"]: record_of(found) for found in _select(self.database, fingerprints, None)}

    def save(self, pages: Sequence[PageRecord]) -> None:
        for some in batched(pages, _AT_ONCE):
            write = self.database["pages"].bulk_write
            write_in_turns(partial(write, [_saving(page) for page in some], ordered=True))

    def iter(self, *, site: str | None = None, kind: Kind | None = None) -> Iterator[PageRecord]:
        asked = {"source": site, "kind": kind}
        query = {name: clean(str(value)) for name, value in asked.items() if value is not None}
        return self.server.streamed(self._batches(query))

    def due(self, *, after: float, until: float) -> Iterator[PageRecord]:
        return self.server.streamed(self._due_batches(after, until))

    def added(self, since: float) -> Iterator[PageRecord]:
        return self.server.streamed(self._added_batches(since))

    def by_key(self, after: bytes = b"") -> Iterator[PageRecord]:
        batches = self.server.batches("pages", {}, _AT_ONCE, after)
        return self.server.streamed([record_of(one) for one in some] for some in batches)

    def _added_batches(self, since: float) -> Iterator[list[PageRecord]]:
        end = self.server.at.client.admin.command("hello")["localTime"]
        first, seen = utc(max(0.0, since)), list[bytes]()
        while True:
            # Pages that were added together have the same time.
            asked = {"added": {"$gte": first, "$lte": end}, "_id": {"$nin": seen}}
            found = list(self.database["pages"].find(asked).sort("added", 1).limit(_AT_ONCE))
            if not found:
                return
            yield [record_of(document) for document in found]
            last = found[-1]["added"]
            seen = (seen if last == first else []) + [one["_id"] for one in found if one["added"] == last]
            first = last

    def _batches(self, query: Document) -> Iterator[list[PageRecord]]:
        """Yield the matching records in batches, without pages that were added after the start."""
        query["added"] = {"$lte": self.server.at.client.admin.command("hello")["localTime"]}
        time.sleep(0.002)  # pages that the caller writes next must have a later ``added``
        for found in self.server.batches("pages", query, _AT_ONCE):
            yield [record_of(document) for document in found]

    def _due_batches(self, after: float, until: float) -> Iterator[list[PageRecord]]:
        # The index contains only times above 0. Without this bound, the server could not use it.
        asked: Document = {"next_due": {"$gt": max(after, 0.0), "$lte": until}}
        order = [("next_due", 1), ("_id", 1)]
        while found := list(self.database["pages"].find(asked).sort(order).limit(_AT_ONCE)):
            yield [record_of(document) for document in found]
            due, key = found[-1]["next_due"], found[-1]["_id"]  # several pages can have the same time
            later = {"next_due": {"$gt": due, "$lte": until}}
            asked = {"$or": [{"next_due": due, "_id": {"$gt": key}}, later]}


def upsert(key: bytes, once: Document, always: Document, events: Sequence[Event] = ()) -> UpdateOne:
    """Return the operation that writes a page.

    The fields of ``once`` are written only if the page is new. The fields of ``always`` are written in any
    case. ``events`` are added to the history.
    """
    # Later objects win: fields of an existing page replace ``once``, and ``always`` replaces both.
    known = [{"$literal": once}, {"added": "$$NOW"}, "$$ROOT", {"$literal": always}]
    steps: list[Document] = [{"$replaceWith": {"$mergeObjects": known}}]
    if events:
        steps.append({"$set": {"history": with_events(events, "$history", MAX_HISTORY)}})
    return UpdateOne({"_id": key}, steps, upsert=True)


def with_events(events: Sequence[Event], kept: str, most: int) -> Document:
    """Return a MongoDB expression with the same result as :func:`newsbot.storage.base.merged`.

    ``kept`` is the MongoDB expression for the list of stored events. ``most`` is the maximum number of
    events. In an update, MongoDB 5.0 cannot sort an array. Each event is therefore inserted at its place in
    time, after the events with an earlier or the same time.
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
            # an event that is stored already is not added again, so the operation is idempotent
            "in": {"$cond": [{"$in": ["$$this", "$$value"]}, "$$value", added]},
        }
    }
    begins = {"$eq": [{"$getField": {"field": "event", "input": {"$first": "$$all"}}}, BEGINNING]}
    # The first event says when and how the page was found, so it is kept together with the latest events.
    with_first = {"$concatArrays": [{"$slice": ["$$all", 1]}, {"$slice": ["$$all", 1 - most]}]}
    too_many = {"$gt": [{"$size": "$$all"}, most]}
    chosen = {"$cond": [{"$and": [too_many, begins]}, with_first, {"$slice": ["$$all", -most]}]}
    return {"$let": {"vars": {"all": merged}, "in": chosen}}


def record_of(document: Document) -> PageRecord:
    """Return the page record for a document. The document must have all fields."""
    values: dict[str, Any] = {name: document[name] for name in _FIELDS if name in document}
    referrers = from_links(document)
    values |= {"fingerprint": document["_id"], "kind": Kind(document["kind"])}
    return PageRecord(**values | {"referrers": referrers.kept, "referrer_count": referrers.count})


def written_each_time(page: PageRecord) -> Document:
    """Return the fields that each write of the page sets."""
    return {name: harmless(getattr(page, name)) for name in _WRITTEN}


def written_once(page: PageRecord, referrers: Referrers, history: Sequence[Event] = ()) -> Document:
    """Return the fields that are set only when the page is new."""
    return {"first_seen": page.first_seen, "history": harmless(list(history)), **_to_links(referrers)}


def from_links(document: Document) -> Referrers:
    """Return the referrers of a page from its document."""
    kept: list[str] = document["referrers"][:MAX_REFERRERS]
    bitmap = sum(
        int(bits) << (int(place) * _BITS) for place, bits in document.get("referrer_bits", {}).items()
    )
    count = max(document["referrer_count"], len(kept))
    if bitmap:
        # The number of set bits gives an estimate of the number of URLs (linear counting).
        count = max(count, MAX_REFERRERS + estimate(bitmap))
    return Referrers(kept, count, bitmap.to_bytes(128, "big") if bitmap else b"")


def _to_links(referrers: Referrers) -> Document:
    found: Document = {"referrers": referrers.kept, "referrer_count": referrers.count}
    bitmap = int.from_bytes(referrers.bitmap, "big")
    if bitmap:
        found["referrer_bits"] = {
            str(place): Int64(bits)
            for place in range(_BITS)
            if (bits := bitmap >> (place * _BITS) & 0xFFFFFFFF)
        }
    return found


def _add_to_known(database: Collections, met: dict[bytes, _Met]) -> set[bytes]:
    """Add new referrers and smaller depths to the known pages among ``met``. Return their fingerprints."""
    known: set[bytes] = set()
    operations: list[UpdateOne] = []
    for found in _select(database, met, ["depth", "referrers", "referrer_count", "referrer_bits"]):
        key = found["_id"]
        known.add(key)
        referrers = from_links(found)
        new = [url for url in met[key].referrers if referrers.add([url])]
        # most links of a crawl change nothing, so nothing is written
        if new or met[key].depth < found["depth"]:
            operations += _add_referrers(key, new, met[key].depth)
    if operations:
        database["pages"].bulk_write(operations, ordered=True)
    return known


def _add_referrers(key: bytes, urls: Sequence[str], depth: int) -> list[UpdateOne]:
    """Return idempotent operations that add referrers and lower the depth.

    The server decides which URLs are added to the list, because other workers may add referrers in the
    meantime.
    """
    new = {"$filter": {"input": {"$literal": urls}, "cond": {"$not": {"$in": ["$$this", "$referrers"]}}}}
    first = {"$slice": [{"$concatArrays": ["$referrers", new]}, MAX_REFERRERS]}
    steps: list[Document] = [
        {"$set": {"depth": {"$min": ["$depth", depth]}, "referrers": first}},
        {"$set": {"referrer_count": {"$max": ["$referrer_count", {"$size": "$referrers"}]}}},
    ]
    operations = [UpdateOne({"_id": key}, steps)]
    for url in urls:  # sets the bit of each referrer that is not in the list
        place, bit = divmod(bit_of(url), _BITS)
        mark = {"$bit": {f"referrer_bits.{place}": {"or": Int64(1 << bit)}}}
        operations.append(UpdateOne({"_id": key, "referrers": {"$ne": url}}, mark))
    return operations


def _insert(database: Collections, met: dict[bytes, _Met]) -> set[bytes]:
    """Insert new pages. Return the fingerprints of the pages that another worker has inserted first."""
    if not met:
        return set()
    keys = list(met)
    operations = [upsert(key, _new_page(met[key]), {}) for key in keys]
    try:
        # Not ordered, because the first duplicate key would stop ordered operations.
        inserted = set(database["pages"].bulk_write(operations, ordered=False).upserted_ids or ())
    except BulkWriteError as error:
        if not all_duplicates(error):
            raise
        # If two workers insert the same page at the same time, one upsert fails with a duplicate key.
        inserted = {each["index"] for each in error.details["upserted"]}
    return {key for number, key in enumerate(keys) if number not in inserted}


def _new_page(met: _Met) -> Document:
    referrers = referrers_of(met.page)
    referrers.add(met.referrers)
    once = written_once(met.page, referrers, met.page.history[-MAX_HISTORY:])
    return once | written_each_time(met.page) | {"depth": met.depth}


def _saving(page: PageRecord) -> UpdateOne:
    once = written_once(page, referrers_of(page))
    return upsert(page.fingerprint, once, written_each_time(page), harmless(page.history))


def _select(
    database: Collections, fingerprints: Iterable[bytes], names: Sequence[str] | None
) -> Iterator[Document]:
    """Yield the documents of known pages, with the fields ``names``, or with all fields if it is None.

    Unknown pages are left out.
    """
    for some in batched(dict.fromkeys(fingerprints), _AT_ONCE):
        yield from database["pages"].find({"_id": {"$in": some}}, names)


def _time_of(event: str) -> Document:
    return {"$ifNull": [f"{event}.at", 0]}


class MongoWaitingLinks(Repository, WaitingLinks):
    """:class:`newsbot.storage.base.WaitingLinks` in MongoDB."""

    def save(self, links: Sequence[WaitingLink], most: int) -> None:
        if not links:
            return
        made = [
            UpdateOne({"_id": one.fingerprint}, {"$setOnInsert": document_of(one)}, upsert=True)
            for one in links
        ]
        waiting = self.database["waiting_links"]
        if not waiting.bulk_write(made, ordered=False).upserted_count:
            return
        for source, family in sorted({(clean(one.source), clean(one.family)) for one in links}):
            of_family = {"source": source, "family": family}
            left = waiting.find(of_family, {"_id": 1}).sort([("at", -1), ("_id", 1)]).skip(most)
            if keys := [one["_id"] for one in left]:
                waiting.delete_many({"_id": {"$in": keys}})

    def counts(self, site: str) -> dict[str, int]:
        stages: list[Document] = [
            {"$match": {"source": clean(site)}},
            {"$group": {"_id": "$family", "number": {"$sum": 1}}},
        ]
        return {one["_id"]: one["number"] for one in self.database["waiting_links"].aggregate(stages)}

    def of_family(self, site: str, family: str, limit: int) -> list[WaitingLink]:
        asked = {"source": clean(site), "family": clean(family)}
        order = [("priority", -1), ("at", -1), ("_id", 1)]
        return [link_of(one) for one in self.database["waiting_links"].find(asked).sort(order).limit(limit)]

    def get(self, fingerprints: Sequence[bytes]) -> dict[bytes, WaitingLink]:
        found = self.database["waiting_links"].find({"_id": {"$in": list(fingerprints)}})
        return {one["_id"]: link_of(one) for one in found}

    def forget(self, fingerprints: Sequence[bytes]) -> int:
        return self.database["waiting_links"].delete_many({"_id": {"$in": list(fingerprints)}}).deleted_count

    def forget_site(self, site: str) -> int:
        return self.database["waiting_links"].delete_many({"source": clean(site)}).deleted_count


def document_of(link: WaitingLink) -> Document:
    """Return the document of a link, without its ``_id``."""
    return {
        "source": clean(link.source),
        "family": clean(link.family),
        "at": link.at,
        "priority": link.priority,
        "body": clean(link.body),
    }


def link_of(one: Document) -> WaitingLink:
    """Return the link of a document."""
    return WaitingLink(
        fingerprint=bytes(one["_id"]),
        source=one["source"],
        family=one["family"],
        at=one["at"],
        priority=one["priority"],
        body=one["body"],
    )
