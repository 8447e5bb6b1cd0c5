"""The hosts of a frontier in Redis are divided among several queues.

The number of queues changes while workers run.
"""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, closing, suppress
from itertools import islice, pairwise
from typing import Any

import pytest
import redis

from newsbot.apps.redis.frontier import RedisFrontier
from newsbot.apps.redis.queues import Keys, QueuesChanged, change, home
from newsbot.errors import DataUnavailable
from newsbot.frontier.base import Added, Frontier, Lease, known_of
from tests.contracts.frontier_backends import FakeClock, key_of, make_entry, name_of
from tests.contracts.frontier_steps import TTL, fetch, lease

HOSTS = [f"{letter}.example" for letter in "abcdefghijkl"]


@pytest.fixture
def opened(redis_place: dict[str, Any]) -> Iterator[Any]:
    """A function that opens the frontier of this test, as another process would."""
    with ExitStack() as stack:
        yield lambda clock=None, **more: stack.enter_context(
            closing(RedisFrontier(**redis_place, clock=clock, **more))
        )


def part_of_a_change(frontier: RedisFrontier, before: int, after: int, steps: int) -> bool:
    """Change the number of queues up to a step, like a process that is killed. Return True if it is done."""
    rest = change(frontier._queue, before, after)
    return len(list(islice(rest, steps))) < steps


def test_more_queues_take_hosts_from_all_others_and_move_no_other_host() -> None:
    names = [f"site{number}.example" for number in range(2000)]
    share = Counter(home(name, 5) for name in names)
    assert sorted(share) == list(range(5))
    assert max(share.values()) < 1.2 * min(share.values())
    assert {home(name, 6) for name in names if home(name, 6) != home(name, 5)} == {5}
    assert {home(name, 1) for name in names} == {0}
    # the URLs of both have the same fingerprints
    assert all(home(f"www.{name}", 7) == home(name, 7) for name in names)


def fill(frontier: RedisFrontier, clock: FakeClock) -> list[Lease]:
    """Put entries of all states into the frontier. Return the leases."""
    held = []
    for place, host in enumerate(HOSTS):
        frontier.set_politeness(host, delay=0.0, concurrency=5)
        frontier.add(
            [make_entry(f"{name}-{host}", host=host) for name in ("leased", "held", "aside", "again")]
        )
        for one in lease(frontier, clock, 9, accept=host.__eq__):
            match name_of(one.entry).partition("-")[0]:
                case "leased":
                    held.append(one)
                case "held":
                    frontier.nack(one, delay=500.0)
                case "aside":
                    frontier.nack(one, delay=0.0, aside=True)
                case "again":
                    frontier.ack(one, next_due=clock.now + 900.0)
        frontier.add([make_entry(f"lost-{host}", host=host)])
        assert len(lease(frontier, clock, 9, owner="dead", accept=host.__eq__)) == 1
        assert frontier.release("dead", lost=True) == 1
        frontier.add([make_entry(f"{n}-{host}", host=host, priority=n, due=n * 1e6) for n in range(3)])
        frontier.set_politeness(host, delay=1.0 + place, concurrency=2)
        frontier.take_turn(host)
        frontier.back_off(host, 100.0 * place)
        clock.advance(0.1)
    return held


def everything(frontier: RedisFrontier) -> list[Any]:
    """Return all hosts and entries, with what is known about the entries."""
    copies = sorted(frontier.copy_entries(), key=lambda copy: copy.entry.fingerprint)
    known = known_of(frontier, [copy.entry for copy in copies])
    assert known == frontier.known([copy.entry.fingerprint for copy in copies])
    return [
        sorted(frontier.copy_hosts(), key=lambda host: host.host),
        copies,
        known,
        frontier.counts(),
        [one.url for one in frontier.aside(100)],
        frontier.watch().overdue_since,
        sorted(frontier.owners()),
    ]


@pytest.mark.parametrize("seed", range(4))
def test_a_change_that_is_killed_anywhere_is_finished_by_another(
    opened: Any, clock: FakeClock, redis_place: dict[str, Any], redis_url: str, seed: int
) -> None:
    drawn = random.Random(seed)
    worker = opened(clock)
    held = fill(worker, clock)
    before = everything(worker)
    present, kills = 1, 0
    for after in (3, 7, 2, 1):
        finished, killed = False, opened(clock)
        while not finished:
            finished = part_of_a_change(killed, present, after, drawn.randrange(1, 16))
            kills += 1
            if not finished:
                with redis.Redis.from_url(redis_url) as client:
                    lock = Keys(redis_place["namespace"], 0).lock
                    client.set(lock, "another process", ex=60)
                    with pytest.raises(DataUnavailable, match=f"{present} to {after} queues"):
                        worker.counts()
                    client.delete(lock)
        present = after
        for mine, theirs in zip(everything(worker), before, strict=True):
            assert mine == theirs
        worker.move_known({}, last=True)
    assert kills > 5
    assert len(held) == len(HOSTS)
    assert worker.resume("one", held, TTL).kept == len(HOSTS)
    assert worker.ack_all([(one, None) for one in held]) == [True] * len(HOSTS)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


def test_leases_stay_valid_and_hosts_keep_their_pace(opened: Any, clock: FakeClock) -> None:
    worker, other = opened(clock), opened(clock)
    for host in HOSTS:
        worker.set_politeness(host, delay=10.0, concurrency=1)
        worker.add([make_entry(f"{n}-{host}", host=host) for n in range(3)])
    first = lease(worker, clock, 100)
    assert len(first) == len(HOSTS)
    clock.advance(TTL - 1)
    assert other.divide(4)
    clock.advance(5)  # without the change, the leases would have expired
    assert worker.ack_all([(one, None) for one in first]) == [True] * len(HOSTS)
    assert len(lease(worker, clock, 100)) == len(HOSTS)
    clock.advance(9.9)
    assert not lease(other, clock, 100, owner="two")
    assert other.outlook(horizon=clock.now).pending == len(HOSTS)
    assert worker.counts() == {"pending": 12, "leased": 12, "done": 12, "aside": 0, "hosts": 12}


def test_known_urls_are_known_all_the_time_and_move(opened: Any, clock: FakeClock) -> None:
    worker = opened(clock)
    names = {f"{n}-{host}": host for n in range(40) for host in HOSTS}
    entries = [make_entry(name, host=host) for name, host in names.items()]
    worker.mark_done(entries, None)
    fetch(worker, clock, "fetched")
    assert worker.divide(3)
    assert not worker.divide(4), "the known URLs of the last change are still to be moved"
    assert worker.counts()["done"] == len(entries) + 1
    assert set(worker.add(entries[:200])) == {Added.KNOWN}
    assert len(known_of(worker, entries)) == len(worker.known([one.fingerprint for one in entries])) == 480
    stranger = make_entry("new", host="new.example")
    assert worker.add([stranger]) == [Added.NEW]
    assert worker.known([key_of("fetched")], ["fetched.example"])[key_of("fetched")].last_fetched is not None
    # the pages of the storage, in the order of their fingerprints
    pages = sorted(((key_of(name), host) for name, host in names.items()), reverse=True)
    worker = opened(clock)
    while (at := worker.known_to_move()) is not None:
        assert opened(clock).known_to_move() is None, "only one worker moves known URLs"
        some: dict[bytes, str] = {}
        while pages and len(some) < 100:
            key, host = pages.pop()
            assert key > at
            some[key] = host
        worker.move_known(some, last=not pages)
    numbers = [int(one.fields("known")[0] or 0) for one in worker._queues]
    assert sum(numbers) == len(entries) + 1
    assert min(numbers) > 0
    assert set(opened(clock).add(entries)) == {Added.KNOWN}
    assert worker.divide(1)
    assert set(worker.add(entries)) == {Added.KNOWN}


@pytest.mark.parametrize("lost", [0, 2])
def test_a_queue_that_lost_its_data_is_noticed(
    opened: Any, redis_place: dict[str, Any], redis_url: str, lost: int
) -> None:
    worker = opened()
    assert worker.divide(3)
    worker.add([make_entry(host, host=host) for host in HOSTS])
    refill = worker.refill("worker", ttl=60.0)
    assert refill.until is None
    assert worker.refill("worker", ttl=60.0, until=refill.now, reading=True).until == refill.now
    with redis.Redis.from_url(redis_url) as client:
        for key in client.scan_iter(f"{Keys(redis_place['namespace'], lost).tag}:*"):
            client.delete(key)
    assert worker.resume("worker", [], 60.0).emptied
    assert not worker.resume("worker", [], 60.0).emptied
    rest = sum(home(host, 3) != lost for host in HOSTS)
    assert worker.counts()["pending"] == rest < len(HOSTS)
    assert worker.refill("worker", ttl=60.0).until is None, "the storage must be read again"
    worker.add([make_entry(host, host=host) for host in HOSTS])
    assert worker.counts()["pending"] == len(HOSTS)


def test_the_refill_is_one_workers_for_all_queues(opened: Any) -> None:
    one, two = opened(), opened()
    assert one.divide(2)
    first = one.refill("one", ttl=60.0, at=b"m")
    assert (first.yours, two.refill("two", ttl=60.0).yours) == (True, False)
    assert one.refill("one", ttl=60.0, reading=True, at=b"n").at == b"n"
    assert two.divide(3)
    assert not one.refill("one", ttl=60.0, reading=True).yours, "a read continues behind the last stored page"
    again = one.refill("one", ttl=60.0)
    assert (again.yours, again.at, again.until) == (True, b"n", None)
    assert one.refill("one", ttl=60.0, until=5.0, reading=True).until == 5.0
    assert two.refill("two", ttl=60.0).until == 5.0


class Crawler(threading.Thread):
    """A worker that leases and acknowledges pages, also while the number of queues changes."""

    def __init__(self, frontier: Frontier, name: str) -> None:
        super().__init__(name=name)
        self.frontier = frontier
        self.done: list[str] = []
        self.turns: list[tuple[str, float]] = []

    def run(self) -> None:
        while True:
            leases = self._try(self.frontier.lease, self.name, 5, horizon=time.time() + 1e6, ttl=600.0)
            for one in leases:
                self.turns.append((one.entry.host, one.turn))
                name = name_of(one.entry)
                if not name.startswith("child"):
                    self._try(self.frontier.add, [make_entry(f"child-{name}", host=one.entry.host)])
                if self._try(self.frontier.ack, one, next_due=None):
                    self.done.append(name)
            if not leases:
                outlook = self._try(self.frontier.outlook, horizon=time.time() + 1e6)
                if not outlook.pending and not outlook.leased:
                    return
                time.sleep(0.005)

    def _try(self, call: Any, *given: Any, **named: Any) -> Any:
        while True:
            try:
                return call(*given, **named)
            except DataUnavailable:
                time.sleep(0.01)


def test_workers_go_on_while_the_number_of_queues_changes(opened: Any) -> None:
    entries = [make_entry(f"{n}-{host}", host=host) for n in range(40) for host in HOSTS]
    first = opened()
    for host in HOSTS:
        first.set_politeness(host, delay=0.002, concurrency=1)
    first.add(entries)
    workers = [Crawler(opened(), f"worker-{number}") for number in range(3)]
    for worker in workers:
        worker.start()
    drawn, present, killed = random.Random(1), 1, opened()
    for after in (3, 2, 5, 4):
        time.sleep(0.1)
        # The process is killed, and a worker goes on. The worker begins even before that, because this
        # process has no lock.
        with suppress(QueuesChanged):
            part_of_a_change(killed, present, after, drawn.randrange(2, 30))
        present = after
        while True:
            try:
                first.move_known({}, last=True)
                break
            except DataUnavailable:
                time.sleep(0.01)
    for worker in workers:
        worker.join(timeout=60)
    done = [name for worker in workers for name in worker.done]
    assert len(done) == len(set(done)) == 2 * len(entries)
    for host in HOSTS:
        times = sorted(at for worker in workers for name, at in worker.turns if name == host)
        assert min(later - earlier for earlier, later in pairwise(times)) > 0.0019
