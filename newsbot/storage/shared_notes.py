"""Notes that several workers add to: read, merge, and write again if another worker was faster."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Generic, TypeVar

from newsbot.storage.notes import Notes

TRIES = 5
"""Attempts to write a note that other workers change at the same time."""

_New = TypeVar("_New")
_Note = dict[str, Any]


class SharedNotes(Generic[_New]):
    """The notes of one kind, by key.

    ``merge`` takes the note as it is kept (None: there is no note yet) and what a worker has to add, and
    returns the note to keep. It is called again with the newer note if another worker wrote first, so it
    must not count the same addition twice.
    """

    def __init__(self, kind: str, merge: Callable[[_Note | None, _New], _Note]) -> None:
        self._kind = kind
        self._merge = merge

    def write(self, notes: Notes, additions: Mapping[str, _New]) -> dict[str, _Note]:
        """Add to the notes of these keys; return the notes that are kept now.

        A key is missing from the answer if other workers were faster TRIES times: the caller keeps its
        addition for the next call. Raises :class:`newsbot.errors.DataError`.
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
