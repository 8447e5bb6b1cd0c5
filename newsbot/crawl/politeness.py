"""Sets the pace of each host: delays from rules and robots.txt, and pauses that hold for all workers.

A *turn* is a time that is reserved for one request to a host. Turns of a host are at least its delay apart.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

from newsbot.crawl.context import MAX_HOSTS, Context
from newsbot.crawl.visit import Turn
from newsbot.errors import DataError
from newsbot.items import Bounded
from newsbot.pages.rules import RuleSet
from newsbot.pages.rules.rule import Rule

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
