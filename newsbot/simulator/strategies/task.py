"""What a strategy is told when it is made."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from newsbot.recrawl.polling import DAY, HOUR, SHORTEST, Array, PollPolicy
from newsbot.simulator.sites import SiteWorld
from newsbot.simulator.visiting import WholeRun

MOST_A_DAY: Final = DAY / SHORTEST
"""Visits of a source; none is visited sooner than after 5 minutes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PushSettings:
    """How notices of changes do."""

    loss: float = 0.05
    """Share of notices that never arrive."""
    notice: float = 10.0
    """Mean seconds from an event to the arrival of its notice."""
    safety: float = 6 * HOUR
    """Seconds between visits that are made without a notice."""
    servers: int = 1
    """Downloads at one time, for strategies with a queue."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """The world, the budget, and chance.

    A fair strategy looks at ``sources``, ``interval`` and ``an_hour`` only; those that are told more say so.
    """

    world: SiteWorld
    a_day: float
    """Visits of a source in a day, on average: the budget."""
    draw: np.random.Generator
    push: PushSettings = field(default_factory=PushSettings)

    @property
    def sources(self) -> int:
        """How many."""
        return self.world.sources

    @property
    def interval(self) -> float:
        """Seconds between visits of a source if all get the same."""
        return DAY / self.a_day

    @property
    def an_hour(self) -> float:
        """Visits of all sources that exist, on average, in an hour: the budget of a
        :class:`newsbot.recrawl.budget.Controller`."""
        return self.a_day * self.world.existing / 24

    @property
    def rates(self) -> Array:
        """Events of each source in a day of the run: what no crawler is told."""
        return self.world.a_day()


Made = PollPolicy | WholeRun


@dataclass(frozen=True, slots=True)
class Strategy:
    """A name, what it does in one line, and what makes it."""

    name: str
    about: str
    make: Callable[[Task], Made]
    budgeted: bool = True
    """False: it takes what it takes."""
