"""Set shares of the budget, at equal distances or at random; most are told how often each source changes."""

from __future__ import annotations

from typing import Final

import numpy as np

from newsbot.recrawl.polling import DAY, Array, Polled
from newsbot.simulator import allocation
from newsbot.simulator.allocation import Share
from newsbot.simulator.strategies.task import MOST_A_DAY, Strategy, Task


class Shared:
    """Visits of each source by a closed form of :mod:`newsbot.simulator.allocation`."""

    def __init__(self, task: Task, share: Share, *, random: bool = False) -> None:
        with np.errstate(divide="ignore"):
            self._interval = DAY / capped(share, task.rates, task.a_day * task.sources)
        self._draw = task.draw if random else None

    def next_polls(self, polled: Polled) -> Array:
        """Return the next visits; nothing is learned. A source with no share is never visited again."""
        interval = self._interval[polled.rows]
        if self._draw is not None:
            interval = interval * self._draw.exponential(size=len(interval))
        return np.asarray(polled.at + interval)

    def spend(self, requests: float, hours: float) -> None:
        """Nothing is adjusted."""


def capped(share: Share, rates: Array, budget: float) -> Array:
    """Return visits a day with none above :data:`MOST_A_DAY`; what is cut off is shared among the others."""
    visits = np.zeros_like(rates)
    left = np.ones(len(rates), bool)
    while left.any() and budget > 0:
        visits[left] = share(rates[left], budget)
        over = left & (visits >= MOST_A_DAY)
        if not over.any():
            break
        visits[over] = MOST_A_DAY
        budget -= MOST_A_DAY * over.sum()
        left &= ~over
        visits[left] = 0.0
    return visits


def _of(name: str, about: str, share: Share, *, random: bool = False) -> Strategy:
    return Strategy(name, about, lambda task: Shared(task, share, random=random))


STRATEGIES: Final = (
    _of("cyclic", "all at the same interval", allocation.uniform),
    _of("random", "all equally often, at random moments", allocation.uniform, random=True),
    _of("proportional", "in proportion to the true rates of change", allocation.proportional),
    _of("square_root", "in proportion to the roots of the true rates", allocation.square_root),
    _of("freshest", "the optimum of freshness of Cho and Garcia-Molina, told rates", allocation.freshest),
    _of("youngest", "the optimum of age of Cho and Garcia-Molina, told rates", allocation.youngest),
    _of(
        "azar",
        "the closed form of Azar and others, random, told rates",
        allocation.freshest_random,
        random=True,
    ),
)
