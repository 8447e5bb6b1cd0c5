"""What people search, read and save weighs a site in the budget of polls."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from newsbot import backends
from newsbot.apps.search.usefulness import (
    FOUND,
    HALF_LIFE,
    KIND,
    LEAST,
    MOST,
    READ,
    SAVED,
    Uses,
    present_weights,
    weights,
)
from newsbot.apps.web.dashboard import app
from newsbot.crawl.sources import GROWING, MAX_WEIGHT, WEIGHTS, PollBudget
from newsbot.storage.sqlite import SqliteStorage
from testbed.feed_world import LEARNING, WorldSettings, judge, make_world, policies, run_policy
from tests.dashboarddata import fill
from tests.dashboards import TOKEN, Visitor, settings_of, visit

NOW = 1_790_000_000.0


def polls(weight: dict[str, float], articles: dict[str, float]) -> float:
    return sum(float((weight[site] * count) ** 0.5) for site, count in articles.items())


def test_weights_order_sites_by_uses_of_an_article_and_keep_the_number_of_polls() -> None:
    articles = {"daily.test": 900.0, "weekly.test": 30.0, "noise.test": 4000.0, "new.test": 1.0}
    found = weights({"daily.test": 90, "weekly.test": 60, "noise.test": 3, "gone.test": 50}, articles)
    assert sorted(found, key=found.__getitem__) == ["noise.test", "new.test", "daily.test", "weekly.test"]
    assert polls(found, articles) == pytest.approx(sum(count**0.5 for count in articles.values()))
    assert max(found.values()) / min(found.values()) <= MOST / LEAST
    # twice as many uses of every site change nothing
    double = weights({"daily.test": 180, "weekly.test": 120, "noise.test": 6}, articles)
    assert double == pytest.approx(found)


@pytest.mark.parametrize(("uses", "articles"), [({}, {"a.test": 5.0}), ({"a.test": 5.0}, {}), ({}, {})])
def test_without_uses_there_are_no_weights(uses: dict[str, float], articles: dict[str, float]) -> None:
    assert weights(uses, articles) == {}


def test_one_click_moves_a_small_site_little() -> None:
    articles = {"small.test": 2.0, "large.test": 1000.0}
    few = weights({"small.test": 1.0, "large.test": 100.0}, articles)
    assert few["small.test"] < 2 * few["large.test"]


@pytest.mark.parametrize("seed", [1, 2])
def test_read_articles_are_found_sooner_with_the_same_number_of_polls(seed: int) -> None:
    world = make_world(WorldSettings(feeds=400, days=24), np.random.default_rng(seed))
    first = np.random.default_rng([seed, 1]).uniform(0, 7200, 400)
    found = {
        name: judge(world, run_policy(world, make(), first), LEARNING)
        for name, make in policies(world, 12)
        if name in ("newsbot", "useful")
    }
    assert found["useful"].polls < 1.03 * found["newsbot"].polls
    assert found["useful"].read < 0.75 * found["newsbot"].read


@pytest.fixture
def storage(tmp_path: Path) -> SqliteStorage:
    return SqliteStorage(tmp_path / "n.db")


def test_numbers_decay_and_hold_nothing_but_the_site(storage: SqliteStorage) -> None:
    storage.activity.add(NOW - 3600, {"a.test": {"articles": 10}, "b.test": {"articles": 10}})
    uses, other = Uses(on=True), Uses(on=True)
    uses.count(["a.test", "a.test", "b.test"], READ)
    uses.write(storage, NOW)
    other.count(["a.test"], SAVED)
    other.write(storage, NOW)
    assert storage.notes.all(KIND) == {
        "a.test": {"at": round(NOW), "number": 2 * READ + SAVED},
        "b.test": {"at": round(NOW), "number": READ},
    }
    before = present_weights(storage, NOW)
    assert before["a.test"] > before["b.test"]
    assert storage.notes.get_many([WEIGHTS])[WEIGHTS].keys() == before.keys()
    uses.count(["b.test"], FOUND)
    uses.write(storage, NOW + HALF_LIFE)
    assert storage.notes.all(KIND)["b.test"]["number"] == pytest.approx(READ / 2 + FOUND)


def test_the_crawl_uses_weights_only_if_the_setting_is_on(storage: SqliteStorage) -> None:
    clock = [NOW]
    off, on = PollBudget(20.0, lambda: clock[0]), PollBudget(20.0, lambda: clock[0], useful=True)
    usual = off.threshold(storage, "a.test")
    assert on.threshold(storage, "a.test") == usual
    wrong = {"damaged.test": "much", "zero.test": 0, "huge.test": 1e9, "less.test": -3}
    storage.notes.save(*WEIGHTS, {"a.test": 4.0, "b.test": 0.25, **wrong})
    clock[0] += GROWING
    usual = off.threshold(storage, "a.test")
    assert on.threshold(storage, "a.test") == usual / 4
    assert on.threshold(storage, "b.test") == usual * 4
    for site in ("", "other.test", "damaged.test", "less.test"):
        assert on.threshold(storage, site) == usual
    assert on.threshold(storage, "zero.test") == usual * MAX_WEIGHT
    assert on.threshold(storage, "huge.test") == usual / MAX_WEIGHT


@pytest.mark.parametrize("on", ["1", "0"])
def test_the_dashboard_counts_sites_and_no_query(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, on: str
) -> None:
    monkeypatch.setattr(app, "COUNT_EVERY", 0.02)
    settings = settings_of(tmp_path, NEWSBOT_POLL_USEFUL=on)
    fill(settings, articles=3)
    with backends.stored(settings) as kept:
        (one, *_more) = kept.articles.newest(limit=1)

    async def read(visitor: Visitor) -> None:
        assert (await visitor.get(f"/article?url={one.canonical_url}"))[0].status == 200
        bearer = {"Authorization": f"Bearer {TOKEN}"}
        assert (await visitor.post("/do/star", {"url": one.canonical_url}, **bearer))[0].status == 303
        await visitor.get("/articles?q=harbour")

    visit(settings, read, token=TOKEN)
    with backends.stored(settings) as kept:
        found = kept.notes.all(KIND)
        if on == "0":
            assert not found
            return
        assert found[one.source].keys() == {"at", "number"}
        assert found[one.source]["number"] >= READ + SAVED
        assert "harbour" not in json.dumps(found)
