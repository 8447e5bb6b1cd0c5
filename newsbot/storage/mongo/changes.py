"""Articles by when they were stored; see :mod:`newsbot.storage.changes`."""

from __future__ import annotations

from collections.abc import Iterator

from newsbot.connections.mongo import Collections
from newsbot.items import Article
from newsbot.search.query import ArticleFilter
from newsbot.storage.mongo.documents import conditions, from_document
from newsbot.storage.mongo.stories import current

_AT_ONCE = 100
_KEY = 16  # bytes of a fingerprint


def changed_batches(
    database: Collections, where: ArticleFilter | None, after: float, until: float
) -> Iterator[list[Article]]:
    """Yield the articles of a time, batch by batch: no cursor stays open while the caller works."""
    asked = conditions(current(database, where)) | {"stored": {"$gt": after, "$lte": until}}
    chosen = bytearray()
    for found in database["articles"].find(asked, {"_id": 1}).sort({"stored": 1, "_id": 1}):
        chosen += found["_id"]
    for start in range(0, len(chosen), _AT_ONCE * _KEY):
        some = bytes(chosen[start : start + _AT_ONCE * _KEY])
        keys = [some[place : place + _KEY] for place in range(0, len(some), _KEY)]
        documents = database["articles"].find({"_id": {"$in": keys}, "stored": {"$lte": until}})
        yield [from_document(one) for one in documents.sort({"stored": 1, "_id": 1})]
