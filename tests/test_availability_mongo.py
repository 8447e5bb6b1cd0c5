"""Complete crawls while MongoDB is killed, stopped, full or not primary, and Ctrl-C during this time."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest
from pymongo import MongoClient

from newsbot.apps.mongodb.storage import MongoStorage
from newsbot.frontier.sqlite.frontier import SqliteFrontier
from newsbot.urls import canonicalize, fingerprint
from testbed.demoweb.server import DemoServer
from testbed.servers import MongoServer, run_mongo
from tests.crawls import World
from tests.outages import (
    check_fetched_once,
    check_one_outage,
    check_stored_once,
    connection_lines,
    wait_for_requests,
)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MongoServer]:
    yield from run_mongo(tmp_path_factory.mktemp("mongo"))


@pytest.fixture
def uri(server: MongoServer) -> str:
    """The URI of an empty database."""
    with MongoClient[dict[str, Any]](server.uri) as client:
        client.drop_database("newsbot")
    return server.uri


def check_all_is_well(demo_world: World, demo: DemoServer, uri: str) -> None:
    with closing(MongoStorage(uri)) as storage:
        check_stored_once(storage.articles.iter(), demo)
    with closing(SqliteFrontier(demo_world.data / "newsbot.db")) as frontier:
        counts = frontier.counts()
    assert (counts["pending"], counts["leased"], counts["aside"]) == (0, 0, 0)


def test_a_crawl_continues_after_the_server_was_killed_and_restarted(
    demo_world: World, demo: DemoServer, server: MongoServer, uri: str
) -> None:
    worker = demo_world.start(MONGO_URI=uri)
    wait_for_requests(demo, 40)
    server.kill()
    time.sleep(2)
    server.start()
    _, err = worker.communicate(timeout=120)
    assert worker.returncode == 0, err
    check_one_outage(err, "does not answer")
    check_all_is_well(demo_world, demo, uri)
    check_fetched_once(demo)


def test_a_worker_that_died_while_storing_blocks_only_its_article(
    demo_world: World, demo: DemoServer, server: MongoServer, uri: str
) -> None:
    """The dead worker's transaction blocks the article for other workers until the server ends it."""
    wanted = demo.manifest.articles[-1].url
    with (
        closing(MongoStorage(uri)) as storage,
        MongoClient[dict[str, Any]](server.uri) as dead,
        dead.start_session() as session,
    ):
        session.start_transaction()
        dead["newsbot"]["articles"].insert_one({"_id": fingerprint(canonicalize(wanted))}, session=session)
        worker = demo_world.start(MONGO_URI=uri)
        end = time.monotonic() + 55  # the server ends a transaction after 60 s
        while storage.articles.count() < len(demo.manifest.articles) - 1:
            assert time.monotonic() < end, "the others are not stored"
            time.sleep(0.1)
        time.sleep(6)  # an attempt to store it takes 5 s
        session.abort_transaction()
    _, err = worker.communicate(timeout=120)
    assert worker.returncode == 0, err
    assert "the crawl waits" not in err
    check_all_is_well(demo_world, demo, uri)
    check_fetched_once(demo)


def test_a_crawl_continues_after_the_server_was_stopped_and_continued(
    demo_world: World, demo: DemoServer, server: MongoServer, uri: str
) -> None:
    worker = demo_world.start(MONGO_URI=uri + "?socketTimeoutMS=1000")
    wait_for_requests(demo, 40)
    assert server.process is not None
    server.process.send_signal(signal.SIGSTOP)
    time.sleep(14)
    server.process.send_signal(signal.SIGCONT)
    _, err = worker.communicate(timeout=120)
    assert worker.returncode == 0, err
    check_one_outage(err, "does not answer")
    check_all_is_well(demo_world, demo, uri)
    check_fetched_once(demo)


@pytest.mark.parametrize("fault", [(14031, "disk is full; free some space"), (10107, "does not answer")])
def test_a_crawl_continues_after_the_server_refused_writes(
    demo_world: World, demo: DemoServer, server: MongoServer, uri: str, fault: tuple[int, str]
) -> None:
    code, words = fault
    worker = demo_world.start(MONGO_URI=uri)
    wait_for_requests(demo, 40)
    with server.failing(code, "insert", "update", "commitTransaction"):
        time.sleep(3)
    _, err = worker.communicate(timeout=120)
    assert worker.returncode == 0, err
    check_one_outage(err, words)
    check_all_is_well(demo_world, demo, uri)
    check_fetched_once(demo)


def test_a_crawl_interrupted_in_an_outage_ends_and_the_next_crawl_does_the_rest(
    demo_world: World, demo: DemoServer, server: MongoServer, uri: str
) -> None:
    worker = demo_world.start(MONGO_URI=uri)
    wait_for_requests(demo, 40)
    server.kill()
    time.sleep(6)  # a call fails only after the driver has looked for the server for 2 s
    worker.send_signal(signal.SIGINT)
    _, err = worker.communicate(timeout=60)
    away, back = connection_lines(err)
    assert (len(away), len(back)) == (1, 0), err
    assert "Traceback" not in err
    server.start()
    again = demo_world.crawl(MONGO_URI=uri)
    assert again.code == 0, again.err
    check_all_is_well(demo_world, demo, uri)
