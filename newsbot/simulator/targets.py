"""Targets such as ``p95<30m``, and the smallest budget that meets them."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Final

from newsbot.clock import parse_duration
from newsbot.errors import ArgumentError
from newsbot.simulator.judging import MINUTE, UNITS
from newsbot.simulator.strategies.task import MOST_A_DAY
from newsbot.simulator.weighing import Weighed

AIMS: Final = ("freshness", "age", "median", "mean", "p95", "p99", "lost", "over_12h")
"""Figures that a larger budget makes better."""
LEAST: Final = 0.25
"""Visits of a source in a day: the smallest budget that is tried."""
PRECISION: Final = 1.05
"""The answer is at most this factor above the smallest budget."""


@dataclass(frozen=True, slots=True)
class Target:
    """A figure and its bound; at least for freshness, at most for all others."""

    figure: str
    bound: float
    strict: bool
    text: str

    def met(self, value: float) -> bool:
        """Return whether a value keeps the bound."""
        if math.isnan(value):
            return False
        over = value - self.bound if self.figure == "freshness" else self.bound - value
        return over > 0 if self.strict else over >= 0


@dataclass(frozen=True, slots=True)
class Answer:
    """The smallest budget of a strategy that meets the targets, or None, and what it gives (or the most)."""

    budget: float | None
    weighed: Weighed


def read_targets(text: str) -> list[Target]:
    """Return what ``p95<30m,lost<1%`` says. Raises :class:`ArgumentError` that says what is allowed."""
    parts = [part.strip() for part in text.split(",") if part.strip()]
    if not parts:
        raise ArgumentError("--target: say what is wanted, for example p95<30m or freshness>90%")
    return [_target(part) for part in parts]


def _target(text: str) -> Target:
    match = re.fullmatch(r"(\w+)\s*(<=|>=|<|>)\s*([\w.]+%?)", text)
    if match is None:
        raise ArgumentError(f"--target {text}: write for example p95<30m, lost<1% or freshness>90%")
    name, sign, bound = match.groups()
    if name not in AIMS:
        near = get_close_matches(name, AIMS, 1)
        hint = f" (did you mean {near[0]!r}?)" if near else ""
        raise ArgumentError(f"--target {text}: unknown figure {name!r}{hint}; allowed: {', '.join(AIMS)}")
    wanted = ">" if name == "freshness" else "<"
    if sign[0] != wanted:
        raise ArgumentError(
            f"--target {text}: {name} can be held {'above' if wanted == '>' else 'below'} a bound only"
        )
    return Target(name, _bound(text, name, bound), len(sign) == 1, text)


def _bound(text: str, name: str, bound: str) -> float:
    try:
        if UNITS[name] == "%":
            value = float(bound.removesuffix("%"))
            if 0 <= value <= 100:
                return value
        elif bound[-1] in "smhdw":
            return parse_duration(bound) / MINUTE
    except ValueError:
        pass
    unit = "a share from 0% to 100%" if UNITS[name] == "%" else "a duration such as 90s, 30m or 2h"
    raise ArgumentError(f"--target {text}: {bound!r} is not {unit}")


def smallest(run: Callable[[float], Weighed], targets: Sequence[Target], *, budgeted: bool = True) -> Answer:
    """Return the smallest budget whose run meets all targets, by halving on a scale of factors.

    It is taken that more visits do not make a figure worse. A strategy without a budget is run once.
    """
    most = run(MOST_A_DAY)
    if not _met(most, targets):
        return Answer(None, most)
    if not budgeted:
        return Answer(most.figures["visits"].mean, most)
    low, high, best = LEAST, MOST_A_DAY, most
    least = run(low)
    if _met(least, targets):
        return Answer(low, least)
    while high / low > PRECISION:
        middle = math.sqrt(low * high)
        tried = run(middle)
        if _met(tried, targets):
            high, best = middle, tried
        else:
            low = middle
    return Answer(high, best)


def rounds() -> int:
    """Return how many runs :func:`smallest` makes at most."""
    return 2 + math.ceil(math.log2(math.log(MOST_A_DAY / LEAST) / math.log(PRECISION)))


def _met(weighed: Weighed, targets: Sequence[Target]) -> bool:
    return all(target.met(weighed.figures[target.figure].mean) for target in targets)
