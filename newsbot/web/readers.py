"""Threads that read the data for the dashboard: each has a storage and a frontier of its own.

The push receiver's thread never waits for them. What takes too long is broken off, and what would wait behind
too many others is refused: a page that cannot be shown now says so at once.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from typing import TypeVar, cast

from newsbot import backends
from newsbot.clock import Clock, system_clock
from newsbot.config.check import SettingsLike
from newsbot.errors import DataError, DataUnavailable
from newsbot.frontier.base import Frontier
from newsbot.rules import RuleSet
from newsbot.rules.reload import RulesWatch
from newsbot.storage.base import Storage
from newsbot.storage.notes import Notes
from newsbot.storage.sources import Activity

_Answer = TypeVar("_Answer")

PATIENCE = 8.0
"""Seconds for one answer."""
MAX_WAITING = 32
"""Answers that are waited for at once."""


@dataclass(slots=True)
class Data:
    """What an answer is made from."""

    storage: Storage
    frontier: Frontier
    rules: RuleSet
    clock: Clock = system_clock

    @property
    def notes(self) -> Notes:
        """The storage as keeper of notes."""
        return self.storage.notes

    @property
    def activity(self) -> Activity:
        """The storage as keeper of what sites did."""
        return self.storage.activity

    def close(self) -> None:
        """Release both."""
        self.frontier.close()
        self.storage.close()


class Readers:
    """So many threads. ``settings`` as for :mod:`newsbot.backends`."""

    def __init__(self, settings: SettingsLike, threads: int, name: str) -> None:
        self._rules = _Rules(settings)
        self._readers = [_Reader(settings, self._rules, f"{name}{number}") for number in range(threads)]

    async def call(self, work: Callable[[Data], _Answer], *, seconds: float = PATIENCE) -> _Answer:
        """Return what ``work`` returns; it runs in the thread that has least to do.

        After ``seconds`` it is broken off. Raises :class:`newsbot.errors.DataError`, and what ``work``
        raises.
        """
        if sum(reader.waiting for reader in self._readers) >= MAX_WAITING:
            raise DataUnavailable("too many questions at once; try again in a moment")
        job = _Job(work)
        future = min(self._readers, key=lambda reader: reader.waiting).begin(job)
        try:
            return cast("_Answer", await asyncio.wait_for(asyncio.shield(future), seconds))
        except TimeoutError:
            job.give_up()
            raise DataUnavailable(
                f"this takes longer than {seconds:.0f} s; ask for less (a site, some days, other words)"
            ) from None

    def close(self) -> None:
        """Break off what runs, and release all."""
        for reader in self._readers:
            reader.close()


class _Rules:
    """The rules as they are now, for all threads."""

    def __init__(self, settings: SettingsLike) -> None:
        self._watch = RulesWatch(backends.rules_folder(settings))
        self._rules = backends.open_rules(settings)
        self._lock = threading.Lock()

    def present(self) -> RuleSet:
        with self._lock:
            self._rules = self._watch.changed() or self._rules
            return self._rules


class _Reader:
    """One thread with its storage and frontier, opened when they are asked for first."""

    def __init__(self, settings: SettingsLike, rules: _Rules, name: str) -> None:
        self._settings = settings
        self._rules = rules
        self._pool = ThreadPoolExecutor(1, thread_name_prefix=name)
        self._data: Data | None = None
        self._job: _Job | None = None
        self.waiting = 0

    def begin(self, job: _Job) -> asyncio.Future[object]:
        self.waiting += 1
        future = asyncio.get_running_loop().run_in_executor(self._pool, self._run, job)
        future.add_done_callback(self._ended)
        return future

    def _ended(self, future: asyncio.Future[object]) -> None:
        self.waiting -= 1
        if not future.cancelled():
            future.exception()  # whoever asked may have gone

    def _run(self, job: _Job) -> object:
        if job.given_up:
            return None
        if self._data is None:
            self._data = self._open()
        self._data.rules = self._rules.present()
        job.data, self._job = self._data, job
        try:
            return job.work(self._data)
        finally:
            job.data = self._job = None

    def _open(self) -> Data:
        storage = backends.open_storage(self._settings, hurried=True)
        try:
            frontier = backends.open_frontier(self._settings)
        except BaseException:
            storage.close()
            raise
        return Data(storage, frontier, self._rules.present())

    def close(self) -> None:
        job = self._job
        if job is not None:
            job.give_up()
        self._pool.submit(self._release)
        self._pool.shutdown(wait=True)

    def _release(self) -> None:
        if self._data is not None:
            with suppress(DataError):
                self._data.close()


@dataclass(slots=True)
class _Job:
    work: Callable[[Data], object]
    data: Data | None = None
    given_up: bool = False

    def give_up(self) -> None:
        """Break it off: the embedded file is told to stop, servers have limits of their own."""
        self.given_up = True
        if self.data is not None:
            self.data.storage.interrupt()
