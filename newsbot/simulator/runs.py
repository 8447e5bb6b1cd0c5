"""Runs robots or sensors on a history of pages, and returns the measurements."""

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
    """The measurements of a run. Times are in units of 100 ms."""

    pages: int
    time: int
    """Length of the run."""
    steps: Steps
    stale: Array
    """Number of pages with a change that was not seen yet, at the times of :meth:`fresh_times`."""
    traffic: Array
    """Number of bytes downloaded up to each of the times of :meth:`traffic_times`.

    There is one row per robot, or one row for all sensors.
    """
    processing: Array | None = None
    """Number of running downloads of sensors, at the times of :meth:`fresh_times`."""
    waits: int
    """Number of changes that were seen."""
    wait_sum: int
    """Sum of the times from a change until it was seen."""
    min_wait: int | None
    max_wait: int | None
    downloads: int
    """Number of downloads of available pages that ended before the end of the run."""
    found: int
    """Number of those downloads that brought new content."""
    cycles: tuple[int, ...] = ()
    """Number of complete rounds of each robot."""
    max_processing: int | None = None
    """Largest number of simultaneous downloads of sensors."""

    @property
    def needfresh(self) -> int:
        """Number of stale pages at the end."""
        return int(self.stale[-1])

    @property
    def freshness(self) -> float:
        """Percentage of pages whose known state is their true state, at the end."""
        return 100.0 * (self.pages - self.needfresh) / self.pages

    @property
    def mean_freshness(self) -> float:
        """Mean of the freshness over the rows of the series, in percent."""
        return 100.0 * (self.pages - float(self.stale.mean())) / self.pages

    @property
    def sumsize(self) -> int:
        """Bytes of all downloads."""
        return int(self.traffic[:, -1].sum())

    @property
    def mean_wait(self) -> float | None:
        """Mean time from a change until it was seen; None if no change was seen."""
        return self.wait_sum / self.waits if self.waits else None

    @property
    def useful(self) -> float:
        """Share of downloads that brought new content, from 0 to 1."""
        return self.found / self.downloads if self.downloads else 0.0

    def fresh_times(self) -> Array:
        """Return the times of the rows of ``stale`` and ``processing``."""
        return row_times(self.time, self.steps.fresh)

    def traffic_times(self) -> Array:
        """Return the times of the rows of ``traffic``."""
        return row_times(self.time, self.steps.traffic)


def run_robots(
    history: History, routes: Routes, time: int, key: np.uint64, *, modified: bool, steps: Steps | None = None
) -> Run:
    """Run robots on their routes for ``time`` units. Modified robots send HEAD before GET.

    ``key`` is the key of the random draws. Robots do not influence each other.
    """
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
    """Run sensors for ``time`` units. A sensor reports a changed page when a visitor requests it.

    ``key`` is the key of the random draws.
    """
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
        # the rows of series are differences until now
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
