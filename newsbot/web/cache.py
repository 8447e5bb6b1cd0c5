"""Caches expensive figures: values of the dashboard, such as counts, that take long to compute.

Figures are computed in the background, and shown with the time of their computation.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from newsbot.clock import Clock, system_clock
from newsbot.errors import DataError, DataUnavailable
from newsbot.web.readers import Data, Readers

logger = logging.getLogger(__name__)

_Value = TypeVar("_Value")

PATIENCE = 120.0
"""Maximum time in seconds of one computation."""
LOOK = 2.0
"""Maximum time in seconds for which a page waits for a figure if the cache has no value or a very old
value."""
OLD = 6.0
"""A value is computed again at a certain age. At this multiple of that age it is very old."""


@dataclass(frozen=True, slots=True)
class Known(Generic[_Value]):
    """A value and the time at which it was computed, in POSIX seconds."""

    value: _Value
    at: float


class Memo(Generic[_Value]):
    """A cached figure. ``work`` computes it in a thread of ``readers``.

    If the figure is older than ``seconds``, a request for it starts a new computation. ``patience`` is the
    maximum time in seconds for which :meth:`get` waits. Only one computation runs at a time.
    """

    def __init__(
        self,
        readers: Readers,
        work: Callable[[Data], _Value],
        seconds: float,
        *,
        patience: float = LOOK,
        clock: Clock = system_clock,
    ) -> None:
        self._readers = readers
        self._work = work
        self._seconds = seconds
        self._patience = patience
        self._clock = clock
        self._known: Known[_Value] | None = None
        self._task: asyncio.Task[None] | None = None
        self._fault: DataError | None = None

    async def get(self) -> Known[_Value]:
        """Return the last known figure. Wait for a new figure only if none is known or if it is very old.

        Raises :class:`newsbot.errors.DataError` if no figure is known and none can be computed in time.
        """
        age = self._age()
        if age is None or age > self._seconds:
            task = self.refresh()
            if age is None or age > OLD * self._seconds:
                await asyncio.wait([task], timeout=self._patience)
            if self._known is None:
                self._complain(task)
        assert self._known is not None
        return self._known

    def refresh(self) -> asyncio.Task[None]:
        """Start to compute the figure, unless a computation is running already. Return the running task."""
        if self._task is None or self._task.done():
            self._task = asyncio.ensure_future(self._compute())
        return self._task

    def forget(self) -> None:
        """Delete the value, so that the next :meth:`get` waits for a fresh one.

        Call this after an action of a user, because the user expects to see its result.
        """
        self._known = None

    def _age(self) -> float | None:
        return None if self._known is None else self._clock() - self._known.at

    async def _compute(self) -> None:
        at = self._clock()  # the data are read after this moment
        try:
            value = await self._readers.call(self._work, seconds=PATIENCE)
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
        raise DataUnavailable("this is being computed for the first time; try again in a few seconds")

    async def close(self) -> None:
        """Cancel a running computation."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
