"""Stories: articles under one story id."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from itertools import islice

from newsbot.storage.base import Story
from newsbot.storage.mongo.connection import Collections, Document
from newsbot.storage.mongo.documents import from_document, micros

_TOLD: Document = {"$type": "string"}
_AT_ONCE = 200


def stories(
    database: Collections, since: datetime | None, min_members: int, limit: int, *, patience: int
) -> list[Story]:
    """Return the stories with enough members and a member at or after ``since``, the most recent first."""
    if limit <= 0:
        return []
    chosen = list(islice(_large(database, _newest(database, since, patience), min_members), limit))
    found = {name: Story(story=name, members=[]) for name in chosen}
    members = database["articles"].find({"story": {"$in": chosen}}).sort({"moment": 1, "_id": 1})
    for member in members:
        found[member["story"]].members.append(from_document(member))
    return list(found.values())


def _newest(database: Collections, since: datetime | None, patience: int) -> Iterator[list[str]]:
    """Stories by their newest member, batch by batch."""
    recent: Document = {} if since is None else {"moment": {"$gte": micros(since)}}
    rows = database["articles"].aggregate(
        [
            {"$match": {"story": _TOLD, **recent}},
            {"$group": {"_id": "$story", "last": {"$max": "$moment"}}},
            {"$sort": {"last": -1, "_id": 1}},
        ],
        allowDiskUse=True,
        maxTimeMS=patience,
    )
    with rows:
        while some := [str(row["_id"]) for row in islice(rows, _AT_ONCE)]:
            yield some


def _large(database: Collections, batches: Iterator[list[str]], min_members: int) -> Iterator[str]:
    """Those that have at least so many members, over all time."""
    for some in batches:
        sizes = database["articles"].aggregate(
            [{"$match": {"story": {"$in": some}}}, {"$group": {"_id": "$story", "members": {"$sum": 1}}}]
        )
        large = {row["_id"] for row in sizes if row["members"] >= min_members}
        yield from (story for story in some if story in large)
