"""Small documents that a part of newsbot keeps for itself: subscriptions, trust in notifiers.

A note has a kind (who keeps it) and a key; writing it again replaces it. Both storages implement
:class:`Notes` beside :class:`newsbot.storage.base.Storage`, with the same guarantees.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable

from newsbot.storage.records import to_json
from newsbot.text.words import clean

MAX_NOTE = 64 * 1024
"""Characters of a note as JSON."""
MAX_KEY = 2048


@runtime_checkable
class Notes(Protocol):
    """See the module's text."""

    def save_note(self, kind: str, key: str, note: Mapping[str, Any]) -> None:
        """Keep a JSON-able note, in place of an earlier one of the same kind and key.

        Raises ``ValueError`` if it is longer than MAX_NOTE, or its key than MAX_KEY.
        """

    def swap_note(self, kind: str, key: str, old: Mapping[str, Any] | None, new: Mapping[str, Any]) -> bool:
        """Keep ``new`` in place of ``old``, as :meth:`notes` gave it (None: there was none), in one step.

        False, and nothing changes, if another worker has written it meanwhile. Raises as :meth:`save_note`.
        """

    def notes(self, kind: str) -> dict[str, dict[str, Any]]:
        """All notes of a kind by key."""

    def forget_note(self, kind: str, key: str) -> bool:
        """Delete a note; False if there was none."""


def packed(key: str, note: Mapping[str, Any]) -> str:
    """Return a note as it is kept. Raises ``ValueError`` if it, or its key, is too long."""
    text = to_json(dict(note))
    if len(text) > MAX_NOTE or len(key) > MAX_KEY:
        raise ValueError(f"{key[:100]}: a note of {len(text)} characters is too long (at most {MAX_NOTE})")
    return text


def unpacked(text: str) -> dict[str, Any]:
    """Return a note that :func:`packed` made."""
    note: dict[str, Any] = json.loads(text)
    return note


def key_of(kind: str, key: str) -> tuple[str, str]:
    """Return kind and key with signs that every backend takes."""
    return clean(kind), clean(key)
