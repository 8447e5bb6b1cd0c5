"""Texts that several workers meet at the same instant: one story, and the same text of a site once."""

from __future__ import annotations

import asyncio
import multiprocessing
from collections.abc import Iterator
from contextlib import closing
from multiprocessing.synchronize import Barrier
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scrapy.exceptions import DropItem

from newsbot.dedup.decision import story_id
from newsbot.dedup.exact import text_key
from newsbot.items import Article
from newsbot.pipelines.exact import ExactDuplicatePipeline
from newsbot.pipelines.near import NearDuplicatePipeline
from newsbot.pipelines.store import StorePipeline
from newsbot.storage.sqlite import SqliteStorage
from tests.builders import Desk, make_article, prose
from tests.redisserver import redis_url

WORKERS = 4
ROUNDS = 15


def like(number: int, worker: int) -> Article:
    """Like texts of three sites; the last two workers find one text of one site at two addresses."""
    site = min(worker, WORKERS - 2)
    address = f"https://site{site}.test/{number}/{worker}"
    text = f"{prose(number, 150)} {' '.join(f'own{number}x{site}x{word}' for word in range(5))}"
    return make_article(
        1,
        url=address,
        canonical_url=address,
        source=f"site{site}.test",
        text=text,
        content_hash=text_key(text),
        title=f"{number}",
    )


class Worker:
    """A worker that does one step at a time: place, then store."""

    def __init__(self, folder: Path, number: int, backends: dict[str, str]) -> None:
        (folder / f"{number}").mkdir(exist_ok=True)
        self.desk = Desk(folder / f"{number}", None, {"NEWSBOT_DATA": str(folder / "data"), **backends})
        self.number = number
        crawler = self.desk.crawler
        self.steps: list[Any] = [
            kind.from_crawler(crawler) for kind in (NearDuplicatePipeline, StorePipeline)
        ]
        self.exact = ExactDuplicatePipeline.from_crawler(crawler)

    def work(self, article: Article) -> Iterator[None]:
        """Stop between the pipelines."""
        try:
            for step in (self.exact, *self.steps):
                process(step, article)
                yield
        except DropItem:
            yield


def process(step: Any, article: Article) -> None:
    asyncio.run(step.process_item(article))


def check(storage: SqliteStorage, number: int) -> None:
    members = [one for one in storage.iter_articles() if one.title == f"{number}"]
    assert sorted(one.source for one in members) == [f"site{n}.test" for n in range(WORKERS - 1)]
    assert len({one.story for one in members}) == 1, {one.canonical_url: one.story for one in members}
    for one in members:
        duplicate = one.duplicate_of and storage.article(one.duplicate_of)
        assert not duplicate or duplicate.canonical_url != one.canonical_url, "its own duplicate"


@given(order=st.permutations([worker for worker in range(WORKERS) for _ in range(3)]))
@example(order=[0, 3, 2, 0, 0, 3, 2, 2, 3, 1, 1, 1])  # the address that loses its text was trusted
@example(order=[3, 2, 1, 0, 2, 3, 0, 2, 0, 1, 3, 1])  # a stored article moves on
@example(order=[2, 0, 1, 3, 2, 3, 0, 0, 1, 3, 1, 2])
@settings(max_examples=60, deadline=None)
def test_the_steps_of_workers_in_any_order_make_one_story(order: list[int]) -> None:
    with TemporaryDirectory() as folder:
        workers = [Worker(Path(folder), number, {}) for number in range(WORKERS)]
        works = [worker.work(like(1, worker.number)) for worker in workers]
        for number in order:
            next(works[number], None)
        check(workers[0].desk.state.storage, 1)  # type: ignore[arg-type]
        for worker in workers:
            worker.desk.state.close()


def test_who_found_an_article_before_it_was_stored_comes_along(tmp_path: Path) -> None:
    """The first is stored; the second is like it; the third is like the second only, and is faster."""
    words = [f"word{place}" for place in range(300)]
    texts = [" ".join(words[start : start + 200]) for start in (0, 40, 80)]
    workers = [Worker(tmp_path, number, {}) for number in range(3)]
    articles = [
        make_article(number, text=text, source=f"{number}.test", canonical_url=f"https://{number}.test/")
        for number, text in enumerate(texts)
    ]
    list(workers[0].work(articles[0]))
    second = workers[1].work(articles[1])
    next(second)
    next(second)  # in the index, not in the storage
    list(workers[2].work(articles[2]))
    list(second)
    assert {one.story for one in articles[1:]} == {story_id("https://0.test/"), story_id("https://2.test/")}
    with closing(SqliteStorage(tmp_path / "data" / "newsbot.db")) as storage:
        assert {one.story for one in storage.iter_articles()} == {story_id("https://0.test/")}
    for worker in workers:
        worker.desk.state.close()


def _work_at_once(folder: Path, number: int, backends: dict[str, str], barrier: Barrier) -> None:
    worker = Worker(folder, number, backends)
    for round_ in range(ROUNDS):
        article = like(round_, number)
        barrier.wait(60)
        for _ in worker.work(article):
            pass
    worker.desk.state.close()


@pytest.mark.parametrize("index", ["sqlite", "redis"])
def test_processes_that_meet_like_texts_at_once_make_one_story(tmp_path: Path, index: str) -> None:
    backends = {"REDIS_URL": redis_url()} if index == "redis" else {}
    context = multiprocessing.get_context("spawn")
    barrier = context.Barrier(WORKERS)
    Desk(tmp_path, None, backends).state.close()
    processes = [
        context.Process(target=_work_at_once, args=(tmp_path, number, backends, barrier))
        for number in range(WORKERS)
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join(120)
        assert process.exitcode == 0
    with closing(SqliteStorage(tmp_path / "data" / "newsbot.db")) as storage:
        for round_ in range(ROUNDS):
            check(storage, round_)
