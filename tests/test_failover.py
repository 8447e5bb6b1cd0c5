"""Complete crawls while a replica set of MongoDB loses its primary and elects another."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest
from pymongo import MongoClient

from benchmarks.demoweb.server import DemoServer
from newsbot.storage.mongo import MongoStorage
from tests.crawls import World
from tests.outages import check_stored_once, wait_for_requests
from tests.replicated import ReplicaSet, run_replica_set

PARTITION = 6.0
"""Seconds for which a member is cut off: several times as long as an election takes."""


@pytest.fixture(scope="module")
def replica_set(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ReplicaSet]:
    yield from run_replica_set(tmp_path_factory.mktemp("mongo"))


@pytest.fixture
def uri(replica_set: ReplicaSet) -> str:
    """The URI of an empty database on a whole replica set."""
    replica_set.wait_until_whole()
    with MongoClient[dict[str, Any]](replica_set.uri) as client:
        client.drop_database("newsbot")
    return replica_set.uri


def end(worker: Any, world: World, demo: DemoServer, uri: str) -> None:
    """Wait for the end of a crawl, and check that each article is stored once and no traceback logged."""
    _, err = worker.communicate(timeout=180)
    assert worker.returncode == 0, err
    assert "Traceback" not in err
    with closing(MongoStorage(uri)) as storage:
        check_stored_once(storage.articles.iter(), demo)


def test_the_primary_of_a_replica_set_is_killed(
    demo_world: World, demo: DemoServer, replica_set: ReplicaSet, uri: str
) -> None:
    worker = demo_world.start(MONGO_URI=uri)
    wait_for_requests(demo, 40)
    killed = replica_set.primary()
    killed.kill()
    end(worker, demo_world, demo, uri)
    killed.launch()


def test_the_primary_of_a_replica_set_is_cut_off(
    demo_world: World, demo: DemoServer, replica_set: ReplicaSet, uri: str
) -> None:
    """The others elect a primary. When the old one comes back, it still believes to be primary."""
    worker = demo_world.start(MONGO_URI=f"{uri}&socketTimeoutMS=1000")
    wait_for_requests(demo, 40)
    stopped = replica_set.primary()
    assert stopped.process is not None
    stopped.process.send_signal(signal.SIGSTOP)
    try:
        time.sleep(PARTITION)
    finally:
        stopped.process.send_signal(signal.SIGCONT)
    end(worker, demo_world, demo, uri)
