"""Keeping an article under another URL; see :meth:`newsbot.storage.base.Storage.readdress`."""

from __future__ import annotations

import time

from newsbot.connections.mongo import Collections, Document, Session
from newsbot.search.index.entry import entry_of
from newsbot.storage.base import story_id
from newsbot.storage.mongo import words
from newsbot.storage.mongo.articles import text_key, version_key
from newsbot.storage.mongo.documents import from_document
from newsbot.text.words import clean
from newsbot.urls import fingerprint

_NUMBERS = 4  # bytes of a version's number at the end of its key


def readdress(
    database: Collections, session: Session, canonical_url: str, content_hash: str, to: str
) -> bool:
    """Give an article another URL; within a transaction. Its key is its URL's, so that it is written anew."""
    old, new = clean(canonical_url), clean(to)
    before, after = fingerprint(old), fingerprint(new)
    articles = database["articles"]
    own = articles.find_one({"_id": before, "content_hash": clean(content_hash)}, session=session)
    if own is None or articles.find_one({"_id": after}, {"_id": 1}, session=session) is not None:
        return False
    articles.delete_one({"_id": before}, session=session)
    moved = own | {"_id": after, "canonical_url": new, "stored": time.time()}
    articles.insert_one(moved, session=session)
    texts = _move_versions(database, session, own, after, new)
    database["texts"].update_many(
        {"_id": {"$in": texts}, "article": before}, {"$set": {"article": after}}, session=session
    )
    database["aliases"].delete_many({"_id": {"$in": [before, after]}}, session=session)
    database["aliases"].update_many({"article": before}, {"$set": {"article": after}}, session=session)
    for naming in ("duplicate_of", "derived_from"):
        articles.update_many({naming: old}, {"$set": {naming: new}}, session=session)
    words.forget(database, [before, after], session)
    words.add_all(database, [entry_of(from_document(moved), after, own["version"])], session)
    _move_story(database, session, story_id(old), story_id(new))
    return True


def _move_versions(
    database: Collections, session: Session, own: Document, after: bytes, url: str
) -> list[str]:
    """Write the earlier versions under the new key; return the keys of all texts that the article had."""
    before, source = own["_id"], own["source"]
    asked = {"_id": {"$gte": version_key(before, 0), "$lte": version_key(before, 0xFFFFFFFF)}}
    kept = list(database["versions"].find(asked, session=session))
    if kept:
        database["versions"].delete_many(asked, session=session)
        moved = [one | {"_id": after + one["_id"][-_NUMBERS:], "canonical_url": url} for one in kept]
        database["versions"].insert_many(moved, session=session)
    texts = [text_key(source, one["content_hash"]) for one in (own, *kept)]
    if len(kept) < own["version"] - 1:  # some were let go of, and only the texts know which
        of_site = {"$gte": f"{source} ", "$lt": f"{source}!"}
        owned = database["texts"].find({"_id": of_site, "article": before}, {"_id": 1}, session=session)
        texts += [str(text["_id"]) for text in owned]
    return texts


def _move_story(database: Collections, session: Session, old: str, new: str) -> None:
    """Let the story that was named after the old URL be named after the new one: another may come there."""
    joined = database["joined"]
    told = joined.find_one({"_id": new}, session=session)
    target = new if told is None or told["into"] == old else str(told["into"])
    joined.delete_many({"_id": {"$in": [old, target]}}, session=session)
    joined.update_many({"into": old}, {"$set": {"into": target}}, session=session)
    database["articles"].update_many({"story": old}, {"$set": {"story": target}}, session=session)
