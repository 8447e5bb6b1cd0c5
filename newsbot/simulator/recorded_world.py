"""Creates worlds from the records of the crawler: the polls of its sources and the visits of its pages.

A record has the number of items that appeared between two polls, but not their times. Each seed distributes
them at random over this time, so the confidence intervals include this uncertainty. Items that appeared and
left a feed between two polls were not recorded, so they are missing. A source exists from its first to its
last poll.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from statistics import median
from typing import Final

import numpy as np

from newsbot.errors import UserError
from newsbot.items import Kind, PageRecord
from newsbot.recrawl.pages import visits as page_visits
from newsbot.recrawl.policy import DAY, HOUR, Array, Rows
from newsbot.simulator.requirements import require_memory
from newsbot.simulator.site_world import (
    BYTES_AN_EVENT,
    FEED,
    PAGE,
    SECTION,
    THURSDAY,
    WEEK_HOURS,
    SiteSettings,
    SiteWorld,
    sort_events,
)
from newsbot.storage.sources import Poll
from newsbot.urls import host_key

WEEK: Final = 7 * DAY
LEARN_SHARE: Final = 1 / 3
"""Share of the recorded time, from its start, in which policies learn. Results of this time do not count."""
LEAST_SPAN: Final = 2 * HOUR
"""Minimum number of seconds between the first and the last visit of a source. Other sources are left out."""


@dataclass(frozen=True, slots=True)
class Source:
    """One source with its recorded visits."""

    url: str
    kind: int
    """Index in :data:`newsbot.simulator.site_world.KINDS`."""
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
        # The first visit does not count: it finds all present items, and their age is unknown.
        return sum(self.new[1:])


def from_polls(polls: Iterable[tuple[str, Poll]], kinds: Mapping[str, Kind]) -> list[Source]:
    """Return sources from polls, which must be sorted by URL and time.

    ``kinds`` gives the kinds of sources by URL. Sources that it does not contain count as feeds.
    """
    found = []
    # groupby() joins neighbours only, so the polls must be sorted
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
                max(1, *(poll.shown for poll in one), *(poll.new for poll in one)),
                median(whole) if whole else 0.0,
                sum(poll.size > 0 for poll in unchanged) > len(unchanged) / 2,
            )
        )
    return found


def from_pages(pages: Iterable[PageRecord]) -> list[Source]:
    """Return the pages that were visited several times as sources, with the visits in their records."""
    found = []
    for page in pages:
        looks = page_visits(page)
        if len(looks) > 1 and looks[-1][0] - looks[0][0] >= LEAST_SPAN:
            at, changed = zip(*looks, strict=True)
            size = float(page.content_length or 0)
            found.append(Source(page.url, PAGE, at, [int(bool(one)) for one in changed], 0, size, False))
    return found


class Recorded:
    """Worlds from recorded sources. Implements :class:`newsbot.simulator.site_world.Worlds`.

    ``settings`` has the values that are not recorded: response times, sizes of sources without a recorded
    size, and the delay of hosts. Raises :class:`UserError` if there are no sources, or if there is not enough
    memory.
    """

    def __init__(self, sources: Sequence[Source], settings: SiteSettings) -> None:
        if not sources:
            raise UserError(
                "nothing to replay: no source was polled twice, two hours apart; crawl for a day, or leave "
                "--from-data out"
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
        """See :class:`newsbot.simulator.site_world.Worlds`."""
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
        """See :class:`newsbot.simulator.site_world.Worlds`. The seed decides the times of events."""
        draw, of_sources = np.random.default_rng([seed, 11]), self._sources
        pieces = [self._spread(one, draw) for one in of_sources]
        owners = np.repeat(np.arange(len(pieces), dtype=np.intp), [len(piece) for piece in pieces])
        moments, first, keys = sort_events(owners, np.concatenate(pieces), len(pieces), self._end)
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
            moments=moments,
            first=first,
            keys=keys,
        )

    def _spread(self, source: Source, draw: np.random.Generator) -> Array:
        """Return random times for the events of a source.

        Each time is between the visit that found the event and the visit before.
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
