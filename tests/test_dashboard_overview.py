"""The figures of the overview and of /metrics."""

from __future__ import annotations

import json
import re
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from newsbot.apps.followers.following import KIND, FollowerState
from newsbot.apps.web.dashboard.app import metric
from newsbot.apps.web.dashboard.overview import latency, periods
from newsbot.clock import system_clock
from newsbot.storage.base import ALL, HOUR, Arrival, Hour
from newsbot.storage.sqlite import SqliteStorage
from tests.contracts.storage_samples import make_article
from tests.dashboarddata import fill
from tests.dashboards import Visitor, settings_of, visit

NOW = 1_795_000_000.0
START = datetime(2026, 11, 20, 8, tzinfo=UTC)


@given(st.lists(st.tuples(st.integers(0, 47), st.integers(0, 1000)), max_size=60))
def test_hours_and_days_have_the_same_sums(given_hours: list[tuple[int, int]]) -> None:
    last = int(NOW) // HOUR
    hours = [Hour(ALL, last - back, {"articles": count}) for back, count in given_hours]
    by_hour = periods(hours, NOW, HOUR, 48)
    by_day = periods(hours, NOW, 24 * HOUR, 30)
    assert len(by_hour) == 48
    assert by_hour[-1].at <= NOW < by_hour[-1].at + HOUR
    assert sum(one.articles for one in by_hour) == sum(one.articles for one in by_day)
    assert sum(one.articles for one in by_hour) == sum(count for _, count in given_hours)


def arrival(minutes: float, *, source: str = "a", precise: bool = True, early: bool = False) -> Arrival:
    published = START - timedelta(days=9) if early else START
    return Arrival(source, published, precise, START + timedelta(minutes=minutes))


def test_latency_leaves_out_articles_that_say_nothing_about_the_crawler() -> None:
    since = {"a": START.timestamp() - 60}
    delays = [arrival(minutes) for minutes in range(1, 101)]
    others = [
        arrival(5000, precise=False),
        arrival(5000, early=True),
        Arrival("a", None, True, START),
        Arrival("a", START, True, None),
    ]
    found = latency([*delays, *others], since)
    assert (found.p50, found.p95, found.articles) == (50 * 60, 95 * 60, 100)
    assert latency(others, since).p50 is None
    assert latency([arrival(-5)], since).p95 == 0


def test_metrics_escape_data_of_sites() -> None:
    samples = [({"cause": 'a"b\\c\nd'}, 2.0), ({"cause": "none"}, None)]
    assert (
        list(metric("errors_total", "Errors.", samples))[-1]
        == 'newsbot_errors_total{cause="a\\"b\\\\c\\nd"} 2'
    )


def test_figures_come_from_the_data_of_crawls(tmp_path: Path) -> None:
    storage = SqliteStorage(tmp_path / "newsbot.db")
    storage.activity.add(
        system_clock(), {"news.test": {"articles": 1234, "pages": 2000, "article_pages": 1300, "errors": 7}}
    )
    storage.close()

    async def check(visitor: Visitor) -> None:
        _, text = await visitor.get("/crawl")
        assert "1\u202f234" in text
        assert "65 %" in text
        answer, text = await visitor.get("/metrics")
        assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
        assert 'newsbot_frontier_urls{state="pending"} 0' in text

    visit(settings_of(tmp_path), check)


def test_metrics_name_the_lag_and_the_faults_of_followers(tmp_path: Path) -> None:
    storage = SqliteStorage(tmp_path / "newsbot.db")
    cursor = storage.articles.end_of_changes()
    for number in range(3):
        storage.articles.store(make_article(f"a{number}", f"Text {number}."))
    storage.notes.save(KIND, "sink:hook", asdict(FollowerState(cursor=cursor, taken=5)))
    storage.notes.save(KIND, "sink:away", asdict(FollowerState(fault="no route", tries=2)))
    storage.close()

    async def check(visitor: Visitor) -> None:
        _, text = await visitor.get("/metrics")
        assert 'newsbot_follower_lag_changes{follower="sink:hook"} 3' in text
        assert 'newsbot_follower_changes_total{follower="sink:hook"} 5' in text
        assert 'newsbot_follower_failing{follower="sink:hook"} 0' in text
        assert 'newsbot_follower_failing{follower="sink:away"} 1' in text

    visit(settings_of(tmp_path), check)


def test_notifiers_are_shown_with_their_trust(tmp_path: Path) -> None:
    settings = settings_of(tmp_path)
    fill(settings)

    async def check(visitor: Visitor) -> None:
        _, page = await visitor.get("/crawl")
        assert re.search(r"<th[^>]*>hub.test plain</th><td[^>]*>websub</td>", page)
        assert re.search(r'<td class="n"[^>]*>75 %</td>', page)
        _, text = await visitor.get("/api/overview")
        (notifier,) = json.loads(text)["notifiers"]
        assert (notifier["host"], notifier["precision"], notifier["recall"]) == ("hub.test plain", 0.75, 0.75)

    visit(settings, check)
