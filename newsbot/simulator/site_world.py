"""A world of sources to visit: feeds and section pages that bring items, pages that are edited and die.

All are rows of the same arrays. An *event* is an item of a feed or section, an edit of a page, or its death.
Times are seconds. Time 0 is the midnight of a Thursday, as in POSIX times, so that policies which learn hours
and weekdays learn the true ones.

A generated world has lognormal rates. Each source has a busiest hour, a night, a quieter weekend. Items
are a Poisson process of that rate, some come in batches, sometimes there is a burst with many more. Pages
are edited mostly when they are young, change slowly afterwards, and die.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from difflib import get_close_matches
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from newsbot.errors import ArgumentError
from newsbot.recrawl.policy import DAY, HOUR, Array, Rows
from newsbot.simulator.requirements import require_memory

WEEK_HOURS: Final = 168
THURSDAY: Final = 3
KINDS: Final = ("feed", "section", "page")
FEED, SECTION, PAGE = range(3)
BYTES_AN_HOUR: Final = 48.0
"""Memory that an hour of a source takes while a world is made."""
BYTES_AN_EVENT: Final = 120.0
"""Memory that an event takes, from its making to the figures."""
ZONES: Final = (0.0, 3.0, 8.0, 17.0, 20.0)
"""Hours by which the days of newsrooms are shifted, with the share of each."""
ZONE_SHARES: Final = (0.35, 0.25, 0.1, 0.2, 0.1)
RELEASE: Final = 60.0
"""Seconds over which the items of a batch are spread."""
PAGE_SIGMA: Final = 1.0
SIZE_SIGMA: Final = 0.8
RESPONSE_SIGMA: Final = 0.6
Flags = NDArray[np.bool_]


def _of(default: float, low: float, high: float, about: str) -> Any:
    return field(default=default, metadata={"low": low, "high": high, "about": about})


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteSettings:
    """The settings of a generated world. The metadata of each field have its meaning and limits."""

    feeds: int = _of(150, 0, 100_000, "feeds")
    sections: int = _of(50, 0, 100_000, "section pages")
    pages: int = _of(0, 0, 100_000, "article pages, looked at for edits")
    days: int = _of(14, 2, 400, "length of the run")
    learn: int = _of(5, 0, 399, "first days, not counted: policies learn")
    window: int = _of(20, 1, 10_000, "items that a feed shows")
    section_window: int = _of(40, 1, 10_000, "links that a section shows")
    median: float = _of(3.4, 0.001, 1e4, "items a day of the source in the middle")
    sigma: float = _of(1.6, 0, 3, "of the logarithm of that rate")
    most: float = _of(1500, 0.001, 1e5, "items a day of the busiest sources")
    diurnal: float = _of(1, 0, 3, "depth of the night; 0: all hours alike")
    weekly: float = _of(1, 0, 1, "quiet of the weekend; 0: all days alike")
    batching: float = _of(0.2, 0, 1, "share of sources that release items in batches")
    batch: float = _of(4, 1, 1000, "mean items of a batch")
    bursts: float = _of(1, 0, 100, "bursts of a source in a week")
    burst_factor: float = _of(12, 1, 1000, "by how much more is published in a burst")
    burst_hours: float = _of(2, 0.01, 168, "mean length of a burst")
    burst_most: float = _of(150, 0, 1e5, "items an hour that a burst adds at most")
    changes: float = _of(0.1, 0, 1e4, "changes a day of the page in the middle, for as long as it lives")
    edits: float = _of(0.8, 0, 100, "mean edits of a young page besides")
    edit_hours: float = _of(6, 0.01, 1000, "mean age of a page at such an edit")
    born: float = _of(0.5, 0, 1, "share of the pages that are published during the run")
    deaths: float = _of(0.002, 0, 1, "share of the pages that die in a day")
    feed_bytes: float = _of(40_000, 1, 1e8, "median size of a feed")
    page_bytes: float = _of(90_000, 1, 1e8, "median size of a section or page")
    response: float = _of(0.3, 0, 600, "median seconds that an answer takes")
    ignoring: float = _of(0.1, 0, 1, "share of hosts whose servers ignore validators")
    hosts: int = _of(50, 1, 100_000, "hosts that the sources are on")
    host_delay: float = _of(1, 0, 3600, "seconds between requests to a host")

    def __post_init__(self) -> None:
        for one in fields(self):
            value, low, high = getattr(self, one.name), one.metadata["low"], one.metadata["high"]
            if not low <= value <= high:
                raise ArgumentError(f"--world {one.name}={value:g}: must be {low:g} to {high:g}")
        if self.feeds + self.sections + self.pages < 1:
            raise ArgumentError("--world: there must be a feed, a section or a page")
        if self.learn >= self.days:
            raise ArgumentError(f"--world learn={self.learn}: must be less than days={self.days}")


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteWorld:
    """All events of a world, independent of visits. Arrays from ``kinds`` on have a row for each source."""

    begin: float
    """When visits begin."""
    learned: float
    """The time from which results count. Policies learn before it."""
    end: float
    kinds: Rows
    """Indexes in :data:`KINDS`."""
    window: Rows
    """Number of items that a feed or section shows; 0: a page, which shows its current state."""
    born: Array
    """When a source becomes known."""
    gone: Array
    """When a source dies or its record ends; infinite: after the end of the run."""
    mortal: Flags
    """True: a visit after ``gone`` finds the page dead. False: the record of the source ends there."""
    size: Array
    """Bytes of a whole answer."""
    response: Array
    """Seconds that an answer takes."""
    ignores: Flags
    """True: the server ignores validators and always sends the whole body."""
    host: Rows
    hosts: Sequence[str]
    host_delay: float
    """Seconds between two requests to a host, at least."""
    hourly: Array
    """Events an hour in each of the 168 hours of a week, Monday first (batches and bursts apart)."""
    moments: Array
    """Of all events, by source and time."""
    first: Rows
    """Index in ``moments`` of the first event of each source, with one more entry for the end."""
    keys: Array = field(repr=False)
    """Sort keys by source, then time, to find events of many sources in one call."""

    @property
    def sources(self) -> int:
        """Number of sources."""
        return len(self.kinds)

    @property
    def owners(self) -> Rows:
        """The source of each event."""
        return np.repeat(np.arange(self.sources, dtype=np.intp), np.diff(self.first))

    @property
    def last(self) -> Array:
        """When the last visit of each source may be made."""
        return np.where(self.mortal, self.end, np.minimum(self.gone, self.end))

    def published(self, rows: Rows, at: Array) -> Rows:
        """Return how many events the sources ``rows`` had had by the times ``at``."""
        return np.searchsorted(self.keys, rows * (2 * self.end) + at, side="right") - self.first[rows]

    def rates(self, rows: Rows, at: Array, hours: int) -> Array:
        """Return the true rates (:class:`newsbot.recrawl.index.Rates`)."""
        count = (at // HOUR).astype(np.intp)[:, None] + np.arange(hours) + THURSDAY * 24
        return np.asarray(self.hourly[rows[:, None], count % WEEK_HOURS])

    def a_day(self) -> Array:
        """Return the events of each source per day of the run. A policy cannot know them in advance.

        A source without events counts as one with half an event in all that time.
        """
        return np.asarray(np.maximum(np.diff(self.first), 0.5) / self._lived * DAY)

    @property
    def existing(self) -> float:
        """Mean number of sources at a time."""
        return float(self._lived.sum() / (self.end - self.begin))

    @property
    def _lived(self) -> Array:
        lived = np.minimum(self.gone, self.end) - np.maximum(self.born, self.begin)
        return np.asarray(np.maximum(lived, HOUR))


class Worlds(Protocol):
    """A world for each seed."""

    def of_seed(self, seed: int) -> SiteWorld:
        """Return the world of a seed."""

    def about(self) -> str:
        """Return what the worlds are, in one line."""


class Generated:
    """Generated worlds of the same settings.

    Raises :class:`newsbot.errors.UserError` if a world is too large for memory, before it is made.
    """

    def __init__(self, settings: SiteSettings) -> None:
        self._settings = settings
        sources = settings.feeds + settings.sections
        mean = min(settings.most, settings.median * np.exp(settings.sigma**2 / 2))
        items = 1.5 * sources * mean + settings.pages * settings.changes * np.exp(PAGE_SIGMA**2 / 2)
        needed = BYTES_AN_EVENT * (items * settings.days + settings.pages * settings.edits)
        needed += BYTES_AN_HOUR * 24 * settings.days * (sources + settings.pages)
        require_memory(needed, f"a world of {sources + settings.pages:,} sources and {settings.days} days")

    def of_seed(self, seed: int) -> SiteWorld:
        """See :class:`Worlds`."""
        return make_sites(self._settings, seed)

    def about(self) -> str:
        """See :class:`Worlds`."""
        one = self._settings
        kinds = ((one.feeds, "feeds"), (one.sections, "section pages"), (one.pages, "article pages"))
        what = ", ".join(f"{count:,} {name}" for count, name in kinds if count)
        return f"{what} on {one.hosts:,} hosts; {one.days} days, the first {one.learn} not counted"


def read_settings(text: str) -> SiteSettings:
    """Return the settings in ``key=value,key=value``, with defaults for the rest.

    Raises :class:`ArgumentError` that names the key and what is allowed.
    """
    known = {one.name: one for one in fields(SiteSettings)}
    given: dict[str, Any] = {}
    for pair in filter(None, (part.strip() for part in text.split(","))):
        name, equals, value = (part.strip() for part in pair.partition("="))
        if name not in known:
            near = get_close_matches(name, known, 1)
            hint = f" (did you mean {near[0]!r}?)" if near else ""
            raise ArgumentError(f"--world: unknown key {name!r}{hint}; allowed: {', '.join(known)}")
        if name in given:
            raise ArgumentError(f"--world: {name} is given twice")
        given[name] = _number(name, value if equals else "", whole=known[name].type == "int")
    return SiteSettings(**given)


def _number(name: str, text: str, *, whole: bool) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value) or (whole and value != int(value)):
        raise ArgumentError(f"--world {name}={text}: is not a {'whole ' if whole else ''}number")
    return int(value) if whole else value


def sort_events(owners: Rows, moments: Array, count: int, end: float) -> tuple[Array, Rows, Array]:
    """Return moments by source and time, where each source begins, and the keys of :class:`SiteWorld`."""
    order = np.lexsort((moments, owners))
    owners, moments = owners[order], moments[order]
    first = np.concatenate([[0], np.cumsum(np.bincount(owners, minlength=count))]).astype(np.intp)
    return moments, first, owners * (2 * end) + moments


def make_sites(settings: SiteSettings, seed: int) -> SiteWorld:
    """Return a generated world; the same settings and seed give the same one."""
    draws = iter(np.random.default_rng([seed, 8]).spawn(5))
    kinds = np.repeat([FEED, SECTION, PAGE], [settings.feeds, settings.sections, settings.pages])
    count, end = len(kinds), settings.days * DAY
    page = kinds == PAGE
    born, gone = _lives(settings, page, next(draws))
    hourly = _rates(settings, page, next(draws))
    owners, moments = _publish(settings, hourly, page, next(draws))
    more_owners, more_moments = _edits(settings, page, born, next(draws))
    dying = np.flatnonzero(gone < end)
    owners = np.concatenate([owners, more_owners, dying])
    moments = np.concatenate([moments, more_moments, gone[dying]])
    lives = (moments >= born[owners]) & (moments <= gone[owners]) & (moments < end)
    moments, first, keys = sort_events(owners[lives], moments[lives], count, end)
    draw = next(draws)
    host = draw.permutation(count) % settings.hosts
    ignoring = draw.uniform(size=settings.hosts) < settings.ignoring
    slowness = np.exp(draw.normal(0, RESPONSE_SIGMA, count))
    median_size = np.array([settings.feed_bytes, settings.page_bytes, settings.page_bytes])[kinds]
    return SiteWorld(
        begin=0.0,
        learned=settings.learn * DAY,
        end=end,
        kinds=kinds,
        window=np.array([settings.window, settings.section_window, 0], np.intp)[kinds],
        born=born,
        gone=gone,
        mortal=page,
        size=median_size * np.exp(draw.normal(0, SIZE_SIGMA, count)),
        response=settings.response * slowness,
        ignores=ignoring[host],
        host=host,
        hosts=[f"host {number + 1}" for number in range(settings.hosts)],
        host_delay=settings.host_delay,
        hourly=hourly,
        moments=moments,
        first=first,
        keys=keys,
    )


def _lives(settings: SiteSettings, page: Flags, draw: np.random.Generator) -> tuple[Array, Array]:
    """Return birth and death of each source. Feeds and sections exist during the whole run."""
    count, end = len(page), settings.days * DAY
    later = page & (draw.uniform(size=count) < settings.born)
    born = np.where(later, draw.uniform(0, end, count), 0.0)
    if not settings.deaths:
        return born, np.full(count, np.inf)
    return born, np.where(page, born + draw.exponential(DAY / settings.deaths, count), np.inf)


def _rates(settings: SiteSettings, page: Flags, draw: np.random.Generator) -> Array:
    """Return events an hour of each source in each hour of a week."""
    count = len(page)
    normal = draw.normal(size=count)
    items = np.minimum(settings.median * np.exp(settings.sigma * normal), settings.most)
    a_day = np.where(page, settings.changes * np.exp(PAGE_SIGMA * normal), items)
    busiest = draw.choice(ZONES, count, p=ZONE_SHARES) + draw.normal(13.0, 2.5, count)
    sharpness = settings.diurnal * draw.uniform(0.6, 2.2, count)[:, None]
    angle = 2 * np.pi * (np.arange(24) + 0.5 - busiest[:, None]) / 24
    by_hour = np.exp(sharpness * np.cos(angle)) + 0.05
    by_hour *= 24 / by_hour.sum(axis=1, keepdims=True)
    weekend = draw.uniform(0.25, 1.0, (count, 1)) * draw.uniform(0.85, 1.15, (count, 2))
    by_day = np.ones((count, 7))
    by_day[:, 5:] += settings.weekly * (np.minimum(weekend, 1.0) - 1)
    by_day *= 7 / by_day.sum(axis=1, keepdims=True)
    week = by_day[:, :, None] * by_hour[:, None, :]
    return np.asarray((a_day[:, None, None] / 24 * week).reshape(count, WEEK_HOURS))


def _publish(
    settings: SiteSettings, hourly: Array, page: Flags, draw: np.random.Generator
) -> tuple[Rows, Array]:
    """Return the sources and moments of items and of slow changes, in no order."""
    count, hours = len(hourly), settings.days * 24
    rates = hourly[:, (np.arange(hours) + THURSDAY * 24) % WEEK_HOURS]
    more = np.minimum(rates * (settings.burst_factor - 1), settings.burst_most)
    rates = rates + more * _bursts(settings, page, draw)
    batched = ~page & (draw.uniform(size=count) < settings.batching)
    mean_size = np.where(batched, settings.batch, 1.0)
    releases = draw.poisson(rates / mean_size[:, None]).ravel()
    cell = np.repeat(np.arange(count * hours), releases)
    moments = (cell % hours + draw.uniform(size=len(cell))) * HOUR
    owners = cell // hours
    sizes = np.where(batched[owners], draw.geometric(1 / settings.batch, len(cell)), 1)
    together = np.repeat(batched[owners], sizes)
    owners, moments = np.repeat(owners, sizes), np.repeat(moments, sizes)
    return owners, moments + together * draw.uniform(0, RELEASE, len(moments))


def _bursts(settings: SiteSettings, page: Flags, draw: np.random.Generator) -> Array:
    """Return the share of each hour of each source that is in a burst."""
    hours = settings.days * 24
    share = np.zeros((len(page), hours))
    number = np.where(page, 0, draw.poisson(settings.bursts * settings.days / 7, len(page)))
    owners = np.repeat(np.arange(len(page)), number)
    begins = draw.uniform(0, hours, len(owners))
    ends = np.minimum(begins + draw.exponential(settings.burst_hours, len(owners)), hours)
    for owner, begin, end in zip(owners, begins, ends, strict=True):
        hour = np.arange(int(begin), int(np.ceil(end)))
        inside = np.minimum(hour + 1, end) - np.maximum(hour, begin)
        share[owner, hour] = np.maximum(share[owner, hour], inside)
    return share


def _edits(settings: SiteSettings, page: Flags, born: Array, draw: np.random.Generator) -> tuple[Rows, Array]:
    """Return pages and moments of the edits of young pages; pages that exist from the start are old."""
    number = np.where(page & (born > 0), draw.poisson(settings.edits, len(page)), 0)
    owners = np.repeat(np.arange(len(page)), number)
    return owners, born[owners] + draw.exponential(settings.edit_hours * HOUR, len(owners))
