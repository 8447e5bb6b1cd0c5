"""Calls servers from synchronous code without blocking the event loop.

Most code of a crawl is synchronous, and calls MongoDB and Redis. Such code runs in *sections*. A section is a
greenlet (https://greenlet.readthedocs.io). If a section calls a slow server, the call runs in a thread, and
the section is suspended until the answer comes. The event loop is free in the meantime. (SQLAlchemy's asyncio
extension works in the same way.)

Only one section of a crawl runs at a time. The other sections wait while it is suspended. The state of the
crawl therefore does not change while a section waits for a server.

A server that answers within a few milliseconds is called directly, because the switch to a thread would take
longer than the answer. The first call of each server runs in a thread. If a fast server becomes slow, its
first slow call blocks the event loop.
"""

from __future__ import annotations

import asyncio
import contextvars
import logging
import math
import sys
import time
from collections import defaultdict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, ParamSpec, TypeVar

from greenlet import getcurrent, greenlet

from newsbot.errors import DataError

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
