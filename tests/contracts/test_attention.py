"""Articles per day on a subject, in every storage."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest

from newsbot.apps.export.formats import rows_as_csv, rows_as_jsonl
from newsbot.apps.search import index
from newsbot.apps.search.articles import MAX_DAYS, ArticleSearch
from newsbot.items import ArticleFilter
from newsbot.storage.base import Storage
from tests.contracts.storage_samples import NOON, make_article

EVENING = NOON + timedelta(hours=6)
TODAY, YESTERDAY = str(NOON.date()), str((NOON - timedelta(days=1)).date())


@pytest.fixture
def search(storage: Storage, tmp_path: Path) -> Iterator[ArticleSearch]:
    for number in range(12):
        storage.articles.store(
            make_article(
                str(number),
                f"A {'bridge' if number % 2 else 'tunnel'} of number {number}",
                hours=-24 * (number // 4),
                source=f"site{number % 3}.example",
                language="en" if number % 4 else "de",
            )
        )
    with closing(ArticleSearch(tmp_path / "search.db", storage.articles)) as opened:
        opened.follow()
        yield opened


def test_queries_are_compared_by_day_and_with_all_articles(search: ArticleSearch) -> None:
    found = search.attention(["bridge", "tunnel site:site0.example"], ArticleFilter(), EVENING)
    bridge, tunnel = found.queries
    assert len(found.days) == 30
    assert found.days[-1] == TODAY
    assert found.articles[-4:] == [0, 4, 4, 4]
    assert found.numbers(bridge)[-4:] == [0, 2, 2, 2]
    assert bridge.counts.sites == {"site0.example": 2, "site1.example": 2, "site2.example": 2}
    assert bridge.counts.languages == {"en": 6}
    assert sum(found.numbers(tunnel)) == tunnel.counts.total == 2
    assert list(found.rows())[-2] == {
        "day": TODAY, "query": "bridge", "articles": 2, "of": 4, "share": 0.5,
    }  # fmt: skip


def test_counts_per_day_follow_changes_and_removals(search: ArticleSearch, storage: Storage) -> None:
    moved = make_article("0", "A tunnel of number 0, moved", hours=-24, source="site0.example")
    storage.articles.store(moved)
    storage.removal.articles([make_article("1", source="site1.example").canonical_url])
    search.follow()
    found = search.attention(["tunnel"], ArticleFilter(), EVENING)
    assert found.articles[-2:] == [5, 2]
    assert found.numbers(found.queries[0])[-2:] == [3, 1]


def test_dates_of_the_filter_choose_the_days_within_bounds(search: ArticleSearch) -> None:
    where = ArticleFilter(since=NOON - timedelta(days=1), until=NOON)
    assert search.attention(["bridge"], where, EVENING).days == [YESTERDAY, TODAY]
    long = search.attention(["bridge"] * 9, ArticleFilter(since=NOON - timedelta(days=9000)), EVENING)
    assert len(long.days) == MAX_DAYS
    assert len(long.queries) == 4
    assert search.attention(["x"], ArticleFilter(since=EVENING + timedelta(days=3)), EVENING).days == []


def test_a_count_beyond_the_limit_is_marked_as_incomplete(
    search: ArticleSearch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index, "MAX_DATED", 5)
    counts = search.counts("bridge OR tunnel")
    assert (counts.total, counts.complete) == (5, False)
    assert search.counts("bridge site:site1.example").complete


def test_files_have_a_line_for_each_bar_and_escape_formulas(search: ArticleSearch) -> None:
    found = search.attention(["=bridge", "tunnel"], ArticleFilter(since=NOON), EVENING)
    assert rows_as_csv(found.rows()).splitlines() == [
        "day,query,articles,of,share", f"{TODAY},'=bridge,2,4,0.5", f"{TODAY},tunnel,2,4,0.5",
    ]  # fmt: skip
    assert [json.loads(line) for line in rows_as_jsonl(found.rows()).splitlines()] == list(found.rows())
