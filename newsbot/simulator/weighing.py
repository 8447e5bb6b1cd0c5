"""Runs strategies on the same worlds, and gives each figure with its confidence interval over the seeds."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import NormalDist, fmean, stdev
from typing import Any, Final

import numpy as np

from newsbot.simulator.judging import UNITS, Judged, judge
from newsbot.simulator.sites import KINDS, SiteWorld
from newsbot.simulator.strategies.choosing import Choice
from newsbot.simulator.strategies.task import PushSettings, Task
from newsbot.simulator.visiting import run_policy
from newsbot.simulator.worlds import Worlds

STUDENT: Final = (
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
    2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
    2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
)  # fmt: skip
"""Student's t of 97.5 %, for 1 to 30 degrees of freedom."""

Tell = Callable[[], None]


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean over seeds with its 95 % confidence interval; without one (NaN) for a single seed."""

    mean: float
    low: float
    high: float

    def as_dict(self) -> dict[str, float | None]:
        """Return it for JSON, None where there is no number."""
        named = {"mean": self.mean, "low": self.low, "high": self.high}
        return {name: value if math.isfinite(value) else None for name, value in named.items()}


@dataclass(frozen=True, slots=True)
class Weighed:
    """What one strategy was worth: estimates of all figures, of each kind of source, and the runs behind."""

    choice: Choice
    a_day: float
    figures: dict[str, Estimate]
    kinds: dict[str, dict[str, Estimate]]
    """Empty if there is one kind only."""
    runs: Sequence[Judged]
    seeds: Sequence[dict[str, float]]
    """The figures of each seed, in their order."""


def weigh(
    worlds: Worlds,
    choices: Sequence[Choice],
    a_day: float,
    seeds: Sequence[int],
    push: PushSettings,
    *,
    tell: Tell = lambda: None,
) -> list[Weighed]:
    """Return each strategy's worth on the worlds of the seeds; all meet the same histories."""
    runs: list[list[Judged]] = [[] for _ in choices]
    kinds: list[list[dict[str, Judged]]] = [[] for _ in choices]
    for seed in seeds:
        world = worlds.of_seed(seed)
        for place, choice in enumerate(choices):
            whole, of_kinds = run_one(world, choice, a_day, seed, push)
            runs[place].append(whole)
            kinds[place].append(of_kinds)
            tell()
    return [
        Weighed(
            choice,
            a_day,
            _estimates(runs[place]),
            {kind: _estimates([one[kind] for one in kinds[place]]) for kind in kinds[place][0]},
            runs[place],
            [one.figures for one in runs[place]],
        )
        for place, choice in enumerate(choices)
    ]


def run_one(
    world: SiteWorld, choice: Choice, a_day: float, seed: int, push: PushSettings
) -> tuple[Judged, dict[str, Judged]]:
    """Return the worth of one run, and of each kind of source in it if there are several."""
    task = Task(world=world, a_day=a_day, draw=np.random.default_rng([seed, 9]), push=push)
    first = np.random.default_rng([seed, 10]).uniform(0, task.interval, world.sources)
    visits = run_policy(world, choice.strategy.make(task), first)
    there = np.unique(world.kinds).tolist()
    kinds = {KINDS[one]: judge(world, visits, choice.way, one) for one in there} if len(there) > 1 else {}
    return judge(world, visits, choice.way), kinds


def estimate(values: Iterable[float]) -> Estimate:
    """Return the mean of independent values, those that are numbers, with Student's confidence interval."""
    known = [value for value in values if math.isfinite(value)]
    mean = fmean(known) if known else math.nan
    if len(known) < 2:
        return Estimate(mean, math.nan, math.nan)
    freedom = len(known) - 1
    quantile = STUDENT[freedom - 1] if freedom <= len(STUDENT) else NormalDist().inv_cdf(0.975)
    half = quantile * stdev(known) / math.sqrt(len(known))
    return Estimate(mean, mean - half, mean + half)


def as_document(about: str, found: Sequence[Weighed], seeds: Sequence[int]) -> dict[str, Any]:
    """Return all as one JSON object."""
    return {
        "world": about,
        "budget": found[0].a_day,
        "seeds": list(seeds),
        "units": UNITS,
        "policies": [
            {
                "policy": one.choice.label,
                "request": one.choice.way,
                "figures": {name: value.as_dict() for name, value in one.figures.items()},
                "kinds": {
                    kind: {name: value.as_dict() for name, value in figures.items()}
                    for kind, figures in one.kinds.items()
                },
                "hosts": {
                    host: {"mean": mean, "peak": peak} for host, (mean, peak) in one.runs[0].hosts.items()
                },
            }
            for one in found
        ],
    }


def _estimates(runs: Sequence[Judged]) -> dict[str, Estimate]:
    return {name: estimate(run.figures[name] for run in runs) for name in runs[0].figures}
