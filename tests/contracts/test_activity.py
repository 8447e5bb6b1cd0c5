"""The contract of every storage: :mod:`newsbot.storage.base`."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from newsbot.apps.transfer.copies import copies_of
from newsbot.items import Article
from newsbot.storage.base import ALL, HOUR, KEEP_HOURS, Activity, Arrival, Hour, Storage
from newsbot.storage.sqlite import SqliteStorage

MIDNIGHT = 498_000 * HOUR
MORNING = datetime(2026, 11, 20, 8, tzinfo=UTC)


@pytest.fixture
def log(storage: Storage) -> Activity:
    return storage.activity


def test_counters_add_up_by_site_and_hour_and_over_all_sites(log: Activity) -> None:
    log.add(MIDNIGHT, {"a.org": {"pages": 3, "articles": 2.0, "errors/timeout": 1}, "b.org": {"pages": 1}})
    log.add(MIDNIGHT + 3599, {"a.org": {"pages": 1}})
    log.add(MIDNIGHT + 3600, {"a.org": {"errors": 4}, "c.org": {"unheard_of": 9}})
    assert log.hours(MIDNIGHT, "a.org") == [
        Hour("a.org", 498_000, {"pages": 4, "articles": 2}),
        Hour("a.org", 498_001, {"errors": 4}),
    ]
    assert log.hours(MIDNIGHT) == [
        Hour(ALL, 498_000, {"pages": 5, "articles": 2}),
        Hour(ALL, 498_001, {"errors": 4}),
    ]
    assert log.watched_since() == {"a.org": MIDNIGHT, "b.org": MIDNIGHT}
    assert [one.hour for one in log.hours(MIDNIGHT + 3600, "a.org")] == [498_001]
    assert log.hours(MIDNIGHT, "c.org") == []


def test_empty_counters_are_not_stored(log: Activity) -> None:
    log.add(MIDNIGHT, {})
    log.add(MIDNIGHT, {"a.org": {"pages": 0}})
    assert log.hours(0) == []
    assert log.trends(0) == {}
    assert log.watched_since() == {}


def test_trends_are_new_articles_per_day(log: Activity) -> None:
    for hours, articles in ((0, 3), (23, 4), (24, 5), (40, 0)):
        log.add(MIDNIGHT + hours * HOUR, {"a.org": {"articles": articles, "pages": 9}})
    log.add(MIDNIGHT + HOUR, {"b.org": {"articles": 1}})
    day = MIDNIGHT // HOUR // 24
    assert log.trends(MIDNIGHT) == {"a.org": {day: 7, day + 1: 5}, "b.org": {day: 1}}
    assert log.trends(MIDNIGHT + 2 * HOUR) == {"a.org": {day: 4, day + 1: 5}}


def test_old_hours_are_deleted(log: Activity) -> None:
    log.add(MIDNIGHT, {"a.org": {"pages": 1}, "b.org": {"pages": 1}})
    log.add(MIDNIGHT + KEEP_HOURS * HOUR, {"a.org": {"pages": 2}})
    assert [one.hour for one in log.hours(0, "a.org")] == [498_000 + KEEP_HOURS]
    assert [one.hour for one in log.hours(0)] == [498_000 + KEEP_HOURS]
    assert [one.hour for one in log.hours(0, "b.org")] == [498_000]


def test_arrivals_are_the_most_recently_fetched_first_versions(storage: Storage, log: Activity) -> None:
    for number in range(4):
        storage.articles.store(
            Article(
                url=f"https://a{number % 2}.org/{number}",
                canonical_url=f"https://a{number % 2}.org/{number}",
                source=f"a{number % 2}.org",
                title=f"Title {number}",
                text=f"Text {number}",
                content_hash=f"{number}",
                published_at=None if number == 3 else MORNING,
                published_precision="day" if number == 2 else "minute",
                fetched_at=MORNING + timedelta(minutes=number),
            )
        )
    storage.articles.store(
        Article(
            url="https://a0.org/0",
            canonical_url="https://a0.org/0",
            source="a0.org",
            title="Title 0",
            text="Another text",
            content_hash="another",
            fetched_at=MORNING + timedelta(hours=9),
        )
    )
    assert log.arrivals(2) == [
        Arrival("a1.org", None, True, MORNING + timedelta(minutes=3)),
        Arrival("a0.org", MORNING, False, MORNING + timedelta(minutes=2)),
    ]
    assert log.arrivals(10)[-1] == Arrival("a1.org", MORNING, True, MORNING + timedelta(minutes=1))
    assert len(log.arrivals(10)) == 3
    assert log.arrivals(0) == []


def test_hours_move_to_another_storage_and_back(storage: Storage, log: Activity, tmp_path: Path) -> None:
    log.add(MIDNIGHT, {"a.org": {"pages": 3, "errors": 1}, "b.org": {"articles": 2}})
    log.add(MIDNIGHT + HOUR, {"a.org": {"fetched": 5}})
    other = SqliteStorage(tmp_path / "other.db")
    for _ in range(2):  # the second load changes nothing
        copies_of(other).write("books", list(copies_of(storage).read("books")))
    other.activity.add(MIDNIGHT + 9 * HOUR, {"c.org": {"pages": 7}})
    copies_of(storage).write("books", list(copies_of(other).read("books")))
    for source in (ALL, "a.org", "b.org", "c.org"):
        assert other.activity.hours(0, source) == log.hours(0, source) != []
    other.close()
