"""The square-root rule in index form: a source is polled when the wait of its unseen items reaches a
threshold.

Let L(t) be the items expected in t seconds since the last poll. A source is due when
``U(t) = t * L(t) - integral of L from 0 to t`` reaches a threshold. At a constant rate r that is r * t² / 2:
intervals go with 1 / √r, which gives the least mean delay for the number of polls (Cho and
Garcia-Molina 2003; as an index over sources, Whittle 1988). With a rate that changes, U is the integral of
``s * r(s)``: a source waits through its night and is asked as soon as its morning begins.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Final, Protocol

import numpy as np

from newsbot.items import PageRecord
from newsbot.recrawl.budget import MEMORY, Controller
from newsbot.recrawl.policy import (
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
)
from newsbot.recrawl.rhythm import Rhythm, overlaps
from newsbot.rules.schema import Rule

LOOK: Final = int(LONGEST / HOUR) + 1
"""Clock hours that an interval can touch."""
CAUTION: Final = 2.5
"""Standard deviations that must still fit into the window of a source."""
OVERFLOW: Final = 1.5
"""A full window of new items: so many times its items are taken to have come."""
SURGE_LASTS: Final = 1.0
"""Hours in which a busy hour fades."""


class Rates(Protocol):
    """What the index asks of whoever knows or estimates rates."""

    def rates(self, rows: Rows, at: Array, hours: int) -> Array:
        """Return items an hour, in the clock hour of ``at`` and the next ones."""


class SquareRootIndex:
    """The policy; see the module's text. ``controller`` holds the threshold, in items * seconds.

    To compare: ``known`` gives rates instead of what is learned; ``plain`` leaves out window and busy hours.
    """

    def __init__(
        self, count: int, controller: Controller, *, known: Rates | None = None, plain: bool = False
    ) -> None:
        self.rhythm = Rhythm(count)
        self.controller = controller
        self.last = np.full(count, np.nan)
        """The last good poll."""
        self.window = no_rows(count)
        """Items that the source shows; 0: not known."""
        self._known, self._plain = known, plain

    def next_polls(self, polled: Polled) -> Array:
        """See :class:`newsbot.recrawl.policy.PollPolicy`."""
        rows, at = polled.rows, polled.at
        self._learn(polled)
        rates = (self._known or self.rhythm).rates(rows, at, LOOK)
        if self._known is None and not self._plain:
            rates = rates * self._fading(rows)
        ends = np.cumsum(overlaps(at, at + LONGEST, LOOK), axis=1)
        wish = _crossing(rates / HOUR, ends, np.full(len(rows), self.controller.value), power=2)
        if not self._plain:
            wish = np.minimum(wish, _crossing(rates / HOUR, ends, self.room(rows), power=1))
        return np.asarray(at + np.clip(wish, SHORTEST, LONGEST))

    def spend(self, requests: float, hours: float) -> None:
        """See :class:`newsbot.recrawl.policy.PollPolicy`."""
        self.controller.spend(requests, hours)

    def _learn(self, polled: Polled) -> None:
        rows, at = polled.rows, polled.at
        window = np.maximum(self.window[rows] * 0.98, polled.shown)  # a source may come to show fewer
        self.window[rows] = np.where(polled.shown > 0, window, self.window[rows])
        seen = at > self.last[rows]  # False for the first poll: all that it shows is new, whenever it came
        full = (polled.shown > 0) & (polled.new >= polled.shown)
        came = np.where(full, polled.new * OVERFLOW, polled.new)
        self.rhythm.learn(rows[seen], self.last[rows[seen]], at[seen], came[seen])
        self.last[rows] = at

    def _fading(self, rows: Rows) -> Array:
        """Return factors for the coming clock hours: what is unusual now goes back to the usual."""
        hours = np.arange(LOOK) + 0.5
        return np.asarray(1 + (self.rhythm.excess(rows) - 1)[:, None] * np.exp(-hours / SURGE_LASTS))

    def room(self, rows: Rows) -> Array:
        """Return the expected items that leave room for :data:`CAUTION` standard deviations more."""
        window = np.where(self.window[rows] > 0, self.window[rows], np.inf)
        noise = CAUTION * np.sqrt(np.maximum(self.rhythm.spread[rows], 1.0))
        bounded = np.where(np.isinf(window), 1.0, window)
        room = ((np.sqrt(noise**2 + 4 * bounded) - noise) / 2) ** 2
        return np.where(np.isinf(window), np.inf, room)

    def as_note(self, row: int) -> dict[str, Any]:
        """Return what is known of one source, to be kept as JSON."""
        last = self.last[row]
        note = self.rhythm.as_note(row)
        return note | {"last": None if np.isnan(last) else float(last), "window": float(self.window[row])}

    def take_note(self, row: int, note: Mapping[str, Any]) -> None:
        """Take what :meth:`as_note` gave. Raises ``ValueError`` or ``TypeError`` for anything else."""
        last = note.get("last")
        self.last[row] = np.nan if last is None else float(last)
        self.window[row] = max(0.0, float(note.get("window") or 0.0))
        self.rhythm.take_note(row, note)


def _crossing(rates: Array, ends: Array, level: Array, *, power: int) -> Array:
    """Return after how many seconds the integral of ``s ** (power - 1) * rate`` reaches ``level``.

    ``rates``: items a second in each piece, ``ends``: where the pieces end. Infinite if it does not.
    """
    begins = np.concatenate([np.zeros((len(ends), 1)), ends[:, :-1]], axis=1)
    reached = np.cumsum(rates * (ends**power - begins**power) / power, axis=1)
    piece = np.minimum((reached < level[:, None]).sum(axis=1), ends.shape[1] - 1)
    line = np.arange(len(ends))
    before = np.where(piece > 0, reached[line, piece - 1], 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        found = (begins[line, piece] ** power + power * (level - before) / rates[line, piece]) ** (1 / power)
    return np.where(reached[:, -1] >= level, found, np.inf)


POLLS_AN_HOUR: Final = 2.0
"""Of a source, on average, where no budget is set."""
_ONE = np.zeros(1, np.intp)


class SourceIndex:
    """:class:`newsbot.recrawl.policy.Policy` by the square-root index, for one visit of one source.

    ``rhythm`` is what earlier visits learned (anything that is none counts as nothing); afterwards it
    holds what is known now. ``threshold`` in items * seconds is the same for all sources.
    """

    def __init__(self, rhythm: Mapping[str, Any], threshold: float) -> None:
        self.rhythm = dict(rhythm)
        self._threshold = threshold

    def interval(
        self,
        record: PageRecord | None,  # noqa: ARG002  (other policies look at it)
        outcome: Outcome,
        rule: Rule,
        now: float,
    ) -> float:
        """Return seconds until the next poll; never less than the rule's interval for the kind."""
        floor = rule.interval.get(outcome.kind, 0.0)
        if outcome.failed:
            return floor or DEFAULT_SOURCE_INTERVAL
        policy = self._policy()
        if np.isnan(policy.last[0]) and outcome.span is not None:
            policy.rhythm.suppose(0, outcome.shown, outcome.span / HOUR)
        new, shown = np.array([float(outcome.new_items)]), np.array([float(outcome.shown)])
        due = policy.next_polls(Polled(_ONE, np.array([now]), new, shown))
        self.rhythm |= policy.as_note(0)
        return max(float(due[0]) - now, floor)

    def _policy(self) -> SquareRootIndex:
        policy = SquareRootIndex(1, Controller(1.0, self._threshold, 0.5))
        with suppress(ValueError, TypeError):  # of another version, or damaged: it is learned anew
            policy.take_note(0, self.rhythm)
            return policy
        return SquareRootIndex(1, Controller(1.0, self._threshold, 0.5))


def first_threshold(requests_an_hour: float, sources: int) -> float:
    """Return a threshold that is right where every source has an item an hour, to begin with."""
    interval = HOUR * max(1, sources) / requests_an_hour
    return min(interval, DAY) ** 2 / 2 / HOUR


FIRST_HOURS: Final = 24.0
"""Hours for which the threshold is computed from rates. Then it is corrected by what was spent, by and by."""


_HALVINGS: Final = 50


def begin_with_rates(controller: Controller, sources: Sequence[Mapping[str, Any]]) -> None:
    """Set the threshold by the rates that ``sources`` have shown, while the controller is young.

    What is spent then tells little of how much is right: every source has just been polled for the first
    time, and a night is not a day. What was spent too much is saved in the next 24 hours.
    """
    hours = -MEMORY * math.log2(1.0 - min(controller.weight, 0.9))
    if hours < FIRST_HOURS and any(sources):
        spent = controller.spent / controller.weight if controller.weight else controller.budget
        left = controller.budget - (spent - controller.budget) * hours / FIRST_HOURS
        wanted = min(1.25 * controller.budget, max(0.5 * controller.budget, left))
        controller.value = fitting_threshold(wanted, sources)


def fitting_threshold(requests_an_hour: float, sources: Sequence[Mapping[str, Any]]) -> float:
    """Return the threshold (items * seconds) at which sources take so many polls an hour.

    ``sources``: what is known of each, as :class:`newsbot.recrawl.index.SourceIndex` keeps it. Profiles are
    left out: by them polls become fewer. If no threshold gives the number, the nearest one does.
    """
    known = SquareRootIndex(len(sources), Controller(1.0, 1.0, 0.5))
    for row, source in enumerate(sources):
        with suppress(ValueError, TypeError):  # damaged: taken for a source that is new
            known.take_note(row, source)
    rows = np.arange(len(sources))
    rates = known.rhythm.level(rows) / HOUR
    longest = np.clip(known.room(rows) / rates, SHORTEST, LONGEST)
    low, high = (float(rates.max(initial=0.0)) * rest**2 / 2 for rest in (SHORTEST / 10, LONGEST))
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
