"""Hours of sites: one document a site and hour, and one for all of them; articles by their fetch."""

from __future__ import annotations

from collections.abc import Mapping

from pymongo import DeleteMany, UpdateOne

from newsbot.connections.mongo import Collections, Document
from newsbot.storage.activity import COUNTED, HOUR, KEEP_HOURS, Arrival, Hour, counted
from newsbot.text.words import clean


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


def activity(database: Collections, since: float, source: str) -> list[Hour]:
    """Return the hours of a site, or of all together."""
    found = database["site_hours"].find({"source": clean(source), "hour": {"$gte": int(since // HOUR)}})
    return [
        Hour(one["source"], one["hour"], {name: one[name] for name in COUNTED if one.get(name)})
        for one in found.sort("hour", 1)
    ]


def trends(database: Collections, since: float) -> dict[str, dict[int, int]]:
    """Return the new articles of each site by the day."""
    day = {"$floor": {"$divide": ["$hour", 24]}}
    rows = database["site_hours"].aggregate(
        [
            {"$match": {"hour": {"$gte": int(since // HOUR)}, "source": {"$gt": ""}, "articles": {"$gt": 0}}},
            {"$group": {"_id": {"source": "$source", "day": day}, "articles": {"$sum": "$articles"}}},
        ]
    )
    found: dict[str, dict[int, int]] = {}
    for row in rows:
        found.setdefault(row["_id"]["source"], {})[int(row["_id"]["day"])] = int(row["articles"])
    return found


def watched_since(database: Collections) -> dict[str, float]:
    """Return the first hour of each site; the index answers alone."""
    rows = database["site_hours"].aggregate(
        [
            {"$match": {"source": {"$gt": ""}}},
            {"$sort": {"source": 1, "hour": 1}},
            {"$group": {"_id": "$source", "first": {"$first": "$hour"}}},
        ]
    )
    return {row["_id"]: float(row["first"] * HOUR) for row in rows}


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
