"""Distributing a budget of visits: published values, inequalities for all rates, a simulated check."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from newsbot.apps.simulator import strategies as a
from newsbot.apps.simulator.model import make_queries, stream

RATES = st.lists(st.floats(0.01, 100), min_size=1, max_size=8)
BUDGETS = st.floats(0.1, 100)


def test_the_published_optimum() -> None:
    """Table 2 of Cho and Garcia-Molina: five pages that change 1 to 5 times a day, five visits per day."""
    assert a.freshest([1, 2, 3, 4, 5], 5) == pytest.approx([1.15, 1.36, 1.35, 1.14, 0.0], abs=0.005)


@settings(max_examples=10, deadline=None)
@given(RATES, BUDGETS)
@example([19.0, 0.03125], 1.0)
def test_freshness_of_proportional_is_at_most_uniform_and_at_most_the_optimum(rates, budget) -> None:
    proportional, uniform, best = (
        a.freshness(rates, share(rates, budget)).mean() for share in (a.proportional, a.uniform, a.freshest)
    )
    assert proportional <= uniform + 1e-9
    assert uniform <= best + 1e-9


@settings(max_examples=10, deadline=None)
@given(RATES, BUDGETS)
def test_the_optimum_of_age_and_of_random_visits(rates, budget) -> None:
    for share in (a.uniform, a.proportional, a.square_root):
        others = share(rates, budget)
        assert a.age(rates, a.youngest(rates, budget)).mean() <= a.age(rates, others).mean() * (1 + 1e-6)
        assert _fresh(rates, a.freshest_random(rates, budget)) >= _fresh(rates, others) - 1e-9


def _fresh(rates, visits) -> float:
    """Return the share of time in which copies of pages are up to date, for visits at random moments."""
    known, often = np.asarray(rates, float), np.asarray(visits, float)
    return float((often / (often + known)).mean())


@settings(max_examples=10, deadline=None)
@given(RATES, BUDGETS)
def test_delay_of_uniform_proportional_and_square_root(rates, budget) -> None:
    """Uniform and proportional have equal delays; that of square-root is (E√λ)² / Eλ times as long."""
    uniform, proportional, root = (
        a.mean_delay(rates, share(rates, budget)) for share in (a.uniform, a.proportional, a.square_root)
    )
    assert uniform == pytest.approx(proportional)
    assert uniform == pytest.approx(len(rates) / (2 * budget))
    assert root == pytest.approx(uniform * np.sqrt(rates).mean() ** 2 / np.mean(rates))


@settings(max_examples=10, deadline=None)
@given(RATES, BUDGETS)
def test_the_budget_is_spent(rates, budget) -> None:
    for share in (a.uniform, a.proportional, a.square_root, a.freshest, a.youngest, a.freshest_random):
        visits = share(rates, budget)
        assert visits.sum() == pytest.approx(budget)
        assert (visits >= 0).all()


@pytest.mark.parametrize("x", [0.2, 1.0, 4.0])
def test_freshness_age_and_delay_as_simulated(x: float) -> None:
    """Pages with x changes per visit at equal intervals; changes from the simulator's own log."""
    pages, rounds, interval = 400, 100, 10_000
    log = make_queries(pages, rounds * interval, x * rounds, stream("changes", x))
    times = log.times[(log.times > 0) & (log.times < rounds * interval)]
    page = np.repeat(np.arange(pages), np.diff(log.starts))[(log.times > 0) & (log.times < rounds * interval)]
    cell, left = page * rounds + times // interval, interval - times % interval
    stale = np.zeros(pages * rounds)
    np.maximum.at(stale, cell, left)  # the first change of a round waits longest
    rate = x / interval
    visits = [1 / interval]
    assert 1 - stale.mean() / interval == pytest.approx(a.freshness([rate], visits)[0], abs=0.005)
    assert (stale**2 / 2).mean() / interval == pytest.approx(a.age([rate], visits)[0], rel=0.02)
    assert left.mean() == pytest.approx(a.mean_delay([rate], visits), rel=0.02)


@pytest.mark.parametrize("budget", [1e-12, 1e-3, 1e6])
def test_budgets_far_from_the_rates(budget: float) -> None:
    rates = [0.5, 2.0, 2.0, 30.0]
    for share in (a.freshest, a.freshest_random):
        visits = share(rates, budget)
        assert visits.sum() == pytest.approx(budget, rel=1e-3)
        if budget < 1:
            assert visits[1:].tolist() == [0, 0, 0]


def test_sources_without_visits() -> None:
    assert a.freshness([1.0], [0.0])[0] == 0
    assert a.age([1.0], [0.0])[0] == np.inf
    assert a.mean_delay([1.0], [0.0]) == np.inf


@pytest.mark.parametrize(("rates", "budget"), [([], 1), ([0.0], 1), ([-1.0], 1), ([np.nan], 1), ([1.0], 0)])
def test_invalid_values_are_refused(rates, budget) -> None:
    with pytest.raises(ValueError, match="above 0"):
        a.freshest(rates, budget)
