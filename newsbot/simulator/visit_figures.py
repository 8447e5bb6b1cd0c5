"""Computes the figures of a run: freshness and age of known states, delays, losses, cost, load of hosts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from newsbot.recrawl.policy import DAY, HOUR, Array, Rows
from newsbot.simulator.site_world import PAGE, Flags, SiteWorld
from newsbot.simulator.visits import Visits, costs

MINUTE = 60.0
MEGABYTE = 1e6
TWELVE_HOURS = 12 * HOUR

UNITS = {
    "freshness": "%",
    "age": "min",
    "median": "min",
    "mean": "min",
    "p95": "min",
    "p99": "min",
    "lost": "%",
    "over_12h": "%",
    "visits": "a source a day",
    "requests": "a source a day",
    "megabytes": "a day",
    "useful": "%",
    "host_mean": "requests an hour",
    "host_peak": "requests an hour",
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
    """Requests in each hour of the day, per day."""
    stale_by_hour: Array
    """Share of sources whose known state is wrong, in each hour of the day."""
    hosts: dict[str, tuple[float, float]]
    """Mean and largest number of requests per hour, by host."""


def measure(world: SiteWorld, visits: Visits, way: str, kind: int | None = None) -> VisitFigures:
    """Return the figures of a run for the time after learning.

    If ``kind`` is given, only sources of this kind count. ``way`` is the kind of requests, one of
    :data:`newsbot.simulator.visits.WAYS`. The delay of an event that no visit found lasts to the end of the
    run. If an event left the feed before a visit, its delay lasts to the next visit. So a policy does not
    gain by missing events. A figure without a value is NaN.
    """
    chosen = np.ones(world.sources, bool) if kind is None else world.kinds == kind
    visits = visits.of(chosen[visits.rows])
    requests, sizes = costs(world, visits, way)
    counted = visits.at >= world.learned
    days = (world.end - world.learned) / DAY
    lived = max(_lifetime(world, chosen), 1e-9)
    delays, lost = _delays(world, visits, chosen)
    stale, age, stale_by_hour = _staleness(world, visits, chosen)
    median, p95, p99 = np.quantile(delays, (0.5, 0.95, 0.99)) if len(delays) else (np.nan,) * 3
    hosts = _load(world, visits.rows[counted], visits.at[counted], requests[counted], chosen)
    figures = {
        "freshness": 100 * (1 - stale / lived),
        "age": age / lived / MINUTE,
        "median": median / MINUTE,
        "mean": _mean(delays) / MINUTE,
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


def _mean(values: Array | Flags) -> float:
    return float(values.mean()) if len(values) else float("nan")


def _lifetime(world: SiteWorld, chosen: Flags) -> float:
    """Return the sum of the seconds for which the sources existed after learning."""
    since = np.maximum(world.born, world.learned)
    return float((np.clip(np.minimum(world.gone, world.end) - since, 0, None) * chosen).sum())


def _delays(world: SiteWorld, visits: Visits, chosen: Flags) -> tuple[Array, float]:
    """Return the delays of the events that count, and the share of lost events.

    An event is lost if it left its feed or section before the next visit. The share is a share of the events
    of feeds and sections.
    """
    # Each visit finds the events ``before`` to ``until`` of its source. They are expanded here to one row per
    # event: ``visit`` is the index of its visit, ``place`` its number at the source, ``event`` its index in
    # the world.
    owners = world.owners
    found_at = world.last[owners]
    size = visits.until - visits.before
    visit = np.repeat(np.arange(len(size)), size)
    place = np.arange(len(visit)) - np.repeat(np.cumsum(size) - size, size) + visits.before[visit]
    event = world.first[visits.rows[visit]] + place
    found_at[event] = (visits.at + world.response[visits.rows])[visit]
    window = world.window[visits.rows[visit]]
    gone = np.zeros(len(owners), bool)
    gone[event] = (window > 0) & (place < visits.until[visit] - window)
    counted = (world.moments >= world.learned) & chosen[owners]
    windowed = counted & (world.kinds[owners] != PAGE)
    lost = _mean(gone[windowed])
    return np.maximum(found_at - world.moments, 0.0)[counted], 0.0 if np.isnan(lost) else lost


def _staleness(world: SiteWorld, visits: Visits, chosen: Flags) -> tuple[float, float, Array]:
    """Return how long and by how much the known states of sources were wrong.

    The results are the seconds for which they were wrong, the integral of their ages over time, and the same
    seconds by hour of the day. The age of a source is the time since its first unknown event.
    """
    # A span begins with the first unknown event. Only the part counts that is after the response to the
    # previous visit and after the end of learning, and in which the source exists.
    rows, begins, until, floor = _stale_spans(world, visits, chosen)
    alive = np.minimum(world.gone, world.end)[rows]
    low = np.maximum(np.maximum(begins, floor), world.learned)
    high = np.minimum(until, alive)
    kept = high > low
    begins, low, high = begins[kept], low[kept], high[kept]
    age = float((((high - begins) ** 2 - (low - begins) ** 2) / 2).sum())
    return float((high - low).sum()), age, _by_hour(low, high)


def _stale_spans(world: SiteWorld, visits: Visits, chosen: Flags) -> tuple[Rows, Array, Array, Array]:
    """Return the spans of time in which sources were stale, as four arrays.

    They are: the source, the time of its first unknown event, the time at which this event became known, and
    the time of the response to the visit before.
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
    """Return the sum of the seconds of spans in each hour of the day."""

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
    table = np.bincount(world.host[rows] * hours + hour, requests, len(world.hosts) * hours)
    table = table.reshape(-1, hours)
    used = np.unique(world.host[chosen])
    return {world.hosts[one]: (float(table[one].mean()), float(table[one].max())) for one in used}
