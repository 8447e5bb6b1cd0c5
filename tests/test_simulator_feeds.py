"""Feeds: what is lost from a window, and what day and night do, against closed forms."""

from __future__ import annotations

from math import exp

import numpy as np
import pytest

from newsbot.simulator.feeds import DAY, EVEN, poll, publish

DAYS = 4_000
NIGHT = (0.0,) * 8 + (1.0,) * 16
"""Nothing from midnight to eight."""


def every(seconds: float, days: float = DAYS) -> np.ndarray:
    return np.arange(1, days * DAY / seconds + 1) * seconds


@pytest.mark.parametrize(("mean", "window"), [(4.0, 3), (10.0, 10), (10.0, 15)])
def test_overflow_of_the_window(mean: float, window: int) -> None:
    """Of X items between two polls max(X - K, 0) are lost; X is Poisson."""
    items = publish(mean, DAYS, np.random.default_rng(1))
    found = poll(items, every(DAY), window)
    chances = exp(-mean) * np.cumprod([1, *(mean / k for k in range(1, 100))])
    expected = (chances * np.maximum(np.arange(100) - window, 0)).sum()
    assert found.lost / DAYS == pytest.approx(expected, rel=0.08)
    assert found.useful / DAYS == pytest.approx(1 - exp(-mean), abs=0.01)
    assert found.published == len(items)


def test_even_publication_waits_half_an_interval() -> None:
    found = poll(publish(10, DAYS, np.random.default_rng(2)), every(3600), 50)
    assert found.lost == 0
    assert found.delays.mean() == pytest.approx(1800, rel=0.02)
    assert found.delays.max() <= 3600


def test_day_and_night_differ_from_the_homogeneous_formula() -> None:
    """With polls at 0, 8 and 16 o'clock, what is found is found by two polls of three."""
    rate, draw = 3.0, np.random.default_rng(3)
    day, even = (poll(publish(rate, DAYS, draw, hours=hours), every(DAY / 3), 50) for hours in (NIGHT, EVEN))
    assert even.useful / (3 * DAYS) == pytest.approx(1 - exp(-1), abs=0.01)
    assert day.useful / (3 * DAYS) == pytest.approx(2 / 3 * (1 - exp(-1.5)), abs=0.01)
    # One poll a day at six in the evening: items of the evening wait over the night.
    evening = np.arange(DAYS) * DAY + 18 * 3600
    hours = np.array([(18 - hour - 0.5) % 24 for hour in range(8, 24)])
    late = poll(publish(rate, DAYS, draw, hours=NIGHT), evening, 50)
    assert late.delays.mean() / 3600 == pytest.approx(hours.mean(), rel=0.02)
    assert abs(late.delays.mean() / 3600 - 12) > 0.7


def test_publication_follows_the_hours() -> None:
    items = publish(5, DAYS, np.random.default_rng(4), hours=NIGHT)
    assert len(items) / DAYS == pytest.approx(5, rel=0.03)
    assert (items % DAY >= 8 * 3600).all()
    assert (np.diff(items) >= 0).all()


def test_a_poll_sees_what_came_before_it() -> None:
    found = poll(np.array([1.0, 2.0, 3.0, 9.0]), np.array([2.0, 2.5, 5.0]), 1)
    assert found.delays.tolist() == [1.0, 0.5, 2.0]
    assert (found.lost, found.waiting, found.useful) == (0, 1, 3)
    assert poll(np.array([1.0, 2.0]), np.array([]), 5).waiting == 2


def test_what_makes_no_sense_is_refused() -> None:
    draw = np.random.default_rng(5)
    for hours in ((0.0,) * 24, (1.0,) * 23, (-1.0,) * 24):
        with pytest.raises(ValueError, match="24 weights"):
            publish(1, 1, draw, hours=hours)
    with pytest.raises(ValueError, match="negative"):
        publish(-1, 1, draw)
    with pytest.raises(ValueError, match="window"):
        poll(np.array([1.0]), np.array([2.0]), 0)
