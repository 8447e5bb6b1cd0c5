"""The figures of a run: freshness and age of known states, delays and losses, cost, load of hosts."""

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
"""Each figure with its unit; docs/simulator.md says what they mean."""


@dataclass(frozen=True, slots=True)
class VisitFigures:
    """The figures of one run, and what charts of it need."""

    figures: dict[str, float]
    delays: Array
    """Sorted seconds of all events that count."""
    requests_by_hour: Array
    """Requests in each hour of the day, per day."""
    stale_by_hour: Array
    """Share of sources whose known state is wrong, in each hour of the day."""
    hosts: dict[str, tuple[float, float]]
    """Mean and most requests an hour of each host."""


def measure(world: SiteWorld, visits: Visits, way: str, kind: int | None = None) -> VisitFigures:
    """Return the figures of a run after the days of learning, of the sources of one kind only if it is given.

    The delay of an event without a visit lasts to the end of the run, that of a lost one to the visit that
    missed it. So no policy gains by missing events. A figure without a value is NaN.
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
    """Return the seconds in which the sources existed after learning, in all."""
    since = np.maximum(world.born, world.learned)
    return float((np.clip(np.minimum(world.gone, world.end) - since, 0, None) * chosen).sum())


def _delays(world: SiteWorld, visits: Visits, chosen: Flags) -> tuple[Array, float]:
    """Return the delays of the events that count, and the share that had left the feed or section."""
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
    """Return the seconds in which the known state of sources was wrong, the sum of their ages over time,
    and those seconds by hour of the day. An age is the time since the first event that is not known."""
    rows, begins, until, floor = _stale_spans(world, visits, chosen)
    alive = np.minimum(world.gone, world.end)[rows]
    low = np.maximum(np.maximum(begins, floor), world.learned)
    high = np.minimum(until, alive)
    kept = high > low
    begins, low, high = begins[kept], low[kept], high[kept]
    age = float((((high - begins) ** 2 - (low - begins) ** 2) / 2).sum())
    return float((high - low).sum()), age, _by_hour(low, high)


def _stale_spans(world: SiteWorld, visits: Visits, chosen: Flags) -> tuple[Rows, Array, Array, Array]:
    """Return, for each span in which a source was stale: the source, its first event that was not known,
    when that became known, and when the visit before was answered."""
    known_at = visits.at + world.response[visits.rows]
    first_of_row = np.r_[True, visits.rows[1:] != visits.rows[:-1]] if len(visits.rows) else np.zeros(0, bool)
    answered = np.where(first_of_row, -np.inf, np.r_[-np.inf, known_at[:-1]][: len(known_at)])
    found = visits.until > visits.before
    rows = visits.rows[found]
    begins = world.moments[world.first[rows] + visits.before[found]]
    # after the last visit of each source
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
    """Return the seconds of spans in each hour of the day."""

    def until(at: Array) -> Array:  # seconds of each hour of the day, from time 0 until then
        hours = np.arange(24) * HOUR
        return np.asarray([(at // DAY * HOUR + np.clip(at % DAY - hour, 0, HOUR)).sum() for hour in hours])

    return until(high) - until(low)


def _load(
    world: SiteWorld, rows: Rows, at: Array, requests: Array, chosen: Flags
) -> dict[str, tuple[float, float]]:
    """Return the mean and the most requests an hour of each host."""
    hours = max(1, int(np.ceil((world.end - world.learned) / HOUR)))
    hour = np.minimum(((at - world.learned) // HOUR).astype(np.intp), hours - 1)
    table = np.bincount(world.host[rows] * hours + hour, requests, len(world.hosts) * hours)
    table = table.reshape(-1, hours)
    used = np.unique(world.host[chosen])
    return {world.hosts[one]: (float(table[one].mean()), float(table[one].max())) for one in used}
