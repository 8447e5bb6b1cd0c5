"""Notes: small JSON documents that a part of newsbot keeps for itself, such as subscriptions or trust in
notifiers.

A note has a kind (the part that keeps it) and a key; writing it again replaces it.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping
from typing import Any, Protocol

from newsbot.text.words import clean

MAX_NOTE = 64 * 1024
"""Characters of a note as JSON."""
MAX_KEY = 2048
_IDENTITY = ("storage", "identity")
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=str).encode


class Notes(Protocol):
    """Notes by kind and key."""

    def save(self, kind: str, key: str, note: Mapping[str, Any]) -> None:
        """Keep a JSON-able note, in place of an earlier one of the same kind and key.

        Raises ``ValueError`` if it is longer than MAX_NOTE, or its key than MAX_KEY.
        """

    def swap(self, kind: str, key: str, old: Mapping[str, Any] | None, new: Mapping[str, Any]) -> bool:
        """Keep ``new`` in place of ``old``, as :meth:`all` gave it (None: there was none).

        Returns False, and changes nothing, if another worker has written it meanwhile. Raises as
        :meth:`save`.
        """

    def all(self, kind: str) -> dict[str, dict[str, Any]]:
        """Return all notes of a kind by key."""

    def forget(self, kind: str, key: str) -> bool:
        """Delete a note; return False if there was none."""


def identity_of(notes: Notes) -> str:
    """Return what tells one storage from another wherever it lies: a queue serves one, and notices another.

    It is made when it is asked for first, and moves with the notes. Raises :class:`newsbot.errors.DataError`
    kinds.
    """
    kind, key = _IDENTITY
    found = notes.all(kind).get(key)
    if found is None:
        made = {"id": secrets.token_hex(8)}
        if notes.swap(kind, key, None, made):
            return made["id"]
        found = notes.all(kind)[key]  # another worker was quicker
    return str(found["id"])


def to_json(value: object) -> str:
    """Return ``value`` as compact JSON that people can read, with characters that every backend takes."""
    return clean(_encode(value))


def packed_note(key: str, note: Mapping[str, Any]) -> str:
    """Return a note as it is kept. Raises ``ValueError`` if it, or its key, is too long."""
    text = to_json(dict(note))
    if len(text) > MAX_NOTE or len(key) > MAX_KEY:
        raise ValueError(f"{key[:100]}: a note of {len(text)} characters is too long (at most {MAX_NOTE})")
    return text


def unpacked_note(text: str) -> dict[str, Any]:
    """Return a note that :func:`packed_note` made."""
    note: dict[str, Any] = json.loads(text)
    return note


def key_of(kind: str, key: str) -> tuple[str, str]:
    """Return kind and key with characters that every backend takes."""
    return clean(kind), clean(key)
