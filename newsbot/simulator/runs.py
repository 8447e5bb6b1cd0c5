"""One run: a strategy on a history of pages, and what it measured."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from newsbot.simulator.draws import stream
from newsbot.simulator.history import History
from newsbot.simulator.model import FRESH_STEP, TRAFFIC_STEP, Array, QueryLog, Routes
from newsbot.simulator.pagestate import (
    DOWNLOADS,
    FOUND,
    MAX_WAIT,
    MIN_WAIT,
    WAIT_SUM,
    WAITS,
    Measures,
    advance_all,
    make_measures,
    make_state,
)
from newsbot.simulator.robots import run_robot
from newsbot.simulator.sensors import run_sensors
from newsbot.simulator.series import row_times


@dataclass(frozen=True, slots=True)
class Steps:
    """Units between two rows of the series of stale pages and downloads, and of that of traffic."""

    fresh: int = FRESH_STEP
    traffic: int = TRAFFIC_STEP

    def pair(self) -> tuple[int, int]:
        """Return both, as the compiled loops take them."""
        return self.fresh, self.traffic


@dataclass(frozen=True, slots=True)
class Run:
    """What one run measured. Series hold the moments of :func:`newsbot.simulator.series.row_times`."""

    pages: int
    time: int
    steps: Steps
    stale: Array
    """Changed pages that nobody has seen, every ``steps.fresh`` units."""
    traffic: Array
    """Bytes up to then, every ``steps.traffic`` units; one row for each robot, or one for all sensors."""
    processing: Array | None
    """Downloads of sensors that run, every ``steps.fresh`` units."""
    waits: int
    wait_sum: int
    min_wait: int | None
    max_wait: int | None
    downloads: int
    """Downloads of available pages that ended in time."""
    found: int
    """Those of them that brought something new."""
    cycles: tuple[int, ...]
    """Whole rounds of each robot."""
    max_processing: int | None
    """The most downloads of sensors at one time."""

    @property
    def needfresh(self) -> int:
        """Stale pages at the end."""
        return int(self.stale[-1])

    @property
    def freshness(self) -> float:
        """Per cent of the pages that are known as they are at the end."""
        return 100.0 * (self.pages - self.needfresh) / self.pages

    @property
    def mean_needfresh(self) -> float:
        """Stale pages, the mean of the rows of the series."""
        return float(self.stale.mean())

    @property
    def mean_freshness(self) -> float:
        """Freshness, the mean of the rows of the series."""
        return 100.0 * (self.pages - self.mean_needfresh) / self.pages

    @property
    def sumsize(self) -> int:
        """Bytes at the end."""
        return int(self.traffic[:, -1].sum())

    @property
    def mean_wait(self) -> float | None:
        """Mean time from a change until it was seen."""
        return self.wait_sum / self.waits if self.waits else None

    @property
    def useful(self) -> float:
        """Share of downloads that brought something new."""
        return self.found / self.downloads if self.downloads else 0.0

    def fresh_times(self) -> Array:
        """Return the moments of ``stale`` and ``processing``."""
        return row_times(self.time, self.steps.fresh)

    def traffic_times(self) -> Array:
        """Return the moments of ``traffic``."""
        return row_times(self.time, self.steps.traffic)


def run_robots(
    history: History,
    routes: Routes,
    time: int,
    key: np.uint64,
    *,
    modified: bool,
    steps: Steps | None = None,
) -> Run:
    """Send robots round their routes; modified ones ask with HEAD first. ``key`` names their draws."""
    steps = steps or Steps()
    state = make_state(history)
    measures = make_measures(time, steps.pair(), routes.robots)
    cycles = []
    for robot in range(routes.robots):
        route = routes.pages[routes.starts[robot] : routes.starts[robot + 1]]
        keys = stream(key, robot, "head"), stream(key, robot, "load")
        done = run_robot(state, measures, measures.traffic[robot], route, keys, time, steps.pair(), modified)
        cycles.append(int(done))
    advance_all(state, measures.stale, time, steps.fresh)
    return _result(measures, history, time, steps, cycles=tuple(cycles))


def run_sensor(
    history: History, queries: QueryLog, time: int, key: np.uint64, *, steps: Steps | None = None
) -> Run:
    """Let sensors tell of changed pages when they are asked for. ``key`` names the draws."""
    steps = steps or Steps()
    measures = make_measures(time, steps.pair(), 1)
    processing = np.zeros_like(measures.stale)
    keys = stream(key, "notice"), stream(key, "load")
    most = run_sensors(history, queries, measures, processing, keys, time, steps.pair())
    return _result(measures, history, time, steps, processing=processing.cumsum(), max_processing=most)


def _result(measures: Measures, history: History, time: int, steps: Steps, **measured: Any) -> Run:
    tally = [int(number) for number in measures.tally]
    seen = tally[WAITS] > 0
    rest: dict[str, Any] = {"processing": None, "max_processing": None, "cycles": (), **measured}
    return Run(
        pages=len(history.starts) - 1,
        time=time,
        steps=steps,
        stale=measures.stale.cumsum(),
        traffic=measures.traffic.cumsum(axis=1),
        waits=tally[WAITS],
        wait_sum=tally[WAIT_SUM],
        min_wait=tally[MIN_WAIT] if seen else None,
        max_wait=tally[MAX_WAIT] if seen else None,
        downloads=tally[DOWNLOADS],
        found=tally[FOUND],
        **rest,
    )
