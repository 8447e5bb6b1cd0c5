"""What only the Redis frontier has: buckets of known URLs, lost answers, server faults, Redis Cluster."""

from __future__ import annotations

import logging
import random
import re
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from hashlib import blake2b
from importlib.resources import files
from itertools import count, pairwise
from pathlib import Path
from typing import Any

import pytest
import redis

from newsbot.errors import DataError, DataFull, DataUnavailable, SchemaError
from newsbot.frontier.base import FETCH_STEP, Added, Entry, Known
from newsbot.frontier.redis import RedisFrontier, keys
from newsbot.items import Kind
from tests import redisserver
from tests.contracts.frontier_backends import FakeClock, key_of, make_entry, name_of
from tests.servers import free_port


@pytest.fixture
def place(redis_url: str, tmp_path: Path) -> Iterator[dict[str, Any]]:
    """Arguments of a frontier of this test's own."""
    namespace = (
        f"test-{blake2b(str(tmp_path).encode() + str(time.time()).encode(), digest_size=6).hexdigest()}"
    )
    yield {"where": redis_url, "namespace": namespace}
    with redis.Redis.from_url(redis_url) as client:
        for key in client.scan_iter(f"{{{namespace}:*"):
            client.delete(key)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[redisserver.RedisServer]:
    """A server that a test may kill; what it acknowledged is in its file.

    With ``appendfsync everysec`` it is not always: the server postpones writing while the disk is busy.
    """
    redisserver.need_redis()
    server = redisserver.RedisServer(tmp_path, "--appendonly", "yes", "--appendfsync", "always")
    server.start()
    yield server
    server.kill()


# --- known URLs


@pytest.mark.parametrize("then", [1_521_000_001.0, 1_795_000_000.5, 2_600_000_000.0])
def test_the_minute_of_a_fetch_stays_and_seconds_of_an_earlier_version_are_read(
    place: dict[str, Any], then: float
) -> None:
    with closing(RedisFrontier(**place, clock=FakeClock(then))) as frontier:
        frontier.add([make_entry("a")])
        (lease,) = frontier.lease("o", 1, horizon=then, ttl=10)
        frontier.ack(lease, next_due=None)
        kept = frontier.known([key_of("a")])[key_of("a")].last_fetched
        assert kept is not None
        assert then <= kept < then + FETCH_STEP
        with redis.Redis.from_url(place["where"]) as client:
            (bucket,) = client.keys(f"{{{place['namespace']}:0}}:known:*")
            (field,) = client.hkeys(bucket)
            client.hset(bucket, field, str(int(then)))
        assert frontier.known([key_of("a")])[key_of("a")].last_fetched == int(then)


def test_known_urls_survive_the_growth_of_their_buckets(
    place: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keys, "LOAD", 2)
    clock = FakeClock()
    frontier, other = (RedisFrontier(**place, clock=clock) for _ in range(2))
    other.known([key_of("x")])
    many = [make_entry(str(n), host=f"h{n % 7}") for n in range(3000)]
    frontier.mark_done(many[:2000], None)
    frontier.add(many[2000:])
    for host in range(7):
        frontier.set_politeness(f"h{host}", delay=0, concurrency=1000)
    leases = frontier.lease("o", 1000, horizon=clock.now, ttl=10)
    assert [frontier.ack(lease, next_due=None) for lease in leases] == [True] * 1000
    with redis.Redis.from_url(place["where"]) as client:
        state = client.hgetall(f"{{{place['namespace']}:0}}:meta")
    assert int(state[b"level"]) == 10, "this test grows nothing"
    assert (1 << 10) + int(state[b"split"]) == 1500
    for one in (frontier, other):
        known = one.known([entry.fingerprint for entry in many])
        assert len(known) == 3000
        assert {known[entry.fingerprint] for entry in many[:2000]} == {
            Known(state="done", last_fetched=None, next_due=None)
        }
        assert {known[entry.fingerprint].last_fetched for entry in many[2000:]} == {1_000_020.0}  # the minute
        assert one.known([key_of(f"unknown {n}") for n in range(3000)]) == {}
    assert other.add(many[:3]) == [Added.KNOWN] * 3
    assert other.add(many[:1], force=True) == [Added.SOONER]
    assert frontier.counts() == {"pending": 1, "leased": 0, "done": 2999, "aside": 0, "hosts": 7}
    frontier.close()
    other.close()


def test_neighbours_in_a_bucket_are_told_apart(place: dict[str, Any]) -> None:
    """Fingerprints that differ in the last of the 60 bits that count."""
    frontier = RedisFrontier(**place)
    first, second = (bytes.fromhex(f"0123456789abcd{last:02x}") + bytes(8) for last in (0x10, 0x20))
    frontier.mark_done([_entry(first)], None)
    assert list(frontier.known([first, second])) == [first]
    frontier.close()


def _entry(fingerprint: bytes) -> Entry:
    return Entry(url="https://a.example/", fingerprint=fingerprint, host="a.example", kind=Kind.ARTICLE)


def test_a_known_url_takes_few_bytes(place: dict[str, Any]) -> None:
    """16 at a million (python -m benchmarks.frontier); some more as long as there are few."""
    frontier = RedisFrontier(**place)
    frontier.mark_done([make_entry(str(n)) for n in range(60_000)], None)
    with redis.Redis.from_url(place["where"]) as client:
        buckets = list(client.scan_iter(f"{{{place['namespace']}:0}}:known:*", count=1000))
        assert {client.object("encoding", key) for key in buckets} == {b"listpack"}
        used = sum(client.memory_usage(key, samples=0) for key in buckets)
        assert client.hlen(f"{{{place['namespace']}:0}}:entries") == 0
    assert used / 60_000 < 16
    frontier.close()


def test_an_entry_that_is_done_for_good_is_only_known(place: dict[str, Any]) -> None:
    frontier = RedisFrontier(**place)
    frontier.mark_done([make_entry("never")], None)
    frontier.mark_done([make_entry("later")], time.time() + 1000)
    assert frontier.entry(key_of("never")) is None
    assert frontier.entry(key_of("later")) == make_entry("later")
    frontier.close()


# --- scripts


def test_scripts_that_the_server_forgot_are_sent_again(place: dict[str, Any]) -> None:
    frontier = RedisFrontier(**place)
    frontier.add([make_entry("a")])
    with redis.Redis.from_url(place["where"]) as client:
        client.script_flush()
    assert frontier.add([make_entry("a")]) == [Added.KNOWN]
    assert frontier.counts()["pending"] == 1
    frontier.close()


def test_scripts_use_no_key_that_was_not_given() -> None:
    scripts = [
        path for path in (files("newsbot") / "frontier" / "lua").iterdir() if path.name.endswith(".lua")
    ]
    assert len(scripts) > 15
    for path in scripts:
        text = path.read_text(encoding="utf8")
        calls = re.findall(r"redis\.call\('(\w+)'(?:, 'ENCODING')?(?:, ([\w\[\]]+))?", text)
        assert {key for word, key in calls if word != "TIME"} <= {
            *(f"KEYS[{n}]" for n in range(1, 19)),
            "key",  # of a list of KEYS
            "bucket",  # as located gave it
            "located",
            "list",  # of index_of
            "host",
        }
        assert all(word != "TIME" or path.name == "lib.lua" for word, _ in calls)


def test_the_clock_is_the_servers(place: dict[str, Any]) -> None:
    frontier = RedisFrontier(**place)
    frontier.add([make_entry("a")])
    (lease,) = frontier.lease("o", 1, horizon=0, ttl=60)
    with redis.Redis.from_url(place["where"]) as client:
        seconds, _ = client.time()
    assert seconds + 50 < lease.deadline <= seconds + 61
    frontier.close()


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[redisserver.RedisServer]:
    """A Redis Cluster of one node."""
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
    frontier = RedisFrontier(settings, shard=3)
    frontier.add([make_entry("a"), make_entry("b", host="b")])
    first, second = frontier.lease("o", 5, horizon=0, ttl=60, accept=lambda host: True)
    assert frontier.ack(first, next_due=None)
    assert frontier.nack(second, delay=0)
    assert frontier.counts() == {"pending": 1, "leased": 0, "done": 1, "aside": 0, "hosts": 2}
    assert len(frontier.known([key_of("a"), key_of("b")])) == 2
    frontier.close()


def test_a_cluster_that_is_away_is_an_outage_like_any_other(cluster: redisserver.RedisServer) -> None:
    """Its client tells that by an exception that is none of the others' kind."""
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


# --- handing out


def test_what_is_due_for_others_only_is_passed_over_at_once(place: dict[str, Any]) -> None:
    """A crawl that runs once shares a host with one that runs for ever, and with all that fell due since."""
    clock = FakeClock()
    frontier = RedisFrontier(**place, clock=clock)
    frontier.set_politeness("a.example", delay=0, concurrency=4)
    began = clock.now
    later = [make_entry(f"later{n}", due=began + 1, priority=10.0 + n % 3) for n in range(600)]
    frontier.add([*later, make_entry("first", priority=11.0), make_entry("last", priority=1.0)])
    clock.advance(2)
    while frontier.outlook(horizon=clock.now).pending != 602:
        pass
    with redis.Redis.from_url(place["where"]) as client:

        def looked() -> int:
            return int(client.info("commandstats")["cmdstat_zrangebylex"]["calls"])

        before = looked()
        leases = frontier.lease("once", 4, horizon=began, ttl=60)
        assert looked() - before < 30
    assert [name_of(lease.entry) for lease in leases] == ["first", "last"]
    assert len(frontier.lease("for ever", 4, horizon=clock.now, ttl=60)) == 2
    frontier.close()


# --- faults


def test_a_lease_whose_answer_was_lost_is_handed_back(
    place: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The heartbeat would keep it for ever, and nobody would work on it."""
    clock = FakeClock()
    frontier = RedisFrontier(**place, clock=clock)
    frontier.set_politeness("a.example", delay=0, concurrency=2)
    frontier.add([make_entry("held"), make_entry("lost")])
    (held,) = frontier.lease("o", 1, horizon=0, ttl=60)
    scripts = frontier._scripts

    def answer_lost(*arguments: Any, **more: Any) -> None:
        type(scripts).lease(scripts, *arguments, **more)
        raise DataUnavailable("no answer in time")

    with monkeypatch.context() as patch:
        patch.setattr(scripts, "lease", answer_lost)
        with pytest.raises(DataUnavailable):
            frontier.lease("o", 5, horizon=0, ttl=60)
    assert frontier.counts()["leased"] == 2
    assert [name_of(one.entry) for one in frontier.lease("o", 5, horizon=0, ttl=60)] == ["lost"]
    assert frontier.ack(held, next_due=None)
    frontier.close()


def test_a_server_that_is_away_is_said_in_one_line_and_work_goes_on_when_it_is_back(
    server: redisserver.RedisServer,
) -> None:
    url = server.url.replace("//", "//somebody:secret@")
    with redis.Redis(port=server.port) as client:
        client.execute_command("ACL", "SETUSER", "somebody", "on", ">secret", "~*", "+@all")
        server.options += ("--user", "somebody", "on", ">secret", "~*", "+@all")
    frontier = RedisFrontier(url)
    frontier.add([make_entry("a"), make_entry("b", host="b")])
    (lease, _) = frontier.lease("o", 5, horizon=0, ttl=600)
    server.kill()
    for call in (
        lambda: frontier.add([make_entry("c")]),
        lambda: frontier.lease("o", 1, horizon=0, ttl=1),
        lambda: frontier.ack(lease, next_due=None),
        lambda: frontier.known([key_of("a")]),
        lambda: frontier.outlook(horizon=0),
        lambda: frontier.extend("o", 1),
        lambda: RedisFrontier(url),
    ):
        with pytest.raises(DataUnavailable) as caught:
            call()
        text = str(caught.value)
        assert text.startswith(f"redis://127.0.0.1:{server.port}/0: cannot be reached (")
        assert "secret" not in text
        assert "somebody" not in text
        assert "\n" not in text
    server.start()
    assert frontier.ack(lease, next_due=None)
    assert frontier.counts() == {"pending": 0, "leased": 1, "done": 1, "aside": 0, "hosts": 2}
    frontier.close()


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_server_killed_at_any_moment_forgets_nothing_it_acknowledged(
    server: redisserver.RedisServer, seed: int
) -> None:
    chance = random.Random(seed)
    frontier = RedisFrontier(server.url)
    for host in range(5):
        frontier.set_politeness(f"h{host}", delay=0, concurrency=5)
    added: set[str] = set()
    done: set[str] = set()
    for round_ in range(3):
        killer = threading.Timer(chance.uniform(0.01, 0.4), server.kill)
        killer.start()
        with pytest.raises(DataUnavailable):
            _work_until_it_fails(frontier, str(round_), added, done)
        killer.join()
        server.start()
        frontier.release("o")
        added |= done  # the server may have queued what it could not confirm any more
        known = frontier.known([key_of(name) for name in added])
        assert len(known) == len(added), "a queued URL was lost"
        assert all(known[key_of(name)].state == "done" for name in done), "an acknowledged page came back"
        counts = frontier.counts()
        assert counts["leased"] == counts["aside"] == 0
        unsure = counts["pending"] + counts["done"] - len(added)
        assert 0 <= unsure <= 10 * (round_ + 1), "something half done"  # each round the last ten may be there
    assert done
    frontier.close()


def _work_until_it_fails(frontier: RedisFrontier, prefix: str, added: set[str], done: set[str]) -> None:
    """Note what was acknowledged."""
    for number in count(step=10):
        names = [f"{prefix}-{number + n}" for n in range(10)]
        frontier.add([make_entry(name, host=f"h{n % 5}") for n, name in enumerate(names)])
        added |= set(names)
        for lease in frontier.lease("o", 7, horizon=0, ttl=600):
            if frontier.ack(lease, next_due=None):
                done.add(name_of(lease.entry))


def test_wrong_credentials_and_wrong_urls_are_one_line(server: redisserver.RedisServer) -> None:
    with redis.Redis(port=server.port) as client:
        client.config_set("requirepass", "right")
    for credentials in ("", ":wrong@"):
        with pytest.raises(DataUnavailable, match=r"refuses user name or password$") as caught:
            RedisFrontier(f"redis://{credentials}127.0.0.1:{server.port}/0")
        assert "wrong@" not in str(caught.value)
    for url in ("127.0.0.1:6379", "http://x:secret@127.0.0.1/", "redis://x:secret@host:port/"):
        with pytest.raises(DataError) as wrong:
            RedisFrontier(url)
        assert "\n" not in str(wrong.value)
        assert "secret" not in str(wrong.value)
    for params, text in (
        ("{", "REDIS_PARAMS is no JSON object"),
        ("[1]", "REDIS_PARAMS is no JSON object"),
        ('{"nonsense": 1}', r"cannot be used \("),
        ('{"socket_timeout": "soon"}', r"cannot be used \("),
        ('{"socket_timeout": "5"}', "refuses user name or password"),
    ):
        with pytest.raises(DataError, match=text):
            RedisFrontier({"REDIS_URL": server.url, "REDIS_PARAMS": params})


def test_a_full_server_is_a_data_error_and_nothing_is_half_done(server: redisserver.RedisServer) -> None:
    frontier = RedisFrontier(server.url)
    frontier.add([make_entry("a"), make_entry("b", host="b")])
    (lease,) = frontier.lease("o", 1, horizon=0, ttl=600)
    with redis.Redis(port=server.port) as client:
        client.config_set("maxmemory", "1mb")
        with pytest.raises(DataFull, match="memory is full"):
            frontier.add([make_entry(str(n)) for n in range(100)])
        assert frontier.counts() == {"pending": 1, "leased": 1, "done": 0, "aside": 0, "hosts": 2}
        assert len(frontier.lease("o", 1, horizon=0, ttl=600)) == 1
        assert frontier.ack(lease, next_due=None), "what was begun can be ended"
    assert frontier.counts() == {"pending": 0, "leased": 1, "done": 1, "aside": 0, "hosts": 2}
    frontier.close()


def test_a_server_that_would_spread_known_urls_out_is_said_in_one_line(
    server: redisserver.RedisServer, caplog: pytest.LogCaptureFixture
) -> None:
    RedisFrontier(server.url).close()
    assert caplog.records == []
    with redis.Redis.from_url(server.url) as client:
        client.config_set("hash-max-listpack-entries", 32)
        before = sorted(client.keys("*"))
        with caplog.at_level(logging.WARNING):
            RedisFrontier(server.url).close()
        (record,) = caplog.records
        told = f" place={server.url} fault=hash-max-listpack-entries is below 512; "
        assert told in record.getMessage()
        assert sorted(client.keys("*")) == before


def test_a_server_that_would_evict_is_refused(server: redisserver.RedisServer) -> None:
    with redis.Redis(port=server.port) as client:
        client.config_set("maxmemory", "100mb")
        client.config_set("maxmemory-policy", "allkeys-lru")
    with pytest.raises(DataError, match="set maxmemory-policy noeviction"):
        RedisFrontier(server.url)


def test_data_of_a_newer_newsbot_are_refused(place: dict[str, Any]) -> None:
    RedisFrontier(**place).close()
    with redis.Redis.from_url(place["where"]) as client:
        client.hset(f"{{{place['namespace']}:0}}:meta", "version", "99")
    with pytest.raises(SchemaError, match="frontier was written by a newer newsbot"):
        RedisFrontier(**place)


def test_a_batch_with_an_impossible_time_leaves_nothing_behind(place: dict[str, Any]) -> None:
    frontier = RedisFrontier(**place)
    with pytest.raises(DataError, match="must be numbers"):
        frontier.add([make_entry("a"), make_entry("b", due=float("nan"))])
    assert frontier.counts()["pending"] == 0
    frontier.close()


# --- cases beyond the contract


def test_hosts_that_are_refused_by_thousands_are_passed_over(place: dict[str, Any]) -> None:
    frontier = RedisFrontier(**place)
    frontier.add([make_entry(f"n{n}", host=f"a{n}") for n in range(1500)])
    frontier.add([make_entry(f"y{n}", host=f"z{n}") for n in range(300)])
    wanted = [
        frontier.lease("o", 100, horizon=0, ttl=60, accept=lambda host: host[0] == "z") for _ in range(4)
    ]
    assert [len(leases) for leases in wanted] == [100, 100, 100, 0]
    assert frontier.outlook(horizon=0, accept=lambda host: host[0] == "z").pending == 0
    assert frontier.outlook(horizon=0, accept=lambda host: host[0] == "a").pending == 1500
    frontier.close()


def test_lost_leases_can_be_taken_back_without_a_handing_out(place: dict[str, Any]) -> None:
    clock = FakeClock()
    frontier = RedisFrontier(**place, clock=clock)
    frontier.add([make_entry("a"), make_entry("b", host="b")])
    frontier.lease("o", 5, horizon=0, ttl=60)
    assert frontier.reap() == 0
    clock.advance(60)
    assert frontier.reap() == 2
    assert frontier.counts()["pending"] == 2
    frontier.close()


def test_the_sum_of_all_workers_keeps_the_delay(place: dict[str, Any]) -> None:
    clock = FakeClock()
    workers = [RedisFrontier(**place, clock=clock) for _ in range(4)]
    workers[0].set_politeness("a.example", delay=0.5, concurrency=8)
    workers[0].add([make_entry(str(n)) for n in range(100)])
    turns = []
    for _ in range(100):
        for worker in workers:
            turns += [clock.now] * len(worker.lease("o", 5, horizon=0, ttl=0.125))
        clock.advance(0.125)
    assert len(turns) == 25
    assert all(later - earlier >= 0.5 for earlier, later in pairwise(turns))
    workers[1].back_off("a.example", 100)
    clock.advance(99)
    assert all(not worker.lease("o", 5, horizon=0, ttl=60) for worker in workers)
    for worker in workers:
        worker.close()
