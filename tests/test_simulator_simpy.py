"""The compiled loops and a plain SimPy model give the same numbers in every series."""

from __future__ import annotations

import numpy as np
import pytest

from newsbot.apps.simulator.model import (
    FREQUENCIES,
    ChangeLog,
    QueryLog,
    Routes,
    Run,
    Steps,
    make_changes,
    make_pages,
    make_queries,
    make_routes,
    pack,
    run_robots,
    run_sensor,
    stream,
)
from tests.simpymodel import Model, as_series

# pages, time, changes, queries, steps: sparse, dense (many events at a time), steps that do not divide time
FIELDS = [
    (40, 8_000, 5.0, 20.0, Steps(50, 100)),
    (30, 300, 60.0, 90.0, Steps(5, 10)),
    (7, 1_001, 100.0, 400.0, Steps(13, 400)),
    (60, 20_000, 0.5, 0.7, Steps(5_000, 10_000)),
]


@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize("robots", [1, 3, 5])
@pytest.mark.parametrize("modified", [False, True])
def test_robots_agree(field, robots: int, modified: bool) -> None:
    pages, time, change, _query, steps = field
    sizes, log = make_field(pages, time, change)
    key = stream("run", robots, modified)
    routes = make_routes(pages, robots)
    run = run_robots(pack(sizes, log, time), routes, time, key, modified=modified, steps=steps)
    model = Model(sizes, log, time, steps.fresh, steps.traffic)
    model.robots(routes, key, modified=modified)
    assert_same(run, model)
    assert list(run.cycles) == model.cycles
    assert run.processing is None


@pytest.mark.parametrize("field", FIELDS)
def test_sensors_agree(field) -> None:
    pages, time, change, query, steps = field
    sizes, log = make_field(pages, time, change)
    queries = make_queries(pages, time, query, stream("queries"))
    assert_sensors_agree(sizes, log, queries, time, steps)


@pytest.mark.parametrize("seed", range(15))
def test_recorded_logs_with_many_simultaneous_rows_agree(seed: int) -> None:
    """Integer times of a few pages: rows at time 0, at the end, beyond it, and many at one time."""
    draw = np.random.default_rng(seed)
    pages, time, steps = 4, 60, Steps(7, 20)
    sizes = draw.integers(0, 1000, pages).astype(np.int32)
    starts, times = rows(draw, pages, time)
    log = ChangeLog(starts, times, draw.integers(1, 7, 400), draw.integers(0, 1000, 400))
    queries = QueryLog(*rows(draw, pages, time))
    assert_sensors_agree(sizes, log, queries, time, steps)
    history = pack(sizes, log, time)
    routes = Routes(np.array([0, 1, 3]), np.array([2, 0, 3]))  # page 1 has no robot
    for modified in (False, True):
        key = stream("run", seed)
        run = run_robots(history, routes, time, key, modified=modified, steps=steps)
        model = Model(sizes, log, time, steps.fresh, steps.traffic)
        model.robots(routes, key, modified=modified)
        assert_same(run, model)
        assert list(run.cycles) == model.cycles


@pytest.mark.parametrize("opens", [None, 40, 60])
def test_a_robot_with_only_unavailable_pages_waits(opens: int | None) -> None:
    """Otherwise the robot would loop endlessly without advancing the time."""
    time = 60
    closed = [(1, 1), (1, 2), (30, 3)]
    rows_ = [closed, [(1, 2)] if opens is None else [(1, 2), (opens, 6)]]
    log = ChangeLog(
        np.array([0, 3, 3 + len(rows_[1])]),
        np.array([moment for page in rows_ for moment, _ in page]),
        np.array([kind for page in rows_ for _, kind in page]),
        np.full(3 + len(rows_[1]), 500),
    )
    sizes, key = np.array([500, 500]), stream("closed")
    run = run_robots(
        pack(sizes, log, time), make_routes(2, 1), time, key, modified=False, steps=Steps(10, 10)
    )
    model = Model(sizes, log, time, 10, 10)
    model.robots(make_routes(2, 1), key, modified=False)
    assert_same(run, model)
    assert list(run.cycles) == model.cycles


def make_field(pages: int, time: int, change: float):
    sizes = make_pages(pages, stream("pages"))
    return sizes, make_changes(sizes, time, change, FREQUENCIES["published"], stream("changes"))


def rows(draw: np.random.Generator, pages: int, time: int):
    page = np.sort(draw.integers(0, pages, 400))
    moments = draw.integers(0, time + 5, 400)
    order = np.lexsort((moments, page))
    return np.searchsorted(page, np.arange(pages + 1)), moments[order]


def assert_sensors_agree(sizes, log: ChangeLog, queries: QueryLog, time: int, steps: Steps) -> None:
    key = stream("sensors")
    run = run_sensor(pack(sizes, log, time), queries, time, key, steps=steps)
    model = Model(sizes, log, time, steps.fresh, steps.traffic)
    model.sensors(queries, key)
    assert_same(run, model)
    assert run.processing is not None
    assert run.processing.tolist() == model.processing_rows
    assert run.max_processing == model.most
    assert run.cycles == ()


def assert_same(run: Run, model: Model) -> None:
    model.run()
    assert run.stale.tolist() == model.stale_rows
    assert run.traffic.tolist() == as_series(model.traffic_rows).tolist()
    assert (run.downloads, run.found, run.waits) == (model.downloads, model.found, len(model.waits))
    assert run.wait_sum == sum(model.waits)
    assert run.min_wait == min(model.waits, default=None)
    assert run.max_wait == max(model.waits, default=None)
