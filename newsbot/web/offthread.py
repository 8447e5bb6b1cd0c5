"""Storage and frontier belong to one thread: calls wait in line there, the server goes on."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import ParamSpec, TypeVar

_Given = ParamSpec("_Given")
_Answer = TypeVar("_Answer")


class OffThread:
    """One thread; :meth:`call` runs a function in it."""

    def __init__(self) -> None:
        self._executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix="data")

    async def call(
        self, work: Callable[_Given, _Answer], *given: _Given.args, **more: _Given.kwargs
    ) -> _Answer:
        """Return what ``work`` returns; raise what it raises."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._executor, partial(work, *given, **more))

    def close(self) -> None:
        """Wait for what was begun."""
        self._executor.shutdown(wait=True)
