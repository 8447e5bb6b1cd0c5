"""Runs a polling policy on a world of sources, and computes the costs and the figures of the visits.

A host gets one request at a time. The number of requests and bytes of a visit depends on the kind of
requests:

* ``conditional``: GET with validators. A server that supports them responds with 304 if nothing has changed.
  If the last complete response is a day old, a GET without validators is sent, as the crawler does.
* ``head``: HEAD, then GET if something has changed or if the server does not support validators.
* ``plain``: GET without validators.

The figures are the freshness and age of known states, delays, losses, costs, and the load of hosts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple, Protocol, runtime_checkable

import numpy as np

from newsbot.apps.simulator.files import Columns
from newsbot.apps.simulator.requirements import compiled
from newsbot.apps.simulator.site_world import KINDS, PAGE, Flags, SiteWorld
from newsbot.errors import UserError
from newsbot.recrawl.planning import DAY, HOUR, SHORTEST, Array, Polled, PollPolicy, Rows

WAYS: Final = ("conditional", "head", "plain")
HEADERS: Final = 400.0
"""Bytes of a response without a body: a 304, or a response to HEAD."""
NOT_FOUND: Final = 1500.0
"""Bytes of the response for a page that no longer exists."""


class Visits(NamedTuple):
    """All visits of a run, sorted by source and time."""

    rows: Rows
    """Index of the source of each visit."""
    at: Array
    """Time of each request. The response shows the state of the source at this time, but arrives later."""
    before: Rows
    """Number of events of the source up to its previous visit."""
    until: Rows
    """Number of events of the source up to this visit."""
    wait: Array
    """Seconds that each visit waited for its host or for a free server."""

    def of(self, kept: Flags | Rows) -> Visits:
        """Return the visits that ``kept`` selects, or all visits in the order of ``kept``."""
        return Visits(self.rows[kept], self.at[kept], self.before[kept], self.until[kept], self.wait[kept])


@runtime_checkable
class WholeRun(Protocol):
    """A strategy that computes all visits of a run at once, such as push.

    Other strategies compute the time of the next visit after each visit.
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
    # on each other, and one call of the policy can plan all their next visits.
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
        self._turns = make_turns(world, servers=0)
        self._made: list[Visits] = []

    def step(self, until: float) -> int:
        """Make the visits that are due before the time ``until``, and return their number."""
        due = self._due
        rows = np.flatnonzero(due < until)
        # With a stable sort, sources that are due at the same time keep their order. So a run can be repeated
        # exactly.
        rows = rows[np.argsort(due[rows], kind="stable")]
        wanted = due[rows]
        at = take_turns(self._turns, rows, wanted)
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
        self._due[rows] = np.inf  # removed pages are not visited again; all other sources get a time below
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
        whole = Visits(*(np.concatenate(columns) for columns in zip(*made, strict=True)))
        return whole.of(np.lexsort((whole.at, whole.rows)))


class Turns(NamedTuple):
    """The queue of visits for hosts and servers. The last three arrays are updated."""

    hosts: Rows
    """The host of each source."""
    response: Array
    """Duration of a response of each source, in seconds."""
    gone: Array
    """The time at which each source ends."""
    delay: float
    """Minimum number of seconds between two requests to a host."""
    begun: Array
    """The time of the last visit of each source."""
    free_hosts: Array
    """The time from which each host accepts the next request."""
    free_servers: Array
    """The time from which each server is free. Without servers, their number is not limited."""


def make_turns(world: SiteWorld, *, servers: int) -> Turns:
    """Return the queue before the first visit. ``servers`` is the number of servers (0: no limit)."""
    begun, hosts, free = (np.full(count, -np.inf) for count in (world.sources, len(world.hosts), servers))
    return Turns(world.host, world.response, world.gone, world.host_delay, begun, hosts, free)


@compiled
def take_turns(turns: Turns, rows: Rows, wanted: Array) -> Array:
    """Return the time at which each visit begins. It is NaN for visits that are not made.

    A host gets one request at a time, and a server sends one request at a time. ``rows`` contains the
    sources, and ``wanted`` contains the sorted times at which the visits are wanted. A visit is not made if
    an earlier visit of its source is still waiting at this time, or if the source has ended.
    """
    at = np.full(len(rows), np.nan)
    servers = turns.free_servers
    for place in range(len(rows)):
        row = rows[place]
        # Either the source has ended, or its last visit has not begun yet and will also see the event.
        if turns.begun[row] >= min(wanted[place], turns.gone[row]):
            continue
        host, response = turns.hosts[row], turns.response[row]
        begin = max(wanted[place], turns.free_hosts[host])
        if len(servers):
            server = np.argmin(servers)
            begin = max(begin, servers[server])
            servers[server] = begin + response
        at[place] = turns.begun[row] = begin
        turns.free_hosts[host] = begin + max(turns.delay, response)
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
        # A visit is a HEAD request, and a GET if the source has changed.
        requests += whole & ~dead
        size += HEADERS * whole
    return requests, np.where(dead, NOT_FOUND, size)


@compiled
def _whole(rows: Rows, at: Array, changed: Flags, ignores: Flags, daily: bool) -> Flags:
    """Return True for each visit that gets a complete response. Visits must be sorted by source and time.

    With ``daily``, a complete response is requested if the last one is a day old.
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


MINUTE = 60.0
MEGABYTE = 1e6
TWELVE_HOURS = 12 * HOUR

UNITS = {
    "freshness": "%",
    "age": "min",
    "median": "min",
    "mean": "min",
    "read": "min",
    "p95": "min",
    "p99": "min",
    "lost": "%",
    "over_12h": "%",
    "visits": "per source and day",
    "requests": "per source and day",
    "megabytes": "per day",
    "useful": "%",
    "host_mean": "requests per hour",
    "host_peak": "requests per hour",
    "wait": "s",
}
"""The unit of each figure. docs/simulator.md explains the figures."""


@dataclass(frozen=True, slots=True)
class VisitFigures:
    """The figures of one run, and data for its charts."""

    figures: dict[str, float]
    """Figures by name, in the units of :data:`UNITS`."""
    delays: Array
    """Delays in seconds of all events that count, sorted."""
    requests_by_hour: Array
    """Mean number of requests in each hour of the day."""
    stale_by_hour: Array
    """Share of sources whose known state is wrong, in each hour of the day."""
    hosts: dict[str, tuple[float, float]]
    """Mean and largest number of requests per hour, by host."""


def measure(world: SiteWorld, visits: Visits, way: str, kind: int | None = None) -> VisitFigures:
    """Return the figures of a run for the time after learning.

    If ``kind`` is not None, only sources of this kind count. ``way`` is the kind of requests, one of
    :data:`WAYS`. If an event left the feed before the next visit, its delay ends at this visit. If there is
    no later visit, its delay ends with the run. So a policy has no advantage from missed events. A figure
    without a value is NaN.
    """
    chosen = np.ones(world.sources, bool) if kind is None else world.kinds == kind
    visits = visits.of(chosen[visits.rows])
    requests, sizes = costs(world, visits, way)
    counted = visits.at >= world.learned
    days = (world.end - world.learned) / DAY
    lived = max(_lifetime(world, chosen), 1e-9)
    delays, reads, lost = _delays(world, visits, chosen)
    stale, age, stale_by_hour = _staleness(world, visits, chosen)
    median, p95, p99 = np.quantile(delays, (0.5, 0.95, 0.99)) if len(delays) else (np.nan,) * 3
    hosts = _load(world, visits.rows[counted], visits.at[counted], requests[counted], chosen)
    figures = {
        "freshness": 100 * (1 - stale / lived),
        "age": age / lived / MINUTE,
        "median": median / MINUTE,
        "mean": _mean(delays) / MINUTE,
        "read": _mean(delays, reads) / MINUTE,
        "p95": p95 / MINUTE,
        "p99": p99 / MINUTE,
        "lost": 100 * lost,
        "over_12h": 100 * _mean(delays > TWELVE_HOURS),
        "visits": counted.sum() / lived * DAY,
        "requests": requests[counted].sum() / lived * DAY,
        "megabytes": sizes[counted].sum() / MEGABYTE / days,
        "useful": 100 * _mean((visits.until > visits.before)[counted]),
        "host_mean": float(np.mean([mean for mean, _ in hosts.values()])),
        "host_peak": max(most for _, most in hosts.values()),
        "wait": _mean(visits.wait[counted]),
    }
    hours = (visits.at[counted] % DAY // HOUR).astype(int)
    return VisitFigures(
        {name: float(value) for name, value in figures.items()},
        np.sort(delays),
        np.bincount(hours, requests[counted], 24) / days,
        stale_by_hour / lived * 24,
        hosts,
    )


def _mean(values: Array | Flags, weights: Array | None = None) -> float:
    return float(np.average(values, weights=weights)) if len(values) else float("nan")


def _lifetime(world: SiteWorld, chosen: Flags) -> float:
    """Return the sum of the seconds for which the sources existed after learning."""
    since = np.maximum(world.born, world.learned)
    return float((np.clip(np.minimum(world.gone, world.end) - since, 0, None) * chosen).sum())


def _delays(world: SiteWorld, visits: Visits, chosen: Flags) -> tuple[Array, Array, float]:
    """Return the delays and the reads of the events that count, and the share of lost events.

    An event is lost if it left its feed or section before the next visit. Events of pages cannot be lost, so
    they do not count in the share.
    """
    owners, (found_at, _, gone) = world.owners, _found(world, visits)
    counted = (world.moments >= world.learned) & chosen[owners]
    windowed = counted & (world.kinds[owners] != PAGE)
    lost = _mean(gone[windowed])
    delays = np.maximum(found_at - world.moments, 0.0)[counted]
    return delays, world.useful[owners[counted]], 0.0 if np.isnan(lost) else lost


def history_of(world: SiteWorld, visits: Visits) -> Columns:
    """Return each event that a visit found: its source, its time, and the time of the response.

    ``lost`` is true if it left its feed or section before the visit. Times are in seconds.
    """
    found_at, found, gone = _found(world, visits)
    return {
        "source": world.owners[found] + 1,
        "kind": np.array(KINDS)[world.kinds[world.owners[found]]],
        "changed": world.moments[found],
        "seen": found_at[found],
        "lost": gone[found],
    }


def _found(world: SiteWorld, visits: Visits) -> tuple[Array, Flags, Flags]:
    """Return for each event the time at which a visit found it, if one did, and if it was lost before.

    The time of an event that was not found is that of the last possible visit.
    """
    # Each visit finds the events ``before`` to ``until`` of its source. Here the arrays are expanded to one
    # row per event: ``visit`` is the index of its visit, ``place`` is its number at the source, and ``event``
    # is its index in the world.
    found_at = world.last[world.owners]
    size = visits.until - visits.before
    visit = np.repeat(np.arange(len(size)), size)
    # np.cumsum(size) - size is the index of the first event of each visit, so the difference counts 0, 1, 2 …
    # within a visit.
    place = np.arange(len(visit)) - np.repeat(np.cumsum(size) - size, size) + visits.before[visit]
    event = world.first[visits.rows[visit]] + place
    found_at[event] = (visits.at + world.response[visits.rows])[visit]
    window = world.window[visits.rows[visit]]
    found, gone = np.zeros(len(found_at), bool), np.zeros(len(found_at), bool)
    found[event] = True
    # A feed shows only the last ``window`` events. Older events were not in the response.
    gone[event] = (window > 0) & (place < visits.until[visit] - window)
    return found_at, found, gone


def _staleness(world: SiteWorld, visits: Visits, chosen: Flags) -> tuple[float, float, Array]:
    """Return three sums over all sources: stale seconds, age, and stale seconds by hour of the day.

    A source is stale while an event is unknown. The age of a source is the time since its first unknown
    event. The integral of the age over time is returned.
    """
    # A span begins with the first unknown event. The parts of a span before the response to the previous
    # visit, before the end of learning, and after the end of the source do not count.
    rows, begins, until, floor = _stale_spans(world, visits, chosen)
    alive = np.minimum(world.gone, world.end)[rows]
    low = np.maximum(np.maximum(begins, floor), world.learned)
    high = np.minimum(until, alive)
    kept = high > low
    begins, low, high = begins[kept], low[kept], high[kept]
    # The age grows linearly from ``begins`` on, so its integral from ``low`` to ``high`` is a difference of
    # squares, divided by 2.
    age = float((((high - begins) ** 2 - (low - begins) ** 2) / 2).sum())
    return float((high - low).sum()), age, _by_hour(low, high)


def _stale_spans(world: SiteWorld, visits: Visits, chosen: Flags) -> tuple[Rows, Array, Array, Array]:
    """Return the spans of time in which sources were stale.

    The four arrays contain the source, the time of its first unknown event, the time at which this event
    became known, and the time of the response to the previous visit.
    """
    known_at = visits.at + world.response[visits.rows]
    first_of_row = np.r_[True, visits.rows[1:] != visits.rows[:-1]] if len(visits.rows) else np.zeros(0, bool)
    answered = np.where(first_of_row, -np.inf, np.r_[-np.inf, known_at[:-1]][: len(known_at)])
    found = visits.until > visits.before
    rows = visits.rows[found]
    begins = world.moments[world.first[rows] + visits.before[found]]
    # Events after the last visit of a source never become known.
    seen, last = np.zeros(world.sources, np.intp), np.full(world.sources, -np.inf)
    seen[visits.rows], last[visits.rows] = visits.until, known_at
    left = np.flatnonzero((seen < np.diff(world.first)) & chosen)
    return (
        np.concatenate([rows, left]),
        np.concatenate([begins, world.moments[world.first[left] + seen[left]]]),
        np.concatenate([known_at[found], np.full(len(left), world.end)]),
        np.concatenate([answered[found], last[left]]),
    )


def _by_hour(low: Array, high: Array) -> Array:
    """Return the number of seconds of all spans in each hour of the day."""

    def until(at: Array) -> Array:  # the result for spans from time 0 to ``at``
        hours = np.arange(24) * HOUR
        return np.asarray([(at // DAY * HOUR + np.clip(at % DAY - hour, 0, HOUR)).sum() for hour in hours])

    return until(high) - until(low)


def _load(
    world: SiteWorld, rows: Rows, at: Array, requests: Array, chosen: Flags
) -> dict[str, tuple[float, float]]:
    """Return the mean and the largest number of requests per hour of each host."""
    hours = max(1, int(np.ceil((world.end - world.learned) / HOUR)))
    hour = np.minimum(((at - world.learned) // HOUR).astype(np.intp), hours - 1)
    # Host and hour are counted as one number, and then split into rows and columns.
    table = np.bincount(world.host[rows] * hours + hour, requests, len(world.hosts) * hours)
    table = table.reshape(-1, hours)
    used = np.unique(world.host[chosen])
    return {world.hosts[one]: (float(table[one].mean()), float(table[one].max())) for one in used}
