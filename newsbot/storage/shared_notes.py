"""Writes notes to which several workers add their data at the same time.

Each write reads the note, merges the new data, and stores the note. It is tried again if another worker has
changed the note in the meantime.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Generic, TypeVar

from newsbot.storage.notes import Notes

TRIES = 5
"""Maximum number of attempts to write a note that other workers change at the same time."""

_New = TypeVar("_New")
_Note = dict[str, Any]


class SharedNotes(Generic[_New]):
    """Writes the notes of one kind.

    ``merge`` is called with the stored note (None if there is none) and the new data of a worker (its
    addition). It returns the note to store. If another worker writes first, ``merge`` is called again with
    the newer note and the same addition. So it must not count an addition again that the note contains
    already.
    """

    def __init__(self, kind: str, merge: Callable[[_Note | None, _New], _Note]) -> None:
        self._kind = kind
        self._merge = merge

    def write(self, notes: Notes, additions: Mapping[str, _New]) -> dict[str, _Note]:
        """Add the data of ``additions`` to the notes of these keys. Return the stored notes by key.

        A key is missing from the result if its write failed TRIES times, because other workers were faster.
        Then the caller should give the addition again in its next call. Raises
        :class:`newsbot.errors.DataError`.
        """
        written: dict[str, _Note] = {}
        for _ in range(TRIES):
            left = sorted(additions.keys() - written.keys())
            if not left:
                break
            kept = notes.all(self._kind)
            for key in left:
                note = self._merge(kept.get(key), additions[key])
                if note == kept.get(key) or notes.swap(self._kind, key, kept.get(key), note):
                    written[key] = note
        return written
