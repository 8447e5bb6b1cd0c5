"""Articles: one document each, with their earlier versions, texts and other URLs in collections of their own.

Storing is one transaction: two workers that meet one text write the same ``_id`` in ``texts``, and MongoDB
lets one of them begin again, which then sees what the other wrote.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial

from newsbot.connections.mongo import Collections, Document, Session
from newsbot.items import Article
from newsbot.search.index.entry import entry_of
from newsbot.search.query import ArticleFilter
from newsbot.storage.article_decision import KEPT, Stored, Verdict, decide, names_another_page
from newsbot.storage.articles import MAX_VERSIONS, Articles
from newsbot.storage.mongo import words
from newsbot.storage.mongo.connection import Server
from newsbot.storage.mongo.documents import (
    KEY,
    all_versions,
    articles_by_key,
    conditions,
    current,
    from_document,
    harmless,
    text_key,
    texts_of_site,
    to_document,
    version_key,
)
from newsbot.storage.stories import readdressed_story, story_id
from newsbot.text.words import clean
from newsbot.urls import fingerprint

_AT_ONCE = 100
_ANSWER = {"canonical_url": 1, "version": 1}


class _Taken(Exception):
    """Raised so that the transaction, which has claimed the text, is undone."""

    def __init__(self, stored: Stored) -> None:
        super().__init__(stored.canonical_url)
        self.stored = stored


class MongoArticles(Articles):
    """:class:`newsbot.storage.articles.Articles` in MongoDB; ``on_stored`` is told of new words to index."""

    def __init__(self, server: Server, on_stored: Callable[[], None]) -> None:
        self._server = server
        self._on_stored = on_stored

    def store(self, article: Article, over: str | None = None) -> Stored:
        with self._server.readable() as database:
            try:
                stored = self._server.transact(partial(_store, database, article, over))
            except _Taken as taken:
                return taken.stored
        self._on_stored()
        return stored

    def readdress(self, canonical_url: str, content_hash: str, to: str) -> bool:
        with self._server.readable() as database:
            old, new = clean(canonical_url), clean(to)
            return self._server.transact(partial(_readdress, database, old, clean(content_hash), new))

    def get(self, canonical_url: str) -> Article | None:
        key = fingerprint(clean(canonical_url))
        with self._server.readable() as database:
            found = database["articles"].find_one({"_id": key})
            if found is None:
                alias = database["aliases"].find_one({"_id": key})
                found = alias and database["articles"].find_one({"_id": alias["article"]})
        return None if found is None else from_document(found)

    def save_rights(self, canonical_url: str, rights: Mapping[str, str]) -> None:
        with self._server.readable() as database:
            database["articles"].update_one(
                {"_id": fingerprint(clean(canonical_url))},
                {"$set": {"rights": harmless(dict(rights)), "stored": time.time()}},
            )

    def versions(self, canonical_url: str) -> list[Article]:
        key = fingerprint(clean(canonical_url))
        with self._server.readable() as database:
            present = database["articles"].find_one({"_id": key})
            if present is None:
                return []
            bounds = {"$gte": version_key(key, 0), "$lt": version_key(key, present["version"])}
            earlier = database["versions"].find({"_id": bounds}).sort("_id", 1)
            return [*map(from_document, earlier), from_document(present)]

    def iter(self, where: ArticleFilter | None = None) -> Iterator[Article]:
        return self._server.streamed(self._batches(where, "fetched", {}))

    def count(self, where: ArticleFilter | None = None) -> int:
        with self._server.readable() as database:
            query = conditions(current(database, where))
            if not query:  # an index is smaller than all texts
                return database["articles"].count_documents({}, hint="_id_")
            return database["articles"].count_documents(query)

    def changed(self, where: ArticleFilter | None = None, *, after: float, until: float) -> Iterator[Article]:
        return self._server.streamed(self._batches(where, "stored", {"$gt": after, "$lte": until}))

    def _batches(self, where: ArticleFilter | None, order: str, within: Document) -> Iterator[list[Article]]:
        """Yield articles batch by batch. Which ones, and their order, is fixed at the start (16 bytes an
        article)."""
        database = self._server.at.database
        still = {order: within} if within else {}
        asked = conditions(current(database, where)) | still
        chosen = bytearray()
        for found in database["articles"].find(asked, {"_id": 1}).sort({order: 1, "_id": 1}):
            chosen += found["_id"]
        for start in range(0, len(chosen), _AT_ONCE * KEY):
            some = bytes(chosen[start : start + _AT_ONCE * KEY])
            keys = [some[place : place + KEY] for place in range(0, len(some), KEY)]
            batch = articles_by_key(database, keys, still)
            yield [batch[key] for key in keys if key in batch]


def _store(database: Collections, article: Article, over: str | None, session: Session) -> Stored:
    """Keep an article. Raises :class:`_Taken`.

    A new one takes four round trips: claim the text, insert the article unless there is one, let its words
    wait for the index, commit. So it is inserted before it is decided what happens to it.
    """
    given = to_document(article) | {"version": 1, "stored": time.time()}
    key, articles = given["_id"], database["articles"]
    owner, led_to = _claim_text(database, session, given), None
    if owner is not None:
        own = articles.find_one({"_id": key}, session=session)
    else:
        own = articles.find_one_and_update(
            {"_id": key}, {"$setOnInsert": given}, upsert=True, session=session
        )
        if own is None and names_another_page(given):
            led_to = _led_to(database, session, key)
    decision = decide(given, own, owner, led_to, over)
    if decision.verdict is Verdict.TAKEN:
        raise _Taken(decision.stored)
    if decision.verdict is Verdict.UPDATED and own is not None:
        _update(database, session, given | {"version": decision.version}, own)
    if decision.verdict in (Verdict.NEW, Verdict.UPDATED):
        new = decision.verdict is Verdict.NEW
        words.add(database, session, entry_of(article, key, decision.version), new=new)
    for address in decision.addresses:
        leads = {"$set": {"article": decision.of["_id"], "url": address}}
        database["aliases"].update_one({"_id": fingerprint(address)}, leads, upsert=True, session=session)
    return decision.stored


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
    return database["articles"].find_one({"_id": text["article"]}, _ANSWER, session=session)


def _led_to(database: Collections, session: Session, key: bytes) -> Document | None:
    alias = database["aliases"].find_one({"_id": key}, session=session)
    return alias and database["articles"].find_one({"_id": alias["article"]}, _ANSWER, session=session)


def _update(database: Collections, session: Session, given: Document, own: Document) -> None:
    key, version = own["_id"], given["version"]
    database["versions"].insert_one(own | {"_id": version_key(key, own["version"])}, session=session)
    if version > MAX_VERSIONS + 1:  # the first one stays: some pages change at every visit
        oldest = {"$gt": version_key(key, 1), "$lte": version_key(key, version - MAX_VERSIONS)}
        database["versions"].delete_many({"_id": oldest}, session=session)
    given |= {name: own[name] for name in KEPT}
    if own["discovered_at"] is not None:  # the first discovery stays
        given["discovered_at"] = own["discovered_at"]
        finer = {name: more for name, more in given.pop("finer", {}).items() if name != "discovered_at"}
        if "discovered_at" in own.get("finer", {}):
            finer["discovered_at"] = own["finer"]["discovered_at"]
        if finer:
            given["finer"] = finer
    database["articles"].replace_one({"_id": key}, given, session=session)


def _readdress(database: Collections, old: str, content_hash: str, new: str, session: Session) -> bool:
    """Give an article another URL. Its key is that of its URL, so that it is written anew."""
    before, after = fingerprint(old), fingerprint(new)
    articles, aliases = database["articles"], database["aliases"]
    own = articles.find_one({"_id": before, "content_hash": content_hash}, session=session)
    if own is None or articles.find_one({"_id": after}, {"_id": 1}, session=session) is not None:
        return False
    articles.delete_one({"_id": before}, session=session)
    moved = own | {"_id": after, "canonical_url": new, "stored": time.time()}
    articles.insert_one(moved, session=session)
    texts = _move_versions(database, session, own, after, new)
    database["texts"].update_many(
        {"_id": {"$in": texts}, "article": before}, {"$set": {"article": after}}, session=session
    )
    aliases.delete_many({"_id": {"$in": [before, after]}}, session=session)
    aliases.update_many({"article": before}, {"$set": {"article": after}}, session=session)
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
    asked = all_versions(own["_id"])
    kept = list(database["versions"].find(asked, session=session))
    if kept:
        database["versions"].delete_many(asked, session=session)
        moved = [one | {"_id": after + one["_id"][KEY:], "canonical_url": url} for one in kept]
        database["versions"].insert_many(moved, session=session)
    return texts_had(database, session, own, kept)


def texts_had(database: Collections, session: Session, own: Document, kept: list[Document]) -> list[str]:
    """Return the keys of all texts that an article had; ``kept`` are its earlier versions."""
    texts = [text_key(own["source"], one["content_hash"]) for one in (own, *kept)]
    if len(kept) < own["version"] - 1:  # some were dropped, and only the texts know which
        asked = {"_id": texts_of_site(own["source"]), "article": own["_id"]}
        texts += [str(text["_id"]) for text in database["texts"].find(asked, {"_id": 1}, session=session)]
    return texts


def _move_story(database: Collections, session: Session, old: str, new: str) -> None:
    """Let the story that was named after the old URL be named after the new one: another may come there."""
    joined = database["joined"]
    noted = joined.find_one({"_id": new}, session=session)
    target = readdressed_story(old, new, noted["into"] if noted else None)
    joined.delete_many({"_id": {"$in": [old, target]}}, session=session)
    joined.update_many({"into": old}, {"$set": {"into": target}}, session=session)
    database["articles"].update_many({"story": old}, {"$set": {"story": target}}, session=session)
