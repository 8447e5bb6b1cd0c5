"""The word index in MongoDB; see :mod:`newsbot.search.index`.

Storing an article writes one more document, without any index but its key; some hundreds of articles together
become a few dozen blocks of 16 kB.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import partial

from bson.binary import Binary
from pymongo import ASCENDING, DESCENDING, UpdateOne
from pymongo.errors import DuplicateKeyError

from newsbot.connections.mongo import Collections, Document, Place, Session, readable_errors
from newsbot.search.index.entry import Entry, entry_of, unpacked
from newsbot.search.index.segments import State, state_of
from newsbot.storage.mongo.documents import from_document
from newsbot.storage.mongo.transaction import transact

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


def only_present(place: Place, keys: Sequence[bytes]) -> None:
    """Index the present versions of articles anew, and take out all others.

    In transactions: an article that is broken off in between would be found no more, and one that is stored
    in a new version meanwhile would be found by the old one only.
    """
    for start in range(0, len(keys), _AT_ONCE):
        some = keys[start : start + _AT_ONCE]
        transact(place, partial(_only_present, place.database, some))


def _only_present(database: Collections, keys: Sequence[bytes], session: Session) -> None:
    forget(database, keys, session)
    found = database["articles"].find({"_id": {"$in": list(keys)}}, session=session)
    add_all(database, [entry_of(from_document(one), one["_id"], one["version"]) for one in found], session)


class MongoBlocks:
    """:class:`newsbot.search.index.blocks.BlockStore` in MongoDB."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._database = place.database

    def state(self) -> State:
        """See :meth:`newsbot.search.index.blocks.BlockStore.state`."""
        with self._readable():
            found = self._database["words_state"].find_one({"_id": _STATE})
        return state_of(None if found is None else found["state"])

    def change(
        self, old: State, new: State, folded: Sequence[Entry] = (), purged: Iterable[bytes] = ()
    ) -> bool:
        """See :meth:`newsbot.search.index.blocks.BlockStore.change`."""
        with self._readable():
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

            return transact(self._place, work)

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
        """See :meth:`newsbot.search.index.blocks.BlockStore.removed`."""
        with self._readable():
            asked = {} if among is None else {"_id": {"$in": list(among)}}
            return frozenset(one["_id"] for one in self._database["words_removed"].find(asked))

    def waiting(self, limit: int, *, newest: bool = False) -> list[Entry]:
        """See :meth:`newsbot.search.index.blocks.BlockStore.waiting`."""
        with self._readable():
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
        with self._readable():
            waiting = self._database["words_waiting"]
            if most:
                return waiting.count_documents({}, hint="_id_", limit=most)
            return waiting.count_documents({}, hint="_id_")

    def blocks(self, numbers: Sequence[int]) -> Mapping[int, bytes]:
        """See :meth:`newsbot.search.index.blocks.BlockStore.blocks`."""
        with self._readable():
            found = self._database["words_blocks"].find({"_id": {"$in": list(numbers)}})
            return {one["_id"]: one["body"] for one in found}

    def write(self, blocks: Mapping[int, bytes]) -> None:
        """See :meth:`newsbot.search.index.blocks.BlockStore.write`."""
        documents = [{"_id": number, "body": Binary(body)} for number, body in blocks.items()]
        with self._readable():
            for start in range(0, len(documents), _AT_ONCE):
                self._database["words_blocks"].insert_many(documents[start : start + _AT_ONCE], ordered=False)

    def drop(self, first: int, after: int) -> None:
        """See :meth:`newsbot.search.index.blocks.BlockStore.drop`."""
        with self._readable():
            self._database["words_blocks"].delete_many({"_id": {"$gte": first, "$lt": after}})

    def _made(self, keys: Sequence[bytes]) -> dict[bytes, Entry]:
        """The entries of articles that were stored before there was this index."""
        found = self._database["articles"].find({"_id": {"$in": list(keys)}})
        return {one["_id"]: entry_of(from_document(one), one["_id"], one["version"]) for one in found}

    def _readable(self) -> AbstractContextManager[None]:
        return readable_errors(self._place.name)
