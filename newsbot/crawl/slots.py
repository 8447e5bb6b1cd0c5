"""Limits the requests in flight to groups of hosts that answer slowly or not at all.

A feed may list hundreds of hosts that never answer. With a time-out of 30 seconds, their requests would fill
all slots. Each request therefore belongs to groups: the registered domain of its host, its rule, and the site
whose page named it. Each group has a window, the maximum number of its requests in flight. As in TCP (RFC
5681), the window begins small, grows with each quick answer, and is halved if an answer is slow or missing.

Requests that only another site's link has caused are limited even if all answers are quick: a quarter of all
slots for the links of one site, and half of them for the links of all such sites.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from newsbot.clock import Clock
from newsbot.crawl.context import MAX_HOSTS
from newsbot.frontier.base import Lease
from newsbot.items import Bounded, GivenBy, Reason
from newsbot.urls import host_key, site_of

SMALLEST = 2
"""The smallest window: the number of requests in flight to a group that never answers."""
NO_ANSWER = (Reason.TIMEOUT, Reason.ROBOTS_UNREACHABLE)
"""Errors of requests that count as missing answers."""
SLOW = 5.0
"""Seconds after which an answer counts as slow and halves the windows of its groups."""

STRANGER, STRANGERS = "named by another site", "named by other sites"
"""Kinds of groups: the links that one site gives to other sites, and all such links."""
Group = tuple[str, str]


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
        self._full_for = Bounded[str, Group](MAX_HOSTS)
        """The group that was full when the last lease of a host was returned, by host."""

    def accepting(self, accept: Callable[[str], bool] | None) -> Callable[[str], bool] | None:
        """Return a function like ``accept`` that accepts only hosts whose groups have room.

        The result is only for one call of :meth:`newsbot.frontier.base.Frontier.lease`.
        """
        # Usually no group is full. If ``accept`` is None too, Redis need not send the names of the hosts.
        if not any(self._room(group) <= 0 for group in self._in_flight):
            return accept
        # Number of hosts that were accepted in this call. Their leases are not counted in ``_in_flight`` yet.
        more: Counter[Group] = Counter()

        def takes(host: str) -> bool:
            group = _domain(host)
            # The rule and the referrer of the host's next entry are not known before the entry is leased. If
            # the last lease of a host was returned because of a full group, the host is therefore skipped
            # until this group has room.
            full_for = self._full_for.get(host, group)
            if self._room(group) <= more[group] or self._room(full_for) <= more[full_for]:
                return False
            if accept is not None and not accept(host):
                return False
            more.update({group, full_for})
            return True

        return takes

    def take(self, lease: Lease) -> bool:
        """Give a slot to a lease.

        Return False if one of its groups is full. The lease must then be returned.
        """
        groups = _groups(lease)
        full = next((group for group in groups if self._room(group) <= 0), None)
        if full is not None:
            self._full_for[lease.entry.host] = full
            return False
        self._full_for.pop(lease.entry.host, None)
        self.end(lease, answered=True)  # an entry has one slot, even if it is leased a second time
        self._in_flight.update(groups)
        self._flights[lease.entry.fingerprint] = _Flight(groups, self._clock())
        return True

    def end(self, lease: Lease, *, answered: bool) -> None:
        """Free the slot of a lease, if it has one, and adjust the windows of its groups."""
        flight = self._flights.pop(lease.entry.fingerprint, None)
        if flight is None:
            return
        quick = answered and self._clock() - flight.began < SLOW
        self._in_flight.subtract(flight.groups)
        for group in flight.groups:
            window = self._window(group)
            most = self._most.get(group[0], self._total)
            self._windows[group] = min(most, window + 1) if quick else max(SMALLEST, window // 2)
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
