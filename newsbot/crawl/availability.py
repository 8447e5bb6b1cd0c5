"""Guards the backends while they are unavailable (server down, slow, full, read-only; file locked).

Every call to the frontier, the index and each repository of the storage goes through :class:`Guarded`. A
*place* is one server or one file. The first fault of a place begins an outage, which is logged once. Until
the next try is due, every further call to this place fails immediately, and nothing is sent. Then one call is
sent. If it fails too, the pause doubles. (This is the pattern "circuit breaker".)

An outage ends, and its end is logged, when one of these calls succeeds:

* the same call as the one that failed
* the function of the place in :attr:`Outage.on_return`, which writes
* any call after :data:`CALM` seconds without a fault

A single successful read is not enough, because a full server still answers reads. A call in a thread may
begin before the end of an outage and fail after the end. This call does not begin a new outage; it is
repeated.

A record that another worker holds (:class:`newsbot.errors.RecordBusy`) is not an outage. The caller waits
until the record is free.
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
from functools import partial
from itertools import islice
from typing import Any, ParamSpec, TypeVar

from newsbot.clock import Clock
from newsbot.crawl.server_calls import ServerCalls
from newsbot.errors import DataDamaged, DataError, DataUnavailable, RecordBusy, RecordRefused
from newsbot.storage.base import REPOSITORIES, Storage

logger = logging.getLogger(__name__)

FIRST_PAUSE = 1.0
"""Length of the first pause in seconds. The next try is at a random time in the second half of the pause."""
LONGEST_PAUSE = 30.0
"""Maximum length of the doubled pauses, in seconds."""
CALM = 5.0
"""After this number of seconds without a fault, any successful call ends the outage."""
BUSY_PAUSE = 1.0
"""Seconds before a record that another worker holds is tried again."""
STEP = 500
"""Number of records that are read from a server together. The backends read at most this number of records
with one query."""
_LOOK = 0.25
"""A waiting call checks at intervals of this number of seconds whether the crawl is ending."""

_Given = ParamSpec("_Given")
_Answer = TypeVar("_Answer")


@dataclass(slots=True)
class _Fault:
    """An outage of one place. Times are seconds of :attr:`Outage.clock`."""

    text: str
    """The message of the last fault."""
    call: str
    """The backend's method that failed last."""
    since: float
    """The time when the first failed call began."""
    calm_since: float | None = None
    """The time of the first successful call since the last fault; None if no call has succeeded."""


class Outage:
    """The places that are unavailable, and when they may be tried again.

    ``clock`` is a monotonic clock in seconds.
    """

    def __init__(
        self, clock: Clock = time.monotonic, spread: Callable[[float, float], float] = random.uniform
    ) -> None:
        self.clock = clock
        self._spread = spread
        self.calls = ServerCalls()
        self._faults: dict[str, _Fault] = {}
        self._tries = 0
        self._next_try = 0.0
        self._calm_since = -LONGEST_PAUSE
        """The time when the last outage of any place ended, in seconds of :attr:`clock`."""
        self._ended: dict[str, float] = {}
        """The time when the last outage of each place ended, in seconds of :attr:`clock`."""
        self.count = 0
        """Number of outages since the crawl began."""
        self.noted = 0
        """Number of faults since the crawl began."""
        self.ending: Callable[[], bool] = lambda: False
        """A function that returns True when the crawl ends, so that waiting calls stop waiting."""
        self.give_up: Callable[[], None] = lambda: None
        """A function that is called when the data are damaged, because waiting does not help then."""
        self.on_return: dict[str, Callable[[], None]] = {}
        """For each place, a function that is called before the first call after an outage.

        The function must write to the place and may raise :class:`DataError`.
        """
        self._given_up = False
        self.over = False
        """True once the backends are being closed. Errors after that are not faults of a place."""

    # --- asking
    def __bool__(self) -> bool:
        """True from the first fault of a place until its outage has ended."""
        return bool(self._faults)

    @property
    def wait(self) -> float:
        """Seconds until the backends may be called again; 0 means now."""
        return max(0.0, self._next_try - self.clock()) if self._faults else 0.0

    @property
    def away(self) -> list[str]:
        """The places that have an outage, sorted."""
        return sorted(self._faults)

    def is_away(self, place: str) -> bool:
        """Return True while ``place`` has an outage and no call has succeeded since its last fault."""
        fault = self._faults.get(place)
        return fault is not None and fault.calm_since is None

    def came_back(self, place: str, *, since: float) -> bool:
        """Return True if an outage of ``place`` ended after ``since`` (seconds of :attr:`clock`)."""
        return place in self._ended and since < self._ended[place]

    def try_now(self) -> None:
        """Allow the next call now. This is used at the end of a crawl, when no later try is possible."""
        self._next_try = self.clock()

    def ask(self, place: str) -> None:
        """Check whether ``place`` may be called now.

        Raises :class:`DataUnavailable` if the crawl is over, or if the place has an outage and no try is due.
        """
        if self.over:
            raise DataUnavailable("the crawl has ended and its data are closed")
        fault = self._faults.get(place)
        if fault is not None and self.wait > 0:
            raise DataUnavailable(fault.text)

    async def patiently(
        self, work: Callable[_Given, _Answer], *given: _Given.args, **more: _Given.kwargs
    ) -> _Answer:
        """Call ``work`` in a section (:mod:`newsbot.crawl.server_calls`) until it succeeds.

        Returns its result. ``work`` must be idempotent.

        Raises the :class:`DataError` of the last call if the crawl ends in the meantime, or if waiting cannot
        help.
        """
        return await self.patiently_await(lambda: self.calls.run(work, *given, **more))

    async def patiently_await(self, work: Callable[[], Awaitable[_Answer]]) -> _Answer:
        """Do the same as :meth:`patiently` for a coroutine function."""
        while True:
            began = self.clock()
            try:
                return await work()
            except RecordRefused:
                # a repetition would be refused as well
                raise
            except RecordBusy:
                if self.ending():
                    raise
                await asyncio.sleep(BUSY_PAUSE)
            except DataError:
                if self.over:
                    raise
                # If the call began during an outage that has ended since, it is repeated at once.
                overtaken = not self._faults and began < self._calm_since
                if not overtaken and not (self._faults and await self._pause()):
                    raise

    async def _pause(self) -> bool:
        """Wait until the next try is due. Return False if the crawl ends first."""
        while (left := self.wait) > 0:
            if self.ending():
                return False
            await asyncio.sleep(min(left, _LOOK))
        return True

    # --- telling
    def failed(self, place: str, call: str, error: DataError, *, began: float, for_good: bool) -> None:
        """Record a fault of a call that began at ``began``.

        ``for_good``: waiting does not help, because the data are damaged.
        """
        if self.over:
            return
        self.noted += 1
        fault = self._faults.get(place)
        if not self._faults and self.clock() - self._calm_since > LONGEST_PAUSE:
            self._tries = 0  # without this reset (soon after another outage), the pause doubles further
        if fault is None:
            self.count += 1
            fault = self._faults[place] = _Fault(str(error), call, began)
            if not for_good:
                more = "" if self.ending() else "; the crawl waits until the data are available again"
                logger.error("data away fault=%s%s", error, more)
        if for_good and not self._given_up:
            self._given_up = True
            logger.error("data permanently unavailable, the crawl ends fault=%s", error)
            self.give_up()
        fault.text, fault.call, fault.calm_since = str(error), call, None
        pause = min(FIRST_PAUSE * 2.0**self._tries, LONGEST_PAUSE)
        # 2 ** 10 seconds already exceed LONGEST_PAUSE; the limit keeps the power small in a long outage
        self._tries = min(self._tries + 1, 10)
        # The time is random, so that many workers do not call a returning server at the same time.
        self._next_try = self.clock() + pause * self._spread(0.5, 1.0)

    def succeeded(self, place: str, call: str, *, sure: bool = False) -> None:
        """Record that a call was answered. ``sure``: the answer proves that the place works again."""
        fault = self._faults.get(place)
        if fault is None:
            return
        now = self.clock()
        if fault.calm_since is None:
            fault.calm_since = now
        # A read does not prove that the place can write (see the module docstring).
        if sure or call == fault.call or now - fault.calm_since >= CALM:
            self._end(place)

    def close(self) -> None:
        """End the outages of places that have answered since their last fault. The crawl is over."""
        for place in [place for place, fault in self._faults.items() if fault.calm_since is not None]:
            self._end(place)

    def _end(self, place: str) -> None:
        fault = self._faults.pop(place)
        self._calm_since = self._ended[place] = self.clock()
        away = self._calm_since - fault.since
        if not self._given_up:
            logger.info("data back place=%s seconds=%.0f", place, away)


def guarded_storage(storage: Storage, outage: Outage) -> Storage:
    """Return a copy of ``storage`` whose repositories are all :class:`Guarded`, also those of apps."""

    def guarded(repository: Any) -> Any:
        name = f"storage.{type(repository).__name__}"
        return Guarded(repository, name, storage.place, outage, local=storage.is_local)

    twin = copy.copy(storage)
    for name in REPOSITORIES:
        setattr(twin, name, guarded(getattr(storage, name)))
    twin.repository = lambda classes: guarded(storage.repository(classes))  # type: ignore[method-assign]
    return twin


class Guarded:
    """A backend, or a repository of a backend, behind an :class:`Outage`.

    It has the methods of the backend. Before each call it checks whether the outage allows the call.
    ``place`` identifies the server or file. ``local``: the backend is a file on this machine. Damaged data
    end the crawl.
    """

    def __init__(self, backend: object, part: str, place: str, outage: Outage, *, local: bool) -> None:
        self._backend = backend
        self._part = part
        self._place = place
        self._outage = outage
        self._local = local

    def __getattr__(self, name: str) -> Any:
        member = getattr(self._backend, name)
        # Attributes such as ``place`` are returned directly. close() must work during an outage too.
        if name.startswith("_") or name == "close" or not callable(member):
            return member

        def guarded(*given: Any, **more: Any) -> Any:
            answer = self._call(name, member, *given, **more)
            return self._stream(name, answer) if isinstance(answer, Iterator) else answer

        self.__dict__[name] = guarded  # cached: the next access does not call __getattr__
        return guarded

    async def aside(self, name: str, *given: Any) -> Any:
        """Call the method ``name`` in a thread if the backend is a server, and return its result.

        The reactor is not blocked in the meantime. The backend must be thread-safe. Faults are recorded in
        the reactor's thread. If the backend is a file, the method is called directly.
        """
        with self._watched(name):
            work = getattr(self._backend, name)
            return work(*given) if self._local else await asyncio.to_thread(work, *given)

    def _call(self, name: str, work: Callable[..., Any], *given: Any, **more: Any) -> Any:
        with self._watched(name):
            if self._local:
                return work(*given, **more)
            return self._outage.calls.call(self._place, partial(work, *given, **more))

    @contextmanager
    def _watched(self, name: str) -> Iterator[None]:
        outage, call = self._outage, f"{self._part}.{name}"
        outage.ask(self._place)
        began, faults_before = outage.clock(), outage.noted
        # This is read before the call: during a call in a thread, another call may end the outage.
        prepared = outage.is_away(self._place) and self._place in outage.on_return
        try:
            if prepared:
                outage.on_return[self._place]()
            yield
        except (RecordRefused, RecordBusy):
            raise  # the place works; only this record cannot be read or written
        except DataError as error:
            for_good = isinstance(error, DataDamaged)
            # If another call has recorded a fault since this call began, both calls count as one attempt, and
            # the pause must not double twice.
            recorded = outage.noted != faults_before
            if not recorded and not outage.came_back(self._place, since=began):
                outage.failed(self._place, call, error, began=began, for_good=for_good)
            raise
        outage.succeeded(self._place, call, sure=prepared)

    def _stream(self, name: str, records: Iterator[Any]) -> Iterator[Any]:
        """Yield ``records``.

        Each step is guarded, because the iterator calls the backend. A step reads :data:`STEP` records from a
        server, and one record from a file. With one record per step, most steps would find their record in
        the driver's buffer, so the server would seem to be fast.
        """
        most = 1 if self._local else STEP
        while some := self._call(name, lambda: list(islice(records, most))):
            yield from some
