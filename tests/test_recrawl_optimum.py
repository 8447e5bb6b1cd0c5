"""Estimated change rates from yes/no observations, and the closed form for distributing visits."""

from __future__ import annotations

import math
from types import MappingProxyType

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from newsbot.apps.simulator.strategies import freshest_random
from newsbot.crawl.sources import ANEW_AFTER, PagePrices
from newsbot.items import Kind, PageRecord
from newsbot.pages.rules.rule import Rule
from newsbot.recrawl.planning import Outcome
from newsbot.recrawl.policies import LONGEST_REST, Optimum, change_rate, number_for, observations, rough_rate
from newsbot.storage.sqlite import SqliteStorage

NOW = 1_800_000_000.0
HOUR, DAY = 3600.0, 86400.0
RULE = Rule(domain="example.com", interval=MappingProxyType({Kind.OTHER: HOUR}))


def record(number: int = 0, **fields: object) -> PageRecord:
    return PageRecord(
        url=f"https://example.com/{number}",
        fingerprint=number.to_bytes(16, "big"),
        host="example.com",
        source="example.com",
        kind=Kind.OTHER,
        **fields,  # type: ignore[arg-type]
    )


@pytest.mark.parametrize(("count", "changes"), [(1, 1), (10, 3), (10, 10), (40, 1)])
def test_equal_intervals_give_the_published_estimate(count: int, changes: int) -> None:
    seen = [(2.0, number < changes) for number in range(count)]
    assert change_rate(seen) == pytest.approx(-math.log((count - changes + 0.5) / (count + 0.5)) / 2)


def test_no_change_is_a_rate_of_zero_and_invalid_intervals_are_refused() -> None:
    assert change_rate([]) == 0.0
    assert change_rate([(5.0, False)] * 3) == 0.0
    for distance in (0.0, -1.0, math.nan, math.inf):
        with pytest.raises(ValueError, match="above 0"):
            change_rate([(distance, True)])


def test_the_estimate_for_irregular_intervals_is_unbiased() -> None:
    draw = np.random.default_rng(1)
    rate, found, counted = 1.5, [], []
    for _page in range(600):
        distances = draw.uniform(0.2, 2.0, 20)
        seen = draw.uniform(size=20) < -np.expm1(-rate * distances)
        pairs = list(zip(distances.tolist(), seen.tolist(), strict=True))
        found.append(change_rate(pairs))
        counted.append(seen.sum() / distances.sum())
    assert np.mean(found) == pytest.approx(rate, rel=0.04)
    assert np.mean(counted) < 0.6 * rate


def test_the_last_visits_of_a_page_are_kept_and_older_visits_are_counted() -> None:
    history = [
        {"at": NOW - 3 * HOUR, "event": "planned", "changed": True},
        {"at": NOW - HOUR, "event": "planned", "changed": False},
    ]
    page = record(first_seen=NOW - 11 * HOUR, checks=7, changes=4, history=history)
    found = observations(page, NOW, True)
    assert found[-2:] == [(2 * HOUR, False), (HOUR, True)]
    assert found[:-2] == [(2 * HOUR, True), (2 * HOUR, True), (2 * HOUR, True), (2 * HOUR, False)]
    assert observations(record(checks=1), NOW, None) == []


def test_the_shares_match_the_closed_form_of_the_simulator() -> None:
    rates = [0.1, 0.5, 1.0, 4.0, 90.0]
    number = number_for(rates, 1.2)
    visits = [max(0.0, number * math.sqrt(rate) - rate) for rate in rates]
    assert visits == pytest.approx(freshest_random(rates, 6.0).tolist())
    assert sum(visits) == pytest.approx(6.0)
    assert visits[-1] == 0
    assert number_for([0.0, *rates], 1.0) == pytest.approx(number_for(rates, 1.2))
    assert number_for([0.0], 1.0) == 0.0
    for bad in (([], 1.0), ([1.0], 0.0), ([1.0], math.nan)):
        with pytest.raises(ValueError, match="needed"):
            number_for(*bad)


def test_intervals_depend_on_the_rate_within_the_limits() -> None:
    page = Outcome(kind=Kind.OTHER, status=200, changed=True, is_article=False)
    same = Outcome(kind=Kind.OTHER, status=304, not_modified=True, is_article=False)
    known = record(first_seen=NOW - 20 * DAY, checks=21, changes=5)
    seen = observations(known, NOW, True)
    rate = change_rate(seen)
    number = 2 * math.sqrt(rate)
    assert Optimum(number, 1 / DAY).interval(known, page, RULE, NOW) == pytest.approx(max(HOUR, 1 / rate))
    assert Optimum(1e-9, 1 / DAY).interval(known, page, RULE, NOW) == LONGEST_REST
    assert Optimum(1e9, 1 / DAY).interval(known, page, RULE, NOW) == HOUR
    assert Optimum(number, 1 / DAY).interval(record(checks=1), page, RULE, NOW) == DAY
    still = record(first_seen=NOW - 20 * DAY, checks=21)
    supposed = 0.5 / (21 * DAY)
    expected = 1 / (number * math.sqrt(supposed) - supposed)
    assert Optimum(number, 1 / DAY).interval(still, same, RULE, NOW) == pytest.approx(expected)


@given(
    rates=st.lists(st.floats(1e-9, 1e-3), min_size=1, max_size=30),
    visits=st.floats(0.01, 20.0),
    ages=st.lists(st.floats(0.01, 3000.0), min_size=2, max_size=8),
)
def test_the_interval_of_an_unchanged_page_grows_up_to_a_limit(
    rates: list[float], visits: float, ages: list[float]
) -> None:
    each = visits / DAY
    policy = Optimum(number_for(rates, each), each)
    same = Outcome(kind=Kind.OTHER, status=304, not_modified=True, is_article=False)
    rule = Rule(domain="example.com")
    rests = [
        policy.interval(record(first_seen=NOW - age * DAY, checks=2), same, rule, NOW) for age in sorted(ages)
    ]
    assert rests == sorted(rests), "the interval grows with the time without changes"
    assert rests[-1] <= LONGEST_REST
    first = policy.interval(record(first_seen=NOW - 60.0, checks=2), same, rule, NOW)
    assert first <= min(LONGEST_REST, 1.2 / each), "after two visits it has the interval of the average page"


def test_the_number_of_a_site_is_computed_from_its_pages_once_an_hour(tmp_path) -> None:
    storage = SqliteStorage(tmp_path / "n.db")
    pages = [
        record(n, first_seen=NOW - 10 * DAY, last_fetched=NOW, checks=11, changes=n, state="done")
        for n in range(1, 10)
    ]
    storage.pages.discover(pages)
    storage.pages.save(pages)
    clock = [NOW]
    prices = PagePrices(0.5, lambda: clock[0])
    policy = prices.policy(storage, "example.com", Kind.OTHER)
    rates = [rate for page in pages if (rate := rough_rate(page, 0.5 / DAY)) is not None]
    assert len(rates) == 9
    page = Outcome(kind=Kind.OTHER, status=200, changed=True, is_article=False)
    expected = Optimum(number_for(rates, 0.5 / DAY), 0.5 / DAY).interval(pages[4], page, RULE, NOW)
    assert policy.interval(pages[4], page, RULE, NOW) == pytest.approx(expected)
    clock[0] += ANEW_AFTER - 1
    assert prices.policy(storage, "example.com", Kind.OTHER) is policy
    clock[0] += 2
    assert prices.policy(storage, "example.com", Kind.OTHER) is not policy
    empty = prices.policy(storage, "other.com", Kind.OTHER)
    assert empty.interval(None, page, RULE, NOW) == 2 * DAY
    storage.close()
