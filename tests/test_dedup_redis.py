"""What only the near-duplicate index in Redis has: growth, memory, server faults, Redis Cluster."""

from __future__ import annotations

import logging
import re
import secrets
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import redis
from hypothesis import given
from hypothesis import strategies as st

from newsbot.dedup.index import KEEP, MAX_CANDIDATES
from newsbot.dedup.minhash import PERMUTATIONS, Signature, signature
from newsbot.dedup.record import seconds
from newsbot.dedup.redis import RedisIndex, index, keys
from newsbot.dedup.shortening import lengthen, shorten
from newsbot.errors import DataError, DataFull, DataUnavailable, SchemaError
from tests import redisserver
from tests.contracts.index_backends import made_up
from tests.servers import free_port

NOW = 1_795_000_000.0


def sample(number: int) -> Signature:
    values = np.random.default_rng(number).integers(0, 2**32, PERMUTATIONS, dtype=np.uint32)
    return made_up(values, 400)


def url(number: int) -> str:
    return f"https://www.gazette{number % 300}.com/news/2026/11/{number}-council-votes-on-the-old-bridge.html"


def insert(where: RedisIndex, number: int, at: float = NOW) -> list[str]:
    source = f"gazette{number % 300}.com"
    return [near.doc_id for near in where.check_and_insert(url(number), source, sample(number), at)]


@pytest.fixture
def place(redis_url: str) -> Iterator[dict[str, Any]]:
    """Arguments of an index of this test's own."""
    namespace = f"test-{secrets.token_hex(8)}"
    yield {"where": redis_url, "namespace": namespace}
    with redis.Redis.from_url(redis_url) as client:
        for key in client.scan_iter(f"{{{namespace}:*"):
            client.delete(key)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[redisserver.RedisServer]:
    redisserver.need_redis()
    server = redisserver.RedisServer(tmp_path)
    server.start()
    yield server
    server.kill()


def held(place: dict[str, Any], what: str) -> dict[bytes, int]:
    """The keys of a sort, with the bytes that each takes."""
    with redis.Redis.from_url(place["where"]) as client:
        names = client.scan_iter(f"{{{place['namespace']}:near}}:{what}:*", count=1000)
        return {name: int(client.memory_usage(name, samples=0) or 0) for name in names}


def postings(place: dict[str, Any]) -> int:
    with redis.Redis.from_url(place["where"]) as client:
        return sum(client.strlen(key) // 5 for key in held(place, "postings"))


# --- growth and memory


def test_texts_are_found_again_while_the_buckets_are_split(
    place: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two workers: each finds what the other has put into buckets that were split since."""
    monkeypatch.setattr(keys, "LOAD", 0.1)
    monkeypatch.setattr(index, "_TEND_EVERY", 2)
    monkeypatch.setattr(index, "_SPLITS_AT_ONCE", 300)
    with closing(RedisIndex(**place)) as first, closing(RedisIndex(**place)) as second:
        for number in range(600):
            insert((first, second)[number % 2], number)
        with redis.Redis.from_url(place["where"]) as client:
            assert int(client.hget(first._keys.meta, "level") or 0) >= 16
        assert len(held(place, "postings")) > 9000
        for number in range(600):
            found = first.check_and_insert(f"again {number}", "b.org", sample(number), NOW)
            assert [near.doc_id for near in found] == [url(number)]
            assert insert(second, number) == [f"again {number}"]
        assert first.count() == 1200


def test_a_text_takes_few_bytes(place: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """280 at 10^6 (python -m benchmarks.dedup_index); fewer texts share what the first buckets take."""
    texts = 20_000
    with closing(RedisIndex(**place)) as opened:
        for number in range(texts):
            insert(opened, number)
    postings = held(place, "postings")
    assert len(postings) == 2**14
    used = sum(postings.values()) + sum(held(place, "texts").values())
    assert used / texts < 330


def test_old_texts_leave_with_their_postings(place: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index, "_CLEAR_AT_ONCE", 4096)
    with closing(RedisIndex(**place)) as opened:
        for number in range(500):
            insert(opened, number)
        assert postings(place) == 17 * 500
        for number in range(500, 1100):
            insert(opened, number, NOW + KEEP + 1)
        assert opened.count() == 600
        assert len(held(place, "texts")) <= 600 // keys.BLOCK + 2
        while opened._insertions < 4000:  # a crawl goes on: the rest of the postings is found by and by
            insert(opened, 1, NOW + KEEP + 1)
        assert postings(place) < 1.1 * 17 * 600


def test_no_more_texts_are_kept_than_have_numbers(
    place: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index, "MAX_TEXTS", 200)
    with closing(RedisIndex(**place)) as opened:
        for number in range(1000):
            insert(opened, number)
        assert 200 <= opened.count() <= 200 + index._TEND_EVERY
        assert opened.check_and_insert("a", "a.org", sample(1), NOW) == []
        assert len(opened.check_and_insert("b", "a.org", sample(999), NOW)) == 1


def test_numbers_start_over_after_sixteen_million(place: dict[str, Any]) -> None:
    with closing(RedisIndex(**place)) as opened:
        insert(opened, 0)
        with redis.Redis.from_url(place["where"]) as client:
            begin = 2**24 - keys.BLOCK
            meta = opened._keys.meta
            client.hset(meta, mapping={"next": begin, "tail": begin, "count": 0})
        for number in range(1, 3 * keys.BLOCK):
            insert(opened, number)
        for number in range(1, 3 * keys.BLOCK):
            found = opened.check_and_insert(f"again {number}", "b.org", sample(number), NOW)
            assert [near.doc_id for near in found] == [url(number)]
        assert opened.check_and_insert("again 0", "b.org", sample(0), NOW) == []


def test_a_template_takes_no_more_room_than_its_newest_texts(place: dict[str, Any]) -> None:
    with closing(RedisIndex(**place)) as opened:
        for number in range(3 * MAX_CANDIDATES):
            opened.check_and_insert(url(number), "a.org", sample(1), NOW + number)
    count = postings(place)
    assert count <= 16 * (MAX_CANDIDATES + 1) + 3 * MAX_CANDIDATES


# --- records


@given(st.text(max_size=300))
def test_any_text_is_shortened_and_comes_back(text: str) -> None:
    assert lengthen(shorten(text)) == text


def test_addresses_take_little_more_than_half() -> None:
    assert len(shorten(url(12345))) < 0.6 * len(url(12345))


@pytest.mark.parametrize(("at", "kept"), [(-1.0, 0), (1.5, 1), (1e300, 2**32 - 1), (float("inf"), 2**32 - 1)])
def test_impossible_times_are_brought_into_range(at: float, kept: int) -> None:
    assert seconds(at) == kept


def test_a_time_that_is_no_number_is_refused() -> None:
    with pytest.raises(ValueError, match="NaN"):
        seconds(float("nan"))


# --- scripts and server


def test_all_keys_carry_one_tag(place: dict[str, Any]) -> None:
    with closing(RedisIndex(**place)) as opened, redis.Redis.from_url(place["where"]) as client:
        for number in range(200):
            insert(opened, number)
        tag = keys.Keys(place["namespace"]).tag.encode()
        mine = [key for key in client.keys("*") if place["namespace"].encode() in key]
        assert len(mine) > 3
        assert all(key.startswith(tag) for key in mine)


def test_scripts_that_the_server_forgot_are_sent_again(place: dict[str, Any]) -> None:
    with closing(RedisIndex(**place)) as opened:
        insert(opened, 1)
        with redis.Redis.from_url(place["where"]) as client:
            client.script_flush()
        assert len(opened.check_and_insert("again", "a.org", sample(1), NOW)) == 1


def test_a_server_that_was_emptied_is_filled_anew(server: redisserver.RedisServer) -> None:
    with closing(RedisIndex(server.url)) as opened:
        for number in range(300):
            insert(opened, number)
        with redis.Redis.from_url(server.url) as client:
            client.flushall()
        insert(opened, 1)
        assert len(opened.check_and_insert("again", "a.org", sample(1), NOW)) == 1
        assert opened.count() == 2
        RedisIndex(server.url).close()


def test_an_index_of_another_scheme_is_refused(
    place: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(RedisIndex(**place)) as opened:
        insert(opened, 1)
        monkeypatch.setattr(index, "SCHEME", "affine64 seed=2")
        with pytest.raises(SchemaError, match=r"redis://.*affine32 seed=1.*affine64 seed=2.*reindex --anew"):
            RedisIndex(**place)
        with pytest.raises(SchemaError, match="affine64 seed=2"):  # also one that is at work already
            insert(opened, 2)


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
def test_a_slot_that_is_being_moved_refuses_a_text_before_anything_is_written(
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
            opened.check_and_insert("short", "a.org", signature("few words"), NOW)  # not kept
            with redis.Redis(port=cluster.port) as client:
                slot = client.execute_command("CLUSTER", "KEYSLOT", opened._keys.meta)
                move_slot(client, slot, other, int(options[-1]))
                before = contents(client)
                with pytest.raises(DataUnavailable, match="moving the keys"):
                    insert(opened, 1000)
                with pytest.raises(DataUnavailable, match="moving the keys"):
                    opened.check_and_insert(
                        url(1), "gazette1.com", sample(2000), NOW
                    )  # takes the place of one
                assert contents(client) == before
                client.execute_command("CLUSTER", "SETSLOT", slot, "STABLE")
            insert(opened, 1000)
            assert opened.count() == stored + 1
    finally:
        other.kill()


def test_the_node_that_a_slot_is_being_moved_to_takes_no_text_before_it_has_all(
    cluster: redisserver.RedisServer, tmp_path: Path
) -> None:
    """It knows neither the text of that address nor the list that the next record goes to."""
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
            with pytest.raises(DataUnavailable, match="moving the keys"):  # it never heard of the other
                insert(early, 1)
            free = next(one for one in range(16384) if one != slot)
            for node in (client, beside):
                node.execute_command(
                    "CLUSTER", "SETSLOT", free, "NODE", beside.execute_command("CLUSTER", "MYID")
                )
            with closing(RedisIndex({"REDIS_URL": other.url, **params})) as opened:
                opened._insertions = 1  # it is not tended first
                for number in (1, 1000):
                    with pytest.raises(DataUnavailable, match="moving the keys"):
                        insert(opened, number)
            assert set(beside.keys("*")) == set(moved)
    finally:
        other.kill()


def test_a_cluster_is_told_from_a_server_that_is_alone(
    cluster: redisserver.RedisServer, tmp_path: Path
) -> None:
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
    """A node has to learn first who has which slots."""
    while b"cluster_state:ok" not in client.execute_command("CLUSTER", "INFO"):
        time.sleep(0.05)


def whole_cluster(server: redisserver.RedisServer) -> str:
    """Give one node all slots; return its URL when it serves them."""
    with redis.Redis(port=server.port) as client:
        client.execute_command("CLUSTER", "ADDSLOTSRANGE", 0, 16383)
        wait_until_it_serves(client)
    return server.url


def move_slot(client: redis.Redis, slot: int, other: redisserver.RedisServer, bus: int) -> None:
    """Begin to move a slot to another node."""
    with redis.Redis(port=other.port) as beside:
        node = beside.execute_command("CLUSTER", "MYID")
    client.execute_command("CLUSTER", "MEET", "127.0.0.1", other.port, bus)
    while True:
        try:
            client.execute_command("CLUSTER", "SETSLOT", slot, "MIGRATING", node)
            return
        except redis.exceptions.ResponseError as error:
            assert "know" in str(error)  # the node, not yet  # noqa: PT017
            time.sleep(0.05)


def contents(client: redis.Redis) -> dict[bytes | str, bytes | None]:
    """All keys with their serialised values."""
    return {key: client.dump(key) for key in client.keys("*")}


# --- faults


def test_a_server_that_would_evict_is_refused(server: redisserver.RedisServer) -> None:
    with redis.Redis.from_url(server.url) as client:
        client.config_set("maxmemory", "100mb")
        client.config_set("maxmemory-policy", "allkeys-lru")
    with pytest.raises(DataError, match="near-duplicate index away when its memory is full; set maxmemory-p"):
        RedisIndex(server.url)


def test_keys_that_were_thrown_away_are_said_and_what_is_left_still_answers(
    server: redisserver.RedisServer, caplog: pytest.LogCaptureFixture
) -> None:
    """Somebody changes the policy while a crawl runs: no fault, nothing wrong, and the next start says it."""
    with closing(RedisIndex(server.url)) as opened, redis.Redis.from_url(server.url) as client:
        for number in range(1500):
            insert(opened, number)
        limit = client.info("memory")["used_memory"] - 150_000
        client.config_set("maxmemory-policy", "allkeys-random")
        client.config_set("maxmemory", limit)
        for number in range(1500, 3000):
            assert insert(opened, number) == []
        found = [opened.check_and_insert(f"again {n}", "b.org", sample(n), NOW) for n in range(3000)]
        assert all(url(number) == near.doc_id for number, some in enumerate(found) for near in some)
        assert client.info("stats")["evicted_keys"] > 0
        with pytest.raises(DataError, match="would throw"):
            RedisIndex(server.url)
        client.config_set("maxmemory-policy", "noeviction")
        client.config_set("maxmemory", 0)
    with caplog.at_level(logging.WARNING), closing(RedisIndex(server.url)):
        assert re.search(
            r"lost keys place=redis:\S+ evicted=\d+; .* scrapy articles reindex --anew", caplog.text
        )


def test_a_full_server_is_a_data_error_and_nothing_is_half_done(server: redisserver.RedisServer) -> None:
    with closing(RedisIndex(server.url)) as opened, redis.Redis.from_url(server.url) as client:
        for number in range(200):
            insert(opened, number)
        client.config_set("maxmemory", "1mb")
        before = client.dbsize(), client.hgetall(opened._keys.meta)
        for number in (1, 500):
            with pytest.raises(DataFull, match=r"redis://.*memory is full"):
                insert(opened, number)
        assert (client.dbsize(), client.hgetall(opened._keys.meta)) == before
        client.config_set("maxmemory", "0")
        assert insert(opened, 500) == []
        assert opened.count() == 201


@pytest.mark.parametrize("missing", ["-info", "-mset"], ids=["asked", "in a script"])
def test_a_user_without_the_rights_is_told_where_they_are(
    server: redisserver.RedisServer, missing: str
) -> None:
    rights = ("on", ">secret", "~{newsbot:*", "-@all", "+@read", "+@write", "+@connection")
    with redis.Redis.from_url(server.url) as client:
        client.execute_command("ACL", "SETUSER", "user", *rights, "+eval", "+evalsha", "+info", missing)

    def use() -> None:
        with closing(RedisIndex(server.url.replace("//", "//user:secret@"))) as opened:
            insert(opened, 1)

    with pytest.raises(DataError, match=r"may not do all that is needed \(.*deploy/redis-users.acl"):
        use()


def test_texts_that_are_too_old_make_room_on_a_full_server(server: redisserver.RedisServer) -> None:
    with closing(RedisIndex(server.url)) as opened, redis.Redis.from_url(server.url) as client:
        for number in range(600):
            insert(opened, number)
        client.config_set("maxmemory", client.info("memory")["used_memory"] - 1000)
        kept = 0
        for number in range(1000, 1010):
            try:
                insert(opened, number, NOW + KEEP + 10)
            except DataFull:
                continue
            kept += 1
        assert kept > 0
        assert opened.count() < 100


def test_a_server_that_is_away_is_said_in_one_line(server: redisserver.RedisServer) -> None:
    with closing(RedisIndex(server.url)) as opened:
        insert(opened, 1)
        server.kill()
        for call in (lambda: insert(opened, 2), opened.count, lambda: RedisIndex(server.url)):
            with pytest.raises(DataUnavailable, match=r"redis://127\.0\.0\.1:\d+/0: cannot be reached"):
                call()
        server.start()
        assert insert(opened, 2) == []
        assert opened.count() == 1


@pytest.mark.parametrize("text", ["", "и " * 100_000])
def test_a_text_without_a_signature_is_not_kept(place: dict[str, Any], text: str) -> None:
    with closing(RedisIndex(**place)) as opened:
        assert opened.check_and_insert("a", "a.org", signature(text), NOW) == []
        assert (opened.count(), held(place, "postings"), held(place, "texts")) == (0, {}, {})
