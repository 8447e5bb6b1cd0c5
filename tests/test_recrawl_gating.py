"""The gate: the minimum interval of all fetches, and conditional requests."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from newsbot.items import Kind, PageRecord
from newsbot.recrawl.planning import FULL_FETCH_EVERY, gate

NOW = 1_800_000_000.0
HOUR = 3600.0


def record(**fields: object) -> PageRecord:
    values = {
        "state": "done",
        "last_fetched": NOW - HOUR,
        "last_full_fetch": NOW - HOUR,
        "etag": '"v1"',
        "last_modified": "Fri, 15 Jan 2027 08:00:00 GMT",
        **fields,
    }
    return PageRecord(
        url="https://example.com/a",
        fingerprint=b"0" * 16,
        host="example.com",
        source="example.com",
        kind=Kind.FEED,
        **values,  # type: ignore[arg-type]
    )


def test_a_new_page_is_requested_without_conditions() -> None:
    for unknown in (None, record(last_fetched=None)):
        verdict = gate(unknown, 6 * HOUR, NOW)
        assert verdict.fetch
        assert verdict.headers == {}


def test_a_page_younger_than_its_interval_is_refused_until_it_is_old_enough() -> None:
    verdict = gate(record(), 2 * HOUR, NOW)
    assert not verdict.fetch
    assert verdict.until == NOW + HOUR
    assert verdict.reason == "younger than its interval"


@pytest.mark.parametrize("interval", [0.0, -1.0, HOUR, HOUR + 0.5, HOUR / 2])
def test_an_old_page_passes_with_conditions(interval: float) -> None:
    verdict = gate(record(), interval, NOW)
    assert verdict.fetch
    assert verdict.headers == {
        "If-None-Match": '"v1"',
        "If-Modified-Since": "Fri, 15 Jan 2027 08:00:00 GMT",
    }


def test_only_validators_from_the_server_are_sent() -> None:
    assert gate(record(etag=None), 0, NOW).headers == {"If-Modified-Since": "Fri, 15 Jan 2027 08:00:00 GMT"}
    assert gate(record(etag=None, last_modified=None), 0, NOW).headers == {}
    assert gate(record(etag="", last_modified=None), 0, NOW).headers == {}


@pytest.mark.parametrize("etag", ['"a\r\nHost: x"', '"é"', '"' + "a" * 600 + '"', '"\x00"'])
def test_a_validator_that_cannot_be_sent_is_left_out(etag: str) -> None:
    assert "If-None-Match" not in gate(record(etag=etag), 0, NOW).headers


def test_the_page_is_requested_completely_once_a_day() -> None:
    """Some feeds repeat an old ETag forever."""
    assert gate(record(last_full_fetch=NOW - FULL_FETCH_EVERY + 1), 0, NOW).headers
    assert not gate(record(last_full_fetch=NOW - FULL_FETCH_EVERY), 0, NOW).headers
    assert not gate(record(last_full_fetch=None), 0, NOW).headers


def test_failed_and_missing_pages_are_fetched_by_their_plan() -> None:
    assert gate(record(failures=1), 6 * HOUR, NOW).fetch
    assert gate(record(state="gone"), 6 * HOUR, NOW).fetch


def test_a_visit_in_the_future_is_ignored() -> None:
    verdict = gate(record(last_fetched=NOW + 1e9, last_full_fetch=NOW + 1e9), 6 * HOUR, NOW)
    assert verdict.fetch
    assert verdict.headers == {}


@given(
    age=st.floats(0, 1e7),
    interval=st.floats(0.01, 1e7),
    failures=st.integers(0, 3),
)
def test_a_refused_page_passes_at_the_stated_time(age: float, interval: float, failures: int) -> None:
    page = record(last_fetched=NOW - age, failures=failures)
    verdict = gate(page, interval, NOW)
    if verdict.fetch:
        assert failures or age >= interval - 1.0
    else:
        assert age < interval
        assert verdict.until is not None
        assert NOW < verdict.until <= NOW + interval
        assert gate(page, interval, verdict.until).fetch
