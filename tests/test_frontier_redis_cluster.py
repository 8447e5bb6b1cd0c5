"""The Redis frontier on a Redis Cluster with one node."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import redis

from newsbot.apps.redis.frontier import RedisFrontier
from newsbot.errors import DataUnavailable
from testbed import redisserver
from testbed.servers import free_port
from tests.contracts.frontier_backends import key_of, make_entry, name_of


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[redisserver.RedisServer]:
    """A Redis Cluster with one node."""
    redisserver.need_redis()
    server = redisserver.RedisServer(tmp_path, "--cluster-enabled", "yes", "--cluster-port", str(free_port()))
    server.options += ("--appendonly", "yes", "--appendfsync", "always")
    server.start()
    with redis.Redis(port=server.port) as client:
        client.execute_command("CLUSTER", "ADDSLOTSRANGE", 0, 16383)
        wait_for_slots(client)
    yield server
    server.kill()


def wait_for_slots(client: redis.Redis) -> None:
    while b"cluster_state:ok" not in client.execute_command("CLUSTER", "INFO"):
        time.sleep(0.05)


def settings_of(cluster: redisserver.RedisServer) -> dict[str, Any]:
    return {"REDIS_URL": cluster.url, "REDIS_PARAMS": {"redis_cls": "redis.cluster.RedisCluster"}}


def test_redis_cluster(cluster: redisserver.RedisServer) -> None:
    settings = settings_of(cluster)
    frontier = RedisFrontier(settings)
    frontier.add([make_entry("a"), make_entry("b", host="b")])
    assert frontier.divide(3)
    leases = frontier.lease("o", 5, horizon=0, ttl=60, accept=lambda host: True)
    first, second = sorted(leases, key=lambda one: one.entry.url)
    assert frontier.ack(first, next_due=None)
    assert frontier.nack(second, delay=0)
    assert frontier.counts() == {"pending": 1, "leased": 0, "done": 1, "aside": 0, "hosts": 2}
    assert len(frontier.known([key_of("a"), key_of("b")])) == 2
    frontier.close()


def test_an_unreachable_cluster_is_an_outage(cluster: redisserver.RedisServer) -> None:
    """The client of a cluster raises an exception that is not a subclass of the other exceptions."""
    settings = settings_of(cluster)
    frontier = RedisFrontier(settings)
    frontier.add([make_entry("a")])
    cluster.kill()
    for call in (
        lambda: frontier.add([make_entry("b")]),
        lambda: frontier.lease("o", 1, horizon=0, ttl=60),
        lambda: frontier.outlook(horizon=0),
        lambda: frontier.resume("o", [], 60),
        lambda: RedisFrontier(settings),
    ):
        with pytest.raises(DataUnavailable, match="the cluster cannot be reached") as caught:
            call()
        assert "\n" not in str(caught.value)
    cluster.start()
    with redis.Redis(port=cluster.port) as client:
        wait_for_slots(client)
    assert not frontier.resume("o", [], 60).emptied
    assert [name_of(one.entry) for one in frontier.lease("o", 5, horizon=0, ttl=60)] == ["a"]
    frontier.close()
