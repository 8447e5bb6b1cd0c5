"""A world of sources to visit: feeds and section pages that bring items, pages that are edited and die.

All are rows of the same arrays. An *event* is an item of a feed or section, an edit of a page, or its death.
Times are seconds; time 0 is the midnight of a Thursday, as that of POSIX times is, so that policies which
learn the hours and days see true ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from newsbot.recrawl.polling import DAY, HOUR, Array, Rows

WEEK_HOURS: Final = 168
THURSDAY: Final = 3
KINDS: Final = ("feed", "section", "page")
FEED, SECTION, PAGE = range(3)
Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteWorld:
    """What happens whether or not somebody looks; from ``kinds`` on there is a row for each source."""

    begin: float
    """When visits begin."""
    learned: float
    """From when on results count: policies have learned until then."""
    end: float
    kinds: Rows
    """Places in :data:`KINDS`."""
    window: Rows
    """Items that a feed or section shows; 0: no window, a page is always as it is."""
    born: Array
    """From when on a source is known."""
    gone: Array
    """Until when; infinite: it outlives the run."""
    mortal: Flags
    """True: a visit after ``gone`` finds the page dead. False: the record of the source ends there."""
    size: Array
    """Bytes of a whole answer."""
    response: Array
    """Seconds that an answer takes."""
    ignores: Flags
    """Servers that send everything however they are asked."""
    host: Rows
    hosts: Sequence[str]
    host_delay: float
    """Seconds between two requests to a host, at least."""
    hourly: Array
    """Events an hour in each of the 168 hours of a week, Monday first (batches and bursts apart)."""
    moments: Array
    """Of all events, by source and time."""
    first: Rows
    """Where the events of each source begin; one more for the end."""
    keys: Array = field(repr=False)
    """Sorts sources, then times: to find places of many sources at once."""

    @property
    def sources(self) -> int:
        """How many."""
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
        """Return how many events those sources had had by those times."""
        return np.searchsorted(self.keys, rows * (2 * self.end) + at, side="right") - self.first[rows]

    def rates(self, rows: Rows, at: Array, hours: int) -> Array:
        """Return the true rates (:class:`newsbot.recrawl.index.Rates`)."""
        count = (at // HOUR).astype(np.intp)[:, None] + np.arange(hours) + THURSDAY * 24
        return np.asarray(self.hourly[rows[:, None], count % WEEK_HOURS])

    def a_day(self) -> Array:
        """Return how many events each source has in a day of the run: nobody knows before it is over.

        A source without any counts as one that has half an event in all that time.
        """
        return np.asarray(np.maximum(np.diff(self.first), 0.5) / self._lived * DAY)

    @property
    def existing(self) -> float:
        """How many sources there are at a time, on average."""
        return float(self._lived.sum() / (self.end - self.begin))

    @property
    def _lived(self) -> Array:
        lived = np.minimum(self.gone, self.end) - np.maximum(self.born, self.begin)
        return np.asarray(np.maximum(lived, HOUR))


def sort_events(owners: Rows, moments: Array, count: int, end: float) -> tuple[Array, Rows, Array]:
    """Return moments by source and time, where each source begins, and the keys of :class:`SiteWorld`."""
    order = np.lexsort((moments, owners))
    owners, moments = owners[order], moments[order]
    first = np.concatenate([[0], np.cumsum(np.bincount(owners, minlength=count))]).astype(np.intp)
    return moments, first, owners * (2 * end) + moments
