"""A cache of expensive figures. They are computed in the background and shown with their time."""

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
"""Seconds that one computation may take."""
LOOK = 2.0
"""Seconds for which a page waits for a fresh value if the last one is very old."""
OLD = 6.0
"""A value is very old at this multiple of the age at which it is computed again."""


@dataclass(frozen=True, slots=True)
class Known(Generic[_Value]):
    """A value and the time at which it was computed, in POSIX seconds."""

    value: _Value
    at: float


class Memo(Generic[_Value]):
    """One figure, computed by ``work`` in a thread of ``readers`` when it is older than ``seconds``."""

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
        """Return the last known figure; wait only if there is none or if it is very old.

        Raises :class:`newsbot.errors.DataError` if no figure is known and none can be computed.
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
        """Start to compute the figure again unless a computation is running; return its task."""
        if self._task is None or self._task.done():
            self._task = asyncio.ensure_future(self._compute())
        return self._task

    def forget(self) -> None:
        """Forget the value, so that the next :meth:`get` waits for a fresh one. For changes made by hand."""
        self._known = None

    def _age(self) -> float | None:
        return None if self._known is None else self._clock() - self._known.at

    async def _compute(self) -> None:
        at = self._clock()
        try:
            value = await self._readers.call(self._work, seconds=PATIENCE)
        except DataError as error:
            if str(error) != str(self._fault):  # log an outage once, not at each attempt
                logger.error("data away fault=%s", error)
            self._fault = error
        else:
            self._known, self._fault = Known(value, at), None

    def _complain(self, task: asyncio.Task[None]) -> None:
        if task.done():
            task.result()
            if self._fault is not None:
                raise self._fault
        raise DataUnavailable("this is being counted for the first time; look again in some seconds")

    async def close(self) -> None:
        """Cancel a running computation."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
