"""What every frontier keeps to: :mod:`newsbot.frontier.base`, sentence by sentence."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from newsbot.frontier.base import ASIDE, FETCH_STEP, Added, Entry, Frontier, Known, Lease
from newsbot.items import Kind
from tests.contracts.frontier_backends import FakeClock, FrontierPlace, key_of, make_entry, name_of

TTL = 60.0


def lease(
    frontier: Frontier,
    clock: FakeClock,
    limit: int = 10,
    *,
    owner: str = "one",
    horizon: float | None = None,
    accept: Callable[[str], bool] | None = None,
) -> list[Lease]:
    return frontier.lease(
        owner, limit, horizon=clock.now if horizon is None else horizon, ttl=TTL, accept=accept
    )


def names(leases: list[Lease]) -> list[str]:
    return [name_of(one.entry) for one in leases]


def state(frontier: Frontier, name: str) -> str:
    return frontier.known([key_of(name)])[key_of(name)].state


def fetch(frontier: Frontier, clock: FakeClock, name: str, *, next_due: float | None = None) -> None:
    """Bring an entry to the state done."""
    frontier.add([make_entry(name, host=f"{name}.example")])
    (one,) = [one for one in lease(frontier, clock, 100) if name_of(one.entry) == name]
    assert frontier.ack(one, next_due=next_due)


# --- putting in


def test_a_new_entry_comes_back_whole(frontier: Frontier, clock: FakeClock) -> None:
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


def test_one_verdict_an_entry_in_order_also_within_a_batch(frontier: Frontier) -> None:
    frontier.add([make_entry("b")])
    verdicts = frontier.add(
        [make_entry("a"), make_entry("b"), make_entry("a"), make_entry("a", priority=1.0), make_entry("c")]
    )
    assert verdicts == [Added.NEW, Added.KNOWN, Added.KNOWN, Added.SOONER, Added.NEW]
    entry = frontier.entry(key_of("a"))
    assert entry is not None
    assert entry.priority == 1.0


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


def test_force_brings_back_what_was_set_aside_with_a_clean_slate(
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


def test_marking_done_costs_no_fetch(frontier: Frontier, clock: FakeClock) -> None:
    frontier.add([make_entry("queued")])
    frontier.mark_done([make_entry("queued"), make_entry("new", host="b.example")], None)
    frontier.mark_done([], None)
    assert frontier.known([key_of("queued"), key_of("new")]) == {
        key_of("queued"): Known(state="done", last_fetched=None, next_due=None),
        key_of("new"): Known(state="done", last_fetched=None, next_due=None),
    }
    assert lease(frontier, clock) == []
    assert frontier.add([make_entry("new")]) == [Added.KNOWN]


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


# --- handing out: which


def test_the_best_of_a_host_goes_first_and_the_oldest_among_equals(
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


def test_what_is_due_longest_goes_first_among_equals(frontier: Frontier, clock: FakeClock) -> None:
    """Else a host that cannot keep up would poll some of its feeds for ever and others never."""
    frontier.add([make_entry("late", due=clock.now - 5), make_entry("early", due=clock.now - 9)])
    assert names(lease(frontier, clock)) == ["early"]


def test_hosts_whose_turn_came_first_go_first(frontier: Frontier, clock: FakeClock) -> None:
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


def test_a_limit_is_kept_and_zero_gives_nothing(frontier: Frontier, clock: FakeClock) -> None:
    frontier.add([make_entry(str(n), host=f"h{n}") for n in range(5)])
    assert lease(frontier, clock, 0) == []
    assert len(lease(frontier, clock, 3)) == 3
    assert len(lease(frontier, clock, 3)) == 2
    assert lease(frontier, clock, 3) == []


def test_hosts_that_are_refused_are_passed_over(frontier: Frontier, clock: FakeClock) -> None:
    frontier.add([make_entry(f"n{n}", host=f"no{n}") for n in range(50)])
    frontier.add([make_entry("y", host="yes")])
    got = lease(frontier, clock, 10, accept=lambda host: host == "yes")
    assert names(got) == ["y"]
    assert lease(frontier, clock, 10, accept=lambda host: False) == []
    assert frontier.counts()["pending"] == 50


# --- handing out: when


def test_nothing_is_handed_out_before_its_time(frontier: Frontier, clock: FakeClock) -> None:
    frontier.add([make_entry("a", due=clock.now + 10)])
    assert lease(frontier, clock) == []
    assert names(lease(frontier, clock, horizon=clock.now + 10)) == ["a"]


def test_a_horizon_in_the_past_hides_what_was_due_since(frontier: Frontier, clock: FakeClock) -> None:
    """A crawl that runs once does what was due at its start, whatever other workers see."""
    start = clock.now
    frontier.add([make_entry("old", due=start), make_entry("new", host="b.example", due=start + 5)])
    clock.advance(10)
    assert names(lease(frontier, clock, owner="far", accept=lambda host: host == "a.example")) == ["old"]
    assert lease(frontier, clock, horizon=start) == []
    assert frontier.outlook(horizon=start).next_at is None
    assert frontier.outlook(horizon=start).pending == 0
    assert names(lease(frontier, clock)) == ["new"]


def test_a_done_entry_falls_due_by_itself(frontier: Frontier, clock: FakeClock) -> None:
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


def test_many_that_fall_due_at_once_all_come(frontier: Frontier, clock: FakeClock) -> None:
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


# --- politeness


def test_one_turn_of_a_host_gives_one_entry(frontier: Frontier, clock: FakeClock) -> None:
    frontier.set_politeness("a.example", delay=2.0, concurrency=5)
    frontier.add([make_entry(str(n)) for n in range(5)])
    assert len(lease(frontier, clock)) == 1
    clock.advance(1.9)
    assert lease(frontier, clock) == []
    clock.advance(0.1)
    assert len(lease(frontier, clock)) == 1


def test_unknown_hosts_are_asked_once_a_second_one_at_a_time(frontier: Frontier, clock: FakeClock) -> None:
    frontier.add([make_entry(str(n)) for n in range(3)])
    (one,) = lease(frontier, clock)
    clock.advance(0.9)
    frontier.ack(one, next_due=None)
    assert lease(frontier, clock) == []
    clock.advance(0.1)
    assert len(lease(frontier, clock)) == 1
    clock.advance(10)
    assert lease(frontier, clock) == []


def test_a_host_never_has_more_leases_out_than_its_concurrency(frontier: Frontier, clock: FakeClock) -> None:
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


def test_a_host_at_rest_gives_nothing_and_its_rest_is_never_shortened(
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


def test_a_turn_taken_beside_the_queue_is_nobody_elses(frontier: Frontier, clock: FakeClock) -> None:
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


def test_a_turn_of_a_host_at_rest_or_unknown(frontier: Frontier, clock: FakeClock) -> None:
    frontier.back_off("a.example", 30)
    assert frontier.take_turn("a.example") == pytest.approx(30)
    assert frontier.take_turn("new.example") == 0
    assert frontier.take_turn("new.example") == pytest.approx(1)
    clock.advance(5)
    assert frontier.take_turn("new.example") == 0


def test_a_longer_delay_holds_from_the_last_turn_on(frontier: Frontier, clock: FakeClock) -> None:
    frontier.set_politeness("a.example", delay=1.0, concurrency=9)
    frontier.add([make_entry(str(n)) for n in range(3)])
    lease(frontier, clock)
    frontier.set_politeness("a.example", delay=10.0, concurrency=9)
    clock.advance(9)
    assert lease(frontier, clock) == []
    clock.advance(1)
    assert len(lease(frontier, clock)) == 1


@pytest.mark.parametrize(("delay", "concurrency"), [(-1.0, 1), (float("nan"), 1), (1.0, 0)])
def test_impossible_politeness_is_refused(frontier: Frontier, delay: float, concurrency: int) -> None:
    with pytest.raises(ValueError, match=r"a\.example"):
        frontier.set_politeness("a.example", delay=delay, concurrency=concurrency)


# --- leases


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


def test_the_same_owner_is_a_zombie_of_its_own_earlier_lease(frontier: Frontier, clock: FakeClock) -> None:
    frontier.add([make_entry("a")])
    (first,) = lease(frontier, clock)
    clock.advance(TTL)
    (second,) = lease(frontier, clock)
    assert not frontier.ack(first, next_due=None)
    assert frontier.ack(second, next_due=None)


def test_three_lost_leases_in_a_row_put_an_entry_aside(frontier: Frontier, clock: FakeClock) -> None:
    frontier.add([make_entry("a", data={"source": "a.example"})])
    for lost in range(3):
        (one,) = lease(frontier, clock)
        assert (one.lost, one.attempts) == (lost, lost)
        clock.advance(TTL)
    assert lease(frontier, clock) == []
    assert state(frontier, "a") == "aside"
    entry = frontier.entry(key_of("a"))
    assert entry is not None
    assert entry.data["source"] == "a.example"
    assert "3 leases lost" in entry.data["aside"]


def test_what_was_set_aside_is_listed_the_newest_first(frontier: Frontier, clock: FakeClock) -> None:
    frontier.set_politeness("a.example", delay=0, concurrency=9)
    frontier.add([make_entry(str(n), depth=n, data={"source": "s"}) for n in range(4)])
    for one in lease(frontier, clock)[:3]:
        assert frontier.nack(one, delay=0, aside=True)
        clock.advance(1)
    listed = frontier.aside(2)
    assert [name_of(entry) for entry in listed] == ["2", "1"]
    assert listed == [frontier.entry(key_of("2")), frontier.entry(key_of("1"))]
    assert listed[0].data == {"source": "s", ASIDE: "given up after 1 attempts"}
    assert len(frontier.aside(99)) == 3
    assert frontier.aside(0) == []


def test_what_is_no_longer_aside_does_not_say_that_it_is(frontier: Frontier, clock: FakeClock) -> None:
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


# --- suspects: what lost a lease goes out one at a time


def lost_together(frontier: Frontier, clock: FakeClock, names_: str, host: str = "a.example") -> None:
    """Let a worker die that has these entries in flight."""
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
    clock.advance(5)  # what was worked on without harm is suspect no more, also if the work failed
    assert [(name_of(one.entry), one.lost) for one in lease(frontier, clock)] == [("c", 0), ("a", 0)]


def test_a_suspect_goes_with_others_and_before_those_of_its_host(
    frontier: Frontier, clock: FakeClock
) -> None:
    lost_together(frontier, clock, "ab")
    frontier.add([make_entry(f"new{n}", priority=5.0 - n) for n in range(3)])
    frontier.add([make_entry("elsewhere", host="b.example")])
    assert sorted(names(lease(frontier, clock, 9))) == ["a", "elsewhere", "new0", "new1", "new2"]
    assert lease(frontier, clock, 9) == []


def test_of_suspects_on_many_hosts_the_one_whose_turn_came_first_is_handed_out(
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


def test_a_suspect_of_a_full_host_or_for_later_does_not_stand_in_the_way(
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


def test_only_what_kills_is_set_aside(frontier: Frontier, clock: FakeClock) -> None:
    """One of sixty kills its worker, with up to 16 in flight each time; worker after worker is started."""
    frontier.set_politeness("a.example", delay=0, concurrency=16)
    frontier.add([make_entry(str(n)) for n in range(60)])
    done = []
    for turn in range(100):
        owner, alive = f"worker {turn}", True
        flying: list[Lease] = []
        while alive:
            flying += lease(frontier, clock, 16 - len(flying), owner=owner)
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
    assert turn == 3
    assert sorted(done, key=int) == [str(n) for n in range(60) if n != 7]
    assert [name_of(entry) for entry in frontier.aside(9)] == ["7"]


def test_of_suspects_the_one_that_lost_fewer_leases_goes_first(frontier: Frontier, clock: FakeClock) -> None:
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


def test_a_failed_entry_comes_again_after_its_delay_also_at_a_fixed_horizon(
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


def test_success_forgets_failures(frontier: Frontier, clock: FakeClock) -> None:
    frontier.add([make_entry("a")])
    (one,) = lease(frontier, clock)
    frontier.nack(one, delay=0)
    clock.advance(1)
    (one,) = lease(frontier, clock)
    frontier.ack(one, next_due=clock.now + 1)
    clock.advance(1)
    (one,) = lease(frontier, clock)
    assert (one.attempts, one.lost) == (0, 0)


def test_what_is_set_aside_is_kept_with_its_story_and_never_handed_out(
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
    assert entry.data == {"source": "s", "aside": "given up after 1 attempts"}


def test_a_clean_stop_hands_back_at_once_and_counts_no_attempt(frontier: Frontier, clock: FakeClock) -> None:
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
    for lost in range(3):
        (one,) = lease(frontier, clock)
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
        assert frontier.extend("one", TTL) == 1
    assert frontier.extend("nobody", TTL) == 0
    assert names(lease(frontier, clock)) == ["b"]
    assert frontier.ack(mine, next_due=None)


# --- after an outage


def test_leases_that_nobody_could_renew_are_taken_up_again_and_their_loss_is_not_counted(
    frontier: Frontier, clock: FakeClock
) -> None:
    frontier.add([make_entry("a"), make_entry("b", host="b.example")])
    mine = lease(frontier, clock, 2)
    for _ in range(4):
        clock.advance(TTL + 1)
        assert lease(frontier, clock, 1, owner="other", accept=lambda _: False) == []  # takes them back
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


def test_what_another_has_meanwhile_stays_with_it_but_the_loss_is_not_counted(
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


def test_what_was_set_aside_in_an_outage_comes_back(frontier: Frontier, clock: FakeClock) -> None:
    frontier.add([make_entry("a", data={"source": "a.example"})])
    for _ in range(2):
        lease(frontier, clock)
        clock.advance(TTL + 1)
    mine = lease(frontier, clock)
    clock.advance(TTL + 1)
    assert lease(frontier, clock) == []
    assert state(frontier, "a") == "aside"
    assert frontier.resume("one", mine, TTL).kept == 1
    assert state(frontier, "a") == "leased"
    assert frontier.ack(mine[0], next_due=clock.now + 5)
    entry = frontier.entry(key_of("a"))
    assert entry is not None
    assert entry.data == {"source": "a.example"}


def test_what_was_done_meanwhile_stays_done(frontier: Frontier, clock: FakeClock) -> None:
    frontier.add([make_entry("a")])
    mine = lease(frontier, clock)
    clock.advance(TTL + 1)
    (theirs,) = lease(frontier, clock, owner="other")
    frontier.ack(theirs, next_due=None)
    assert frontier.resume("one", [*mine, *mine], TTL).kept == 0
    assert frontier.resume("one", [], TTL).kept == 0
    assert state(frontier, "a") == "done"


def test_an_entry_that_is_not_to_blame_is_put_back_without_an_attempt(
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


# --- looking


def test_unknown_is_unknown(frontier: Frontier) -> None:
    assert frontier.known([key_of("a")]) == {}
    assert frontier.known([]) == {}
    assert frontier.entry(key_of("a")) is None
    assert frontier.counts() == {"pending": 0, "leased": 0, "done": 0, "aside": 0, "hosts": 0}
    assert frontier.owners() == []


def test_many_are_looked_up_at_once(frontier: Frontier) -> None:
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
    lease(frontier, clock)
    assert frontier.outlook(horizon=clock.now).next_at == clock.now + TTL
    clock.advance(5)
    frontier.extend("one", TTL)
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


def test_a_scheduler_that_sleeps_as_told_neither_stalls_nor_spins(
    frontier: Frontier, clock: FakeClock
) -> None:
    """Fixed horizon, failures, full hosts, hosts at rest: each waking gives work, and all work is done."""
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
        assert got, f"woken for nothing at {clock.now - start}"
        wakings += 1
        for one in got:
            name = name_of(one.entry)
            if name.endswith("2") and name not in failed:
                failed.add(name)
                frontier.nack(one, delay=7)
            elif not name.endswith("4") or one.lost:  # the first worker of each fourth dies
                frontier.ack(one, next_due=clock.now + 1)
                done.append(name)
        if frontier.outlook(horizon=start).next_at is None and frontier.counts()["leased"]:
            clock.advance(TTL)
    assert sorted(done) == sorted(name_of(entry) for entry in todo)
    assert wakings <= 2 * len(todo)


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
