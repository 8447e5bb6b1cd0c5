"""A feed with a window: items come, push the oldest out, and are found by polls or lost.

Times are seconds, from 0 at midnight of the first day.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from newsbot.simulator.model import Array

DAY = 86_400.0
HOURS = 24
EVEN = (1.0,) * HOURS
"""Publication that knows no day and night."""


@dataclass(frozen=True, slots=True)
class Found:
    """What polls of a feed brought."""

    delays: Array
    """Seconds from publication to the poll that found it, of each item that was found."""
    lost: int
    """Items that the window had lost when the next poll came."""
    waiting: int
    """Items that no poll came for before the end."""
    useful: int
    """Polls that found something."""

    @property
    def published(self) -> int:
        """All items."""
        return len(self.delays) + self.lost + self.waiting


def publish(
    items_a_day: float, days: float, draw: np.random.Generator, *, hours: Sequence[float] = EVEN
) -> Array:
    """Return the sorted moments of items: a Poisson process whose rate follows the hours of the day.

    ``hours`` weighs the 24 hours; their mean does not matter. Raises ``ValueError`` for what is no rate.
    """
    weights = np.asarray(hours, float)
    if weights.shape != (HOURS,) or not (weights >= 0).all() or not 0 < weights.sum() < np.inf:
        raise ValueError("hours: 24 weights from 0 on are needed, not all of them 0")
    if not (items_a_day >= 0 and days > 0):
        raise ValueError(f"{items_a_day} items a day for {days} days: must not be negative")
    weights /= weights.mean()
    peak = weights.max()
    # Thinning (Lewis and Shedler, 1979): come at the rate of the busiest hour, stay by the share of the hour.
    moments = draw.uniform(0, days * DAY, draw.poisson(items_a_day * days * peak))
    hour = (moments % DAY // (DAY / HOURS)).astype(int)
    return np.sort(moments[draw.uniform(0, peak, len(moments)) < weights[hour]])


def poll(items: Array, polls: Array, window: int) -> Found:
    """Return what sorted ``polls`` find of sorted ``items`` in a feed that shows the last ``window`` of them.

    A poll sees what was published before it. Raises ``ValueError`` for a window that shows nothing.
    """
    if window < 1:
        raise ValueError(f"a window of {window}: must show an item at least")
    seen = np.concatenate([[0], np.searchsorted(items, polls)])
    new = np.diff(seen)
    first = np.maximum(seen[:-1], seen[1:] - window)
    lost = int((first - seen[:-1]).sum())
    found_by = np.repeat(np.arange(len(polls)), new)
    shown = np.arange(seen[-1]) >= np.repeat(first, new)
    delays = polls[found_by[shown]] - items[: seen[-1]][shown]
    return Found(delays, lost, len(items) - int(seen[-1]), int((new > 0).sum()))
