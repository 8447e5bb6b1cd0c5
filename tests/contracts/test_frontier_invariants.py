"""Random sequences of calls by two workers, compared with a model of the contract."""

from __future__ import annotations

import tempfile
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from newsbot.frontier.base import ALONE, ASIDE, Entry, Lease
from tests.contracts.frontier_backends import BACKENDS, FakeClock, FrontierPlace, make_entry
from tests.contracts.frontier_model import Host, Model

TTL = 60.0
WORKERS = ("one", "two")
HOSTS = ("a", "b")
URLS = 6

workers = st.sampled_from(WORKERS)
hosts = st.sampled_from(HOSTS)
numbers = st.integers(0, URLS - 1)
scopes = st.sampled_from([None, None, None, None, frozenset("a"), frozenset("b"), frozenset()])
"""Hosts that are accepted; None: all."""
offsets = st.sampled_from([None, None, -50.0, -1.0, 0.0, 5.0, 40.0])
"""Due times relative to now; None: immediately."""
horizons = st.sampled_from([0.0, 0.0, 0.0, -30.0, 100.0])


class FrontierMachine(RuleBasedStateMachine):
    """Two workers on the same data with one clock."""

    backend = ""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.clock = FakeClock()
        place = FrontierPlace(self.backend, Path(self.folder.name))
        self.workers = {name: place.open(self.clock) for name in WORKERS}
        self.model = Model()
        self.leases: list[Lease] = []
        """All leases so far; most of them have expired."""

    def teardown(self) -> None:
        for frontier in self.workers.values():
            frontier.close()
        self.folder.cleanup()

    @rule(seconds=st.sampled_from([0.5, 1.0, 3.0, TTL]))
    def time_passes(self, seconds: float) -> None:
        self.clock.advance(seconds)

    def _entry(self, number: int, priority: int, offset: float | None) -> Entry:
        return make_entry(
            str(number),
            host=HOSTS[number % len(HOSTS)],
            priority=float(priority),
            due=0.0 if offset is None else self.clock.now + offset,
        )

    @rule(
        worker=workers,
        batch=st.lists(st.tuples(numbers, st.integers(0, 2), offsets), min_size=1, max_size=6),
        force=st.booleans(),
    )
    def add(self, worker: str, batch: list[tuple[int, int, float | None]], force: bool) -> None:
        entries = [self._entry(*one) for one in batch]
        verdicts = self.workers[worker].add(entries, force=force)
        assert verdicts == [self.model.add(entry, force=force) for entry in entries]

    @rule(worker=workers, number=numbers, offset=offsets)
    def mark_done(self, worker: str, number: int, offset: float | None) -> None:
        entry = self._entry(number, 0, None)
        next_due = None if offset is None else self.clock.now + offset
        self.workers[worker].mark_done([entry], next_due)
        self.model.mark_done(entry, next_due)

    @rule(
        worker=workers,
        limit=st.integers(1, 4),
        ahead=horizons,
        accepted=scopes,
        alone=st.booleans(),
    )
    def lease(
        self, worker: str, limit: int, ahead: float, accepted: frozenset[str] | None, alone: bool
    ) -> None:
        self._lease(worker, limit, ahead, accepted, alone=alone)

    def _lease(
        self, worker: str, limit: int, ahead: float, accepted: frozenset[str] | None, *, alone: bool
    ) -> None:
        now, horizon = self.clock.now, self.clock.now + ahead
        accept = None if accepted is None else accepted.__contains__
        got = self.workers[worker].lease(worker, limit, horizon=horizon, ttl=TTL, accept=accept, alone=alone)
        self.model.settle(now, horizon)
        assert len(got) <= limit
        for one in got:
            assert accepted is None or one.entry.host in accepted
            self.model.hand_out(one, now, horizon, alone=alone and len(got) == 1)
        if len(got) < limit:
            left = [item for item in self.model.within(horizon) if self.model.opens(item) <= now]
            if self.model.holds_suspect(worker):
                left = [item for item in left if not item.lost]
            if got or not alone:
                left = [item for item in left if item.lost < ALONE]
            assert not [item for item in left if accepted is None or item.entry.host in accepted]
        self.leases += got

    @rule(worker=workers)
    def work_hangs(self, worker: str) -> None:
        """A worker leases all that it can and does nothing until its leases expire."""
        self._lease(worker, URLS, 0.0, None, alone=True)
        self.clock.advance(TTL)

    @rule(worker=workers)
    def work_is_done(self, worker: str) -> None:
        """All leases of a worker succeed; its pages are due again soon."""
        for lease in self._held_by(worker):
            self._end_well(worker, lease, self.clock.now + 2)
        self.clock.advance(1.0)

    def _pick(self, number: int) -> Lease | None:
        return self.leases[-1 - number % len(self.leases)] if self.leases else None

    def _ended(self, lease: Lease, ended: bool) -> bool:
        """Check whether a lease could be ended; return True if the model must do the same.

        A lease past its deadline can still be ended until it is taken back.
        """
        item = self.model.items[lease.entry.fingerprint]
        mine = item.state == "leased" and item.lease is not None and item.lease.token == lease.token
        if not mine:
            assert not ended, "an expired lease changed something"
            return False
        if not ended:
            assert item.deadline <= self.clock.now, "an owner lost its lease"
            self.model.lose(item)
        return ended

    @rule(worker=workers, number=st.integers(0, 9), offset=offsets)
    def ack(self, worker: str, number: int, offset: float | None) -> None:
        if (lease := self._pick(number)) is None:
            return
        self._end_well(worker, lease, None if offset is None else self.clock.now + offset)

    def _end_well(self, worker: str, lease: Lease, next_due: float | None) -> None:
        if self._ended(lease, self.workers[worker].ack(lease, next_due=next_due)):
            self.model.end(lease, ok=True, now=self.clock.now, value=next_due, aside=False)

    @rule(
        worker=workers,
        number=st.integers(0, 9),
        delay=st.sampled_from([0.0, 2.0, 90.0]),
        aside=st.sampled_from([False, False, False, True]),
    )
    def nack(self, worker: str, number: int, delay: float, aside: bool) -> None:
        if (lease := self._pick(number)) is None:
            return
        if self._ended(lease, self.workers[worker].nack(lease, delay=delay, aside=aside)):
            self.model.end(lease, ok=False, now=self.clock.now, value=delay, aside=aside)

    def _held_by(self, owner: str) -> list[Lease]:
        items = self.model.items.values()
        return [item.lease for item in items if item.lease is not None and item.lease.owner == owner]

    @rule(caller=workers, owner=workers, lost=st.booleans())
    def release(self, caller: str, owner: str, lost: bool) -> None:
        held = self._held_by(owner)
        assert self.workers[caller].release(owner, lost=lost) == len(held)
        for lease in held:
            item = self.model.items[lease.entry.fingerprint]
            if lost:
                self.model.lose(item)
            else:
                item.state, item.lease = "pending", None

    @rule(owner=workers, forgotten=st.integers(0, 2))
    def resume(self, owner: str, forgotten: int) -> None:
        """The owner extends its leases, except for some that go back to the queue."""
        held = self._held_by(owner)
        kept = held[forgotten:]
        assert self.workers[owner].resume(owner, kept, TTL).kept == len(kept)
        for lease in kept:
            self.model.items[lease.entry.fingerprint].deadline = self.clock.now + TTL
        for lease in held[:forgotten]:
            item = self.model.items[lease.entry.fingerprint]
            item.state, item.lease = "pending", None

    @rule(worker=workers, host=hosts, delay=st.sampled_from([0.0, 1.0, 10.0]), concurrency=st.integers(1, 3))
    def set_politeness(self, worker: str, host: str, delay: float, concurrency: int) -> None:
        self.workers[worker].set_politeness(host, delay=delay, concurrency=concurrency)
        known = self.model.hosts.setdefault(host, Host())
        if (known.delay, known.concurrency) == (delay, concurrency):
            return
        waits = known.last_turn is not None and known.next_turn == known.last_turn + known.delay
        known.delay, known.concurrency = delay, concurrency
        if known.last_turn is not None:
            turn = known.last_turn + delay
            known.next_turn = turn if waits else max(known.next_turn, turn)

    @rule(worker=workers, host=hosts, seconds=st.sampled_from([0.5, 5.0, 100.0]))
    def back_off(self, worker: str, host: str, seconds: float) -> None:
        self.workers[worker].back_off(host, seconds)
        known = self.model.hosts.setdefault(host, Host())
        known.next_turn = max(known.next_turn, self.clock.now + seconds)

    @rule(worker=workers, ahead=horizons, accepted=scopes)
    def outlook(self, worker: str, ahead: float, accepted: frozenset[str] | None) -> None:
        now, horizon = self.clock.now, self.clock.now + ahead
        accept = None if accepted is None else accepted.__contains__
        outlook = self.workers[worker].outlook(horizon=horizon, accept=accept)
        self.model.settle(now, horizon)
        pending = [
            item for item in self.model.within(horizon) if accepted is None or item.entry.host in accepted
        ]
        assert outlook.pending == len(pending)
        assert outlook.leased == sum(
            item.state == "leased"
            and item.due <= horizon
            and (accepted is None or item.entry.host in accepted)
            for item in self.model.items.values()
        )
        if not pending:
            assert outlook.next_at is None
            return
        assert outlook.next_at is not None
        truth = min(map(self.model.opens, pending))
        assert outlook.next_at <= max(truth, now), "the scheduler would sleep too long"
        assert outlook.next_at > now or truth <= now, "the scheduler would poll in a busy loop"

    @invariant()
    def every_url_is_in_exactly_one_state(self) -> None:
        frontier = self.workers["one"]
        known = frontier.known(list(self.model.items))
        assert known.keys() == self.model.items.keys()
        for key, item in self.model.items.items():
            assert known[key].state == item.state
            assert (known[key].last_fetched is not None) == item.fetched
        counts = frontier.counts()
        states = Counter(item.state for item in self.model.items.values())
        assert counts == {
            **{name: states[name] for name in ("pending", "leased", "done", "aside")},
            "hosts": len(self.model.hosts),
        }
        owners = {item.lease.owner for item in self.model.items.values() if item.lease is not None}
        assert set(frontier.owners()) == owners
        aside = frontier.aside(URLS)
        assert {entry.fingerprint for entry in aside} == {
            key for key, item in self.model.items.items() if item.state == "aside"
        }
        assert all(entry.data[ASIDE] for entry in aside)


@pytest.mark.parametrize("backend", sorted(BACKENDS))
def test_any_sequence_of_calls_keeps_the_contract(backend: str) -> None:
    class OfBackend(FrontierMachine):
        pass

    OfBackend.backend = backend
    run_state_machine_as_test(
        OfBackend,
        settings=settings(
            max_examples=60,
            stateful_step_count=50,
            deadline=None,
            suppress_health_check=[HealthCheck.too_slow],
        ),
    )
