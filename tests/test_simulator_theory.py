"""The simulator's results agree with theory where it has a closed form.

Cyclic and random revisits: Cho and Garcia-Molina, "Effective page refresh policies for web crawlers",
ACM TODS 28 (2003).
Fields in these tests have one type of change (pages grow), so every event is a change and every page is
available.
"""

from __future__ import annotations

from math import exp

import numpy as np
import pytest

from newsbot.apps.simulator.model import (
    FREQUENCIES,
    History,
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

GROWS_ONLY = (0.0, 0.0, 0.0, 0.0, 1.0, 0.0)
PAGES = 4_000
LOAD, NOTICE = 20.5, 2.0
"""Mean duration of a download and of a notice."""


def make_history(time: int, intensity: float, frequencies: tuple[float, ...] = GROWS_ONLY) -> History:
    sizes = make_pages(PAGES, stream("pages"))
    return pack(sizes, make_changes(sizes, time, intensity, frequencies, stream("changes", intensity)), time)


def steady(run: Run, since: float) -> float:
    """Return the mean freshness from ``since`` on, between 0 and 1."""
    rows = run.stale[run.fresh_times() >= since]
    return float(1 - rows.mean() / run.pages)


@pytest.mark.parametrize("x", [0.1, 1.0, 3.0, 8.0])
def test_cyclic_revisits(x: float) -> None:
    """Freshness is (1 - e^-x) / x for x changes per round. The mean wait of changes is checked, too."""
    interval = PAGES * LOAD
    rounds = 12
    time = int(rounds * interval)
    run = run_robots(
        make_history(time, x * rounds), make_routes(PAGES, 1), time, stream("robot"), modified=False,
        steps=Steps(1_000, 10_000),
    )  # fmt: skip
    assert steady(run, 2 * interval) == pytest.approx((1 - exp(-x)) / x, abs=0.006)
    # If a page has changed, its round ends I - E[first change] after the change on average. The first
    # round begins with all pages known and reaches most of them early.
    change = x / interval
    expected = (interval - (1 - exp(-x)) / change) / (1 - exp(-x))
    assert run.mean_wait == pytest.approx(expected, rel=0.05)
    assert run.useful == pytest.approx(1 - exp(-x), abs=0.05)


@pytest.mark.parametrize("x", [0.1, 1.0, 3.0])
def test_more_robots_make_rounds_shorter(x: float) -> None:
    interval = PAGES * LOAD / 5
    rounds = 12
    time = int(rounds * interval)
    run = run_robots(
        make_history(time, x * rounds), make_routes(PAGES, 5), time, stream("robots"), modified=False,
        steps=Steps(1_000, 10_000),
    )  # fmt: skip
    assert steady(run, 2 * interval) == pytest.approx((1 - exp(-x)) / x, abs=0.006)


@pytest.mark.parametrize(("changes", "queries"), [(20, 5), (20, 20), (20, 100), (5, 100)])
def test_random_revisits(changes: float, queries: float) -> None:
    """Freshness is f / (f + λ) for a sensor that looks at random moments, except for the notice's delay."""
    time = 1_000_000
    history = make_history(time, changes)
    log = make_queries(PAGES, time, queries, stream("queries", queries))
    run = run_sensor(history, log, time, stream("sensor"), steps=Steps(5_000, 10_000))
    fresh, stale = time / changes, time / queries + NOTICE
    assert steady(run, 10 * fresh * stale / (fresh + stale)) == pytest.approx(
        fresh / (fresh + stale), abs=0.006
    )
    if queries >= 20:  # otherwise the end cuts off too many waits
        assert run.mean_wait == pytest.approx(stale, rel=0.06)


def test_the_number_of_concurrent_downloads_matches_a_queue_with_infinite_servers() -> None:
    """M/G/∞: the number in service has a Poisson distribution with the mean arrivals × service time."""
    time = 2_000_000
    log = make_queries(PAGES, time, 400, stream("queries"))
    run = run_sensor(make_history(time, 40), log, time, stream("sensor"), steps=Steps(100, 10_000))
    assert run.processing is not None
    busy = run.processing[run.fresh_times() > time / 10]
    # Each page is downloaded once per change and wait; all pages are available.
    mean = LOAD * PAGES / (time / 40 + time / 400 + NOTICE)
    assert busy.mean() == pytest.approx(mean, rel=0.03)
    assert busy.var() == pytest.approx(mean, rel=0.06)
    counts = np.bincount(busy)[:6] / len(busy)
    poisson = np.exp(-mean) * np.cumprod([1, *(mean / k for k in range(1, 6))])
    assert counts == pytest.approx(poisson, abs=0.02)


def test_conditional_requests_find_the_same_changes_with_less_traffic() -> None:
    """A modified robot loads changed pages only. Its traffic is their number, and its rounds are shorter."""
    time = 1_000_000
    history = make_history(time, 2, FREQUENCIES["published"])
    plain, modified = (
        run_robots(history, make_routes(PAGES, 3), time, stream("robots"), modified=modified)
        for modified in (False, True)
    )
    assert modified.useful == 1
    assert modified.sumsize < 0.2 * plain.sumsize
    assert modified.mean_freshness > plain.mean_freshness
