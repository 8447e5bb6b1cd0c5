"""Stores stories in the field ``story`` of articles and in the collection ``joined``.

A document of ``joined`` is a story that was joined with other stories. Its field ``into`` is the current
story, which is the story itself if it kept its id. Each join writes the documents of all its stories. Two
joins that share a story and run at the same time therefore conflict. MongoDB then aborts one of the joins,
and this join is tried again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from datetime import datetime
from functools import partial
from itertools import chain, islice

from pymongo import UpdateMany, UpdateOne

from newsbot.apps.mongodb.client import (
    Collections,
    Document,
    Repository,
    Session,
    from_document,
    micros,
    strings,
)
from newsbot.pages.text.words import clean
from newsbot.storage.articles import Joined, Stories, Story, overlapping, roots_of, split_ids, story_id
from newsbot.urls import fingerprint

_AT_ONCE = 200
"""Number of stories whose members are counted in one query."""
_LATE = (1 << 63) - 1
"""A value that sorts after all times, for articles without a fetch time."""


class MongoStories(Repository, Stories):
    """:class:`newsbot.storage.articles.Stories` in MongoDB."""

    def join(self, canonical_urls: Sequence[str]) -> Joined:
        with self.server.readable() as database:
            return self.server.transact(partial(join_all, database, [canonical_urls]))[0]

    def current(self, stories: Collection[str]) -> dict[str, str]:
        with self.server.readable() as database:
            return _current(database, None, {clean(story) for story in stories})

    def assign(self, canonical_url: str, story: str, duplicate_of: str | None) -> None:
        with self.server.readable() as database:
            database["articles"].update_one(
                {"_id": fingerprint(clean(canonical_url))},
                {"$set": {"story": clean(story), "duplicate_of": duplicate_of and clean(duplicate_of)}},
            )

    def split(self, groups: Sequence[Sequence[str]]) -> list[str]:
        with self.server.readable() as database:
            return self.server.transact(partial(_split, database, groups))

    def recent(
        self,
        *,
        since: datetime | None = None,
        min_members: int = 2,
        min_sources: int = 1,
        limit: int = 50,
    ) -> list[Story]:
        if limit <= 0:
            return []
        with self.server.showing() as database:
            newest = _newest(database, since, self.server.patience)
            chosen = list(islice(_large(database, newest, min_members, min_sources), limit))
            found = {name: Story(story=name, members=[]) for name in chosen}
            wanted = {"text": 0}  # not read, because a story can have thousands of articles
            members = database["articles"].find({"story": strings(*chosen)}, wanted)
            for member in members.sort({"moment": 1, "_id": 1}):
                found[member["story"]].members.append(from_document(member | {"text": ""}))
        return list(found.values())


def _split(database: Collections, groups: Sequence[Sequence[str]], session: Session) -> list[str]:
    (first,) = _kept(database, session, groups[0][:1])
    story = (first or {}).get("story") or story_id(clean(groups[0][0]))
    ids = split_ids(story, [[clean(url) for url in group] for group in groups])
    redirects: list[UpdateOne] = []
    changes: list[UpdateMany] = []
    for name, group in zip(ids, groups, strict=True):
        # As in _unite(), each story gets a document, so that a join at the same time conflicts.
        redirects += [
            UpdateOne({"_id": own}, {"$set": {"into": name}, "$inc": {"times": 1}}, upsert=True)
            for own in {name, *(story_id(clean(url)) for url in group)}
        ]
        keys = [fingerprint(clean(url)) for url in group]
        changes.append(UpdateMany({"_id": {"$in": keys}}, {"$set": {"story": name}}))
    database["joined"].bulk_write(redirects, session=session)
    database["articles"].bulk_write(changes, session=session)
    return ids


def _newest(database: Collections, since: datetime | None, patience: int) -> Iterator[list[str]]:
    """Yield the ids of stories in batches, the story with the newest member first."""
    recent: Document = {} if since is None else {"moment": {"$gte": micros(since)}}
    steps: list[Document] = [
        {"$match": {"story": {"$type": "string"}, **recent}},
        {"$group": {"_id": "$story", "last": {"$max": "$moment"}}},
        {"$sort": {"last": -1, "_id": 1}},
    ]
    with database["articles"].aggregate(steps, allowDiskUse=True, maxTimeMS=patience) as rows:
        while some := [str(row["_id"]) for row in islice(rows, _AT_ONCE)]:
            yield some


def _large(
    database: Collections, batches: Iterator[list[str]], min_members: int, min_sources: int
) -> Iterator[str]:
    """Yield the stories of ``batches`` that have enough members from enough sites, in the same order."""
    for some in batches:
        steps: list[Document] = [
            {"$match": {"story": strings(*some)}},
            {"$group": {"_id": "$story", "members": {"$sum": 1}, "sources": {"$addToSet": "$source"}}},
        ]
        large = {
            row["_id"]
            for row in database["articles"].aggregate(steps)
            if row["members"] >= min_members and len(row["sources"]) >= min_sources
        }
        yield from (story for story in some if story in large)


def join_all(database: Collections, groups: Sequence[Sequence[str]], session: Session) -> list[Joined]:
    """Merge the stories of the articles of each group. Must run in the transaction of ``session``.

    The groups are lists of canonical URLs. The result is the same as if the groups were joined one by one.
    """
    urls = list(dict.fromkeys(chain.from_iterable(groups)))
    kept = dict(zip(urls, _kept(database, session, urls), strict=True))
    own = {url: story_id(clean(url)) for url in urls}
    stories = {url: (own[url], (one["story"] or own[url]) if one else None) for url, one in kept.items()}
    merged = _current(database, session, {story for pair in stories.values() for story in pair if story})
    roots = [roots_of([stories[url] for url in group], merged) for group in groups]
    winner, changes = _unite(database, session, overlapping(roots))
    found = [
        Joined(
            winner[min(mine)],
            missing=any(kept[url] is None for url in group),
            awaited=own[group[0]] in merged,
        )
        for group, mine in zip(groups, roots, strict=True)
    ]
    changes += [
        # "$ne": an operation above may have moved the article already
        UpdateMany({"_id": {"$in": moved}, "story": {"$ne": one.story}}, {"$set": {"story": one.story}})
        for group, one in zip(groups, found, strict=True)
        if (moved := [has["_id"] for url in group if (has := kept[url]) and has["story"] != one.story])
    ]
    if changes:
        database["articles"].bulk_write(changes, session=session)
    return found


def _kept(database: Collections, session: Session | None, urls: Sequence[str]) -> list[Document | None]:
    """Return the key and the story of the article that has each URL as canonical URL or as alias.

    The value is None for a URL that has no article.
    """
    keys = [fingerprint(clean(url)) for url in urls]

    def stories(asked: list[bytes]) -> dict[bytes, Document]:
        found = database["articles"].find({"_id": {"$in": asked}}, {"story": 1}, session=session)
        return {one["_id"]: one for one in found}

    found = stories(keys)
    if missing := [key for key in keys if key not in found]:
        aliases = list(database["aliases"].find({"_id": {"$in": missing}}, session=session))
        named = stories([one["article"] for one in aliases]) if aliases else {}
        found |= {one["_id"]: named[one["article"]] for one in aliases if one["article"] in named}
    return [found.get(key) for key in keys]


def _current(database: Collections, session: Session | None, stories: set[str]) -> dict[str, str]:
    """Do the same as :meth:`newsbot.storage.articles.Stories.current`, in the transaction of ``session``."""
    found = database["joined"].find({"_id": {"$in": list(stories)}}, session=session)
    return {one["_id"]: one["into"] for one in found}


def _unite(
    database: Collections, session: Session, groups: list[set[str]]
) -> tuple[dict[str, str], list[UpdateMany]]:
    """Merge the stories of each group into the story whose first article was fetched earliest.

    Return the remaining story for each story, and the changes of articles that the caller has to write.
    """
    several = [root for roots in groups if len(roots) > 1 for root in roots]
    steps: list[Document] = [
        {"$match": {"story": strings(*several)}},
        {"$group": {"_id": "$story", "first": {"$min": {"$ifNull": ["$fetched", _LATE]}}}},
    ]
    rows = database["articles"].aggregate(steps, session=session) if several else ()
    first = {row["_id"]: row["first"] for row in rows}
    redirects: list[UpdateOne | UpdateMany] = []
    changes: list[UpdateMany] = []
    found: dict[str, str] = {}
    for roots in groups:
        winner = min(roots, key=lambda root: (first.get(root, _LATE + 1), root))
        found |= dict.fromkeys(roots, winner)
        into = {"$set": {"into": winner}}
        # ``times`` changes the document in every join, so that joins at the same time conflict.
        redirects += [UpdateOne({"_id": root}, into | {"$inc": {"times": 1}}, upsert=True) for root in roots]
        if rest := sorted(roots - {winner}):
            redirects.append(UpdateMany({"into": {"$in": rest}}, into))
            changes.append(UpdateMany({"story": strings(*rest)}, {"$set": {"story": winner}}))
    database["joined"].bulk_write(redirects, session=session)
    return found, changes
