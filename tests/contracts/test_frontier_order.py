"""The contract of every frontier (:mod:`newsbot.frontier.base`): which entry is leased, and when."""

from __future__ import annotations

import pytest

from newsbot.frontier.base import Frontier, Known
from tests.contracts.frontier_backends import FakeClock, FrontierPlace, key_of, make_entry, name_of
from tests.contracts.frontier_steps import fetch, lease, names


def test_the_best_entry_of_a_host_is_leased_first_and_the_oldest_of_equals(
    frontier: Frontier, clock: FakeClock
) -> None:
    frontier.add(
        [
            make_entry("plain-1"),
            make_entry("plain-2"),
            make_entry("best", priority=5.0),
            make_entry("worst", priority=-1.0),
            make_entry("plain-3"),
        ]
    )
    order = []
    for _ in range(5):
        (one,) = lease(frontier, clock)
        order += names([one])
        frontier.ack(one, next_due=None)
        clock.advance(1)
    assert order == ["best", "plain-1", "plain-2", "plain-3", "worst"]


def test_of_equal_entries_the_one_that_was_due_first_is_leased_first(
    frontier: Frontier, clock: FakeClock
) -> None:
    """Otherwise some feeds of an overloaded host would be polled continuously, and other feeds never."""
    frontier.add([make_entry("late", due=clock.now - 5), make_entry("early", due=clock.now - 9)])
    assert names(lease(frontier, clock)) == ["early"]


def test_the_host_whose_turn_came_first_is_leased_first(
    frontier: Frontier, clock: FakeClock, frontier_place: FrontierPlace
) -> None:
    if frontier_place.backend == "redis, 3 queues":
        pytest.skip("the order of turns is that of each queue")
    for host in ("a", "b", "c"):
        frontier.add([make_entry(f"{host}{n}", host=host) for n in range(3)])
    assert names(lease(frontier, clock, 1)) == ["a0"]
    clock.advance(0.1)
    assert names(lease(frontier, clock, 1)) == ["b0"]
    clock.advance(5)
    for host in ("a", "b", "c"):
        frontier.set_politeness(host, delay=1.0, concurrency=2)
    assert names(lease(frontier, clock, 2)) == ["c0", "a1"]
    assert names(lease(frontier, clock, 2)) == ["b1"]


def test_a_limit_is_kept_and_a_limit_of_zero_leases_no_entry(frontier: Frontier, clock: FakeClock) -> None:
    frontier.add([make_entry(str(n), host=f"h{n}") for n in range(5)])
    assert lease(frontier, clock, 0) == []
    assert len(lease(frontier, clock, 3)) == 3
    assert len(lease(frontier, clock, 3)) == 2
    assert lease(frontier, clock, 3) == []


def test_hosts_that_are_not_accepted_are_skipped(frontier: Frontier, clock: FakeClock) -> None:
    frontier.add([make_entry(f"n{n}", host=f"no{n}") for n in range(50)])
    frontier.add([make_entry("y", host="yes")])
    got = lease(frontier, clock, 10, accept=lambda host: host == "yes")
    assert names(got) == ["y"]
    assert lease(frontier, clock, 10, accept=lambda host: False) == []
    assert frontier.counts()["pending"] == 50


def test_no_entry_is_leased_before_it_is_due(frontier: Frontier, clock: FakeClock) -> None:
    frontier.add([make_entry("a", due=clock.now + 10)])
    assert lease(frontier, clock) == []
    assert names(lease(frontier, clock, horizon=clock.now + 10)) == ["a"]


def test_a_horizon_in_the_past_hides_entries_that_became_due_later(
    frontier: Frontier, clock: FakeClock
) -> None:
    """A crawl that runs once fetches the pages that were due at its start, regardless of other workers."""
    start = clock.now
    frontier.add([make_entry("old", due=start), make_entry("new", host="b.example", due=start + 5)])
    clock.advance(10)
    assert names(lease(frontier, clock, owner="far", accept=lambda host: host == "a.example")) == ["old"]
    assert lease(frontier, clock, horizon=start) == []
    assert frontier.outlook(horizon=start).next_at is None
    assert frontier.outlook(horizon=start).pending == 0
    assert names(lease(frontier, clock)) == ["new"]


def test_a_done_entry_becomes_due_again(frontier: Frontier, clock: FakeClock) -> None:
    fetch(frontier, clock, "a", next_due=clock.now + 100)
    fetched = clock.now
    assert frontier.known([key_of("a")])[key_of("a")] == Known(
        state="done", last_fetched=fetched, next_due=fetched + 100
    )
    clock.advance(99)
    assert lease(frontier, clock) == []
    clock.advance(1)
    (one,) = lease(frontier, clock)
    assert name_of(one.entry) == "a"
    assert one.entry.due == fetched + 100
    assert frontier.ack(one, next_due=None)
    clock.advance(1e9)
    assert lease(frontier, clock) == []


def test_all_of_many_entries_that_become_due_at_once_are_leased(frontier: Frontier, clock: FakeClock) -> None:
    many = 1000
    frontier.mark_done([make_entry(str(n), host=f"h{n}") for n in range(many)], clock.now + 1)
    clock.advance(1)
    got: list[str] = []
    rounds = 0
    while frontier.outlook(horizon=clock.now).next_at is not None:
        got += names(lease(frontier, clock, many))
        rounds += 1
    assert len(got) == len(set(got)) == many
    assert rounds <= 10
