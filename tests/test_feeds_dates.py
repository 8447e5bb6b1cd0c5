"""Dates in the formats of feeds."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from email.utils import format_datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from newsbot.pages.discovery.dates import parse_date

NOW = datetime(2025, 3, 1, tzinfo=UTC)
LAST = "2024-12-31 20:59:59"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Tue, 31 Dec 2024 23:59:59 +0300", LAST),
        ("Tue,31 Dec 2024 23:59:59 +0300", LAST),
        ("31 Dec 24 23:59:59 MSK", LAST),
        ("Tue, 31 Dec 2024 23:59:59 GMT+3", LAST),
        ("Tue, 31 Dec 2024 23:59:59 +0300 (MSK)", LAST),
        ("Tuesday, 31-Dec-24 20:59:59 UTC", LAST),
        ("Tue, 31 Dec 2024 15:59:59 EST", LAST),
        ("Tue, 31 Dec 2024 20:59:59", LAST),
        ("Tue, 31 Dec 2024 20:59:59 Z", LAST),
        ("Tue, 31 Dec 2024 20:59:59 -0000", LAST),
        ("Tue Dec 31 20:59:59 2024", LAST),
        ("Tue Dec 31 23:59:59 MSK 2024", LAST),
        ("Вт, 31 дек 2024 23:59:59 +0300", LAST),
        ("вторник, 31 декабря 2024 г. в 23:59 +0300", "2024-12-31 20:59:00"),
        ("31 Мая 2024", "2024-05-31 00:00:00"),
        ("Di, 31 Dez 2024 21:59:59 MEZ", LAST),
        ("mar., 31 déc. 2024 21:59:59 +0100", LAST),
        ("31 de diciembre de 2024", "2024-12-31 00:00:00"),
        ("December 31, 2024 8:59 PM", "2024-12-31 20:59:00"),
        ("2024-12-31T23:59:59+03:00", LAST),
        ("2024-12-31T23:59:59+0300", LAST),
        ("2024-12-31T20:59:59.000Z", LAST),
        ("2024-12-31 23:59:59 +0300", LAST),
        ("2024-12-31T23:59:59 +3:00", LAST),
        ("2024-12-31T20:59", "2024-12-31 20:59:00"),
        ("2024-12-31", "2024-12-31 00:00:00"),
        ("2024-12", "2024-12-01 00:00:00"),
        ("2024", "2024-01-01 00:00:00"),
        ("20241231T205959Z", LAST),
        ("31.12.2024 20:59", "2024-12-31 20:59:00"),
        ("2024年12月31日 20:59", "2024-12-31 20:59:00"),
        ("2024年5月3日", "2024-05-03 00:00:00"),
        ("2024년 12월 31일 20:59", "2024-12-31 20:59:00"),
        ("12/31/2024 08:59 PM", "2024-12-31 20:59:00"),
        ("31/12/2024 20:59", "2024-12-31 20:59:00"),
        ("11/12/2024 10:00 AM", "2024-11-12 10:00:00"),
        ("1735678799", LAST),
        ("1735678799000", LAST),
        ("Tue, 31 Dec 2024 24:00:00 GMT", "2025-01-01 00:00:00"),
        ("Tue, 31 Dec 2024 20:59:60 GMT", LAST),
    ],
)
def test_supported_formats(text: str, expected: str) -> None:
    moment = parse_date(f" {text}\n", now=NOW)
    assert moment is not None
    assert moment.tzinfo is UTC
    assert f"{moment:%Y-%m-%d %H:%M:%S}" == expected


NO_DATES = """
soon|31|0000-00-00 00:00:00|2024-13-01|2024-02-30|Wed, 31 Jun 2024 10:00:00 GMT|99:99|9999-12-31T23:59:59Z
1900-01-01|0001-01-01T00:00:00+14:00|Thu, 01 Jan 1970 00:00:00 GMT|31 xyz 2024
2025-03-02T00:00:01Z|999999999999999
²024-01-01|2024-12-31T10:00:00+99:99
"""


@pytest.mark.parametrize(
    "text", ["", "1" * 99, "x" * 10_000, *NO_DATES.strip().replace("\n", "|").split("|")]
)
def test_texts_without_a_date(text: str) -> None:
    assert parse_date(text, now=NOW) is None


@pytest.mark.parametrize(
    ("language", "expected"),
    [("en-US", "2024-11-12"), ("en-GB", "2024-12-11"), ("fr", "2024-12-11"), ("en", None), ("", None)],
)
def test_the_language_decides_which_number_is_the_month(language: str, expected: str | None) -> None:
    moment = parse_date("11/12/2024 10:00", now=NOW, language=language)
    assert (moment and moment.date().isoformat()) == expected


def test_a_date_one_day_in_the_future_is_accepted() -> None:
    assert parse_date("2025-03-02T00:00:00Z", now=NOW) == NOW + timedelta(days=1)


def test_a_year_of_another_calendar_in_the_usual_form() -> None:
    text = "Tue, 31 Dec 2567 23:59:59 +0700"
    assert parse_date(text, now=NOW, language="th") == datetime(2024, 12, 31, 16, 59, 59, tzinfo=UTC)
    assert parse_date(text, now=NOW) is None


def test_the_time_zone_of_the_site_is_used_if_none_is_written() -> None:
    moscow = ZoneInfo("Europe/Moscow")
    assert parse_date("2024-12-31T23:59:59", now=NOW, zone=moscow) == datetime(
        2024, 12, 31, 20, 59, 59, tzinfo=UTC
    )
    assert parse_date("31.12.2024 23:59", now=NOW, zone=moscow) == datetime(2024, 12, 31, 20, 59, tzinfo=UTC)
    assert parse_date("Tue, 31 Dec 2024 23:59:59 GMT", now=NOW, zone=moscow) == datetime(
        2024, 12, 31, 23, 59, 59, tzinfo=UTC
    )


ZONES = st.integers(-12 * 60, 14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))
MOMENTS = st.datetimes(datetime(1990, 1, 2), datetime(2025, 2, 27), timezones=ZONES)


@given(MOMENTS)
def test_standard_forms_are_read_exactly(moment: datetime) -> None:
    moment = moment.replace(microsecond=0)
    assert parse_date(moment.isoformat(), now=NOW) == moment
    assert parse_date(format_datetime(moment), now=NOW) == moment


@given(st.text(max_size=120))
def test_any_text_is_a_time_in_range_or_none(text: str) -> None:
    moment = parse_date(text, now=NOW)
    assert moment is None or datetime(1990, 1, 1, tzinfo=UTC) <= moment <= NOW + timedelta(days=1)
