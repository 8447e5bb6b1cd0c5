"""One run of robots or sensors on a history of pages, and its measurements."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from newsbot.simulator.draws import stream
from newsbot.simulator.model import Array, QueryLog, Routes
from newsbot.simulator.page_state import (
    DOWNLOADS,
    FOUND,
    MAX_WAIT,
    MIN_WAIT,
    WAIT_SUM,
    WAITS,
    History,
    Measures,
    Steps,
    advance_all,
    make_measures,
    make_state,
    row_times,
)
from newsbot.simulator.robots import run_robot
from newsbot.simulator.sensors import run_sensors


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """The measurements of a run; rows of series have the moments of ``fresh_times`` or ``traffic_times``."""

    pages: int
    time: int
    steps: Steps
    stale: Array
    """Pages with an unseen change, every ``steps.fresh`` units."""
    traffic: Array
    """Bytes so far, every ``steps.traffic`` units; one row for each robot, or one for all sensors."""
    processing: Array | None = None
    """Downloads of sensors that run, every ``steps.fresh`` units."""
    waits: int
    wait_sum: int
    min_wait: int | None
    max_wait: int | None
    downloads: int
    """Downloads of available pages that ended in time."""
    found: int
    """Downloads among them that brought new content."""
    cycles: tuple[int, ...] = ()
    """Complete rounds of each robot."""
    max_processing: int | None = None
    """The most downloads of sensors at one time."""

    @property
    def needfresh(self) -> int:
        """Stale pages at the end."""
        return int(self.stale[-1])

    @property
    def freshness(self) -> float:
        """Percentage of pages whose known state is their true state at the end."""
        return 100.0 * (self.pages - self.needfresh) / self.pages

    @property
    def mean_freshness(self) -> float:
        """Freshness, the mean over the rows of the series."""
        return 100.0 * (self.pages - float(self.stale.mean())) / self.pages

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
        """Share of downloads that brought new content."""
        return self.found / self.downloads if self.downloads else 0.0

    def fresh_times(self) -> Array:
        """Return the moments of ``stale`` and ``processing``."""
        return row_times(self.time, self.steps.fresh)

    def traffic_times(self) -> Array:
        """Return the moments of ``traffic``."""
        return row_times(self.time, self.steps.traffic)


def run_robots(
    history: History, routes: Routes, time: int, key: np.uint64, *, modified: bool, steps: Steps | None = None
) -> Run:
    """Run robots on their routes; modified robots send HEAD first. ``key``: of their random draws."""
    state = make_state(history)
    measures = make_measures(time, steps or Steps(), routes.robots)
    cycles = []
    for robot in range(routes.robots):
        route = routes.pages[routes.starts[robot] : routes.starts[robot + 1]]
        keys = stream(key, robot, "head"), stream(key, robot, "load")
        cycles.append(int(run_robot(state, measures, measures.traffic[robot], route, keys, modified)))
    advance_all(state, measures)
    return _make_run(history, measures, cycles=tuple(cycles))


def run_sensor(
    history: History, queries: QueryLog, time: int, key: np.uint64, *, steps: Steps | None = None
) -> Run:
    """Run sensors, which report a changed page when it is requested. ``key``: of the random draws."""
    measures = make_measures(time, steps or Steps(), 1)
    most = run_sensors(history, queries, measures, (stream(key, "notice"), stream(key, "load")))
    return _make_run(history, measures, max_processing=most)


def _make_run(
    history: History, measures: Measures, *, cycles: tuple[int, ...] = (), max_processing: int | None = None
) -> Run:
    tally = measures.tally.tolist()
    return Run(
        pages=len(history.starts) - 1,
        time=measures.end,
        steps=measures.steps,
        stale=measures.stale.cumsum(),
        traffic=measures.traffic.cumsum(axis=1),
        processing=None if max_processing is None else measures.processing.cumsum(),
        waits=tally[WAITS],
        wait_sum=tally[WAIT_SUM],
        min_wait=tally[MIN_WAIT] if tally[WAITS] else None,
        max_wait=tally[MAX_WAIT] if tally[WAITS] else None,
        downloads=tally[DOWNLOADS],
        found=tally[FOUND],
        cycles=cycles,
        max_processing=max_processing,
    )
