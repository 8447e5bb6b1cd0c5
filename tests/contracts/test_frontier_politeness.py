"""The contract of every frontier (:mod:`newsbot.frontier.base`): one politeness clock per host."""

from __future__ import annotations

import pytest

from newsbot.frontier.base import Frontier
from tests.contracts.frontier_backends import FakeClock, make_entry
from tests.contracts.frontier_steps import TTL, lease, names


def test_one_turn_of_a_host_gives_one_entry(frontier: Frontier, clock: FakeClock) -> None:
    frontier.set_politeness("a.example", delay=2.0, concurrency=5)
    frontier.add([make_entry(str(n)) for n in range(5)])
    assert len(lease(frontier, clock)) == 1
    clock.advance(1.9)
    assert lease(frontier, clock) == []
    clock.advance(0.1)
    assert len(lease(frontier, clock)) == 1


def test_unknown_hosts_get_one_request_per_second_one_at_a_time(frontier: Frontier, clock: FakeClock) -> None:
    frontier.add([make_entry(str(n)) for n in range(3)])
    (one,) = lease(frontier, clock)
    clock.advance(0.9)
    frontier.ack(one, next_due=None)
    assert lease(frontier, clock) == []
    clock.advance(0.1)
    assert len(lease(frontier, clock)) == 1
    clock.advance(10)
    assert lease(frontier, clock) == []


def test_a_host_never_has_more_leases_than_its_concurrency(frontier: Frontier, clock: FakeClock) -> None:
    frontier.set_politeness("a.example", delay=1.0, concurrency=2)
    frontier.add([make_entry(str(n)) for n in range(5)])
    held = []
    for _ in range(5):
        held += lease(frontier, clock)
        clock.advance(1)
    assert len(held) == 2
    assert frontier.ack(held[0], next_due=None)
    assert len(lease(frontier, clock)) == 1
    frontier.set_politeness("a.example", delay=1.0, concurrency=1)
    frontier.ack(held[1], next_due=None)
    clock.advance(1)
    assert lease(frontier, clock) == []


def test_a_host_without_delay_gives_as_many_as_its_concurrency(frontier: Frontier, clock: FakeClock) -> None:
    for host in ("a", "b"):
        frontier.set_politeness(host, delay=0, concurrency=3)
        frontier.add([make_entry(f"{host}{n}", host=host, priority=-float(n)) for n in range(5)])
    assert names(lease(frontier, clock, 4)) == ["a0", "b0", "a1", "b1"]
    assert sorted(names(lease(frontier, clock, 9))) == ["a2", "b2"]
    assert lease(frontier, clock) == []


def test_a_resting_host_is_not_leased_and_its_rest_is_never_shortened(
    frontier: Frontier, clock: FakeClock
) -> None:
    frontier.back_off("a.example", 30)
    frontier.add([make_entry("a")])
    frontier.back_off("a.example", 5)
    clock.advance(29)
    assert lease(frontier, clock) == []
    assert frontier.outlook(horizon=clock.now).next_at == clock.now + 1
    clock.advance(1)
    assert names(lease(frontier, clock)) == ["a"]


def test_a_turn_taken_outside_the_queue_is_not_given_to_a_lease(frontier: Frontier, clock: FakeClock) -> None:
    frontier.set_politeness("a.example", delay=10.0, concurrency=9)
    frontier.add([make_entry(str(n)) for n in range(3)])
    assert len(lease(frontier, clock)) == 1
    assert frontier.take_turn("a.example") == pytest.approx(10)
    assert frontier.take_turn("a.example") == pytest.approx(20)
    clock.advance(29.9)
    assert lease(frontier, clock) == []
    clock.advance(0.2)
    assert len(lease(frontier, clock)) == 1
    assert frontier.counts()["leased"] == 2


def test_taking_a_turn_of_a_resting_or_unknown_host(frontier: Frontier, clock: FakeClock) -> None:
    frontier.back_off("a.example", 30)
    assert frontier.take_turn("a.example") == pytest.approx(30)
    assert frontier.take_turn("new.example") == 0
    assert frontier.take_turn("new.example") == pytest.approx(1)
    clock.advance(5)
    assert frontier.take_turn("new.example") == 0


def test_a_longer_delay_counts_from_the_last_turn(frontier: Frontier, clock: FakeClock) -> None:
    frontier.set_politeness("a.example", delay=1.0, concurrency=9)
    frontier.add([make_entry(str(n)) for n in range(3)])
    lease(frontier, clock)
    frontier.set_politeness("a.example", delay=10.0, concurrency=9)
    clock.advance(9)
    assert lease(frontier, clock) == []
    clock.advance(1)
    assert len(lease(frontier, clock)) == 1


def test_a_shorter_delay_counts_from_the_last_turn_and_does_not_end_a_rest(
    frontier: Frontier, clock: FakeClock
) -> None:
    frontier.set_politeness("a.example", delay=60.0, concurrency=9)
    frontier.add([make_entry(str(n)) for n in range(3)])
    lease(frontier, clock)
    clock.advance(1)
    frontier.set_politeness("a.example", delay=2.0, concurrency=9)
    assert lease(frontier, clock) == []
    clock.advance(1)
    assert len(lease(frontier, clock)) == 1
    frontier.back_off("a.example", 30)
    frontier.set_politeness("a.example", delay=0.5, concurrency=9)
    clock.advance(29)
    assert lease(frontier, clock) == []


@pytest.mark.parametrize(("delay", "concurrency"), [(-1.0, 1), (float("nan"), 1), (1.0, 0)])
def test_impossible_politeness_is_refused(frontier: Frontier, delay: float, concurrency: int) -> None:
    with pytest.raises(ValueError, match=r"a\.example"):
        frontier.set_politeness("a.example", delay=delay, concurrency=concurrency)


def test_a_missed_turn_can_be_taken_now_unless_a_later_one_was_given(
    frontier: Frontier, clock: FakeClock
) -> None:
    frontier.set_politeness("a.example", delay=10, concurrency=2)
    frontier.add([make_entry("a"), make_entry("b")])
    (one,) = lease(frontier, clock)
    turn = one.deadline - TTL
    clock.advance(4)
    assert frontier.take_turn("a.example", missed=turn) == 0
    clock.advance(9)
    assert lease(frontier, clock) == []  # the next turn is ten seconds after the one that was used
    clock.advance(1)
    assert len(lease(frontier, clock)) == 1
    assert frontier.take_turn("a.example", missed=turn) == 10
    frontier.back_off("a.example", 100)
    assert frontier.take_turn("a.example", missed=clock.now + 10) == 100


def test_an_unused_turn_can_be_returned(frontier: Frontier, clock: FakeClock) -> None:
    frontier.set_politeness("a.example", delay=60.0, concurrency=1)
    frontier.add([make_entry(str(n)) for n in range(3)])
    for _ in range(2):
        (one,) = lease(frontier, clock)
        assert frontier.ack(one, next_due=None)
        assert lease(frontier, clock) == []
        frontier.return_turn("a.example", one.turn)
        clock.advance(0.01)
    (one,) = lease(frontier, clock)
    frontier.nack(one, delay=0.0)
    clock.advance(59)
    assert lease(frontier, clock) == [], "the turn was used"


def test_a_turn_is_not_returned_if_a_later_one_was_taken(frontier: Frontier, clock: FakeClock) -> None:
    """Otherwise the next lease would come too soon after the request with the later turn."""
    frontier.set_politeness("a.example", delay=10.0, concurrency=2)
    frontier.add([make_entry("1"), make_entry("2")])
    (one,) = lease(frontier, clock)
    assert frontier.take_turn("a.example") == pytest.approx(10)
    frontier.ack(one, next_due=None)
    frontier.return_turn("a.example", one.turn)
    clock.advance(19)
    assert lease(frontier, clock) == []
    clock.advance(1)
    assert len(lease(frontier, clock)) == 1


def test_a_returned_turn_does_not_end_a_rest(frontier: Frontier, clock: FakeClock) -> None:
    frontier.set_politeness("a.example", delay=1.0, concurrency=1)
    frontier.add([make_entry("1"), make_entry("2")])
    (one,) = lease(frontier, clock)
    frontier.back_off("a.example", 30)
    frontier.ack(one, next_due=None)
    frontier.return_turn("a.example", one.turn)
    clock.advance(29)
    assert lease(frontier, clock) == []
    frontier.return_turn("never.heard.example", one.turn)
