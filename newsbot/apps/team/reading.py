"""What a person has read and starred: a note for each person."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from newsbot.errors import ArgumentError
from newsbot.storage.notes import SharedNotes
from newsbot.urls import fingerprint

KIND = "reading"
"""The kind of the notes. The key is the name of a person."""
MAX_READ = 2000
"""Maximum number of articles that are known as read. The articles that were read last are known."""
MAX_STARRED = 500
_SHORT = 8
"""Number of bytes of the key of an article that is read. Such a mark may be wrong; a star may not."""


class State(StrEnum):
    """A mark of an article."""

    READ = "read"
    UNREAD = "not read"
    STARRED = "starred"
    UNSTARRED = "not starred"


@dataclass(slots=True)
class Reading:
    """What one person has read and starred."""

    read: dict[str, None] = field(default_factory=dict)
    """Keys in hexadecimal, in the order in which the articles were read."""
    starred: dict[str, None] = field(default_factory=dict)

    def is_read(self, url: str) -> bool:
        """Return True if the article with this canonical URL is read."""
        return self.has_read(fingerprint(url))

    def has_read(self, key: bytes) -> bool:
        """Return True if the article with this key is read."""
        return key[:_SHORT].hex() in self.read

    def is_starred(self, url: str) -> bool:
        """Return True if the article with this canonical URL is starred."""
        return fingerprint(url).hex() in self.starred

    def check_room(self, keys: Sequence[bytes], state: State) -> None:
        """Raise :class:`ArgumentError` if too many articles would be starred."""
        starred = self.starred.keys() | {key.hex() for key in keys if state is State.STARRED}
        if len(starred) > max(MAX_STARRED, len(self.starred)):
            raise ArgumentError(f"{MAX_STARRED} articles are starred; remove a star first")

    def put(self, key: bytes, state: State) -> None:
        """Mark the article with a key."""
        if state in (State.STARRED, State.UNSTARRED):
            self.starred.pop(key.hex(), None)
            if state is State.STARRED:
                self.starred[key.hex()] = None
            return
        self.read.pop(key[:_SHORT].hex(), None)
        if state is State.READ:
            self.read[key[:_SHORT].hex()] = None
            for oldest in list(self.read)[: -MAX_READ or None]:
                del self.read[oldest]


def reading_of(note: Mapping[str, Any] | None) -> Reading:
    """Return what a note says."""
    note = note or {}
    return Reading(dict.fromkeys(note.get("read", ())), dict.fromkeys(note.get("starred", ())))


Change = tuple[bytes, State]
"""The key of an article, and its new mark."""


def _merged(note: dict[str, Any] | None, changes: Sequence[Change]) -> dict[str, Any]:
    known = reading_of(note)
    for key, state in changes:
        known.put(key, state)
    return {"read": list(known.read), "starred": list(known.starred)}


def shared_readings() -> SharedNotes[Sequence[Change]]:
    """Return the reader and writer of the notes."""
    return SharedNotes[Sequence[Change]](KIND, _merged)
