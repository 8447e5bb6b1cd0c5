"""Runs a polling policy on a world of sources, with one request at a time per host; computes the costs.

Requests and bytes of a visit depend on its way. ``conditional``: GET with validators; a
server that honours them answers 304 while nothing has changed. A day after the last complete answer, a GET
without validators is sent, as the crawler does. ``head``: HEAD first, then GET if something has changed or if
the server has no validators. ``plain``: GET.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Protocol, runtime_checkable

import numpy as np

from newsbot.errors import UserError
from newsbot.recrawl.policy import DAY, HOUR, SHORTEST, Array, Polled, PollPolicy, Rows
from newsbot.simulator.requirements import compiled
from newsbot.simulator.site_world import Flags, SiteWorld

WAYS: Final = ("conditional", "head", "plain")
HEADERS: Final = 400.0
"""Bytes of an answer without a body: a 304, or an answer to HEAD."""
NOT_FOUND: Final = 1500.0
"""Bytes of the answer for a page that is gone."""


@dataclass(frozen=True, slots=True)
class Visits:
    """All visits of a run, by source and time."""

    rows: Rows
    at: Array
    """When the request was made. The answer shows the source at this moment, and is known when it has
    arrived."""
    before: Rows
    """Events of the source that had happened at the visit before."""
    until: Rows
    """Events that had happened at this visit."""
    wait: Array
    """Seconds from when the visit was wanted: it waits for the host, or for a free download."""

    def of(self, kept: Flags | Rows) -> Visits:
        """Return some of the visits, or all in another order."""
        return Visits(self.rows[kept], self.at[kept], self.before[kept], self.until[kept], self.wait[kept])


@runtime_checkable
class WholeRun(Protocol):
    """A strategy that makes all visits itself instead of planning one after another, such as push."""

    def visits(self, world: SiteWorld) -> Visits:
        """Return all visits of a run."""


def run_policy(world: SiteWorld, policy: PollPolicy | WholeRun, first: Array) -> Visits:
    """Return the visits that a policy makes; ``first``: seconds from the start of a source to its first
    visit.

    Raises :class:`UserError` for a policy that does not answer with times.
    """
    if isinstance(policy, WholeRun):
        return policy.visits(world)
    run = _Run(world, policy, first)
    spent = 0
    # No source is visited twice within SHORTEST, so all visits in a step of this length are independent.
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
        self._made: list[Visits] = []

    def step(self, until: float) -> int:
        """Make the visits that are due before ``until``; return how many."""
        world, due = self._world, self._due
        rows = np.flatnonzero(due < until)
        rows = rows[np.argsort(due[rows], kind="stable")]
        wanted = due[rows]
        at = take_turns(wanted, world.host[rows], world.response[rows], self._free, world.host_delay)
        ends = at >= self._last[rows]
        due[rows[ends]] = np.inf
        rows, at, wanted = rows[~ends], at[~ends], wanted[~ends]
        if len(rows):
            self._visit(rows, at, wanted)
        return len(rows)

    def _visit(self, rows: Rows, at: Array, wanted: Array) -> None:
        world = self._world
        total = world.published(rows, at)
        self._made.append(Visits(rows, at, self._seen[rows], total, at - wanted))
        window, page = world.window[rows], self._page[rows]
        new = np.minimum(total - self._seen[rows], np.where(page, 1, window)).astype(float)
        self._seen[rows] = total
        alive = at < world.gone[rows]
        self._due[rows] = np.inf  # dead pages are not visited again
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
        """Return all visits."""
        no_rows, no_times = np.zeros(0, np.intp), np.zeros(0)
        made = [Visits(no_rows, no_times, no_rows, no_rows, no_times), *self._made]
        whole = Visits(
            np.concatenate([one.rows for one in made]),
            np.concatenate([one.at for one in made]),
            np.concatenate([one.before for one in made]),
            np.concatenate([one.until for one in made]),
            np.concatenate([one.wait for one in made]),
        )
        return whole.of(np.lexsort((whole.at, whole.rows)))


@compiled
def take_turns(wanted: Array, hosts: Rows, response: Array, free: Array, delay: float) -> Array:
    """Return when requests are made that are wanted at sorted times, with one request at a time per host.

    ``free``: when the host of each number may be asked again; it is updated.
    """
    at = np.empty_like(wanted)
    for place in range(len(wanted)):
        host = hosts[place]
        at[place] = max(wanted[place], free[host])
        free[host] = at[place] + max(delay, response[place])
    return at


def costs(world: SiteWorld, visits: Visits, way: str) -> tuple[Array, Array]:
    """Return requests and bytes of each visit."""
    dead = visits.at >= world.gone[visits.rows]
    changed = visits.until > visits.before
    whole = _whole(visits.rows, visits.at, changed, world.ignores, way == "conditional")
    if way == "plain":
        whole[:] = True
    size = np.where(whole, HEADERS + world.size[visits.rows], HEADERS)
    requests = np.ones(len(whole))
    if way == "head":
        requests += whole & ~dead
        size += HEADERS * whole
    return requests, np.where(dead, NOT_FOUND, size)


@compiled
def _whole(rows: Rows, at: Array, changed: Flags, ignores: Flags, daily: bool) -> Flags:
    """Return which visits get a complete answer; rows and times are sorted."""
    found = np.zeros(len(rows), np.bool_)
    row, last = -1, 0.0
    for place in range(len(rows)):
        first = rows[place] != row
        row = rows[place]
        due = daily and at[place] - last >= DAY
        if first or changed[place] or ignores[row] or due:
            found[place], last = True, at[place]
    return found
