"""The contract of every frontier (:mod:`newsbot.frontier.base`): its figures and predictions."""

from __future__ import annotations

from newsbot.frontier.base import Entry, Frontier, Known
from tests.contracts.frontier_backends import FakeClock, key_of, make_entry, name_of
from tests.contracts.frontier_steps import TTL, lease


def test_an_unknown_entry_is_not_returned(frontier: Frontier) -> None:
    assert frontier.known([key_of("a")]) == {}
    assert frontier.known([]) == {}
    assert frontier.entry(key_of("a")) is None
    assert frontier.counts() == {"pending": 0, "leased": 0, "done": 0, "aside": 0, "hosts": 0}
    assert frontier.owners() == []


def test_many_entries_are_looked_up_in_one_call(frontier: Frontier) -> None:
    frontier.add([make_entry(str(n)) for n in range(2000)])
    known = frontier.known([key_of(str(n)) for n in range(-10, 2010)])
    assert len(known) == 2000
    assert set(known.values()) == {Known(state="pending", last_fetched=None, next_due=0.0)}


def test_the_outlook_of_an_empty_frontier(frontier: Frontier, clock: FakeClock) -> None:
    outlook = frontier.outlook(horizon=clock.now)
    assert (outlook.next_at, outlook.pending, outlook.leased) == (None, 0, 0)


def test_the_outlook_says_when_the_next_host_opens(frontier: Frontier, clock: FakeClock) -> None:
    frontier.set_politeness("a", delay=5.0, concurrency=2)
    frontier.add([make_entry("a0", host="a"), make_entry("a1", host="a"), make_entry("b0", host="b")])
    outlook = frontier.outlook(horizon=clock.now)
    assert outlook.next_at is not None
    assert outlook.next_at <= clock.now
    assert (outlook.pending, outlook.leased) == (3, 0)
    lease(frontier, clock)
    outlook = frontier.outlook(horizon=clock.now)
    assert (outlook.next_at, outlook.pending, outlook.leased) == (clock.now + 5, 1, 2)


def test_the_outlook_of_a_full_host_is_the_first_deadline(frontier: Frontier, clock: FakeClock) -> None:
    frontier.add([make_entry("a"), make_entry("b")])
    mine = lease(frontier, clock)
    assert frontier.outlook(horizon=clock.now).next_at == clock.now + TTL
    clock.advance(5)
    frontier.resume("one", mine, TTL)
    assert frontier.outlook(horizon=clock.now).next_at == clock.now + TTL


def test_the_outlook_counts_what_will_be_reclaimed(frontier: Frontier, clock: FakeClock) -> None:
    frontier.add([make_entry("a")])
    lease(frontier, clock)
    outlook = frontier.outlook(horizon=clock.now)
    assert (outlook.next_at, outlook.pending, outlook.leased) == (None, 0, 1)
    clock.advance(TTL)
    outlook = frontier.outlook(horizon=clock.now)
    assert outlook.next_at is not None
    assert outlook.next_at <= clock.now
    assert (outlook.pending, outlook.leased) == (1, 0)


def test_the_outlook_ends_at_the_horizon(frontier: Frontier, clock: FakeClock) -> None:
    frontier.add([make_entry("a", due=clock.now + 10)])
    assert frontier.outlook(horizon=clock.now).next_at is None
    outlook = frontier.outlook(horizon=clock.now + 10)
    assert outlook.pending == 1
    assert outlook.next_at is not None
    assert outlook.next_at <= clock.now


def test_the_outlook_is_for_accepted_hosts(frontier: Frontier, clock: FakeClock) -> None:
    frontier.add([make_entry("a", host="a"), make_entry("b1", host="b"), make_entry("b2", host="b")])
    frontier.back_off("b", 7)
    outlook = frontier.outlook(horizon=clock.now, accept=lambda host: host == "b")
    assert (outlook.next_at, outlook.pending) == (clock.now + 7, 2)
    outlook = frontier.outlook(horizon=clock.now, accept=lambda host: False)
    assert (outlook.next_at, outlook.pending) == (None, 0)


def test_a_scheduler_that_follows_the_outlook_neither_stalls_nor_spins(
    frontier: Frontier, clock: FakeClock
) -> None:
    """Despite failures and full or resting hosts, there is work at each wake-up, and all work is done."""
    hosts = {"a": (1.0, 1), "b": (0.5, 3), "c": (0.0, 2), "d": (3.0, 1)}
    todo: list[Entry] = []
    for host, (delay, concurrency) in hosts.items():
        frontier.set_politeness(host, delay=delay, concurrency=concurrency)
        todo += [make_entry(f"{host}{n}", host=host, due=clock.now) for n in range(6)]
    frontier.add(todo)
    frontier.back_off("d", 20)
    start, done, wakings, failed = clock.now, [], 0, set()
    while (next_at := frontier.outlook(horizon=start).next_at) is not None:
        clock.now = max(clock.now, next_at)
        got = lease(frontier, clock, 3, horizon=start)
        assert got, f"no work at {clock.now - start}"
        wakings += 1
        for one in got:
            name = name_of(one.entry)
            if name.endswith("2") and name not in failed:
                failed.add(name)
                frontier.nack(one, delay=7)
            elif not name.endswith("4") or one.lost:  # the worker that leases it first dies
                frontier.ack(one, next_due=clock.now + 1)
                done.append(name)
        if frontier.outlook(horizon=start).next_at is None and frontier.counts()["leased"]:
            clock.advance(TTL)
    assert sorted(done) == sorted(name_of(entry) for entry in todo)
    assert wakings <= 2 * len(todo)


def test_the_outlook_names_the_host_that_opens_next(frontier: Frontier, clock: FakeClock) -> None:
    frontier.set_politeness("a", delay=50.0, concurrency=2)
    frontier.set_politeness("b", delay=5.0, concurrency=2)
    frontier.add([make_entry(f"{host}{number}", host=host) for host in "ab" for number in range(2)])
    lease(frontier, clock)
    outlook = frontier.outlook(horizon=clock.now, accept=lambda host: True)
    assert (outlook.next_at, outlook.host) == (clock.now + 5, "b")
    outlook = frontier.outlook(horizon=clock.now, accept=lambda host: host == "a")
    assert (outlook.next_at, outlook.host) == (clock.now + 50, "a")
    assert frontier.outlook(horizon=clock.now, accept=lambda host: host == "c").host is None


def test_a_host_says_how_many_entries_wait_and_whether_it_had_a_turn(
    frontier: Frontier, clock: FakeClock
) -> None:
    frontier.set_politeness("a", delay=5.0, concurrency=2)
    frontier.add([make_entry(f"a{n}", host="a") for n in range(3)])
    host = frontier.host("a")
    assert host is not None
    assert (host.ready, host.visited) == (3, False)
    lease(frontier, clock)
    host = frontier.host("a")
    assert host is not None
    assert (host.ready, host.visited) == (2, True)


def test_a_new_host_waits_behind_hosts_whose_turn_has_come(frontier: Frontier, clock: FakeClock) -> None:
    for name in ("a", "b"):
        frontier.set_politeness(name, delay=5.0, concurrency=1)
        frontier.add([make_entry(f"{name}{n}", host=name) for n in range(2)])
    assert len(lease(frontier, clock)) == 2
    clock.now += 6.0
    frontier.set_politeness("new", delay=5.0, concurrency=1)
    frontier.add([make_entry("n0", host="new")])
    assert frontier.outlook(horizon=clock.now).pending == 3
    for one in frontier.owners():
        frontier.release(one)
    found = frontier.lease("w", 2, horizon=clock.now, ttl=TTL)
    assert {one.entry.host for one in found} == {"a", "b"}
