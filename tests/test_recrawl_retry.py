"""Retries of one visit, and times in server responses."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from newsbot.recrawl.planning import may_retry, parse_max_age, parse_retry_after, retry_delay

NOW = 784_111_777.0
"""Sun, 06 Nov 1994 08:49:37 GMT, the example of the RFC."""


def test_delays_double_up_to_an_hour() -> None:
    assert [retry_delay(n) for n in (1, 2, 3, 4)] == [10, 20, 40, 80]
    assert retry_delay(10_000) == 3600
    assert retry_delay(0) == 10


@given(st.integers(0, 10_000), st.floats(0, 1))
def test_jitter_spreads_but_keeps_the_bounds(attempts: int, jitter: float) -> None:
    assert retry_delay(attempts) / 2 <= retry_delay(attempts, jitter) <= retry_delay(attempts) * 1.5


@pytest.mark.parametrize(
    ("cause", "tries"),
    [
        ("timeout", 4),
        ("dns", 3),
        ("http_5xx", 4),
        ("http_429", 5),
        ("tls", 2),
        ("http_404", 1),
        ("http_403", 1),
        ("robots", 1),
        ("private_address", 1),
        ("too_large", 1),
        ("never heard of", 1),
    ],
)
def test_number_of_tries_for_each_cause(cause: str, tries: int) -> None:
    made = 1
    while may_retry(cause, made):
        made += 1
    assert made == tries


def test_a_successful_visit_is_not_retried() -> None:
    assert not may_retry(None, 0)


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("120", 120.0),
        (" 120 ", 120.0),
        ("0", 0.0),
        ("1.5", 1.5),
        ("Sun, 06 Nov 1994 08:50:37 GMT", 60.0),
        ("Sunday, 06-Nov-94 08:50:37 GMT", 60.0),
        ("Sun Nov  6 08:50:37 1994", 60.0),
        ("Sun, 06 Nov 1994 09:50:37 +0100", 60.0),
        ("Sun, 06 Nov 1994 08:00:00 GMT", 0.0),
        ("Fri, 31 Dec 9999 23:59:59 GMT", 253402300799.0 - NOW),
        ("", None),
        (None, None),
        ("soon", None),
        ("-5", None),
        ("1e9", None),
        ("9" * 5000, None),
        ("Sun, 99 Nov 1994 08:50:37 GMT", None),
        ("Sun, 06 Nov 99999 08:50:37 GMT", None),
        ("inf", None),
        ("nan", None),
        ("١٢٠", None),
    ],
)
def test_retry_after(value: str | None, seconds: float | None) -> None:
    assert parse_retry_after(value, NOW) == seconds


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("max-age=60", 60.0),
        ("public, Max-Age=60, must-revalidate", 60.0),
        ('max-age="60"', 60.0),
        ("s-maxage=5, max-age=60", 60.0),
        ("max-age=60, max-age=90", 60.0),
        ("no-cache", 0.0),
        ("max-age=60, no-store", 0.0),
        ('no-cache="set-cookie", max-age=60', 60.0),
        ("private", None),
        ("max-age", None),
        ("max-age=soon", None),
        ("max-age=-1", None),
        ("", None),
        (None, None),
        ("," * 100_000, None),
    ],
)
def test_max_age(value: str | None, seconds: float | None) -> None:
    assert parse_max_age(value) == seconds


@given(st.text())
def test_headers_never_raise(value: str) -> None:
    for seconds in (parse_retry_after(value, NOW), parse_max_age(value)):
        assert seconds is None or seconds >= 0
