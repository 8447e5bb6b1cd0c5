"""The Redis frontier when responses are lost, or when the server is down, killed, full or has another
configuration."""

from __future__ import annotations

import logging
import random
import threading
from itertools import count
from typing import Any

import pytest
import redis

from newsbot.apps.redis.frontier import RedisFrontier
from newsbot.errors import DataError, DataFull, DataUnavailable, SchemaError
from testbed import redisserver
from tests.contracts.frontier_backends import FakeClock, key_of, make_entry, name_of


def test_a_lease_whose_response_was_lost_is_returned(
    redis_place: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise no worker would fetch the page before the lease expires."""
    clock = FakeClock()
    frontier = RedisFrontier(**redis_place, clock=clock)
    frontier.set_politeness("a.example", delay=0, concurrency=2)
    frontier.add([make_entry("held"), make_entry("lost")])
    (held,) = frontier.lease("o", 1, horizon=0, ttl=60)
    scripts = frontier._queues[0]

    def answer_lost(*arguments: Any, **more: Any) -> None:
        type(scripts).run(scripts, *arguments, **more)
        raise DataUnavailable("no answer in time")

    with monkeypatch.context() as patch:
        patch.setattr(scripts, "run", answer_lost)
        with pytest.raises(DataUnavailable):
            frontier.lease("o", 5, horizon=0, ttl=60)
    assert frontier.counts()["leased"] == 2
    assert frontier.resume("o", [held], 60).kept == 1
    assert [name_of(one.entry) for one in frontier.lease("o", 5, horizon=0, ttl=60)] == ["lost"]
    assert frontier.ack(held, next_due=None)
    frontier.close()


def test_an_unreachable_server_is_reported_in_one_line_and_used_again_later(
    durable_redis: redisserver.RedisServer,
) -> None:
    url = durable_redis.url.replace("//", "//somebody:secret@")
    with redis.Redis(port=durable_redis.port) as client:
        client.execute_command("ACL", "SETUSER", "somebody", "on", ">secret", "~*", "+@all")
        durable_redis.options += ("--user", "somebody", "on", ">secret", "~*", "+@all")
    frontier = RedisFrontier(url)
    frontier.add([make_entry("a"), make_entry("b", host="b")])
    (lease, _) = frontier.lease("o", 5, horizon=0, ttl=600)
    durable_redis.kill()
    for call in (
        lambda: frontier.add([make_entry("c")]),
        lambda: frontier.lease("o", 1, horizon=0, ttl=1),
        lambda: frontier.ack(lease, next_due=None),
        lambda: frontier.known([key_of("a")]),
        lambda: frontier.outlook(horizon=0),
        lambda: frontier.resume("o", [], 1),
        lambda: RedisFrontier(url),
    ):
        with pytest.raises(DataUnavailable) as caught:
            call()
        text = str(caught.value)
        assert text.startswith(f"redis://127.0.0.1:{durable_redis.port}/0: cannot be reached (")
        assert "secret" not in text
        assert "somebody" not in text
        assert "\n" not in text
    durable_redis.start()
    assert frontier.ack(lease, next_due=None)
    assert frontier.counts() == {"pending": 0, "leased": 1, "done": 1, "aside": 0, "hosts": 2}
    frontier.close()


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_server_killed_at_any_moment_keeps_all_acknowledged_data(
    durable_redis: redisserver.RedisServer, seed: int
) -> None:
    chance = random.Random(seed)
    frontier = RedisFrontier(durable_redis.url)
    for host in range(5):
        frontier.set_politeness(f"h{host}", delay=0, concurrency=5)
    added: set[str] = set()
    done: set[str] = set()
    for round_ in range(3):
        killer = threading.Timer(chance.uniform(0.01, 0.4), durable_redis.kill)
        killer.start()
        with pytest.raises(DataUnavailable):
            _work_until_it_fails(frontier, str(round_), added, done)
        killer.join()
        durable_redis.start()
        frontier.release("o")
        added |= done  # the server may have queued entries that it could not confirm
        known = frontier.known([key_of(name) for name in added])
        assert len(known) == len(added), "a queued URL was lost"
        assert all(known[key_of(name)].state == "done" for name in done), "an acknowledged page came back"
        counts = frontier.counts()
        assert counts["leased"] == counts["aside"] == 0
        unsure = counts["pending"] + counts["done"] - len(added)
        assert 0 <= unsure <= 10 * (round_ + 1), "an entry is in an undefined state"  # ten per round
    assert done
    frontier.close()


def _work_until_it_fails(frontier: RedisFrontier, prefix: str, added: set[str], done: set[str]) -> None:
    """Add, lease and acknowledge until the server fails; record what was confirmed."""
    for number in count(step=10):
        names = [f"{prefix}-{number + n}" for n in range(10)]
        frontier.add([make_entry(name, host=f"h{n % 5}") for n, name in enumerate(names)])
        added |= set(names)
        for lease in frontier.lease("o", 7, horizon=0, ttl=600):
            if frontier.ack(lease, next_due=None):
                done.add(name_of(lease.entry))


def test_wrong_credentials_and_wrong_urls_are_reported_in_one_line(
    durable_redis: redisserver.RedisServer,
) -> None:
    with redis.Redis(port=durable_redis.port) as client:
        client.config_set("requirepass", "right")
    for credentials in ("", ":wrong@"):
        with pytest.raises(
            DataUnavailable, match=r"refuses user name or password; correct REDIS_URL$"
        ) as caught:
            RedisFrontier(f"redis://{credentials}127.0.0.1:{durable_redis.port}/0")
        assert "wrong@" not in str(caught.value)
    for url in ("127.0.0.1:6379", "http://x:secret@127.0.0.1/", "redis://x:secret@host:port/"):
        with pytest.raises(DataError) as wrong:
            RedisFrontier(url)
        assert "\n" not in str(wrong.value)
        assert "secret" not in str(wrong.value)
    for params, text in (
        ("{", "REDIS_PARAMS is not a JSON object"),
        ("[1]", "REDIS_PARAMS is not a JSON object"),
        ('{"nonsense": 1}', r"cannot be used \("),
        ('{"socket_timeout": "soon"}', r"cannot be used \("),
        ('{"socket_timeout": "5"}', "refuses user name or password"),
    ):
        with pytest.raises(DataError, match=text):
            RedisFrontier({"REDIS_URL": durable_redis.url, "REDIS_PARAMS": params})


def test_a_full_server_is_a_data_error_without_partial_changes(
    durable_redis: redisserver.RedisServer,
) -> None:
    frontier = RedisFrontier(durable_redis.url)
    frontier.add([make_entry("a"), make_entry("b", host="b")])
    (lease,) = frontier.lease("o", 1, horizon=0, ttl=600)
    with redis.Redis(port=durable_redis.port) as client:
        client.config_set("maxmemory", "1mb")
        with pytest.raises(DataFull, match="memory is full"):
            frontier.add([make_entry(str(n)) for n in range(100)])
        assert frontier.counts() == {"pending": 1, "leased": 1, "done": 0, "aside": 0, "hosts": 2}
        assert len(frontier.lease("o", 1, horizon=0, ttl=600)) == 1
        assert frontier.ack(lease, next_due=None), "an open lease can still be acknowledged"
    assert frontier.counts() == {"pending": 0, "leased": 1, "done": 1, "aside": 0, "hosts": 2}
    frontier.close()


def test_a_listpack_limit_that_is_too_low_is_reported_in_one_line(
    durable_redis: redisserver.RedisServer, caplog: pytest.LogCaptureFixture
) -> None:
    RedisFrontier(durable_redis.url).close()
    assert caplog.records == []
    with redis.Redis.from_url(durable_redis.url) as client:
        client.config_set("hash-max-listpack-entries", 32)
        before = sorted(client.keys("*"))
        with caplog.at_level(logging.WARNING):
            RedisFrontier(durable_redis.url).close()
        (record,) = caplog.records
        expected = f" place={durable_redis.url} fault=hash-max-listpack-entries is below 512: "
        assert expected in record.getMessage()
        assert sorted(client.keys("*")) == before


def test_a_server_with_an_eviction_policy_is_refused(durable_redis: redisserver.RedisServer) -> None:
    with redis.Redis(port=durable_redis.port) as client:
        client.config_set("maxmemory", "100mb")
        client.config_set("maxmemory-policy", "allkeys-lru")
    with pytest.raises(DataError, match="set maxmemory-policy noeviction"):
        RedisFrontier(durable_redis.url)


def test_data_of_a_newer_newsbot_is_refused(redis_place: dict[str, Any]) -> None:
    RedisFrontier(**redis_place).close()
    with redis.Redis.from_url(redis_place["where"]) as client:
        client.hset(f"{{{redis_place['namespace']}:0}}:meta", "version", "99")
    with pytest.raises(SchemaError, match="frontier was written by a newer newsbot"):
        RedisFrontier(**redis_place)


def test_a_batch_with_an_impossible_time_changes_no_data(redis_place: dict[str, Any]) -> None:
    frontier = RedisFrontier(**redis_place)
    with pytest.raises(DataError, match="must be numbers"):
        frontier.add([make_entry("a"), make_entry("b", due=float("nan"))])
    assert frontier.counts()["pending"] == 0
    frontier.close()
