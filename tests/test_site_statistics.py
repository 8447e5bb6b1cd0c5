"""The stats of a crawl are described in words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from newsbot.apps.numbers import percent
from newsbot.apps.progress.display import (
    Figures,
    Rates,
    causes,
    duration,
    figures,
    site_figures,
    total,
)
from newsbot.sites.statistics import site_counters

STATS = {
    "downloader/request_count": 99,
    "newsbot/fetched/feed": 10,
    "newsbot/fetched/article": 90,
    "newsbot/articles/new": 70,
    "newsbot/articles/updated": 5,
    "newsbot/articles/unchanged": 3,
    "newsbot/unchanged": 4,
    "newsbot/gated": 2,
    "newsbot/duplicates/text": 2,
    "newsbot/duplicates/near": 6,
    "newsbot/not_article/section_front": 8,
    "newsbot/errors/dns": 1,
    "newsbot/errors/timeout": 7,
    "newsbot/queue/pending": 1234,
    "newsbot/queue/aside": 9,
    "newsbot/site/a.org/fetched": 60,
    "newsbot/site/a.org/pages": 50,
    "newsbot/site/a.org/articles": 40,
    "newsbot/site/a.org/article_pages": 45,
    "newsbot/site/a.org/errors": 8,
    "newsbot/site/a.org/errors/dns": 1,
    "newsbot/site/a.org/errors/timeout": 7,
    "newsbot/site/b.org/fetched": 40,
    "newsbot/site/b.org/pages": 40,
    "newsbot/site/b.org/articles": 30,
    "newsbot/site/b.org/article_pages": 30,
    "newsbot/site/idle.org/articles": 0,
}


def test_totals() -> None:
    now = figures(STATS)
    assert (now.fetched, now.new, now.updated, now.articles) == (100, 70, 5, 75)
    assert (now.duplicates, now.similar, now.unchanged, now.skipped) == (2, 6, 7, 2)
    assert (now.failed, now.queue, now.aside) == (8, 1234, 9)
    assert list(now.errors.items()) == [("timeout", 7), ("dns", 1)]
    assert now.useful_share == pytest.approx(75 / 90)


def test_empty_stats() -> None:
    assert figures({}) == Figures()
    assert site_figures({}) == []
    assert total([]).pages == 0


@given(
    st.dictionaries(
        st.text(st.sampled_from("newsbot/site/errors.orgx"), max_size=30)
        | st.sampled_from(sorted(STATS))
        | st.just("newsbot/site/a.org/pages"),
        st.none() | st.text(max_size=3) | st.floats() | st.integers() | st.booleans() | st.lists(st.none()),
    )
)
def test_unusual_stats_are_accepted(stats: dict[str, object]) -> None:
    now = figures(stats)
    assert now.useful_share is None or now.useful_share <= 1
    assert causes(now) is not None
    assert total(site_figures(stats)).site.startswith("all")


def test_sites_are_sorted_by_articles() -> None:
    sites = site_figures(STATS)
    assert [site.site for site in sites] == ["a.org", "b.org"]
    assert sites[0].useful_share == pytest.approx(0.9)
    assert sites[0].top_cause == "timeout"
    assert sites[1].top_cause is None
    everything = total(sites)
    assert (everything.pages, everything.articles, everything.errors) == (90, 70, 8)
    assert everything.top_cause == "timeout"


def test_counters_of_sites_are_increases() -> None:
    now = {**STATS, "newsbot/site/b.org/pages": 43, "newsbot/site/b.org/errors/dns": 1}
    assert site_counters(now, STATS) == {"b.org": {"pages": 3, "errors/dns": 1}}
    assert site_counters(STATS)["a.org"]["errors/timeout"] == 7
    assert "idle.org" not in site_counters(STATS)


def test_rates_are_those_of_the_last_minute() -> None:
    rates = Rates()
    assert rates.per_minute(0, Figures()) == (0, 0)
    assert rates.per_minute(30, Figures(fetched=60, new=30)) == (120, 60)
    for second in range(40, 200, 10):
        last = rates.per_minute(second, Figures(fetched=60 + second, new=30))
    assert last == pytest.approx((60, 0))


@pytest.mark.parametrize(
    ("value", "text"), [(None, "-"), (0, "0 %"), (0.955, "96 %"), (0.997, "99 %"), (1.0, "100 %")]
)
def test_percent(value: float | None, text: str) -> None:
    assert percent(value) == text


def test_rare_causes_are_summed() -> None:
    errors = {f"http_{400 + number}": 10 - number for number in range(7)}
    assert causes(Figures(errors=errors)).endswith("http_404 6, others 9")


def test_duration() -> None:
    assert duration(3725.9) == "1:02:05"
