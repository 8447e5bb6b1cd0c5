"""Small worlds of sources with rates that the test sets."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from newsbot.apps.simulator.site_world import FEED, PAGE, WAYS, SiteWorld, Visits, run_policy, sort_events
from newsbot.apps.simulator.strategies import STRATEGIES, PushSettings, Task
from newsbot.recrawl.planning import DAY, Array

WAY = WAYS[0]


def even_world(
    rates: Sequence[float] | Array, days: float, *, window: int = 0, seed: int = 1, learned: float = 2.0
) -> SiteWorld:
    """Return sources with constant rates (events per day) and no response time, each on its own host."""
    draw, count, end = np.random.default_rng(seed), len(rates), days * DAY
    numbers = draw.poisson(np.asarray(rates) * days)
    owners = np.repeat(np.arange(count), numbers)
    moments, first = sort_events(owners, draw.uniform(0, end, len(owners)), count)
    return SiteWorld(
        begin=0.0,
        learned=learned * DAY,
        end=end,
        kinds=np.full(count, FEED if window else PAGE),
        window=np.full(count, window),
        born=np.zeros(count),
        gone=np.full(count, np.inf),
        mortal=np.full(count, not window),
        size=np.full(count, 1000.0),
        response=np.zeros(count),
        ignores=np.zeros(count, bool),
        host=np.arange(count),
        hosts=[f"host {number}" for number in range(count)],
        host_delay=0.0,
        useful=np.ones(count),
        hourly=np.repeat(np.asarray(rates, float)[:, None] / 24, 168, axis=1),
        moments=moments,
        first=first,
    )


def visit(world: SiteWorld, name: str, a_day: float, push: PushSettings | None = None) -> Visits:
    """Return the visits of a strategy."""
    task = Task(world=world, a_day=a_day, draw=np.random.default_rng(7), push=push or PushSettings())
    first = np.random.default_rng(8).uniform(0, task.interval, world.sources)
    return run_policy(world, STRATEGIES[name].make(task), first)


def changed(world: SiteWorld, **values: object) -> SiteWorld:
    """Return the world with other values."""
    return dataclasses.replace(world, **values)  # type: ignore[arg-type]
