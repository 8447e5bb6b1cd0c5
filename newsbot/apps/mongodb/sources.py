"""Stores sources with their polls, counters of sites, hourly counters of sites, and notes.

Notes are in a collection with one document for each kind and key. The ``_id`` is a hash of kind and
key.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from hashlib import blake2b
from typing import Any

from pymongo import DeleteMany, ReplaceOne, UpdateOne
from pymongo.errors import DuplicateKeyError

from newsbot.apps.mongodb.client import Collections, Document, Repository, Session, harmless, write_in_turns
from newsbot.errors import DataError, DataFull, DataUnavailable
from newsbot.items import Kind, batched
from newsbot.pages.text.words import clean
from newsbot.storage.base import (
    ALL,
    COUNTED,
    HOUR,
    KEEP_DAYS,
    KEEP_HOURS,
    MAX_POLLS,
    Activity,
    Arrival,
    Hour,
    Poll,
    SiteRecord,
    Sites,
    SourceRecord,
    Sources,
    counted,
    packed_poll,
    unpacked_polls,
)
from newsbot.storage.notes import NoteName, Notes, Swap, key_of, packed_note, unpacked_note

_ESCAPES = (("%", "%25"), (".", "%2E"), ("$", "%24"), ("\0", "%00"))
"""Characters that have a meaning in MongoDB's field names, and the texts that replace them. All these texts
begin with ``%``, so ``%`` is replaced first and restored last."""
_BATCH = 500
_DAY: Document = {"$floor": {"$divide": ["$hour", 24]}}


class MongoSources(Repository, Sources):
    """:class:`newsbot.storage.base.Sources` in MongoDB."""

    def save(self, records: Iterable[SourceRecord]) -> None:
        operations = []
        for record in records:
            document = harmless(asdict(record))
            operations.append(ReplaceOne({"_id": document.pop("url")}, document, upsert=True))
        if operations:
            write_in_turns(partial(self.database["sources"].bulk_write, operations, ordered=True))

    def iter(self, site: str | None = None) -> Iterator[SourceRecord]:
        query = {} if site is None else {"source": clean(site)}
        batches = self.server.batches("sources", query, _BATCH)
        return self.server.streamed([_record(one) for one in some] for some in batches)

    def get(self, url: str) -> SourceRecord | None:
        return next(iter(self._read({"_id": clean(url)})), None)

    def best(self, site: str, kind: Kind, limit: int) -> list[SourceRecord]:
        query = {"source": clean(site), "kind": str(kind)}
        return self._read(query, sort=[("failures", 1)], limit=limit)

    def sample(self, limit: int, *, failures: int) -> list[SourceRecord]:
        sources, fit = self.database["sources"], {"failures": {"$lt": failures}}
        # $sample may return a document twice. If it shall return most documents, it reads all of them.
        if sources.estimated_document_count() <= limit:
            found = list(sources.find(fit).limit(limit))
        else:
            found = list(sources.aggregate([{"$sample": {"size": limit}}, {"$match": fit}]))
        return list({one["_id"]: _record(one) for one in found}.values())

    def troubled(self, failures: int) -> list[SourceRecord]:
        silent = _sites(self.database, {"silent": True})
        failing = _sites(self.database, {"failures": {"$gte": failures}})
        for some in batched(sorted(failing), _BATCH):
            works = {"source": {"$in": some}, "failures": {"$lt": failures}, "last_poll": {"$ne": None}}
            failing -= _sites(self.database, works)
        found = [
            one
            for some in batched(sorted(silent | failing), _BATCH)
            for one in self._read({"source": {"$in": some}})
        ]
        return sorted(found, key=lambda one: one.url)

    def count(
        self,
        *,
        failures: int | None = None,
        due: float | None = None,
        sites: Collection[str] | None = None,
    ) -> int:
        query = _query(failures, due, sites)
        sources = self.database["sources"]
        return sources.count_documents(query) if query else sources.estimated_document_count()

    def first_due(
        self, *, failures: int | None = None, sites: Collection[str] | None = None
    ) -> SourceRecord | None:
        query = _query(failures, math.inf, sites)
        # The index has this order. A further sort key would make the server read all sources.
        return next(iter(self._read(query, sort=[("next_due", 1)], limit=1)), None)

    def failing(self, limit: int, after: str | None = None) -> list[SourceRecord]:
        query: Document = {"failures": {"$gt": 0}}
        if after is None:
            return self._read(query, sort=[("failures", -1)], limit=limit)
        return self._read({**query, "source": {"$gt": after}}, sort=[("source", 1)], limit=limit)

    def _read(self, query: Document, **options: Any) -> list[SourceRecord]:
        return [_record(one) for one in self.database["sources"].find(query, **options)]

    def log_poll(self, url: str, poll: Poll) -> None:
        day, text = packed_poll(poll)
        key = clean(url)
        own, added = {"_id": poll_key(key, day)}, {"$addToSet": {"polls": text}}
        polls = self.database["polls"]
        # $addToSet makes a repeated write harmless. Usually, the document of the day exists, and this is
        # the only command.
        if polls.update_one(own, added).matched_count:
            return
        # The first poll of a day creates its document and deletes the days that are too old.
        polls.update_one(own, {"$set": {"url": key, "day": day}, **added}, upsert=True)
        polls.delete_many({"url": key, "day": {"$lte": day - KEEP_DAYS}})

    def polls(self, url: str | None = None) -> Iterator[tuple[str, Poll]]:
        asked = {} if url is None else {"url": clean(url)}
        with self.server.readable() as database:
            for document in database["polls"].find(asked).sort([("url", 1), ("day", 1)]):
                for poll in unpacked_polls(document["day"], "".join(document["polls"][:MAX_POLLS])):
                    yield document["url"], poll


def _record(document: Document) -> SourceRecord:
    url, kind = document["_id"], Kind(document["kind"])
    return SourceRecord(
        url=url, **{**{name: document[name] for name in document if name != "_id"}, "kind": kind}
    )


def _query(failures: int | None, due: float | None, sites: Collection[str] | None) -> Document:
    """Return the conditions of :meth:`MongoSources.count` as a query."""
    given: Document = {
        "failures": None if failures is None else {"$lt": failures},
        "next_due": None if due is None else {"$lte": due},
        "source": None if sites is None else {"$in": [clean(site) for site in sites]},
    }
    return {name: value for name, value in given.items() if value is not None}


def _sites(database: Collections, query: Document) -> set[str]:
    """Return the sites of the matching sources. The server reads only an index if there is one."""
    steps: list[Document] = [{"$match": query}, {"$group": {"_id": "$source"}}]
    return {row["_id"] for row in database["sources"].aggregate(steps)}


class MongoSites(Repository, Sites):
    """:class:`newsbot.storage.base.Sites` in MongoDB."""

    def add(self, records: Sequence[SiteRecord]) -> None:
        operations = [operation for record in records for operation in _adding(record)]
        if operations:
            sites = self.database["sites"]
            self.server.transact(lambda session: sites.bulk_write(operations, session=session))

    def all(self, names: Collection[str] | None = None) -> dict[str, SiteRecord]:
        query = {} if names is None else {"_id": {"$in": [*map(clean, names)]}}
        return self._read(query, {"_id": 1})

    def latest(self, limit: int) -> dict[str, SiteRecord]:
        return self._read({}, {"last_error_at": -1}, limit)

    def names(self, after: str, limit: int) -> list[str]:
        sites, sources = (
            [one[key] for one in found.find({key: {"$gt": after}}, {key: 1}).sort(key).limit(limit)]
            for found, key in ((self.database["sites"], "_id"), (self.database["sources"], "source"))
        )
        # If a list is full, further names may precede the last ones of the other list.
        known = min(some[-1] if len(some) == limit else chr(0x10FFFF) for some in (sites, sources))
        return sorted(name for name in {*sites, *sources} if name <= known)[:limit]

    def count(self, others: Collection[str] = ()) -> int:
        known = self.database["sites"].count_documents({"_id": {"$in": [*map(clean, others)]}})
        return self.database["sites"].estimated_document_count() + len(others) - known

    def _read(self, query: Document, order: Document, limit: int = 0) -> dict[str, SiteRecord]:
        found = list(self.database["sites"].find(query).sort(order).limit(limit))
        return {
            document["_id"]: SiteRecord(
                source=document["_id"],
                counters={_plain(name): value for name, value in document.get("counters", {}).items()},
                last_article=document.get("last_article"),
                last_error=document.get("last_error"),
                last_error_at=document.get("last_error_at"),
            )
            for document in found
        }


class MongoActivity(Repository, Activity):
    """:class:`newsbot.storage.base.Activity` in MongoDB."""

    def add(self, at: float, sites: Mapping[str, Mapping[str, float]]) -> None:
        """Add counters of sites. If the server fails, it may have added the counters of only some sites."""
        hour = int(at // HOUR)
        added: list[UpdateOne] = []
        old: list[DeleteMany] = []
        for source, counters in counted(sites).items():
            name = clean(source)
            change = {"$setOnInsert": {"source": name, "hour": hour}, "$inc": counters}
            added.append(UpdateOne({"_id": f"{name} {hour}"}, change, upsert=True))
            old.append(DeleteMany({"source": name, "hour": {"$lte": hour - KEEP_HOURS}}))
        if added:
            # The driver sends consecutive operations of one kind as one command.
            self.database["site_hours"].bulk_write([*added, *old], ordered=True)

    def hours(self, since: float, site: str = ALL) -> list[Hour]:
        query = {"source": clean(site), "hour": {"$gte": int(since // HOUR)}}
        return [
            Hour(one["source"], one["hour"], {name: one[name] for name in COUNTED if one.get(name)})
            for one in self.shown["site_hours"].find(query).sort("hour", 1)
        ]

    def trends(self, since: float) -> dict[str, dict[int, int]]:
        # the source "" stands for all sites together
        wanted = {"hour": {"$gte": int(since // HOUR)}, "source": {"$gt": ""}, "articles": {"$gt": 0}}
        key = {"source": "$source", "day": _DAY}
        steps: list[Document] = [
            {"$match": wanted},
            {"$group": {"_id": key, "articles": {"$sum": "$articles"}}},
        ]
        found: dict[str, dict[int, int]] = {}
        for row in self.shown["site_hours"].aggregate(steps):
            found.setdefault(row["_id"]["source"], {})[int(row["_id"]["day"])] = int(row["articles"])
        return found

    def watched_since(self) -> dict[str, float]:
        steps: list[Document] = [  # for this query, the server reads only the index
            {"$match": {"source": {"$gt": ""}}},
            {"$sort": {"source": 1, "hour": 1}},
            {"$group": {"_id": "$source", "first": {"$first": "$hour"}}},
        ]
        return {row["_id"]: float(row["first"] * HOUR) for row in self.shown["site_hours"].aggregate(steps)}

    def arrivals(self, limit: int) -> list[Arrival]:
        if limit <= 0:
            return []
        # Only articles with version 1 are read, because later versions have the time of a later fetch.
        wanted = {"source": 1, "published_at": 1, "published_precision": 1, "fetched_at": 1}
        found = self.shown["articles"].find({"version": 1}, wanted).sort({"fetched": -1, "_id": -1})
        return [
            Arrival(
                one["source"],
                one["published_at"],
                one["published_precision"] in ("second", "minute"),
                one["fetched_at"],
            )
            for one in found.limit(limit)
        ]


def poll_key(url: str, day: int) -> bytes:
    """Return the ``_id`` of a source's polls on one day."""
    return blake2b(f"{day} {url}".encode(), digest_size=16).digest()


def site_document(record: SiteRecord) -> Document:
    """Return the whole document of a site's record. Fields without a value are left out."""
    document: Document = harmless(asdict(record))
    document["_id"] = document.pop("source")
    document["counters"] = {_escaped(name): value for name, value in record.counters.items()}
    return {name: value for name, value in document.items() if value is not None}


def _adding(record: SiteRecord) -> list[UpdateOne]:
    """Return the operations that add a record to its site."""
    key = {"_id": clean(record.source)}
    first: Document = {}
    if record.counters:
        first["$inc"] = {f"counters.{_escaped(name)}": value for name, value in record.counters.items()}
    if record.last_article is not None:
        first["$max"] = {"last_article": record.last_article}
    # The last error needs a second operation with a condition. The first operation creates the document.
    operations = [UpdateOne(key, first or {"$setOnInsert": {"counters": {}}}, upsert=True)]
    at = record.last_error_at
    given = {"last_error": harmless(record.last_error), "last_error_at": at}
    changes = {name: value for name, value in given.items() if value is not None}
    if changes:
        # The condition is that the stored error is not later, because workers write errors in any order.
        earlier = [{"last_error_at": None}, {"last_error_at": {"$lte": at or 0.0}}]
        operations.append(UpdateOne(key | {"$or": earlier}, {"$set": changes}))
    return operations


def _escaped(name: str) -> str:
    for sign, written in _ESCAPES:
        name = name.replace(sign, written)
    return clean(name)


def _plain(name: str) -> str:
    for sign, written in reversed(_ESCAPES):
        name = name.replace(written, sign)
    return name


_RETRY_SWAPS_SECONDS = 0.1
"""Seconds for which a transaction with several notes is tried again if it conflicts with another
transaction."""


class _Overtaken(Exception):
    """Raised to roll back the transaction, because another worker has changed one of the notes."""


class MongoNotes(Repository, Notes):
    """:class:`newsbot.storage.notes.Notes` in MongoDB."""

    def save(self, kind: str, key: str, note: Mapping[str, Any]) -> None:
        kept_kind, kept_key = key_of(kind, key)
        document = {"kind": kept_kind, "key": kept_key, "body": packed_note(key, note)}
        name = {"_id": note_key(kept_kind, kept_key)}
        self.database["notes"].update_one(name, {"$set": document}, upsert=True)

    def swap(self, kind: str, key: str, old: Mapping[str, Any] | None, new: Mapping[str, Any]) -> bool:
        kept_kind, kept_key = key_of(kind, key)
        name, body = note_key(kept_kind, kept_key), packed_note(key, new)
        notes = self.database["notes"]
        # The old body is part of the query, so a note that another worker has changed is not replaced.
        if old is not None:
            known = {"_id": name, "body": packed_note(key, old)}
            return notes.update_one(known, {"$set": {"body": body}}).matched_count > 0
        try:
            notes.insert_one({"_id": name, "kind": kept_kind, "key": kept_key, "body": body})
        except DuplicateKeyError:
            return False
        return True

    def swap_many(self, swaps: Sequence[Swap]) -> list[bool]:
        if len(swaps) > 1:  # nearly always, no other worker has changed any of the notes
            try:
                with self.server.readable() as database:
                    self.server.transact(partial(_swap_all, database, swaps), _RETRY_SWAPS_SECONDS)
            except (DataUnavailable, DataFull):
                raise
            except (DataError, ValueError, _Overtaken):
                pass  # each note is written alone
            else:
                return [True] * len(swaps)
        return super().swap_many(swaps)

    def get_many(self, names: Sequence[NoteName]) -> dict[NoteName, dict[str, Any]]:
        keys = {note_key(*key_of(*name)): name for name in names}
        found = self.database["notes"].find({"_id": {"$in": list(keys)}})
        return {keys[document["_id"]]: unpacked_note(document["body"]) for document in found}

    def all(self, kind: str) -> dict[str, dict[str, Any]]:
        found = self.database["notes"].find({"kind": key_of(kind, "")[0]})
        return {document["key"]: unpacked_note(document["body"]) for document in found}

    def forget(self, kind: str, key: str) -> bool:
        return self.database["notes"].delete_one({"_id": note_key(*key_of(kind, key))}).deleted_count > 0


def _swap_all(database: Collections, swaps: Sequence[Swap], session: Session) -> None:
    """Write all notes. Raises :class:`_Overtaken` or ``BulkWriteError`` if one of them has changed."""
    made: list[Document] = []
    replaced: list[UpdateOne] = []
    for kind, key, old, new in swaps:
        where = key_of(kind, key)
        name, body = note_key(*where), packed_note(key, new)
        if old is None:
            made.append({"_id": name, "kind": where[0], "key": where[1], "body": body})
        else:
            known = {"_id": name, "body": packed_note(key, old)}
            replaced.append(UpdateOne(known, {"$set": {"body": body}}))
    if made:
        database["notes"].insert_many(made, session=session)
    if replaced:
        result = database["notes"].bulk_write(replaced, session=session)
        # A note whose body has changed does not match.
        if result.matched_count < len(replaced):
            raise _Overtaken


def note_key(kind: str, key: str) -> bytes:
    """Return the ``_id`` of a note."""
    return blake2b(f"{kind}\0{key}".encode(), digest_size=16).digest()
