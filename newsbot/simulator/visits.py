"""Runs a polling policy on a world of sources, with one request at a time per host, and computes its costs.

The requests and bytes of a visit depend on the kind of its requests:

* ``conditional``: GET with validators. A server that supports them responds with 304 if nothing has changed.
  If the last complete response is a day old, a GET without validators is sent, as the crawler does.
* ``head``: HEAD, then GET if something has changed or if the server does not support validators.
* ``plain``: GET without validators.
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
"""Bytes of a response without a body: a 304, or a response to HEAD."""
NOT_FOUND: Final = 1500.0
"""Bytes of the response for a page that no longer exists."""


@dataclass(frozen=True, slots=True)
class Visits:
    """All visits of a run, sorted by source and time."""

    rows: Rows
    """Index of the source of each visit."""
    at: Array
    """Time of each request. The response shows the source at this time, but arrives later."""
    before: Rows
    """Number of events of the source up to its previous visit."""
    until: Rows
    """Number of events of the source up to this visit."""
    wait: Array
    """Seconds that each visit waited for its host, or until fewer downloads were running."""

    def of(self, kept: Flags | Rows) -> Visits:
        """Return the visits that ``kept`` selects, or all visits in the order of ``kept``."""
        return Visits(self.rows[kept], self.at[kept], self.before[kept], self.until[kept], self.wait[kept])


@runtime_checkable
class WholeRun(Protocol):
    """A strategy that computes all visits of a run at once, such as push.

    Other strategies plan visit by visit.
    """

    def visits(self, world: SiteWorld) -> Visits:
        """Return all visits of a run."""


def run_policy(world: SiteWorld, policy: PollPolicy | WholeRun, first: Array) -> Visits:
    """Return the visits that a policy makes.

    ``first`` has the seconds from the start of each source to its first visit. Raises :class:`UserError` if
    the policy does not return valid times.
    """
    if isinstance(policy, WholeRun):
        return policy.visits(world)
    run = _Run(world, policy, first)
    spent = 0
    # No source is visited twice within SHORTEST seconds. So the visits in a step of this length do not depend
    # on each other, and the policy can be asked about all of them at once.
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
        """Make the visits that are due before the time ``until``, and return their number."""
        world, due = self._world, self._due
        rows = np.flatnonzero(due < until)
        rows = rows[np.argsort(due[rows], kind="stable")]
        wanted = due[rows]
        at = take_turns(wanted, world.host[rows], world.response[rows], self._free, world.host_delay)
        # While a visit waits for its host, the source or the run may end.
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
        # A feed shows at most ``window`` items. A visit of a page can see only one change, even if there were
        # several.
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
    """Return the times of requests, with one request at a time per host.

    ``wanted`` are the sorted times at which they are wanted. ``free`` has the time from which each host
    accepts the next request. It is updated.
    """
    at = np.empty_like(wanted)
    for place in range(len(wanted)):
        host = hosts[place]
        at[place] = max(wanted[place], free[host])
        free[host] = at[place] + max(delay, response[place])
    return at


def costs(world: SiteWorld, visits: Visits, way: str) -> tuple[Array, Array]:
    """Return the number of requests and the bytes of each visit. ``way`` is one of :data:`WAYS`."""
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
    """Return which visits get a complete response. Visits must be sorted by source and time.

    ``daily``: a complete response is requested if the last one is a day old.
    """
    found = np.zeros(len(rows), np.bool_)
    row, last = -1, 0.0
    for place in range(len(rows)):
        first = rows[place] != row
        row = rows[place]
        due = daily and at[place] - last >= DAY
        if first or changed[place] or ignores[row] or due:
            found[place], last = True, at[place]
    return found
