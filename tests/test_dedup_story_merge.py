"""If several workers fetch similar texts at the same time, there is one story, with each text of a site
once."""

from __future__ import annotations

import asyncio
import secrets
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

from newsbot.backends import open_storage
from newsbot.dedup.index import signature, text_key
from newsbot.items import Article
from newsbot.pipelines import near
from newsbot.pipelines.exact import ExactDuplicatePipeline
from newsbot.pipelines.near import NearDuplicatePipeline
from newsbot.pipelines.store import StorePipeline
from newsbot.storage.articles import story_id
from newsbot.storage.base import Storage
from newsbot.storage.sqlite import SqliteStorage
from testbed.redisserver import redis_url
from tests import warm
from tests.builders import Desk, make_article, prose

WORKERS = 4
ROUNDS = 15


def similar_article(number: int, worker: int) -> Article:
    """Return a similar text of three sites. The last two workers find one site's text at two URLs."""
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
    """A worker that runs one step at a time: exact duplicates, near-duplicates, then storage."""

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
        """Yield between the pipelines."""
        try:
            for step in (self.exact, *self.steps):
                article = process(step, article)
                yield
        except DropItem:
            yield


def process(step: Any, article: Article) -> Article:
    item: Article = asyncio.run(step.process_item(article))
    return item


def check(storage: Storage, number: int) -> None:
    members = [one for one in storage.articles.iter() if one.title == f"{number}"]
    assert sorted(one.source for one in members) == [f"site{n}.test" for n in range(WORKERS - 1)]
    assert len({one.story for one in members}) == 1, {one.canonical_url: one.story for one in members}
    for one in members:
        duplicate = one.duplicate_of and storage.articles.get(one.duplicate_of)
        assert not duplicate or duplicate.canonical_url != one.canonical_url, (
            "an article is marked as its own duplicate"
        )


@given(order=st.permutations([worker for worker in range(WORKERS) for _ in range(3)]))
# Article 2 got the story of URL 3. But URL 3 did not become an article, because URL 2 already had its text.
@example(order=[0, 3, 2, 0, 0, 3, 2, 2, 3, 1, 1, 1])
@example(order=[3, 2, 1, 0, 2, 3, 0, 2, 0, 1, 3, 1])  # a stored article gets a new URL
@example(order=[2, 0, 1, 3, 2, 3, 0, 0, 1, 3, 1, 2])
@settings(max_examples=25, deadline=None)
def test_any_order_of_the_workers_steps_makes_one_story(order: list[int]) -> None:
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(near, "WAITS", ())  # a worker that waits would block the others here
        workers = [Worker(Path(folder), number, {}) for number in range(WORKERS)]
        works = [worker.work(similar_article(1, worker.number)) for worker in workers]
        for number in order:
            next(works[number], None)
        check(workers[0].desk.context.storage, 1)
        for worker in workers:
            worker.desk.crawl.close()


def test_an_article_joins_the_story_of_a_similar_article_that_was_not_stored_yet(tmp_path: Path) -> None:
    """Text 1 is stored. Text 2 is similar to text 1. Text 3 is similar to text 2 and is stored before it."""
    words = [f"word{place}" for place in range(300)]
    texts = [" ".join(words[start : start + 200]) for start in (0, 40, 80)]
    workers = [Worker(tmp_path, number, {}) for number in range(3)]
    articles = [
        make_article(number, text=text, source=f"{number}.test", url=url, canonical_url=url)
        for number, text in enumerate(texts)
        for url in (f"https://{number}.test/",)
    ]
    list(workers[0].work(articles[0]))
    second = workers[1].work(articles[1])
    next(second)
    next(second)  # in the index, but not in the storage
    list(workers[2].work(articles[2]))
    list(second)
    assert {one.story for one in articles[1:]} == {story_id("https://0.test/"), story_id("https://2.test/")}
    with closing(SqliteStorage(tmp_path / "data" / "newsbot.db")) as storage:
        assert {one.story for one in storage.articles.iter()} == {story_id("https://0.test/")}
    for worker in workers:
        worker.desk.crawl.close()


def test_a_copy_joins_the_story_of_a_new_version_that_is_not_stored_yet(tmp_path: Path) -> None:
    """The stored text is the previous version, which is not similar to any other text."""
    words = [f"word{place}" for place in range(300)]
    before, copied = " ".join(words[:100]), " ".join(words[100:])
    workers = [Worker(tmp_path, number, {}) for number in range(2)]
    page = {"source": "0.test", "url": "https://0.test/", "canonical_url": "https://0.test/"}
    list(workers[0].work(make_article(1, text=before, **page)))
    update = make_article(1, text=copied, **page)
    on_its_way = workers[0].work(update)
    next(on_its_way)
    next(on_its_way)  # in the index, but not in the storage
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(near, "WAITS", ())
        url = "https://1.test/"
        copy = make_article(2, text=copied, source="1.test", url=url, canonical_url=url)
        list(workers[1].work(copy))
    list(on_its_way)
    with closing(SqliteStorage(tmp_path / "data" / "newsbot.db")) as storage:
        kept = list(storage.articles.iter())
    assert [one.text for one in kept] == [copied, copied]
    assert {one.story for one in kept} == {story_id("https://0.test/")}
    for worker in workers:
        worker.desk.crawl.close()


REPORT = " ".join(f"the index of the exchange rose again today in sector {chr(97 + n)}" for n in range(20))


def report(number: int, numbers: str, source: str = "exchange.test") -> Article:
    text = f"{REPORT} by {numbers}"
    return make_article(
        number,
        url=f"https://{source}/{number}",
        canonical_url=f"https://{source}/{number}",
        source=source,
        text=text,
        content_hash=text_key(text),
    )


@pytest.fixture
def two(tmp_path: Path) -> Iterator[list[Worker]]:
    workers = [Worker(tmp_path, number, {}) for number in range(2)]
    yield workers
    for worker in workers:
        worker.desk.crawl.close()


async def _second_while_first_is_stored(two: list[Worker], first: Article, second: Article) -> None:
    """Process the second article after the first is in the index, and before it is stored."""
    (place, keep), (place_second, keep_second) = (worker.steps for worker in two)
    await place.process_item(first)
    waiting = asyncio.create_task(place_second.process_item(second))
    await asyncio.sleep(0)
    assert not waiting.done()
    await keep.process_item(first)
    await waiting
    await keep_second.process_item(second)


def test_simultaneous_reports_of_a_template_are_separate_stories(two: list[Worker]) -> None:
    """The numbers decide whether both texts are the same news, but the first text is not stored yet."""
    first, second = report(1, "17.5 points to 3411 in 60 deals"), report(2, "99.1 points to 8802 in 75 deals")
    asyncio.run(_second_while_first_is_stored(two, first, second))
    assert (second.relation, second.story) == ("new", story_id(second.canonical_url))
    kept = list(two[0].desk.context.storage.articles.iter())
    assert len({one.story for one in kept}) == 2


def test_an_update_that_arrives_while_the_article_is_stored_is_its_revision(two: list[Worker]) -> None:
    first, second = (
        report(1, "17.5 points to 3411 in 60 deals"),
        report(2, "17.5 points to 3411 in 60 deals, brokers said"),
    )
    asyncio.run(_second_while_first_is_stored(two, first, second))
    assert (second.relation, second.duplicate_of) == ("revision", first.canonical_url)
    assert second.story == first.story


def test_the_wait_for_a_text_that_is_never_stored_is_short(
    two: list[Worker], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The entry of that text in the index must not merge the similar texts into one story."""
    monkeypatch.setattr(near, "WAITS", (0.001, 0.001))
    two[0].desk.context.index.check_and_insert(
        "https://exchange.test/0", "exchange.test", signature(REPORT), two[0].desk.clock()
    )
    articles = [
        report(number, f"{number}7.{number} points to {number}411 in {number}60 deals")
        for number in range(1, 4)
    ]
    for article in articles:
        list(two[0].work(article))
    assert [one.relation for one in articles] == ["new"] * 3
    assert len({one.story for one in two[0].desk.context.storage.articles.iter()}) == 3


def _work_at_once(folder: Path, number: int, backends: dict[str, str], barrier: Barrier, rounds: int) -> None:
    worker = Worker(folder, number, backends)
    for round_ in range(rounds):
        article = similar_article(round_, number)
        barrier.wait(60)
        for _ in worker.work(article):
            pass
    worker.desk.crawl.close()


@pytest.mark.parametrize("kind", ["file", "redis", pytest.param("servers", marks=pytest.mark.slow)])
def test_processes_that_store_similar_texts_simultaneously_make_one_story(
    tmp_path: Path, kind: str, request: pytest.FixtureRequest
) -> None:
    backends = {} if kind == "file" else {"REDIS_URL": redis_url()}
    rounds = 4 if kind == "servers" else ROUNDS
    if kind == "servers":
        place, _, options = request.getfixturevalue("mongo_uri").partition("?")
        backends["MONGO_URI"] = f"{place}newsbot_settling_{secrets.token_hex(4)}?{options}"
    context = warm.context()
    barrier = context.Barrier(WORKERS)
    Desk(tmp_path, None, backends).crawl.close()
    processes = [
        context.Process(target=_work_at_once, args=(tmp_path, number, backends, barrier, rounds))
        for number in range(WORKERS)
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join(120)
        assert process.exitcode == 0
    with closing(open_storage({"NEWSBOT_DATA": str(tmp_path / "data"), **backends})) as storage:
        for round_ in range(rounds):
            check(storage, round_)
