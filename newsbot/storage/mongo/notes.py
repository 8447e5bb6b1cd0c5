"""Notes: one document for each kind and key, which make its ``_id``."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import blake2b
from typing import Any

from pymongo.errors import DuplicateKeyError

from newsbot.connections.mongo import Collections
from newsbot.storage.notes import key_of, packed, unpacked


def save_note(database: Collections, kind: str, key: str, note: Mapping[str, Any]) -> None:
    """Keep a note."""
    kept_kind, kept_key = key_of(kind, key)
    database["notes"].update_one(
        {"_id": identity(kept_kind, kept_key)},
        {"$set": {"kind": kept_kind, "key": kept_key, "body": packed(key, note)}},
        upsert=True,
    )


def swap_note(
    database: Collections, kind: str, key: str, old: Mapping[str, Any] | None, new: Mapping[str, Any]
) -> bool:
    """Keep ``new`` if ``old`` still stands there."""
    kept_kind, kept_key = key_of(kind, key)
    name, body = identity(kept_kind, kept_key), packed(key, new)
    if old is not None:
        done = database["notes"].update_one({"_id": name, "body": packed(key, old)}, {"$set": {"body": body}})
        return done.matched_count > 0
    try:
        database["notes"].insert_one({"_id": name, "kind": kept_kind, "key": kept_key, "body": body})
    except DuplicateKeyError:
        return False
    return True


def notes(database: Collections, kind: str) -> dict[str, dict[str, Any]]:
    """Return all notes of a kind by key."""
    found = database["notes"].find({"kind": key_of(kind, "")[0]})
    return {document["key"]: unpacked(document["body"]) for document in found}


def forget_note(database: Collections, kind: str, key: str) -> bool:
    """Delete a note."""
    return database["notes"].delete_one({"_id": identity(*key_of(kind, key))}).deleted_count > 0


def identity(kind: str, key: str) -> bytes:
    """Return the ``_id`` of a note."""
    return blake2b(f"{kind}\0{key}".encode(), digest_size=16).digest()
