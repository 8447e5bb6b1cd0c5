"""Writes notes to which several workers add: reads, merges, and tries again if another worker was faster."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Generic, TypeVar

from newsbot.storage.notes import Notes

TRIES = 5
"""Maximum number of attempts to write a note that other workers change at the same time."""

_New = TypeVar("_New")
_Note = dict[str, Any]


class SharedNotes(Generic[_New]):
    """The notes of one kind, by key.

    ``merge`` is called with the stored note (None if there is none) and the addition of a worker, and returns
    the note to store. If another worker writes first, ``merge`` is called again with the newer note and the
    same addition. So it must not count the same addition twice.
    """

    def __init__(self, kind: str, merge: Callable[[_Note | None, _New], _Note]) -> None:
        self._kind = kind
        self._merge = merge

    def write(self, notes: Notes, additions: Mapping[str, _New]) -> dict[str, _Note]:
        """Add to the notes of these keys, and return the notes as they are stored now.

        A key is missing from the result if other workers were faster TRIES times. Then the caller should keep
        the addition for its next call. Raises :class:`newsbot.errors.DataError`.
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
