"""The rate of new items of each source, by hour of the day and day of the week, from counts at polls.

The rate of a source at an hour is ``level * hour weight * day weight``. All three are learned from counts,
with exponential forgetting. The level is shrunk towards a prior rate and the weights towards 1, so that a
source with few polls has nearly the same rate at all hours. The items found by a poll are distributed over
the hours since the last poll, in proportion to the items expected of each hour. This is one step of
expectation maximisation per poll.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from newsbot.recrawl.policy import DAY, HOUR, Array, Rows, no_rows, rounded

HALF_LIFE: Final = 7 * DAY
"""Half-life of the level, in seconds."""
PROFILE_HALF_LIFE: Final = 60 * DAY
"""Half-life of the weights, in seconds. It is longer, because each weekday occurs only once a week."""
SURGE_HALF_LIFE: Final = 1.5 * HOUR
"""Half-life of the counts that show a busy hour (:attr:`Rhythm.surge`), in seconds."""
PRIOR_ITEMS, PRIOR_HOURS = 0.5, 1.0
"""Items and hours that are assumed for a new source before its first observation."""
HOUR_SHRINK, DAY_SHRINK, SURGE_SHRINK = 1.0, 30.0, 6.0
"""Numbers of items that are added to both the observed and the expected items. They keep a weight near 1
while few items were observed. The first is for an hour of the day, the second for a day of the week, the
third for the last hours."""
MOST_ODD: Final = 10.0
"""Maximum that one poll contributes to the estimate of the variance. It limits the influence of rare bursts,
but not that of items that regularly come in batches."""
HOURS, DAYS = 24, 7
LONGEST_LOOK: Final = 24
"""Maximum number of hours between two polls for which the weights are learned. A later part of a longer pause
changes only the level."""
_NEIGHBOURS = ((0, 0.4), (1, 0.22), (-1, 0.22), (2, 0.08), (-2, 0.08))
"""Offsets and weights of the neighbouring hours that an hour is smoothed with."""
_THURSDAY = 3
"""The weekday of the epoch."""

_STATE = ("items", "hours", "hour_items", "hour_due", "day_items", "day_due", "spread", "surge", "surge_due")


class Rhythm:
    """Learned rates of ``count`` sources. Rates are items per hour, times POSIX seconds, hours are in UTC."""

    def __init__(self, count: int) -> None:
        self.items = no_rows(count)
        """New items, with exponential forgetting."""
        self.hours = no_rows(count)
        """Hours in which :attr:`items` were published, each multiplied by its hour weight and day weight."""
        self.hour_items, self.hour_due = no_rows(count, HOURS), no_rows(count, HOURS)
        """New items of each hour of the day, and their number if all hours of the day had the same weight."""
        self.day_items, self.day_due = no_rows(count, DAYS), no_rows(count, DAYS)
        self.spread = np.ones(count)
        """Variance of counts divided by their mean; 1 for independent items (Poisson)."""
        self.surge, self.surge_due = no_rows(count), no_rows(count)
        """New items of the last hours, and their expected number."""

    def level(self, rows: Rows) -> Array:
        """Return the mean number of items per hour."""
        return np.asarray((self.items[rows] + PRIOR_ITEMS) / (self.hours[rows] + PRIOR_HOURS))

    def weights(self, rows: Rows) -> tuple[Array, Array]:
        """Return the weights of the 24 hours and of the 7 days (Monday first), mean 1."""
        came, due = self.hour_items[rows], self.hour_due[rows]
        by_hour = (_smooth(came) + HOUR_SHRINK) / (_smooth(due) + HOUR_SHRINK)
        by_day = (self.day_items[rows] + DAY_SHRINK) / (self.day_due[rows] + DAY_SHRINK)
        by_hour /= by_hour.mean(axis=1, keepdims=True)
        by_day /= by_day.mean(axis=1, keepdims=True)
        return by_hour, by_day

    def rates(self, rows: Rows, at: Array, hours: int) -> Array:
        """Return the rates of the clock hour of ``at`` and the following ones, in ``hours`` columns."""
        by_hour, by_day = self.weights(rows)
        hour, day = _calendar(at, hours)
        line = np.arange(len(rows))[:, None]
        return np.asarray(self.level(rows)[:, None] * by_hour[line, hour] * by_day[line, day])

    def excess(self, rows: Rows) -> Array:
        """Return the ratio of the current rate to the usual one, above 1 in a busy hour."""
        return np.asarray((self.surge[rows] + SURGE_SHRINK) / (self.surge_due[rows] + SURGE_SHRINK))

    def learn(self, rows: Rows, since: Array, at: Array, new: Array) -> Array:
        """Learn from ``new`` items published from ``since`` to ``at``; return how many were expected.

        Each row may occur at most once.
        """
        gap = at - since
        hours = max(1, min(LONGEST_LOOK, int(np.ceil(gap.max(initial=0.0) / HOUR)) + 1))
        self._forget(rows, gap)
        inside = overlaps(since, at, hours) / HOUR
        level, (by_hour, by_day) = self.level(rows)[:, None], self.weights(rows)
        hour, day = _calendar(since, hours)
        line = np.arange(len(rows))[:, None]
        hour_weight, day_weight = by_hour[line, hour], by_day[line, day]
        weighed = inside * hour_weight * day_weight
        # hours after LONGEST_LOOK count with the weight 1
        beyond = gap / HOUR - inside.sum(axis=1)
        whole = weighed.sum(axis=1) + beyond
        came = new[:, None] * weighed / np.maximum(whole, 1e-9)[:, None]
        expected = level[:, 0] * whole
        self._learn_spread(rows, new, expected)
        self.items[rows] += new
        self.hours[rows] += whole
        # The expected items of an hour contain the weight of the day, but not that of the hour, because the
        # weight of the hour is learned from the comparison. The same holds the other way round for days.
        where = rows[:, None]
        np.add.at(self.hour_items, (where, hour), came)
        np.add.at(self.hour_due, (where, hour), level * inside * day_weight)
        np.add.at(self.day_items, (where, day), came)
        np.add.at(self.day_due, (where, day), level * inside * hour_weight)
        return np.asarray(expected)

    def suppose(self, row: int, items: float, hours: float) -> None:
        """Initialise a new source as if ``items`` had been found in ``hours``, according to their dates."""
        # limited, because dates that reach back for years would outweigh all later polls
        longest = HALF_LIFE / HOUR
        share = min(1.0, longest / hours) if hours > 0 else 0.0
        self.items[row] += items * share
        self.hours[row] += hours * share

    def _forget(self, rows: Rows, gap: Array) -> None:
        kept = 0.5 ** (gap / HALF_LIFE)
        self.items[rows] *= kept
        self.hours[rows] *= kept
        of_profile = 0.5 ** (gap / PROFILE_HALF_LIFE)[:, None]
        for kept_long in (self.hour_items, self.hour_due, self.day_items, self.day_due):
            kept_long[rows] *= of_profile
        of_surge = 0.5 ** (gap / SURGE_HALF_LIFE)
        self.surge[rows] *= of_surge
        self.surge_due[rows] *= of_surge

    def _learn_spread(self, rows: Rows, new: Array, expected: Array) -> None:
        """Learn the variance of counts relative to that of a Poisson process."""
        # soon after the last poll few items are expected, and the count then says little about the variance
        odd = (new - expected) ** 2 / np.maximum(expected, 0.5)
        step = np.minimum(0.05, expected / 20)
        self.spread[rows] += step * (np.minimum(odd, MOST_ODD) - self.spread[rows])
        self.surge[rows] += new
        self.surge_due[rows] += expected

    def as_note(self, row: int) -> dict[str, Any]:
        """Return the state of one source as a JSON-able dict."""
        return {name: rounded(getattr(self, name)[row].tolist()) for name in _STATE}

    def take_note(self, row: int, note: Mapping[str, Any]) -> None:
        """Restore the state of a source from :meth:`as_note`. Raises ``ValueError`` or ``TypeError``."""
        for name in _STATE:
            if name in note:
                values = np.asarray(note[name], float)
                fits = values.shape == getattr(self, name)[row].shape
                if not (fits and np.isfinite(values).all() and (values >= 0).all()):
                    raise ValueError(f"{name}: wrong number of values, or a value below 0 or not finite")
                getattr(self, name)[row] = values


def _smooth(by_hour: Array) -> Array:
    """Return the weighted mean of each hour and its two neighbours on either side, across midnight."""
    return np.asarray(np.sum([share * np.roll(by_hour, by, axis=1) for by, share in _NEIGHBOURS], axis=0))


def overlaps(since: Array, until: Array, hours: int) -> Array:
    """Return for each clock hour, beginning with that of ``since``, its seconds between both times.

    The result has one row per source and ``hours`` columns.
    """
    begins = (since // HOUR * HOUR)[:, None] + np.arange(hours) * HOUR
    inside = np.minimum(until[:, None], begins + HOUR) - np.maximum(since[:, None], begins)
    return np.asarray(np.clip(inside, 0.0, None))


def _calendar(at: Array, hours: int) -> tuple[Rows, Rows]:
    """Return hour of the day and day of the week for the clock hour of ``at`` and the following ones."""
    count = (at // HOUR).astype(np.intp)[:, None] + np.arange(hours)
    return count % HOURS, (count // HOURS + _THURSDAY) % DAYS
