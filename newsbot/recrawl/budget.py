"""Adjusts one parameter of a policy so that it meets a budget of requests, and policies that work like this.

A :class:`Controller` adjusts the parameter, which all sources share. The policies follow other programs. They
have the interface of :mod:`newsbot.recrawl.policy`, and are there for comparison and as options. The operator
of a crawler with such a policy would adjust its parameter by hand.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from newsbot.recrawl.policy import DAY, HOUR, SHORTEST, Array, Polled

MEMORY: Final = 48.0
"""Half-life in hours of the average of requests. It is longer than a day, because nights differ from days."""
GAIN: Final = 0.02
"""Share of the full correction that is applied per hour."""
LOWEST, HIGHEST = 1e-9, 1e12
"""Limits of :attr:`Controller.value`."""


class Controller:
    """Adjusts ``value`` until the requests meet the budget. If there are more requests, the value is raised.

    The number of requests is assumed to be proportional to ``value ** -power``. For the threshold of the
    square-root index, ``power`` is 0.5. ``budget`` and the requests spent are per hour.
    """

    def __init__(self, budget: float, value: float, power: float) -> None:
        if not (0 < budget < math.inf and value > 0 and power > 0):
            raise ValueError(f"budget {budget}, value {value}, power {power}: must be numbers above 0")
        self.budget, self.value, self.power = budget, value, power
        self.spent, self.weight = 0.0, 0.0

    def spend(self, requests: float, hours: float) -> None:
        """Record the ``requests`` per hour of the last ``hours`` and adjust the value."""
        if hours <= 0:
            return
        kept = 0.5 ** (hours / MEMORY)
        self.spent = self.spent * kept + requests * (1 - kept)
        self.weight = self.weight * kept + (1 - kept)
        # Dividing by the weight removes the influence of the initial 0 of the average. The lower bound
        # limits the step while no requests are made, and avoids the logarithm of 0.
        over = math.log(max(self.spent / self.weight, self.budget / 100) / self.budget)
        step = min(1.0, GAIN * hours) * over / self.power
        self.value = min(HIGHEST, max(LOWEST, self.value * math.exp(step)))


NUTCH_FASTER: Final = 0.2
"""``db.fetch.schedule.adaptive.dec_rate`` of Apache Nutch."""
NUTCH_SLOWER: Final = 0.4
"""``db.fetch.schedule.adaptive.inc_rate``."""
WEEK: Final = 7 * DAY


class NutchType:
    """The rule of Apache Nutch's AdaptiveFetchSchedule.

    The interval is multiplied by ``1 - NUTCH_FASTER`` after a change, and by 1 plus the controller's value
    otherwise (0.4 in Nutch). The value determines how often a poll finds something, and thereby the number
    of polls.
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
