"""Dates and times in the formats of web pages."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from newsbot.pages.extraction.fields.moments import Written, find_date, parse_stamp, settled
from newsbot.pages.text.names import MONTHS, month
from tests.extraction_pages import TEXT, json_ld, page, read, rule


def stamp(text: str, language: str | None = None) -> tuple[str, str, float | None] | None:
    """Return local time, precision, and offset in hours."""
    written = parse_stamp(text, language)
    if written is not None and written.order is not None:
        written = settled(written, datetime(2026, 1, 1, tzinfo=UTC))
    if written is None:
        return None
    offset = written.zone.utcoffset(None) if written.zone else None
    hours = offset / timedelta(hours=1) if offset is not None else None
    return written.local.isoformat(" ", "seconds"), written.precision, hours


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2024-05-03T14:05:10+03:00", ("2024-05-03 14:05:10", "second", 3)),
        ("2024-05-03T14:05:10.123Z", ("2024-05-03 14:05:10", "second", 0)),
        ("2024-05-03T14:05:10+0300", ("2024-05-03 14:05:10", "second", 3)),
        ("2024-05-03 14:05:10 +0530", ("2024-05-03 14:05:10", "second", 5.5)),
        ("2024-05-03T14:05", ("2024-05-03 14:05:00", "minute", None)),
        ("2024-05-03T14:05+03:00", ("2024-05-03 14:05:00", "minute", 3)),
        ("2024-05-03", ("2024-05-03 00:00:00", "day", None)),
        ("2024/5/3 9:07", ("2024-05-03 09:07:00", "minute", None)),
        ("20240503T140510Z", ("2024-05-03 14:05:10", "second", 0)),
        ("20240503", ("2024-05-03 00:00:00", "day", None)),
        ("1714745110", ("2024-05-03 14:05:10", "second", 0)),
        ("1714745110000", ("2024-05-03 14:05:10", "second", 0)),
        ("Fri, 03 May 2024 14:05:10 GMT", ("2024-05-03 14:05:10", "second", 0)),
        ("Fri, 03 May 2024 14:05:10 -0700", ("2024-05-03 14:05:10", "second", -7)),
        ("Fri May 03 2024 14:05:10 GMT+0300 (MSK)", ("2024-05-03 14:05:10", "second", 3)),
        ("Fri Apr 28 19:20:36 CEST 2023", ("2023-04-28 19:20:36", "second", 2)),
        ("3 мая 2024, 14:05", ("2024-05-03 14:05:00", "minute", None)),
        ("3 мая 2024 г. в 14:05 мск", ("2024-05-03 14:05:00", "minute", 3)),
        ("03 травня 2024 року, 09:15", ("2024-05-03 09:15:00", "minute", None)),
        ("14:05, 3 мая 2024", ("2024-05-03 14:05:00", "minute", None)),
        ("14:05 | 03.05.2024", ("2024-05-03 14:05:00", "minute", None)),
        ("03.05.2024 14:05:59", ("2024-05-03 14:05:59", "second", None)),
        ("03.05.24", ("2024-05-03 00:00:00", "day", None)),
        ("May 3, 2024, 2:05 p.m. ET", ("2024-05-03 14:05:00", "minute", -4)),
        ("January 3, 2024 at 12:05 AM EST", ("2024-01-03 00:05:00", "minute", -5)),
        ("Published 3rd of May 2024", ("2024-05-03 00:00:00", "day", None)),
        ("3. Mai 2024, 14.05 Uhr", ("2024-05-03 14:05:00", "minute", None)),
        ("3 mai 2024 à 14h05", ("2024-05-03 14:05:00", "minute", None)),
        ("3 de mayo de 2024", ("2024-05-03 00:00:00", "day", None)),
        ("2024年5月3日 14:05", ("2024-05-03 14:05:00", "minute", None)),
        ("3 tháng 5, 2024", ("2024-05-03 00:00:00", "day", None)),
        ("03/05/2024", ("2024-05-03 00:00:00", "day", None)),
        ("03.05.2024 14:05 / Updated 4 May 2024, 09:30", ("2024-05-03 14:05:00", "minute", None)),
        ("3 May 2024 (changed 2024-05-08)", ("2024-05-03 00:00:00", "day", None)),
        ("05/23/2024", ("2024-05-23 00:00:00", "day", None)),
    ],
)
def test_supported_formats(text: str, expected: tuple[str, str, float | None]) -> None:
    assert stamp(text) == expected


@pytest.mark.parametrize(
    ("text", "clock", "hours"),
    [
        ("3 May 2024 14:05 GMT+2", "14:05", 2),
        ("Thứ sáu, 3/5/2024, 14:05 (GMT+7)", "14:05", 7),
        ("3 мая 2024, 14:05 (UTC +5:30)", "14:05", 5.5),
        ("2024-05-03T14:05:00−04:00", "14:05", -4),
        ("3 May 2024, 14:05-15:30", "14:05", None),
        ("03/05/2024, 02:05 μμ", "14:05", None),
        ("03/05/2024, 12:05 Π.Μ.", "00:05", None),
        ("الجمعة 3 مايو 2024 02:05 م", "14:05", None),
        ("الجمعة 3 مايو 2024 02:05 صباحا", "02:05", None),
        ("2024.05.03. 오후 2:05", "14:05", None),
        ("2024년 5월 3일 금요일 오전 2시 5분", "02:05", None),
        ("2024年5月3日 下午2:05", "14:05", None),
        ("2024年5月3日（金）午後2時5分", "14:05", None),
        ("2024-05-03 (Fri) 14:05", "14:05", None),
        ("3 maja 2024 r., godz. 14:05", "14:05", None),
        ("3 mei 2024 om 14:05", "14:05", None),
        ("vendredi 3 mai 2024 à 14 h 05", "14:05", None),
        ("3 Mayıs 2024 Cuma 14:05", "14:05", None),
        ("2024. május 3. péntek 14:05", "14:05", None),
        ("14:05, Friday, 3 May 2024", "14:05", None),
        ("14:05 Пт, 3 мая 2024", "14:05", None),
        ("/Date(1714745100000)/", "14:05", 0),
        ("1714745100.25", "14:05", 0),
    ],
)
def test_half_days_offsets_and_days_of_the_week(text: str, clock: str, hours: float | None) -> None:
    found = stamp(text)
    assert found is not None
    assert (found[0][:16], found[2]) == (f"2024-05-03 {clock}", hours)


def test_the_region_decides_which_number_is_the_month() -> None:
    assert stamp("03/04/2024", "en-us") == ("2024-03-04 00:00:00", "day", None)
    assert stamp("2024/03/04", "en-us") == ("2024-03-04 00:00:00", "day", None)
    assert stamp("03/04/2024", "en-gb") == ("2024-04-03 00:00:00", "day", None)


@pytest.mark.parametrize(
    "text",
    ["", "yesterday", "12 comments 2024", "1.2.3", "31 февраля 2024", "2024-13-01", "99:99", "x" * 9000],
)
def test_texts_that_are_not_dates(text: str) -> None:
    assert parse_stamp(text) is None


def test_one_month_name_of_two_languages() -> None:
    assert (month("listopada", "pl"), month("listopada", "hr")) == (11, 10)
    assert month("Мая") == 5
    assert month("wordy") is None
    assert [month(name) for name in ("ΜΑΪΟΥ", "Αυγουστου", "KASIM", "fevrier", "pazdziernika")] == [
        5,
        8,
        11,
        2,
        10,
    ]
    assert set(MONTHS.values()) == set(range(1, 13))


@given(st.text(max_size=200))
def test_any_text_is_a_date_or_none(text: str) -> None:
    assert isinstance(find_date(text), Written | None)
    assert isinstance(parse_stamp(text), Written | None)


@given(st.datetimes(min_value=datetime(1990, 1, 1), max_value=datetime(2100, 1, 1)))
def test_iso_format_is_parsed(moment: datetime) -> None:
    moment = moment.replace(microsecond=0)
    written = parse_stamp(moment.isoformat())
    assert written is not None
    assert written.local == moment


def published(value: str, *, timezone: str | None = None, modified: str = "") -> tuple[datetime | None, str]:
    other = f',"dateModified":"{modified}"' if modified else ""
    html = page(json_ld(f'{{"@type":"NewsArticle","headline":"x","datePublished":"{value}"{other}}}'))
    article = read(html, rule=rule(timezone=timezone) if timezone else None)
    return article.published_at, article.extraction["published_at"]


def test_the_time_zone_comes_from_the_date_the_page_or_the_rule_or_is_assumed() -> None:
    def utc(hour: int) -> datetime:
        return datetime(2024, 5, 3, hour, 5, tzinfo=UTC)

    assert published("2024-05-03T14:05:00+05:00", timezone="Europe/Moscow") == (utc(9), "json-ld")
    assert published("2024-05-03T14:05:00", modified="2024-05-04T10:00:00+02:00") == (
        utc(12),
        "json-ld+page-zone",
    )
    assert published("2024-05-03T14:05:00", timezone="Europe/Moscow") == (utc(11), "json-ld+rule-zone")
    assert published("2024-05-03T14:05:00") == (utc(14), "json-ld+assumed-utc")
    assert published("2024-05-03T14:05:00", timezone="No/Where") == (utc(14), "json-ld+assumed-utc")


def test_a_date_without_a_time_is_not_shifted_by_the_time_zone() -> None:
    assert published("2024-05-03", timezone="Asia/Vladivostok") == (
        datetime(2024, 5, 3, tzinfo=UTC),
        "json-ld",
    )


@pytest.mark.parametrize(
    "markup",
    [
        "<div class='article-date'>Опубликовано: 3 мая 2024, 14:05</div>",
        "<p class=posted>Posted on May 3, 2024 at 2:05 pm</p>",
        "<span id=pub_time>03.05.2024 14:05</span>",
        "<div>14:05, 3 мая 2024 | Заречье</div>",
    ],
)
def test_visible_dates(markup: str) -> None:
    article = read(page(body=markup + TEXT))
    assert article.published_at == datetime(2024, 5, 3, 14, 5, tzinfo=UTC)
    assert (article.published_source, article.published_precision) == ("visible", "minute")


def test_dates_of_other_articles_and_of_changes_have_less_weight() -> None:
    side = "<aside class=latest><span class=date>7 May 2024, 10:00</span></aside>"
    changed = "<div class=updated-date>Updated 8 May 2024, 11:00</div>"
    article = read(page(body=f"{side}<div class=date>3 May 2024, 14:05</div>{changed}{TEXT}"))
    assert article.published_at == datetime(2024, 5, 3, 14, 5, tzinfo=UTC)


@pytest.mark.parametrize(
    "line",
    [
        "Updated 4 May 2024, 9:30 | Published 3 May 2024, 14:05",
        "Обновлено 04.05.2024 09:30, опубликовано 03.05.2024 14:05",
        "Mis à jour le 4 mai 2024 à 9:30 - Publié le 3 mai 2024 à 14:05",
    ],
)
@pytest.mark.parametrize("markup", ["<div class=date>{}</div>", "<p>By Ann Lee</p><div class=stamp>{}</div>"])
def test_a_line_with_the_modification_time_first(line: str, markup: str) -> None:
    article = read(page(body=markup.format(line) + TEXT))
    assert article.published_at == datetime(2024, 5, 3, 14, 5, tzinfo=UTC)


@pytest.mark.parametrize(
    ("markup", "source"),
    [
        ("<p>Updated: 4 May 2024, 9:30</p>", "visible"),
        ("<div class=meta>3 мая 2024, 14:05. Обновлено 4 мая 2024 в 9:30</div>", "visible"),
        ("<p>Published 3 May 2024, 14:05 | Last update 04.05.2024 09:30</p>", "visible"),
        (
            "<p><time>3 May 2024</time> <time class=updated datetime='2024-05-04T09:30'>x</time></p>",
            "time-tag",
        ),
        ("<p>Aktualisiert am <time datetime='2024-05-04T09:30'>4. Mai</time></p>", "time-tag"),
    ],
)
def test_visible_modification_times(markup: str, source: str) -> None:
    head = json_ld('{"@type":"NewsArticle","headline":"x","datePublished":"2024-05-03T14:05:00Z"}')
    article = read(page(head, markup + TEXT))
    assert article.published_at == datetime(2024, 5, 3, 14, 5, tzinfo=UTC)
    assert article.modified_at == datetime(2024, 5, 4, 9, 30, tzinfo=UTC)
    assert article.extraction["modified_at"] == f"{source}+assumed-utc"


@pytest.mark.parametrize(
    ("markup", "expected", "note"),
    [
        ("<p class=when>May 2, 2024, 9:25 p.m.</p>", "2024-05-02T21:25:00-04:00", "json-ld+shown-zone"),
        ("<p class=when>3 May 2024, 7:25</p>", "2024-05-03T07:25:00+06:00", "json-ld+shown-zone"),
        ("<p class=when>3 May 2024, 1:40</p>", "2024-05-03T01:25:00+00:00", "json-ld"),
        ("<p class=when>2 May 2024</p>", "2024-05-02T22:25:00-03:00", "json-ld+country-zone"),
        ("<p class=when>3 May 2024</p>", "2024-05-03T01:25:00+00:00", "json-ld"),
        ("<p class=when>1 May 2024</p>", "2024-05-03T01:25:00+00:00", "json-ld"),
    ],
)
def test_the_visible_time_decides_whether_utc_is_meant(markup: str, expected: str, note: str) -> None:
    head = json_ld('{"@type":"NewsArticle","datePublished":"2024-05-03T01:25:00Z"}')
    article = read(page(head, markup + TEXT), "https://www.diario.com.ar/nota/1")
    assert article.published_at is not None
    assert article.published_at.isoformat() == expected
    assert article.extraction["published_at"] == note


@pytest.mark.parametrize(
    ("head", "body", "source"),
    [
        ("", TEXT + "<p>Anna, 3 May 2024</p>", "visible"),
        ("<script>var state = {'pubDate': '2024-05-03T00:00:00'}</script>", TEXT, "generic"),
    ],
)
def test_fallback_sources_of_a_date(head: str, body: str, source: str) -> None:
    article = read(page(head, body), "https://example.org/rain")
    assert article.published_at == datetime(2024, 5, 3, tzinfo=UTC)
    assert (article.published_source, article.published_precision) == (source, "day")


def test_a_date_at_the_end_of_the_title_and_in_the_article_number() -> None:
    titled = page("<meta property=og:title content='Rain | DW | 03.05.2024'>")
    assert read(titled, "https://example.org/rain").published_at == datetime(2024, 5, 3, tzinfo=UTC)
    numbered = read(page(), "https://example.org/article/A2024050314320005196")
    assert numbered.published_at == datetime(2024, 5, 3, tzinfo=UTC)


def test_a_date_in_the_text_is_not_the_date_of_the_article() -> None:
    extra = "<p>The bridge, which was closed when the last old mill burnt down, had fallen on 3 May 2011.</p>"
    assert read(page(body=TEXT + extra), "https://example.org/rain").published_at is None


def test_a_known_date_decides_which_number_is_the_month() -> None:
    body = f"<p class=date>05/03/2024 2:05 PM</p>{TEXT}"
    known = read(page(body=body), "https://example.org/2024/05/03/rain")
    assert known.published_at == datetime(2024, 5, 3, 14, 5, tzinfo=UTC)
    british = page(body=body).replace(b"<html", b"<html lang=en-GB")
    assert read(british, "https://example.org/rain").published_at == datetime(2024, 3, 5, 14, 5, tzinfo=UTC)
