"""The contract of every frontier (:mod:`newsbot.frontier.base`): adding entries, and marking them as done."""

from __future__ import annotations

from dataclasses import replace

import pytest

from newsbot.frontier.base import FETCH_STEP, Added, Frontier, Known
from newsbot.items import Kind
from tests.contracts.frontier_backends import FakeClock, key_of, make_entry
from tests.contracts.frontier_steps import TTL, fetch, lease, names, state


def test_a_new_entry_is_returned_unchanged(frontier: Frontier, clock: FakeClock) -> None:
    entry = make_entry(
        "a",
        kind=Kind.FEED,
        priority=2.5,
        due=3.0,
        depth=4,
        url="https://a.example/путь?x=1&y=%EF#z",
        data={"source": "a.example", "title": "Заголовок \ud83d «x»", "list": [1, None, {"a": 0.5}]},
    )
    assert frontier.add([entry]) == [Added.NEW]
    assert frontier.entry(entry.fingerprint) == entry
    (got,) = lease(frontier, clock)
    assert got.entry == entry
    assert (got.owner, got.attempts, got.lost, got.deadline) == ("one", 0, 0, clock.now + TTL)


def test_adding_is_idempotent(frontier: Frontier) -> None:
    entries = [make_entry("a"), make_entry("b")]
    assert frontier.add(entries) == [Added.NEW, Added.NEW]
    assert frontier.add(entries) == [Added.KNOWN, Added.KNOWN]
    assert frontier.add([]) == []
    assert frontier.counts() == {"pending": 2, "leased": 0, "done": 0, "aside": 0, "hosts": 1}


def test_add_returns_one_verdict_per_entry_in_order(frontier: Frontier) -> None:
    frontier.add([make_entry("b")])
    verdicts = frontier.add(
        [make_entry("a"), make_entry("b"), make_entry("a"), make_entry("a", priority=1.0), make_entry("c")]
    )
    assert verdicts == [Added.NEW, Added.KNOWN, Added.KNOWN, Added.SOONER, Added.NEW]
    entry = frontier.entry(key_of("a"))
    assert entry is not None
    assert entry.priority == 1.0


@pytest.mark.parametrize("priority", [0.0, 9.0])
def test_a_pending_entry_takes_the_data_with_the_time_of_publication(
    frontier: Frontier, clock: FakeClock, priority: float
) -> None:
    """The URL was first found on a page, then in a feed, then on another page."""
    first = {
        "where": "feed",
        "title": 'The "bridge" \\ ü',
        "published_at": "2026-11-20T12:00:00Z",
        "discovered_at": 9.5,
    }
    frontier.add([make_entry("a", priority=5.0, data={"where": "body", "discovered_at": 2.25})])
    frontier.add([make_entry("b", priority=5.0, data={"title": '"published_at":"no",'})])
    frontier.add(
        [replace(make_entry(name, priority=priority, data=first), url="http://x/?utm=1") for name in "ab"]
    )
    frontier.add([make_entry("a", data={"where": "navigation", "discovered_at": 11.0})])
    for name, found in (("a", 2.25), ("b", None)):
        entry = frontier.entry(key_of(name))
        assert entry is not None
        assert entry.url == make_entry(name).url
        assert entry.data["published_at"] == first["published_at"]
        assert (entry.data["where"], entry.data["title"]) == ("feed", first["title"])
        assert found is None or entry.data["discovered_at"] == found
    assert names(lease(frontier, clock)) == ["a"]


def test_a_pending_entry_takes_the_higher_priority_and_the_earlier_time(
    frontier: Frontier, clock: FakeClock
) -> None:
    later = clock.now + 100
    frontier.add([make_entry("a", priority=5.0, due=later, data={"from": "first"})])
    assert frontier.add([make_entry("a", priority=1.0, due=later + 1)]) == [Added.KNOWN]
    assert frontier.add([make_entry("a", priority=1.0, due=later - 50)]) == [Added.SOONER]
    assert frontier.add([make_entry("a", priority=7.0, due=later)]) == [Added.SOONER]
    entry = frontier.entry(key_of("a"))
    assert entry is not None
    assert (entry.priority, entry.due, entry.data) == (7.0, later - 50, {"from": "first"})
    assert lease(frontier, clock) == []
    clock.advance(50)
    assert names(lease(frontier, clock)) == ["a"]


def test_a_done_entry_stays_done_unless_forced(frontier: Frontier, clock: FakeClock) -> None:
    fetch(frontier, clock, "a")
    again = make_entry("a", host="other.example", priority=9.0, data={"why": "asked"})
    assert frontier.add([again]) == [Added.KNOWN]
    assert state(frontier, "a") == "done"
    assert frontier.add([again], force=True) == [Added.SOONER]
    (got,) = lease(frontier, clock)
    assert got.entry == again
    fetched = frontier.known([key_of("a")])[key_of("a")].last_fetched
    assert fetched is not None
    assert clock.now <= fetched < clock.now + FETCH_STEP


def test_force_obeys_the_due_time(frontier: Frontier, clock: FakeClock) -> None:
    fetch(frontier, clock, "a")
    frontier.add([make_entry("a", due=clock.now + 10)], force=True)
    assert state(frontier, "a") == "pending"
    assert lease(frontier, clock) == []
    clock.advance(10)
    assert names(lease(frontier, clock)) == ["a"]


def test_force_requeues_an_entry_that_was_set_aside_without_its_failures(
    frontier: Frontier, clock: FakeClock
) -> None:
    frontier.add([make_entry("a")])
    (one,) = lease(frontier, clock)
    frontier.nack(one, delay=0, aside=True)
    assert frontier.add([make_entry("a")]) == [Added.KNOWN]
    assert frontier.add([make_entry("a")], force=True) == [Added.SOONER]
    clock.advance(1)
    (again,) = lease(frontier, clock)
    assert (again.attempts, again.lost) == (0, 0)


def test_a_leased_entry_is_never_changed(frontier: Frontier, clock: FakeClock) -> None:
    frontier.add([make_entry("a")])
    (one,) = lease(frontier, clock)
    assert frontier.add([make_entry("a", priority=9.0, data={"x": 1})], force=True) == [Added.KNOWN]
    assert frontier.entry(key_of("a")) == one.entry
    assert frontier.ack(one, next_due=None)


def test_marking_as_done_does_not_count_as_a_fetch(frontier: Frontier, clock: FakeClock) -> None:
    frontier.add([make_entry("queued")])
    frontier.mark_done([make_entry("queued"), make_entry("new", host="b.example")], None)
    frontier.mark_done([], None)
    assert frontier.known([key_of("queued"), key_of("new")]) == {
        key_of("queued"): Known(state="done", last_fetched=None, next_due=None),
        key_of("new"): Known(state="done", last_fetched=None, next_due=None),
    }
    assert lease(frontier, clock) == []
    assert frontier.add([make_entry("new")]) == [Added.KNOWN]


def test_an_entry_that_was_only_marked_as_done_can_be_forced(frontier: Frontier, clock: FakeClock) -> None:
    queued, new = make_entry("queued"), make_entry("new", host="b.example")
    frontier.add([queued])
    frontier.mark_done([queued, new], None)
    for entry in (queued, new):
        assert frontier.add([entry]) == [Added.KNOWN]
        known = frontier.known([entry.fingerprint])[entry.fingerprint]
        assert known == Known(state="done", last_fetched=None, next_due=None)
        assert frontier.add([entry], force=True) == [Added.SOONER]
    got = lease(frontier, clock)
    assert sorted(names(got)) == ["new", "queued"]
    assert [one.last_fetched for one in got] == [None, None]


def test_marking_done_can_set_a_time(frontier: Frontier, clock: FakeClock) -> None:
    frontier.mark_done([make_entry("a")], clock.now + 10)
    assert lease(frontier, clock) == []
    clock.advance(10)
    assert names(lease(frontier, clock)) == ["a"]


def test_marking_done_for_good_and_then_with_a_time_keeps_the_entry(
    frontier: Frontier, clock: FakeClock
) -> None:
    frontier.add([make_entry("a", priority=1.0, data={"why": "asked"})])
    frontier.mark_done([make_entry("a")], None)
    assert frontier.known([key_of("a")])[key_of("a")] == Known(state="done", last_fetched=None, next_due=None)
    assert lease(frontier, clock, horizon=1e12) == []
    frontier.mark_done([make_entry("a")], clock.now)
    assert lease(frontier, clock, 0) == []
    (got,) = lease(frontier, clock)
    assert (got.entry.priority, got.entry.data) == (1.0, {"why": "asked"})


def test_marking_done_leaves_leased_and_fetched_entries_alone(frontier: Frontier, clock: FakeClock) -> None:
    fetch(frontier, clock, "fetched", next_due=clock.now + 5)
    frontier.add([make_entry("leased")])
    (one,) = lease(frontier, clock)
    frontier.mark_done([make_entry("leased"), make_entry("fetched", host="fetched.example")], None)
    assert state(frontier, "leased") == "leased"
    assert frontier.known([key_of("fetched")])[key_of("fetched")].next_due == clock.now + 5
    assert frontier.ack(one, next_due=None)


def test_a_pending_entry_that_was_never_fetched_takes_another_spelling(
    frontier: Frontier, clock: FakeClock
) -> None:
    strange = make_entry("a", host="www.a.example", priority=5.0, data={"referrer": "https://b.example/"})
    own = make_entry("a", priority=1.0, data={"referrer": "https://a.example/"})
    frontier.add([strange])
    assert frontier.add([own]) == [Added.KNOWN]
    assert frontier.add([own], respell=True) == [Added.SOONER]
    stands = frontier.entry(own.fingerprint)
    assert stands is not None
    assert (stands.url, stands.host, stands.data, stands.priority) == (own.url, own.host, own.data, 5.0)
    assert frontier.outlook(horizon=clock.now, accept=lambda host: host == "www.a.example").pending == 0
    (got,) = lease(frontier, clock)
    assert got.entry == stands
    assert frontier.add([strange], respell=True) == [Added.KNOWN]
    assert frontier.ack(got, next_due=clock.now + 1)
    clock.advance(1)
    frontier.outlook(horizon=clock.now)
    frontier.add([strange], respell=True)
    stands = frontier.entry(own.fingerprint)
    assert stands is not None
    assert stands.url == own.url
    assert frontier.counts() == {"pending": 1, "leased": 0, "done": 0, "aside": 0, "hosts": 2}


def test_another_spelling_does_not_reset_the_number_of_lost_leases(
    frontier: Frontier, clock: FakeClock
) -> None:
    frontier.add([make_entry("a", host="www.a.example")])
    lease(frontier, clock)
    clock.advance(TTL)
    frontier.outlook(horizon=clock.now)
    frontier.add([make_entry("a")], respell=True)
    (got,) = lease(frontier, clock)
    assert (got.entry.host, got.lost) == ("a.example", 1)
