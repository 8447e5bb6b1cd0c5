"""Keeping an article: new, a new version, unchanged, or a text that the source already has.

One transaction: two workers that meet one text write the same ``_id`` in ``texts``, and MongoDB lets
one of them begin again, which then sees what the other wrote.
"""

from __future__ import annotations

import time

from newsbot.connections.mongo import Collections, Document, Session
from newsbot.items import Article
from newsbot.search.index.entry import entry_of
from newsbot.storage.base import MAX_VERSIONS, Stored, Verdict
from newsbot.storage.mongo.articles import text_key, version_key
from newsbot.storage.mongo.documents import to_document
from newsbot.storage.mongo.words import add
from newsbot.storage.records import of_one_page
from newsbot.urls import canonicalize, fingerprint

_KEPT = ("story", "duplicate_of")


class Taken(Exception):
    """The URL is another page's: raised so that the transaction, which has claimed the text, is undone."""

    def __init__(self, stored: Stored) -> None:
        super().__init__(stored.canonical_url)
        self.stored = stored


def store(database: Collections, session: Session, article: Article, over: str | None = None) -> Stored:
    """Keep an article; within a transaction, which is what makes it safe in a race.

    A new one takes four round trips: claim the text, insert the article unless there is one, let its words
    wait for the index, commit. Raises :class:`Taken`.
    """
    given = to_document(article) | {"version": 1, "stored": time.time()}
    stored, key = _keep(database, session, given, over)
    if stored.verdict in (Verdict.NEW, Verdict.UPDATED):
        new = stored.verdict is Verdict.NEW
        add(database, session, entry_of(article, key, stored.version), new=new)
    _remember_address(database, session, given, key)
    return stored


def _keep(database: Collections, session: Session, given: Document, over: str | None) -> tuple[Stored, bytes]:
    """Keep an article; return also the key of the one that has its text."""
    owner = _claim_text(database, session, given)
    if owner is not None:
        return _of_owner(database, session, given, owner)
    own = database["articles"].find_one_and_update(
        {"_id": given["_id"]}, {"$setOnInsert": given}, upsert=True, session=session
    )
    if own is None:
        _refuse_taken(database, session, given)
        return Stored(Verdict.NEW, given["canonical_url"], 1), given["_id"]
    return _again(database, session, given, own, over)


def _claim_text(database: Collections, session: Session, given: Document) -> Document | None:
    """Note the text as the article's own; return another article of the source that has, or once had, it."""
    if not given["content_hash"]:
        return None
    text = database["texts"].find_one_and_update(
        {"_id": text_key(given["source"], given["content_hash"])},
        {"$setOnInsert": {"article": given["_id"]}},
        upsert=True,
        session=session,
    )
    if text is None or text["article"] == given["_id"]:
        return None
    wanted = {"canonical_url": 1, "version": 1}
    return database["articles"].find_one({"_id": text["article"]}, wanted, session=session)


def _of_owner(
    database: Collections, session: Session, given: Document, owner: Document
) -> tuple[Stored, bytes]:
    """Another article has this text: it stays the only one, and knows this URL, unless that is an article."""
    own = database["articles"].find_one({"_id": given["_id"]}, session=session)
    if own is not None and _same(own, given):
        return Stored(Verdict.UNCHANGED, own["canonical_url"], own["version"]), own["_id"]
    if own is None:
        _alias(database, session, given["_id"], given["canonical_url"], owner["_id"])
    return Stored(Verdict.SAME_TEXT, owner["canonical_url"], owner["version"]), owner["_id"]


def _refuse_taken(database: Collections, session: Session, given: Document) -> None:
    """Raise :class:`Taken` if the URL leads to an article, and this page only names it."""
    if of_one_page(given["canonical_url"], given["url"]):
        return
    alias = database["aliases"].find_one({"_id": given["_id"]}, session=session)
    wanted = {"canonical_url": 1, "version": 1}
    found = alias and database["articles"].find_one({"_id": alias["article"]}, wanted, session=session)
    if found:
        raise Taken(Stored(Verdict.TAKEN, found["canonical_url"], found["version"]))


def _again(
    database: Collections, session: Session, given: Document, own: Document, over: str | None
) -> tuple[Stored, bytes]:
    if _same(own, given):
        return Stored(Verdict.UNCHANGED, own["canonical_url"], own["version"]), own["_id"]
    if over != own["content_hash"] and not of_one_page(own["url"], given["url"]):
        raise Taken(Stored(Verdict.TAKEN, own["canonical_url"], own["version"]))
    return _update(database, session, given, own)


def _same(own: Document, given: Document) -> bool:
    if own["title"] != given["title"]:
        return False
    if given["content_hash"] and own["content_hash"]:
        return bool(own["content_hash"] == given["content_hash"])
    return bool(own["text"] == given["text"])


def _alias(database: Collections, session: Session, key: bytes, url: str, article: bytes) -> None:
    database["aliases"].update_one(
        {"_id": key}, {"$set": {"article": article, "url": url}}, upsert=True, session=session
    )


def _remember_address(database: Collections, session: Session, given: Document, article: bytes) -> None:
    """Let the address that was fetched lead to the article, where the page names another as canonical."""
    try:
        fetched = canonicalize(given["url"])
    except ValueError:  # nobody can ask for it
        return
    key = fingerprint(fetched)
    if key != given["_id"]:
        _alias(database, session, key, fetched, article)


def _update(database: Collections, session: Session, given: Document, own: Document) -> tuple[Stored, bytes]:
    key, version = own["_id"], own["version"] + 1
    database["versions"].insert_one(own | {"_id": version_key(key, own["version"])}, session=session)
    if version > MAX_VERSIONS + 1:  # the first one stays: some pages change at every visit
        oldest = {"$gt": version_key(key, 1), "$lte": version_key(key, version - MAX_VERSIONS)}
        database["versions"].delete_many({"_id": oldest}, session=session)
    given |= {name: own[name] for name in _KEPT}
    given["version"] = version
    _keep_discovery(given, own)
    database["articles"].replace_one({"_id": key}, given, session=session)
    return Stored(Verdict.UPDATED, given["canonical_url"], version), key


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
