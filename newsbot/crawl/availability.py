"""The guard of the backends: they are there, or away for a while (server down, slow, full, read-only; file
locked).

Every call of frontier, index and each repository of the storage goes through :class:`Guarded`. The first
fault of a place begins an outage: one line says so. Until the next try is due every further call to that
place is refused at once and nothing is sent; then one call goes through, and if it fails too the pause
doubles. So there is at most one attempt a pause, whoever makes it, and the reactor stands still for no more
than that one attempt.

The outage is over, and said to be, when the call that failed succeeds, or the preparation of a return
(:attr:`Outage.on_return`, a write), or any call after :data:`CALM` seconds without a fault: a full server
answers reads, and that is no recovery. A call that began before that and fails after it (they may wait in
threads) tells of the past: it begins no new outage, and is made again.

A record that another worker holds (:class:`newsbot.errors.RecordBusy`) is no outage: who needs it waits.
"""

from __future__ import annotations

import asyncio
import copy
import logging
import random
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ParamSpec, TypeVar

from newsbot.clock import Clock
from newsbot.errors import DataError, DataFull, DataUnavailable, RecordBusy, RecordRefused
from newsbot.storage.base import REPOSITORIES, Storage

logger = logging.getLogger(__name__)

FIRST_PAUSE = 1.0
LONGEST_PAUSE = 30.0
"""Seconds before the next try; it is a random moment of the second half of the pause."""
CALM = 5.0
BUSY_PAUSE = 1.0
"""Seconds before a record that another worker holds is tried again."""
_LOOK = 0.25
"""Seconds between two looks of those that wait: does the crawl end?"""

_Given = ParamSpec("_Given")
_Answer = TypeVar("_Answer")


@dataclass(slots=True)
class _Fault:
    text: str
    call: str
    since: float
    calm_since: float | None = None
    """When a call succeeded first since the last fault."""


class Outage:
    """The places that are away, and when they may be tried again. ``clock``: seconds that never jump."""

    def __init__(
        self, clock: Clock = time.monotonic, spread: Callable[[float, float], float] = random.uniform
    ) -> None:
        self.clock = clock
        self._spread = spread
        self._faults: dict[str, _Fault] = {}
        self._tries = 0
        self._next_try = 0.0
        self._calm_since = -LONGEST_PAUSE
        """When the last outage ended."""
        self._ended: dict[str, float] = {}
        """When each place came back last."""
        self.count = 0
        """Outages so far."""
        self.noted = 0
        """Faults so far."""
        self.ending: Callable[[], bool] = lambda: False
        """Asked by those that wait: True when the crawl ends and waiting is of no use."""
        self.give_up: Callable[[], None] = lambda: None
        """Called when a local disk is full: that does not pass by itself."""
        self.on_return: dict[str, Callable[[], None]] = {}
        """Called before the first call to a place that was away; must write; may raise :class:`DataError`."""
        self._given_up = False

    # --- asking
    def __bool__(self) -> bool:
        """True from the first fault of a place until it is known to be well."""
        return bool(self._faults)

    @property
    def wait(self) -> float:
        """Seconds until the data may be touched again; 0: now."""
        return max(0.0, self._next_try - self.clock()) if self._faults else 0.0

    def is_away(self, place: str) -> bool:
        """True while nothing is known of a recovery of ``place``."""
        fault = self._faults.get(place)
        return fault is not None and fault.calm_since is None

    def came_back(self, place: str, *, since: float) -> bool:
        """True if an outage of ``place`` ended after that moment."""
        return place in self._ended and since < self._ended[place]

    def try_now(self) -> None:
        """Let the next call through: the crawl ends, there will be no later one."""
        self._next_try = self.clock()

    def ask(self, place: str) -> None:
        """Raise :class:`DataUnavailable` if ``place`` is away and the next try is not due."""
        fault = self._faults.get(place)
        if fault is not None and self.wait > 0:
            raise DataUnavailable(fault.text)

    async def patiently(
        self, work: Callable[_Given, _Answer], *given: _Given.args, **more: _Given.kwargs
    ) -> _Answer:
        """Call ``work`` until the data let it; it must be idempotent.

        Raises the fault when the crawl ends meanwhile, and one that time does not heal.
        """

        async def at_once() -> _Answer:
            return work(*given, **more)

        return await self.patiently_await(at_once)

    async def patiently_await(self, work: Callable[[], Awaitable[_Answer]]) -> _Answer:
        """Do as :meth:`patiently` with work that is awaited."""
        while True:
            began = self.clock()
            try:
                return await work()
            except RecordRefused:
                raise
            except RecordBusy:
                if self.ending():
                    raise
                await asyncio.sleep(BUSY_PAUSE)
            except DataError:
                overtaken = not self._faults and began < self._calm_since
                if not overtaken and not (self._faults and await self._pause()):
                    raise

    async def _pause(self) -> bool:
        """Wait until the next try is due; False if the crawl ends first."""
        while (left := self.wait) > 0:
            if self.ending():
                return False
            await asyncio.sleep(min(left, _LOOK))
        return True

    # --- telling
    def failed(self, place: str, call: str, error: DataError, *, began: float, for_good: bool) -> None:
        """Note a fault of a call that ``began`` then; ``for_good`` if waiting will not heal it."""
        self.noted += 1
        fault = self._faults.get(place)
        if not self._faults and self.clock() - self._calm_since > LONGEST_PAUSE:
            self._tries = 0  # else it was only a pause of the one before
        if fault is None:
            self.count += 1
            fault = self._faults[place] = _Fault(str(error), call, began)
            if not for_good:
                more = "" if self.ending() else "; the crawl waits for it and goes on by itself"
                logger.error("data away fault=%s%s", error, more)
        if for_good and not self._given_up:
            self._given_up = True
            logger.error("data away for good fault=%s", error)
            self.give_up()
        fault.text, fault.call, fault.calm_since = str(error), call, None
        pause = min(FIRST_PAUSE * 2.0**self._tries, LONGEST_PAUSE)
        self._tries = min(self._tries + 1, 10)
        self._next_try = self.clock() + pause * self._spread(0.5, 1.0)

    def succeeded(self, place: str, call: str, *, sure: bool = False) -> None:
        """Note that a call was answered; ``sure`` if that shows that the place is well."""
        fault = self._faults.get(place)
        if fault is None:
            return
        now = self.clock()
        if fault.calm_since is None:
            fault.calm_since = now
        if sure or call == fault.call or now - fault.calm_since >= CALM:
            self._end(place)

    def close(self) -> None:
        """The crawl has ended: what answers now is back."""
        for place in [place for place, fault in self._faults.items() if fault.calm_since is not None]:
            self._end(place)

    def _end(self, place: str) -> None:
        fault = self._faults.pop(place)
        self._calm_since = self._ended[place] = self.clock()
        away = self._calm_since - fault.since
        logger.info("data back place=%s seconds=%.0f", place, away)


def guarded_storage(storage: Storage, outage: Outage) -> Storage:
    """Return a copy of ``storage`` of which each repository is :class:`Guarded`."""
    twin = copy.copy(storage)
    for name in REPOSITORIES:
        part = Guarded(
            getattr(storage, name), f"storage.{name}", storage.place, outage, local=storage.is_local
        )
        setattr(twin, name, part)
    return twin


class Guarded:
    """A backend, or a repository of one, behind an :class:`Outage`: it has its methods, and each asks first.

    ``place`` tells servers and files apart. ``local``: a full disk is ours, and no time makes it larger.
    """

    def __init__(self, backend: object, part: str, place: str, outage: Outage, *, local: bool) -> None:
        self._backend = backend
        self._part = part
        self._place = place
        self._outage = outage
        self._local = local

    def __getattr__(self, name: str) -> Any:
        member = getattr(self._backend, name)
        if name.startswith("_") or name == "close" or not callable(member):
            return member

        def guarded(*given: Any, **more: Any) -> Any:
            answer = self._call(name, member, *given, **more)
            return self._stream(name, answer) if isinstance(answer, Iterator) else answer

        self.__dict__[name] = guarded  # found at once the next time
        return guarded

    async def in_thread(self, name: str, *given: Any) -> Any:
        """Call the method ``name`` in a thread: the reactor goes on while a server is waited for.

        The backend must stand calls from several threads; the outage is told in the reactor's own.
        """
        with self._watched(name):
            return await asyncio.to_thread(getattr(self._backend, name), *given)

    def _call(self, name: str, work: Callable[..., Any], *given: Any, **more: Any) -> Any:
        with self._watched(name):
            return work(*given, **more)

    @contextmanager
    def _watched(self, name: str) -> Iterator[None]:
        outage, call = self._outage, f"{self._part}.{name}"
        outage.ask(self._place)
        began, noted = outage.clock(), outage.noted
        prepared = outage.is_away(self._place) and self._place in outage.on_return
        try:
            if prepared:
                outage.on_return[self._place]()
            yield
        except (RecordRefused, RecordBusy):
            raise  # the place is well
        except DataError as error:
            for_good = self._local and isinstance(error, DataFull)
            told = outage.noted != noted  # by a call beside this one: one attempt, one pause
            if not told and not outage.came_back(self._place, since=began):
                outage.failed(self._place, call, error, began=began, for_good=for_good)
            raise
        outage.succeeded(self._place, call, sure=prepared)

    def _stream(self, name: str, records: Iterator[Any]) -> Iterator[Any]:
        end = object()
        while (record := self._call(name, next, records, end)) is not end:
            yield record
