"""Complete crawls while MongoDB and Redis lose primaries, elect new ones, and move data.

A member is disconnected until the other members have replaced it. It is connected again some pages later. The
replacement takes some seconds here and up to 30 s with the timeouts of production, but its steps are the
same.
"""

from __future__ import annotations

import gc
import signal
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest
from pymongo import MongoClient

from newsbot.apps.mongodb.storage import MongoStorage
from newsbot.apps.operations.add import entry_by_hand, queue_by_hand
from newsbot.apps.redis.frontier import RedisFrontier
from newsbot.errors import DataError, DataUnavailable
from newsbot.items import Kind
from newsbot.pages.rules import load_rules
from testbed.demoweb.server import DemoServer
from testbed.mockserver import MockServer
from tests.contracts.storage_samples import make_article
from tests.crawls import World, article_html
from tests.outages import QUICK, check_stored_once, wait_for_requests
from tests.replicated import (
    ADMIN_PASSWORD,
    RedisNode,
    RedisNodes,
    ReplicaSet,
    run_redis_cluster,
    run_replica_set,
    wait_until,
)

PARTITION = 6.0
"""Seconds for which a member is cut off: several times as long as an election takes."""


@pytest.fixture(scope="module")
def replica_set(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ReplicaSet]:
    yield from run_replica_set(tmp_path_factory.mktemp("mongo"))


@pytest.fixture(scope="module")
def six_nodes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisNodes]:
    yield from run_redis_cluster(tmp_path_factory.mktemp("redis"))


@pytest.fixture
def cluster(six_nodes: RedisNodes) -> RedisNodes:
    """A whole Redis Cluster without data."""
    six_nodes.wait_until_whole()
    for node in six_nodes.masters():
        node.run("FLUSHALL")
    return six_nodes


@pytest.fixture
def uri(replica_set: ReplicaSet) -> str:
    """The URI of an empty database on a whole replica set."""
    replica_set.wait_until_whole()
    with MongoClient[dict[str, Any]](replica_set.uri) as client:
        client.drop_database("newsbot")
    return replica_set.uri


def end(worker: Any, world: World, demo: DemoServer, uri: str) -> None:
    """Wait for the end of a crawl, and check that each article is stored once and no traceback is logged."""
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


def test_a_delayed_secondary_shows_old_articles_and_loses_no_change(
    replica_set: ReplicaSet, uri: str
) -> None:
    with closing(MongoStorage(uri)) as writer:
        writer.articles.store(make_article("first"))
        primary = writer.handle.at.client.primary
        assert primary is not None
        behind = next(one for one in replica_set.members if one.port != primary[1])
        with (
            MongoClient[dict[str, Any]]("127.0.0.1", behind.port, directConnection=True) as client,
            closing(MongoStorage(f"{uri}&readPreference=secondary", stale=True)) as reader,
        ):
            preferred = reader.handle.shown.read_preference
            reader.articles.shown = client["newsbot"].with_options(  # type: ignore[attr-defined]
                read_preference=preferred, codec_options=writer.handle.shown.codec_options
            )
            wait_until(lambda: reader.articles.count() == 1, "the secondary has the first article")
            cursor = reader.articles.end_of_changes()
            client.admin.command("fsync", lock=True)
            try:
                writer.articles.store(make_article("second", "another text"))
                assert [one.title for one in reader.articles.iter()] == [make_article("first").title]
                changes = reader.articles.changes_since(cursor)
            finally:
                client.admin.command("fsyncUnlock")
            (change,) = changes.found
            assert change.article is not None
            assert change.article.canonical_url == make_article("second").canonical_url
            assert reader.articles.changes_since(changes.cursor).found == []
            wait_until(lambda: reader.articles.count() == 2, "the secondary has the second article")


def test_the_primary_of_a_replica_set_is_cut_off(
    demo_world: World, demo: DemoServer, replica_set: ReplicaSet, uri: str
) -> None:
    """The others elect a primary. When the old primary comes back, it still acts as the primary."""
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


class News:
    """A site that publishes a list of articles at a time. Workers crawl it until they are stopped."""

    ARTICLES = 24

    def __init__(self, world: World, site: MockServer, cluster: RedisNodes, uri: str) -> None:
        self.site, self.cluster, self.uri = site, cluster, uri
        self.world = world
        world.rule("news.test", "domain: news.test\nsection: /list/\narticle: /\\d+/\\d+/\\d+/\n")
        self.lists = 0
        self.slot = int(cluster.nodes[0].run("CLUSTER", "KEYSLOT", "{newsbot:0}"))
        options = ("-a", "mode=continuous", "-s", "NEWSBOT_LEASE_SECONDS=8", *QUICK)
        self.workers = [world.start(*options, REDIS_URL=cluster.url, MONGO_URI=uri) for _ in range(2)]
        self.publish()
        self.wait_for_fetched(2)

    @property
    def queue(self) -> RedisNode:
        """The node that has the queue now."""
        return self.cluster.master_of(self.slot)

    def publish(self) -> None:
        """Publish a list with links to new articles, and queue the list as ``scrapy add`` does."""
        self.lists += 1
        urls = [
            self.site.page(
                f"http://news.test/2026/11/{self.lists:02}/story-{number}.html",
                article_html(self.lists * 100 + number),
                delay=0.3,
            )
            for number in range(self.ARTICLES)
        ]
        links = "".join(f"<p><a href='{url}'>The council met for story {url[-12:]}</a></p>" for url in urls)
        page = self.site.page(f"http://news.test/list/{self.lists}", f"<html><body>{links}</body></html>")
        rules = load_rules(self.world.rules)
        entry = entry_by_hand(page, rules, Kind.SECTION, time.time())

        def queue() -> bool:
            with (
                suppress(DataError),
                closing(RedisFrontier(self.cluster.url)) as frontier,
                closing(MongoStorage(self.uri)) as storage,
            ):
                return bool(queue_by_hand([entry], rules, storage, frontier))
            return False

        wait_until(queue, "the list cannot be queued")

    def fetched(self) -> set[str]:
        """Return the paths of the articles of the last list that were fetched."""
        return {path for path in self.site.seen() if path.startswith(f"/2026/11/{self.lists:02}/")}

    def wait_for_fetched(self, number: int) -> None:
        """Wait until a number of articles of the last list was requested."""
        wait_until(lambda: len(self.fetched()) >= number, "the crawl does not go on")

    def wait_for_stored(self) -> None:
        """Wait until all articles are stored. Check that each is stored once, and that no lease is left."""
        urls: Counter[str] = Counter()

        def all_stored() -> bool:
            with suppress(DataError), closing(MongoStorage(self.uri)) as storage:
                urls.clear()
                urls.update(one.canonical_url for one in storage.articles.iter() if one.version == 1)
            return len(urls) == self.lists * self.ARTICLES

        wait_until(all_stored, "articles are lost")
        assert urls.total() == len(urls)

        def all_ended() -> bool:
            with suppress(DataError), closing(RedisFrontier(self.cluster.url)) as frontier:
                counts = frontier.counts()
                return (counts["leased"], counts["aside"]) == (0, 0)
            return False

        wait_until(all_ended, "leases do not end")

    def end(self) -> None:
        """Stop the workers as Ctrl-C does, and check their logs."""
        for worker in self.workers:
            worker.send_signal(signal.SIGINT)
        for worker in self.workers:
            _, err = worker.communicate(timeout=120)
            assert worker.returncode == 0, err
            assert "Traceback" not in err, err


@pytest.fixture
def news(world: World, site: MockServer, cluster: RedisNodes, uri: str) -> Iterator[News]:
    news = News(world, site, cluster, uri)
    yield news
    for worker in news.workers:
        worker.kill()
        worker.communicate()


def test_a_replica_without_the_last_writes_becomes_master(news: News) -> None:
    """Queued links and the ends of leases are lost."""
    master = news.queue
    replica = news.cluster.replica_of(master)
    news.wait_for_stored()
    replica.run("CONFIG", "SET", "masterauth", "wrong")
    master.run("CLIENT", "KILL", "TYPE", "replica")
    news.publish()
    news.wait_for_fetched(news.ARTICLES // 3)
    master.kill()
    wait_until(lambda: replica.run("ROLE")[0] == "master", "the replica does not take over")
    replica.run("CONFIG", "SET", "masterauth", ADMIN_PASSWORD)
    master.launch()
    news.wait_for_stored()
    news.end()


def test_the_queue_moves_and_primaries_of_both_servers_fail(news: News, replica_set: ReplicaSet) -> None:
    target = next(node for node in news.cluster.masters() if node is not news.queue)
    news.cluster.move(news.slot, target)
    assert news.queue is target
    news.publish()
    news.wait_for_fetched(news.ARTICLES // 3)
    killed = replica_set.primary()
    killed.kill()
    news.publish()
    news.wait_for_fetched(news.ARTICLES // 3)
    killed.launch()
    replica = news.cluster.replica_of(target)
    replica.run("CLUSTER", "FAILOVER")
    wait_until(lambda: news.queue is replica, "the replica does not take over")
    replica.signal(signal.SIGSTOP)
    try:
        wait_until(lambda: news.queue is target, "the other node does not take over")
        news.publish()
        news.wait_for_fetched(news.ARTICLES // 3)
    finally:
        replica.signal(signal.SIGCONT)
    news.wait_for_stored()
    news.end()


def test_a_worker_can_start_while_the_first_node_is_down(cluster: RedisNodes) -> None:
    def start() -> bool:
        with suppress(DataUnavailable), closing(RedisFrontier(cluster.url)) as frontier:
            return frontier.counts()["pending"] == 0
        return False

    cluster.nodes[0].kill()
    try:
        wait_until(start, "no other node is used")
    finally:
        cluster.nodes[0].launch()


def test_the_eviction_policy_of_every_master_is_checked(cluster: RedisNodes) -> None:
    for node in cluster.masters():
        node.run("CONFIG", "SET", "maxmemory-policy", "allkeys-lru")
        with pytest.raises(DataError, match="set maxmemory-policy noeviction"):
            RedisFrontier(cluster.url)
        node.run("CONFIG", "SET", "maxmemory-policy", "noeviction")
    RedisFrontier(cluster.url).close()


def test_a_closed_frontier_leaves_no_socket_open(cluster: RedisNodes) -> None:
    def sockets() -> int:
        found = 0
        for descriptor in Path("/proc/self/fd").iterdir():
            with suppress(FileNotFoundError):  # the descriptor of the folder itself
                found += str(descriptor.readlink()).startswith("socket:")
        return found

    gc.collect()
    gc.disable()
    try:
        before = sockets()
        frontier = RedisFrontier(cluster.url)
        frontier.counts()
        assert sockets() > before
        frontier.close()
        assert sockets() == before
    finally:
        gc.enable()
