"""What each person has read and starred (:mod:`newsbot.apps.team.people`).

An article that a person opens is read. These marks are written together a moment later, so that pages do not
wait for them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress

from newsbot.apps.team.people import Change, Reading, State, reading_of, shared_readings
from newsbot.apps.web.readers import Readers
from newsbot.clock import Clock, system_clock
from newsbot.errors import DataError
from newsbot.items import Bounded

BACK = "back"
"""Instead of the path of a page: the page on which the button was."""
MAX_PEOPLE = 200
"""Maximum number of people whose marks are kept in memory."""
FRESH = 60.0
"""Seconds after which marks are read again, because another server may have changed them."""
PAUSE = 1.0
"""Seconds after which new marks are written."""


class Marks:
    """The marks of all people. The name of a person comes from :mod:`newsbot.apps.web.dashboard.access`."""

    def __init__(self, readers: Readers, clock: Clock = system_clock) -> None:
        self._readers = readers
        self._clock = clock
        self._known = Bounded[str, tuple[float, Reading]](MAX_PEOPLE)
        self._new: dict[str, list[Change]] = {}
        self._shared = shared_readings()
        self._task: asyncio.Task[None] | None = None

    async def of(self, person: str) -> Reading:
        """Return the marks of a person."""
        at, found = self._known.get(person, (0.0, Reading()))
        if self._clock() - at > FRESH:
            notes = await self._readers.call(lambda data: self._shared.read(data.storage.notes, [person]))
            found = reading_of(notes.get(person))
            for key, state in self._new.get(person, ()):
                found.put(key, state)
            self._known[person] = self._clock(), found
        return found

    async def opened(self, person: str, key: bytes) -> None:
        """Note that a person has opened an article."""
        found = await self.of(person)
        if not found.has_read(key):
            found.put(key, State.READ)
            self._new.setdefault(person, []).append((key, State.READ))
            if self._task is None or self._task.done():
                self._task = asyncio.ensure_future(self._later())

    async def change(self, person: str, keys: Sequence[bytes], state: State) -> None:
        """Mark articles for a person, and write it at once.

        Raises :class:`ArgumentError` if too many articles are starred.
        """
        found = await self.of(person)
        found.check_room(keys, state)
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
