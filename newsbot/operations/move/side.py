"""One of the two ends of a move."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import islice
from typing import Protocol, cast

from newsbot import backends
from newsbot.config.check import SettingsLike
from newsbot.dedup.index import NearIndex
from newsbot.errors import DataError
from newsbot.frontier.base import Frontier, FrontierTransfer
from newsbot.frontier.owners import dead_owners
from newsbot.storage.base import Storage


class WholeFrontier(Frontier, FrontierTransfer, Protocol):
    """A frontier that can be copied whole: all of ours."""


@dataclass(slots=True)
class Side:
    """The backends of one end; None: this role is not moved."""

    storage: Storage | None = None
    frontier: WholeFrontier | None = None
    index: NearIndex | None = None
    _opened: ExitStack = field(default_factory=ExitStack)

    @classmethod
    def open(cls, settings: SettingsLike, *, storage: bool = True, frontier: bool = True) -> Side:
        """Open what the settings name. Raises :class:`newsbot.errors.DataError`."""
        side = cls()
        with ExitStack() as opened:
            if storage:
                side.storage = backends.open_storage(settings)
                opened.callback(side.storage.close)
            if frontier:
                side.frontier = cast("WholeFrontier", backends.open_frontier(settings))
                opened.callback(side.frontier.close)
                side.index = backends.open_index(settings)
                opened.callback(side.index.close)
            side._opened = opened.pop_all()
        return side

    def close(self) -> None:
        """Close the backends."""
        self._opened.close()

    def check_idle(self) -> None:
        """Raise :class:`DataError` while a crawl works on this side."""
        if self.frontier is not None:
            check_idle(self.frontier)

    def totals(self) -> dict[str, int]:
        """About how many there are of each kind, by the names under which they are reported."""
        found: dict[str, int] = {}
        if self.storage is not None:
            found = self.storage.dump.count()
            found |= {f"check {kind} {where}": n for kind, n in found.items() for where in ("here", "there")}
            found["check queue"] = found["pages"]
        if self.frontier is not None:
            counts = self.frontier.counts()
            found["hosts"] = counts.pop("hosts")
            found["queue"] = sum(counts.values())
        return found

    def holds_something(self) -> bool:
        """Return True if there is anything on this side."""
        storage, frontier = self.storage, self.frontier
        if storage is not None and any(islice(storage.pages.iter(), 1)):
            return True
        if storage is not None and (storage.articles.count() or storage.sources.all()):
            return True
        return frontier is not None and any(frontier.counts().values())


def check_idle(frontier: FrontierTransfer) -> None:
    """Raise :class:`DataError` while a crawl works on this queue."""
    owners = frontier.at_work()
    working = set(owners) - set(dead_owners(owners))
    if working:
        raise DataError(
            f"a crawl is at work here or there ({', '.join(sorted(working))}); stop it first; if it "
            "was killed on another machine, wait some minutes until its leases have run out"
        )
