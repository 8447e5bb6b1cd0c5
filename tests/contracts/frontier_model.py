"""A simple model of the frontier's contract in memory. It follows the leases of the real frontier."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from newsbot.frontier.base import ALONE, MAX_LOST, Entry, Lease


@dataclass
class Item:
    """The state of one URL."""

    entry: Entry
    state: str = "pending"
    due: float = 0.0
    priority: float = 0.0
    held_until: float = -math.inf
    next_due: float | None = None
    fetched: bool = False
    lost: int = 0
    attempts: int = 0
    lease: Lease | None = None
    deadline: float = 0.0


@dataclass
class Host:
    """The politeness clock of one host."""

    delay: float = 1.0
    concurrency: int = 1
    last_turn: float | None = None
    next_turn: float = -math.inf


@dataclass
class Model:
    """All items and hosts, by fingerprint and by name."""

    items: dict[bytes, Item] = field(default_factory=dict)
    hosts: dict[str, Host] = field(default_factory=dict)

    def add(self, entry: Entry, *, force: bool) -> str:
        self.hosts.setdefault(entry.host, Host())
        item = self.items.get(entry.fingerprint)
        if item is None:
            self.items[entry.fingerprint] = Item(entry, due=entry.due, priority=entry.priority)
            return "new"
        if item.state == "pending":
            sooner = entry.priority > item.priority or entry.due < item.due
            item.priority, item.due = max(item.priority, entry.priority), min(item.due, entry.due)
            return "sooner" if sooner else "known"
        if force and item.state in ("done", "aside"):
            self.items[entry.fingerprint] = Item(
                entry, due=entry.due, priority=entry.priority, fetched=item.fetched
            )
            return "sooner"
        return "known"

    def mark_done(self, entry: Entry, next_due: float | None) -> None:
        self.hosts.setdefault(entry.host, Host())
        item = self.items.setdefault(entry.fingerprint, Item(entry, due=entry.due, priority=entry.priority))
        if item.state != "leased" and not item.fetched:
            self._rest(item, next_due)

    @staticmethod
    def _rest(item: Item, next_due: float | None) -> None:
        item.state, item.next_due = "done", next_due
        item.lost = item.attempts = 0
        item.held_until = -math.inf

    def settle(self, now: float, horizon: float) -> None:
        """Make the changes that depend only on the time."""
        for item in self.items.values():
            if item.state == "leased" and item.deadline <= now:
                self.lose(item)
            if item.state == "done" and item.next_due is not None and item.next_due <= horizon:
                item.state, item.due = "pending", item.next_due

    @staticmethod
    def lose(item: Item) -> None:
        item.lost += 1
        item.attempts += 1
        item.lease = None
        item.state = "aside" if item.lost >= MAX_LOST else "pending"
        item.held_until = -math.inf

    def leased_on(self, host: str) -> list[Item]:
        return [item for item in self.items.values() if item.state == "leased" and item.entry.host == host]

    def within(self, horizon: float) -> list[Item]:
        return [item for item in self.items.values() if item.state == "pending" and item.due <= horizon]

    def opens(self, item: Item) -> float:
        """Return the earliest time of a lease of the item if nothing else happens (after :meth:`settle`)."""
        host = self.hosts[item.entry.host]
        deadlines = sorted(other.deadline for other in self.leased_on(item.entry.host))
        surplus = len(deadlines) - host.concurrency
        room = deadlines[surplus] if surplus >= 0 else -math.inf
        return max(item.held_until, host.next_turn, room)

    def hand_out(self, lease: Lease, now: float, horizon: float, *, alone: bool = False) -> None:
        """Check one lease against the contract, then apply it."""
        item = self.items[lease.entry.fingerprint]
        host = self.hosts[item.entry.host]
        assert item.state == "pending", "leased twice, or leased after it was done"
        assert item.due <= horizon
        assert item.held_until <= now
        assert host.next_turn <= now, "leased before the host's next turn"
        assert len(self.leased_on(item.entry.host)) < host.concurrency
        assert alone or item.lost < ALONE, "this item must be leased alone"
        suspected = item.lost > 0
        assert not (suspected and self.holds_suspect(lease.owner)), "two suspects leased to one worker"
        rivals = [
            other
            for other in self.within(horizon)
            if other.entry.host == item.entry.host and other.held_until <= now
        ]
        rivals = [other for other in rivals if (other.lost > 0) == suspected]
        assert (-item.lost, item.priority) == max((-other.lost, other.priority) for other in rivals)
        assert (lease.attempts, lease.lost) == (item.attempts, item.lost)
        item.state, item.lease, item.deadline = "leased", lease, lease.deadline
        host.last_turn, host.next_turn = now, now + host.delay

    def holds_suspect(self, owner: str) -> bool:
        leased = (item for item in self.items.values() if item.state == "leased" and item.lost > 0)
        return any(item.lease is not None and item.lease.owner == owner for item in leased)

    def end(self, lease: Lease, *, ok: bool, now: float, value: float | None, aside: bool) -> None:
        item = self.items[lease.entry.fingerprint]
        item.lease = None
        if ok:
            item.fetched = True
            self._rest(item, value)
            return
        item.attempts += 1
        item.lost = 0
        item.state = "aside" if aside else "pending"
        item.held_until = now + (value or 0.0)
