"""Adjusts one number for all sources so that a policy meets a budget of requests."""

from __future__ import annotations

import math
from typing import Final

MEMORY: Final = 48.0
"""Hours over which requests are averaged: night and day need not be alike, only the days."""
GAIN: Final = 0.02
"""Correction an hour, as a share of what would be right at once."""
LOWEST, HIGHEST = 1e-9, 1e12


class Controller:
    """Moves ``value`` until requests are as many as the budget: upwards if there are too many.

    ``power``: requests fall as ``value ** -power``, e.g. 0.5 for a threshold of the square-root index.
    ``budget`` and what is spent: requests an hour.
    """

    def __init__(self, budget: float, value: float, power: float) -> None:
        if not (0 < budget < math.inf and value > 0 and power > 0):
            raise ValueError(f"budget {budget}, value {value}, power {power}: must be numbers above 0")
        self.budget, self.value, self.power = budget, value, power
        self.spent, self.weight = 0.0, 0.0

    def spend(self, requests: float, hours: float) -> None:
        """Take what was spent in the last ``hours`` and move the value."""
        if hours <= 0:
            return
        kept = 0.5 ** (hours / MEMORY)
        self.spent = self.spent * kept + requests * (1 - kept)
        self.weight = self.weight * kept + (1 - kept)
        over = math.log(max(self.spent / self.weight, self.budget / 100) / self.budget)
        step = min(1.0, GAIN * hours) * over / self.power
        self.value = min(HIGHEST, max(LOWEST, self.value * math.exp(step)))
