"""The contract of every frontier (:mod:`newsbot.frontier.base`): entries with lost leases."""

from __future__ import annotations

from newsbot.frontier.base import ALONE, MAX_LOST, Frontier, Lease
from tests.contracts.frontier_backends import FakeClock, make_entry, name_of
from tests.contracts.frontier_steps import TTL, lease, names


def lost_together(frontier: Frontier, clock: FakeClock, names_: str, host: str = "a.example") -> None:
    """Simulate the death of a worker that has leased these entries."""
    frontier.set_politeness(host, delay=0, concurrency=16)
    frontier.add([make_entry(name, host=host) for name in names_])
    assert len(lease(frontier, clock, 16, owner="dead")) == len(names_)
    frontier.release("dead", lost=True)


def test_a_worker_gets_one_suspect_at_a_time(frontier: Frontier, clock: FakeClock) -> None:
    lost_together(frontier, clock, "abc")
    (first,) = lease(frontier, clock)
    assert (name_of(first.entry), first.lost) == ("a", 1)
    assert lease(frontier, clock) == []
    (other,) = lease(frontier, clock, owner="two")
    assert name_of(other.entry) == "b"
    assert frontier.ack(first, next_due=clock.now + 5)
    (last,) = lease(frontier, clock)
    assert name_of(last.entry) == "c"
    assert frontier.nack(last, delay=5)
    assert frontier.ack(other, next_due=None)
    clock.advance(5)  # an entry whose worker survived is no longer a suspect, even if it failed
    assert [(name_of(one.entry), one.lost) for one in lease(frontier, clock)] == [("c", 0), ("a", 0)]


def test_a_suspect_is_leased_together_with_others_and_before_those_of_its_host(
    frontier: Frontier, clock: FakeClock
) -> None:
    lost_together(frontier, clock, "ab")
    frontier.add([make_entry(f"new{n}", priority=5.0 - n) for n in range(3)])
    frontier.add([make_entry("elsewhere", host="b.example")])
    assert sorted(names(lease(frontier, clock, 9))) == ["a", "elsewhere", "new0", "new1", "new2"]
    assert lease(frontier, clock, 9) == []


def test_of_suspects_on_many_hosts_the_one_whose_turn_came_first_is_leased(
    frontier: Frontier, clock: FakeClock
) -> None:
    for host in ("z", "y", "x"):
        frontier.set_politeness(host, delay=0, concurrency=2)
        frontier.add([make_entry(host, host=host)])
    assert len(lease(frontier, clock, owner="dead")) == 3
    frontier.release("dead", lost=True)
    for rest, host in enumerate(("z", "y", "x"), start=1):
        frontier.back_off(host, rest)
    clock.advance(3)
    (one,) = lease(frontier, clock, accept=lambda host: host != "z")
    assert name_of(one.entry) == "y"
    assert lease(frontier, clock, accept=lambda host: host == "x") == []
    assert frontier.ack(one, next_due=None)
    assert names(lease(frontier, clock)) == ["z"]


def test_a_suspect_that_cannot_be_leased_yet_does_not_block_other_entries(
    frontier: Frontier, clock: FakeClock
) -> None:
    start = clock.now
    frontier.add([make_entry("later", host="a", due=start + 5), make_entry("rests", host="b", due=start)])
    frontier.add([make_entry("free", host="c", due=start)])
    clock.advance(5)
    assert len(lease(frontier, clock, owner="dead")) == 3
    frontier.release("dead", lost=True)
    clock.advance(1)
    frontier.back_off("b", 100)
    assert frontier.outlook(horizon=clock.now).pending == 3
    assert names(lease(frontier, clock, horizon=start)) == ["free"]


def test_only_entries_that_kill_workers_are_set_aside(frontier: Frontier, clock: FakeClock) -> None:
    """One page in sixty kills its worker, which has up to 16 pages in flight. A new worker is started."""
    frontier.set_politeness("a.example", delay=0, concurrency=16)
    frontier.add([make_entry(str(n)) for n in range(60)])
    done = []
    for turn in range(100):
        owner, alive = f"worker {turn}", True
        flying: list[Lease] = []
        while alive:
            flying += lease(frontier, clock, 16 - len(flying), owner=owner, alone=not flying)
            if not flying:
                break
            alive = "7" not in names(flying)
            if alive:
                one = flying.pop(0)
                assert frontier.ack(one, next_due=None)
                done.append(name_of(one.entry))
        if alive:
            break
        frontier.release(owner, lost=True)
    assert turn == MAX_LOST
    assert sorted(done, key=int) == [str(n) for n in range(60) if n != 7]
    assert [name_of(entry) for entry in frontier.aside(9)] == ["7"]


def test_the_suspect_with_fewer_lost_leases_is_leased_first(frontier: Frontier, clock: FakeClock) -> None:
    frontier.add([make_entry("a", priority=9), make_entry("b", priority=1)])
    frontier.set_politeness("a.example", delay=0, concurrency=9)
    assert names(lease(frontier, clock)) == ["a", "b"]
    clock.advance(TTL)
    assert names(lease(frontier, clock, 1)) == ["a"]
    clock.advance(TTL)
    assert names(lease(frontier, clock)) == ["b"]


def test_only_losses_in_a_row_count(frontier: Frontier, clock: FakeClock) -> None:
    frontier.add([make_entry("a")])
    for _ in range(2):
        lease(frontier, clock)
        clock.advance(TTL)
    (one,) = lease(frontier, clock)
    frontier.nack(one, delay=0)
    clock.advance(1)
    (one,) = lease(frontier, clock)
    assert (one.lost, one.attempts) == (0, 3)


def test_after_three_losses_as_the_only_suspect_an_entry_is_leased_alone_and_last(
    frontier: Frontier, clock: FakeClock
) -> None:
    frontier.set_politeness("a.example", delay=0, concurrency=9)
    frontier.add([make_entry("a", priority=9), make_entry("b", priority=1)])
    (one,) = lease(frontier, clock, 1)
    for _ in range(ALONE):
        assert name_of(one.entry) == "a"
        frontier.release("one", lost=True)
        (one,) = lease(frontier, clock, 1, alone=True)
    assert (name_of(one.entry), one.lost) == ("b", 0)
    assert lease(frontier, clock) == []
    assert frontier.counts()["pending"] == 1
    assert frontier.outlook(horizon=clock.now).next_at is not None
    assert lease(frontier, clock, alone=True, accept=lambda host: host == "b.example") == []
    (last,) = lease(frontier, clock, alone=True, accept=lambda host: host == "a.example")
    assert (name_of(last.entry), last.lost) == ("a", ALONE)
    assert frontier.ack(last, next_due=clock.now + 1)
    clock.advance(1)
    assert [one.lost for one in lease(frontier, clock)] == [0]


def test_an_entry_whose_lone_lease_is_lost_is_set_aside(frontier: Frontier, clock: FakeClock) -> None:
    frontier.add([make_entry("a")])
    for _ in range(MAX_LOST):
        assert names(lease(frontier, clock, alone=True)) == ["a"]
        clock.advance(TTL)
    assert lease(frontier, clock, alone=True) == []
    assert [name_of(entry) for entry in frontier.aside(9)] == ["a"]
