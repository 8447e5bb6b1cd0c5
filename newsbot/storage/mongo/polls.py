"""Polls of sources: one document for each source and day, with a set of polls."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import blake2b

from newsbot.connections.mongo import Collections, Document
from newsbot.storage.polls import KEEP_DAYS, MAX_POLLS, Poll, packed, unpacked
from newsbot.text.words import clean


def log_poll(database: Collections, url: str, poll: Poll) -> None:
    """Keep a poll."""
    day, text = packed(poll)
    key = clean(url)
    own = identity(key, day)
    known = database["polls"].update_one({"_id": own}, {"$addToSet": {"polls": text}})
    if known.matched_count:
        return
    database["polls"].update_one(
        {"_id": own}, {"$set": {"url": key, "day": day}, "$addToSet": {"polls": text}}, upsert=True
    )
    database["polls"].delete_many({"url": key, "day": {"$lte": day - KEEP_DAYS}})


def polls(database: Collections, url: str | None) -> Iterator[tuple[str, Poll]]:
    """Yield polls by URL and time."""
    asked: Document = {} if url is None else {"url": clean(url)}
    for document in database["polls"].find(asked).sort([("url", 1), ("day", 1)]):
        lines = "".join(document["polls"][:MAX_POLLS])
        for poll in unpacked(document["day"], lines):
            yield document["url"], poll


def identity(key: str, day: int) -> bytes:
    """Return the ``_id`` of a day of a source."""
    return blake2b(f"{day} {key}".encode(), digest_size=16).digest()
