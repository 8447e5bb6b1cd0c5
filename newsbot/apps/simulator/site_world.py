"""Makes worlds of sources to visit: generated worlds, and worlds from the records of the crawler.

A world contains feeds and section pages with new items, and pages with edits. All sources are rows of the
same arrays. An *event* is a new item of a feed or section, an edit of a page, or the removal of a page. Times
are seconds. Time 0 is midnight of a Thursday, as in POSIX time, so that policies learn the right hours and
weekdays.

In a generated world the rates of the sources have a lognormal distribution. Each source has a busiest hour, a
quiet night and a quieter weekend. Its items are a Poisson process with this rate. Some sources release items
in batches, and sometimes there is a burst with many more items. Most edits of a page are made while it is
young. Later it changes slowly, and in the end it may be removed.

The crawler records the number of items that appeared between two polls, but not their times. Each seed gives
these items random times between the two polls, so the confidence intervals include this uncertainty. Items
that appeared in a feed and left it between two polls were not recorded, so they are missing. A source exists
from its first to its last poll.

A polling policy is run on a world, and the costs and the figures of its visits are computed.

A host gets one request at a time. The number of requests and bytes of a visit depends on the kind of
requests:

* ``conditional``: GET with validators. A server that supports them responds with 304 if nothing has changed.
  If the last complete response is a day old, a GET without validators is sent, as the crawler does.
* ``head``: HEAD, then GET if something has changed or if the server does not support validators.
* ``plain``: GET without validators.

The figures are the freshness and age of known states, delays, losses, costs, and the load of hosts.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from itertools import groupby
from statistics import median
from typing import Any, Final, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from newsbot.apps.simulator.model import Columns, compiled, require_memory
from newsbot.errors import ArgumentError, UserError, did_you_mean
from newsbot.items import Kind, PageRecord
from newsbot.recrawl.planning import DAY, HOUR, SHORTEST, Array, Polled, Rows
from newsbot.recrawl.policies import visits as page_visits
from newsbot.storage.base import Poll
from newsbot.urls import host_key

WEEK_HOURS: Final = 168
THURSDAY: Final = 3
KINDS: Final = ("feed", "section", "page")
FEED, SECTION, PAGE = range(3)
BYTES_AN_HOUR: Final = 48.0
"""Bytes of memory for one hour of one source while a world is generated."""
BYTES_AN_EVENT: Final = 120.0
"""Bytes of memory for one event, until the figures are computed."""
ZONES: Final = (0.0, 3.0, 8.0, 17.0, 20.0)
"""Hours by which the day of a newsroom is shifted in each time zone."""
ZONE_SHARES: Final = (0.35, 0.25, 0.1, 0.2, 0.1)
"""Share of the sources in each zone of :data:`ZONES`."""
RELEASE: Final = 60.0
"""Number of seconds within which all items of a batch appear."""
PAGE_SIGMA: Final = 1.0
"""Standard deviation of the logarithm of the rate of changes of pages."""
SIZE_SIGMA: Final = 0.8
"""Standard deviation of the logarithm of the size of a response."""
RESPONSE_SIGMA: Final = 0.6
"""Standard deviation of the logarithm of the response time."""
Flags = NDArray[np.bool_]


def _of(default: float, low: float, high: float, about: str) -> Any:
    return field(default=default, metadata={"low": low, "high": high, "about": about})


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteSettings:
    """The settings of a generated world. The metadata of each field contain its meaning and limits.

    Raises :class:`ArgumentError` for a value outside the limits, and for values that contradict each other.
    """

    feeds: int = _of(150, 0, 100_000, "number of feeds")
    sections: int = _of(50, 0, 100_000, "number of section pages")
    pages: int = _of(0, 0, 100_000, "number of article pages")
    days: int = _of(14, 2, 400, "length of the run in days")
    learn: int = _of(5, 0, 399, "days at the start in which policies learn; they are not counted")
    window: int = _of(20, 1, 10_000, "number of items that a feed shows")
    section_window: int = _of(40, 1, 10_000, "number of links that a section page shows")
    median: float = _of(3.4, 0.001, 1e4, "median number of items per day of a source")
    sigma: float = _of(1.6, 0, 3, "standard deviation of the logarithm of the number of items per day")
    most: float = _of(1500, 0.001, 1e5, "largest number of items per day of a source")
    diurnal: float = _of(1, 0, 3, "how quiet nights are; 0: all hours are equal")
    weekly: float = _of(1, 0, 1, "how quiet weekends are; 0: all days are equal")
    batching: float = _of(0.2, 0, 1, "share of sources that release items in batches")
    batch: float = _of(4, 1, 1000, "mean number of items in a batch")
    bursts: float = _of(1, 0, 100, "number of bursts of a source per week")
    burst_factor: float = _of(12, 1, 1000, "factor by which the rate of items rises in a burst")
    burst_hours: float = _of(2, 0.01, 168, "mean length of a burst in hours")
    burst_most: float = _of(150, 0, 1e5, "largest number of items per hour that a burst adds")
    changes: float = _of(0.1, 0, 1e4, "median number of changes per day of an existing page")
    edits: float = _of(0.8, 0, 100, "mean number of additional edits while a page is young")
    edit_hours: float = _of(6, 0.01, 1000, "mean age of a page at an additional edit, in hours")
    born: float = _of(0.5, 0, 1, "share of pages that are published during the run")
    deaths: float = _of(0.002, 0, 1, "share of pages that are removed per day")
    feed_bytes: float = _of(40_000, 1, 1e8, "median size of a feed in bytes")
    page_bytes: float = _of(90_000, 1, 1e8, "median size of a section page or article page in bytes")
    response: float = _of(0.3, 0, 600, "median response time in seconds")
    useful: float = _of(1.5, 0, 3, "standard deviation of the logarithm of the reads of an item of a source")
    ignoring: float = _of(0.1, 0, 1, "share of hosts whose servers ignore validators")
    hosts: int = _of(50, 1, 100_000, "number of hosts")
    host_delay: float = _of(1, 0, 3600, "seconds between two requests to a host")

    def __post_init__(self) -> None:
        for one in fields(self):
            value, low, high = getattr(self, one.name), one.metadata["low"], one.metadata["high"]
            if not low <= value <= high:
                raise ArgumentError(f"--world {one.name}={value:g}: must be {low:g} to {high:g}")
        if self.feeds + self.sections + self.pages < 1:
            raise ArgumentError("--world: at least one feed, section or page is needed")
        if self.learn >= self.days:
            raise ArgumentError(f"--world learn={self.learn}: must be less than days={self.days}")


@dataclass(frozen=True, kw_only=True)
class SiteWorld:
    """All events of a world, which do not depend on visits.

    Arrays from ``kinds`` to ``hourly`` have one row per source. Times are seconds.
    """

    begin: float
    """Time of the first visits."""
    learned: float
    """The time from which results count. Policies learn before this time."""
    end: float
    kinds: Rows
    """The kind of each source, as an index in :data:`KINDS`."""
    window: Rows
    """Number of items that a feed or section shows. 0 for a page, which shows its current state."""
    born: Array
    """Time at which each source becomes known."""
    gone: Array
    """Time at which each source is removed or its record ends; infinite if this is after the run."""
    mortal: Flags
    """True if the page is removed at ``gone``, so that a later visit finds the removal.

    False if only the record of the source ends.
    """
    size: Array
    """Bytes of a complete response."""
    response: Array
    """Seconds from a request to its response."""
    ignores: Flags
    """True if the server ignores validators and always sends the whole body."""
    host: Rows
    """The host of each source, as an index in ``hosts``."""
    hosts: Sequence[str]
    host_delay: float
    """Minimum number of seconds between two requests to a host."""
    hourly: Array
    """Events per hour, by hour of the week (168, Monday first), without batches and bursts."""
    useful: Array
    """Reads of an event of each source, relative to the mean of all sources."""
    moments: Array
    """The times of all events, sorted by source and time."""
    first: Rows
    """Index in ``moments`` of the first event of each source, and one more entry: the end of ``moments``."""

    @cached_property
    def keys(self) -> Array:
        """Sort keys of all events, by source and time. One search in these keys covers many sources."""
        # 2 * end is more than any time, so the keys of different sources do not overlap.
        return np.asarray(self.owners * (2 * self.end) + self.moments)

    @property
    def sources(self) -> int:
        """Number of sources."""
        return len(self.kinds)

    @property
    def owners(self) -> Rows:
        """Index of the source of each event."""
        return np.repeat(np.arange(self.sources, dtype=np.intp), np.diff(self.first))

    @property
    def last(self) -> Array:
        """Time of the last possible visit of each source."""
        return np.where(self.mortal, self.end, np.minimum(self.gone, self.end))

    def published(self, rows: Rows, at: Array) -> Rows:
        """Return the number of events of the sources ``rows`` up to the times ``at``."""
        return np.searchsorted(self.keys, rows * (2 * self.end) + at, side="right") - self.first[rows]

    def rates(self, rows: Rows, at: Array, hours: int) -> Array:
        """Return the true rates for ``hours`` hours from ``at`` (:class:`newsbot.recrawl.policies.Rates`)."""
        count = (at // HOUR).astype(np.intp)[:, None] + np.arange(hours) + THURSDAY * 24
        return np.asarray(self.hourly[rows[:, None], count % WEEK_HOURS])

    def a_day(self) -> Array:
        """Return the number of events of each source per day, over the whole run.

        A real policy cannot know this number in advance. If a source has no events, half an event is assumed,
        because formulas need rates above 0.
        """
        return np.asarray(np.maximum(np.diff(self.first), 0.5) / self._lived * DAY)

    @property
    def existing(self) -> float:
        """Mean number of sources that exist at the same time."""
        return float(self._lived.sum() / (self.end - self.begin))

    @property
    def _lived(self) -> Array:
        lived = np.minimum(self.gone, self.end) - np.maximum(self.born, self.begin)
        return np.asarray(np.maximum(lived, HOUR))


class Worlds(Protocol):
    """Gives a world for each seed."""

    def of_seed(self, seed: int) -> SiteWorld:
        """Return the world for a seed. The same seed gives the same world."""

    def about(self) -> str:
        """Return a description of the worlds in one line."""


class Generated:
    """Generated worlds with the same settings.

    Raises :class:`newsbot.errors.UserError` if a world would need more memory than is free.
    """

    def __init__(self, settings: SiteSettings) -> None:
        self._settings = settings
        sources = settings.feeds + settings.sections
        # This is the mean of a lognormal distribution.
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
    """Return the settings that a text names, for example ``feeds=100,days=30``.

    All other settings have their defaults. Raises :class:`ArgumentError` for an unknown key or an invalid
    value.
    """
    known = {one.name: one for one in fields(SiteSettings)}
    given: dict[str, Any] = {}
    for pair in filter(None, (part.strip() for part in text.split(","))):
        name, equals, value = (part.strip() for part in pair.partition("="))
        if name not in known:
            hint = did_you_mean(name, known)
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


def sort_events(owners: Rows, moments: Array, count: int) -> tuple[Array, Rows]:
    """Sort events by source and time. Returns ``moments`` and ``first`` of :class:`SiteWorld`.

    ``owners`` contains the source of each event, and ``count`` is the number of sources.
    """
    order = np.lexsort((moments, owners))
    first = np.concatenate([[0], np.cumsum(np.bincount(owners, minlength=count))]).astype(np.intp)
    return moments[order], first


def make_sites(settings: SiteSettings, seed: int) -> SiteWorld:
    """Return a generated world. Equal settings and seeds give equal worlds."""
    # Each part has its own random generator, so that the settings of one part do not change the other parts.
    draws = iter(np.random.default_rng([seed, 8]).spawn(6))
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
    # Events before the birth or after the removal of a source are left out. The removal itself is an event.
    lives = (moments >= born[owners]) & (moments <= gone[owners]) & (moments < end)
    moments, first = sort_events(owners[lives], moments[lives], count)
    draw = next(draws)
    # Each host gets about the same number of sources, of all kinds.
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
        useful=next(draws).lognormal(-(settings.useful**2) / 2, settings.useful, count),
        moments=moments,
        first=first,
    )


def _lives(settings: SiteSettings, page: Flags, draw: np.random.Generator) -> tuple[Array, Array]:
    """Return the times at which pages are published and removed.

    Feeds and sections exist for the whole run.
    """
    count, end = len(page), settings.days * DAY
    later = page & (draw.uniform(size=count) < settings.born)
    born = np.where(later, draw.uniform(0, end, count), 0.0)
    if not settings.deaths:
        return born, np.full(count, np.inf)
    return born, np.where(page, born + draw.exponential(DAY / settings.deaths, count), np.inf)


def _rates(settings: SiteSettings, page: Flags, draw: np.random.Generator) -> Array:
    """Return the rate of events per hour of each source, for each hour of a week."""
    count = len(page)
    normal = draw.normal(size=count)
    items = np.minimum(settings.median * np.exp(settings.sigma * normal), settings.most)
    a_day = np.where(page, settings.changes * np.exp(PAGE_SIGMA * normal), items)
    busiest = draw.choice(ZONES, count, p=ZONE_SHARES) + draw.normal(13.0, 2.5, count)
    sharpness = settings.diurnal * draw.uniform(0.6, 2.2, count)[:, None]
    # The middle of each hour, as its angle from the busiest hour on a clock of 24 hours.
    angle = 2 * np.pi * (np.arange(24) + 0.5 - busiest[:, None]) / 24
    # The curve is a bell around the busiest hour, in the form of the von Mises distribution, with a few items
    # at night.
    by_hour = np.exp(sharpness * np.cos(angle)) + 0.05
    # The mean of the factors must be 1, so that the rate per day stays the same.
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
    """Return the source and the time of each item and of each slow change of a page, not sorted."""
    count, hours = len(hourly), settings.days * 24
    rates = hourly[:, (np.arange(hours) + THURSDAY * 24) % WEEK_HOURS]
    more = np.minimum(rates * (settings.burst_factor - 1), settings.burst_most)
    rates = rates + more * _bursts(settings, page, draw)
    batched = ~page & (draw.uniform(size=count) < settings.batching)
    mean_size = np.where(batched, settings.batch, 1.0)
    # A batch is one release of several items. With fewer releases the mean number of items stays the same.
    releases = draw.poisson(rates / mean_size[:, None]).ravel()
    # A cell is one hour of one source.
    cell = np.repeat(np.arange(count * hours), releases)
    moments = (cell % hours + draw.uniform(size=len(cell))) * HOUR
    owners = cell // hours
    sizes = np.where(batched[owners], draw.geometric(1 / settings.batch, len(cell)), 1)
    together = np.repeat(batched[owners], sizes)
    owners, moments = np.repeat(owners, sizes), np.repeat(moments, sizes)
    return owners, moments + together * draw.uniform(0, RELEASE, len(moments))


def _bursts(settings: SiteSettings, page: Flags, draw: np.random.Generator) -> Array:
    """Return the share of each hour of the run that belongs to a burst, for each source."""
    hours = settings.days * 24
    share = np.zeros((len(page), hours))
    number = np.where(page, 0, draw.poisson(settings.bursts * settings.days / 7, len(page)))
    owners = np.repeat(np.arange(len(page)), number)
    begins = draw.uniform(0, hours, len(owners))
    ends = np.minimum(begins + draw.exponential(settings.burst_hours, len(owners)), hours)
    for owner, begin, end in zip(owners, begins, ends, strict=True):
        hour = np.arange(int(begin), int(np.ceil(end)))
        inside = np.minimum(hour + 1, end) - np.maximum(hour, begin)
        # If bursts overlap in an hour, the larger share is used, because a sum would count the overlap twice.
        share[owner, hour] = np.maximum(share[owner, hour], inside)
    return share


def _edits(settings: SiteSettings, page: Flags, born: Array, draw: np.random.Generator) -> tuple[Rows, Array]:
    """Return the page and the time of each edit of a young page.

    Pages that exist from the start of the run count as old.
    """
    number = np.where(page & (born > 0), draw.poisson(settings.edits, len(page)), 0)
    owners = np.repeat(np.arange(len(page)), number)
    return owners, born[owners] + draw.exponential(settings.edit_hours * HOUR, len(owners))


WEEK: Final = 7 * DAY
LEARN_SHARE: Final = 1 / 3
"""Policies learn in this share of the recorded time, at its start. Results of this time do not count."""
LEAST_SPAN: Final = 2 * HOUR
"""Minimum number of seconds between the first and the last visit of a source. Other sources are left out."""


@dataclass(frozen=True, slots=True)
class Source:
    """One source with its recorded visits."""

    url: str
    kind: int
    """Index in :data:`KINDS`."""
    at: Sequence[float]
    """Times of the visits in POSIX seconds."""
    new: Sequence[int]
    """Number of new events that each visit found."""
    window: int
    """Number of items that a feed or section shows; 0 for pages."""
    size: float
    """Bytes of a complete response; 0 if unknown."""
    ignores: bool
    """True if the server ignores validators."""

    @property
    def events(self) -> int:
        """Number of events between the first and the last visit."""
        # The first visit does not count, because it finds all existing items, and their age is unknown.
        return sum(self.new[1:])


def from_polls(polls: Iterable[tuple[str, Poll]], kinds: Mapping[str, Kind]) -> list[Source]:
    """Return sources from polls, which must be sorted by URL and time.

    ``kinds`` contains the kinds of sources by URL. Sources that are missing in ``kinds`` count as feeds.
    """
    found = []
    # groupby() joins only neighbours, so the polls must be sorted.
    for url, grouped in groupby(polls, key=lambda pair: pair[0]):
        one = [poll for _, poll in grouped]
        if one[-1].at - one[0].at < LEAST_SPAN:
            continue
        whole = [poll.size for poll in one if poll.size]
        unchanged = [poll for poll in one if poll.unchanged]
        found.append(
            Source(
                url,
                SECTION if kinds.get(url) is Kind.SECTION else FEED,
                [float(poll.at) for poll in one],
                [poll.new for poll in one],
                # The window is at least the largest number of new items in one poll.
                max(1, *(poll.shown for poll in one), *(poll.new for poll in one)),
                median(whole) if whole else 0.0,
                # If an unchanged response has a body, the server has ignored the validators.
                sum(poll.size > 0 for poll in unchanged) > len(unchanged) / 2,
            )
        )
    return found


def from_pages(pages: Iterable[PageRecord]) -> list[Source]:
    """Return sources for pages that were visited several times, with the visits in the page records."""
    found = []
    for page in pages:
        looks = page_visits(page)
        if len(looks) > 1 and looks[-1][0] - looks[0][0] >= LEAST_SPAN:
            at, changed = zip(*looks, strict=True)
            size = float(page.content_length or 0)
            found.append(Source(page.url, PAGE, at, [int(bool(one)) for one in changed], 0, size, False))
    return found


class Recorded:
    """Worlds from recorded sources. Implements :class:`Worlds`.

    ``settings`` has the values that were not recorded: response times, the sizes of some sources, and the
    delay of hosts. Raises :class:`UserError` if there are no sources, or if there is not enough memory.
    """

    def __init__(self, sources: Sequence[Source], settings: SiteSettings) -> None:
        if not sources:
            raise UserError(
                "no data to replay, because no source was polled over at least two hours; crawl for a "
                "day, or omit --from-data"
            )
        require_memory(
            BYTES_AN_EVENT * (sum(one.events + len(one.at) for one in sources) + 1400 * len(sources)),
            f"a replay of {len(sources):,} sources",
        )
        self._sources, self._settings = sources, settings
        begin = min(one.at[0] for one in sources)
        self._origin = begin // WEEK * WEEK  # midnight of a Thursday, as in POSIX time
        self._begin = begin - self._origin
        self._end = max(one.at[-1] for one in sources) - self._origin

    def about(self) -> str:
        """See :class:`Worlds`."""
        counts = Counter(one.kind for one in self._sources)
        what = ", ".join(
            f"{counts[kind]:,} {name}{'s' if counts[kind] > 1 else ''}"
            for kind, name in ((FEED, "feed"), (SECTION, "section page"), (PAGE, "page"))
            if counts[kind]
        )
        days = (self._end - self._begin) / DAY
        events = sum(one.events for one in self._sources)
        return f"recorded: {what}, {events:,} events in {days:.1f} days, the first third not counted"

    def of_seed(self, seed: int) -> SiteWorld:
        """See :class:`Worlds`. The seed decides the times of events."""
        draw, of_sources = np.random.default_rng([seed, 11]), self._sources
        pieces = [self._spread(one, draw) for one in of_sources]
        owners = np.repeat(np.arange(len(pieces), dtype=np.intp), [len(piece) for piece in pieces])
        moments, first = sort_events(owners, np.concatenate(pieces), len(pieces))
        names = [host_key(one.url) for one in of_sources]
        hosts = sorted(set(names))
        places = {name: place for place, name in enumerate(hosts)}
        kinds = np.array([one.kind for one in of_sources], np.intp)
        unknown = np.where(kinds == FEED, self._settings.feed_bytes, self._settings.page_bytes)
        size = np.array([one.size for one in of_sources])
        return SiteWorld(
            begin=self._begin,
            learned=self._begin + (self._end - self._begin) * LEARN_SHARE,
            end=self._end,
            kinds=kinds,
            window=np.array([one.window for one in of_sources], np.intp),
            born=np.array([one.at[0] for one in of_sources]) - self._origin,
            gone=np.array([one.at[-1] for one in of_sources]) - self._origin,
            mortal=np.zeros(len(of_sources), bool),
            size=np.where(size > 0, size, unknown),
            response=np.full(len(of_sources), self._settings.response),
            ignores=np.array([one.ignores for one in of_sources]),
            host=np.array([places[name] for name in names], np.intp),
            hosts=hosts,
            host_delay=self._settings.host_delay,
            hourly=_hourly(owners, moments, len(pieces), self._end - self._begin),
            useful=np.ones(len(pieces)),
            moments=moments,
            first=first,
        )

    def _spread(self, source: Source, draw: np.random.Generator) -> Array:
        """Return random times for the events of a source.

        Each time is between the visit that found the event and the previous visit.
        """
        times = np.array(source.at) - self._origin
        new = np.array(source.new[1:], np.intp)
        since, until = np.repeat(times[:-1], new), np.repeat(times[1:], new)
        return np.sort(since + draw.uniform(size=len(since)) * (until - since))


def _hourly(owners: Rows, moments: Array, count: int, seconds: float) -> Array:
    """Return the recorded events per hour for each hour of the week, for policies that know the rates."""
    hour = ((moments // HOUR).astype(np.intp) + THURSDAY * 24) % WEEK_HOURS
    table = np.bincount(owners * WEEK_HOURS + hour, minlength=count * WEEK_HOURS)
    return np.asarray(table.reshape(count, WEEK_HOURS) / max(1.0, seconds / WEEK))


# --- visits
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


class PollPolicy(Protocol):
    """Decides from counts of new items when each source is polled next.

    A policy remembers what it learned about the sources. The same polls in the same order give the same
    results.
    """

    def next_polls(self, polled: Polled) -> Array:
        """Learn from polls. Return the time of the next poll of each of these sources, in POSIX seconds."""

    def spend(self, requests: float, hours: float) -> None:
        """Record how many ``requests`` per hour were made in the last ``hours``, to meet a budget."""


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
