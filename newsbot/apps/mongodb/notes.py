"""Stores notes in a collection with one document for each kind and key. The ``_id`` is a hash of kind and
key."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from hashlib import blake2b
from typing import Any

from pymongo import UpdateOne
from pymongo.errors import DuplicateKeyError

from newsbot.apps.mongodb.client import Collections, Document, Session
from newsbot.apps.mongodb.connection import Repository
from newsbot.errors import DataError, DataFull, DataUnavailable
from newsbot.storage.notes import NoteName, Notes, Swap, key_of, packed_note, unpacked_note

_RETRY_SWAPS_SECONDS = 0.1
"""Seconds for which a transaction with several notes is tried again if it conflicts with another
transaction."""


class _Overtaken(Exception):
    """Raised to roll back the transaction, because another worker has changed one of the notes."""


class MongoNotes(Repository, Notes):
    """:class:`newsbot.storage.notes.Notes` in MongoDB."""

    def save(self, kind: str, key: str, note: Mapping[str, Any]) -> None:
        kept_kind, kept_key = key_of(kind, key)
        document = {"kind": kept_kind, "key": kept_key, "body": packed_note(key, note)}
        with self.server.readable() as database:
            name = {"_id": note_key(kept_kind, kept_key)}
            database["notes"].update_one(name, {"$set": document}, upsert=True)

    def swap(self, kind: str, key: str, old: Mapping[str, Any] | None, new: Mapping[str, Any]) -> bool:
        kept_kind, kept_key = key_of(kind, key)
        name, body = note_key(kept_kind, kept_key), packed_note(key, new)
        with self.server.readable() as database:
            notes = database["notes"]
            # The old body is part of the query, so a note that another worker has changed is not replaced.
            if old is not None:
                known = {"_id": name, "body": packed_note(key, old)}
                return notes.update_one(known, {"$set": {"body": body}}).matched_count > 0
            try:
                notes.insert_one({"_id": name, "kind": kept_kind, "key": kept_key, "body": body})
            except DuplicateKeyError:
                return False
        return True

    def swap_many(self, swaps: Sequence[Swap]) -> list[bool]:
        if len(swaps) > 1:  # nearly always, no other worker has changed any of the notes
            try:
                with self.server.readable() as database:
                    self.server.transact(partial(_swap_all, database, swaps), _RETRY_SWAPS_SECONDS)
            except (DataUnavailable, DataFull):
                raise
            except (DataError, ValueError, _Overtaken):
                pass  # each note is written alone
            else:
                return [True] * len(swaps)
        return super().swap_many(swaps)

    def get_many(self, names: Sequence[NoteName]) -> dict[NoteName, dict[str, Any]]:
        keys = {note_key(*key_of(*name)): name for name in names}
        with self.server.readable() as database:
            found = database["notes"].find({"_id": {"$in": list(keys)}})
            return {keys[document["_id"]]: unpacked_note(document["body"]) for document in found}

    def all(self, kind: str) -> dict[str, dict[str, Any]]:
        with self.server.readable() as database:
            found = database["notes"].find({"kind": key_of(kind, "")[0]})
            return {document["key"]: unpacked_note(document["body"]) for document in found}

    def forget(self, kind: str, key: str) -> bool:
        with self.server.readable() as database:
            return database["notes"].delete_one({"_id": note_key(*key_of(kind, key))}).deleted_count > 0


def _swap_all(database: Collections, swaps: Sequence[Swap], session: Session) -> None:
    """Write all notes. Raises :class:`_Overtaken` or ``BulkWriteError`` if one of them has changed."""
    made: list[Document] = []
    replaced: list[UpdateOne] = []
    for kind, key, old, new in swaps:
        where = key_of(kind, key)
        name, body = note_key(*where), packed_note(key, new)
        if old is None:
            made.append({"_id": name, "kind": where[0], "key": where[1], "body": body})
        else:
            known = {"_id": name, "body": packed_note(key, old)}
            replaced.append(UpdateOne(known, {"$set": {"body": body}}))
    if made:
        database["notes"].insert_many(made, session=session)
    if replaced:
        result = database["notes"].bulk_write(replaced, session=session)
        # A note whose body has changed does not match.
        if result.matched_count < len(replaced):
            raise _Overtaken


def note_key(kind: str, key: str) -> bytes:
    """Return the ``_id`` of a note."""
    return blake2b(f"{kind}\0{key}".encode(), digest_size=16).digest()
