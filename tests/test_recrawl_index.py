"""The square-root index: closed forms, the window, bounds for all inputs, the budget."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from newsbot.apps.simulator.site_world import PollPolicy
from newsbot.apps.simulator.strategies import MinifluxType, NutchType
from newsbot.recrawl.planning import DAY, HOUR, LONGEST, SHORTEST, Array, Polled, Rows
from newsbot.recrawl.policies import Controller, Rhythm, SquareRootIndex

MONDAY = 1_799_625_600.0
"""Midnight, UTC."""
ONE = np.zeros(1, np.intp)


class FixedRates:
    """Returns the given rates."""

    def __init__(self, *by_hour: float) -> None:
        self.by_hour = by_hour

    def rates(self, rows: Rows, at: Array, hours: int) -> Array:
        hour = (at // HOUR).astype(int)[:, None] + np.arange(hours)
        return np.asarray(self.by_hour)[hour % len(self.by_hour)] * np.ones((len(rows), 1))


def polled(at: float, new: float = 0, shown: float = 0, row: int = 0) -> Polled:
    return Polled(np.array([row]), np.array([at]), np.array([float(new)]), np.array([float(shown)]))


def held(value: float) -> Controller:
    return Controller(1.0, value, 0.5)


def rest(policy: PollPolicy, at: float, new: float = 0, shown: float = 0) -> float:
    return float(policy.next_polls(polled(at, new, shown))[0]) - at


@pytest.mark.parametrize("rate", [0.5, 2.0, 20.0])
def test_at_a_constant_rate_intervals_are_proportional_to_the_inverse_root(rate: float) -> None:
    policy = SquareRootIndex(1, held(5000.0), known=FixedRates(rate))
    assert rest(policy, MONDAY + 1234) == pytest.approx(math.sqrt(2 * 5000.0 / (rate / HOUR)))


def test_a_source_is_not_polled_in_hours_without_items() -> None:
    night = [0.0] * 5 + [6.0] * 19
    policy = SquareRootIndex(1, held(10_000.0), known=FixedRates(*night))
    begin = MONDAY + 1.5 * HOUR
    # U grows only from 5 o'clock: 12,600 s after the poll
    expected = math.sqrt((3.5 * HOUR) ** 2 + 2 * 10_000 / (6 / HOUR))
    assert rest(policy, begin) == pytest.approx(expected)


def test_a_feed_with_a_burst_is_polled_sooner_and_a_busy_feed_is_not() -> None:
    bursts, full, busy = (SquareRootIndex(1, held(20_000.0)) for _ in range(3))
    at = MONDAY
    for _ in range(48):
        at += HOUR
        calm, usual = rest(bursts, at, 0, 40), rest(busy, at, 6, 40)
        rest(full, at, 0, 40)
    at += HOUR
    assert rest(busy, at, 6, 40) == pytest.approx(usual, rel=0.05)
    assert rest(full, at, 40, 40) == SHORTEST
    assert rest(bursts, at, 20, 40) == pytest.approx(0.2 * 40 / 20 * HOUR, rel=0.01)
    assert rest(bursts, at + 1200, 20, 40) == pytest.approx(0.5 * 40 / 20 * 1200, rel=0.1)
    assert 1200 < rest(bursts, at + 2400, 0, 40) < calm, "the burst is over"


def test_a_source_is_polled_before_items_leave_its_window() -> None:
    plain = SquareRootIndex(1, held(1e9), known=FixedRates(30.0), plain=True)
    careful = SquareRootIndex(1, held(1e9), known=FixedRates(30.0))
    assert rest(plain, MONDAY, shown=20) == LONGEST
    found = rest(careful, MONDAY, shown=20)
    expected = 30 * found / HOUR
    assert expected + 2.5 * math.sqrt(expected) == pytest.approx(20)


def test_a_full_window_of_new_items_shortens_the_interval() -> None:
    calm, flooded = SquareRootIndex(1, held(3e3)), SquareRootIndex(1, held(3e3))
    for policy in (calm, flooded):
        for hour in range(200):
            policy.next_polls(polled(MONDAY + hour * HOUR, 2, 20))
    later = MONDAY + 200 * HOUR
    assert rest(flooded, later, 20, 20) < rest(calm, later, 2, 20)


@given(
    gaps=st.lists(st.floats(0, 40 * DAY), max_size=25),
    counts=st.lists(st.integers(0, 100_000), min_size=26, max_size=26),
    shown=st.integers(0, 1000),
    threshold=st.floats(1e-9, 1e12),
)
def test_intervals_are_within_the_limits_for_any_history(
    gaps: list[float], counts: list[int], shown: int, threshold: float
) -> None:
    policy = SquareRootIndex(1, held(threshold))
    at = MONDAY
    for gap, count in zip([0.0, *gaps], counts, strict=False):
        at += gap
        found = rest(policy, at, count, shown)
        assert SHORTEST - 1e-3 <= found <= LONGEST + 1e-3
    kept = json.loads(json.dumps(policy.as_note(0), allow_nan=False))
    again = SquareRootIndex(1, held(threshold))
    again.take_note(0, kept)
    assert SHORTEST - 1e-3 <= rest(again, at + 60, 1, shown) <= LONGEST + 1e-3


def test_learned_rates_are_unchanged_after_writing_and_reading() -> None:
    policy = SquareRootIndex(2, held(4000.0))
    for hour in range(300):
        policy.next_polls(polled(MONDAY + hour * HOUR, 3 if 8 <= hour % 24 < 20 else 0, 20))
    again = SquareRootIndex(2, held(4000.0))
    again.take_note(1, json.loads(json.dumps(policy.as_note(0))))
    at = MONDAY + 300 * HOUR + 5
    expected = policy.next_polls(polled(at, 1, 20))
    assert again.next_polls(polled(at, 1, 20, row=1)) == pytest.approx(expected, abs=1.0)


@pytest.mark.parametrize(
    "note", [{"items": -1.0}, {"hour_items": [1.0]}, {"hours": float("nan")}, {"last": "x"}]
)
def test_invalid_notes_are_refused(note: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"not|could not"):
        SquareRootIndex(1, held(1.0)).take_note(0, note)


def test_hours_and_days_are_learned_slowly_from_little_evidence() -> None:
    rhythm = Rhythm(2)
    draw = np.random.default_rng(3)
    for hour in range(24 * 42):
        at = MONDAY + hour * HOUR
        rate = (9.0 if 9 <= hour % 24 < 17 else 1.0) * (0.3 if hour // 24 % 7 >= 5 else 1.0)
        rhythm.learn(ONE, np.array([at]), np.array([at + HOUR]), draw.poisson(rate, 1).astype(float))
    by_hour, by_day = rhythm.weights(np.arange(2))
    assert by_hour[0, 13] / by_hour[0, 2] > 5
    assert by_day[0, 6] / by_day[0, 1] == pytest.approx(0.3, abs=0.12)
    assert np.all(by_hour[1] == 1)
    assert np.all(by_day[1] == 1)
    rhythm.learn(ONE + 1, np.array([MONDAY]), np.array([MONDAY + HOUR]), np.array([1.0]))
    assert np.abs(rhythm.weights(ONE + 1)[1] - 1).max() < 0.1


def test_a_rate_that_stops_is_forgotten_with_a_half_life_of_a_week() -> None:
    rhythm = Rhythm(1)
    at = MONDAY
    for _day in range(60):
        rhythm.learn(ONE, np.array([at]), np.array([at + DAY]), np.array([240.0]))
        at += DAY
    before = rhythm.level(ONE)[0]
    for _day in range(7):
        rhythm.learn(ONE, np.array([at]), np.array([at + DAY]), np.array([0.0]))
        at += DAY
    assert rhythm.level(ONE)[0] / before == pytest.approx(0.5, abs=0.03)


def test_the_controller_meets_its_budget_permanently() -> None:
    controller = Controller(100.0, 1.0, 0.5)
    for hour in range(24 * 30):
        wave = 1 + 0.6 * math.sin(2 * math.pi * hour / 24)
        controller.spend(5000.0 * wave / math.sqrt(controller.value), 1.0)
    assert 5000.0 / math.sqrt(controller.value) == pytest.approx(100.0, rel=0.06)


@pytest.mark.parametrize("values", [(0, 1, 1), (1, 0, 1), (1, 1, 0), (math.inf, 1, 1)])
def test_invalid_budgets_are_refused(values: tuple[float, float, float]) -> None:
    with pytest.raises(ValueError, match="must be numbers"):
        Controller(*values)


def test_other_policies_behave_like_their_models() -> None:
    nutch = NutchType(1, Controller(1.0, 0.4, 0.5), 1000.0)
    assert rest(nutch, MONDAY, 1) == pytest.approx(800.0)
    assert rest(nutch, MONDAY + 800, 0) == pytest.approx(1120.0)
    miniflux = MinifluxType(1, Controller(1.0, 1.0, 1.0))
    assert rest(miniflux, MONDAY, 500) == DAY  # the items of the first poll are not counted
    for day in range(1, 7):
        miniflux.next_polls(polled(MONDAY + day * DAY, 4))
    assert rest(miniflux, MONDAY + 6.5 * DAY, 4) == pytest.approx(7 * DAY / 28)
    assert rest(miniflux, MONDAY + 40 * DAY, 14) == pytest.approx(7 * DAY / 14)
