"""Intervals of articles by age, and of old lists: only the page's own record is used."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from newsbot.items import Kind, PageRecord
from newsbot.pages.rules.rule import RECHECK, Rule
from newsbot.recrawl.planning import Outcome
from newsbot.recrawl.policies import Ladder, seen_change, unchanged_in_a_row

NOW = 1_800_000_000.0
HOUR, DAY = 3600.0, 86400.0
RULE = Rule(domain="example.com", interval=MappingProxyType({Kind.ARTICLE: HOUR, Kind.OTHER: HOUR}))


def record(age: float = 0.0, findings: tuple[bool | None, ...] = (), every: float = HOUR) -> PageRecord:
    count = len(findings)
    history: list[Any] = [
        {"at": NOW - (count - n) * every, "event": "planned"} | ({} if seen is None else {"changed": seen})
        for n, seen in enumerate(findings)
    ]
    return PageRecord(
        url="https://example.com/a",
        fingerprint=b"0" * 16,
        host="example.com",
        source="example.com",
        kind=Kind.ARTICLE,
        first_seen=NOW - age,
        checks=count + 1,
        history=[{"at": NOW - age, "event": "fetched"}, *history],
    )


def article(*, changed: bool | None = None, not_modified: bool = False) -> Outcome:
    status = 304 if not_modified else 200
    return Outcome(kind=Kind.ARTICLE, status=status, changed=changed, not_modified=not_modified)


@pytest.mark.parametrize(
    ("age", "due"),
    [(0, 3 * HOUR), (3 * HOUR, 9 * HOUR), (8.9 * HOUR, 24 * HOUR), (60 * HOUR, 96 * HOUR), (7 * DAY, None)],
)
def test_an_article_is_checked_at_fixed_ages(age: float, due: float | None) -> None:
    rest = Ladder().interval(record(age, (None,)), article(changed=True), RULE, NOW)
    assert rest == (None if due is None else due - age)


def test_a_rule_sets_the_ages_and_the_minimum_interval() -> None:
    rule = Rule(domain="example.com", recheck=(600.0, DAY), interval=RULE.interval)
    assert Ladder().interval(record(), article(), rule, NOW) == HOUR
    assert Ladder().interval(record(HOUR), article(), rule, NOW) == DAY - HOUR
    never = Rule(domain="example.com", recheck=(), interval=RULE.interval)
    assert Ladder().interval(record(), article(), never, NOW) is None


def test_three_unchanged_responses_end_the_checks() -> None:
    same = article(not_modified=True)
    twice = record(30 * HOUR, (None, True, False, False))
    assert unchanged_in_a_row(twice, same) == 3
    assert Ladder().interval(twice, same, RULE, NOW) is None
    assert Ladder().interval(twice, article(changed=True), RULE, NOW) == 20 * HOUR
    edited_between = record(30 * HOUR, (None, False, False, True, False))
    assert Ladder().interval(edited_between, same, RULE, NOW) == 20 * HOUR


def test_the_first_response_is_not_a_change() -> None:
    assert seen_change(article(changed=True), record()) is None
    assert seen_change(article(changed=True), record(DAY, (None,))) is True
    assert seen_change(Outcome(kind=Kind.ARTICLE, status=503), record(DAY, (None,))) is None


@given(age=st.floats(0, 400 * DAY), findings=st.lists(st.sampled_from([None, True, False]), max_size=9))
def test_the_number_of_checks_is_at_most_the_number_of_steps(age: float, findings: list[bool | None]) -> None:
    rest = Ladder().interval(record(age, tuple(findings)), article(changed=True), RULE, NOW)
    assert rest is None or rest >= min(HOUR, RECHECK[0])
    steps = 0
    now, begin = NOW, NOW - age
    while rest is not None:
        now += rest
        steps += 1
        rest = Ladder().interval(record(now - begin, tuple(findings)), article(changed=True), RULE, NOW)
    assert steps <= len(RECHECK)
