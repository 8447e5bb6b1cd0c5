"""Polling policies of other programs, for comparisons."""

from __future__ import annotations

from typing import Final

import numpy as np

from newsbot.recrawl.planning import DAY, HOUR, SHORTEST, Array, Polled
from newsbot.recrawl.policies import Controller

WEEK: Final = 7 * DAY
NUTCH_FASTER: Final = 0.2
"""``db.fetch.schedule.adaptive.dec_rate`` of Apache Nutch."""
NUTCH_SLOWER: Final = 0.4
"""``db.fetch.schedule.adaptive.inc_rate``."""


class NutchType:
    """The rule of Apache Nutch's AdaptiveFetchSchedule.

    The interval is multiplied by ``1 - NUTCH_FASTER`` after a change, and by 1 plus the controller's value
    otherwise (0.4 in Nutch). The value determines how often a poll finds new items, and therefore also the
    number of polls.
    """

    def __init__(self, count: int, controller: Controller, first: float) -> None:
        self.controller = controller
        self.interval = np.full(count, first)

    def next_polls(self, polled: Polled) -> Array:
        """Learn whether the sources changed. Return the times of the next polls."""
        factor = np.where(polled.new > 0, 1 - NUTCH_FASTER, 1 + min(10.0, self.controller.value))
        interval = np.clip(self.interval[polled.rows] * factor, SHORTEST, DAY)
        self.interval[polled.rows] = interval
        return np.asarray(polled.at + interval)

    def spend(self, requests: float, hours: float) -> None:
        """Adjust the growth of intervals to the budget."""
        self.controller.spend(requests, hours)


class MinifluxType:
    """The rule of Miniflux's entry-frequency scheduler: a week divided by the items of the last week.

    The controller's value is the number of items between two polls (``SCHEDULER_ENTRY_FREQUENCY_FACTOR``
    is its inverse). The week is the last 7 days, in steps of an hour.
    """

    def __init__(self, count: int, controller: Controller) -> None:
        self.controller = controller
        self.counts = np.zeros((count, int(WEEK / HOUR)))
        self.hour = np.full(count, -1, np.intp)

    def next_polls(self, polled: Polled) -> Array:
        """Learn the counts. Return the times of the next polls."""
        rows, now = polled.rows, (polled.at // HOUR).astype(np.intp)
        slots = self.counts.shape[1]
        # Each row is a ring buffer with one slot per hour. The slots of the hours since the last poll still
        # hold the counts of a week earlier, so they are set to 0 first.
        passed = np.minimum(now - self.hour[rows], slots)
        steps = np.arange(slots)
        stale = (now[:, None] - steps) % slots
        cleared = np.where(steps < passed[:, None], 0.0, self.counts[rows[:, None], stale])
        self.counts[rows[:, None], stale] = cleared
        first = self.hour[rows] < 0  # the first poll shows items of unknown age
        self.counts[rows, now % slots] += np.where(first, 0.0, polled.new)
        self.hour[rows] = now
        weekly = np.maximum(self.counts[rows].sum(axis=1), 1.0)
        interval = np.clip(WEEK / weekly * self.controller.value, SHORTEST, DAY)
        return np.asarray(polled.at + interval)

    def spend(self, requests: float, hours: float) -> None:
        """Adjust the factor to the budget."""
        self.controller.spend(requests, hours)
