"""The Redis frontier: buckets of known URLs, scripts, thousands of hosts."""

from __future__ import annotations

import re
import time
from contextlib import closing
from importlib.resources import files
from itertools import pairwise
from typing import Any

import pytest
import redis

from newsbot.apps.redis import queues
from newsbot.apps.redis.frontier import RedisFrontier
from newsbot.frontier.base import FETCH_STEP, Added, Entry, Known
from newsbot.items import Kind
from tests.contracts.frontier_backends import FakeClock, key_of, make_entry, name_of

# --- known URLs


@pytest.mark.parametrize("then", [1_521_000_001.0, 1_795_000_000.5, 2_600_000_000.0])
def test_the_fetch_time_is_stored_in_minutes(redis_place: dict[str, Any], then: float) -> None:
    with closing(RedisFrontier(**redis_place, clock=FakeClock(then))) as frontier:
        frontier.add([make_entry("a")])
        (lease,) = frontier.lease("o", 1, horizon=then, ttl=10)
        frontier.ack(lease, next_due=None)
        kept = frontier.known([key_of("a")])[key_of("a")].last_fetched
        assert kept is not None
        assert then <= kept < then + FETCH_STEP


def test_known_urls_survive_the_growth_of_their_buckets(
    redis_place: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queues, "LOAD", 2)
    clock = FakeClock()
    frontier, other = (RedisFrontier(**redis_place, clock=clock) for _ in range(2))
    other.known([key_of("x")])
    many = [make_entry(str(n), host=f"h{n % 7}") for n in range(3000)]
    frontier.mark_done(many[:2000], None)
    frontier.add(many[2000:])
    for host in range(7):
        frontier.set_politeness(f"h{host}", delay=0, concurrency=1000)
    leases = frontier.lease("o", 1000, horizon=clock.now, ttl=10)
    assert [frontier.ack(lease, next_due=None) for lease in leases] == [True] * 1000
    with redis.Redis.from_url(redis_place["where"]) as client:
        state = client.hgetall(f"{{{redis_place['namespace']}:0}}:meta")
    assert int(state[b"level"]) == 10, "the buckets did not grow, so the test is not valid"
    assert (1 << 10) + int(state[b"split"]) == 1500
    for one in (frontier, other):
        known = one.known([entry.fingerprint for entry in many])
        assert len(known) == 3000
        assert {known[entry.fingerprint] for entry in many[:2000]} == {
            Known(state="done", last_fetched=None, next_due=None)
        }
        # stored to the minute
        assert {known[entry.fingerprint].last_fetched for entry in many[2000:]} == {1_000_020.0}
        assert one.known([key_of(f"unknown {n}") for n in range(3000)]) == {}
    assert other.add(many[:3]) == [Added.KNOWN] * 3
    assert other.add(many[:1], force=True) == [Added.SOONER]
    assert frontier.counts() == {"pending": 1, "leased": 0, "done": 2999, "aside": 0, "hosts": 7}
    frontier.close()
    other.close()


def test_similar_fingerprints_in_a_bucket_are_distinguished(redis_place: dict[str, Any]) -> None:
    """Fingerprints that differ only in the last of the 60 bits that are used."""
    frontier = RedisFrontier(**redis_place)
    first, second = (bytes.fromhex(f"0123456789abcd{last:02x}") + bytes(8) for last in (0x10, 0x20))
    frontier.mark_done([_entry(first)], None)
    assert list(frontier.known([first, second])) == [first]
    frontier.close()


def _entry(fingerprint: bytes) -> Entry:
    return Entry(url="https://a.example/", fingerprint=fingerprint, host="a.example", kind=Kind.ARTICLE)


def test_memory_per_known_url_is_small(redis_place: dict[str, Any]) -> None:
    """16 bytes per URL at a million URLs; a few more for fewer URLs."""
    frontier = RedisFrontier(**redis_place)
    frontier.mark_done([make_entry(str(n)) for n in range(60_000)], None)
    with redis.Redis.from_url(redis_place["where"]) as client:
        buckets = list(client.scan_iter(f"{{{redis_place['namespace']}:0}}:known:*", count=1000))
        assert {client.object("encoding", key) for key in buckets} == {b"listpack"}
        used = sum(client.memory_usage(key, samples=0) for key in buckets)
        assert client.hlen(f"{{{redis_place['namespace']}:0}}:entries") == 0
    assert used / 60_000 < 16
    frontier.close()


def test_only_the_fingerprint_of_a_finished_entry_is_kept(redis_place: dict[str, Any]) -> None:
    frontier = RedisFrontier(**redis_place)
    frontier.mark_done([make_entry("never")], None)
    frontier.mark_done([make_entry("later")], time.time() + 1000)
    assert frontier.entry(key_of("never")) is None
    assert frontier.entry(key_of("later")) == make_entry("later")
    frontier.close()


# --- scripts


def test_scripts_are_sent_again_if_the_server_lost_them(redis_place: dict[str, Any]) -> None:
    frontier = RedisFrontier(**redis_place)
    frontier.add([make_entry("a")])
    with redis.Redis.from_url(redis_place["where"]) as client:
        client.script_flush()
    assert frontier.add([make_entry("a")]) == [Added.KNOWN]
    assert frontier.counts()["pending"] == 1
    frontier.close()


def test_scripts_use_only_the_given_keys() -> None:
    scripts = [
        path
        for path in (files("newsbot") / "apps/redis/lua/frontier").iterdir()
        if path.name.endswith(".lua")
    ]
    assert len(scripts) > 15
    for path in scripts:
        text = path.read_text(encoding="utf8")
        calls = re.findall(r"redis\.call\('(\w+)'(?:, 'ENCODING')?(?:, ([\w\[\]]+))?", text)
        assert {key for word, key in calls if word not in ("TIME", "INFO")} <= {
            *(f"KEYS[{n}]" for n in range(1, 19)),
            "key",  # of a list of KEYS
            "bucket",  # returned by located
            "located",
            "list",  # returned by index_of
            "host",
        }
        assert all(word != "TIME" or path.name == "lib.lua" for word, _ in calls)


def test_the_clock_of_the_server_is_used(redis_place: dict[str, Any]) -> None:
    frontier = RedisFrontier(**redis_place)
    frontier.add([make_entry("a")])
    (lease,) = frontier.lease("o", 1, horizon=0, ttl=60)
    with redis.Redis.from_url(redis_place["where"]) as client:
        seconds, _ = client.time()
    assert seconds + 50 < lease.deadline <= seconds + 61
    frontier.close()


# --- leasing


def test_entries_that_are_due_later_for_this_crawl_are_skipped_quickly(redis_place: dict[str, Any]) -> None:
    """A crawl that runs once shares a host with a permanent crawl whose entries became due later."""
    clock = FakeClock()
    frontier = RedisFrontier(**redis_place, clock=clock)
    frontier.set_politeness("a.example", delay=0, concurrency=4)
    began = clock.now
    later = [make_entry(f"later{n}", due=began + 1, priority=10.0 + n % 3) for n in range(600)]
    frontier.add([*later, make_entry("first", priority=11.0), make_entry("last", priority=1.0)])
    clock.advance(2)
    while frontier.outlook(horizon=clock.now).pending != 602:
        pass
    with redis.Redis.from_url(redis_place["where"]) as client:

        def calls_made() -> int:
            return int(client.info("commandstats")["cmdstat_zrangebylex"]["calls"])

        before = calls_made()
        leases = frontier.lease("once", 4, horizon=began, ttl=60)
        assert calls_made() - before < 30
    assert [name_of(lease.entry) for lease in leases] == ["first", "last"]
    assert len(frontier.lease("for ever", 4, horizon=clock.now, ttl=60)) == 2
    frontier.close()


def test_thousands_of_refused_hosts_are_skipped(redis_place: dict[str, Any]) -> None:
    frontier = RedisFrontier(**redis_place)
    frontier.add([make_entry(f"n{n}", host=f"a{n}") for n in range(1500)])
    frontier.add([make_entry(f"y{n}", host=f"z{n}") for n in range(300)])
    wanted = [
        frontier.lease("o", 100, horizon=0, ttl=60, accept=lambda host: host[0] == "z") for _ in range(4)
    ]
    assert [len(leases) for leases in wanted] == [100, 100, 100, 0]
    assert frontier.outlook(horizon=0, accept=lambda host: host[0] == "z").pending == 0
    assert frontier.outlook(horizon=0, accept=lambda host: host[0] == "a").pending == 1500
    frontier.close()


def test_the_work_of_a_script_does_not_grow_with_the_number_of_hosts(redis_place: dict[str, Any]) -> None:
    with (
        closing(RedisFrontier(**redis_place)) as frontier,
        redis.Redis.from_url(redis_place["where"]) as client,
    ):
        scripts, run = [], frontier._queues[0].run

        def counted(name: str, *values: Any, **options: Any) -> Any:
            before = client.info("commandstats")
            answer = run(name, *values, **options)
            after = client.info("commandstats")
            used = {one: row["calls"] - before.get(one, {"calls": 0})["calls"] for one, row in after.items()}
            scripts.append(sum(used.values()))
            return answer

        now = time.time()
        frontier.add([make_entry(f"n{n}", host=f"a{n}") for n in range(3000)])
        frontier.add([make_entry("y", host="z")])
        frontier._queues[0].run = counted  # type: ignore[method-assign]
        asked: dict[str, Any] = {"horizon": now, "accept": lambda host: host == "z"}
        assert frontier.lease("o", 10, ttl=60, **asked) == [], "the first call does not find it"
        assert frontier.outlook(**asked).host == "z"
        assert len(frontier.lease("o", 10, ttl=60, **asked)) == 1, "the outlook has shown it"
        assert frontier.outlook(horizon=now).pending == 3000
        assert len(frontier.lease("o", 10, horizon=now, ttl=60, accept=lambda host: host != "a1")) == 10
        assert max(scripts) < 900
        # Other hosts have only pages that are due after the horizon of this worker.
        frontier._queues[0].run = run  # type: ignore[method-assign]
        frontier.mark_done([make_entry(f"n{n}", host=f"a{n}") for n in range(3000)], None)
        frontier.add([make_entry(f"l{n}", host=f"a{n}", due=now + 50) for n in range(3000)])
        for _ in range(12):
            frontier.outlook(horizon=now + 60)
        frontier.add([make_entry("last", host="z2")])
        frontier._queues[0].run = counted  # type: ignore[method-assign]
        scripts.clear()
        assert frontier.outlook(horizon=now).pending == 1
        got = [frontier.lease("o", 10, horizon=now, ttl=60) for _ in range(6)]
        assert sum(map(len, got)) == 1
        assert max(scripts) < 900


def test_each_host_is_offered_once_in_a_call(redis_place: dict[str, Any]) -> None:
    """The caller may count the hosts that it accepts. Hosts without a ready entry must not use its room."""
    with closing(RedisFrontier(**redis_place)) as frontier:
        frontier.add([make_entry(f"n{n}", host=f"a{n}") for n in range(700)])
        asked: list[str] = []

        def accept(host: str) -> bool:
            asked.append(host)
            return host < limit

        limit = "a5"
        for _ in range(3):
            asked.clear()
            got = frontier.lease("o", 250, horizon=0, ttl=60, accept=accept)
            assert len(asked) == len(set(asked))
            assert {lease.entry.host for lease in got} <= set(asked)
        asked.clear()
        limit = ""
        assert frontier.lease("o", 9, horizon=0, ttl=60, accept=accept) == []
        leased = {f"a{n}" for n in range(700) if f"a{n}" < "a5"}
        assert set(asked).isdisjoint(leased)


def test_all_workers_together_respect_the_delay(redis_place: dict[str, Any]) -> None:
    clock = FakeClock()
    workers = [RedisFrontier(**redis_place, clock=clock) for _ in range(4)]
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


def test_after_a_restart_of_the_server_each_host_waits_for_its_delay(redis_place: dict[str, Any]) -> None:
    """The server may have lost its last turns. The turns of both queue and requests outside of it count."""
    clock = FakeClock()
    with closing(RedisFrontier(**redis_place, clock=clock)) as frontier:
        for host in ("a.example", "b.example"):
            frontier.set_politeness(host, delay=10.0, concurrency=2)
            frontier.add([make_entry(f"{host}{n}", host=host) for n in range(2)])
        assert len(frontier.lease("o", 9, horizon=clock.now, ttl=999)) == 2
        clock.advance(100)
        with redis.Redis.from_url(redis_place["where"]) as client:
            client.hset(f"{{{redis_place['namespace']}:0}}:meta", "paced_by", "another process")
        assert frontier.lease("o", 9, horizon=clock.now, ttl=999) == []
        assert frontier.take_turn("a.example") == pytest.approx(10)
        clock.advance(10)
        assert [one.entry.host for one in frontier.lease("o", 9, horizon=clock.now, ttl=999)] == ["b.example"]
        clock.advance(10)
        assert [one.entry.host for one in frontier.lease("o", 9, horizon=clock.now, ttl=999)] == ["a.example"]
