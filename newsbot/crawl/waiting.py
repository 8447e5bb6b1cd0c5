"""Describes what a crawl waits for while it downloads nothing. The progress line shows it."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field

from newsbot.cli.terminal import counted, when
from newsbot.crawl.context import Context
from newsbot.crawl.scope import Scope
from newsbot.sites.health import next_due

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
