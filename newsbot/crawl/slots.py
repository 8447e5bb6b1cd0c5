"""Limits the requests in flight to groups of hosts that answer slowly or not at all.

A feed may list hundreds of hosts that never answer. With a time-out of 30 seconds, their requests would fill
all slots. Each request therefore belongs to groups: the registered domain of its host, its rule, and the site
whose page named it. Each group has a window, the maximum number of its requests in flight. As in TCP (RFC
5681), the window begins small, grows with each quick answer, and is halved if an answer is slow or missing.

Requests that only another site's link has caused are limited even if all answers are quick: a quarter of all
slots for the links of one site, and half of them for the links of all such sites. Their windows are halved,
too, if the worker takes long to read an answer, because the other sites' pages then wait for the processor.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from newsbot.clock import Clock
from newsbot.crawl.context import MAX_HOSTS
from newsbot.crawl.group_calls import LONGEST
from newsbot.frontier.base import Lease
from newsbot.items import Bounded, GivenBy, Reason
from newsbot.urls import host_key, site_of

SMALLEST = 2
"""The smallest window: the number of requests in flight to a group that never answers."""
NO_ANSWER = (Reason.TIMEOUT, Reason.ROBOTS_UNREACHABLE)
"""Errors of requests that count as missing answers."""
SLOW = 5.0
"""Seconds after which an answer counts as slow and halves the windows of its groups."""

BUSY = 0.25 + LONGEST
"""Seconds from an answer to the end of the visit after which the worker counts as busy."""

FORGET = 60.0
"""Seconds without a refused lease after which an idle worker forgets which hosts belong to full groups."""

STRANGER, STRANGERS = "named by another site", "named by other sites"
"""Kinds of groups: the links that one site gives to other sites, and all such links."""
Group = tuple[str, str]
OWN = ("domain", "rule")
"""Kinds of groups to which all entries of a host belong."""


@dataclass(frozen=True, slots=True)
class _Flight:
    groups: frozenset[Group]
    began: float


class Slots:
    """Counts the requests in flight. ``total`` is the number of all slots."""

    def __init__(self, total: int, clock: Clock) -> None:
        self._total, self._clock = total, clock
        self._first = max(SMALLEST, total // 4)
        self._most = {STRANGER: self._first, STRANGERS: max(SMALLEST, total // 2)}
        """The largest window, by kind of group. For other kinds, it is the number of all slots."""
        self._windows = Bounded[Group, int](MAX_HOSTS)
        self._in_flight: Counter[Group] = Counter()
        self._flights: dict[bytes, _Flight] = {}
        """The requests in flight, by the fingerprint of the entry."""
        self._full_for = Bounded[str, frozenset[Group]](MAX_HOSTS)
        """The groups of the last lease of a host, if it was returned because one of them was full."""
        self._refused = 0.0

    @property
    def full(self) -> int:
        """The number of hosts that wait for room in a group."""
        return len(self._full_for)

    def accepting(self, accept: Callable[[str], bool] | None) -> Callable[[str], bool] | None:
        """Return a function like ``accept`` that accepts only hosts whose groups have room.

        The result is only for one call of :meth:`newsbot.frontier.base.Frontier.lease`.
        """
        if not self._in_flight and self._clock() - self._refused > FORGET:
            self._full_for.clear()
        # Usually no group is full, and no host waits for a group. If ``accept`` is None too, Redis need not
        # send the names of the hosts.
        if not self._full_for and not any(self._room(group) <= 0 for group in self._in_flight):
            return accept
        # Number of hosts that were accepted in this call. Their leases are not counted in ``_in_flight`` yet.
        more: Counter[Group] = Counter()

        def takes(host: str) -> bool:
            # The rule and the referrer of the host's next entry are not known before the entry is leased. If
            # the last lease of a host was returned because of a full group, the host is therefore skipped
            # until this group has room.
            groups = self._full_for.get(host) or {_domain(host)}
            if any(self._room(group) <= more[group] for group in groups):
                return False
            if accept is not None and not accept(host):
                return False
            more.update(groups)
            return True

        return takes

    def take(self, lease: Lease) -> bool:
        """Give a slot to a lease.

        Return False if one of its groups is full. The lease must then be returned.
        """
        groups = _groups(lease)
        full = next((group for group in groups if self._room(group) <= 0), None)
        if full is not None:
            self._refused = self._clock()
            # A host that has a rule does not wait because of a stranger's link: its next entry may be of its
            # own site.
            if full[0] in OWN or not lease.entry.data.get("ruled"):
                self._full_for[lease.entry.host] = groups
            return False
        self._full_for.pop(lease.entry.host, None)
        self.end(lease, answered=True)  # an entry has one slot, even if it is leased a second time
        self._in_flight.update(groups)
        self._flights[lease.entry.fingerprint] = _Flight(groups, self._clock())
        return True

    def end(self, lease: Lease, *, answered: bool, busy: float = 0.0) -> None:
        """Free the slot of a lease, if it has one, and adjust the windows of its groups.

        ``busy``: the seconds since the answer came.
        """
        flight = self._flights.pop(lease.entry.fingerprint, None)
        if flight is None:
            return
        quick = answered and self._clock() - flight.began < SLOW
        self._in_flight.subtract(flight.groups)
        for group in flight.groups:
            window, most = self._window(group), self._most.get(group[0])
            grows = quick and (most is None or busy < BUSY)
            self._windows[group] = (
                min(most or self._total, window + 1) if grows else max(SMALLEST, window // 2)
            )
            if self._in_flight[group] <= 0:
                del self._in_flight[group]

    def _window(self, group: Group) -> int:
        return self._windows.get(group, self._first)

    def _room(self, group: Group) -> int:
        return self._window(group) - self._in_flight.get(group, 0)


def _domain(host: str) -> Group:
    return "domain", site_of(host)


def _groups(lease: Lease) -> frozenset[Group]:
    entry = lease.entry
    groups = {_domain(entry.host)}
    if source := entry.data.get("source"):
        groups.add(("rule", source))
    if referrer := entry.data.get("referrer"):
        groups.add(("named by", site_of(host_key(referrer))))
    given_by = GivenBy.of(entry.data)
    if source and not given_by.counts_for(source):
        groups |= {(STRANGER, given_by), (STRANGERS, "")}
    return frozenset(groups)
