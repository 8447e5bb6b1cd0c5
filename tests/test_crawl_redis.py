"""Complete crawls with the queue in Redis: no page is lost if a worker or Redis is killed."""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
import redis

from newsbot.apps.demo.check import compare
from newsbot.apps.redis.frontier import RedisFrontier
from newsbot.apps.redis.index import RedisIndex
from newsbot.crawl.assembly import notice_volatile_queue
from newsbot.dedup.sqlite import SqliteIndex
from testbed.demoweb.server import DemoServer
from testbed.mockserver import MockServer
from testbed.redisserver import RedisServer
from tests.crawls import World, article_html

ARTICLES = 60
IN_FLIGHT = 32
"""CONCURRENT_REQUESTS of the crawl."""


@pytest.fixture
def server(durable_redis: RedisServer) -> RedisServer:
    """The server with the queue."""
    return durable_redis


@pytest.fixture
def site(tmp_path: Path) -> Iterator[DemoServer]:
    with DemoServer(tmp_path / "rules", articles=ARTICLES) as site:
        yield site


@pytest.fixture
def world(tmp_path: Path, site: DemoServer) -> World:
    world = World(tmp_path, site)
    world.rules = site.rules
    return world


def wait_for(site: DemoServer, requests: int) -> None:
    end = time.monotonic() + 60
    while len(site.log) < requests:
        assert time.monotonic() < end, "the crawl did not make enough requests"
        time.sleep(0.005)


def articles_fetched(site: DemoServer) -> Counter[tuple[str, str]]:
    """Return how often each article was sent completely."""
    return Counter(
        (record.host, record.path)
        for record in site.log
        if record.kind == "article" and record.status == 200 and record.whole
    )


def check_all_stored(world: World, site: DemoServer, server: RedisServer) -> None:
    with world.storage() as storage:
        report = compare(storage.articles.iter(), site.manifest)
    assert report.ok, report.faults
    with closing(RedisFrontier(server.url)) as frontier:
        counts = frontier.counts()
        pending = frontier.outlook(horizon=time.time()).pending
    assert (counts["leased"], pending, counts["aside"]) == (0, 0, 0)


def test_two_workers_share_the_work(world: World, site: DemoServer, server: RedisServer) -> None:
    workers = [world.start(REDIS_URL=server.url) for _ in range(2)]
    for worker in workers:
        _, err = worker.communicate(timeout=120)
        assert worker.returncode == 0, err
    check_all_stored(world, site, server)
    fetched = articles_fetched(site)
    assert len(fetched) > 0.9 * ARTICLES
    assert fetched.total() <= 1.05 * len(fetched)
    with closing(RedisIndex(server.url)) as index, closing(SqliteIndex(world.data / "newsbot.db")) as local:
        assert index.count() > 0.5 * ARTICLES, "the near-duplicate index must be in Redis"
        assert local.count() == 0


def test_a_killed_worker_loses_nothing(world: World, site: DemoServer, server: RedisServer) -> None:
    lease = ("-s", "NEWSBOT_LEASE_SECONDS=5")  # the other worker waits for the leases of the killed one
    first, second = (world.start(*lease, REDIS_URL=server.url) for _ in range(2))
    wait_for(site, 15)
    first.kill()
    first.communicate()
    _, err = second.communicate(timeout=120)
    assert second.returncode == 0, err
    again = world.crawl(REDIS_URL=server.url)
    assert again.code == 0, again.err
    check_all_stored(world, site, server)


def test_workers_go_on_while_another_divides_the_queue(
    world: World, site: DemoServer, server: RedisServer
) -> None:
    lease = ("-s", "NEWSBOT_LEASE_SECONDS=5")
    first, second = (world.start(*lease, REDIS_URL=server.url) for _ in range(2))
    wait_for(site, 30)
    third = world.start(*lease, REDIS_URL=server.url, NEWSBOT_QUEUES="3")
    wait_for(site, 50)
    first.kill()
    first.communicate()
    for worker in (second, third):
        _, err = worker.communicate(timeout=120)
        assert worker.returncode == 0, err
    again = world.crawl(REDIS_URL=server.url)
    assert again.code == 0, again.err
    check_all_stored(world, site, server)
    with redis.Redis.from_url(server.url) as client:
        assert {client.hget(f"{{newsbot:{queue}}}:meta", "queues") for queue in range(3)} == {b"3"}
        assert client.hget("{newsbot:0}:meta", "known_from") is None, "known URLs are left in an old queue"
        assert sum(int(client.hget(f"{{newsbot:{queue}}}:meta", "known") or 0) > 0 for queue in range(3)) > 1
    fetched = articles_fetched(site)
    assert fetched.total() - len(fetched) <= IN_FLIGHT, "known pages were fetched again"


def test_a_restart_of_a_killed_redis_loses_nothing(
    world: World, site: DemoServer, server: RedisServer
) -> None:
    worker = world.start(REDIS_URL=server.url)
    wait_for(site, 40)
    server.kill()
    time.sleep(2)
    server.start()
    _, err = worker.communicate(timeout=120)
    assert worker.returncode == 0, err
    again = world.crawl(REDIS_URL=server.url)
    assert again.code == 0, again.err
    check_all_stored(world, site, server)
    assert err.count("cannot be reached") <= 3, "must be logged once, not for each request"


def test_a_redis_that_lost_its_data_is_refilled_from_the_storage(
    world: World, site: DemoServer, server: RedisServer
) -> None:
    worker = world.start(REDIS_URL=server.url)
    wait_for(site, 70)
    worker.kill()
    worker.communicate()
    before = articles_fetched(site)
    with redis.Redis.from_url(server.url) as client:
        client.flushall()
    again = world.crawl(REDIS_URL=server.url)
    assert again.code == 0, again.err
    assert "queue filled from the storage pages=" in again.err
    check_all_stored(world, site, server)
    twice = [page for page, times in articles_fetched(site).items() if times > 1]
    assert before
    assert len(twice) <= 2 * IN_FLIGHT, "stored articles must not be fetched again"


def test_a_queue_of_another_storage_is_reported(world: World, server: RedisServer) -> None:
    with MockServer() as web:
        world.web = web
        web.page("http://one.test/1", article_html(1))
        crawls = [world.crawl("-a", "url=http://one.test/1", REDIS_URL=server.url) for _ in range(2)]
        assert ["queue of another storage" in crawl.err for crawl in crawls] == [False, False]
        first, world.data = world.data, world.folder / "elsewhere"
        web.page("http://one.test/2", article_html(2))
        addresses = ["http://one.test/1", "http://one.test/2", "http://one.test/1"]
        crawls = [world.crawl("-a", f"url={url}", REDIS_URL=server.url) for url in addresses]
        world.data = first
        crawls.append(world.crawl("-a", "url=http://one.test/1", REDIS_URL=server.url))
    warnings = [
        line for crawl in crawls for line in crawl.err.splitlines() if "queue of another storage" in line
    ]
    faults = [re.findall("has no page|belongs to another crawl", line) for line in warnings]
    assert faults == [["has no page"], ["belongs to another crawl"], ["belongs to another crawl"]]
    assert all("correct REDIS_URL or NEWSBOT_DATA" in line for line in warnings)


def test_near_copies_fetched_by_two_workers_are_one_story(world: World, server: RedisServer) -> None:
    """Each copy of a text is on a different site, so that the workers fetch the copies at the same time."""
    with MockServer() as web:
        world.web = web
        urls = [f"http://copy{copy}.test/{number}" for number in range(12) for copy in range(3)]
        for url in urls:
            number, copy = int(url.rpartition("/")[2]), int(url[len("http://copy")])
            extra = f"<p>Printed by paper {copy}.</p></article>"
            web.page(url, article_html(number).replace("</article>", extra))
        for copy in range(3):
            world.rule(f"copy{copy}.test", f"domain: copy{copy}.test\narticle: /\ndelay: 0\n")
        argument = f"urls={','.join(urls)}"
        workers = [world.start("-a", argument, REDIS_URL=server.url) for _ in range(2)]
        for worker in workers:
            _, err = worker.communicate(timeout=120)
            assert worker.returncode == 0, err
    with world.storage() as storage:
        stories = storage.stories.recent(min_members=1)
    assert [len(story.members) for story in stories] == [3] * 12
    assert all(len(story.sources) == 3 for story in stories)


def test_a_queue_that_a_restart_can_lose_is_reported(
    own_redis: RedisServer, caplog: pytest.LogCaptureFixture
) -> None:
    settings = {"REDIS_URL": own_redis.url}
    with (
        closing(RedisFrontier(settings, keep_within=3600.0)) as frontier,
        redis.Redis(port=own_redis.port) as it,
    ):
        notice_volatile_queue(frontier)
        assert "queue is kept in memory only place=Redis" in caplog.text
        caplog.clear()
        it.config_set("appendonly", "yes")
        notice_volatile_queue(frontier)
        assert not caplog.text
