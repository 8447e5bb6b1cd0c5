"""Reading articles: by URL, by text, by version, and streamed."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence

from newsbot.connections.mongo import Collections, Document
from newsbot.items import Article
from newsbot.search.query import ArticleFilter
from newsbot.storage.base import RepeatedText
from newsbot.storage.mongo.documents import conditions, from_document, harmless
from newsbot.storage.mongo.stories import current
from newsbot.text.words import clean
from newsbot.urls import fingerprint

_AT_ONCE = 100
_KEY = 16  # bytes of a fingerprint


def article(database: Collections, canonical_url: str) -> Article | None:
    """Return the article kept under this URL, or whose text was also seen under it."""
    key = fingerprint(clean(canonical_url))
    found = database["articles"].find_one({"_id": key})
    if found is None:
        alias = database["aliases"].find_one({"_id": key})
        found = alias and database["articles"].find_one({"_id": alias["article"]})
    return None if found is None else from_document(found)


def text_key(source: str, content_hash: str) -> str:
    """Return the ``_id`` of a text: no domain and no hash has a space."""
    return clean(f"{source} {content_hash}")


def text_owner(database: Collections, source: str, content_hash: str) -> str | None:
    """Return the canonical URL of the article of ``source`` that has or had this text."""
    text = database["texts"].find_one({"_id": text_key(source, content_hash)})
    if text is None:
        return None
    owner = database["articles"].find_one({"_id": text["article"]}, {"canonical_url": 1})
    return None if owner is None else str(owner["canonical_url"])


def assign_story(database: Collections, canonical_url: str, story: str, duplicate_of: str | None) -> None:
    """Put a stored article into a story."""
    database["articles"].update_one(
        {"_id": fingerprint(clean(canonical_url))},
        {"$set": {"story": clean(story), "duplicate_of": duplicate_of and clean(duplicate_of)}},
    )


def save_rights(database: Collections, canonical_url: str, rights: Mapping[str, str]) -> None:
    """Write what the site reserves of a stored article."""
    database["articles"].update_one(
        {"_id": fingerprint(clean(canonical_url))},
        {"$set": {"rights": harmless(dict(rights)), "stored": time.time()}},
    )


def repeated_texts(database: Collections, least: int, limit: int, *, patience: int) -> list[RepeatedText]:
    """Return the texts that came under at least so many URLs, those under most first."""
    if limit <= 0:
        return []
    counted = database["aliases"].aggregate(
        [
            {"$group": {"_id": "$article", "others": {"$sum": 1}}},
            {"$match": {"others": {"$gte": least - 1}}},
            {"$sort": {"others": -1, "_id": 1}},
            {"$limit": limit},
        ],
        allowDiskUse=True,
        maxTimeMS=patience,
    )
    others = {row["_id"]: int(row["others"]) for row in counted}
    for row in database["aliases"].aggregate(_outgrown(list(others)), allowDiskUse=True, maxTimeMS=patience):
        others[row["_id"]] -= int(row["gone"])
    others = {key: number for key, number in others.items() if number >= least - 1}
    kept = database["articles"].find({"_id": {"$in": list(others)}}, {"source": 1, "canonical_url": 1})
    found = [RepeatedText(one["source"], one["canonical_url"], others[one["_id"]] + 1) for one in kept]
    return sorted(found, key=lambda one: (-one.urls, one.canonical_url))


def _outgrown(articles: list[bytes]) -> list[Document]:
    """Ask of the articles how many URLs that led to one of them are articles themselves by now.

    Storing leaves such documents: to look for one would cost each new article a round trip.
    """
    itself = {"from": "articles", "localField": "_id", "foreignField": "_id", "as": "own"}
    return [
        {"$match": {"article": {"$in": articles}}},
        {"$lookup": {**itself, "pipeline": [{"$project": {"_id": 1}}]}},
        {"$match": {"own": {"$ne": []}}},
        {"$group": {"_id": "$article", "gone": {"$sum": 1}}},
    ]


def version_key(article_key: bytes, number: int) -> bytes:
    """Return the ``_id`` of a version: those of one article sort together, by number."""
    return article_key + number.to_bytes(4, "big")


def versions(database: Collections, canonical_url: str) -> list[Article]:
    """Return all kept versions, oldest first, the present one last."""
    key = fingerprint(clean(canonical_url))
    present = database["articles"].find_one({"_id": key})
    if present is None:
        return []
    earlier = database["versions"].find(
        {"_id": {"$gte": version_key(key, 0), "$lt": version_key(key, present["version"])}}
    )
    return [*map(from_document, earlier.sort("_id", 1)), from_document(present)]


def article_batches(database: Collections, where: ArticleFilter | None) -> Iterator[list[Article]]:
    """Yield the articles that match now, oldest fetch first, batch by batch.

    Which ones is fixed at the start (16 bytes an article), so that each comes once whatever is written
    meanwhile, and no cursor stays open while the caller works.
    """
    chosen = bytearray()
    asked = conditions(current(database, where))
    for found in database["articles"].find(asked, {"_id": 1}).sort({"fetched": 1, "_id": 1}):
        chosen += found["_id"]
    for start in range(0, len(chosen), _AT_ONCE * _KEY):
        some = bytes(chosen[start : start + _AT_ONCE * _KEY])
        keys = [some[place : place + _KEY] for place in range(0, len(some), _KEY)]
        batch = by_key(database, keys)
        yield [batch[key] for key in keys if key in batch]


def by_key(database: Collections, keys: Sequence[bytes]) -> dict[bytes, Article]:
    """Return articles by their keys; unknown ones are missing."""
    documents = database["articles"].find({"_id": {"$in": list(keys)}})
    return {document["_id"]: from_document(document) for document in documents}


def count_articles(database: Collections, where: ArticleFilter | None) -> int:
    """Return how many articles match."""
    query = conditions(current(database, where))
    if not query:
        return database["articles"].count_documents({}, hint="_id_")  # an index is smaller than all texts
    return database["articles"].count_documents(query)
