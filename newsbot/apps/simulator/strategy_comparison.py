"""Compares strategies on the same worlds, with confidence intervals, and finds the budget for a target."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import NormalDist, fmean, stdev
from typing import Any, Final

import numpy as np

from newsbot.apps.simulator.files import Columns, Rows, joined
from newsbot.apps.simulator.requirements import Ended, ignore
from newsbot.apps.simulator.site_world import KINDS, SiteWorld, Worlds
from newsbot.apps.simulator.strategies import MOST_A_DAY, Choice, PushSettings, Task
from newsbot.apps.simulator.visits import MINUTE, UNITS, VisitFigures, Visits, history_of, measure, run_policy
from newsbot.clock import parse_duration
from newsbot.errors import ArgumentError, did_you_mean

STUDENT: Final = (
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
    2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
    2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
)  # fmt: skip
"""The 97.5 % quantile of Student's t distribution for 1 to 30 degrees of freedom."""
AIMS: Final = ("freshness", "age", "median", "mean", "read", "p95", "p99", "lost", "over_12h")
"""Figures that improve with a larger budget. Only these can be targets."""
LEAST: Final = 0.25
"""The smallest budget that is tried, in visits per source and day."""
PRECISION: Final = 1.05
"""The budget that is found is at most the smallest possible budget, multiplied by this number."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean over seeds with its 95 % confidence interval. The interval is NaN for a single seed."""

    mean: float
    low: float
    high: float

    def as_dict(self) -> dict[str, float | None]:
        """Return a JSON-serializable dict. NaN and infinity become None."""
        named = {"mean": self.mean, "low": self.low, "high": self.high}
        return {name: value if math.isfinite(value) else None for name, value in named.items()}


Estimates = dict[str, Estimate]


@dataclass(frozen=True, slots=True)
class Compared:
    """The results of one strategy."""

    choice: Choice
    a_day: float
    """The budget: average number of visits of a source per day."""
    figures: Estimates
    """All figures by name, over all sources."""
    kinds: dict[str, Estimates]
    """All figures by name, for each kind of source. Empty if there is only one kind."""
    runs: Sequence[VisitFigures]
    """The results for each seed."""
    history: Columns
    """The events that were found with the first seed (:func:`newsbot.apps.simulator.visits.history_of`)."""


@dataclass(frozen=True, slots=True)
class Target:
    """A figure and its bound: a minimum for freshness, and a maximum for all other figures."""

    figure: str
    bound: float
    """The bound, in the unit of the figure (:data:`newsbot.apps.simulator.visits.UNITS`)."""
    strict: bool
    """True if the figure must not be equal to the bound."""
    text: str
    """The text of this target in the option."""

    def met(self, value: float) -> bool:
        """Return True if a value meets the bound. NaN does not meet it."""
        over = value - self.bound if self.figure == "freshness" else self.bound - value
        return over > 0 if self.strict else over >= 0


def compare(
    worlds: Worlds,
    choices: Sequence[Choice],
    a_day: float,
    seeds: Sequence[int],
    push: PushSettings,
    *,
    progress: Ended = ignore,
) -> list[Compared]:
    """Return the results of each strategy on the world of each seed. All strategies see the same events.

    ``a_day`` is the budget in visits of a source per day. ``progress`` is called after each run.
    """
    runs: list[list[tuple[VisitFigures, dict[str, VisitFigures]]]] = [[] for _ in choices]
    histories: list[Columns] = []
    for seed in seeds:
        # All strategies see the same world, so that different worlds do not cause differences between their
        # results.
        world = worlds.of_seed(seed)
        for place, choice in enumerate(choices):
            visits = visit_all(world, choice, a_day, seed, push)
            runs[place].append(figures_of(world, choice, visits))
            if seed == seeds[0]:
                histories.append(history_of(world, visits))
            progress("visits", seed, choice.label)
    return [
        Compared(
            choice,
            a_day,
            _estimates([whole for whole, _ in found]),
            {kind: _estimates([kinds[kind] for _, kinds in found]) for kind in found[0][1]},
            [whole for whole, _ in found],
            history,
        )
        for choice, found, history in zip(choices, runs, histories, strict=True)
    ]


def visit_all(world: SiteWorld, choice: Choice, a_day: float, seed: int, push: PushSettings) -> Visits:
    """Run a strategy on a world, and return its visits."""
    # The second number separates the random streams of different purposes (see site_world.py).
    task = Task(world=world, a_day=a_day, draw=np.random.default_rng([seed, 9]), push=push)
    first = np.random.default_rng([seed, 10]).uniform(0, task.interval, world.sources)
    return run_policy(world, choice.strategy.make(task), first)


def figures_of(
    world: SiteWorld, choice: Choice, visits: Visits
) -> tuple[VisitFigures, dict[str, VisitFigures]]:
    """Return the figures of a run over all sources, and by kind of source if there are several kinds."""
    kinds = np.unique(world.kinds).tolist()
    by_kind = {KINDS[one]: measure(world, visits, choice.way, one) for one in kinds if len(kinds) > 1}
    return measure(world, visits, choice.way), by_kind


def estimate(values: Iterable[float]) -> Estimate:
    """Return the mean of the finite values, with Student's confidence interval."""
    known = [value for value in values if math.isfinite(value)]
    mean = fmean(known) if known else math.nan
    if len(known) < 2:
        return Estimate(mean, math.nan, math.nan)
    freedom = len(known) - 1
    # For more than 30 degrees of freedom, the normal distribution is close enough.
    quantile = STUDENT[freedom - 1] if freedom <= len(STUDENT) else NormalDist().inv_cdf(0.975)
    half = quantile * stdev(known) / math.sqrt(len(known))
    return Estimate(mean, mean - half, mean + half)


def _estimates(runs: Sequence[VisitFigures]) -> Estimates:
    return {name: estimate(run.figures[name] for run in runs) for name in runs[0].figures}


def as_document(about: str, found: Sequence[Compared], seeds: Sequence[int]) -> dict[str, Any]:
    """Return all results as a JSON-serializable value. ``about`` describes the world."""

    def document(figures: Estimates) -> dict[str, Any]:
        return {name: value.as_dict() for name, value in figures.items()}

    return {
        "world": about,
        "budget": found[0].a_day,
        "seeds": list(seeds),
        "units": UNITS,
        "policies": [
            {
                "policy": one.choice.label,
                "request": one.choice.way,
                "figures": document(one.figures),
                "kinds": {kind: document(figures) for kind, figures in one.kinds.items()},
                "hosts": {
                    host: {"mean": mean, "peak": peak} for host, (mean, peak) in one.runs[0].hosts.items()
                },
            }
            for one in found
        ],
    }


def as_tables(found: Sequence[Compared], seeds: Sequence[int]) -> dict[str, Rows | Columns]:
    """Return the results as the tables ``policies``, ``policy_seeds``, ``policy_hosts`` and ``history``."""
    policies, of_seeds, hosts = [], [], []
    for one in found:
        label = one.choice.label
        for kind, figures in {"all": one.figures, **one.kinds}.items():
            row: dict[str, object] = {"policy": label, "kind": kind, "budget": one.a_day}
            for name, value in figures.items():
                row |= {name: value.mean, f"{name}_low": value.low, f"{name}_high": value.high}
            policies.append(row)
        for seed, run in zip(seeds, one.runs, strict=True):
            of_seeds.append({"policy": label, "seed": seed, **run.figures})
        for host, (mean, peak) in one.runs[0].hosts.items():
            hosts.append({"policy": label, "host": host, "mean": mean, "peak": peak})
    history = joined("policy", {one.choice.label: one.history for one in found})
    return {"policies": policies, "policy_seeds": of_seeds, "policy_hosts": hosts, "history": history}


def read_targets(text: str) -> list[Target]:
    """Return the targets that a text names, for example ``p95<30m,lost<1%``.

    Raises :class:`ArgumentError` if the text is not valid.
    """
    parts = [part.strip() for part in text.split(",") if part.strip()]
    if not parts:
        raise ArgumentError("--target: is empty; write for example p95<30m or freshness>90%")
    return [_target(part) for part in parts]


def _target(text: str) -> Target:
    match = re.fullmatch(r"(\w+)\s*(<=|>=|<|>)\s*([\w.]+%?)", text)
    if match is None:
        raise ArgumentError(f"--target {text}: write for example p95<30m, lost<1% or freshness>90%")
    name, sign, bound = match.groups()
    if name not in AIMS:
        hint = did_you_mean(name, AIMS)
        raise ArgumentError(f"--target {text}: unknown figure {name!r}{hint}; allowed: {', '.join(AIMS)}")
    wanted, side = (">", "a lower") if name == "freshness" else ("<", "an upper")
    if sign[0] != wanted:
        raise ArgumentError(f"--target {text}: {name} needs {side} bound; use {wanted} instead of {sign[0]}")
    return Target(name, _bound(text, name, bound), len(sign) == 1, text)


def _bound(text: str, name: str, bound: str) -> float:
    """Return a bound in the unit of its figure: percent, or minutes."""
    share = UNITS[name] == "%"
    try:
        if share and 0 <= float(bound.removesuffix("%")) <= 100:
            return float(bound.removesuffix("%"))
        if not share and bound[-1] in "smhdw":
            return parse_duration(bound) / MINUTE
    except ValueError:
        pass
    unit = "a share from 0% to 100%" if share else "a duration such as 90s, 30m or 2h"
    raise ArgumentError(f"--target {text}: {bound!r} is not {unit}")


def smallest_budget(
    run: Callable[[float], Compared], targets: Sequence[Target], *, budgeted: bool = True
) -> tuple[float | None, Compared]:
    """Return the smallest budget that meets all targets, and the results of its run.

    The budget is found by bisection on a logarithmic scale. This assumes that no figure gets worse with more
    visits. If no budget meets the targets, the function returns None and the results with the largest budget.
    A strategy that is not ``budgeted`` is run once, and the number of its visits counts as its budget.
    """

    def met(compared: Compared) -> bool:
        return all(target.met(compared.figures[target.figure].mean) for target in targets)

    best = run(MOST_A_DAY)
    if not met(best):
        return None, best
    if not budgeted:
        return best.figures["visits"].mean, best
    low, high = LEAST, MOST_A_DAY
    tried = run(low)
    if met(tried):
        return low, tried
    while high / low > PRECISION:
        # The middle is the geometric mean, because PRECISION is relative.
        middle = math.sqrt(low * high)
        tried = run(middle)
        if met(tried):
            high, best = middle, tried
        else:
            low = middle
    return high, best


def most_rounds() -> int:
    """Return the largest number of runs that :func:`smallest_budget` makes."""
    # Both ends are tried. Each further run halves the logarithm of high / low.
    return 2 + math.ceil(math.log2(math.log(MOST_A_DAY / LEAST) / math.log(PRECISION)))
