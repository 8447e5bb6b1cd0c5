"""Hours of sites: one document a site and hour, and one for all of them; articles by their fetch."""

from __future__ import annotations

from collections.abc import Mapping

from pymongo import DeleteMany, UpdateOne

from newsbot.storage.activity import COUNTED, HOUR, KEEP_HOURS, Arrival, Hour, counted
from newsbot.storage.mongo.connection import Collections, Document
from newsbot.storage.records import clean


def add_activity(database: Collections, at: float, sites: Mapping[str, Mapping[str, float]]) -> None:
    """Add counters to an hour, each site for itself."""
    hour = int(at // HOUR)
    operations: list[UpdateOne | DeleteMany] = []
    for source, counters in counted(sites).items():
        name = clean(source)
        change = {"$setOnInsert": {"source": name, "hour": hour}, "$inc": counters}
        operations.append(UpdateOne({"_id": f"{name} {hour}"}, change, upsert=True))
        operations.append(DeleteMany({"source": name, "hour": {"$lte": hour - KEEP_HOURS}}))
    if operations:
        database["site_hours"].bulk_write(operations, ordered=True)


def activity(database: Collections, since: float, source: str | None) -> list[Hour]:
    """Return the hours of a site, of all together, or of each site."""
    chosen: Document = {"source": {"$gt": ""} if source is None else clean(source)}
    found = database["site_hours"].find(chosen | {"hour": {"$gte": int(since // HOUR)}})
    return [
        Hour(one["source"], one["hour"], {name: one[name] for name in COUNTED if one.get(name)})
        for one in found.sort({"hour": 1, "source": 1})
    ]


def arrivals(database: Collections, limit: int, source: str | None) -> list[Arrival]:
    """Return the articles that were fetched last."""
    if limit <= 0:
        return []
    chosen: Document = {} if source is None else {"source": clean(source)}
    wanted = {"source": 1, "published_at": 1, "published_precision": 1, "fetched_at": 1}
    found = database["articles"].find(chosen | {"version": 1}, wanted).sort({"fetched": -1, "_id": -1})
    return [
        Arrival(
            one["source"],
            one["published_at"],
            one["published_precision"] in ("second", "minute"),
            one["fetched_at"],
        )
        for one in found.limit(limit)
    ]
