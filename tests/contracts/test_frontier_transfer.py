"""Copying everything from one frontier to another, for every pair of backends."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from math import ceil
from pathlib import Path

import pytest

from newsbot.apps.transfer.copies import WholeFrontier
from newsbot.frontier.base import ASIDE, FETCH_STEP, EntryCopy, Frontier
from newsbot.frontier.sqlite.frontier import SqliteFrontier
from newsbot.items import Kind
from tests.contracts.frontier_backends import FakeClock, key_of, make_entry, name_of

COPIES = 1203
"""More than a batch, and not a multiple of it."""
NAMES = ("again", "never", "held", "aside", "lost", "leased", "waits", "best")


@pytest.fixture
def tested(frontier: Frontier) -> WholeFrontier:
    """The frontier under test, empty."""
    return frontier  # type: ignore[return-value]  # all backends support copying


@pytest.fixture
def other(tmp_path: Path, clock: FakeClock) -> Iterator[SqliteFrontier]:
    """Another frontier, to copy to and from."""
    with closing(SqliteFrontier(tmp_path / "other.db", clock=clock)) as opened:
        yield opened


def fill(frontier: WholeFrontier, clock: FakeClock) -> None:
    """Add an entry in each state, with all optional data."""
    frontier.set_politeness("a.example", delay=0, concurrency=99)
    frontier.add([make_entry("lost")])
    assert frontier.lease("dead", 1, horizon=clock(), ttl=60)
    frontier.release("dead", lost=True)
    frontier.add([make_entry(name) for name in NAMES[:6] if name != "lost"])
    leases = {
        name_of(one.entry): one
        for owner in ("w", "v")
        for one in frontier.lease(owner, 9, horizon=clock(), ttl=60)
    }
    assert len(leases) == 6
    assert frontier.ack(leases["again"], next_due=clock() + 500.25)
    assert frontier.ack(leases["never"], next_due=None)
    assert frontier.nack(leases["held"], delay=300)
    assert frontier.nack(leases["aside"], delay=0, aside=True)
    frontier.nack(leases["lost"], delay=0, counted=False)
    frontier.add([make_entry("waits", "slow.example", kind=Kind.FEED, due=clock() + 50.5, depth=3)])
    frontier.add([make_entry("best", "slow.example", priority=7.25, data={"a": "ё", "n": [1]})])
    frontier.set_politeness("slow.example", delay=2.5, concurrency=3)
    frontier.back_off("slow.example", 40)


def copies_of(frontier: WholeFrontier) -> dict[bytes, EntryCopy]:
    return {copy.entry.fingerprint: copy for copy in frontier.copy_entries()}


def states(frontier: WholeFrontier) -> dict[str, tuple[str, int | None, float | None]]:
    known = frontier.known([key_of(name) for name in NAMES])
    return {
        name: (
            one.state,
            None if one.last_fetched is None else ceil(one.last_fetched / FETCH_STEP),
            one.next_due,
        )
        for name in NAMES
        if (one := known.get(key_of(name))) is not None
    }


@pytest.mark.parametrize("there", [True, False])
def test_a_copy_answers_like_the_original(
    tested: WholeFrontier, other: SqliteFrontier, clock: FakeClock, there: bool
) -> None:
    source, target = (other, tested) if there else (tested, other)
    fill(source, clock)
    copies = copies_of(source)
    assert {name for name in NAMES if key_of(name) not in copies} <= {"never"}
    target.take_entries(list(copies.values()))
    target.take_entries(list(copies.values()))
    assert {name: state[0] for name, state in states(target).items() if name != "never"} == {
        **dict.fromkeys(("held", "lost", "leased", "waits", "best"), "pending"),
        "again": "done",
        "aside": "aside",
    }
    before = {name: state for name, state in states(source).items() if name in states(target)}
    before["leased"] = ("pending", None, 0.0)
    assert states(target) == before
    assert [entry.data[ASIDE] for entry in target.aside(9)] == [
        entry.data[ASIDE] for entry in source.aside(9)
    ]
    for name in ("waits", "best", "held", "again"):
        assert target.entry(key_of(name)) == source.entry(key_of(name))
    assert sum(target.counts().values()) - target.counts()["hosts"] == len(states(target))


def test_copied_entries_are_leased_in_the_same_order(
    tested: WholeFrontier, other: SqliteFrontier, clock: FakeClock
) -> None:
    fill(other, clock)
    tested.take_entries(list(other.copy_entries()))
    for host in other.copy_hosts():
        tested.set_politeness(host.host, delay=host.delay, concurrency=host.concurrency)
        tested.back_off(host.host, max(0.0, host.next_turn - clock()))
    other.release("w")
    other.release("v")
    for _ in range(12):
        clock.advance(60)
        handed = [
            [
                (name_of(one.entry), one.attempts, one.lost, one.last_fetched)
                for one in sorted(
                    frontier.lease("x", 9, horizon=clock(), ttl=1e6), key=lambda one: one.entry.url
                )
            ]
            for frontier in (tested, other)
        ]
        assert handed[0] == handed[1]
    assert tested.counts() == other.counts()
    assert tested.counts()["pending"] == 0


def test_copies_of_hosts_have_their_delay_concurrency_and_next_turn(
    tested: WholeFrontier, clock: FakeClock
) -> None:
    fill(tested, clock)
    hosts = {copy.host: copy for copy in tested.copy_hosts()}
    assert set(hosts) == {"a.example", "slow.example"}
    slow = hosts["slow.example"]
    assert (slow.delay, slow.concurrency, slow.next_turn) == (2.5, 3, clock() + 40)
    assert {name: tested.host(name) for name in hosts} == hosts
    assert tested.host("unknown.example") is None


def test_known_entries_are_not_overwritten(tested: WholeFrontier, clock: FakeClock) -> None:
    tested.add([make_entry("best", priority=1.0)])
    copy = EntryCopy(entry=make_entry("best", priority=9.0), state="aside", at=clock())
    tested.take_entries([copy, copy])
    assert states(tested)["best"][0] == "pending"
    kept = tested.entry(key_of("best"))
    assert kept is not None
    assert kept.priority == 1.0


def test_any_number_of_entries_is_copied(
    tested: WholeFrontier, other: SqliteFrontier, clock: FakeClock
) -> None:
    entries = [
        make_entry(f"e{number}", f"h{number % 7}.example", due=float(number)) for number in range(COPIES)
    ]
    done = [EntryCopy(entry=entry, state="done", last_fetched=5.0) for entry in entries[:600]]
    tested.take_entries([*done, *(EntryCopy(entry=entry, state="pending") for entry in entries[600:])])
    assert tested.counts() == {"pending": COPIES - 600, "leased": 0, "done": 600, "aside": 0, "hosts": 7}
    waiting = {key: copy for key, copy in copies_of(tested).items() if copy.state == "pending"}
    assert waiting.keys() == {entry.fingerprint for entry in entries[600:]}
    assert len(list(tested.copy_hosts())) == 7


def test_active_workers_are_reported_until_their_leases_expire(
    tested: WholeFrontier, clock: FakeClock
) -> None:
    tested.set_politeness("a.example", delay=0, concurrency=9)
    tested.add([make_entry(name) for name in ("one", "two", "three")])
    tested.lease("long", 1, horizon=clock(), ttl=100)
    tested.lease("short", 2, horizon=clock(), ttl=50)
    assert sorted(tested.at_work()) == ["long", "short"]
    clock.advance(50)
    assert tested.at_work() == ["long"]
    clock.advance(50)
    assert tested.at_work() == []
    assert tested.counts()["leased"] == 3, "reading must not change anything"


def test_leased_entries_are_copied_as_pending(tested: WholeFrontier, clock: FakeClock) -> None:
    tested.add([make_entry("one", data={"title": "x"})])
    tested.lease("w", 1, horizon=clock(), ttl=60)
    (copy,) = tested.copy_entries()
    assert copy == EntryCopy(entry=replace(make_entry("one"), data={"title": "x"}), state="pending")
