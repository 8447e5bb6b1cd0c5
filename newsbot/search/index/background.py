"""The thread that maintains the index beside a process that stores articles."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager

from newsbot.errors import DataError, DataUnavailable
from newsbot.search.index.blocks import BlockStore
from newsbot.search.index.indexer import FOLD_AT, Indexer

logger = logging.getLogger(__name__)

_COUNT_EVERY = 64
"""After so many articles the waiting ones are counted: other processes store too."""
_AGAIN = 60.0
"""Seconds; then it looks again, also when nobody woke it: another process may have died at it."""
_AFTER_FAULT = 5.0
_QUIET = 60.0
"""Seconds for which nothing is said of a place that is away: another process writes, or a server restarts."""
_CLOSING = 30.0


class Background:
    """Starts a thread when there is something to do for it. ``opened`` gives it a store of its own."""

    def __init__(self, opened: Callable[[], AbstractContextManager[BlockStore]]) -> None:
        self._opened = opened
        self._stored = 0
        self._wake, self._stop = threading.Event(), threading.Event()
        self._thread: threading.Thread | None = None

    def stored(self, count_waiting: Callable[[int], int], articles: int = 1) -> None:
        """Take notice of more articles; ``count_waiting`` counts up to a number."""
        before, self._stored = self._stored, self._stored + articles
        look = before == 0 or self._stored // _COUNT_EVERY > before // _COUNT_EVERY
        if look and count_waiting(FOLD_AT) >= FOLD_AT:
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._run, name="newsbot-index", daemon=True)
                self._thread.start()
            self._wake.set()

    def close(self) -> None:
        """End the thread; what it was at is begun anew later."""
        self._stop.set()
        self._wake.set()
        if self._thread is not None:
            self._thread.join(_CLOSING)

    def _run(self) -> None:
        said, since = "", 0.0
        while not self._stop.is_set():
            self._wake.clear()
            try:
                with self._opened() as store:
                    indexer = Indexer(store)
                    while not self._stop.is_set():
                        indexer.run(lambda: not self._stop.is_set())
                        said, since = "", 0.0
                        self._wake.wait(_AGAIN)
                        self._wake.clear()
            except (DataError, LookupError, ValueError) as error:  # away, or a segment that cannot be read
                since = since or time.monotonic()
                passes = isinstance(error, DataUnavailable) and time.monotonic() - since < _QUIET
                if str(error) != said and not passes:
                    logger.warning("search index waits fault=%s; trying again", error)
                    said = str(error)
                self._stop.wait(_AFTER_FAULT)
