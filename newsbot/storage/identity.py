"""What tells one storage from another wherever it lies: a queue serves one, and notices another."""

from __future__ import annotations

import secrets

from newsbot.storage.notes import Notes

_KIND, _KEY = "storage", "identity"


def identity_of(notes: Notes) -> str:
    """Return the identity of a storage; it is made when nobody asked before, and moves with the notes.

    Raises :class:`newsbot.errors.DataError` kinds.
    """
    found = notes.notes(_KIND).get(_KEY)
    if found is None:
        made = {"id": secrets.token_hex(8)}
        if notes.swap_note(_KIND, _KEY, None, made):
            return made["id"]
        found = notes.notes(_KIND)[_KEY]  # another worker was quicker
    return str(found["id"])
