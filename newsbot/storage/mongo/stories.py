"""Stories: articles under one story id, and stories that became one.

A document of ``joined`` is a story that was joined with others: ``into`` is where it is now, itself if it
kept its id. Each joining writes the documents of all stories that it brings together, so that of two that
meet in one story MongoDB lets one begin again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import islice

from newsbot.connections.mongo import Collections, Document, Session
from newsbot.search.query import ArticleFilter
from newsbot.storage.base import Joined, Story, story_id
from newsbot.storage.mongo.documents import from_document, micros
from newsbot.text.words import clean
from newsbot.urls import fingerprint

_TOLD: Document = {"$type": "string"}
_AT_ONCE = 200
_LATE = (1 << 63) - 1


def stories(
    database: Collections,
    since: datetime | None,
    least: tuple[int, int],
    limit: int,
    *,
    patience: int,
) -> list[Story]:
    """Return the stories with a member at or after ``since``, the most recent first.

    ``least``: how many members and sources they have at least.
    """
    if limit <= 0:
        return []
    chosen = list(islice(_large(database, _newest(database, since, patience), least), limit))
    found = {name: Story(story=name, members=[]) for name in chosen}
    wanted = {"text": 0}  # a story that sites print anew each day has thousands of members
    members = database["articles"].find({"story": {"$in": chosen}}, wanted).sort({"moment": 1, "_id": 1})
    for member in members:
        found[member["story"]].members.append(from_document(member | {"text": ""}))
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


def _large(database: Collections, batches: Iterator[list[str]], least: tuple[int, int]) -> Iterator[str]:
    """Those that have at least so many members and sources, over all time."""
    for some in batches:
        sizes = database["articles"].aggregate(
            [
                {"$match": {"story": {"$in": some}}},
                {"$group": {"_id": "$story", "members": {"$sum": 1}, "sources": {"$addToSet": "$source"}}},
            ]
        )
        large = {
            row["_id"] for row in sizes if row["members"] >= least[0] and len(row["sources"]) >= least[1]
        }
        yield from (story for story in some if story in large)


def join(database: Collections, session: Session, canonical_urls: Sequence[str]) -> Joined:
    """See :meth:`newsbot.storage.base.Storage.join_stories`; within a transaction."""
    kept = [_kept(database, session, url) for url in canonical_urls]
    own = [story_id(clean(url)) for url in canonical_urls]
    told = [one and (one["story"] or name) for one, name in zip(kept, own, strict=True)]
    noted = _noted(database, session, {*own, *filter(None, told)})
    roots = {noted.get(story, story) for story in told if story}
    # its own id counts where others have noted it, or will look for it
    roots |= {
        noted.get(name, name) for name, story in zip(own, told, strict=True) if name in noted or not story
    }
    winner = _unite(database, session, sorted(roots))
    moved = [one["_id"] for one in kept if one and one["story"] != winner]
    if moved:
        database["articles"].update_many(
            {"_id": {"$in": moved}, "story": {"$ne": winner}}, {"$set": {"story": winner}}, session=session
        )
    return Joined(winner, None in kept)


def current(database: Collections, where: ArticleFilter | None) -> ArticleFilter | None:
    """Return a filter that asks for its story where that is now."""
    if where is None or where.story is None:
        return where
    joined = database["joined"].find_one({"_id": clean(where.story)})
    return where if joined is None else replace(where, story=str(joined["into"]))


def settled(database: Collections, url: str) -> Joined | None:
    """Return the story of an article if joining it alone would change nothing, else None: two round trips."""
    kept, own = _kept(database, None, url), story_id(clean(url))
    story = kept and kept["story"]
    if not story:
        return None
    noted = _noted(database, None, {own, story})
    there = noted.get(story, story) == story and (own == story or noted.get(own, story) == story)
    return Joined(story, missing=False) if there else None


def _kept(database: Collections, session: Session | None, url: str) -> Document | None:
    """Key and story of the article that is kept, or whose text is, under this URL."""
    key = fingerprint(clean(url))
    found = database["articles"].find_one({"_id": key}, {"story": 1}, session=session)
    if found is None:
        alias = database["aliases"].find_one({"_id": key}, session=session)
        found = alias and database["articles"].find_one(
            {"_id": alias["article"]}, {"story": 1}, session=session
        )
    return found


def _noted(database: Collections, session: Session | None, stories: set[str]) -> dict[str, str]:
    """Where those stories are now of which there is a note."""
    told = database["joined"].find({"_id": {"$in": list(stories)}}, session=session)
    return {one["_id"]: one["into"] for one in told}


def _unite(database: Collections, session: Session, roots: list[str]) -> str:
    """Bring all members into the story whose first article was fetched earliest; return it."""
    first = database["articles"].aggregate(
        [
            {"$match": {"story": {"$in": roots}}},
            {"$group": {"_id": "$story", "first": {"$min": {"$ifNull": ["$fetched", _LATE]}}}},
            {"$sort": {"first": 1, "_id": 1}},
            {"$limit": 1},
        ],
        session=session,
    )
    winner = next((str(row["_id"]) for row in first), roots[0])
    for root in roots:
        database["joined"].update_one(
            {"_id": root}, {"$set": {"into": winner}, "$inc": {"times": 1}}, upsert=True, session=session
        )
    rest = {"$in": [root for root in roots if root != winner]}
    database["joined"].update_many({"into": rest}, {"$set": {"into": winner}}, session=session)
    database["articles"].update_many({"story": rest}, {"$set": {"story": winner}}, session=session)
    return winner
