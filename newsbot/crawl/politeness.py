"""The pace of each host: delays by rule and robots.txt, and rests that hold for all workers."""

from __future__ import annotations

from newsbot.crawl.context import MAX_HOSTS, Context
from newsbot.errors import DataError
from newsbot.rules.schema import Rule


class Politeness:
    """Tells the frontier how to treat the hosts of this crawl."""

    def __init__(self, context: Context, *, obeys_robots: bool) -> None:
        self._context, self._obeys_robots = context, obeys_robots
        self.crawl_delays: dict[str, float] = {}
        """Seconds between requests that robots.txt of a host asks for, where its rule says less."""
        self._introduced: set[str] = set()
        """Hosts whose politeness the frontier knows from this crawl."""
        self._rests: dict[str, float] = {}
        """Hosts that must rest, until when, and that the frontier could not be told of yet."""

    def delay_of(self, host: str) -> float:
        """Return the seconds between two requests to ``host``: its rule's, or more by its robots.txt."""
        return max(self._context.rule_for(f"http://{host}/").delay, self.crawl_delays.get(host, 0.0))

    def introduce(self, host: str, rule: Rule) -> None:
        """Tell the frontier how to treat a host, once. Raises :class:`newsbot.errors.DataError`.

        Where robots.txt is obeyed a known host never becomes faster by it: another worker may have read a
        Crawl-delay, and this one reads robots.txt with its first page of the host.
        """
        if host in self._introduced:
            return
        if len(self._introduced) >= MAX_HOSTS:
            self._introduced.clear()
        self._context.frontier.set_politeness(
            host, delay=rule.delay, concurrency=rule.concurrency, at_least=self._obeys_robots
        )
        self._introduced.add(host)

    def introduce_again(self) -> None:
        """Tell an emptied frontier of all hosts, and let each rest for one delay.

        Raises :class:`newsbot.errors.DataError`.
        """
        for host in self._introduced:
            delay, rule = self.delay_of(host), self._context.rule_for(f"http://{host}/")
            concurrency = 1 if delay > rule.delay else rule.concurrency
            self._context.frontier.set_politeness(host, delay=delay, concurrency=concurrency, at_least=True)
            self._context.frontier.back_off(host, delay)

    def forget_hosts(self) -> None:
        """Introduce all hosts anew: the rules have changed, and their delays with them."""
        self._introduced.clear()

    def set_pace(self, host: str, rule: Rule, crawl_delay: float) -> None:
        """Tell the frontier how often to ask a host: by its rule, or by ``crawl_delay`` if that is longer.

        ``crawl_delay`` (seconds) allows one request at a time.

        Raises :class:`newsbot.errors.DataError`.
        """
        delay, concurrency = rule.delay, rule.concurrency
        if crawl_delay > rule.delay:
            if len(self.crawl_delays) >= MAX_HOSTS:
                self.crawl_delays.clear()
            self.crawl_delays[host] = delay = crawl_delay
            concurrency = 1
        self._context.frontier.set_politeness(host, delay=delay, concurrency=concurrency)

    def rest(self, host: str, seconds: float) -> None:
        """Let a host rest for all workers; they are told later if the frontier is away."""
        try:
            self._context.frontier.back_off(host, seconds)
        except DataError:
            if len(self._rests) < MAX_HOSTS:
                self._rests[host] = max(self._rests.get(host, 0.0), self._context.clock() + seconds)

    def tell_rests(self) -> None:
        """Tell the frontier what it could not be told. Raises :class:`newsbot.errors.DataError`."""
        for host, until in list(self._rests.items()):
            if until > self._context.clock():
                self._context.frontier.back_off(host, until - self._context.clock())
            del self._rests[host]
