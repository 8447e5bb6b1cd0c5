"""What each person has read and starred: a note for each person.

An article that a person opens is read. These marks are written together a moment later, so that pages do not
wait for them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from newsbot.apps.web.readers import Readers
from newsbot.clock import Clock, system_clock
from newsbot.errors import ArgumentError, DataError
from newsbot.items import Bounded
from newsbot.storage.notes import SharedNotes
from newsbot.urls import fingerprint

BACK = "back"
"""Instead of the path of a page: the page on which the button was."""
KIND = "reading"
"""The kind of the notes. The key is the name of a person."""
MAX_READ = 2000
"""Maximum number of articles that are known as read. The articles that were read last are known."""
MAX_STARRED = 500
_SHORT = 8
"""Number of bytes of the key of an article that is read. Such a mark may be wrong; a star may not."""
MAX_PEOPLE = 200
"""Maximum number of people whose marks are kept in memory."""
FRESH = 60.0
"""Seconds after which marks are read again, because another server may have changed them."""
PAUSE = 1.0
"""Seconds after which new marks are written."""


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
        return fingerprint(url)[:_SHORT].hex() in self.read

    def is_starred(self, url: str) -> bool:
        """Return True if the article with this canonical URL is starred."""
        return fingerprint(url).hex() in self.starred

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


def _reading(note: Mapping[str, Any] | None) -> Reading:
    note = note or {}
    return Reading(dict.fromkeys(note.get("read", ())), dict.fromkeys(note.get("starred", ())))


_Change = tuple[bytes, State]


def _merged(note: dict[str, Any] | None, changes: Sequence[_Change]) -> dict[str, Any]:
    known = _reading(note)
    for key, state in changes:
        known.put(key, state)
    return {"read": list(known.read), "starred": list(known.starred)}


class Marks:
    """The marks of all people. The name of a person comes from :mod:`newsbot.apps.web.dashboard.access`."""

    def __init__(self, readers: Readers, clock: Clock = system_clock) -> None:
        self._readers = readers
        self._clock = clock
        self._known = Bounded[str, tuple[float, Reading]](MAX_PEOPLE)
        self._new: dict[str, list[_Change]] = {}
        self._shared = SharedNotes[Sequence[_Change]](KIND, _merged)
        self._task: asyncio.Task[None] | None = None

    async def of(self, person: str) -> Reading:
        """Return the marks of a person."""
        at, found = self._known.get(person, (0.0, Reading()))
        if self._clock() - at > FRESH:
            notes = await self._readers.call(lambda data: self._shared.read(data.storage.notes, [person]))
            found = _reading(notes.get(person))
            for key, state in self._new.get(person, ()):
                found.put(key, state)
            self._known[person] = self._clock(), found
        return found

    async def opened(self, person: str, key: bytes) -> None:
        """Note that a person has opened an article."""
        found = await self.of(person)
        if key[:_SHORT].hex() not in found.read:
            found.put(key, State.READ)
            self._new.setdefault(person, []).append((key, State.READ))
            if self._task is None or self._task.done():
                self._task = asyncio.ensure_future(self._later())

    async def change(self, person: str, keys: Sequence[bytes], state: State) -> None:
        """Mark articles for a person, and write it at once.

        Raises :class:`ArgumentError` if too many articles are starred.
        """
        found = await self.of(person)
        starred = found.starred.keys() | {key.hex() for key in keys if state is State.STARRED}
        if len(starred) > max(MAX_STARRED, len(found.starred)):
            raise ArgumentError(f"{MAX_STARRED} articles are starred; remove a star first")
        for key in keys:
            found.put(key, state)
            self._new.setdefault(person, []).append((key, state))
        await self._write()

    async def _later(self) -> None:
        await asyncio.sleep(PAUSE)
        with suppress(DataError):  # the next mark writes these too
            await self._write()

    async def _write(self) -> None:
        taken, self._new = self._new, {}
        written: Mapping[str, object] = {}
        try:
            written = await self._readers.call(lambda data: self._shared.write(data.storage.notes, taken))
        finally:
            for person in taken.keys() - written.keys():
                self._new[person] = [*taken[person], *self._new.get(person, ())]

    async def close(self) -> None:
        """Write what is left."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        if self._new:
            with suppress(DataError):
                await self._write()
