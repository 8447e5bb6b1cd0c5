"""Sources in the crawl: planning by the index, hints of publishers, the budget that workers share."""

from __future__ import annotations

from pathlib import Path
from types import MappingProxyType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scrapy.settings import BaseSettings

from newsbot.config.settings import number_of
from newsbot.crawl.sources import ADJUST_EVERY, GROWING, NOTE, PollBudget
from newsbot.errors import ArgumentError
from newsbot.items import Kind, PageRecord
from newsbot.pages.rules.rule import Rule
from newsbot.recrawl.planning import DEAD_AFTER, DEFAULT_SOURCE_INTERVAL, LONGEST_SOURCE_REST, Outcome, plan
from newsbot.recrawl.policies import SourceIndex, first_threshold
from newsbot.storage.base import SourceRecord
from newsbot.storage.sqlite import SqliteStorage

NOW = 1_799_625_600.0
MINUTE, HOUR, DAY = 60.0, 3600.0, 86400.0
RULE = Rule(domain="example.com", interval=MappingProxyType({Kind.FEED: 10 * MINUTE}))


def record(**fields: object) -> PageRecord:
    return PageRecord(
        url="https://example.com/feed",
        fingerprint=b"0" * 16,
        host="example.com",
        source="example.com",
        kind=Kind.FEED,
        **fields,  # type: ignore[arg-type]
    )


def good(**fields: object) -> Outcome:
    return Outcome(kind=Kind.FEED, status=200, **fields)  # type: ignore[arg-type]


def rest(outcome: Outcome, policy: SourceIndex, now: float = NOW, rule: Rule = RULE) -> float:
    due = plan(record(), outcome, rule, now, policy=policy).next_due
    assert due is not None
    return due - now


@settings(max_examples=60, deadline=None)
@given(
    steps=st.lists(
        st.tuples(
            st.floats(0, 30 * DAY),
            st.integers(0, 100_000),
            st.integers(0, 5000),
            st.one_of(st.none(), st.floats(1, 10**8)),
            st.one_of(st.none(), st.floats(0, 7 * DAY)),
            st.frozensets(st.integers(0, 23)),
        ),
        min_size=1,
        max_size=12,
    ),
    threshold=st.floats(1e-9, 1e12),
    floor=st.floats(0, 60 * DAY),
)
def test_intervals_of_sources_are_limited_for_any_history_and_hints(
    steps: list[tuple[float, int, int, float | None, float | None, frozenset[int]]],
    threshold: float,
    floor: float,
) -> None:
    rule = Rule(domain="example.com", interval=MappingProxyType({Kind.FEED: floor}))
    rhythm: dict[str, object] = {}
    now = NOW
    for gap, new, shown, span, ttl, hours in steps:
        now += gap
        policy = SourceIndex(rhythm, threshold)
        outcome = good(new_items=new, shown=shown, span=span, ttl=ttl, skip_hours=hours, retry_after=ttl)
        assert 300 - 1 <= rest(outcome, policy, now, rule) <= LONGEST_SOURCE_REST + 1e-3
        rhythm = policy.rhythm


def test_the_rate_of_a_new_feed_comes_from_its_dates() -> None:
    slow = SourceIndex({}, 5000.0)
    fast = SourceIndex({}, 5000.0)
    lazy = rest(good(new_items=20, shown=20, span=30 * DAY), slow)
    assert rest(good(new_items=20, shown=20, span=2 * HOUR), fast) < lazy / 2
    assert set(slow.rhythm) >= {"last", "items", "hours", "window"}


@pytest.mark.parametrize("rhythm", [{"items": "x"}, {"hour_items": [1, 2]}, {"last": [], "hours": None}])
def test_damaged_learned_data_is_learned_again(rhythm: dict[str, object]) -> None:
    policy = SourceIndex(rhythm, 5000.0)
    assert 300 <= rest(good(new_items=1), policy) <= LONGEST_SOURCE_REST
    assert isinstance(policy.rhythm["items"], float)


def test_the_interval_of_the_rule_is_the_minimum() -> None:
    assert rest(good(new_items=50, shown=20, span=600.0), SourceIndex({}, 1e-6)) == pytest.approx(600)


def test_hints_of_publishers_are_lower_bounds_up_to_an_hour() -> None:
    for ttl, seconds in ((40 * MINUTE, 40 * MINUTE), (DAY, HOUR), (60.0, 10 * MINUTE)):
        assert rest(good(ttl=ttl), SourceIndex({}, 1e-6)) == pytest.approx(seconds)


def test_the_update_period_of_a_feed_does_not_change_learned_intervals() -> None:
    daily = good(new_items=20, shown=20, span=2 * HOUR, update_period=DAY)
    assert rest(daily, SourceIndex({}, 1e-6)) == pytest.approx(10 * MINUTE)
    known = SourceIndex({}, 5000.0)
    rest(good(new_items=20, shown=20, span=2 * HOUR), known)
    rests = {
        rest(good(new_items=3, shown=20, update_period=one), SourceIndex(known.rhythm, 5000.0), NOW + HOUR)
        for one in (None, 60.0, DAY)
    }
    assert len(rests) == 1


def test_the_update_period_is_used_for_a_new_feed_without_dates() -> None:
    slow = rest(good(new_items=20, shown=20, update_period=DAY), SourceIndex({}, 5000.0))
    assert rest(good(new_items=20, shown=20, update_period=600.0), SourceIndex({}, 5000.0)) < slow / 2


def test_skip_hours_of_a_feed_are_respected() -> None:
    outcome = good(skip_hours=frozenset({0, 1, 2}))  # NOW is midnight
    assert rest(outcome, SourceIndex({}, 1e-6)) == pytest.approx(3 * HOUR)
    assert rest(good(skip_hours=frozenset(range(24))), SourceIndex({}, 1e-6)) == pytest.approx(600)


def test_failing_sources_are_retried_at_different_times() -> None:
    failed = Outcome(kind=Kind.FEED, error="timeout")
    early = plan(record(failures=3), failed, RULE, NOW, jitter=0.0).next_due
    late = plan(record(failures=3), failed, RULE, NOW, jitter=1.0).next_due
    assert early == NOW + 0.8 * 40 * MINUTE
    assert late == NOW + 1.2 * 40 * MINUTE


def test_a_failure_does_not_change_the_learned_rates() -> None:
    policy = SourceIndex({"items": 3.0}, 5000.0)
    plan(record(failures=1), Outcome(kind=Kind.FEED, error="timeout"), RULE, NOW, policy=policy)
    assert policy.rhythm == {"items": 3.0}


# --- the budget
def test_workers_share_one_threshold_that_meets_the_budget(tmp_path: Path) -> None:
    storage, other = SqliteStorage(tmp_path / "n.db"), SqliteStorage(tmp_path / "n.db")
    sources = [SourceRecord(url=f"https://{n}.org/f", source=f"{n}.org", kind=Kind.FEED) for n in range(10)]
    dead = SourceRecord(url="https://x.org/f", source="x.org", kind=Kind.FEED, failures=DEAD_AFTER)
    storage.sources.save([*sources, dead])
    clock = [NOW]
    one, two = PollBudget(20.0, lambda: clock[0]), PollBudget(20.0, lambda: clock[0])
    first = one.threshold(storage)
    assert first == two.threshold(other) == first_threshold(20.0, 10)
    for _step in range(100):  # three times as many polls as the budget allows
        clock[0] += ADJUST_EVERY
        storage.activity.add(clock[0] - 1, {f"{n}.org": {"polls": 1} for n in range(10)})
        assert one.threshold(storage) == two.threshold(other)
    assert first * 1.2 < one.threshold(storage) < first * 3
    assert PollBudget(0.0, lambda: NOW).threshold(SqliteStorage(tmp_path / "m.db")) > 0
    storage.notes.save(*NOTE, {"value": "broken", "at": None, "spent": -1})
    assert PollBudget(20.0, lambda: clock[0]).threshold(storage) == first_threshold(20.0, 10)
    storage.close()
    other.close()


@pytest.mark.parametrize("budget", [20.0, 0.0])
def test_later_sources_share_the_budget_immediately(tmp_path: Path, budget: float) -> None:
    storage = SqliteStorage(tmp_path / "n.db")
    clock = [NOW]
    shared = PollBudget(budget, lambda: clock[0])
    alone = shared.threshold(storage)  # the first source, before its record is written
    storage.sources.save(
        [SourceRecord(url=f"https://{n}.org/f", source=f"{n}.org", kind=Kind.FEED) for n in range(100)]
    )
    clock[0] += GROWING
    grown = shared.threshold(storage)
    assert grown == pytest.approx(first_threshold(budget or 200.0, 100))
    assert grown == pytest.approx(alone * (10_000 if budget else 1))
    assert PollBudget(2 * budget, lambda: clock[0]).threshold(storage) == pytest.approx(
        grown / 4 if budget else grown
    )
    storage.close()


@pytest.mark.parametrize("value", ["many", "-1", "nan", "inf"])
def test_an_invalid_budget_is_refused_with_the_name_of_the_setting(value: str) -> None:
    with pytest.raises(ArgumentError, match="NEWSBOT_POLL_BUDGET"):
        number_of(BaseSettings({"NEWSBOT_POLL_BUDGET": value}), "NEWSBOT_POLL_BUDGET")
    assert number_of(BaseSettings({"NEWSBOT_POLL_BUDGET": "120"}), "NEWSBOT_POLL_BUDGET") == 120.0


@pytest.mark.parametrize(("interval", "rest"), [({Kind.FEED: 60.0}, 60.0), ({}, DEFAULT_SOURCE_INTERVAL)])
def test_a_new_source_that_is_still_empty_is_polled_at_its_interval(
    interval: dict[Kind, float], rest: float
) -> None:
    rule = Rule(domain="a.test", interval=interval)
    empty = good()
    index = SourceIndex({}, 20_000.0)
    known = record(first_seen=NOW)
    for minutes in range(3):
        assert index.interval(known, empty, rule, NOW + 60 * minutes) == rest
    assert index.interval(known, empty, rule, NOW + 2 * DAY) > 60, "it is not new any more"
    index.interval(known, good(new_items=20, shown=20), rule, NOW + 300)
    assert index.interval(known, empty, rule, NOW + 600) > 60, "it has shown items"
