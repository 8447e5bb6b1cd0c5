"""The generated feeds of the benchmarks, compared with closed forms and a simple simulation of one feed."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from newsbot.recrawl.planning import DAY, HOUR
from testbed.feed_world import FeedWorld, Fixed, WorldSettings, judge, make_world, policies, run_policy

SMALL = WorldSettings(feeds=150, days=28, median=10.0, sigma=1.2)


@pytest.fixture(scope="module")
def world() -> FeedWorld:
    return make_world(SMALL, np.random.default_rng(5))


def starts(world: FeedWorld, interval: float) -> np.ndarray:
    return np.random.default_rng(6).uniform(0, interval, world.settings.feeds)


def test_the_same_seed_gives_the_same_world(world: FeedWorld) -> None:
    again = make_world(SMALL, np.random.default_rng(5))
    assert np.array_equal(world.moments, again.moments)
    assert not np.array_equal(world.moments[:50], make_world(SMALL, np.random.default_rng(6)).moments[:50])


def test_the_number_of_items_matches_the_rates() -> None:
    calm = dataclasses.replace(SMALL, bursts=0.0)
    world = make_world(calm, np.random.default_rng(7))
    expected = world.hourly.sum() * calm.days / 7
    assert len(world.moments) == pytest.approx(expected, rel=0.03)
    busy = make_world(dataclasses.replace(calm, bursts=3.0), np.random.default_rng(7))
    assert len(busy.moments) > 1.05 * len(world.moments)


def test_rates_depend_on_the_hour_of_the_week(world: FeedWorld) -> None:
    thursday_noon = np.array([12 * HOUR])  # the epoch was a Thursday
    assert world.rates(np.array([4]), thursday_noon, 2)[0] == pytest.approx(world.hourly[4, [84, 85]])
    sunday_night = np.array([3 * DAY + 23 * HOUR])
    assert world.rates(np.array([4]), sunday_night, 2)[0] == pytest.approx(world.hourly[4, [167, 0]])


def test_equal_intervals_give_half_an_interval_and_the_losses_of_a_simple_simulation(
    world: FeedWorld,
) -> None:
    first = starts(world, 2 * HOUR)
    polls = run_policy(world, Fixed(2 * HOUR), first)
    found = judge(world, polls, 7 * DAY)
    assert found.mean == pytest.approx(HOUR, rel=0.03)
    assert found.p95 == pytest.approx(0.95 * 2 * HOUR, rel=0.03)
    assert found.polls == pytest.approx(12, rel=0.01)
    whole = judge(world, polls, 0.0)
    lost = 0
    for row in range(world.settings.feeds):
        items = world.moments[world.first[row] : world.first[row + 1]]
        new = np.diff(np.searchsorted(items, polls.at[polls.rows == row]), prepend=0)
        lost += np.maximum(new - world.settings.window, 0).sum()
    assert lost > 0
    assert whole.lost == pytest.approx(lost / len(world.moments))


def test_every_policy_meets_the_budget_and_newsbots_is_the_best(world: FeedWorld) -> None:
    found = {}
    for name, make in policies(world, 12):
        found[name] = judge(world, run_policy(world, make(), starts(world, 2 * HOUR)), 14 * DAY)
    assert [name for name, one in found.items() if not 11.2 < one.polls < 12.4] == []
    ours = found["newsbot"]
    assert ours.mean < 0.7 * found["fixed"].mean
    assert ours.mean < 1.15 * found["true_rate"].mean
    assert ours.lost < 0.5 * found["fixed"].lost
    assert ours.lost <= found["square_root"].lost
    assert ours.over_12h == 0
