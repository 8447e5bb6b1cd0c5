"""Calls the backends: without blocking the event loop, during outages, and for several pages at once.

**Sections.** Most code of a crawl is synchronous, and calls MongoDB and Redis. Such code runs in *sections*.
A section is a greenlet (https://greenlet.readthedocs.io). If a section calls a slow server, the call runs in
a thread, and the section is suspended until the answer comes. The event loop is free in the meantime.
(SQLAlchemy's asyncio extension works in the same way.)

Only one section of a crawl runs at a time. The other sections wait while it is suspended. The state of the
crawl therefore does not change while a section waits for a server.

A server that answers within a few milliseconds is called directly, because the switch to a thread would take
longer than the answer. The first call of each server runs in a thread. If a fast server becomes slow, its
first slow call blocks the event loop.

**Outages** (server down, slow, full, read-only; file locked). Every call to the frontier, the index and each
repository of the storage goes through :class:`Guarded`. A *place* is one server or one file. The first fault
of a place begins an outage, which is logged once. Until the next try is due, every further call to this place
fails immediately, and nothing is sent. Then one call is sent. If it fails too, the pause doubles. (This is
the pattern "circuit breaker".)

An outage ends, and its end is logged, when one of these calls succeeds:

* the same call as the one that failed
* the function of the place in :attr:`Outage.on_return`, which writes
* any call after :data:`CALM` seconds without a fault

A single successful read is not enough, because a full server still answers reads. A call in a thread may
begin before the end of an outage and fail after the end. This call does not begin a new outage; it is
repeated.

A record that another worker holds (:class:`newsbot.errors.RecordBusy`) is not an outage. The caller waits
until the record is free.

**Groups.** Each command to a server costs CPU time of the worker and of the server, and the commit takes most
of the time of a transaction. Pages that arrive within 200 ms are therefore processed together: their texts
are looked up with one query, they are stored in one transaction, and their page records are written together
(:mod:`newsbot.crawl.completion`). A page waits only if other pages are being processed.

:class:`ReadAhead` reads the records of all leased pages with one query, when the first of them is needed.
"""

from __future__ import annotations

import asyncio
import contextvars
import copy
import logging
import math
import random
import sys
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import accumulate, islice
from typing import Any, Generic, ParamSpec, TypeVar, cast

from greenlet import getcurrent, greenlet

from newsbot.clock import Clock
from newsbot.errors import DataDamaged, DataError, DataUnavailable, RecordBusy, RecordRefused
from newsbot.items import Article, Bounded
from newsbot.storage.articles import SiteText, Stored
from newsbot.storage.base import REPOSITORIES, Storage

logger = logging.getLogger(__name__)

FAST = 0.01
"""A server is called directly if its calls take at most this number of seconds on average."""
PROBE = 0.05
"""The next call is made directly if each of the last :data:`ENOUGH` calls in threads took at most this number
of seconds.

A call in a thread seems slower than it is, because the thread waits for Python's global lock.
"""
ENOUGH = 40
"""Number of quick calls in a row. It is large, because some calls have nothing to write and therefore send
nothing."""
PROBE_EVERY = 1.0
"""Minimum number of seconds between two direct calls of a slow server."""
WEIGHT = 1 / 8
"""Weight of the last direct call in the mean duration."""
_Given = ParamSpec("_Given")
_Answer = TypeVar("_Answer")


class Latency:
    """Durations of the calls of one server, in seconds."""

    def __init__(self) -> None:
        self._direct = math.inf
        """Mean duration of direct calls; infinite before the first direct call, and after a failed call."""
        self._quick = 0
        """Number of calls in threads since the last one that took longer than :data:`PROBE`."""
        self._probed = 0.0
        """Time of the last direct call."""

    def allows_direct_call(self) -> bool:
        """Return True if the next call may block the event loop."""
        if self._direct <= FAST:
            return True
        # A slow server is measured again if it seems nearly fast, at most once per second.
        return self._quick >= ENOUGH and time.monotonic() - self._probed >= PROBE_EVERY

    def took(self, seconds: float, *, direct: bool) -> None:
        """Record the duration of a call."""
        if not direct:
            self._quick = self._quick + 1 if seconds <= PROBE else 0
            return
        self._probed = time.monotonic()
        if self._direct > FAST:  # one fast direct call is enough to call the server directly again
            self._direct = seconds
            return
        self._direct += (seconds - self._direct) * WEIGHT
        if self._direct > FAST:
            self._quick = 0

    def failed(self) -> None:
        """Record that a call failed. The next calls run in threads."""
        self._direct, self._quick = math.inf, 0


class _Section(greenlet):
    """A section that runs ``work``."""

    def __init__(self, work: Callable[[], Any]) -> None:
        super().__init__(work)
        # A greenlet would otherwise begin with an empty context, without the context variables of its caller.
        self.gr_context = contextvars.copy_context()


class ServerCalls:
    """The sections of one crawl."""

    def __init__(self) -> None:
        self._suspended: asyncio.Future[None] | None = None
        """Done when the suspended section has ended; None if no section is suspended."""
        self._started: dict[Callable[[], None], asyncio.Task[None]] = {}
        self._latency: defaultdict[str, Latency] = defaultdict(Latency)
        self._threads = ThreadPoolExecutor(4, thread_name_prefix="newsbot-servers")

    @property
    def in_section(self) -> bool:
        """True if the caller runs in a section."""
        return isinstance(getcurrent(), _Section)

    def call(self, place: str, work: Callable[[], _Answer]) -> _Answer:
        """Call the server ``place`` and return the result of ``work``. Errors of ``work`` are raised.

        The call runs in a thread if it is made in a section and the server is slow. Outside of a section it
        blocks the event loop.
        """
        latency = self._latency[place]
        aside = self.in_section and not latency.allows_direct_call()
        began = time.monotonic()
        try:
            answer = self.aside(work) if aside else work()
        except DataError:
            latency.failed()
            raise
        latency.took(time.monotonic() - began, direct=not aside)
        return answer

    def aside(self, work: Callable[[], _Answer], *, local: bool = False) -> _Answer:
        """Return the result of ``work``, which runs in a thread if the caller is in a section.

        ``local``: ``work`` is called directly, because SQLite allows only the thread that has opened a file
        to use it.
        """
        section = getcurrent()
        # switch() suspends the section and passes ``work`` to _finish(), which runs it in a thread. Then
        # switch() returns the answer, or raises the error of the call.
        threaded = isinstance(section, _Section) and not local
        answer: _Answer = section.parent.switch(work) if threaded else work()
        return answer

    @property
    def busy(self) -> bool:
        """True while a section is suspended or waits for another section."""
        return self._suspended is not None or bool(self._started)

    async def run(
        self, work: Callable[_Given, _Answer], *given: _Given.args, **more: _Given.kwargs
    ) -> _Answer:
        """Run ``work`` in a section and return its result."""
        while self._suspended is not None:
            # This is a loop, because another waiting section may begin first and be suspended.
            await asyncio.wait([self._suspended])
        section = _Section(partial(work, *given, **more))
        asked = _resume(section)
        answer: _Answer = asked if section.dead else await self._finish(section, asked)
        return answer

    def start(self, work: Callable[[], None], then: Callable[[], None] = lambda: None) -> bool:
        """Run ``work`` in a section, at once if possible. Return True if the work has ended.

        If the work ends later, ``then`` is called at its end, and its errors are logged. Nothing is done if
        the same work was started before and has not ended.
        """
        if work in self._started:
            return False
        if self._suspended is not None:
            # run() waits until the suspended section has ended.
            task = asyncio.ensure_future(self.run(work))
        else:
            section = _Section(work)
            asked = _resume(section)
            if section.dead:
                return True
            # No other section may begin before the task does.
            self._suspended = asyncio.get_running_loop().create_future()
            task = asyncio.ensure_future(self._finish(section, asked))
        self._started[work] = task

        def ended(task: asyncio.Task[None]) -> None:
            del self._started[work]
            if not task.cancelled() and (error := task.exception()) is not None:
                logger.error("work failed", exc_info=error)
            then()

        task.add_done_callback(ended)
        return False

    async def finish(self, work: Callable[_Given, None], *given: _Given.args, **more: _Given.kwargs) -> None:
        """Run ``work`` in a section when no other section is suspended or waits."""
        while self.busy:
            await asyncio.wait([*self._started.values(), *filter(None, [self._suspended])])
            # The callbacks of finished tasks run first; they may start further work.
            await asyncio.sleep(0)
        await self.run(work, *given, **more)

    async def _finish(self, section: _Section, asked: Any) -> Any:
        """Run the calls of a suspended section in threads until the section ends. Return its result."""
        loop = asyncio.get_running_loop()
        # start() has made the future already, because a task begins only in the next turn of the event loop.
        done = self._suspended = self._suspended or loop.create_future()
        try:
            while not section.dead:
                try:
                    answer = await loop.run_in_executor(self._threads, asked)
                except BaseException:  # noqa: BLE001  (raised again inside of the section)
                    asked = _resume(section, *sys.exc_info())
                else:
                    asked = _resume(section, answer)
        finally:
            self._suspended = None
            done.set_result(None)
        return asked


def _resume(section: _Section, *given: Any) -> Any:
    """Continue a section. Return its result, or the function that it wants to call next in a thread.

    ``given`` is the answer of the last call, or the three values of ``sys.exc_info()``.
    """
    # switch() in the section returns to its parent. The present caller may be another task than the last
    # caller.
    section.parent = getcurrent()
    return section.throw(*given) if len(given) > 1 else section.switch(*given)


# --- availability
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
        """Call ``work`` in a section until it succeeds.

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


# --- calls for several pages
LARGEST = 32
"""Maximum number of items in a group."""
HEAVIEST = 2_000_000
"""Maximum number of characters of text in a group of several articles.

A group of the longest possible texts would exceed the time limit of a call to the server.
"""
LONGEST = 0.2
"""Maximum number of seconds that an item waits for further items.

Reading a page takes some 20 ms, so about ten pages share a group.
"""
LOOK_EVERY = 0.01
"""Seconds between two checks whether further items are about to come."""
TURN = 0.001
"""Seconds within which the items of one group arrive at the next step."""
_Item = TypeVar("_Item")


class Together(Generic[_Item, _Answer]):
    """Processes items in groups. ``work`` returns an answer for each item of a group.

    While a group is being answered, the items that arrive form the next group. The first item of a group
    waits for other items only while ``more`` returns True, and at most :data:`LONGEST` seconds. ``weight``
    returns the number of characters of an item. The items of a group have at most :data:`HEAVIEST` characters
    together.
    """

    def __init__(
        self,
        work: Callable[[list[_Item]], Awaitable[Sequence[_Answer]]],
        more: Callable[[], bool] = lambda: False,
        weight: Callable[[_Item], int] = lambda _: 0,
    ) -> None:
        self._work, self._more, self._weight = work, more, weight
        self._waiting: list[tuple[_Item, asyncio.Future[_Answer]]] = []
        self._task: asyncio.Task[None] | None = None

    async def __call__(self, item: _Item) -> _Answer:
        """Return the answer for an item. If the server fails, each item of the group raises the error."""
        answer: asyncio.Future[_Answer] = asyncio.get_running_loop().create_future()
        self._waiting.append((item, answer))
        # One task answers all groups one after the other. Items that come during a call form the next group.
        if self._task is None:
            self._task = asyncio.create_task(self._answer_all())
        return await answer

    async def _answer_all(self) -> None:
        group: list[tuple[_Item, asyncio.Future[_Answer]]] = []
        try:
            while self._waiting:
                await self._gather()
                weights = accumulate(self._weight(item) for item, _ in self._waiting[:LARGEST])
                # ``weights`` are running totals. The number of totals up to HEAVIEST is the number of items
                # that fit into the group. The first item is always taken.
                number = max(1, sum(weight <= HEAVIEST for weight in weights))
                group, self._waiting = self._waiting[:number], self._waiting[number:]
                await self._answer(group)
        except BaseException as error:  # a fault of this class or of its functions, or the end of the program
            left, self._waiting = [*group, *self._waiting], []
            for _, answer in left:
                if not answer.done() and isinstance(error, Exception):
                    answer.set_exception(error)
                answer.cancel()  # does nothing if it is done
            if not isinstance(error, Exception):
                raise
        finally:
            self._task = None

    async def _gather(self) -> None:
        until = time.monotonic() + LONGEST
        await asyncio.sleep(TURN)  # the articles of the previous group arrive one after the other
        while (  # noqa: ASYNC110 - no event reports that no more items come
            self._more() and len(self._waiting) < LARGEST and time.monotonic() < until
        ):
            await asyncio.sleep(LOOK_EVERY)

    async def _answer(self, group: list[tuple[_Item, asyncio.Future[_Answer]]]) -> None:
        try:
            found = await self._work([item for item, _ in group])
        except Exception as error:  # noqa: BLE001 - each item gets the error
            # One item may have caused an error of these types, so each item is tried alone.
            of_one = isinstance(error, RecordRefused | RecordBusy) or not isinstance(error, DataError)
            if of_one and len(group) > 1:
                for one in group:
                    await self._answer([one])
                return
            for _, answer in group:
                if not answer.done():  # its task may have been cancelled
                    answer.set_exception(error)
        else:
            for (_, answer), result in zip(group, found, strict=True):
                if not answer.done():
                    answer.set_result(result)


class GroupCalls:
    """The calls of one crawl's pipelines to the storage. All raise :class:`newsbot.errors.DataError`."""

    def __init__(
        self, storage: Storage, outage: Outage, timed: Callable[[str], AbstractContextManager[None]]
    ) -> None:
        self._storage, self._timed, run = storage, timed, outage.calls.run
        self._articles = cast("Guarded", storage.articles)
        self.reading = 0
        """Number of pages that are being read or wait to be read. Their articles may come soon."""
        self.deciding = 0
        """Number of articles whose stories are being searched for. They will be stored soon."""
        self.owner = Together[SiteText, str | None](
            lambda group: run(self._owners, group), more=lambda: self.reading > 0
        )
        """Takes a text of a site, and returns the URL of the article that has this text, or None.

        This is the first call for an article, so the article waits here for pages that are being read.
        """
        self.articles = Together[Sequence[str], Mapping[str, Article]](
            lambda group: run(self._get_many, group)
        )
        """Takes URLs, and returns the stored articles by URL."""
        self.stories = Together[Collection[str], Mapping[str, str]](lambda group: run(self._current, group))
        """Takes ids of stories.

        For each story that was joined to another one, returns the id of the current story.
        """
        self._store_new = Together[tuple[Article, Sequence[str]], Stored | None](
            lambda group: self._write("store_new", *map(list, zip(*group, strict=True))),
            more=lambda: self.deciding > 0,
            weight=lambda item: len(item[0].text),
        )

    async def store(self, article: Article, over: str | None = None, peers: Sequence[str] = ()) -> Stored:
        """Store an article; see :meth:`newsbot.storage.articles.Articles.store`.

        An article is stored alone if it may not be new, or if there was a conflict in its group. Other
        articles do not wait for it. If the storage is a server, other pages are processed during the call.
        """
        # if ``over`` is given, the article's URL is already stored
        new = await self._store_new((article, peers)) if over is None else None
        return new or cast("Stored", await self._write("store", article, over, peers))

    async def _write(self, name: str, *given: Any) -> Any:
        with self._timed("store"):  # only the call, not the wait for other articles
            return await self._articles.aside(name, *given)

    def _owners(self, group: list[SiteText]) -> list[str | None]:
        owners = self._storage.texts.owners(group)
        return [owners.get(one) for one in group]

    def _get_many(self, group: list[Sequence[str]]) -> list[Mapping[str, Article]]:
        return [self._storage.articles.get_many(list({url for one in group for url in one}))] * len(group)

    def _current(self, group: list[Collection[str]]) -> list[Mapping[str, str]]:
        return [self._storage.stories.current({story for one in group for story in one})] * len(group)


# --- reading ahead
# A worker holds about 32 leases. If each visit read its own record, each page would need
# one query.
#
# Only the worker that holds the lease of a page writes the results of a visit. But a record that was read can
# be outdated if another page names the same article. The records are therefore used only to avoid queries.
# The storage decides what is stored, because its keys are unique. If another article has been stored under
# the URL, the storage refuses the write (:class:`newsbot.storage.articles.Verdict`), and the caller reads
# again.

MAX_READ = 1000
"""Maximum number of keys whose results are kept."""
_Known = TypeVar("_Known")


class ReadAhead(Generic[_Known]):
    """Keeps results of ``read``, a function that returns what the storage has under a list of keys."""

    def __init__(self, read: Callable[[list[bytes]], Mapping[bytes, _Known]]) -> None:
        self._read = read
        self._expected: dict[bytes, None] = {}
        self._known = Bounded[bytes, _Known | None](MAX_READ)

    def expect(self, key: bytes) -> None:
        """Announce a key. The next :meth:`get` reads all announced keys together."""
        self._known.pop(key, None)
        self._expected[key] = None

    def get(self, key: bytes) -> _Known | None:
        """Return what the storage has under a key; None if it has nothing.

        Raises :class:`newsbot.errors.DataError`.
        """
        if key in self._known:
            return self._known[key]
        keys = list(self._expected) if key in self._expected else [key]
        found = self._read(keys)
        for each in keys:
            self._known[each] = found.get(each)
            self._expected.pop(each, None)
        return found.get(key)  # not from _known, which has dropped keys if there are more than MAX_READ

    def forget(self, key: bytes) -> None:
        """Forget a key, so that the next :meth:`get` reads it anew."""
        self._expected.pop(key, None)
        self._known.pop(key, None)
