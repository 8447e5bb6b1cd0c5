"""The texts of articles in MongoDB: the collections of the word index (:mod:`newsbot.search.index`), and
searches.

Storing an article writes one more document, without any index but its key; some hundreds of articles together
become a few dozen blocks of 16 kB.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from functools import partial

from bson.binary import Binary
from pymongo import ASCENDING, DESCENDING, UpdateOne
from pymongo.errors import DuplicateKeyError

from newsbot.connections.mongo import Collections, Document, Session
from newsbot.items import Article
from newsbot.search.index.answering import answer
from newsbot.search.index.background import Background
from newsbot.search.index.blocks import BlockStore
from newsbot.search.index.entry import Entry, entry_of, unpacked
from newsbot.search.index.indexer import index_all
from newsbot.search.index.searching import WordIndex
from newsbot.search.index.segments import State, state_of
from newsbot.search.query import ArticleFilter, Hit
from newsbot.search.snippets import snippet
from newsbot.storage.articles import RepeatedText, Texts
from newsbot.storage.mongo.connection import Server
from newsbot.storage.mongo.documents import (
    articles_by_key,
    conditions,
    current,
    from_document,
    text_key,
)
from newsbot.text.words import clean

_STATE = "state"
_AT_ONCE = 64  # blocks that are written in one message, a megabyte or two; articles of one transaction
_KEYS_AT_ONCE = 10_000  # a message has an end


def add(database: Collections, session: Session, entry: Entry, *, new: bool) -> None:
    """Let a version of an article wait to be indexed; within a transaction."""
    document: Document = {"_id": entry.key, "version": entry.version, "body": Binary(entry.packed())}
    if new:
        database["words_waiting"].insert_one(document, session=session)
    else:
        database["words_waiting"].replace_one({"_id": entry.key}, document, upsert=True, session=session)


def add_all(database: Collections, entries: Sequence[Entry], session: Session | None = None) -> None:
    """Let articles wait that were not stored one by one."""
    if entries:
        database["words_waiting"].bulk_write(
            [
                UpdateOne(
                    {"_id": one.key},
                    {"$set": {"version": one.version, "body": Binary(one.packed())}},
                    upsert=True,
                )
                for one in entries
            ],
            ordered=False,
            session=session,
        )


def forget(database: Collections, keys: Sequence[bytes], session: Session | None = None) -> None:
    """Take removed articles from the list, and note that they are in segments."""
    marks = [UpdateOne({"_id": key}, {"$setOnInsert": {"_id": key}}, upsert=True) for key in keys]
    database["words_removed"].bulk_write(marks, ordered=False, session=session)
    database["words_waiting"].delete_many({"_id": {"$in": list(keys)}}, session=session)


def only_present(server: Server, keys: Sequence[bytes]) -> None:
    """Index the present versions of articles anew, and take out all others.

    In transactions: an article that is broken off in between would be found no more, and one that is stored
    in a new version meanwhile would be found by the old one only.
    """
    for start in range(0, len(keys), _AT_ONCE):
        some = keys[start : start + _AT_ONCE]
        server.transact(partial(_only_present, server.at.database, some))


def _only_present(database: Collections, keys: Sequence[bytes], session: Session) -> None:
    forget(database, keys, session)
    found = database["articles"].find({"_id": {"$in": list(keys)}}, session=session)
    add_all(database, [entry_of(from_document(one), one["_id"], one["version"]) for one in found], session)


class MongoTexts(Texts):
    """:class:`newsbot.storage.articles.Texts` in MongoDB. A thread keeps the word index in order."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self.blocks = MongoBlocks(server)
        self._words = WordIndex(self.blocks)
        self._background = Background(lambda: nullcontext(MongoBlocks(server)))

    def owner(self, source: str, content_hash: str) -> str | None:
        with self._server.readable() as database:
            text = database["texts"].find_one({"_id": text_key(source, content_hash)})
            wanted = {"canonical_url": 1}
            owner = text and database["articles"].find_one({"_id": text["article"]}, wanted)
        return str(owner["canonical_url"]) if owner else None

    def repeated(self, *, least: int = 10, limit: int = 100) -> list[RepeatedText]:
        if limit <= 0:
            return []
        counted: list[Document] = [
            {"$group": {"_id": "$article", "others": {"$sum": 1}}},
            {"$match": {"others": {"$gte": least - 1}}},
            {"$sort": {"others": -1, "_id": 1}},
            {"$limit": limit},
        ]
        options: Document = {"allowDiskUse": True, "maxTimeMS": self._server.patience}
        with self._server.readable() as database:
            aliases, articles = database["aliases"], database["articles"]
            others = {row["_id"]: int(row["others"]) for row in aliases.aggregate(counted, **options)}
            for row in aliases.aggregate(_outgrown(list(others)), **options):
                others[row["_id"]] -= int(row["gone"])
            others = {key: number for key, number in others.items() if number >= least - 1}
            kept = articles.find({"_id": {"$in": list(others)}}, {"source": 1, "canonical_url": 1})
            found = [
                RepeatedText(one["source"], one["canonical_url"], others[one["_id"]] + 1) for one in kept
            ]
        return sorted(found, key=lambda one: (-one.urls, one.canonical_url))

    def search(
        self, query: str, where: ArticleFilter | None = None, *, limit: int = 20, by_time: bool = False
    ) -> list[Hit]:
        patience = self._server.patience
        with self._server.readable() as database:

            def members(story: str) -> list[Entry]:
                found = database["articles"].find({"story": clean(story)}).max_time_ms(patience)
                return [entry_of(from_document(one), one["_id"], one["version"]) for one in found]

            load, where = partial(articles_by_key, database), current(database, where)
            hits = answer(self._words, query, where, limit=limit, by_time=by_time, load=load, members=members)
            return _newest(database, where, limit, patience) if hits is None else hits

    def waiting(self) -> int:
        return self.blocks.count_waiting(0)

    def index(self) -> bool:
        return index_all(self.blocks)

    def stored(self, articles: int = 1) -> None:
        """Wake the thread if there is enough to index, after so many articles were stored."""
        self._background.stored(self.blocks.count_waiting, articles)

    def close(self) -> None:
        """End the thread."""
        self._background.close()


def _newest(database: Collections, where: ArticleFilter | None, limit: int, patience: int) -> list[Hit]:
    found = database["articles"].find(conditions(where)).sort({"moment": -1, "_id": -1})
    articles: Iterable[Article] = map(from_document, found.limit(limit).max_time_ms(patience))
    return [Hit(article, snippet(article.title, article.text, frozenset()), 0.0) for article in articles]


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


class MongoBlocks(BlockStore):
    """:class:`newsbot.search.index.blocks.BlockStore` in MongoDB."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._database = server.at.database

    def state(self) -> State:
        with self._server.readable():
            found = self._database["words_state"].find_one({"_id": _STATE})
        return state_of(None if found is None else found["state"])

    def change(
        self, old: State, new: State, folded: Sequence[Entry] = (), purged: Iterable[bytes] = ()
    ) -> bool:
        with self._server.readable():
            if not folded:
                done = self._replace(None, old, new)
                keys = list(purged) if done else []  # what is left of them is looked for once more
                for start in range(0, len(keys), _KEYS_AT_ONCE):
                    some = keys[start : start + _KEYS_AT_ONCE]
                    self._database["words_removed"].delete_many({"_id": {"$in": some}})
                return done

            def work(session: Session) -> bool:
                if not self._replace(session, old, new):
                    return False
                # One that was removed and came again meanwhile may have the same version: it still waits.
                asked = {"_id": {"$in": [one.key for one in folded]}}
                again = {one["_id"] for one in self._database["words_removed"].find(asked, session=session)}
                done = [{"_id": one.key, "version": one.version} for one in folded if one.key not in again]
                bare = {"_id": asked["_id"], "body": None}
                self._database["words_waiting"].delete_many({"$or": [*done, bare]}, session=session)
                return True

            return self._server.transact(work)

    def _replace(self, session: Session | None, old: State, new: State) -> bool:
        """Write the state; False if it is not ``old`` any more."""
        document = {"_id": _STATE, "revision": new.revision, "state": new.to_json()}
        states = self._database["words_state"]
        if old.revision:
            asked = {"_id": _STATE, "revision": old.revision}
            return states.replace_one(asked, document, session=session).matched_count == 1
        try:
            states.insert_one(document, session=session)
        except DuplicateKeyError:
            return False
        return True

    def removed(self, among: Sequence[bytes] | None = None) -> frozenset[bytes]:
        with self._server.readable():
            asked = {} if among is None else {"_id": {"$in": list(among)}}
            return frozenset(one["_id"] for one in self._database["words_removed"].find(asked))

    def waiting(self, limit: int, *, newest: bool = False) -> list[Entry]:
        with self._server.readable():
            order = DESCENDING if newest else ASCENDING
            found = list(self._database["words_waiting"].find().sort("$natural", order).limit(limit))
            bare = [one["_id"] for one in found if one["body"] is None]
            made = self._made(bare) if bare else {}
        return [
            entry
            for one in found
            if (
                entry := made.get(one["_id"])
                if one["body"] is None
                else unpacked(one["_id"], one["version"], one["body"])
            )
        ]

    def count_waiting(self, most: int) -> int:
        """Return how many wait, or ``most`` if more do; 0: any number."""
        with self._server.readable():
            waiting = self._database["words_waiting"]
            if most:
                return waiting.count_documents({}, hint="_id_", limit=most)
            return waiting.count_documents({}, hint="_id_")

    def blocks(self, numbers: Sequence[int]) -> Mapping[int, bytes]:
        with self._server.readable():
            found = self._database["words_blocks"].find({"_id": {"$in": list(numbers)}})
            return {one["_id"]: one["body"] for one in found}

    def write(self, blocks: Mapping[int, bytes]) -> None:
        documents = [{"_id": number, "body": Binary(body)} for number, body in blocks.items()]
        with self._server.readable():
            for start in range(0, len(documents), _AT_ONCE):
                self._database["words_blocks"].insert_many(documents[start : start + _AT_ONCE], ordered=False)

    def drop(self, first: int, after: int) -> None:
        with self._server.readable():
            self._database["words_blocks"].delete_many({"_id": {"$gte": first, "$lt": after}})

    def _made(self, keys: Sequence[bytes]) -> dict[bytes, Entry]:
        """The entries of articles that were stored before there was this index."""
        found = self._database["articles"].find({"_id": {"$in": list(keys)}})
        return {one["_id"]: entry_of(from_document(one), one["_id"], one["version"]) for one in found}
