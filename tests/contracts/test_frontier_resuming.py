"""The contract of every frontier (:mod:`newsbot.frontier.base`): leases are resumed after an outage."""

from __future__ import annotations

from newsbot.frontier.base import Frontier
from tests.contracts.frontier_backends import FakeClock, key_of, make_entry
from tests.contracts.frontier_steps import TTL, lease, state


def test_leases_that_expired_in_an_outage_are_resumed_without_counting_a_loss(
    frontier: Frontier, clock: FakeClock
) -> None:
    frontier.add([make_entry("a"), make_entry("b", host="b.example")])
    mine = lease(frontier, clock, 2)
    for _ in range(4):
        clock.advance(TTL + 1)
        assert lease(frontier, clock, 1, owner="other", accept=lambda _: False) == []  # expired leases end
        assert state(frontier, "a") == "pending"
        assert frontier.resume("one", mine, TTL).kept == 2
        assert lease(frontier, clock, owner="other") == []
        assert frontier.owners() == ["one"]
    assert not frontier.resume("one", mine, TTL).emptied
    assert frontier.counts()["leased"] == 2
    frontier.nack(mine[0], delay=0)
    assert frontier.ack(mine[1], next_due=None)
    clock.advance(1)
    (again,) = lease(frontier, clock)
    assert (again.lost, again.attempts) == (0, 1)


def test_leases_that_did_not_end_are_renewed(frontier: Frontier, clock: FakeClock) -> None:
    frontier.add([make_entry("a")])
    mine = lease(frontier, clock)
    clock.advance(TTL - 1)
    assert frontier.resume("one", mine, TTL).kept == 1
    clock.advance(TTL - 1)
    assert lease(frontier, clock, owner="other") == []


def test_an_entry_that_another_worker_leased_meanwhile_stays_there_without_a_counted_loss(
    frontier: Frontier, clock: FakeClock
) -> None:
    frontier.add([make_entry("a")])
    mine = lease(frontier, clock)
    clock.advance(TTL + 1)
    (theirs,) = lease(frontier, clock, owner="other")
    assert theirs.lost == 1
    assert frontier.resume("one", mine, TTL).kept == 0
    assert not frontier.ack(mine[0], next_due=None)
    clock.advance(TTL + 1)
    (again,) = lease(frontier, clock, owner="third")
    assert (again.lost, again.attempts) == (1, 1)
    assert not frontier.ack(theirs, next_due=None)


def test_entries_that_were_set_aside_in_an_outage_are_queued_again(
    frontier: Frontier, clock: FakeClock
) -> None:
    frontier.add([make_entry("a", data={"source": "a.example"})])
    for _ in range(4):
        lease(frontier, clock, alone=True)
        clock.advance(TTL + 1)
    mine = lease(frontier, clock, alone=True)
    clock.advance(TTL + 1)
    assert lease(frontier, clock, alone=True) == []
    assert state(frontier, "a") == "aside"
    assert frontier.resume("one", mine, TTL).kept == 1
    assert state(frontier, "a") == "leased"
    assert frontier.ack(mine[0], next_due=clock.now + 5)
    entry = frontier.entry(key_of("a"))
    assert entry is not None
    assert entry.data == {"source": "a.example"}


def test_an_entry_that_was_done_meanwhile_stays_done(frontier: Frontier, clock: FakeClock) -> None:
    frontier.add([make_entry("a")])
    mine = lease(frontier, clock)
    clock.advance(TTL + 1)
    (theirs,) = lease(frontier, clock, owner="other")
    frontier.ack(theirs, next_due=None)
    assert frontier.resume("one", [*mine, *mine], TTL).kept == 0
    assert frontier.resume("one", [], TTL).kept == 0
    assert state(frontier, "a") == "done"


def test_an_entry_that_caused_no_fault_is_requeued_without_an_attempt(
    frontier: Frontier, clock: FakeClock
) -> None:
    frontier.add([make_entry("a")])
    lease(frontier, clock)
    clock.advance(TTL)
    (mine,) = lease(frontier, clock)
    assert frontier.nack(mine, delay=0, counted=False)
    assert not frontier.nack(mine, delay=0, counted=False)
    clock.advance(1)
    (again,) = lease(frontier, clock)
    assert (again.lost, again.attempts) == (1, 1)


def test_leases_that_the_owner_does_not_have_are_returned(frontier: Frontier, clock: FakeClock) -> None:
    """The owner never got the answer of the second call."""
    frontier.add([make_entry("a"), make_entry("b", host="b.example"), make_entry("c", host="c.example")])
    mine = lease(frontier, clock, 1)
    (lost,) = lease(frontier, clock, 1)
    (theirs,) = lease(frontier, clock, 1, owner="other")
    assert frontier.resume("one", mine, TTL).kept == 1
    assert not frontier.ack(lost, next_due=None)
    clock.advance(1)
    (again,) = lease(frontier, clock, owner="third")
    assert (again.entry, again.lost, again.attempts) == (lost.entry, 0, 0)
    assert frontier.ack(mine[0], next_due=None)
    assert frontier.ack(theirs, next_due=None)


def test_a_lease_that_the_frontier_lost_is_given_to_its_owner_again(
    frontier: Frontier, clock: FakeClock
) -> None:
    """After a failover the entry is pending again, although its lease was never lost."""
    frontier.add([make_entry("a")])
    mine = lease(frontier, clock)
    frontier.release("one")
    assert frontier.resume("one", mine, TTL).kept == 1
    assert lease(frontier, clock, owner="other") == []
    assert frontier.ack(mine[0], next_due=None)
