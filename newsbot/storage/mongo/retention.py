"""Deleting what is old; see :mod:`newsbot.storage.retention`."""

from __future__ import annotations

from datetime import datetime

from newsbot.connections.mongo import Collections, Document, Place
from newsbot.storage.mongo import words
from newsbot.storage.mongo.documents import micros

_KEY = 16  # bytes of an article's key in that of a version


def old_versions(database: Collections, before: datetime) -> int:
    """Return how many earlier versions are that old."""
    return database["versions"].count_documents({"fetched": {"$lt": micros(before)}})


def drop_versions(place: Place, before: datetime, limit: int) -> int:
    """Delete earlier versions, with their words."""
    database = place.database
    found = database["versions"].find({"fetched": {"$lt": micros(before)}}, {"_id": 1}).limit(limit)
    keys = [one["_id"] for one in found]
    words.only_present(place, sorted({key[:_KEY] for key in keys}))
    return database["versions"].delete_many({"_id": {"$in": keys}}).deleted_count


def old_pages(database: Collections, before: float) -> int:
    """Return how many page records could be made smaller."""
    return database["pages"].count_documents(_slimmable(before))


def slim_pages(database: Collections, before: float, limit: int) -> int:
    """Take history and referrers from page records."""
    keys = [one["_id"] for one in database["pages"].find(_slimmable(before), {"_id": 1}).limit(limit)]
    return (
        database["pages"]
        .update_many(
            {"_id": {"$in": keys}, **_slimmable(before)},
            {"$set": {"history": [], "referrers": []}, "$unset": {"referrer_bits": ""}},
        )
        .modified_count
    )


def _slimmable(before: float) -> Document:
    old = {"$lt": [{"$ifNull": ["$last_fetched", "$first_seen"]}, before]}
    return {
        "next_due": None,
        "$expr": old,
        "$or": [{"history.0": {"$exists": True}}, {"referrers.0": {"$exists": True}}],
    }
