"""The contract of every frontier: the figures of :mod:`newsbot.frontier.base`."""

from __future__ import annotations

from newsbot.frontier.base import Frontier, Watch, Worker
from tests.contracts.frontier_backends import FakeClock, make_entry


def figures(frontier: Frontier) -> Watch:
    return frontier.watch()


def test_an_empty_frontier_has_neither_workers_nor_lag(frontier: Frontier, clock: FakeClock) -> None:
    assert figures(frontier) == Watch(clock.now, None, [])
    assert figures(frontier).lag == 0


def test_workers_and_their_leases(frontier: Frontier, clock: FakeClock) -> None:
    frontier.add([make_entry(name, host=f"{name}.example") for name in "abc"])
    frontier.lease("one", 2, horizon=clock.now, ttl=60)
    clock.advance(5)
    frontier.lease("two", 2, horizon=clock.now, ttl=60)
    assert figures(frontier).workers == [
        Worker("one", 2, clock.now + 55),
        Worker("two", 1, clock.now + 60),
    ]
    frontier.release("one")
    assert [worker.owner for worker in figures(frontier).workers] == ["two"]


def test_the_lag_is_that_of_the_entry_that_was_due_first(frontier: Frontier, clock: FakeClock) -> None:
    frontier.add([make_entry("now"), make_entry("soon", due=clock.now + 10)])
    assert figures(frontier).lag == 0
    clock.advance(40)
    assert figures(frontier).lag == 30
    # once it is within the horizon, it waits for its host's turn
    frontier.lease("one", 1, horizon=clock.now, ttl=60)
    clock.advance(5)
    assert figures(frontier).lag == 35


def test_a_done_entry_that_is_due_again_counts_for_the_lag(frontier: Frontier, clock: FakeClock) -> None:
    frontier.add([make_entry("a")])
    (lease,) = frontier.lease("one", 1, horizon=clock.now, ttl=60)
    frontier.ack(lease, next_due=clock.now + 100)
    clock.advance(160)
    assert figures(frontier).lag == 60
