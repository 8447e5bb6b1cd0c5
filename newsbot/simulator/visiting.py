"""Runs any polling policy over a world of sources, one clock for each host."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from newsbot.errors import UserError
from newsbot.recrawl.polling import HOUR, SHORTEST, Array, Polled, PollPolicy, Rows
from newsbot.simulator.compiled import compiled
from newsbot.simulator.sites import SiteWorld


@dataclass(frozen=True, slots=True)
class Visits:
    """All visits of a run, by source and time."""

    rows: Rows
    at: Array
    """When the request was made: what is shown is that of this moment, known when the answer is there."""
    before: Rows
    """Events of the source that earlier visits had come by."""
    until: Rows
    """Events that had happened when this one came."""
    wait: Array
    """Seconds from when the visit was wanted: for the host, or for a free download."""


@runtime_checkable
class WholeRun(Protocol):
    """A strategy that does not plan visit after visit, such as push: it makes all visits itself."""

    def visits(self, world: SiteWorld) -> Visits:
        """Return all visits of a run."""


def run_policy(world: SiteWorld, policy: PollPolicy | WholeRun, first: Array) -> Visits:
    """Return the visits that a policy makes; ``first``: how long after its start a source is first visited.

    Raises :class:`UserError` for a policy that answers with something else than times.
    """
    if isinstance(policy, WholeRun):
        return policy.visits(world)
    run = _Run(world, policy, first)
    spent = 0
    # No source is visited twice within SHORTEST: all in such a step are independent of each other.
    for step in range(int(world.begin // SHORTEST), int(np.ceil(world.end / SHORTEST))):
        spent += run.step((step + 1) * SHORTEST)
        if (step + 1) % int(HOUR / SHORTEST) == 0:
            policy.spend(spent, 1.0)
            spent = 0
    return run.visits()


class _Run:
    def __init__(self, world: SiteWorld, policy: PollPolicy, first: Array) -> None:
        self._world, self._policy = world, policy
        self._due = np.maximum(world.born, world.begin) + first
        self._last, self._page = world.last, world.window == 0
        self._seen = np.zeros(world.sources, np.intp)
        self._free = np.full(len(world.hosts), -np.inf)
        self._made: list[tuple[Rows, Array, Rows, Rows, Array]] = []

    def step(self, until: float) -> int:
        """Make the visits that are due before ``until``; return how many."""
        world, due = self._world, self._due
        rows = np.flatnonzero(due < until)
        if not len(rows):
            return 0
        rows = rows[np.argsort(due[rows], kind="stable")]
        wanted = due[rows]
        at = take_turns(wanted, world.host[rows], world.response[rows], self._free, world.host_delay)
        ends = at >= self._last[rows]
        due[rows[ends]] = np.inf
        rows, at, wanted = rows[~ends], at[~ends], wanted[~ends]
        if not len(rows):
            return 0
        self._visit(rows, at, wanted)
        return len(rows)

    def _visit(self, rows: Rows, at: Array, wanted: Array) -> None:
        world = self._world
        total = world.published(rows, at)
        self._made.append((rows, at, self._seen[rows], total, at - wanted))
        window, page = world.window[rows], self._page[rows]
        new = np.minimum(total - self._seen[rows], np.where(page, 1, window)).astype(float)
        self._seen[rows] = total
        alive = at < world.gone[rows]
        self._due[rows] = np.inf  # the dead are not visited again
        if alive.any():
            polled = Polled(rows[alive], at[alive], new[alive], window[alive].astype(float))
            self._due[rows[alive]] = self._next(polled)

    def _next(self, polled: Polled) -> Array:
        wish = np.asarray(self._policy.next_polls(polled))
        if wish.shape != polled.at.shape or wish.dtype.kind != "f" or np.isnan(wish).any():
            raise UserError(
                f"policy {type(self._policy).__name__}: next_polls must return one time (seconds, float) "
                f"for each of the {len(polled.rows)} sources"
            )
        return np.maximum(wish, polled.at + SHORTEST)

    def visits(self) -> Visits:
        """Return all that were made."""
        if not self._made:
            none = np.zeros(0, np.intp)
            return Visits(none, np.zeros(0), none, none, np.zeros(0))
        rows, at, before, until, wait = (np.concatenate(column) for column in zip(*self._made, strict=True))
        order = np.lexsort((at, rows))
        return Visits(rows[order], at[order], before[order], until[order], wait[order])


@compiled
def take_turns(wanted: Array, hosts: Rows, response: Array, free: Array, delay: float) -> Array:
    """Return when requests are made that are wanted at sorted times: one at a time at each host.

    ``free``: when the host of each number may be asked again; it is moved on.
    """
    at = np.empty_like(wanted)
    for place in range(len(wanted)):
        host = hosts[place]
        at[place] = max(wanted[place], free[host])
        free[host] = at[place] + max(delay, response[place])
    return at
