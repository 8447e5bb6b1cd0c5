"""Dates in words of many languages, with other digits and in other calendars."""

from __future__ import annotations

from datetime import UTC, date, datetime

import pytest
from babel.dates import format_date

from newsbot.pages.extraction.fields.moments import find_date, from_solar_hijri, parse_stamp, western
from newsbot.pages.text.names import MONTHS, by_language, month
from newsbot.pages.text.words import word_list
from tests.extraction_pages import TEXT, page, read

LANGUAGES = (
    "en ru uk be bg sr sr_Latn mk hr bs sl cs sk pl hu ro de fr es ca gl pt it nl da nb nn sv fi et lv lt is",
    "el tr az uz kk ky tg hy ka he ar ar_EG ar_SY fa ur hi mr bn pa gu ta te kn ml si th km vi id ms fil sw",
    "af sq ja zh zh_Hant ko am",
)


@pytest.mark.parametrize("language", word_list(*LANGUAGES))
def test_the_long_form_of_a_date_is_read_in_each_language(language: str) -> None:
    """The dates are in the format of Unicode's CLDR."""
    for number in range(1, 13):
        day = date(2024, number, 17)
        written = format_date(day, "long", locale=language)
        found = find_date(f"{written}, 14:05", language[:2])
        assert found is not None, written
        assert found.local == datetime(2024, number, 17, 14, 5), written


@pytest.mark.parametrize(
    ("text", "language", "expected"),
    [
        ("3 listopada 2024", "pl-pl", "2024-11-03"),
        ("3. listopada 2024.", "hr-hr", "2024-10-03"),
        ("3 lip 2024", "pl", "2024-07-03"),
        ("17 Μαΐου 2024", None, "2024-05-17"),
        ("17 EKİM 2024", None, "2024-10-17"),
        ("٣ مايو ٢٠٢٤", None, "2024-05-03"),
        ("३ मई २०२४", None, "2024-05-03"),
        ("৩ মে ২০২৪", None, "2024-05-03"),
        ("2024년 5월 3일", None, "2024-05-03"),
        ("2024. 5. 3.", None, "2024-05-03"),
        ("2024. május 3.", None, "2024-05-03"),
        ("2024 m. gegužės 3 d.", None, "2024-05-03"),
        ("2024. gada 3. maijs", None, "2024-05-03"),
        ("2024 оны 5-р сарын 3", None, "2024-05-03"),
        ("3 de maig del 2024", None, "2024-05-03"),
        ("3 d’abril de 2024", None, "2024-04-03"),
        ("3 พ.ค. 2567", None, "2024-05-03"),
        ("3 พฤษภาคม 2567", None, "2024-05-03"),
        ("۱۴ اردیبهشت ۱۴۰۳", "fa", "2024-05-03"),
        ("14 اردیبهشت‌ماه 1403", "fa", "2024-05-03"),
        ("3 كانون الثاني 2024", None, "2024-01-03"),
    ],
)
def test_dates_in_words(text: str, language: str | None, expected: str) -> None:
    found = find_date(text, language)
    assert found is not None
    assert (found.local.date().isoformat(), found.precision) == (expected, "day")


def test_a_time_next_to_a_persian_date() -> None:
    found = find_date("۱۴ اردیبهشت ۱۴۰۳ - ۱۴:۰۵", "fa")
    assert found is not None
    assert (found.local, found.precision) == (datetime(2024, 5, 3, 14, 5), "minute")


@pytest.mark.parametrize("text", ["3 May 2567", "3 Room 2024", "31 اسفند 1403", "2024. Halle 3"])
def test_texts_that_are_not_dates(text: str) -> None:
    assert find_date(text) is None


@pytest.mark.parametrize(
    ("text", "language", "hours"),
    [
        ("May 3, 2024 2:05 PM PDT", None, -7),
        ("Fri May 03 14:05:00 CST 2024", "zh-cn", 8),
        ("Fri May 03 14:05:00 CST 2024", None, -6),
        ("3 May 2024 14:05 IST", "en-in", 5.5),
        ("3 May 2024 14:05 IST", "he", 2),
        ("3 May 2024 14:05 SAST", None, 2),
        ("January 3, 2024 2:05 PM MT", None, -7),
        ("July 3, 2024 2:05 PM MT", None, -6),
    ],
)
def test_zones_by_name(text: str, language: str | None, hours: float) -> None:
    found = parse_stamp(text, language)
    assert found is not None
    assert found.zone is not None
    offset = found.zone.utcoffset(None)
    assert offset is not None
    assert offset.total_seconds() == hours * 3600


def test_new_year_of_the_solar_calendar() -> None:
    assert [from_solar_hijri(year, 1, 1) for year in (1375, 1399, 1400, 1403, 1404)] == [
        date(1996, 3, 20),
        date(2020, 3, 20),
        date(2021, 3, 21),
        date(2024, 3, 20),
        date(2025, 3, 21),
    ]


def test_western_does_not_change_ascii() -> None:
    assert western("3 May 2024") == "3 May 2024"
    assert western("١٢:٣٠، ٥") == "12:30, 5"


def test_the_tables_have_twelve_months_and_no_name_twice() -> None:
    assert all(len(months) == 12 for months in by_language().values())
    assert set(MONTHS.values()) == set(range(1, 13))
    for language, months in by_language().items():
        assert all(
            month(name, language) == number for number, names in enumerate(months, 1) for name in names
        )


def test_a_page_in_hindi() -> None:
    article = read(page(body=f"<p class=date>प्रकाशित: ३ मई २०२४, १४:०५ IST</p>{TEXT}"))
    assert article.published_at == datetime(2024, 5, 3, 8, 35, tzinfo=UTC)
    assert (article.published_source, article.published_precision) == ("visible", "minute")
