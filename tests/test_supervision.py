"""Workers under a supervisor are restarted after any kind of kill, and the crawl is complete."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from pymongo import MongoClient

from newsbot.apps.demo.check import compare
from newsbot.apps.mongodb.storage import MongoStorage
from newsbot.apps.redis.frontier import RedisFrontier
from testbed.demoweb.server import DemoServer
from testbed.redisserver import RedisServer, need_redis
from tests.crawls import World

ARTICLES = 60
MOMENTS = (20, 60)
"""Request counts at which a worker is killed.

With a third kill, one page could lose its lease three times and be set aside.
"""


@pytest.fixture
def redis(tmp_path: Path) -> Iterator[RedisServer]:
    need_redis()
    folder = tmp_path / "redis"
    folder.mkdir()
    server = RedisServer(folder)
    server.start()
    yield server
    server.kill()


@pytest.fixture
def mongo(mongo_uri: str) -> Iterator[str]:
    """The URI of a database for one test."""
    name = f"newsbot_test_{uuid4().hex[:12]}"
    place, _, options = mongo_uri.partition("?")
    yield f"{place.rstrip('/')}/{name}{'?' if options else ''}{options}"
    with MongoClient[dict[str, Any]](mongo_uri) as client:
        client.drop_database(name)


def supervise(world: World, **environment: str) -> list[str]:
    """Start a worker, and restart it until it ends without an error; return the log of each run.

    Restart=on-failure of systemd does the same.
    """
    logs: list[str] = []
    code = None
    while code != 0:
        if logs:
            time.sleep(0.2)
        worker = world.start(**environment)
        logs.append(worker.communicate(timeout=120)[1])
        code = worker.returncode
    return logs


def kill_a_worker(frontier: RedisFrontier, killed: set[int]) -> None:
    """Kill -9 a worker that holds leases and is not in ``killed``, as soon as there is one."""
    end = time.monotonic() + 60
    while True:
        assert time.monotonic() < end, "no worker holds leases"
        alive = {int(owner.split(":")[1]) for owner in frontier.owners()} - killed
        if alive:
            os.kill(min(alive), signal.SIGKILL)
            killed.add(min(alive))
            return
        time.sleep(0.005)


def test_killed_workers_are_restarted_and_the_crawl_is_completed(
    tmp_path: Path, redis: RedisServer, mongo: str
) -> None:
    with DemoServer(tmp_path / "rules", articles=ARTICLES) as site:
        world = World(tmp_path, site)
        world.rules = site.rules
        killed: set[int] = set()
        servers = {"REDIS_URL": redis.url, "MONGO_URI": mongo}
        with closing(RedisFrontier(redis.url)) as frontier, ThreadPoolExecutor() as threads:
            supervisors = [threads.submit(supervise, world, **servers) for _ in range(2)]
            for moment in MOMENTS:
                end = time.monotonic() + 60
                while len(site.log) < moment:
                    assert time.monotonic() < end, "the crawl did not make enough requests"
                    time.sleep(0.005)
                kill_a_worker(frontier, killed)
            logs = [supervisor.result() for supervisor in supervisors]
            counts = frontier.counts()
        assert sum(map(len, logs)) == len(supervisors) + len(MOMENTS), "one additional run for each kill"
        assert (counts["leased"], counts["pending"], counts["aside"]) == (0, 0, 0)
        with closing(MongoStorage(mongo)) as storage:
            report = compare(storage.articles.iter(), site.manifest)
        assert report.ok, report.faults
