"""Stores waiting links in a collection with one document for each link. The ``_id`` is the fingerprint."""

from __future__ import annotations

from collections.abc import Sequence

from pymongo import UpdateOne

from newsbot.apps.mongodb.client import Document
from newsbot.apps.mongodb.connection import Repository
from newsbot.pages.text.words import clean
from newsbot.storage.base import WaitingLink, WaitingLinks


class MongoWaitingLinks(Repository, WaitingLinks):
    """:class:`newsbot.storage.base.WaitingLinks` in MongoDB."""

    def save(self, links: Sequence[WaitingLink], most: int) -> None:
        if not links:
            return
        made = [
            UpdateOne({"_id": one.fingerprint}, {"$setOnInsert": document_of(one)}, upsert=True)
            for one in links
        ]
        with self.server.readable() as database:
            waiting = database["waiting_links"]
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
        with self.server.readable() as database:
            return {one["_id"]: one["number"] for one in database["waiting_links"].aggregate(stages)}

    def of_family(self, site: str, family: str, limit: int) -> list[WaitingLink]:
        asked = {"source": clean(site), "family": clean(family)}
        order = [("priority", -1), ("at", -1), ("_id", 1)]
        with self.server.readable() as database:
            return [link_of(one) for one in database["waiting_links"].find(asked).sort(order).limit(limit)]

    def get(self, fingerprints: Sequence[bytes]) -> dict[bytes, WaitingLink]:
        with self.server.readable() as database:
            found = database["waiting_links"].find({"_id": {"$in": list(fingerprints)}})
            return {one["_id"]: link_of(one) for one in found}

    def forget(self, fingerprints: Sequence[bytes]) -> int:
        with self.server.readable() as database:
            return database["waiting_links"].delete_many({"_id": {"$in": list(fingerprints)}}).deleted_count

    def forget_site(self, site: str) -> int:
        with self.server.readable() as database:
            return database["waiting_links"].delete_many({"source": clean(site)}).deleted_count


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
