"""Interface for notes: small JSON documents that other parts of newsbot store, such as subscriptions to hubs.

A note has a kind, which names the part of newsbot that uses it, and a key. Writing a note replaces the one
with the same kind and key.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from newsbot.text.words import clean

MAX_NOTE = 64 * 1024
"""Maximum length of a note in characters of JSON."""
MAX_KEY = 2048
"""Maximum length of a key in characters."""
_IDENTITY = ("storage", "identity")
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=str).encode


NoteName = tuple[str, str]
"""The kind and the key of a note."""
Swap = tuple[str, str, Mapping[str, Any] | None, Mapping[str, Any]]
"""The arguments of :meth:`Notes.swap`."""


class Notes(Protocol):
    """Notes by kind and key."""

    def save(self, kind: str, key: str, note: Mapping[str, Any]) -> None:
        """Store a note that consists of JSON values. It replaces the note with the same kind and key.

        Raises ``ValueError`` if the note is longer than MAX_NOTE or the key is longer than MAX_KEY.
        """

    def swap(self, kind: str, key: str, old: Mapping[str, Any] | None, new: Mapping[str, Any]) -> bool:
        """Replace the note ``old`` by ``new`` if the stored note still is ``old`` (compare and swap).

        ``old`` is the note as :meth:`all` returned it, or None if there was no note. Return False without
        changing anything if another worker has written the note in the meantime. Raises ``ValueError`` like
        :meth:`save`.
        """

    def swap_many(self, swaps: Sequence[Swap]) -> list[bool]:
        """Do the same as :meth:`swap` for each of the swaps."""
        return [self.swap(*one) for one in swaps]

    def get_many(self, names: Sequence[NoteName]) -> dict[NoteName, dict[str, Any]]:
        """Return the notes with these names. Unknown names are left out."""

    def all(self, kind: str) -> dict[str, dict[str, Any]]:
        """Return all notes of a kind by key."""

    def forget(self, kind: str, key: str) -> bool:
        """Delete a note. Return False if there was none."""


def identity_of(notes: Notes) -> str:
    """Return the identity of a storage: a random text by which a frontier recognizes its own storage.

    The identity is a note that is created at the first call. ``scrapy move`` copies it with the other notes.
    Raises subclasses of :class:`newsbot.errors.DataError`.
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
    """Return ``value`` as compact JSON text that has only characters which every backend accepts.

    Letters are not escaped. Values of types that JSON does not have are converted with ``str``.
    """
    return clean(_encode(value))


def packed_note(key: str, note: Mapping[str, Any]) -> str:
    """Return the stored form of a note. Raises ``ValueError`` if the note or its key is too long.

    :meth:`Notes.swap` compares these texts, so the order of the keys in a note matters. Writing and reading
    JSON keeps this order.
    """
    text = to_json(dict(note))
    if len(text) > MAX_NOTE or len(key) > MAX_KEY:
        raise ValueError(f"{key[:100]}: a note of {len(text)} characters is too long (at most {MAX_NOTE})")
    return text


def unpacked_note(text: str) -> dict[str, Any]:
    """Return the note of a stored text (see :func:`packed_note`)."""
    note: dict[str, Any] = json.loads(text)
    return note


def key_of(kind: str, key: str) -> tuple[str, str]:
    """Return kind and key without characters that some backend does not accept."""
    return clean(kind), clean(key)
