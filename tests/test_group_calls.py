"""New articles of a crawl are stored in groups; each caller gets its own result or error."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, cast

import pytest
from pymongo import MongoClient

from newsbot.apps.mongodb.storage import MongoStorage
from newsbot.crawl import backend_calls
from newsbot.crawl.backend_calls import (
    HEAVIEST,
    LARGEST,
    GroupCalls,
    Guarded,
    Outage,
    Together,
    guarded_storage,
)
from newsbot.errors import DataUnavailable, RecordBusy, RecordRefused
from newsbot.items import Article
from newsbot.storage.articles import Articles, Stored, Verdict
from newsbot.urls import fingerprint
from testbed.servers import MongoServer, run_mongo
from tests.contracts.storage_samples import make_article


class Counted:
    """The repository of articles. Records the sizes of stored groups; 0 means a call of ``store``."""

    def __init__(self, storage: MongoStorage) -> None:
        self._articles = storage.articles
        self.sizes: list[int] = []

    def store_new(self, articles: list[Article], peers: list[Sequence[str]]) -> list[Stored | None]:
        self.sizes.append(len(articles))
        return self._articles.store_new(articles, peers)

    def store(self, article: Article, over: str | None = None, peers: Sequence[str] = ()) -> Stored:
        self.sizes.append(0)
        return self._articles.store(article, over, peers)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MongoServer]:
    yield from run_mongo(tmp_path_factory.mktemp("mongo"))


@pytest.fixture
def storage(server: MongoServer) -> Iterator[MongoStorage]:
    with MongoClient[dict[str, Any]](server.uri) as client:
        client.drop_database("newsbot")
    opened = MongoStorage(server.uri + "?serverSelectionTimeoutMS=500")
    yield opened
    opened.close()


@pytest.fixture
def outage() -> Outage:
    return Outage()


@pytest.fixture
def counted(storage: MongoStorage) -> Counted:
    return Counted(storage)


@pytest.fixture
def timed() -> list[tuple[str, list[int]]]:
    """The steps whose time was measured, with the groups that were stored before their end."""
    return []


@pytest.fixture
def groups(
    storage: MongoStorage, counted: Counted, outage: Outage, timed: list[tuple[str, list[int]]]
) -> GroupCalls:
    @contextmanager
    def time(step: str) -> Iterator[None]:
        before = len(counted.sizes)
        yield
        timed.append((step, counted.sizes[before:]))

    guarded = guarded_storage(storage, outage)
    guarded.articles = cast("Articles", Guarded(counted, "storage.articles", "server", outage, local=False))
    return GroupCalls(guarded, outage, time)


async def together(groups: GroupCalls, articles: list[Article]) -> list[Any]:
    return await asyncio.gather(*map(groups.store, articles), return_exceptions=True)


def new(number: int) -> Article:
    return make_article(f"{number}", f"Text {number}.")


def test_articles_that_arrive_during_a_call_form_the_next_group(
    groups: GroupCalls, counted: Counted, timed: list[tuple[str, list[int]]]
) -> None:
    async def run() -> list[Stored]:
        first = asyncio.create_task(groups.store(new(0)))
        while not counted.sizes:  # noqa: ASYNC110 - a thread fills it
            await asyncio.sleep(0)
        others = [asyncio.create_task(groups.store(new(number))) for number in range(1, LARGEST + 4)]
        return [await one for one in (first, *others)]

    results = asyncio.run(run())
    assert results == [Stored(Verdict.NEW, new(number).canonical_url, 1) for number in range(LARGEST + 4)]
    assert counted.sizes == [1, LARGEST, 3]
    # the time of the calls, not that of articles that wait for others
    assert timed == [("store", [1]), ("store", [LARGEST]), ("store", [3])]


def test_long_articles_form_smaller_groups(groups: GroupCalls, counted: Counted) -> None:
    async def run() -> list[Stored]:
        first = asyncio.create_task(groups.store(new(0)))
        while not counted.sizes:  # noqa: ASYNC110 - a thread fills it
            await asyncio.sleep(0)
        half = HEAVIEST // 2
        texts = [f"{number}" + "x" * (half - 1) for number in (1, 2, 3)] + ["4" * (HEAVIEST + 1), "5"]
        others = [groups.store(make_article(text[0], text)) for text in texts]
        return [await first, *await asyncio.gather(*others)]

    assert {one.verdict for one in asyncio.run(run())} == {Verdict.NEW}
    assert counted.sizes == [1, 2, 1, 1, 1]


def test_a_single_article_is_stored_immediately(groups: GroupCalls, counted: Counted) -> None:
    async def run() -> None:
        for number in range(3):
            assert (await groups.store(new(number))).verdict is Verdict.NEW

    asyncio.run(run())
    assert counted.sizes == [1, 1, 1]


def test_an_article_waits_for_articles_whose_stories_are_being_searched(
    groups: GroupCalls, counted: Counted, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All these articles are stored together. The wait has a limit."""

    async def run() -> None:
        groups.deciding = 1
        monkeypatch.setattr(backend_calls, "LONGEST", 60.0)
        first = asyncio.create_task(groups.store(new(0)))
        await asyncio.sleep(0.02)
        assert counted.sizes == []
        second = asyncio.create_task(groups.store(new(1)))
        await asyncio.sleep(0)
        groups.deciding = 0
        assert {(await first).verdict, (await second).verdict} == {Verdict.NEW}
        groups.deciding = 1
        monkeypatch.setattr(backend_calls, "LONGEST", 0.01)
        await groups.store(new(2))

    asyncio.run(run())
    assert counted.sizes == [2, 1]


def test_each_caller_gets_its_own_result(groups: GroupCalls, storage: MongoStorage) -> None:
    storage.articles.store(new(0))
    large = make_article("large", "long " * 4_000_000)
    changed, copied = make_article("0", "Changed."), make_article("copy", "Text 0.")
    articles = [new(0), new(1), large, copied, new(2)]
    got = asyncio.run(together(groups, articles))
    assert [getattr(one, "verdict", None) for one in got] == ["unchanged", "new", None, "same_text", "new"]
    assert isinstance(got[2], RecordRefused)
    again = asyncio.run(groups.store(changed, new(0).content_hash))
    assert again == Stored(Verdict.UPDATED, new(0).canonical_url, 2)


def test_an_article_locked_by_a_dead_worker_does_not_block_other_articles(
    groups: GroupCalls, server: MongoServer, storage: MongoStorage
) -> None:
    async def run() -> None:
        held = asyncio.create_task(groups.store(new(0)))
        results = await together(groups, [new(number) for number in range(1, 40)])
        assert {one.verdict for one in results} == {Verdict.NEW}
        assert not held.done()  # the attempts to store it end with RecordBusy after some seconds
        with pytest.raises(RecordBusy):
            await held

    storage.articles.store(make_article("first", "First."))
    with MongoClient[dict[str, Any]](server.uri) as dead, dead.start_session() as session:
        session.start_transaction()
        key = fingerprint(new(0).canonical_url)
        dead["newsbot"]["articles"].insert_one({"_id": key}, session=session)
        asyncio.run(run())
        session.abort_transaction()


def test_an_unreachable_server_is_one_outage_and_all_articles_are_stored_afterwards(
    groups: GroupCalls, server: MongoServer, storage: MongoStorage, outage: Outage
) -> None:
    async def run() -> list[Stored]:
        outage.ending = lambda: False
        tasks = [
            asyncio.create_task(outage.patiently_await(partial(groups.store, one)))
            for one in map(new, range(50))
        ]
        while not outage:  # noqa: ASYNC110 - it has no event
            await asyncio.sleep(0.01)
        with pytest.raises(DataUnavailable):
            await groups.store(new(99))
        await asyncio.to_thread(server.start)
        return [await one for one in tasks]

    storage.articles.store(make_article("first", "First."))
    server.kill()
    results = asyncio.run(run())
    assert [one.canonical_url for one in results] == [new(number).canonical_url for number in range(50)]
    assert (outage.count, bool(outage)) == (1, False)
    assert storage.articles.count() == 51


def test_a_caller_that_is_cancelled_does_not_harm_its_group(
    groups: GroupCalls, counted: Counted, storage: MongoStorage
) -> None:
    async def run() -> None:
        tasks = [asyncio.create_task(groups.store(new(number))) for number in range(4)]
        while not counted.sizes:  # noqa: ASYNC110 - a thread fills it
            await asyncio.sleep(0)
        tasks[0].cancel()
        results = await asyncio.gather(*tasks, return_exceptions=True)
        assert isinstance(results[0], asyncio.CancelledError)
        assert all(isinstance(one, Stored) for one in results[1:])

    asyncio.run(run())
    assert storage.articles.count() == 4


def test_a_fault_while_items_are_gathered_is_raised_for_each_item() -> None:
    """Otherwise the pages would wait for their answers forever."""

    def more() -> bool:
        raise KeyError("gathering")

    async def work(group: list[int]) -> list[int]:
        return group

    async def whole() -> list[Any]:
        together = Together[int, int](work, more)
        calls = [asyncio.wait_for(together(number), 5) for number in range(3)]
        return await asyncio.gather(*calls, return_exceptions=True)

    assert [type(one) for one in asyncio.run(whole())] == [KeyError] * 3


def test_a_wrong_number_of_answers_is_raised_for_each_item() -> None:
    async def work(group: list[int]) -> list[int]:
        return group[:1]

    async def whole() -> list[Any]:
        together = Together[int, int](work)
        calls = [asyncio.wait_for(together(number), 5) for number in range(3)]
        return await asyncio.gather(*calls, return_exceptions=True)

    assert [type(one) for one in asyncio.run(whole())] == [int, ValueError, ValueError]
