"""Policies that decide when pages are visited again.

**Sources** (feeds, sitemaps, sections). The default is the square-root rule (:class:`SquareRootIndex`). The
other policies work like those of other programs. They are optional and serve for comparisons.

The square-root rule computes a number for each source, its *index*, and polls the source when the index
reaches a threshold. The *window* of a source is the number of items that it shows at a time.

Let L(t) be the expected number of items within t seconds after the last poll. A source is due when ``U(t) = t
* L(t) - integral of L from 0 to t`` reaches a threshold. At a constant rate r, U(t) is ``r * t² / 2``. The
intervals are then proportional to 1 / √r, which minimises the mean delay for a given number of polls (Cho and
Garcia-Molina 2003; the index follows Whittle 1988). With a varying rate, U is the integral of ``s * r(s)``,
where s is the time since the last poll. A source is therefore not polled during its quiet night, but soon
after its morning begins.

The rate of a source at an hour is ``level * hour weight * day weight`` (:class:`Rhythm`). All three are
learned from counts at polls, with exponential forgetting. The level is shrunk towards a prior rate and the
weights towards 1, so that a source with few polls has nearly the same rate at all hours. The items that a
poll finds are distributed over the hours since the last poll, in proportion to the expected items of each
hour. This is one step of expectation maximisation per poll.

**Articles and other pages.** Their policies keep no state. They read the record of the page. The history in
this record says for each visit whether the page had changed.

:class:`Optimum` distributes a budget of visits over the pages of a site so that as many as possible are up to
date. For a page with r changes per second, the best number of visits per second is ``m * √r - r``. The factor
m is the same for all pages. If the result is below 0, the page is not visited, because it changes so often
that visits cannot keep it up to date (Azar, Horvitz, Lubetzky, Peres and Shahaf, "Tractable near-optimal
policies for crawling", PNAS 115, 2018). The simulator computes the same formula for arrays
(:func:`newsbot.apps.simulator.strategies.freshest_random`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import pairwise
from typing import Any, Final, Protocol

import numpy as np

from newsbot.items import EventKind, PageRecord
from newsbot.pages.rules.rule import Rule
from newsbot.recrawl.planning import (
    DAY,
    DEFAULT_SOURCE_INTERVAL,
    HOUR,
    LONGEST,
    SHORTEST,
    Array,
    Outcome,
    Polled,
    Rows,
    no_rows,
    rounded,
)

# --- a parameter that is adjusted to a budget of requests, and policies that have such a parameter

MEMORY: Final = 48.0
"""Half-life in hours of the average of requests. It is longer than a day, because nights differ from days."""
GAIN: Final = 0.02
"""Share of the full correction that is applied per hour."""
LOWEST, HIGHEST = 1e-9, 1e12
"""Limits of :attr:`Controller.value`."""


class Controller:
    """Adjusts ``value`` until the requests meet the budget.

    If requests exceed the budget, the value is raised.

    The number of requests is assumed to be proportional to ``value ** -power``. For the threshold of the
    square-root index, ``power`` is 0.5. ``budget`` is in requests per hour.
    """

    def __init__(self, budget: float, value: float, power: float) -> None:
        if not (0 < budget < math.inf and value > 0 and power > 0):
            raise ValueError(f"budget {budget}, value {value}, power {power}: must be numbers above 0")
        self.budget, self.value, self.power = budget, value, power
        self.spent, self.weight = 0.0, 0.0

    def spend(self, requests: float, hours: float) -> None:
        """Record the ``requests`` per hour of the last ``hours`` and adjust the value."""
        if hours <= 0:
            return
        kept = 0.5 ** (hours / MEMORY)
        self.spent = self.spent * kept + requests * (1 - kept)
        self.weight = self.weight * kept + (1 - kept)
        # Dividing by the weight removes the influence of the initial 0 of the average. The lower bound
        # limits the step while no requests are made, and avoids the logarithm of 0.
        over = math.log(max(self.spent / self.weight, self.budget / 100) / self.budget)
        step = min(1.0, GAIN * hours) * over / self.power
        self.value = min(HIGHEST, max(LOWEST, self.value * math.exp(step)))


# --- the square-root rule

HALF_LIFE: Final = 7 * DAY
"""Half-life of the level, in seconds."""
PROFILE_HALF_LIFE: Final = 60 * DAY
"""Half-life of the weights, in seconds. It is longer, because each weekday occurs only once per week."""
SURGE_HALF_LIFE: Final = 1.5 * HOUR
"""Half-life of the counts that show a busy hour (:attr:`Rhythm.surge`), in seconds."""
PRIOR_ITEMS, PRIOR_HOURS = 0.5, 1.0
"""Items and hours that are assumed for a new source before its first observation."""
HOUR_SHRINK, DAY_SHRINK, SURGE_SHRINK = 1.0, 30.0, 6.0
"""Numbers of items that are added to the observed items and to the expected items. They keep a weight near 1
until many items have been observed. The first number is for an hour of the day, the second for a day of the
week, and the third for the last hours."""
MOST_ODD: Final = 10.0
"""Maximum that one poll contributes to the estimate of the variance. This limits the influence of rare
bursts. Items that regularly come in batches still raise the estimate."""
HOURS, DAYS = 24, 7
LONGEST_LOOK: Final = 24
"""The weights are learned only from this number of hours after the previous poll. From later hours, only the
level is learned.
"""
_NEIGHBOURS = ((0, 0.4), (1, 0.22), (-1, 0.22), (2, 0.08), (-2, 0.08))
"""Pairs (offset, weight) of neighbouring hours. Each hour is smoothed with them."""
_THURSDAY = 3
"""The weekday of 1 January 1970, where POSIX seconds begin (Monday is 0)."""

_STATE = ("items", "hours", "hour_items", "hour_due", "day_items", "day_due", "spread", "surge", "surge_due")


class Rhythm:
    """Learned rates of ``count`` sources. Rates are in items per hour, times in POSIX seconds, and hours in
    UTC."""

    def __init__(self, count: int) -> None:
        self.items = no_rows(count)
        """New items, with exponential forgetting."""
        self.hours = no_rows(count)
        """Hours in which :attr:`items` were published, each multiplied by its hour weight and day weight."""
        self.hour_items, self.hour_due = no_rows(count, HOURS), no_rows(count, HOURS)
        """New items of each hour of the day, and the expected number if all hours had the same weight."""
        self.day_items, self.day_due = no_rows(count, DAYS), no_rows(count, DAYS)
        self.spread = np.ones(count)
        """Variance of counts divided by their mean; 1 for independent items (Poisson)."""
        self.surge, self.surge_due = no_rows(count), no_rows(count)
        """New items of the last hours, and their expected number."""

    def level(self, rows: Rows) -> Array:
        """Return the mean number of items per hour."""
        return np.asarray((self.items[rows] + PRIOR_ITEMS) / (self.hours[rows] + PRIOR_HOURS))

    def weights(self, rows: Rows) -> tuple[Array, Array]:
        """Return the weights of the 24 hours and of the 7 days (Monday first). Their mean is 1."""
        observed, due = _smooth(self.hour_items[rows]), _smooth(self.hour_due[rows])
        by_hour = (observed + HOUR_SHRINK) / (due + HOUR_SHRINK)
        by_day = (self.day_items[rows] + DAY_SHRINK) / (self.day_due[rows] + DAY_SHRINK)
        by_hour /= by_hour.mean(axis=1, keepdims=True)
        by_day /= by_day.mean(axis=1, keepdims=True)
        return by_hour, by_day

    def rates(self, rows: Rows, at: Array, hours: int) -> Array:
        """Return the rates of ``hours`` clock hours, from the hour of ``at`` on, with one column per hour."""
        by_hour, by_day = self.weights(rows)
        hour, day = _calendar(at, hours)
        line = np.arange(len(rows))[:, None]
        return np.asarray(self.level(rows)[:, None] * by_hour[line, hour] * by_day[line, day])

    def excess(self, rows: Rows) -> Array:
        """Return the ratio of the current rate to the usual rate. The ratio is above 1 in a busy hour."""
        return np.asarray((self.surge[rows] + SURGE_SHRINK) / (self.surge_due[rows] + SURGE_SHRINK))

    def learn(self, rows: Rows, since: Array, at: Array, new: Array) -> Array:
        """Learn from ``new`` items that were published from ``since`` to ``at``. Return the number of
        expected items.

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
        found = new[:, None] * weighed / np.maximum(whole, 1e-9)[:, None]
        expected = level[:, 0] * whole
        self._learn_spread(rows, new, expected)
        self.items[rows] += new
        self.hours[rows] += whole
        # The expected items of an hour contain the weight of the day, but not the weight of the hour, which
        # is learned from the comparison. For days, the expected items contain the weight of the hour only.
        where = rows[:, None]
        np.add.at(self.hour_items, (where, hour), found)
        np.add.at(self.hour_due, (where, hour), level * inside * day_weight)
        np.add.at(self.day_items, (where, day), found)
        np.add.at(self.day_due, (where, day), level * inside * hour_weight)
        return np.asarray(expected)

    def suppose(self, row: int, items: float, hours: float) -> None:
        """Initialise a new source as if ``items`` had been found in ``hours``, according to their dates."""
        # This is limited, because dates of several years would outweigh all later polls.
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
        self.spread[rows] += np.minimum(0.05, expected / 20) * (np.minimum(odd, MOST_ODD) - self.spread[rows])
        self.surge[rows] += new
        self.surge_due[rows] += expected

    def as_note(self, row: int) -> dict[str, Any]:
        """Return the state of one source as a JSON-serializable dict."""
        return {name: rounded(getattr(self, name)[row].tolist()) for name in _STATE}

    def take_note(self, row: int, note: Mapping[str, Any]) -> None:
        """Restore the state of a source from :meth:`as_note`. Raises ``ValueError`` or ``TypeError``."""
        for name in _STATE:
            if name in note:
                values = np.asarray(note[name], float)
                fits = values.shape == getattr(self, name)[row].shape
                if not (fits and np.isfinite(values).all() and (values >= 0).all()):
                    raise ValueError(f"{name}: wrong number of values, or a value is below 0 or not finite")
                getattr(self, name)[row] = values


def _smooth(by_hour: Array) -> Array:
    """Return the weighted mean of each hour and its two neighbours on either side, across midnight."""
    wide = np.concatenate([by_hour[:, -2:], by_hour, by_hour[:, :2]], axis=1)
    return np.asarray(sum(share * wide[:, 2 - by : 2 - by + HOURS] for by, share in _NEIGHBOURS))


def overlaps(since: Array, until: Array, hours: int) -> Array:
    """Return the number of seconds between ``since`` and ``until`` that are in each clock hour. The first
    clock hour contains ``since``.

    The result has one row per source and ``hours`` columns.
    """
    begins = (since // HOUR * HOUR)[:, None] + np.arange(hours) * HOUR
    inside = np.minimum(until[:, None], begins + HOUR) - np.maximum(since[:, None], begins)
    return np.asarray(np.clip(inside, 0.0, None))


def _calendar(at: Array, hours: int) -> tuple[Rows, Rows]:
    """Return the hour of the day and the day of the week for each clock hour, from the clock hour of ``at``
    on.

    Both arrays have one row per source and ``hours`` columns.
    """
    count = (at // HOUR).astype(np.intp)[:, None] + np.arange(hours)
    return count % HOURS, (count // HOURS + _THURSDAY) % DAYS


LOOK: Final = int(LONGEST / HOUR) + 1
"""Maximum number of clock hours that an interval of up to :data:`LONGEST` overlaps."""
CAUTION: Final = 2.5
"""Safety margin in standard deviations.

Items that leave the window between two polls are missed. A source is therefore polled before the expected
number of new items plus this margin exceeds the window.
"""
OVERFLOW: Final = 1.5
"""If all shown items are new, their number is multiplied by this factor. Other items were probably missed."""
REFILL: Final = 0.5
"""A source is polled again when further unexpected items would fill this share of its window.

The items are assumed to come at the rate at which unexpected items came since the last poll. If all items
that a source shows are new, and unexpected items fill at least this share of the window, the source is polled
again after the shortest interval.
"""
REFILL_AFTER_PAUSE: Final = 0.2
"""The value that replaces :data:`REFILL` if the last two polls were at least :data:`PAUSE` apart. A burst may
have begun late in this time, so the true rate may be higher than the computed rate."""
PAUSE: Final = 1800.0
""":data:`REFILL_AFTER_PAUSE` is used if the last two polls were at least this number of seconds apart."""
SURGE_LASTS: Final = 1.0
"""The time constant in hours with which an unusual rate of items returns exponentially to the usual rate."""


class Rates(Protocol):
    """Interface of objects that know or estimate the rates of new items."""

    def rates(self, rows: Rows, at: Array, hours: int) -> Array:
        """Return items per hour of ``hours`` clock hours, from the hour of ``at`` on, one column per hour."""


class SquareRootIndex:
    """The square-root rule. ``controller`` holds the threshold, in items * seconds.

    Two options are for comparisons. If ``known`` is set, it provides the rates, and no rates are learned. If
    ``plain``, the policy ignores windows and busy hours.
    """

    def __init__(
        self, count: int, controller: Controller, *, known: Rates | None = None, plain: bool = False
    ) -> None:
        self.rhythm = Rhythm(count)
        self.controller = controller
        self.last = np.full(count, np.nan)
        """Time of the last successful poll of each source, POSIX seconds; NaN if there was none."""
        self.window = no_rows(count)
        """Number of items that each source shows; 0 if unknown."""
        self.weight = np.ones(count)
        """How useful an item of each source is; 1 on average."""
        self._known, self._plain = known, plain

    def next_polls(self, polled: Polled) -> Array:
        """See :class:`newsbot.apps.simulator.site_world.PollPolicy`."""
        rows, at = polled.rows, polled.at
        gap = at - self.last[rows]  # computed before _learn changes ``last``; NaN at the first poll
        unexpected = polled.new - self._learn(polled)
        rates = (self._known or self.rhythm).rates(rows, at, LOOK)
        if self._known is None and not self._plain:
            rates = rates * self._fading(rows)
        ends = np.cumsum(overlaps(at, at + LONGEST, LOOK), axis=1)  # the first piece is the rest of this hour
        wish = _crossing(rates / HOUR, ends, self.controller.value / self.weight[rows], power=2)
        if not self._plain:
            wish = np.minimum(wish, _crossing(rates / HOUR, ends, self.room(rows), power=1))
            wish = np.minimum(wish, _before_full(polled, gap, unexpected))
        return np.asarray(at + np.clip(wish, SHORTEST, LONGEST))

    def spend(self, requests: float, hours: float) -> None:
        """See :class:`newsbot.apps.simulator.site_world.PollPolicy`."""
        self.controller.spend(requests, hours)

    def _learn(self, polled: Polled) -> Array:
        """Learn from polls. Return the number of new items that were expected; 0 at a source's first poll."""
        rows, at = polled.rows, polled.at
        # The window is the maximum number of items shown. The window falls slowly, because a site may shorten
        # its feed. The window is kept after a 304 response, which shows no items.
        window = np.maximum(self.window[rows] * 0.98, polled.shown)
        self.window[rows] = np.where(polled.shown > 0, window, self.window[rows])
        # This is False at a source's first poll, because a comparison with NaN is False. At this poll all
        # items are new, but their age is unknown.
        seen = at > self.last[rows]
        full = (polled.shown > 0) & (polled.new >= polled.shown)
        counted = np.where(full, polled.new * OVERFLOW, polled.new)
        expected = no_rows(len(rows))
        expected[seen] = self.rhythm.learn(rows[seen], self.last[rows[seen]], at[seen], counted[seen])
        self.last[rows] = at
        return expected

    def _fading(self, rows: Rows) -> Array:
        """Return the factors by which the usual rates of the next clock hours are multiplied.

        The factors approach 1, because an unusual rate returns to the usual rate.
        """
        hours = np.arange(LOOK) + 0.5
        return np.asarray(1 + (self.rhythm.excess(rows) - 1)[:, None] * np.exp(-hours / SURGE_LASTS))

    def room(self, rows: Rows) -> Array:
        """Return the number of expected items at which each source must be polled, so that no item is missed.

        The window must hold the expected items and :data:`CAUTION` standard deviations more. The result is
        the solution of ``items + CAUTION * sqrt(spread * items) = window``. It is infinite if the window is
        unknown.
        """
        window = np.where(self.window[rows] > 0, self.window[rows], np.inf)
        # The quadratic equation in sqrt(items) has one positive root. An infinite window would result in NaN,
        # so 1.0 replaces it.
        noise = CAUTION * np.sqrt(np.maximum(self.rhythm.spread[rows], 1.0))
        bounded = np.where(np.isinf(window), 1.0, window)
        room = ((np.sqrt(noise**2 + 4 * bounded) - noise) / 2) ** 2
        return np.where(np.isinf(window), np.inf, room)

    def as_note(self, row: int) -> dict[str, Any]:
        """Return the state of one source as a JSON-serializable dict."""
        last = self.last[row]
        note = self.rhythm.as_note(row)
        return note | {"last": None if np.isnan(last) else float(last), "window": float(self.window[row])}

    def take_note(self, row: int, note: Mapping[str, Any]) -> None:
        """Restore the state of a source from :meth:`as_note`. Raises ``ValueError`` or ``TypeError``."""
        last = note.get("last")
        self.last[row] = np.nan if last is None else float(last)
        self.window[row] = max(0.0, float(note.get("window") or 0.0))
        self.rhythm.take_note(row, note)


def _before_full(polled: Polled, gap: Array, unexpected: Array) -> Array:
    """Return the seconds until the poll that a burst requires. The result is infinite if there is no
    burst."""
    share = np.where(gap < PAUSE, REFILL, REFILL_AFTER_PAUSE)
    bursts = (polled.shown > 0) & (unexpected > 0) & (gap > 0)
    rest = gap * share * polled.shown / np.maximum(unexpected, 1.0)
    full = (polled.new >= polled.shown) & (unexpected >= REFILL * polled.shown)
    return np.asarray(np.where(bursts, np.where(full, SHORTEST, rest), np.inf))


def _crossing(rates: Array, ends: Array, level: Array, *, power: int) -> Array:
    """Return the seconds until the integral of ``s ** (power - 1) * rate`` reaches ``level``.

    The rate is constant within each piece of time: ``rates`` are items per second, and ``ends`` are the ends
    of the pieces in seconds. The result is infinite if the level is not reached.
    """
    begins = np.concatenate([np.zeros((len(ends), 1)), ends[:, :-1]], axis=1)
    reached = np.cumsum(rates * (ends**power - begins**power) / power, axis=1)
    # the piece in which the level is reached; the last one if it is not reached
    piece = np.minimum((reached < level[:, None]).sum(axis=1), ends.shape[1] - 1)
    line = np.arange(len(ends))
    # Within the piece, the integral is solved for its upper limit. A rate of 0 causes a division by zero only
    # where the level is not reached. The last line replaces this result.
    before = np.where(piece > 0, reached[line, piece - 1], 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        found = (begins[line, piece] ** power + power * (level - before) / rates[line, piece]) ** (1 / power)
    return np.where(reached[:, -1] >= level, found, np.inf)


POLLS_AN_HOUR: Final = 2.0
"""Average polls of a source per hour, used if no budget is set."""
_ONE = np.zeros(1, np.intp)


class SourceIndex:
    """A :class:`newsbot.recrawl.planning.Policy` with the square-root index, for one visit of one source.

    ``rhythm`` is the state that was learned at earlier visits; an invalid state is ignored. :meth:`interval`
    updates the attribute ``rhythm``, which is a copy. ``threshold`` is in items * seconds and is the same for
    all sources.
    """

    def __init__(self, rhythm: Mapping[str, Any], threshold: float) -> None:
        self.rhythm = dict(rhythm)
        self._threshold = threshold

    def interval(self, record: PageRecord | None, outcome: Outcome, rule: Rule, now: float) -> float:
        """Return the seconds until the next poll, at least the rule's interval for the kind."""
        floor = rule.interval.get(outcome.kind, 0.0)
        if outcome.failed:
            return floor or DEFAULT_SOURCE_INTERVAL
        policy = self._policy()
        new_source = record is None or now - record.first_seen < DAY
        if new_source and not outcome.shown and not policy.window[0]:
            return (
                floor or DEFAULT_SOURCE_INTERVAL
            )  # nothing can be learned from a source that is still empty
        if np.isnan(policy.last[0]):
            # at the first poll, the rate is estimated from the dates in the source
            if outcome.span is not None:
                policy.rhythm.suppose(0, outcome.shown, outcome.span / HOUR)
            elif outcome.update_period:
                policy.rhythm.suppose(0, 1.0, outcome.update_period / HOUR)
        new, shown = np.array([float(outcome.new_items)]), np.array([float(outcome.shown)])
        due = policy.next_polls(Polled(_ONE, np.array([now]), new, shown))
        self.rhythm |= policy.as_note(0)  # "|=" because the dict also holds other values of the caller
        return max(float(due[0]) - now, floor)

    def _policy(self) -> SquareRootIndex:
        # the controller only holds the threshold: nothing is spent, so its budget is not used
        policy = SquareRootIndex(1, Controller(1.0, self._threshold, 0.5))
        with suppress(ValueError, TypeError):  # a state of another version or a damaged state is ignored
            policy.take_note(0, self.rhythm)
            return policy
        # a new object, because the first one may have taken a part of the damaged state
        return SquareRootIndex(1, Controller(1.0, self._threshold, 0.5))


def first_threshold(requests_an_hour: float, sources: int) -> float:
    """Return an initial threshold (items * seconds).

    If every source has one new item per hour, this threshold meets the budget ``requests_an_hour``.
    """
    interval = HOUR * max(1, sources) / requests_an_hour
    return min(interval, DAY) ** 2 / 2 / HOUR


FIRST_HOURS: Final = 24.0
"""Number of hours after the start in which the threshold is computed from the rates.

Later the :class:`Controller` adjusts the threshold.
"""


_HALVINGS: Final = 50


def begin_with_rates(controller: Controller, sources: Sequence[Mapping[str, Any]], number: int) -> None:
    """Set the threshold from the rates of ``sources``, during the controller's first hours.

    ``sources`` is a random part of all sources. Their total number is ``number``.

    The number of requests in these hours is not representative, because every source was just polled for the
    first time, and because nights differ from days. If there were more requests than the budget, there will
    be fewer in the next 24 hours.
    """
    # the controller's weight is 1 - 0.5 ** (hours / MEMORY)
    hours = -MEMORY * math.log2(1.0 - min(controller.weight, 0.9))
    if hours < FIRST_HOURS and any(sources):
        spent = controller.spent / controller.weight if controller.weight else controller.budget
        left = controller.budget - (spent - controller.budget) * hours / FIRST_HOURS
        wanted = min(1.25 * controller.budget, max(0.5 * controller.budget, left))
        controller.value = fitting_threshold(wanted * len(sources) / max(number, len(sources)), sources)


def fitting_threshold(requests_an_hour: float, sources: Sequence[Mapping[str, Any]]) -> float:
    """Return the threshold (items * seconds) at which the sources need ``requests_an_hour`` polls.

    ``sources`` are states of :class:`SourceIndex`. The rates by hour and weekday in them are not considered,
    although they would reduce the number of polls. If no threshold leads to this number of polls, the nearest
    threshold is returned.
    """
    known = SquareRootIndex(len(sources), Controller(1.0, 1.0, 0.5))
    for row, source in enumerate(sources):
        with suppress(ValueError, TypeError):  # a damaged state is treated like a new source
            known.take_note(row, source)
    rows = np.arange(len(sources))
    rates = known.rhythm.level(rows) / HOUR
    longest = np.clip(known.room(rows) / rates, SHORTEST, LONGEST)
    low, high = (float(rates.max(initial=0.0)) * rest**2 / 2 for rest in (SHORTEST / 10, LONGEST))
    # The search halves intervals of the logarithm, because thresholds differ by orders of magnitude.
    low, high = np.log(max(low, 1e-9)), np.log(max(high, 1e-9))
    for _step in range(_HALVINGS):
        middle = (low + high) / 2
        if _polls(float(np.exp(middle)), rates, longest) > requests_an_hour:
            low = middle
        else:
            high = middle
    return float(np.exp((low + high) / 2))


def _polls(threshold: float, rates: Array, longest: Array) -> float:
    rest = np.clip(np.sqrt(2 * threshold / rates), SHORTEST, longest)
    return float((HOUR / rest).sum())


# --- policies for articles and other pages
QUIET_AFTER: Final = 3
"""An article is not visited again after this number of unchanged visits in a row."""
FIRST_REST: Final = DAY / 4
"""Seconds until the second visit of an old list (:class:`OldList`). Later pauses are not shorter."""
LONGEST_REST: Final = 30 * DAY
"""Maximum seconds between two visits of a page."""
_SLACK = 0.05
"""Share of an age in ``recheck``. A visit that is too early by at most this share counts for this age."""


class Ladder:
    """Visits an article at fixed ages, which the key ``recheck`` of its rule lists.

    The visits end after the last age, or after :data:`QUIET_AFTER` unchanged visits in a row.
    """

    def interval(self, record: PageRecord | None, outcome: Outcome, rule: Rule, now: float) -> float | None:
        """Return the seconds until the next age, at least the rule's interval; None after the last visit."""
        kind = outcome.seen_as
        floor = rule.interval.get(kind, 0.0)
        first_seen = now if record is None or record.first_seen <= 0 else record.first_seen
        if unchanged_in_a_row(record, outcome) >= QUIET_AFTER:  # the article is no longer edited
            return None
        age = max(0.0, now - first_seen)
        # A visit at 98 % of an age counts as the visit at this age, so the next visit is at the next age.
        step = next((step for step in rule.recheck if step * (1 - _SLACK) > age), None)
        return None if step is None else max(step - age, floor)


class OldList:
    """Policy for further pages of lists and for archives: the interval doubles until a new link is found."""

    def interval(self, record: PageRecord | None, outcome: Outcome, _rule: Rule, now: float) -> float:
        """Return the seconds until the next visit, from :data:`FIRST_REST` to :data:`LONGEST_REST`."""
        looks = visits(record)
        if outcome.failed or outcome.new_items or not looks:
            return FIRST_REST
        return min(max(2 * (now - looks[-1][0]), FIRST_REST), LONGEST_REST)


def visits(record: PageRecord | None) -> list[tuple[float, bool | None]]:
    """Return pairs (POSIX seconds, changed) of the visits in the record's history, oldest first.

    The current visit is not among them. ``changed`` is None if it is unknown.
    """
    history = [] if record is None else record.history
    return [
        (float(event["at"]), event.get("changed"))
        for event in history
        if event.get("event") == EventKind.PLANNED and isinstance(event.get("at"), int | float)
    ]


def seen_change(outcome: Outcome, record: PageRecord | None) -> bool | None:
    """Return True if this visit found a change, False if not, and None if unknown or at the first visit."""
    if outcome.not_modified:
        return False
    if outcome.failed or record is None or record.checks <= 1:
        return None
    return outcome.changed


def unchanged_in_a_row(record: PageRecord | None, outcome: Outcome) -> int:
    """Return the number of unchanged visits in a row, including this visit.

    The result is 0 if this visit found a change, or if it is unknown whether the page changed.
    """
    if seen_change(outcome, record) is not False:
        return 0
    count = 1
    for _at, changed in reversed(visits(record)):
        if changed is not False:  # the page had changed, or it is unknown whether it had
            break
        count += 1
    return count


MAX_OLD = 200
"""Maximum number of visits that are counted in addition to the visits in the record's history."""
_PRICE_HALVINGS = 60


def change_rate(observations: Sequence[tuple[float, bool]]) -> float:
    """Return the estimated number of changes per second.

    Each observation is a pair: the seconds since the previous visit, and True if the page had changed. If no
    visit found a change, the result is 0. Otherwise the result is the maximum-likelihood estimate for a
    Poisson process that is observed at irregular intervals (Cho and Garcia-Molina, "Estimating frequency of
    change", ACM TOIT 3, 2003). Raises ``ValueError`` if a number of seconds is not finite or not above 0.
    """
    if any(not 0 < distance < math.inf for distance, _ in observations):
        raise ValueError("distances between visits must be numbers above 0")
    changed = [distance for distance, found in observations if found]
    if not changed:
        return 0.0
    total = sum(distance for distance, _ in observations)
    # Half an average distance is added to the unchanged time. Without it the estimate would be infinite if
    # every visit had found a change.
    quiet = total - sum(changed) + total / len(observations) / 2

    def surplus(rate: float) -> float:
        return sum(_expected(rate, distance) for distance in changed) - quiet

    # the higher the rate, the lower the surplus; the estimate is the rate at which the surplus is 0
    low, high = 0.0, 1.0 / min(changed)
    while surplus(high) > 0:
        high *= 2
    for _step in range(_PRICE_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if surplus(middle) > 0 else (low, middle)
    return high


def _expected(rate: float, distance: float) -> float:
    exponent = rate * distance
    return distance / math.expm1(exponent) if exponent < 700 else 0.0


def observations(record: PageRecord, now: float, changed: bool | None) -> list[tuple[float, bool]]:
    """Return the observations of a page for :func:`change_rate`.

    ``now`` and ``changed`` describe the current visit. The record's history has only the last visits; the
    earlier visits are assumed to be at equal distances in time.
    """
    looks = [*visits(record), (now, changed)]
    found = [
        (at - before, seen) for (before, _), (at, seen) in pairwise(looks) if seen is not None and at > before
    ]
    # The storage keeps only the last events of a page. The number of earlier visits and changes is known, but
    # not their times. The order of changes does not matter to the estimate, so the first visits count as
    # changed.
    count = min(MAX_OLD, record.checks - 1 - len(found))
    span = looks[0][0] - record.first_seen
    if count > 0 and span > 0 and record.first_seen > 0:
        changes = record.changes - sum(seen for _, seen in found)
        found = [(span / count, number < changes) for number in range(count)] + found
    return found


def unchanged_rate(seconds: float, visits_each: float) -> float:
    """Return the assumed number of changes per second of a page that has not changed for ``seconds``.

    The result is half a change (Jeffreys' prior) divided by the sum of ``seconds`` and the interval between
    two visits of an average page. The longer the page has been unchanged, the lower the rate. ``visits_each``
    is the number of visits of an average page per second.
    """
    return 0.5 / (max(0.0, seconds) + 1 / visits_each)


def rough_rate(record: PageRecord, visits_each: float) -> float | None:
    """Return the number of changes per second, estimated from the counters of the record alone.

    Return None if the page was not visited twice. The visits are assumed to be at equal distances in time.
    For such visits, the formula is the estimate of Cho and Garcia-Molina (2003) with its correction for few
    visits. ``visits_each`` is the number of visits of an average page per second, for :func:`unchanged_rate`.
    """
    count = record.checks - 1
    if count < 1 or record.last_fetched is None or not 0 < record.first_seen < record.last_fetched:
        return None
    changes = min(record.changes, count)
    span = record.last_fetched - record.first_seen
    if changes <= 0:
        return unchanged_rate(span, visits_each)
    distance = span / count
    return math.log((count + 0.5) / (count - changes + 0.5)) / distance


def number_for(rates: Sequence[float], visits_each: float) -> float:
    """Return the factor m for which pages get ``visits_each`` visits on average.

    ``rates`` are the rates of change of the pages, in the same unit of time as the visits. Pages with a rate
    of 0 get no visits, but they count in the average. Raises ``ValueError`` if ``rates`` is empty or
    ``visits_each`` is not above 0.
    """
    if not rates or not 0 < visits_each < math.inf:
        raise ValueError("at least one rate and a number of visits above 0 are needed")
    budget = visits_each * len(rates)
    sum_rates = sum_roots = number = 0.0
    # The pages with the lowest rates r come first. Each further page lowers m towards √r of this page, but
    # never below it. The pages before this page have a lower √r, so they still get visits.
    for rate in sorted(rate for rate in rates if rate > 0):
        root = math.sqrt(rate)
        if number and number <= root:  # this page and all pages with a higher rate get no visits
            break
        sum_rates += rate
        sum_roots += root
        number = (budget + sum_rates) / sum_roots
    return number


class Optimum:
    """A :class:`newsbot.recrawl.planning.Policy` with the formula in the docstring of this module.

    ``number`` is the factor m; its unit is √(changes per second). ``visits_each`` is the number of visits of
    an average page per second.

    A page without observations is visited at the average rate. A page that never changed is visited less and
    less often. A page that changes too often is visited after :data:`LONGEST_REST`,
    which is also the maximum for all pages.
    """

    def __init__(self, number: float, visits_each: float) -> None:
        self._number, self._visits_each = number, visits_each

    def interval(self, record: PageRecord | None, outcome: Outcome, rule: Rule, now: float) -> float:
        """Return the seconds until the next visit, at least the rule's interval."""
        floor = rule.interval.get(outcome.seen_as, 0.0)
        return max(floor, min(LONGEST_REST, self._rest(record, outcome, now)))

    def _rest(self, record: PageRecord | None, outcome: Outcome, now: float) -> float:
        seen = [] if record is None else observations(record, now, seen_change(outcome, record))
        if not seen or self._number <= 0:
            return 1 / self._visits_each
        rate = change_rate(seen) or unchanged_rate(sum(gap for gap, _ in seen), self._visits_each)
        visits = self._number * math.sqrt(rate) - rate
        return 1 / visits if visits > 0 else LONGEST_REST
