"""The plan after a visit: sources, articles, failures, and bounds for every policy."""

from __future__ import annotations

from types import MappingProxyType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from newsbot.items import KINDS, Kind, PageRecord
from newsbot.pages.rules.rule import Rule
from newsbot.recrawl.planning import (
    DEAD_AFTER,
    GIVE_UP_AFTER,
    LONGEST_RETRY_AFTER,
    LONGEST_SOURCE_REST,
    Outcome,
    Plan,
    plan,
    span,
)

NOW = 1_800_000_000.0
MINUTE, HOUR, DAY = 60.0, 3600.0, 86400.0
RULE = Rule(
    domain="example.com",
    interval=MappingProxyType(
        {
            Kind.FEED: 15 * MINUTE,
            Kind.SITEMAP: 30 * MINUTE,
            Kind.SECTION: HOUR,
            Kind.ARTICLE: DAY,
            Kind.OTHER: 7 * DAY,
        }
    ),
)
BARE = Rule(domain="example.com")


def record(**fields: object) -> PageRecord:
    values = {"state": "done", "last_fetched": NOW, "last_full_fetch": NOW, **fields}
    return PageRecord(
        url="https://example.com/a",
        fingerprint=b"0" * 16,
        host="example.com",
        source="example.com",
        kind=Kind.FEED,
        **values,  # type: ignore[arg-type]
    )


def after(outcome: Outcome, rule: Rule = RULE, **fields: object) -> Plan:
    return plan(record(**fields), outcome, rule, NOW)


def rest(decision: Plan) -> float | None:
    return None if decision.next_due is None else decision.next_due - NOW


@pytest.mark.parametrize(
    ("kind", "seconds"), [(Kind.FEED, 15 * MINUTE), (Kind.SITEMAP, 30 * MINUTE), (Kind.SECTION, HOUR)]
)
def test_sources_are_due_after_their_interval(kind: Kind, seconds: float) -> None:
    for outcome in (
        Outcome(kind=kind, status=200, new_items=3),
        Outcome(kind=kind, status=304, not_modified=True),
    ):
        decision = after(outcome)
        assert rest(decision) == seconds
        assert decision.state == "done"


def test_no_rule_makes_an_interval_of_a_source_longer_than_six_hours() -> None:
    lazy = Rule(domain="example.com", interval=MappingProxyType({Kind.FEED: 30 * DAY}))
    assert rest(after(Outcome(kind=Kind.FEED, status=200), lazy)) == 6 * HOUR


@pytest.mark.parametrize("seconds", [MINUTE, 40 * MINUTE, 2 * DAY])
def test_a_fixed_interval_is_used_despite_hints_of_the_publisher(seconds: float) -> None:
    rule = Rule(domain="example.com", interval=MappingProxyType({Kind.FEED: seconds}))
    hints = Outcome(
        kind=Kind.FEED, status=200, max_age=DAY, ttl=DAY, update_period=DAY, skip_hours=frozenset(range(23))
    )
    assert rest(plan(record(), hints, rule, NOW, as_written=True)) == seconds
    limited = Outcome(kind=Kind.FEED, status=200, retry_after=DAY)
    assert rest(plan(record(), limited, rule, NOW, as_written=True)) == max(seconds, DAY)


def test_sources_without_an_interval_are_still_polled() -> None:
    zero = Rule(domain="example.com", interval=MappingProxyType({Kind.FEED: 0.0}))
    for rule in (BARE, zero):
        assert rest(after(Outcome(kind=Kind.FEED, status=200), rule)) == 30 * MINUTE


def test_an_unknown_page_is_planned_too() -> None:
    assert rest(plan(None, Outcome(kind=Kind.FEED, status=200), RULE, NOW)) == 15 * MINUTE
    assert rest(plan(None, Outcome(kind=Kind.FEED, error="dns"), RULE, NOW)) == 15 * MINUTE
    assert rest(plan(None, Outcome(kind=Kind.ARTICLE, status=404), RULE, NOW)) == HOUR


@pytest.mark.parametrize(
    ("failures", "seconds"),
    [(1, 15 * MINUTE), (2, 30 * MINUTE), (3, HOUR), (5, 4 * HOUR), (6, 6 * HOUR), (19, 6 * HOUR), (20, DAY)],
)
def test_failing_sources_back_off_and_dead_sources_are_requested_once_a_day(
    failures: int, seconds: float
) -> None:
    decision = after(Outcome(kind=Kind.FEED, error="timeout"), failures=failures)
    assert rest(decision) == seconds
    assert decision.state == "failed"
    assert "timeout" in decision.reason


def test_a_status_without_an_error_is_a_failure() -> None:
    assert after(Outcome(kind=Kind.FEED, status=503), failures=2).state == "failed"
    assert after(Outcome(kind=Kind.FEED, status=404), failures=2).state == "gone"
    assert rest(after(Outcome(kind=Kind.FEED, status=404, error="http_404"), failures=2)) == 30 * MINUTE


def test_retry_after_is_a_lower_bound_of_at_most_a_day() -> None:
    for header, seconds in ((60.0, 15 * MINUTE), (2 * HOUR, 2 * HOUR), (30 * DAY, DAY)):
        decision = after(Outcome(kind=Kind.FEED, status=503, retry_after=header), failures=1)
        assert rest(decision) == seconds
    assert rest(after(Outcome(kind=Kind.ARTICLE, status=429, retry_after=3 * HOUR), failures=1)) == 3 * HOUR


def test_a_working_source_is_polled_within_six_hours_despite_retry_after() -> None:
    assert rest(after(Outcome(kind=Kind.FEED, status=200, retry_after=DAY))) == 6 * HOUR


def test_the_caching_time_of_a_feed_is_respected_up_to_an_hour() -> None:
    for age, seconds in ((60.0, 15 * MINUTE), (40 * MINUTE, 40 * MINUTE), (DAY, HOUR)):
        decision = after(Outcome(kind=Kind.FEED, status=200, max_age=age))
        assert rest(decision) == seconds


def test_articles_are_checked_at_their_interval_and_never_without_one() -> None:
    assert rest(after(Outcome(kind=Kind.ARTICLE, status=200, is_article=True))) == DAY
    assert after(Outcome(kind=Kind.ARTICLE, status=200, is_article=True), BARE).next_due is None
    zero = Rule(domain="example.com", interval=MappingProxyType({Kind.ARTICLE: 0.0}))
    assert after(Outcome(kind=Kind.ARTICLE, status=200, is_article=True), zero).next_due is None


def test_a_page_is_planned_by_its_actual_kind() -> None:
    assert rest(after(Outcome(kind=Kind.ARTICLE, status=200, is_article=False))) == 7 * DAY
    assert rest(after(Outcome(kind=Kind.OTHER, status=200, is_article=True))) == DAY
    assert rest(after(Outcome(kind=Kind.OTHER, status=200))) == 7 * DAY
    assert rest(after(Outcome(kind=Kind.SECTION, status=200, is_article=True))) == HOUR


@pytest.mark.parametrize("status", [404, 410])
def test_a_missing_article_is_checked_once_more(status: int) -> None:
    first = after(Outcome(kind=Kind.ARTICLE, status=status, error=f"http_{status}"), failures=1)
    assert (rest(first), first.state) == (DAY, "gone")
    early = after(Outcome(kind=Kind.ARTICLE, status=status), failures=1, last_full_fetch=None)
    assert (rest(early), early.state) == (HOUR, "gone")
    second = after(Outcome(kind=Kind.ARTICLE, status=status), failures=2, state="gone")
    assert (second.next_due, second.state) == (None, "gone")


def test_one_missing_response_after_other_errors_is_not_final() -> None:
    assert rest(after(Outcome(kind=Kind.ARTICLE, status=404), failures=4, state="failed")) == DAY


def test_a_permanently_moved_article_is_not_requested_again() -> None:
    moved = Outcome(kind=Kind.ARTICLE, status=301, redirected_to="https://example.com/b")
    assert after(moved).next_due is None
    assert (
        rest(after(Outcome(kind=Kind.FEED, status=301, redirected_to="https://example.com/b"))) == 15 * MINUTE
    )
    known = Outcome(kind=Kind.ARTICLE, status=302, error="redirect_known")
    assert (after(known).next_due, after(known).state) == (None, "done")


def test_failing_articles_back_off_and_are_given_up() -> None:
    rests = [
        rest(after(Outcome(kind=Kind.ARTICLE, error="timeout"), failures=n))
        for n in range(1, GIVE_UP_AFTER + 1)
    ]
    assert rests[:5] == [HOUR, 2 * HOUR, 4 * HOUR, 8 * HOUR, 16 * HOUR]
    assert set(rests[5:-1]) == {DAY}
    assert rests[-1] is None


@pytest.mark.parametrize("cause", ["robots", "private_address", "too_large"])
def test_permanent_errors_are_not_retried(cause: str) -> None:
    assert after(Outcome(kind=Kind.ARTICLE, error=cause), failures=1).next_due is None
    assert rest(after(Outcome(kind=Kind.FEED, error=cause), failures=1)) == 15 * MINUTE


def test_a_page_that_was_not_fetched_keeps_its_due_time() -> None:
    young = Outcome(kind=Kind.FEED, error="too_young")
    decision = after(young, last_fetched=NOW - 5 * MINUTE)
    assert (rest(decision), decision.state) == (10 * MINUTE, "done")
    assert after(young, state="pending").state == "done"
    assert after(young, state="failed").state == "failed"
    assert after(Outcome(kind=Kind.ARTICLE, error="too_young"), BARE).next_due is None
    assert rest(plan(None, young, RULE, NOW)) == 15 * MINUTE


def test_intervals_of_other_policies_are_limited() -> None:
    class FixedInterval:
        def __init__(self, seconds: float | None) -> None:
            self.seconds = seconds

        def interval(
            self, record: PageRecord | None, outcome: Outcome, rule: Rule, now: float
        ) -> float | None:
            return self.seconds

    feed = Outcome(kind=Kind.FEED, status=200)
    for wish, seconds in ((5 * MINUTE, 5 * MINUTE), (9 * HOUR, 6 * HOUR), (None, 6 * HOUR)):
        assert rest(plan(record(), feed, RULE, NOW, policy=FixedInterval(wish))) == seconds


@pytest.mark.parametrize(
    ("seconds", "text"), [(5, "5s"), (90, "1.5m"), (900, "15m"), (21600, "6h"), (86400, "1d")]
)
def test_readable_durations(seconds: float, text: str) -> None:
    assert span(seconds) == text


_seconds = st.none() | st.floats(0, 1e9)
outcomes = st.builds(
    Outcome,
    kind=st.sampled_from(KINDS),
    status=st.none() | st.sampled_from([200, 206, 301, 302, 304, 308, 401, 403, 404, 410, 429, 500, 503]),
    error=st.none()
    | st.sampled_from(["timeout", "dns", "robots", "http_404", "http_5xx", "ours", "too_young"]),
    not_modified=st.booleans(),
    changed=st.none() | st.booleans(),
    new_items=st.integers(0, 1000),
    retry_after=_seconds,
    max_age=_seconds,
    is_article=st.none() | st.booleans(),
    redirected_to=st.none() | st.just("https://example.com/b"),
)
records = st.none() | st.builds(
    record,
    state=st.sampled_from(["pending", "leased", "done", "gone", "failed"]),
    last_fetched=st.none() | st.floats(NOW - 1e9, NOW),
    last_full_fetch=st.none() | st.floats(NOW - 1e9, NOW),
    failures=st.integers(0, 10_000),
)
rules = st.builds(
    lambda intervals: Rule(domain="example.com", interval=MappingProxyType(intervals)),
    st.dictionaries(st.sampled_from(KINDS), st.floats(0, 1e9)),
)


@given(records, outcomes, rules)
def test_no_interval_of_a_working_source_is_longer_than_six_hours(
    known: PageRecord | None, outcome: Outcome, rule: Rule
) -> None:
    decision = plan(known, outcome, rule, NOW)
    assert decision.next_due is None or decision.next_due >= NOW
    if not outcome.kind.is_source or outcome.error == "too_young":
        return
    assert decision.next_due is not None
    if not outcome.failed:
        assert decision.next_due <= NOW + LONGEST_SOURCE_REST
        assert decision.state == "done"
    elif known is None or known.failures < DEAD_AFTER:
        longest = max(LONGEST_SOURCE_REST, min(outcome.retry_after or 0, LONGEST_RETRY_AFTER))
        assert decision.next_due <= NOW + longest
    else:
        assert decision.next_due == NOW + DAY


@given(records, outcomes, rules)
def test_retry_after_is_respected(known: PageRecord | None, outcome: Outcome, rule: Rule) -> None:
    decision = plan(known, outcome, rule, NOW)
    if outcome.failed and not outcome.gone and outcome.error != "too_young" and decision.next_due is not None:
        assert decision.next_due >= NOW + min(outcome.retry_after or 0.0, LONGEST_RETRY_AFTER)


def test_an_article_is_checked_in_its_first_week_only() -> None:
    outcome = Outcome(kind=Kind.ARTICLE, status=200, is_article=True)
    assert rest(after(outcome, first_seen=NOW - 6 * DAY)) == DAY
    assert after(outcome, first_seen=NOW - 8 * DAY).next_due is None
