"""Other ways to plan polls, with the interface of :mod:`newsbot.recrawl.policy`, to compare and to select.

Each has one knob that a controller turns until the budget is met, as a person would who runs such a robot.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from newsbot.recrawl.budget import Controller
from newsbot.recrawl.policy import DAY, HOUR, SHORTEST, Array, Polled

NUTCH_FASTER: Final = 0.2
"""``db.fetch.schedule.adaptive.dec_rate`` of Apache Nutch."""
NUTCH_SLOWER: Final = 0.4
"""``db.fetch.schedule.adaptive.inc_rate``."""
WEEK: Final = 7 * DAY


class Fixed:
    """The same interval for all, in seconds."""

    def __init__(self, interval: float) -> None:
        self.interval = interval

    def next_polls(self, polled: Polled) -> Array:
        """Return the next polls; nothing is learned."""
        return polled.at + self.interval

    def spend(self, requests: float, hours: float) -> None:
        """Nothing is adjusted."""


class NutchType:
    """As Apache Nutch's AdaptiveFetchSchedule: shorter by a share after a change, longer after none.

    The controller's value is the share by which an interval grows, 0.4 in Nutch: it decides how often a poll
    finds something, and so how many polls there are.
    """

    def __init__(self, count: int, controller: Controller, first: float, longest: float = DAY) -> None:
        self.controller, self.longest = controller, longest
        self.interval = np.full(count, first)

    def next_polls(self, polled: Polled) -> Array:
        """Learn whether the sources changed; return the next polls."""
        factor = np.where(polled.new > 0, 1 - NUTCH_FASTER, 1 + min(10.0, self.controller.value))
        interval = np.clip(self.interval[polled.rows] * factor, SHORTEST, self.longest)
        self.interval[polled.rows] = interval
        return np.asarray(polled.at + interval)

    def spend(self, requests: float, hours: float) -> None:
        """Move the growth."""
        self.controller.spend(requests, hours)


class MinifluxType:
    """As Miniflux's entry-frequency scheduler: a week divided by the items of the last week.

    The controller's value is the number of items between two polls (``SCHEDULER_ENTRY_FREQUENCY_FACTOR``
    is its inverse). The week is the last 7 days, in steps of an hour.
    """

    def __init__(self, count: int, controller: Controller, longest: float = DAY) -> None:
        self.controller, self.longest = controller, longest
        self.counts = np.zeros((count, int(WEEK / HOUR)))
        self.hour = np.full(count, -1, np.intp)

    def next_polls(self, polled: Polled) -> Array:
        """Learn the counts; return the next polls."""
        rows, now = polled.rows, (polled.at // HOUR).astype(np.intp)
        slots = self.counts.shape[1]
        passed = np.minimum(now - self.hour[rows], slots)
        steps = np.arange(slots)
        stale = (now[:, None] - steps) % slots
        cleared = np.where(steps < passed[:, None], 0.0, self.counts[rows[:, None], stale])
        self.counts[rows[:, None], stale] = cleared
        first = self.hour[rows] < 0  # what a source shows at first is no count of a week
        self.counts[rows, now % slots] += np.where(first, 0.0, polled.new)
        self.hour[rows] = now
        weekly = np.maximum(self.counts[rows].sum(axis=1), 1.0)
        interval = np.clip(WEEK / weekly * self.controller.value, SHORTEST, self.longest)
        return np.asarray(polled.at + interval)

    def spend(self, requests: float, hours: float) -> None:
        """Move the factor."""
        self.controller.spend(requests, hours)
