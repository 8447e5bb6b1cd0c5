"""Keeping the word index in order by hand: a Protocol of its own, which both storages have."""

from __future__ import annotations

from typing import Protocol


class Indexing(Protocol):
    """A process that stores articles does it in the background; see :mod:`newsbot.search.index`."""

    def waiting(self) -> int:
        """How many articles are not in the index yet; searches look through them one by one."""

    def index(self) -> bool:
        """Index all that waits, and merge, after whoever is at it.

        False if another process holds the index and nothing has changed for a minute and a half.
        """
