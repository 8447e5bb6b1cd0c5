"""The contract of every frontier (:mod:`newsbot.frontier.base`): leases, and what happens when they end."""

from __future__ import annotations

from newsbot.frontier.base import ASIDE, Frontier
from tests.contracts.frontier_backends import FakeClock, FrontierPlace, key_of, make_entry, name_of
from tests.contracts.frontier_steps import TTL, lease, names, state


def test_a_lease_is_exclusive_until_it_ends(
    frontier: Frontier, frontier_place: FrontierPlace, clock: FakeClock
) -> None:
    other = frontier_place.open(clock)
    frontier.add([make_entry("a")])
    assert len(lease(frontier, clock)) == 1
    clock.advance(TTL - 0.1)
    assert lease(other, clock, owner="two") == []
    clock.advance(0.1)
    (again,) = lease(other, clock, owner="two")
    assert (again.owner, again.attempts, again.lost) == ("two", 1, 1)
    other.close()


def test_a_zombie_changes_nothing(frontier: Frontier, clock: FakeClock) -> None:
    frontier.add([make_entry("a")])
    (zombie,) = lease(frontier, clock)
    clock.advance(TTL)
    (heir,) = lease(frontier, clock, owner="two")
    assert not frontier.ack(zombie, next_due=None)
    assert not frontier.nack(zombie, delay=0)
    assert not frontier.nack(zombie, delay=0, aside=True)
    assert state(frontier, "a") == "leased"
    assert frontier.ack(heir, next_due=5.0)
    assert not frontier.ack(heir, next_due=None)
    assert not frontier.nack(heir, delay=0)
    assert frontier.known([key_of("a")])[key_of("a")].next_due == 5.0


def test_an_entry_that_ends_without_a_fetch_counts_as_never_fetched(
    frontier: Frontier, clock: FakeClock
) -> None:
    frontier.add([make_entry("a")])
    (one,) = lease(frontier, clock)
    assert frontier.ack(one, next_due=None, fetched=False)
    known = frontier.known([key_of("a")])[key_of("a")]
    assert (known.state, known.last_fetched) == ("done", None)
    clock.advance(TTL)
    assert lease(frontier, clock) == []
    frontier.add([make_entry("a")], force=True)
    (again,) = lease(frontier, clock)
    assert again.last_fetched is None
    assert frontier.ack(again, next_due=None)
    assert frontier.known([key_of("a")])[key_of("a")].last_fetched is not None


def test_the_same_owner_is_a_zombie_of_its_own_earlier_lease(frontier: Frontier, clock: FakeClock) -> None:
    frontier.add([make_entry("a")])
    (first,) = lease(frontier, clock)
    clock.advance(TTL)
    (second,) = lease(frontier, clock)
    assert not frontier.ack(first, next_due=None)
    assert frontier.ack(second, next_due=None)


def test_five_lost_leases_in_a_row_put_an_entry_aside(frontier: Frontier, clock: FakeClock) -> None:
    frontier.add([make_entry("a", data={"source": "a.example"})])
    for lost in range(5):
        (one,) = lease(frontier, clock, alone=True)
        assert (one.lost, one.attempts) == (lost, lost)
        clock.advance(TTL)
    assert lease(frontier, clock, alone=True) == []
    assert state(frontier, "a") == "aside"
    entry = frontier.entry(key_of("a"))
    assert entry is not None
    assert entry.data["source"] == "a.example"
    assert "5 leases lost" in entry.data["aside"]


def test_entries_that_were_set_aside_are_listed_newest_first(frontier: Frontier, clock: FakeClock) -> None:
    frontier.set_politeness("a.example", delay=0, concurrency=9)
    frontier.add([make_entry(str(n), depth=n, data={"source": "s"}) for n in range(4)])
    for one in lease(frontier, clock)[:3]:
        assert frontier.nack(one, delay=0, aside=True)
        clock.advance(1)
    listed = frontier.aside(2)
    assert [name_of(entry) for entry in listed] == ["2", "1"]
    assert listed == [frontier.entry(key_of("2")), frontier.entry(key_of("1"))]
    assert listed[0].data == {"source": "s", ASIDE: "given up after attempt 1"}
    assert len(frontier.aside(99)) == 3
    assert frontier.aside(0) == []


def test_an_entry_that_is_no_longer_set_aside_is_not_listed(frontier: Frontier, clock: FakeClock) -> None:
    for name in ("forced", "marked"):
        frontier.add([make_entry(name, host=name)])
        (one,) = lease(frontier, clock)
        frontier.nack(one, delay=0, aside=True)
    frontier.add([make_entry("forced", host="forced")], force=True)
    frontier.mark_done([make_entry("marked", host="marked")], clock.now + 1)
    for name in ("forced", "marked"):
        entry = frontier.entry(key_of(name))
        assert entry is not None
        assert entry.data == {}
    assert frontier.aside(9) == []


def test_a_failed_entry_is_leased_again_after_its_delay_also_at_a_fixed_horizon(
    frontier: Frontier, clock: FakeClock
) -> None:
    start = clock.now
    frontier.add([make_entry("a", due=start)])
    (one,) = lease(frontier, clock, horizon=start)
    assert frontier.nack(one, delay=30)
    assert state(frontier, "a") == "pending"
    clock.advance(29)
    assert lease(frontier, clock, horizon=start) == []
    assert frontier.outlook(horizon=start).next_at == start + 30
    clock.advance(1)
    (again,) = lease(frontier, clock, horizon=start)
    assert (again.attempts, again.lost, again.entry.due) == (1, 0, start)


def test_success_resets_failures(frontier: Frontier, clock: FakeClock) -> None:
    frontier.add([make_entry("a")])
    (one,) = lease(frontier, clock)
    frontier.nack(one, delay=0)
    clock.advance(1)
    (one,) = lease(frontier, clock)
    frontier.ack(one, next_due=clock.now + 1)
    clock.advance(1)
    (one,) = lease(frontier, clock)
    assert (one.attempts, one.lost) == (0, 0)


def test_an_entry_that_was_set_aside_is_kept_with_its_data_and_never_leased(
    frontier: Frontier, clock: FakeClock
) -> None:
    frontier.add([make_entry("a", data={"source": "s"})])
    (one,) = lease(frontier, clock)
    assert frontier.nack(one, delay=0, aside=True)
    clock.advance(1e9)
    assert lease(frontier, clock) == []
    assert frontier.counts()["aside"] == 1
    entry = frontier.entry(key_of("a"))
    assert entry is not None
    assert entry.data == {"source": "s", "aside": "given up after attempt 1"}


def test_a_clean_stop_returns_leases_immediately_and_counts_no_attempt(
    frontier: Frontier, clock: FakeClock
) -> None:
    frontier.add([make_entry("a"), make_entry("b", host="b.example")])
    lease(frontier, clock, 1, owner="one")
    lease(frontier, clock, 1, owner="two")
    assert frontier.owners() == ["one", "two"]
    assert frontier.release("one") == 1
    assert frontier.release("one") == 0
    assert frontier.owners() == ["two"]
    clock.advance(1)
    (one,) = lease(frontier, clock)
    assert (name_of(one.entry), one.attempts, one.lost) == ("a", 0, 0)


def test_a_dead_owner_loses_its_leases_at_once(frontier: Frontier, clock: FakeClock) -> None:
    frontier.add([make_entry("a")])
    for lost in range(5):
        (one,) = lease(frontier, clock, alone=True)
        assert one.lost == lost
        assert frontier.release("one", lost=True) == 1
        assert not frontier.ack(one, next_due=None)
        clock.advance(1)
    assert state(frontier, "a") == "aside"


def test_a_heartbeat_keeps_leases(frontier: Frontier, clock: FakeClock) -> None:
    frontier.add([make_entry("a"), make_entry("b", host="b.example")])
    (mine,) = lease(frontier, clock, 1, owner="one")
    lease(frontier, clock, 1, owner="two")
    for _ in range(5):
        clock.advance(TTL / 2)
        assert frontier.resume("one", [mine], TTL).kept == 1
    assert frontier.resume("nobody", [], TTL).kept == 0
    assert names(lease(frontier, clock)) == ["b"]
    assert frontier.ack(mine, next_due=None)


def test_data_outlive_the_process(frontier_place: FrontierPlace, clock: FakeClock) -> None:
    first = frontier_place.open(clock)
    first.add([make_entry("a"), make_entry("b")])
    first.set_politeness("a.example", delay=5.0, concurrency=1)
    (one,) = lease(first, clock)
    first.close()
    second = frontier_place.open(clock)
    assert second.counts()["leased"] == 1
    assert second.ack(one, next_due=None)
    assert lease(second, clock) == []
    clock.advance(5)
    assert names(lease(second, clock)) == ["b"]
    second.close()


def test_ending_leases_together_equals_ending_them_one_by_one(
    frontier: Frontier, frontier_place: FrontierPlace, clock: FakeClock
) -> None:
    frontier.add([make_entry(name, host=name) for name in "abcd"])
    leases = {name_of(one.entry): one for one in lease(frontier, clock, 4)}
    assert frontier.ack(leases["b"], next_due=None)
    done = [(leases["a"], None), (leases["b"], 5.0), (leases["c"], clock.now + 5), (leases["a"], None)]
    assert frontier.ack_all(done) == [True, False, True, False]
    known = {name: frontier.known([key_of(name)])[key_of(name)] for name in "abcd"}
    assert [one.state for one in known.values()] == ["done"] * 3 + ["leased"]
    assert [one.next_due for one in known.values()] == [None, None, clock.now + 5, None]
    assert all(known[name].last_fetched for name in "abc")
