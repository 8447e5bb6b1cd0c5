"""Workers under a supervisor: whatever kills one, it is started again, and the crawl ends complete."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from pymongo import MongoClient

from newsbot.demo.check import compare
from newsbot.demo.server import DemoServer
from newsbot.frontier.redis import RedisFrontier
from newsbot.storage.mongo import MongoStorage
from tests.crawls import ROOT, World
from tests.redisserver import RedisServer, need_redis

ARTICLES = 60
MOMENTS = (20, 60)
"""Requests that the site has seen when a worker is killed. A third time might blame a page that all had."""
SUPERVISOR = 'until "$@"; do echo restarted >&2; sleep 0.2; done'
"""What Restart=on-failure of systemd does, as a loop of the shell."""


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
    """The address of a database of the test's own."""
    name = f"newsbot_test_{uuid4().hex[:12]}"
    place, _, options = mongo_uri.partition("?")
    yield f"{place.rstrip('/')}/{name}{'?' if options else ''}{options}"
    with MongoClient[dict[str, Any]](mongo_uri) as client:
        client.drop_database(name)


def supervise(world: World, **environment: str) -> subprocess.Popen[str]:
    """Start a worker that is started again as long as it does not end well."""
    return subprocess.Popen(
        ["sh", "-c", SUPERVISOR, "supervisor", *world.command()],
        cwd=ROOT,
        env=world.environment(**environment),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


def kill_a_worker(frontier: RedisFrontier) -> None:
    """Kill -9 a worker that holds leases, as soon as there is one that lives."""
    end = time.monotonic() + 60
    while True:
        assert time.monotonic() < end, "nobody works"
        for owner in frontier.owners():
            with suppress(ProcessLookupError):  # killed before, and its leases not yet taken back
                os.kill(int(owner.split(":")[1]), signal.SIGKILL)
                return
        time.sleep(0.005)


def test_killed_workers_are_started_again_and_the_crawl_ends_complete(
    tmp_path: Path, redis: RedisServer, mongo: str
) -> None:
    with DemoServer(tmp_path / "rules", articles=ARTICLES) as site:
        world = World(tmp_path, site)
        world.rules = site.rules
        supervisors = [supervise(world, REDIS_URL=redis.url, MONGO_URI=mongo) for _ in range(2)]
        with closing(RedisFrontier(redis.url)) as frontier:
            for moment in MOMENTS:
                end = time.monotonic() + 60
                while len(site.log) < moment:
                    assert time.monotonic() < end, "the crawl did not get so far"
                    time.sleep(0.005)
                kill_a_worker(frontier)
            said = [supervisor.communicate(timeout=120)[1] for supervisor in supervisors]
            counts = frontier.counts()
        assert [supervisor.returncode for supervisor in supervisors] == [0, 0], said
        assert sum(text.count("restarted") for text in said) == len(MOMENTS)
        assert (counts["leased"], counts["pending"], counts["aside"]) == (0, 0, 0)
        with closing(MongoStorage(mongo)) as storage:
            report = compare(storage.iter_articles(), site.manifest)
        assert report.ok, report.faults
