"""Keeping an article: new, a new version, unchanged, or a text that the source already has.

One transaction: two workers that meet one text write the same ``_id`` in ``texts``, and MongoDB lets
one of them begin again, which then sees what the other wrote.
"""

from __future__ import annotations

from newsbot.items import Article
from newsbot.storage.base import MAX_VERSIONS, Stored, Verdict
from newsbot.storage.mongo.articles import text_key, version_key
from newsbot.storage.mongo.connection import Collections, Document, Session
from newsbot.storage.mongo.documents import to_document
from newsbot.storage.mongo.words import to_words

_KEPT = ("story", "duplicate_of")


def store(database: Collections, session: Session, article: Article) -> Stored:
    """Keep an article; within a transaction, which is what makes it safe in a race."""
    given = to_document(article)
    own = database["articles"].find_one({"_id": given["_id"]}, session=session)
    owner = _owner(database, session, given)
    if own is None:
        if owner is None:
            return _add(database, session, given)
        return _alias(database, session, given, owner)
    if _same(own, given):
        return Stored(Verdict.UNCHANGED, own["canonical_url"], own["version"])
    if owner is not None and owner["_id"] != own["_id"]:
        return Stored(Verdict.SAME_TEXT, owner["canonical_url"], owner["version"])
    return _update(database, session, given, own)


def _owner(database: Collections, session: Session, given: Document) -> Document | None:
    """The article of the source that has, or once had, this text."""
    if not given["content_hash"]:
        return None
    key = text_key(given["source"], given["content_hash"])
    text = database["texts"].find_one({"_id": key}, session=session)
    if text is None:
        return None
    wanted = {"canonical_url": 1, "version": 1}
    return database["articles"].find_one({"_id": text["article"]}, wanted, session=session)


def _same(own: Document, given: Document) -> bool:
    if own["title"] != given["title"]:
        return False
    if given["content_hash"] and own["content_hash"]:
        return bool(own["content_hash"] == given["content_hash"])
    return bool(own["text"] == given["text"])


def _add(database: Collections, session: Session, given: Document) -> Stored:
    given["version"] = 1
    _remember_text(database, session, given)
    database["articles"].insert_one(given, session=session)
    database["words"].insert_one(to_words(given), session=session)
    database["aliases"].delete_one({"_id": given["_id"]}, session=session)
    return Stored(Verdict.NEW, given["canonical_url"], 1)


def _alias(database: Collections, session: Session, given: Document, owner: Document) -> Stored:
    database["aliases"].replace_one(
        {"_id": given["_id"]},
        {"article": owner["_id"], "url": given["canonical_url"]},
        upsert=True,
        session=session,
    )
    return Stored(Verdict.SAME_TEXT, owner["canonical_url"], owner["version"])


def _update(database: Collections, session: Session, given: Document, own: Document) -> Stored:
    key, version = own["_id"], own["version"] + 1
    _remember_text(database, session, given)
    database["versions"].insert_one(own | {"_id": version_key(key, own["version"])}, session=session)
    if version > MAX_VERSIONS + 1:  # the first one stays: some pages change at every visit
        oldest = {"$gt": version_key(key, 1), "$lte": version_key(key, version - MAX_VERSIONS)}
        database["versions"].delete_many({"_id": oldest}, session=session)
    given |= {name: own[name] for name in _KEPT}
    given["version"] = version
    _keep_discovery(given, own)
    database["articles"].replace_one({"_id": key}, given, session=session)
    database["words"].replace_one({"_id": key}, to_words(given), upsert=True, session=session)
    return Stored(Verdict.UPDATED, given["canonical_url"], version)


def _remember_text(database: Collections, session: Session, given: Document) -> None:
    if given["content_hash"]:
        database["texts"].update_one(
            {"_id": text_key(given["source"], given["content_hash"])},
            {"$setOnInsert": {"article": given["_id"]}},
            upsert=True,
            session=session,
        )


def _keep_discovery(given: Document, own: Document) -> None:
    """The first discovery stays."""
    if own["discovered_at"] is None:
        return
    given["discovered_at"] = own["discovered_at"]
    finer = given.get("finer", {})
    finer.pop("discovered_at", None)
    if "discovered_at" in own.get("finer", {}):
        finer["discovered_at"] = own["finer"]["discovered_at"]
    if finer:
        given["finer"] = finer
    else:
        given.pop("finer", None)
