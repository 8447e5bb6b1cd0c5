"""Whole crawls while Redis is away: killed, stopped, emptied; and Ctrl-C meanwhile."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from redis import Redis

from newsbot.demo.server import DemoServer
from newsbot.frontier.redis import RedisFrontier
from tests.crawls import World, article_html
from tests.mockserver import MockServer
from tests.outages import (
    ARTICLES,
    check_fetched_once,
    check_one_outage,
    check_stored_once,
    said,
    wait_for_requests,
    wait_until,
)
from tests.redisserver import RedisServer, need_redis

QUICK = ("-s", "REDIS_PARAMS=" + json.dumps({"socket_timeout": 1}))
"""A server that hangs is noticed after a second."""


def start(folder: Path, *options: str) -> RedisServer:
    need_redis()
    folder.mkdir()
    server = RedisServer(folder, *options)
    server.start()
    return server


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RedisServer]:
    server = start(tmp_path / "redis", "--appendonly", "yes", "--appendfsync", "always")
    yield server
    server.kill()


@pytest.fixture
def demo(tmp_path: Path) -> Iterator[DemoServer]:
    with DemoServer(tmp_path / "rules", articles=ARTICLES) as site:
        yield site


@pytest.fixture
def demo_world(tmp_path: Path, demo: DemoServer) -> World:
    world = World(tmp_path, demo)
    world.rules = demo.rules
    return world


def counts(server: RedisServer) -> tuple[int, int, int]:
    with closing(RedisFrontier(server.url)) as frontier:
        found = frontier.counts()
    return found["pending"], found["leased"], found["aside"]


def test_killed_and_started_again(demo_world: World, demo: DemoServer, server: RedisServer) -> None:
    workers = [demo_world.start(REDIS_URL=server.url) for _ in range(2)]
    wait_for_requests(demo, 40)
    server.kill()
    time.sleep(3)
    server.start()
    for worker in workers:
        _, err = worker.communicate(timeout=120)
        assert worker.returncode == 0, err
        check_one_outage(err, "cannot be reached")
    check_stored_once(demo_world.articles(), demo)
    check_fetched_once(demo)
    assert counts(server) == (0, 0, 0)


def test_stopped_and_continued(demo_world: World, demo: DemoServer, server: RedisServer) -> None:
    worker = demo_world.start(*QUICK, REDIS_URL=server.url)
    wait_for_requests(demo, 40)
    server.signal(signal.SIGSTOP)
    time.sleep(3)
    server.signal(signal.SIGCONT)
    _, err = worker.communicate(timeout=120)
    assert worker.returncode == 0, err
    check_one_outage(err, "no answer in time")
    check_stored_once(demo_world.articles(), demo)
    check_fetched_once(demo)
    assert counts(server) == (0, 0, 0)


FAULTS = {
    "full": ("CONFIG SET maxmemory 1", "CONFIG SET maxmemory 0", "memory is full"),
    "replica": ("REPLICAOF 127.0.0.1 1", "REPLICAOF NO ONE", "read-only replica"),
    "alone": ("CONFIG SET min-replicas-to-write 1", "CONFIG SET min-replicas-to-write 0", "NOREPLICAS"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_not_writable_for_a_while(
    demo_world: World, demo: DemoServer, server: RedisServer, fault: str
) -> None:
    breaks, heals, words = FAULTS[fault]
    worker = demo_world.start(REDIS_URL=server.url)
    wait_for_requests(demo, 15)
    with Redis.from_url(server.url) as client:
        client.execute_command(*breaks.split())
        time.sleep(3)
        client.execute_command(*heals.split())
    _, err = worker.communicate(timeout=120)
    assert worker.returncode == 0, err
    check_one_outage(err, words)
    check_stored_once(demo_world.articles(), demo)
    check_fetched_once(demo)
    assert counts(server) == (0, 0, 0)


def test_emptied_by_a_restart_is_said_and_the_crawl_goes_on(
    tmp_path: Path, demo_world: World, demo: DemoServer
) -> None:
    server = start(tmp_path / "forgetful")
    worker = demo_world.start(REDIS_URL=server.url)
    wait_for_requests(demo, 40)
    server.kill()
    server.start()
    _, err = worker.communicate(timeout=120)
    assert worker.returncode == 0, err
    check_one_outage(err, "redis://")
    assert err.count("the queue came back empty: its server has lost its data") == 1
    assert counts(server) == (0, 0, 0)
    server.kill()


def test_interrupted_meanwhile_it_ends_and_the_next_crawl_does_the_rest(
    demo_world: World, demo: DemoServer, server: RedisServer
) -> None:
    worker = demo_world.start(REDIS_URL=server.url)
    wait_for_requests(demo, 40)
    server.kill()
    time.sleep(2)
    worker.send_signal(signal.SIGINT)
    _, err = worker.communicate(timeout=30)
    away, back = said(err)
    assert (len(away), len(back)) == (1, 0), err
    assert "could not be handed back: free again in 60 s" in err
    assert "Traceback" not in err
    server.start()
    again = demo_world.crawl(REDIS_URL=server.url)
    assert again.code == 0, again.err
    check_stored_once(demo_world.articles(), demo)
    assert counts(server) == (0, 0, 0)


def test_outages_longer_than_a_lease_never_set_a_page_aside(
    world: World, site: MockServer, server: RedisServer
) -> None:
    """One page takes as long as three outages; its worker lives all the time."""
    page = site.page("http://news.test/2024/05/03/slow-bridge.html", article_html(1), delay=12.0)
    world.rule("news.test", "domain: news.test\narticle: /\\d+/\\d+/\\d+/\n")
    options = ("-s", "NEWSBOT_LEASE_SECONDS=1", *QUICK)
    first = world.start("-a", f"url={page}", *options, REDIS_URL=server.url)
    wait_until(lambda: len(site.requests("/2024/05/03/slow-bridge.html")) > 0, "never asked for")
    other = site.page("http://news.test/2024/05/03/quick-bridge.html", article_html(2))
    second = world.start("-a", f"url={other}", *options, REDIS_URL=server.url)
    wait_until(lambda: len(site.requests("/2024/05/03/quick-bridge.html")) > 0, "never asked for")
    for _ in range(3):
        server.kill()
        time.sleep(1.5)
        server.start()
        time.sleep(1)
    for worker in (first, second):
        _, err = worker.communicate(timeout=120)
        assert worker.returncode == 0, err
        assert "Traceback" not in err
    assert world.urls() == [other, page]
    assert counts(server) == (0, 0, 0)
