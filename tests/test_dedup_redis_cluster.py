"""The near-duplicate index works on a Redis Cluster, even while its slot is moved."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
import redis

from newsbot.apps.redis.index import RedisIndex
from newsbot.dedup.index import KEEP, signature
from newsbot.errors import DataError, DataUnavailable
from testbed import redisserver
from testbed.servers import free_port
from tests.neartexts import NOW, insert, sample, url


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[redisserver.RedisServer]:
    redisserver.need_redis()
    server = redisserver.RedisServer(tmp_path, "--cluster-enabled", "yes", "--cluster-port", str(free_port()))
    server.start()
    yield server
    server.kill()


def test_redis_cluster(cluster: redisserver.RedisServer) -> None:
    settings = {
        "REDIS_URL": whole_cluster(cluster),
        "REDIS_PARAMS": {"redis_cls": "redis.cluster.RedisCluster"},
    }
    with closing(RedisIndex(settings)) as opened:
        for number in range(300):
            insert(opened, number)
        assert len(opened.check_and_insert("again", "a.org", sample(1), NOW)) == 1
        assert insert(opened, 1, NOW + 1) == ["again"]
        for number in range(1000, 1100):
            insert(opened, number, NOW + 2 * KEEP)
        assert opened.count() == 100


@pytest.mark.parametrize("stored", [0, 128], ids=["no bucket", "no block for the record"])
def test_a_moving_slot_refuses_a_text_before_any_write(
    cluster: redisserver.RedisServer, tmp_path: Path, stored: int
) -> None:
    (tmp_path / "other").mkdir()
    options = ("--cluster-enabled", "yes", "--cluster-port", str(free_port()))
    other = redisserver.RedisServer(tmp_path / "other", *options)
    other.start()
    try:
        with closing(RedisIndex({"REDIS_URL": whole_cluster(cluster)})) as opened:
            for number in range(stored):
                insert(opened, number)
            opened.check_and_insert("short", "a.org", signature("few words"), NOW)  # not stored
            with redis.Redis(port=cluster.port) as client:
                slot = client.execute_command("CLUSTER", "KEYSLOT", opened._keys.meta)
                move_slot(client, slot, other, int(options[-1]))
                before = contents(client)
                with pytest.raises(DataUnavailable, match="moving keys"):
                    insert(opened, 1000)
                with pytest.raises(DataUnavailable, match="moving keys"):
                    opened.check_and_insert(url(1), "gazette1.com", sample(2000), NOW)  # replaces a text
                assert contents(client) == before
                client.execute_command("CLUSTER", "SETSLOT", slot, "STABLE")
            insert(opened, 1000)
            assert opened.count() == stored + 1
    finally:
        other.kill()


def test_the_target_node_of_a_moving_slot_refuses_texts_until_all_keys_have_moved(
    cluster: redisserver.RedisServer, tmp_path: Path
) -> None:
    """The target node does not have the stored text with this URL, or the list for the next record, yet."""
    (tmp_path / "other").mkdir()
    options = ("--cluster-enabled", "yes", "--cluster-port", str(free_port()))
    other = redisserver.RedisServer(tmp_path / "other", *options)
    other.start()
    params = {"REDIS_PARAMS": {"redis_cls": "redis.cluster.RedisCluster"}}
    try:
        with (
            closing(RedisIndex({"REDIS_URL": whole_cluster(cluster), **params})) as early,
            redis.Redis(port=cluster.port) as client,
            redis.Redis(port=other.port) as beside,
        ):
            for number in range(100):
                insert(early, number)
            slot = client.execute_command("CLUSTER", "KEYSLOT", early._keys.meta)
            move_slot(client, slot, other, int(options[-1]))
            wait_until_it_serves(beside)
            source = client.execute_command("CLUSTER", "MYID")
            beside.execute_command("CLUSTER", "SETSLOT", slot, "IMPORTING", source)
            moved = [key for key in client.keys("*") if b":texts:" not in key]
            client.execute_command("MIGRATE", "127.0.0.1", other.port, "", 0, 5000, "KEYS", *moved)
            with pytest.raises(DataUnavailable, match="moving keys"):  # this client knows no other node
                insert(early, 1)
            free = next(one for one in range(16384) if one != slot)
            for node in (client, beside):
                node.execute_command(
                    "CLUSTER", "SETSLOT", free, "NODE", beside.execute_command("CLUSTER", "MYID")
                )
            with closing(RedisIndex({"REDIS_URL": other.url, **params})) as opened:
                opened._insertions = 1  # skip the clean-up that comes first
                for number in (1, 1000):
                    with pytest.raises(DataUnavailable, match="moving keys"):
                        insert(opened, number)
            assert set(beside.keys("*")) == set(moved)
    finally:
        other.kill()


def test_a_cluster_node_is_recognised(cluster: redisserver.RedisServer, tmp_path: Path) -> None:
    with pytest.raises(DataUnavailable, match="slot not served"):
        RedisIndex(cluster.url)
    (tmp_path / "other").mkdir()
    options = ("--cluster-enabled", "yes", "--cluster-port", str(free_port()))
    other = redisserver.RedisServer(tmp_path / "other", *options)
    other.start()
    try:
        whole_cluster(other)
        with redis.Redis(port=cluster.port) as client:
            client.execute_command("CLUSTER", "MEET", "127.0.0.1", other.port, int(options[-1]))
            wait_until_it_serves(client)
        with pytest.raises(DataError, match=r"node of a Redis Cluster; set REDIS_PARAMS .*RedisCluster"):
            RedisIndex(cluster.url)
    finally:
        other.kill()


def wait_until_it_serves(client: redis.Redis) -> None:
    """Wait until the node has learned which node serves which slots."""
    while b"cluster_state:ok" not in client.execute_command("CLUSTER", "INFO"):
        time.sleep(0.05)


def whole_cluster(server: redisserver.RedisServer) -> str:
    """Assign all slots to one node; return its URL when it serves them."""
    with redis.Redis(port=server.port) as client:
        client.execute_command("CLUSTER", "ADDSLOTSRANGE", 0, 16383)
        wait_until_it_serves(client)
    return server.url


def move_slot(client: redis.Redis, slot: int, other: redisserver.RedisServer, bus: int) -> None:
    """Start moving a slot to another node."""
    with redis.Redis(port=other.port) as beside:
        node = beside.execute_command("CLUSTER", "MYID")
    client.execute_command("CLUSTER", "MEET", "127.0.0.1", other.port, bus)
    while True:
        try:
            client.execute_command("CLUSTER", "SETSLOT", slot, "MIGRATING", node)
            return
        except redis.exceptions.ResponseError as error:
            assert "know" in str(error)  # "I don't know about node"  # noqa: PT017
            time.sleep(0.05)


def contents(client: redis.Redis) -> dict[bytes | str, bytes | None]:
    """Return all keys with their serialised values."""
    return {key: client.dump(key) for key in client.keys("*")}
