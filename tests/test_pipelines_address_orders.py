"""No article is lost or stored twice, whatever pages claim, in any order and with two pages at a time."""

from __future__ import annotations

import asyncio
from collections import Counter
from itertools import count
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scrapy.exceptions import DropItem

from newsbot.pipelines import near
from newsbot.pipelines.exact import ExactDuplicatePipeline
from newsbot.pipelines.near import NearDuplicatePipeline
from newsbot.pipelines.store import StorePipeline
from newsbot.pipelines.validate import ValidatePipeline
from newsbot.urls import canonicalize
from tests.builders import Desk, make_article

STEPS: tuple[Any, ...] = (ValidatePipeline, ExactDuplicatePipeline, NearDuplicatePipeline, StorePipeline)
PAGES = 5
RUNS = count()


@pytest.fixture
def impatient(desk, monkeypatch):
    """A desk without waits for similar texts that are about to be stored: the test controls the order."""
    monkeypatch.setattr(near, "WAITS", ())
    return desk


def page(run, number, text, claim):
    """Return page ``number`` with one of several texts; it names page ``claim``, which may not exist."""
    address = f"https://news.test/{run}/story/"
    return make_article(
        run * 100 + text,
        url=f"{address}{number}",
        canonical_url=f"{address}{claim}",
        title=f"Run {run} and the long headline of text {text}",
    )


def walk(desk: Desk, items, turns):
    """Send items through the pipelines: one step of one item per turn; then finish all items."""
    stages = {place: list(STEPS) for place in range(len(items))}

    async def step(place):
        if not stages[place]:
            return
        kind = stages[place].pop(0)
        try:
            answer = kind.from_crawler(desk.crawler).process_item(items[place])
            items[place] = await answer if asyncio.iscoroutine(answer) else answer
        except DropItem:
            stages[place].clear()

    async def run():
        for turn in turns:
            await step(turn % len(items))
        for place in range(len(items)):
            while stages[place]:
                await step(place)

    asyncio.run(run())


numbers = st.integers(0, PAGES - 1)


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    texts=st.lists(numbers, min_size=PAGES, max_size=PAGES),
    claims=st.lists(st.integers(0, PAGES + 1), min_size=PAGES, max_size=PAGES),
    turns=st.lists(numbers, max_size=4 * PAGES),
    again=st.permutations(range(PAGES)),
)
def test_each_text_is_kept_once_in_any_order(impatient, texts, claims, turns, again):
    run, context = next(RUNS), impatient.context
    before = context.storage.articles.count()
    items = [page(run, number, texts[number], claims[number]) for number in range(PAGES)]
    walk(impatient, items, turns)
    once = found(context, run)
    assert context.storage.articles.count() - before == len(once)
    assert Counter(once.values()) == dict.fromkeys(texts, 1)
    walk(impatient, [page(run, number, texts[number], claims[number]) for number in again], [])
    assert Counter(found(context, run).values()) == dict.fromkeys(texts, 1), (
        "also after all pages are fetched again"
    )
    for number in range(PAGES):
        led_to = context.storage.articles.get(items[number].url)
        assert led_to is not None
        assert text_of(led_to) == texts[number], "each page's URL must lead to its text"
        alone = texts.count(texts[number]) == 1
        if claims[number] == number and alone:
            assert led_to.canonical_url == canonicalize(items[number].url), (
                "a page that names itself keeps its URL"
            )


def found(context, run):
    """Return the URL of each article of a run, and the number in its text."""
    led_to = (
        context.storage.articles.get(f"https://news.test/{run}/story/{number}") for number in range(PAGES + 2)
    )
    kept = list({one.canonical_url: one for one in led_to if one is not None}.values())
    assert [len(context.storage.articles.versions(one.canonical_url)) for one in kept] == [1] * len(kept)
    return {one.canonical_url: text_of(one) for one in kept}


def text_of(article):
    return int(article.title.rsplit(" ", 1)[1])
