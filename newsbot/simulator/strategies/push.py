"""Push: sources tell of their events (WebSub, a sensor); a safety poll finds what was lost on the way."""

from __future__ import annotations

from typing import Final

import numpy as np

from newsbot.recrawl.polling import Array, Rows
from newsbot.simulator.compiled import compiled
from newsbot.simulator.sites import SiteWorld
from newsbot.simulator.strategies.task import Strategy, Task
from newsbot.simulator.visiting import Visits


class Push:
    """A visit for each notice, unless one is waiting already, with ``servers`` downloads at one time.

    Visits are taken in the order of their wishes. First a visit waits for its host, then for a server; a
    server that is promised to a visit takes no other one meanwhile. 0 servers: as many as are needed.
    """

    def __init__(self, task: Task, servers: int) -> None:
        self._settings, self._draw, self._servers = task.push, task.draw, servers

    def visits(self, world: SiteWorld) -> Visits:
        """See :class:`newsbot.simulator.visiting.WholeRun`."""
        rows, wanted = self._wishes(world)
        of_sources = (world.host, world.response, world.gone)
        at = _serve(rows, wanted, of_sources, np.full(self._servers, -np.inf), world.host_delay)
        made = at < world.last[rows]
        rows, at, wait = rows[made], at[made], (at - wanted)[made]
        order = np.lexsort((at, rows))
        rows, at, wait = rows[order], at[order], wait[order]
        until = world.published(rows, at)
        before = np.concatenate([[0], until[:-1]])[: len(until)].astype(np.intp)
        before[np.concatenate([[True], rows[1:] != rows[:-1]])[: len(rows)]] = 0
        return Visits(rows, at, before, until, wait)

    def _wishes(self, world: SiteWorld) -> tuple[Rows, Array]:
        """Return sources and times of notices and safety polls, by time."""
        told = self._draw.uniform(size=len(world.moments)) >= self._settings.loss
        owners = world.owners[told]
        arrivals = world.moments[told] + self._draw.exponential(self._settings.notice, len(owners))
        since = np.maximum(world.born, world.begin)
        phase = self._draw.uniform(0, self._settings.safety, world.sources)
        polls = np.maximum(np.ceil((world.end - since - phase) / self._settings.safety), 0).astype(np.intp)
        polled = np.repeat(np.arange(world.sources), polls)
        number = np.arange(len(polled)) - np.repeat(np.cumsum(polls) - polls, polls)
        times = (since + phase)[polled] + number * self._settings.safety
        rows, wanted = np.concatenate([owners, polled]), np.concatenate([arrivals, times])
        order = np.argsort(wanted, kind="stable")
        return rows[order], wanted[order]


@compiled
def _serve(
    rows: Rows, wanted: Array, sources: tuple[Rows, Array, Array], servers: Array, delay: float
) -> Array:
    """Return when each visit begins; NaN for one that another visit, still waiting, is made for.

    ``sources``: host, seconds of an answer, end of each source; ``servers``: when each is free.
    """
    hosts, response, gone = sources
    at = np.full(len(rows), np.nan)
    begins = np.full(len(gone), -np.inf)
    free = np.full(hosts.max() + 1, -np.inf)
    for place in range(len(rows)):
        row = rows[place]
        if begins[row] >= min(wanted[place], gone[row]):
            continue
        host = hosts[row]
        begin = max(wanted[place], free[host])
        if len(servers):
            server = np.argmin(servers)
            begin = max(begin, servers[server])
            servers[server] = begin + response[row]
        at[place] = begins[row] = begin
        free[host] = begin + max(delay, response[row])
    return at


STRATEGIES: Final = (
    Strategy("push", "a visit for each notice, and safety polls", lambda task: Push(task, 0), False),
    Strategy(
        "push_queue",
        "the same with --servers downloads at one time",
        lambda task: Push(task, task.push.servers),
        False,
    ),
)
