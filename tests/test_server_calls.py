"""Slow servers do not block the event loop, and the code that calls them is not interleaved."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from newsbot.crawl import backend_calls
from newsbot.crawl.backend_calls import ENOUGH, FAST, Latency, ServerCalls
from newsbot.errors import DataUnavailable
from testbed.mockserver import MockServer
from testbed.redisserver import RedisServer
from testbed.servers import MongoServer, run_mongo
from tests.crawls import World, article_html, feed_xml
from tests.directcalls import MARK, USED
from tests.slowproxy import slow_proxy

HOST = "http://news.test"


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> None:
    """All servers count as slow."""
    monkeypatch.setattr(backend_calls, "FAST", -1.0)
    monkeypatch.setattr(backend_calls, "PROBE", -1.0)


class Server:
    """A server that responds when ``answer`` is set."""

    def __init__(self, calls: ServerCalls) -> None:
        self._calls = calls
        calls.call("server", lambda: None)  # the first call measures the server
        self.received: list[str] = []
        self.threads: set[int] = set()
        self.answer = threading.Event()

    def ask(self, what: str) -> str:
        def work() -> str:
            self.received.append(what)
            self.threads.add(threading.get_ident())
            assert self.answer.wait(30)
            return what.upper()

        return self._calls.call("server", work)


async def until(there: Callable[[], object]) -> None:
    while not there():  # noqa: ASYNC110  (a thread changes it)
        await asyncio.sleep(0.001)


def test_the_event_loop_is_not_blocked_by_a_slow_server(slow: None) -> None:
    async def main() -> None:
        calls = ServerCalls()
        server = Server(calls)
        asking = asyncio.ensure_future(calls.run(lambda: server.ask("a") + server.ask("b")))
        await until(lambda: server.received)  # the loop runs while the answer is missing
        assert calls.busy
        assert not asking.done()
        server.answer.set()
        assert await asking == "AB"
        assert threading.get_ident() not in server.threads

    asyncio.run(main())


def test_sections_run_one_after_the_other(slow: None) -> None:
    steps: list[str] = []

    async def main() -> None:
        calls = ServerCalls()
        server = Server(calls)

        def work(name: str) -> None:
            steps.append(f"{name} begins")
            server.ask(name)
            steps.append(f"{name} ends")

        sections = [asyncio.ensure_future(calls.run(work, name)) for name in "abc"]
        await until(lambda: server.received)
        await asyncio.sleep(0.01)
        assert steps == ["a begins"]
        server.answer.set()
        await asyncio.gather(*sections)

    asyncio.run(main())
    assert steps == [f"{name} {step}" for name in "abc" for step in ("begins", "ends")]


def test_an_error_of_the_server_is_raised_at_the_call(slow: None) -> None:
    async def main() -> str:
        calls = ServerCalls()
        calls.call("server", lambda: None)

        def fail() -> str:
            raise DataUnavailable("away")

        def work() -> str:
            try:
                return calls.call("server", fail)
            except DataUnavailable as error:
                return f"{error}, handled"

        handled = await calls.run(work)
        with pytest.raises(DataUnavailable, match="away"):
            await calls.run(lambda: calls.call("server", fail))
        assert not calls.busy
        return handled

    assert asyncio.run(main()) == "away, handled"


def test_a_cancelled_section_does_not_block_other_sections(slow: None) -> None:
    async def main() -> str:
        calls = ServerCalls()
        server = Server(calls)
        first = asyncio.ensure_future(calls.run(server.ask, "a"))
        await until(lambda: server.received)
        second = asyncio.ensure_future(calls.run(server.ask, "b"))
        first.cancel()
        server.answer.set()
        return await second

    assert asyncio.run(main()) == "B"


def test_started_work_is_not_started_again_before_it_ends(slow: None) -> None:
    ended: list[str] = []

    async def main() -> None:
        calls = ServerCalls()
        server = Server(calls)

        def work() -> None:
            server.ask("a")

        for _ in range(3):
            calls.start(work, then=lambda: ended.append("a"))
        server.answer.set()
        await calls.finish(lambda: None)
        assert server.received == ["a"]
        calls.start(work)
        await calls.finish(lambda: None)
        assert server.received == ["a", "a"]

    asyncio.run(main())
    assert ended == ["a"]


def test_work_that_calls_only_fast_servers_is_not_delayed() -> None:
    async def main() -> None:
        calls = ServerCalls()
        server = Server(calls)
        server.answer.set()
        results: list[str] = []
        assert calls.start(lambda: results.append(server.ask("a")))
        assert server.received == ["a"]
        assert not calls.busy
        assert server.threads == {threading.get_ident()}

    asyncio.run(main())


def test_a_server_is_called_directly_again_after_it_was_slow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backend_calls, "PROBE_EVERY", 0.0)
    latency = Latency()
    for _ in range(10):
        latency.took(FAST / 5, direct=True)
    assert latency.allows_direct_call()
    latency.took(20 * FAST, direct=True)
    for _ in range(20):
        latency.took(20 * FAST, direct=False)
    assert not latency.allows_direct_call()
    for _ in range(50):
        latency.took(FAST, direct=False)
    assert latency.allows_direct_call()  # one direct call measures the server again
    latency.took(FAST / 5, direct=True)
    assert latency.allows_direct_call()


def test_an_unknown_server_is_called_in_a_thread_first() -> None:
    async def main() -> set[int]:
        calls, threads = ServerCalls(), set()
        await calls.run(calls.call, "server", lambda: threads.add(threading.get_ident()))
        return threads

    assert threading.get_ident() not in asyncio.run(main())


def test_instant_calls_do_not_make_a_slow_server_fast() -> None:
    latency = Latency()
    for _ in range(3):
        latency.took(20 * FAST, direct=False)
        for _ in range(ENOUGH - 1):
            latency.took(0.0, direct=False)
        assert not latency.allows_direct_call()


def test_a_server_is_called_in_threads_after_an_error() -> None:
    latency = Latency()
    latency.failed()
    assert not latency.allows_direct_call()


@pytest.fixture
def mongo_server(tmp_path: Path) -> Iterator[MongoServer]:
    yield from run_mongo(tmp_path / "mongo")


@pytest.fixture
def servers(mongo_server: MongoServer, redis_server: RedisServer, world: World) -> Iterator[dict[str, str]]:
    """Redis and MongoDB that answer 25 ms late."""
    with (
        slow_proxy(redis_server.port, 0.025) as redis_port,
        slow_proxy(mongo_server.port, 0.025) as mongo_port,
    ):
        yield {
            "REDIS_URL": f"redis://127.0.0.1:{redis_port}/0",
            "MONGO_URI": f"mongodb://127.0.0.1:{mongo_port}/{world.folder.name}?directConnection=true",
        }


def test_a_crawl_with_slow_servers_stores_each_article_once(
    world: World, site: MockServer, servers: dict[str, str]
) -> None:
    stories = [f"{HOST}/news/story-{n}" for n in range(5)]
    site.page(f"{HOST}/feed.xml", feed_xml(stories), headers={"Content-Type": "application/rss+xml"})
    for n, story in enumerate(stories):
        site.page(story, article_html(n))
    world.rule("news.test", f"domain: news.test\nfeeds: {HOST}/feed.xml\n")
    world.servers = servers
    done = world.crawl()
    assert done.code == 0, done.err
    assert "Traceback" not in done.err
    assert done.stat("articles/new") == len(stories)
    assert [site.requests(f"/news/story-{n}")[1:] for n in range(5)] == [[]] * 5


@pytest.fixture
def spiders(world: World, monkeypatch: pytest.MonkeyPatch) -> World:
    """A world whose crawls name their spider."""

    def command(*arguments: str) -> list[str]:
        return [sys.executable, "-m", "scrapy", "crawl", "-s", f"EXTENSIONS={USED}", *arguments]

    monkeypatch.setattr(world, "command", command)
    return world


def test_no_call_of_a_slow_server_blocks_the_event_loop(
    spiders: World, site: MockServer, servers: dict[str, str]
) -> None:
    stories = [f"{HOST}/news/story-{n}" for n in range(3)]
    listed = [*stories, f"{HOST}/news/moved", f"{HOST}/news/gone"]
    site.page(f"{HOST}/feed.xml", feed_xml(listed), headers={"Content-Type": "application/rss+xml"})
    links = "".join(f'<a href="{url}">Council story</a>' for url in stories)
    for n, story in enumerate(stories):
        site.page(story, article_html(n, extra=links))
    site.page(f"{HOST}/news/moved", status=301, headers={"Location": stories[0]})
    spiders.rule("news.test", f"domain: news.test\nfeeds: {HOST}/feed.xml\ndelay: 0.05\n")
    spiders.servers = servers
    for words in (
        ("news",),
        ("news", "-a", "now=yes"),
        ("search", "-a", "text=bridge", "-a", "sites=news.test"),
        ("monitor", "-a", "follow=links"),
    ):
        done = spiders.crawl(*words)
        assert done.code == 0, done.err
        assert "Traceback" not in done.err
        assert MARK not in done.err, done.err[done.err.index(MARK) :]
