"""What tells one storage from another wherever it lies: a queue serves one, and notices another."""

from __future__ import annotations

import secrets

from newsbot.storage.notes import Notes

_KIND, _KEY = "storage", "identity"


def identity_of(notes: Notes) -> str:
    """Return the identity of a storage; it is made when nobody asked before, and moves with the notes.

    Raises :class:`newsbot.errors.DataError` kinds.
    """
    while True:
        found = notes.notes(_KIND).get(_KEY)
        if found is not None:
            return str(found["id"])
        notes.swap_note(_KIND, _KEY, None, {"id": secrets.token_hex(8)})
