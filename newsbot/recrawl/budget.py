"""Adjusts one parameter of a policy, shared by all sources, so that it meets a budget of requests."""

from __future__ import annotations

import math
from typing import Final

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
