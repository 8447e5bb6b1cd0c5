"""Stores notes in a collection with one document for each kind and key. Its ``_id`` is a hash of both."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import blake2b
from typing import Any

from pymongo.errors import DuplicateKeyError

from newsbot.storage.mongo.connection import Server
from newsbot.storage.notes import Notes, key_of, packed_note, unpacked_note


class MongoNotes(Notes):
    """:class:`newsbot.storage.notes.Notes` in MongoDB."""

    def __init__(self, server: Server) -> None:
        self._server = server

    def save(self, kind: str, key: str, note: Mapping[str, Any]) -> None:
        kept_kind, kept_key = key_of(kind, key)
        document = {"kind": kept_kind, "key": kept_key, "body": packed_note(key, note)}
        with self._server.readable() as database:
            name = {"_id": note_key(kept_kind, kept_key)}
            database["notes"].update_one(name, {"$set": document}, upsert=True)

    def swap(self, kind: str, key: str, old: Mapping[str, Any] | None, new: Mapping[str, Any]) -> bool:
        kept_kind, kept_key = key_of(kind, key)
        name, body = note_key(kept_kind, kept_key), packed_note(key, new)
        with self._server.readable() as database:
            notes = database["notes"]
            # The old body is part of the query, so that a note that another worker has changed stays.
            if old is not None:
                known = {"_id": name, "body": packed_note(key, old)}
                return notes.update_one(known, {"$set": {"body": body}}).matched_count > 0
            try:
                notes.insert_one({"_id": name, "kind": kept_kind, "key": kept_key, "body": body})
            except DuplicateKeyError:
                return False
        return True

    def all(self, kind: str) -> dict[str, dict[str, Any]]:
        with self._server.readable() as database:
            found = database["notes"].find({"kind": key_of(kind, "")[0]})
            return {document["key"]: unpacked_note(document["body"]) for document in found}

    def forget(self, kind: str, key: str) -> bool:
        with self._server.readable() as database:
            return database["notes"].delete_one({"_id": note_key(*key_of(kind, key))}).deleted_count > 0


def note_key(kind: str, key: str) -> bytes:
    """Return the ``_id`` of a note."""
    return blake2b(f"{kind}\0{key}".encode(), digest_size=16).digest()
