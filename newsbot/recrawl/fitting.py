"""The threshold of the square-root index from rates: for a first day, when nothing can be measured.

A source with the rate r and the threshold T is polled every √(2 T / r), or before its window is full. The
threshold at which all of them together take the budget is found by halving.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

import numpy as np

from newsbot.recrawl.budget import MEMORY, Controller
from newsbot.recrawl.index import SquareRootIndex
from newsbot.recrawl.polling import HOUR, LONGEST, SHORTEST, Array

FIRST_HOURS: Final = 24.0
"""Hours for which the threshold is computed from rates. Then it is corrected by what was spent, by and by."""
_HALVINGS: Final = 50


def begin_with_rates(controller: Controller, sources: Sequence[Mapping[str, Any]]) -> None:
    """Set the threshold by the rates that ``sources`` have shown, while the controller is young.

    What is spent then tells little of how much is right: every source has just been polled for the first
    time, and a night is not a day. What was spent too much is saved in the next 24 hours.
    """
    hours = -MEMORY * math.log2(1.0 - min(controller.weight, 0.9))
    if hours < FIRST_HOURS and any(sources):
        spent = controller.spent / controller.weight if controller.weight else controller.budget
        left = controller.budget - (spent - controller.budget) * hours / FIRST_HOURS
        wanted = min(1.25 * controller.budget, max(0.5 * controller.budget, left))
        controller.value = fitting_threshold(wanted, sources)


def fitting_threshold(requests_an_hour: float, sources: Sequence[Mapping[str, Any]]) -> float:
    """Return the threshold (items * seconds) at which sources take so many polls an hour.

    ``sources``: what is known of each, as :class:`newsbot.recrawl.sources.SourceIndex` keeps it. Profiles are
    left out: by them polls become fewer. If no threshold gives the number, the nearest one does.
    """
    known = SquareRootIndex(len(sources), Controller(1.0, 1.0, 0.5))
    for row, source in enumerate(sources):
        with suppress(ValueError, TypeError):  # damaged: taken for a source that is new
            known.take_note(row, source)
    rows = np.arange(len(sources))
    rates = known.rhythm.level(rows) / HOUR
    longest = np.clip(known.room(rows) / rates, SHORTEST, LONGEST)
    low, high = (float(rates.max(initial=0.0)) * rest**2 / 2 for rest in (SHORTEST / 10, LONGEST))
    low, high = np.log(max(low, 1e-9)), np.log(max(high, 1e-9))
    for _step in range(_HALVINGS):
        middle = (low + high) / 2
        if _polls(float(np.exp(middle)), rates, longest) > requests_an_hour:
            low = middle
        else:
            high = middle
    return float(np.exp((low + high) / 2))


def _polls(threshold: float, rates: Array, longest: Array) -> float:
    rest = np.clip(np.sqrt(2 * threshold / rates), SHORTEST, longest)
    return float((HOUR / rest).sum())
