"""The number of connections from a worker to its servers is limited, even after the servers restart."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import redis
from pymongo import MongoClient

from testbed.messages import Answer, Request
from testbed.mockserver import HTML, MockServer
from testbed.redisserver import RedisServer
from testbed.servers import MongoServer, run_mongo
from tests.crawls import World, article_html, feed_xml

THREADS = min(32, (os.cpu_count() or 1) + 4)
"""Threads of a worker that use its servers, besides the main thread (concurrent.futures)."""
MONITORS = 3
"""Connections of MongoDB's driver that watch the server, one of them only for a moment."""
MONGO_LIMIT = 2 * (THREADS + 1) + MONITORS
REDIS_LIMIT = 2 * (THREADS + 1)
"""The limits in docs/operations.md: twice the threads, because new ones start while old ones still work."""
PAGES = 400
SITES = 8
CONCURRENCY = 64


class BusySites(MockServer):
    """Sites with many articles, all of which answer at the same moment after a while."""

    def __init__(self) -> None:
        super().__init__()
        for site in range(SITES):
            urls = [f"http://site{site}.test/news/{number}" for number in range(PAGES // SITES)]
            self.page(f"http://site{site}.test/feed.xml", feed_xml(urls))
            for url in urls:
                self.page(url, self._article)

    def _article(self, request: Request) -> Answer:
        number = hash((request.host, request.path)) % 10_000
        return Answer(body=article_html(number).encode(), headers=HTML, delay=0.5)


@pytest.fixture
def mongo(tmp_path: Path) -> Iterator[MongoServer]:
    yield from run_mongo(tmp_path / "mongo")


def connections(mongo: MongoServer, server: RedisServer) -> tuple[int, int]:
    """Return the number of the worker's connections to MongoDB and to Redis now."""
    with MongoClient[dict[str, Any]](mongo.uri) as client, redis.Redis.from_url(server.url) as other:
        idle = {"$currentOp": {"allUsers": True, "idleConnections": True}}
        mine = [one for one in client.admin.aggregate([idle]) if one.get("appName") == "newsbot"]
        return len({one["client"] for one in mine if "client" in one}), len(other.client_list()) - 1


def most(mongo: MongoServer, server: RedisServer, seconds: float) -> tuple[int, int]:
    """Return the largest numbers of connections that are seen within some seconds.

    The seconds begin when the worker is connected to both servers. After an outage it may wait up to 30 s.
    """
    while 0 in connections(mongo, server):
        time.sleep(0.05)
    seen, end = [(0, 0)], time.monotonic() + seconds
    while time.monotonic() < end:
        seen.append(connections(mongo, server))
        time.sleep(0.02)
    return max(one for one, _ in seen), max(one for _, one in seen)


def test_connections_to_servers_are_bounded_also_after_restarts(
    tmp_path: Path, mongo: MongoServer, redis_server: RedisServer
) -> None:
    with BusySites() as site:
        world = World(tmp_path, site)
        for number in range(SITES):
            name = f"site{number}.test"
            feed = f"feeds: http://{name}/feed.xml\narticle: ^/news/\nfollow: feeds\n"
            world.rule(name, f"domain: {name}\n{feed}delay: 0\nconcurrency: 32\n")
        world.servers = {"REDIS_URL": redis_server.url, "MONGO_URI": f"{mongo.uri}newsbot"}
        # Heartbeats every half second, so that threads are replaced often.
        options = ("-s", f"CONCURRENT_REQUESTS={CONCURRENCY}", "-s", "NEWSBOT_LEASE_SECONDS=2")
        worker = world.start("-a", "mode=continuous", *options)
        try:
            with MongoClient[dict[str, Any]](mongo.uri) as client:
                while not client.newsbot.articles.estimated_document_count():
                    assert worker.poll() is None
                    time.sleep(0.05)
            seen = [most(mongo, redis_server, 3)]
            for _ in range(3):
                mongo.kill()
                redis_server.kill()
                time.sleep(0.5)
                redis_server.start()
                mongo.start()
                seen.append(most(mongo, redis_server, 3))
        finally:
            worker.send_signal(signal.SIGINT)
            _, err = worker.communicate(timeout=90)
        print(f"connections to MongoDB and Redis: {seen}; limits {MONGO_LIMIT}, {REDIS_LIMIT}")
    assert all(0 < one <= MONGO_LIMIT and 0 < other <= REDIS_LIMIT for one, other in seen), (seen, err)
    assert connections(mongo, redis_server) == (0, 0)
