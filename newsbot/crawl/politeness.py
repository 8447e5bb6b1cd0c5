"""Sets the pace of each host: delays from rules and robots.txt, and pauses that hold for all workers.

A *turn* is a time that is reserved for one request to a host. Turns of a host are at least its delay apart.
"""

from __future__ import annotations

from collections.abc import Iterator

from newsbot.crawl.context import MAX_HOSTS, Context
from newsbot.errors import DataError
from newsbot.items import Bounded
from newsbot.rules import RuleSet
from newsbot.rules.rule import Rule


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

        The turn is written to the frontier before it is used, so that no other worker uses the same turn. If
        the frontier is unavailable, the host's delay is returned. ``missed`` is the missed turn of a lease,
        see :meth:`newsbot.frontier.base.Frontier.take_turn`.
        """
        delay = self.delay_of(host)
        if delay <= 0:
            return 0.0
        try:
            self.introduce(host, self._context.rule_for(f"http://{host}/"))
            return self._context.frontier.take_turn(host, missed=missed)
        except DataError:
            return delay  # the workers cannot share turns now, so each worker keeps the delay itself

    def tell_rests(self) -> None:
        """Write the pauses that could not be written before. Raises :class:`newsbot.errors.DataError`."""
        for host, until in list(self._rests.items()):
            if until > self._context.clock():
                self._context.frontier.back_off(host, until - self._context.clock())
            del self._rests[host]
