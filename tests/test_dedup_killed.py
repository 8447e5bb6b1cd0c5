"""After kill -9 between two steps of storing an article, its story becomes complete and has no duplicates.

A killed worker loses its memory. Its page is fetched again, possibly long after other pages.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from pymongo import MongoClient
from scrapy.exceptions import DropItem

from newsbot.dedup.index import text_key
from newsbot.items import Article
from newsbot.pipelines import near, store
from tests.builders import make_article
from tests.test_dedup_story_merge import Worker, process

LONG = [f"word{place}" for place in range(330)]
CHAIN = [
    ("a.test", LONG[:200]),
    ("b.test", LONG[40:240]),  # similar to its neighbours in the list, which are not similar to each other
    ("c.test", LONG[80:280]),
    ("d.test", LONG[120:320]),
]
STEPS = ("exact", "near", "store")
KILLS = st.sampled_from([None, "exact", "near", "settle"])


class Killed(Exception):
    """Simulates the end of a worker."""


def article_of(number: int) -> Article:
    site, words = CHAIN[number]
    url, text = f"https://{site}/chain", " ".join(words)
    return make_article(
        number, url=url, canonical_url=url, source=site, text=text, content_hash=text_key(text)
    )


def life(worker: Worker, end: str | None, patch: pytest.MonkeyPatch) -> Iterator[None]:
    """Store the worker's article step by step until the worker is killed; then repeat from the beginning."""
    article = article_of(worker.number)
    for name, step in zip(STEPS, (worker.exact, *worker.steps), strict=True):
        with patch.context() as now:
            if name == "store" and end == "settle":
                now.setattr(store.StorePipeline, "_settle", _kill)
            try:
                article = process(step, article)
            except Killed:
                break
        yield
        if name == end:
            break
    else:
        return
    yield
    yield from again(worker)


def again(worker: Worker) -> Iterator[None]:
    article = article_of(worker.number)
    try:
        for step in (worker.exact, *worker.steps):
            article = process(step, article)
            yield
    except DropItem:
        yield


def _kill(*_: Any) -> None:
    raise Killed


ORDERS = st.permutations([one for one in range(4) for _ in range(7)])
ENDS = st.tuples(*[KILLS] * 4)
FIXTURES = [HealthCheck.function_scoped_fixture]


@given(order=ORDERS, ends=ENDS)
@example(
    order=[0] * 7 + [3] * 7 + [2] * 7 + [1] * 7, ends=(None, "settle", None, None)
)  # b.test, which connects others, is last
@example(
    order=[0] * 5 + [1, 1, 2, 1, 1, 2, 2] + [1] * 3 + [2] * 4 + [3] * 7 + [0] * 2,
    ends=(None, "exact", None, None),
)
@settings(max_examples=60, deadline=None, suppress_health_check=FIXTURES)
def test_a_story_is_complete_after_a_kill_between_any_steps(
    monkeypatch: pytest.MonkeyPatch, order: list[int], ends: tuple[str | None, ...]
) -> None:
    run(order, ends, {}, monkeypatch)


@given(order=ORDERS, ends=ENDS)
@example(order=[0] * 7 + [3] * 7 + [2] * 7 + [1] * 7, ends=(None, "settle", None, None))
@settings(max_examples=8, deadline=None, suppress_health_check=FIXTURES)
def test_a_story_is_complete_after_a_kill_also_with_mongodb(
    mongo_uri: str, monkeypatch: pytest.MonkeyPatch, order: list[int], ends: tuple[str | None, ...]
) -> None:
    place, _, options = mongo_uri.partition("?")
    name = f"newsbot_killed_{secrets.token_hex(4)}"
    try:
        run(order, ends, {"MONGO_URI": f"{place}{name}?{options}"}, monkeypatch)
    finally:
        with MongoClient[dict[str, object]](mongo_uri) as client:
            client.drop_database(name)


def run(
    order: list[int], ends: tuple[str | None, ...], backends: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with TemporaryDirectory() as folder, ExitStack() as opened, monkeypatch.context() as patch:
        patch.setattr(near, "WAITS", ())  # a worker that waits would block the others here
        workers = [Worker(Path(folder), number, backends) for number in range(4)]
        for worker in workers:
            opened.callback(worker.desk.crawl.close)
        lives = [life(worker, end, monkeypatch) for worker, end in zip(workers, ends, strict=True)]
        for number in order:
            next(lives[number], None)
        kept = list(workers[0].desk.context.storage.articles.iter())
    assert sorted(one.source for one in kept) == [site for site, _ in CHAIN]
    assert len({one.story for one in kept}) == 1, {one.source: one.story for one in kept}


def test_a_similar_update_is_in_the_story_after_a_restart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The page of the update is unchanged when it is fetched again."""
    worker = Worker(tmp_path, 1, {})
    other, before, after = article_of(0), article_of(1), article_of(1)
    before.text = " ".join(f"early{place}" for place in range(100))
    before.content_hash = text_key(before.text)
    for article in (other, before):
        assert list(worker.work(article))
    with monkeypatch.context() as now:
        now.setattr(store.StorePipeline, "_settle", _kill)
        with pytest.raises(Killed):
            list(worker.work(after))
    list(worker.work(article_of(1)))
    kept = {one.source: one for one in worker.desk.context.storage.articles.iter()}
    worker.desk.crawl.close()
    assert (kept["b.test"].version, kept["b.test"].story) == (2, kept["a.test"].story)


def test_a_page_that_replaces_the_article_of_its_canonical_url_keeps_its_story(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The page has a longer version of the article. Other texts are similar only to this version."""
    worker = Worker(tmp_path, 1, {})
    other, before = article_of(0), article_of(1)
    before.text = " ".join(LONG[170:240])
    before.content_hash = text_key(before.text)
    for article in (other, before):
        assert list(worker.work(article))

    def longer() -> Article:
        article = article_of(1)
        article.url = "https://b.test/longer"
        return article

    with monkeypatch.context() as now:
        now.setattr(store.StorePipeline, "_settle", _kill)
        with pytest.raises(Killed):
            list(worker.work(longer()))
    list(worker.work(longer()))
    kept = {one.source: one for one in worker.desk.context.storage.articles.iter()}
    worker.desk.crawl.close()
    assert (kept["b.test"].version, kept["b.test"].story) == (2, kept["a.test"].story)
