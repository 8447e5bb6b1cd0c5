"""Runs threads that read data for the dashboard, and caches figures that take long to compute.

Each thread has its own storage and frontier. The thread of the push receiver never waits for these threads.
Reads that take too long are cancelled. If too many reads are waiting, further reads are refused, so that the
page shows an error immediately. Figures such as counts are computed in the background (:class:`Memo`). Pages
show them with the time of their computation. Regular tasks run beside the requests (:func:`repeating`).
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, asynccontextmanager, closing, suppress
from dataclasses import dataclass, field
from typing import Generic, TypeVar, cast

from newsbot import backends
from newsbot.apps.search.articles import ArticleSearch, open_search
from newsbot.apps.search.usefulness import Uses
from newsbot.clock import Clock, system_clock
from newsbot.config.settings import SettingsLike, value_of
from newsbot.errors import DataError, DataUnavailable
from newsbot.frontier.base import Frontier
from newsbot.pages.rules import RuleSet
from newsbot.pages.rules.load import PresentRules
from newsbot.storage.base import Storage

logger = logging.getLogger(__name__)

_Answer = TypeVar("_Answer")

READ_TIMEOUT = 8.0
"""Maximum time in seconds of one read, including the time in the queue."""
MAX_WAITING = 32
"""Maximum number of reads that wait or run at the same time."""


@dataclass(slots=True)
class Data:
    """The data that handlers read."""

    storage: Storage
    frontier: Frontier
    search: ArticleSearch
    rules: RuleSet
    settings: SettingsLike
    uses: Uses
    clock: Clock = system_clock

    def close(self) -> None:
        """Close the connections."""
        self.search.close()
        self.frontier.close()
        self.storage.close()


class Readers:
    """A pool of ``threads`` threads for reads.

    The names of the threads begin with ``name``. The backends are chosen by ``settings``
    (:mod:`newsbot.backends`). Raises :class:`newsbot.errors.RulesError` for invalid rules.
    """

    def __init__(self, settings: SettingsLike, threads: int, name: str) -> None:
        self._rules = backends.present_rules(settings)
        self._rules.get()
        self.uses = Uses(on=value_of(settings, "NEWSBOT_POLL_USEFUL"))
        self._readers = [
            _Reader(settings, self._rules, self.uses, f"{name}{number}") for number in range(threads)
        ]

    def rules(self) -> RuleSet:
        """Return the present rules."""
        return self._rules.get()

    async def call(self, work: Callable[[Data], _Answer], *, seconds: float = READ_TIMEOUT) -> _Answer:
        """Run ``work`` in the thread with the shortest queue and return its result.

        Raises :class:`newsbot.errors.DataUnavailable` if too many reads are waiting, or if ``work`` does not
        return within ``seconds``. A read that takes too long is cancelled. Exceptions of ``work`` are raised
        here too.
        """
        if sum(reader.waiting for reader in self._readers) >= MAX_WAITING:
            raise DataUnavailable("too many requests at once; try again in a moment")
        job = _Job(work)
        future = min(self._readers, key=lambda reader: reader.waiting).begin(job)
        # A running thread cannot be cancelled, so the future is shielded. give_up() interrupts the query
        # instead.
        try:
            return cast("_Answer", await asyncio.wait_for(asyncio.shield(future), seconds))
        except TimeoutError:
            job.give_up()
            raise DataUnavailable(
                f"the request takes longer than {seconds:.0f} s; ask for less (one site, fewer days)"
            ) from None

    def close(self) -> None:
        """Cancel running reads and close all connections."""
        for reader in self._readers:
            reader.close()


class _Reader:
    """One thread with its storage and frontier, which are opened at the first use."""

    def __init__(self, settings: SettingsLike, rules: PresentRules, uses: Uses, name: str) -> None:
        self._settings, self._uses = settings, uses
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
            # If the caller has stopped waiting, asyncio would log an exception that was never retrieved.
            future.exception()

    def _run(self, job: _Job) -> object:
        if job.given_up:  # cancelled while it waited in the queue
            return None
        if self._data is None:  # opened in this thread, to which SQLite connections are bound
            self._data = self._open()
        self._data.rules = self._rules.get()  # the rule files can have changed since the last read
        job.data, self._job = self._data, job
        try:
            return job.work(self._data)
        finally:
            job.data = self._job = None

    def _open(self) -> Data:
        with ExitStack() as stack:
            storage = stack.enter_context(
                closing(backends.open_storage(self._settings, hurried=True, stale=True))
            )
            frontier = stack.enter_context(closing(backends.open_frontier(self._settings)))
            search = open_search(self._settings, storage, self._rules)
            stack.pop_all()  # all are open now, and Data.close() closes them later
        return Data(storage, frontier, search, self._rules.get(), self._settings, self._uses)

    def close(self) -> None:
        job = self._job
        if job is not None:
            job.give_up()
        # Only the thread that opened a connection of SQLite may close it.
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
        """Cancel the read.

        A read of SQLite is interrupted. Reads of Redis and MongoDB end at their own time limits.
        """
        # If the job is still in the queue, _run() skips it because of this flag.
        self.given_up = True
        if self.data is not None:
            self.data.storage.interrupt()
            self.data.search.interrupt()


_Value = TypeVar("_Value")

COMPUTING = 120.0
"""Maximum time in seconds of one computation."""
LOOK = 2.0
"""Maximum time in seconds for which a page waits for a figure if the cache has no value or an old value."""
SOON = 0.1
"""The same for pages that are shown at once and say that figures are being computed."""
_FIRST = "the figure is being computed for the first time; try again in a few seconds"
OLD = 6.0
"""A cached value is old if its age is more than the ``seconds`` of its :class:`Memo` times this factor."""


class StillComputing(DataUnavailable):
    """Raised if a figure is being computed for the first time."""


@dataclass(frozen=True, slots=True)
class Known(Generic[_Value]):
    """A value and the time at which it was computed, in POSIX seconds."""

    value: _Value
    at: float


@dataclass(slots=True)
class Memo(Generic[_Value]):
    """A cached figure. ``work`` computes it in a thread of ``readers``.

    If the figure is older than ``seconds``, a request for it starts a new computation. ``patience`` is the
    maximum time in seconds for which :meth:`get` waits. Only one computation runs at a time.
    """

    readers: Readers
    work: Callable[[Data], _Value]
    seconds: float
    patience: float = field(default=LOOK, kw_only=True)
    clock: Clock = field(default=system_clock, kw_only=True)
    _known: Known[_Value] | None = field(default=None, init=False)
    _task: asyncio.Task[None] | None = field(default=None, init=False)
    _fault: DataError | None = field(default=None, init=False)
    _forgotten: int = field(default=0, init=False)
    """Number of calls of :meth:`forget`."""

    async def get(self, patience: float | None = None) -> Known[_Value]:
        """Return the last known figure.

        Wait for a new figure only if no figure is known or the last one is old; ``patience`` replaces the
        patience of the object. Raises :class:`StillComputing`, and
        :class:`newsbot.errors.DataError` if no figure is known and the computation fails or takes too long.
        """
        age = self._age()
        if age is None or age > self.seconds:
            task = self.refresh()
            # A figure that is not old yet is returned at once, and the next request gets the new one.
            if age is None or age > OLD * self.seconds:
                await asyncio.wait([task], timeout=self.patience if patience is None else patience)
            if self._known is None:
                self._complain(task)
        # Another request may have called forget() during the wait.
        if self._known is None:
            raise StillComputing(_FIRST)
        return self._known

    def refresh(self) -> asyncio.Task[None]:
        """Start to compute the figure, unless a computation is running already. Return the running task."""
        if self._task is None or self._task.done():
            self._task = asyncio.ensure_future(self._compute())
        return self._task

    def forget(self) -> None:
        """Delete the value, so that the next :meth:`get` waits for a new value.

        Call this method after an action of a user, because the user expects to see the result.
        """
        self._known = None
        self._forgotten += 1

    def _age(self) -> float | None:
        return None if self._known is None else self.clock() - self._known.at

    async def _compute(self) -> None:
        try:
            while True:
                at, forgotten = self.clock(), self._forgotten  # the data are read after this moment
                value = await self.readers.call(self.work, seconds=COMPUTING)
                if forgotten == self._forgotten:  # otherwise the data have changed during the computation
                    break
        except DataError as error:
            if str(error) != str(self._fault):  # log the same error once, not at each attempt
                logger.error("data away fault=%s", error)
            self._fault = error
        else:
            self._known, self._fault = Known(value, at), None

    def _complain(self, task: asyncio.Task[None]) -> None:
        """Raise the error of the computation, or an error that asks the user to try again."""
        if task.done():
            task.result()
            if self._fault is not None:
                raise self._fault
        raise StillComputing(_FIRST)

    async def close(self) -> None:
        """Cancel a running computation."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)


_SPREAD = random.Random()  # noqa: S311  (varies intervals, keeps no secret)


async def repeat(seconds: float, work: Callable[[], Awaitable[object]]) -> None:
    """Run ``work`` repeatedly, with pauses of about ``seconds``, until the task is cancelled.

    An error does not end the loop.
    """
    last_error = ""
    while True:
        try:
            await work()
            last_error = ""
        except Exception as error:
            if repr(error) != last_error:  # log the same error once, not in each round
                if isinstance(error, DataError):
                    logger.error("data away fault=%s", error)
                else:
                    logger.error("a regular task failed; it is tried again", exc_info=error)
            last_error = repr(error)
        # The interval varies by 10 %, so that several servers do not access the data at the same moments.
        await asyncio.sleep(seconds * (0.9 + 0.2 * _SPREAD.random()))


@asynccontextmanager
async def repeating(seconds: float, work: Callable[[], Awaitable[object]]) -> AsyncIterator[None]:
    """Run :func:`repeat` until the block ends."""
    task = asyncio.ensure_future(repeat(seconds, work))
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
