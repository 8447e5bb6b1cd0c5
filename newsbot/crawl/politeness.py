"""The pace of each host, which holds for all workers, and the requests in flight of this worker.

The pace comes from the delays in rules and robots.txt, and from pauses.

A *turn* is a time that is reserved for one request to a host. Turns of a host are at least its delay apart.

:class:`Slots` limits the requests in flight to groups of hosts that answer slowly or not at all. A feed may
list hundreds of hosts that never answer. With a time-out of 30 seconds, their requests would fill all slots.
Each request therefore belongs to groups: the registered domain of its host, its rule, and the site whose page
named it. Each group has a window, the maximum number of its requests in flight. As in TCP (RFC 5681), the
window begins small, grows with each quick answer, and is halved if an answer is slow or missing.

Requests that only another site's link has caused are limited even if all answers are quick: a quarter of all
slots for the links of one site, and half of them for the links of all such sites. Their windows are halved,
too, if the worker takes long to read an answer, because the other sites' pages then wait for the processor.

:class:`Waiting` describes what a crawl waits for while it downloads nothing, mostly the turn or the answer of
a host. The progress line shows it.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field

from newsbot.cli.terminal import counted, when
from newsbot.clock import Clock
from newsbot.crawl.backend_calls import LONGEST
from newsbot.crawl.context import MAX_HOSTS, Context
from newsbot.crawl.scope import Scope
from newsbot.crawl.visit import Turn
from newsbot.errors import DataError
from newsbot.frontier.base import Lease
from newsbot.items import Bounded, GivenBy, Reason
from newsbot.pages.rules import RuleSet
from newsbot.pages.rules.rule import Rule
from newsbot.sites.health import next_due
from newsbot.urls import host_key, site_of

LATEST = 0.09
"""Maximum time by which a request may be sent after its turn, as a share of the host's delay."""
TICK = 0.005
"""Seconds by which any request may be late for its turn, because timers are not more exact."""
MOST_TURNS = 5
"""Maximum number of turns that one request takes. A turn is lost if the machine is too busy to use it in
time."""
LONGEST_OPEN = 10.0
"""Maximum number of seconds for which a request waits on an open connection for another turn."""
_EXPECTED = 32
"""Number of turns that are remembered for the requests of a host that are on their way."""


class Politeness:
    """Sets the delay and concurrency of this crawl's hosts in the frontier."""

    def __init__(self, context: Context, *, obeys_robots: bool) -> None:
        self._context, self._obeys_robots = context, obeys_robots
        self.crawl_delays = Bounded[str, float](MAX_HOSTS)
        """The Crawl-delay of the robots.txt of each host, in seconds; 0 if the file has none.

        Hosts whose robots.txt was not read are missing.
        """
        self._introduced = Bounded[str, None](MAX_HOSTS)
        """Hosts whose delay and concurrency this crawl has written to the frontier."""
        self._rests = Bounded[str, float](MAX_HOSTS)
        """The ends (POSIX seconds) of the pauses that could not be written to the frontier yet, by host."""
        self._expected = Bounded[str, list[Turn]](MAX_HOSTS)
        """The turns of the requests that are on their way, by host."""
        self._sent = Bounded[str, float](MAX_HOSTS)
        """The time of the last request that this worker has sent or will send (POSIX seconds), by host."""

    def delay_of(self, host: str) -> float:
        """Return the delay of ``host`` in seconds: the larger of the rule's delay and the Crawl-delay."""
        return max(self._context.rule_for(f"http://{host}/").delay, self.crawl_delays.get(host, 0.0))

    def introduce(self, host: str, rule: Rule) -> None:
        """Write the rule's delay and concurrency for a host to the frontier, once per crawl.

        If robots.txt is obeyed, this method never reduces the delay of a known host, because another worker
        may have read a Crawl-delay. This worker reads robots.txt with its first page of the host. Raises
        :class:`newsbot.errors.DataError`.
        """
        if host in self._introduced:
            return
        self._context.frontier.set_politeness(
            host, delay=rule.delay, concurrency=rule.concurrency, at_least=self._obeys_robots
        )
        self._introduced.add(host)

    def introduce_again(self) -> Iterator[str]:
        """Write all hosts to a frontier that has lost data, and let each host pause for one delay.

        Yields the name of each host after it is written. The latest host comes first, because the frontier
        has most likely lost it. Raises :class:`newsbot.errors.DataError`.
        """
        # Each host pauses, because the time of its last request is lost with the frontier's data.
        for host in reversed(list(self._introduced)):
            delay, rule = self.delay_of(host), self._context.rule_for(f"http://{host}/")
            concurrency = 1 if delay > rule.delay else rule.concurrency  # the same rule as in set_pace()
            self._context.frontier.set_politeness(host, delay=delay, concurrency=concurrency, at_least=True)
            self._context.frontier.back_off(host, delay)
            yield host

    def take_rules(self, old: RuleSet) -> None:
        """Update the hosts whose delay or concurrency is not the same as in the ``old`` rules.

        A host whose robots.txt is not read yet is updated when the file is read. Raises
        :class:`newsbot.errors.DataError`. After an error, the method can be called again.
        """
        for host in list(self._introduced):
            rule, before = self._context.rule_for(f"http://{host}/"), old.for_url(f"http://{host}/")
            if (rule.delay, rule.concurrency) == (before.delay, before.concurrency):
                continue
            if self._obeys_robots and host not in self.crawl_delays:
                del self._introduced[host]
            else:
                self.set_pace(host, rule, self.crawl_delays.get(host, 0.0))

    def set_pace(self, host: str, rule: Rule, crawl_delay: float) -> None:
        """Write a host's delay to the frontier: the rule's delay, or ``crawl_delay`` (seconds) if this is
        longer.

        If ``crawl_delay`` is longer, the host gets one request at a time. Raises
        :class:`newsbot.errors.DataError`.
        """
        delay, concurrency = rule.delay, rule.concurrency
        self.crawl_delays[host] = crawl_delay
        if crawl_delay > rule.delay:
            delay, concurrency = crawl_delay, 1
        self._context.frontier.set_politeness(host, delay=delay, concurrency=concurrency)

    def rest(self, host: str, seconds: float) -> None:
        """Pause a host for all workers.

        If the frontier is unavailable, :meth:`tell_rests` writes the pause later.
        """
        try:
            self._context.frontier.back_off(host, seconds)
        except DataError:  # the outage is logged already
            self._rests[host] = max(self._rests.get(host, 0.0), self._context.clock() + seconds)

    def take_turn(self, host: str, *, missed: float | None = None) -> float:
        """Take the host's next turn and return the seconds until it comes.

        The turn is written to the frontier before it is used, so that no other worker uses the same turn.
        Raises :class:`newsbot.errors.DataError` if the frontier is unavailable. ``missed`` is the missed turn
        of a lease, see :meth:`newsbot.frontier.base.Frontier.take_turn`.
        """
        if self.delay_of(host) <= 0:
            return 0.0
        self.introduce(host, self._context.rule_for(f"http://{host}/"))
        return self._context.frontier.take_turn(host, missed=missed)

    # --- sending
    def is_on_time(self, host: str, turn: Turn, share: float) -> bool:
        """Return True if a request with this turn may be sent now.

        ``share`` is the time by which it may be late, as a share of the host's delay.
        """
        return self._context.clock() - turn.at <= max(TICK, share * self.delay_of(host))

    def expect(self, host: str, turn: Turn) -> None:
        """Record the turn of a request that is sent as soon as it has a connection."""
        self._expected[host] = [*self._expected.get(host, [])[1 - _EXPECTED :], turn]

    def may_send(self, host: str) -> bool:
        """Return True if a request to ``host`` may be sent now, and record that it is sent."""
        if self.delay_of(host) <= 0:
            return True
        now = self._context.clock()
        turn = max(
            (turn for turn in self._expected.get(host, ()) if turn.at <= now + TICK),
            key=lambda turn: turn.at,
            default=None,
        )
        if turn is None or not self.is_on_time(host, turn, LATEST):
            return False
        self._expected[host].remove(turn)
        self._sent[host] = now
        return True

    async def wait_to_send(self, host: str) -> None:
        """Wait for another turn of ``host``, for a request that :meth:`may_send` refused.

        Raises :class:`newsbot.errors.DataError` if the frontier is unavailable.
        """
        clock = self._context.clock
        for _ in range(MOST_TURNS):
            late = self._expected.get(host)
            missed = late.pop(0).leased if late else None
            asked = clock()
            wait = await self._context.calls.run(self.take_turn, host, missed=missed)
            if wait > LONGEST_OPEN:
                break
            await asyncio.sleep(wait)
            self.expect(host, Turn(asked + wait))
            if self.may_send(host):
                return
        # Requests of this worker are a delay apart even if the machine is too busy for all of these turns.
        at = self._sent[host] = max(clock(), self._sent.get(host, 0.0) + self.delay_of(host))
        await asyncio.sleep(at - clock())

    def tell_rests(self) -> None:
        """Write the pauses that could not be written before. Raises :class:`newsbot.errors.DataError`."""
        for host, until in list(self._rests.items()):
            if until > self._context.clock():
                self._context.frontier.back_off(host, until - self._context.clock())
            del self._rests[host]


# --- slots
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


# --- what an idle crawl waits for
SOURCES_EVERY = 60.0
"""Seconds between two looks at the sources."""


@dataclass(slots=True)
class Waiting:
    """Describes what the crawl waits for. Only hosts and sites of ``scope`` count."""

    context: Context
    scope: Scope
    _next_source: str = ""
    _looked_at: float = field(default=float("-inf"))

    def text(self, hosts: Collection[str], *, horizon: float, own: Callable[[], int]) -> str:
        """Return what the crawl waits for; an empty string if it waits for nothing.

        ``hosts`` are the hosts with a request in flight. Only entries that are due up to ``horizon`` (POSIX
        seconds) count. ``own`` returns the number of leases that this worker holds but does not process.
        Raises :class:`newsbot.errors.DataError`.
        """
        if away := self.context.outage.away:
            return f"{' and '.join(away)}, which cannot be reached"
        if hosts:
            more = f" and {counted(len(hosts) - 1, 'other host')}" if len(hosts) > 1 else ""
            return f"the answer of {min(hosts)}{more}"
        now = self.context.clock()
        outlook = self.context.frontier.outlook(horizon=horizon, accept=self.scope.accepting)
        if outlook.next_at is not None:
            if outlook.next_at <= now:
                return ""  # the scheduler is about to lease this entry
            host = self.context.frontier.host(outlook.host) if outlook.host else None
            delay = f" (delay {host.delay:g} s)" if host is not None else ""
            return f"{outlook.host or 'a host'}, next request {when(outlook.next_at, now)}{delay}"
        # This worker has nothing to do, but it stays, because the pages of other workers may have new links.
        if outlook.leased > own():
            return f"another worker, which is processing {counted(outlook.leased - own(), 'URL')}"
        if now >= self._looked_at + SOURCES_EVERY:
            sources = self.context.storage.sources
            self._next_source, self._looked_at = next_due(sources, self.scope.limited_to, now), now
        return self._next_source
