"""How a frontier does, for people who watch it: who works, and how late the planned work is.

Both frontiers implement :class:`Watched` beside :class:`newsbot.frontier.base.Frontier`. Looking changes
nothing: leases past their deadline are shown until a handing-out takes them back.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable


@dataclass(frozen=True, slots=True)
class Worker:
    """Who holds leases. Times are POSIX seconds of the frontier's clock."""

    owner: str
    leases: int
    deadline: float
    """When the first of the leases ends, unless the heartbeat comes before."""


@dataclass(frozen=True, slots=True)
class Watch:
    """One look."""

    now: float
    overdue_since: float | None
    """The due time of what has waited longest past it; None: nothing that was planned is late.

    What was queued to be fetched at once has no due time, and is not looked at.
    """
    workers: list[Worker]
    """By name."""

    @property
    def lag(self) -> float:
        """Seconds by which the planned work is late."""
        return 0.0 if self.overdue_since is None else max(0.0, self.now - self.overdue_since)


@runtime_checkable
class Watched(Protocol):
    """See the module's text."""

    def watch(self) -> Watch:
        """Look at workers and lag."""
