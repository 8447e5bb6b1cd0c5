"""Keeps the search index up to date: reads the changes of the storage and writes them to the index.

Each search first updates the index for a short time. ``scrapy serve`` updates it continuously. Only one
process writes at a time, while it holds a lock on a file beside the index. The operating system releases the
lock when the process ends, even if the process is killed.
"""

from __future__ import annotations

import fcntl
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from itertools import accumulate
from pathlib import Path
from typing import Protocol

from newsbot.apps.followers.following import Follower
from newsbot.apps.search.index import Generation, SearchIndex
from newsbot.apps.search.query import NO_LABELS, Labels
from newsbot.items import Article, ArticleFilter
from newsbot.storage.articles import Changes

AT_ONCE = 500
"""Maximum number of changes that are read and written in one batch."""
IN_BULK = 4
"""Number of batches that are written together if there is no time limit. Each batch writes most pages of the
file, because most stems are in it."""
_LOOK = 0.02
"""Seconds between two checks whether another process is still updating the index."""
Tell = Callable[[int], None]
"""A function that is called with the number of articles written so far."""


class Library(Protocol):
    """The part of :class:`newsbot.storage.articles.Articles` that searches use."""

    def with_keys(self, keys: Sequence[bytes]) -> dict[bytes, Article]:
        """Return articles by key. Unknown keys are left out."""

    def newest(self, where: ArticleFilter | None = None, *, limit: int) -> list[Article]:
        """Return the newest articles that match."""

    def iter(self, where: ArticleFilter | None = None) -> Iterator[Article]:
        """Stream the articles that match."""

    def count(self, where: ArticleFilter | None = None) -> int:
        """Return the number of matching articles."""

    def changes_after(self, cursor: str) -> int:
        """Return approximately how many changes come after a cursor."""

    def changes_since(self, cursor: str = "", limit: int = AT_ONCE) -> Changes:
        """Return at most ``limit`` changes since a cursor. An empty cursor is before the first change."""


class IndexFollower(Follower):
    """Writes changes to one index (:class:`newsbot.apps.followers.following.Follower`)."""

    def __init__(self, path: Path, labels: Labels = NO_LABELS) -> None:
        """``path`` is the file of the index."""
        self._path, self._labels = path, labels
        self._lock = path.with_suffix(".lock")

    @cached_property
    def _index(self) -> SearchIndex:
        """The index. SQLite allows only the thread that opens a file to use it."""
        return SearchIndex(self._path, self._labels)

    def position(self) -> str:
        """Return the position of the index that is being built, or of the only one.

        An index with other labels is rebuilt from the first change.
        """
        target = self._index.generations()[-1]
        return "" if self._is_outdated(target) else target.cursor

    def take(self, changes: Changes) -> None:
        """Write changes to the index, unless another process is updating it."""
        with _locked(self._lock) as mine:
            if mine:
                for _ in self._write(self._index.generations()[-1], changes):
                    pass

    def close(self) -> None:
        """Close the index."""
        if "_index" in vars(self):
            self._index.close()

    def _is_outdated(self, target: Generation) -> bool:
        return target.labels != self._labels.version()

    def _write(self, target: Generation, changes: Changes) -> Iterator[int]:
        """Write one batch to a generation. Yield the number of changes, and 0 after each step of merging."""
        # the index is of another storage, or was made with other labels
        if (changes.restarted and target.cursor) or self._is_outdated(target):
            self._index.keep_active()
            self._index.begin()
            return
        # the cursor can move without a change, for example from empty to the beginning of the numbering
        if changes.found or changes.cursor != target.cursor:
            found = [(one.fingerprint, one.article) for one in changes.found]
            # If another process has written in the meantime, the cursor is read again.
            if not self._index.take(target, found, changes.cursor):
                return
            while self._index.merge(target.number):
                yield 0  # the caller can stop between two steps of merging
        yield len(changes.found)
        if len(changes.found) < AT_ONCE and not target.active:
            self._index.activate(target.number)


class Updater(IndexFollower):
    """Writes the changes of one storage to one index. An index of another storage is rebuilt."""

    def __init__(self, index: SearchIndex, source: Library) -> None:
        super().__init__(index.path, index.labels)
        self._index = index
        self._source = source

    def follow(self, seconds: float | None = None, tell: Tell = lambda _number: None) -> bool:
        """Write changes to the index for at most ``seconds`` (None: until all are written).

        Return True if the index is complete. ``tell`` is called after each batch. If another process is
        updating the index, wait for it. With a time limit, do not wait for a process that rebuilds the index,
        because this can take many minutes.
        """
        give_up = None if seconds is None else time.monotonic() + seconds
        while True:
            with _locked(self._lock) as mine:
                if mine:
                    for written in accumulate(self._steps(in_bulk=give_up is None)):
                        tell(written)
                        if _over(give_up):
                            return self.is_current()
                    return True
            if self.is_current():
                return True
            if _over(give_up) or (give_up is not None and self._is_remade()):
                return False
            time.sleep(_LOOK)

    def remake(self, tell: Tell = lambda _number: None) -> bool:
        """Rebuild the index. Searches use the old index until the new one is complete.

        Return False if nothing was done because another process is updating the index.
        """
        with _locked(self._lock) as mine:
            if mine:
                self._index.keep_active()
                self._index.begin()
                for written in accumulate(self._steps(in_bulk=True)):
                    tell(written)
        return mine

    def change(self, work: Callable[[], None]) -> bool:
        """Call ``work``, which changes files of the index. Return False if another process is writing."""
        with _locked(self._lock) as mine:
            if mine:
                work()
        return mine

    def is_current(self) -> bool:
        """Return True if the active index has all changes of the storage."""
        known = self._index.generations()
        if len(known) != 1 or self._is_outdated(known[0]):  # the index is being rebuilt, or has to be
            return False
        changes = self._source.changes_since(known[0].cursor, 1)
        # If the numbering was restarted, the storage was replaced. An index with an empty cursor is new and
        # not outdated.
        return not changes.found and not (changes.restarted and known[0].cursor)

    def waiting(self) -> int:
        """Return approximately how many changes the active index does not have yet."""
        if self.is_current():
            return 0
        # The index of another storage must be rebuilt, even if that storage has no articles.
        return max(1, self._source.changes_after(self._index.generations()[0].cursor))

    def _is_remade(self) -> bool:
        return len(self._index.generations()) > 1

    def _steps(self, *, in_bulk: bool) -> Iterator[int]:
        """Write batches until the index is complete. Yield the number of changes in each batch."""
        at_once = AT_ONCE * IN_BULK if in_bulk else AT_ONCE
        if in_bulk:
            self._index.use_memory()
        while True:
            target = self._index.generations()[-1]  # the generation being built, or the only one
            changes = self._source.changes_since(target.cursor, at_once)
            yield from self._write(target, changes)
            outdated = (changes.restarted and target.cursor) or self._is_outdated(target)
            if target.active and not changes.found and not outdated:
                return


def _over(moment: float | None) -> bool:
    return moment is not None and time.monotonic() >= moment


@contextmanager
def _locked(path: Path) -> Iterator[bool]:
    """Try to take the lock. Yield True if this process holds it within the block."""
    # "a" creates the file and does not change it. The lock applies to the open file, so the content of the
    # file does not matter.
    with path.open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True
