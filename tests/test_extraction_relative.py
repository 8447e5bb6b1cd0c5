"""Times relative to the day of the reader, resolved with the time of the download."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from newsbot.pages.extraction.fields.moments import relative_moment
from tests.extraction_pages import NOW, TEXT, page, read, rule

FETCHED = datetime(2024, 5, 3, 9, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "local", "precision"),
    [
        ("Yesterday, 14:05", datetime(2024, 5, 2, 14, 5), "minute"),
        ("yesterday at 2:05 pm", datetime(2024, 5, 2, 14, 5), "minute"),
        ("вчера, 14:05", datetime(2024, 5, 2, 14, 5), "minute"),
        ("Сегодня в 08:15", datetime(2024, 5, 3, 8, 15), "minute"),
        ("вчора о 14:05", datetime(2024, 5, 2, 14, 5), "minute"),
        ("heute um 08:15 Uhr", datetime(2024, 5, 3, 8, 15), "minute"),
        ("Hier à 22h10", datetime(2024, 5, 2, 22, 10), "minute"),
        ("gestern", datetime(2024, 5, 2), "day"),
        ("5 minutes ago", datetime(2024, 5, 3, 9, 25), "minute"),
        ("5 минут назад", datetime(2024, 5, 3, 9, 25), "minute"),
        ("vor 20 Minuten", datetime(2024, 5, 3, 9, 10), "minute"),
        ("Published an hour ago", datetime(2024, 5, 3), "day"),
        ("il y a 12 heures", datetime(2024, 5, 2), "day"),
        ("3 дня назад", datetime(2024, 4, 30), "day"),
        ("hace 2 días", datetime(2024, 5, 1), "day"),
        ("3天前", datetime(2024, 4, 30), "day"),
    ],
)
def test_supported_formats(text: str, local: datetime, precision: str) -> None:
    written = relative_moment(text, FETCHED, UTC)
    assert written is not None
    assert (written.local, written.precision) == (local, precision)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Rain",
        "99 days ago",
        "todayshow 14:05",
        "today 23:59",
        "The mayor said yesterday that " + "x " * 60,
    ],
)
def test_texts_without_a_date(text: str) -> None:
    assert relative_moment(text, FETCHED, UTC) is None


def test_the_day_is_that_of_the_site() -> None:
    """22:30 in London is 01:30 of the next day in Moscow."""
    moscow = timezone(timedelta(hours=3))
    written = relative_moment("сегодня, 01:10", datetime(2024, 5, 3, 22, 30, tzinfo=UTC), moscow)
    assert written is not None
    assert written.local == datetime(2024, 5, 4, 1, 10)


def test_relative_times_are_the_last_resort_on_a_page() -> None:
    html = page(body=f"<h1>Rain closes the lower road</h1><div class=when>вчера, 14:05</div>{TEXT}")
    article = read(html, rule=rule(timezone="Europe/Moscow"))
    assert article.published_at == (NOW - timedelta(days=1)).replace(hour=11, minute=5)
    assert (article.published_source, article.published_precision) == ("visible", "minute")
    dated = read(html, "https://www.example.org/2024/05/06/rain")
    assert dated.published_source == "url"
