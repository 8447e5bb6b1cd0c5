"""Notes: small JSON documents that parts of newsbot store, such as subscriptions or trust in notifiers.

A note has a kind (the part that stores it) and a key. Writing it again replaces it.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping
from typing import Any, Protocol

from newsbot.text.words import clean

MAX_NOTE = 64 * 1024
"""Maximum number of characters of a note as JSON."""
MAX_KEY = 2048
_IDENTITY = ("storage", "identity")
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=str).encode


class Notes(Protocol):
    """Notes by kind and key."""

    def save(self, kind: str, key: str, note: Mapping[str, Any]) -> None:
        """Store a JSON-able note, which replaces an earlier one of the same kind and key.

        Raises ``ValueError`` if it is longer than MAX_NOTE, or its key than MAX_KEY.
        """

    def swap(self, kind: str, key: str, old: Mapping[str, Any] | None, new: Mapping[str, Any]) -> bool:
        """Replace ``old``, as :meth:`all` returned it (None: no note), by ``new``.

        Returns False and changes nothing if another worker has written the note in the meantime. Raises like
        :meth:`save`.
        """

    def all(self, kind: str) -> dict[str, dict[str, Any]]:
        """Return all notes of a kind by key."""

    def forget(self, kind: str, key: str) -> bool:
        """Delete a note. Returns False if there was none."""


def identity_of(notes: Notes) -> str:
    """Return the identity of a storage, by which a queue recognises the storage that it serves.

    The identity is created on first use and moves with the notes. Raises subclasses of
    :class:`newsbot.errors.DataError`.
    """
    kind, key = _IDENTITY
    found = notes.all(kind).get(key)
    if found is None:
        made = {"id": secrets.token_hex(8)}
        if notes.swap(kind, key, None, made):
            return made["id"]
        found = notes.all(kind)[key]  # another worker created it first
    return str(found["id"])


def to_json(value: object) -> str:
    """Return ``value`` as compact and readable JSON, with characters that every backend accepts."""
    return clean(_encode(value))


def packed_note(key: str, note: Mapping[str, Any]) -> str:
    """Return a note in its stored form. Raises ``ValueError`` if the note or its key is too long."""
    text = to_json(dict(note))
    if len(text) > MAX_NOTE or len(key) > MAX_KEY:
        raise ValueError(f"{key[:100]}: a note of {len(text)} characters is too long (at most {MAX_NOTE})")
    return text


def unpacked_note(text: str) -> dict[str, Any]:
    """Return a note that :func:`packed_note` made."""
    note: dict[str, Any] = json.loads(text)
    return note


def key_of(kind: str, key: str) -> tuple[str, str]:
    """Return kind and key with characters that every backend accepts."""
    return clean(kind), clean(key)
