"""The square-root rule in index form: poll where the wait of unseen items has grown to one price for all.

Let L(t) be the items expected in t seconds since the last poll. A source is due when
``U(t) = t * L(t) - integral of L from 0 to t`` reaches a threshold. At a constant rate r that is r * t² / 2:
intervals go with 1 / √r, which gives the least mean delay for the number of polls (Cho and
Garcia-Molina 2003; as an index over sources, Whittle 1988). With a rate that changes, U is the integral of
``s * r(s)``: a source waits through its night and is asked as soon as its morning begins.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Protocol

import numpy as np

from newsbot.recrawl.budget import Controller
from newsbot.recrawl.polling import HOUR, LONGEST, SHORTEST, Array, Polled, Rows, no_rows
from newsbot.recrawl.rhythm import Rhythm, overlaps

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
        """See :class:`newsbot.recrawl.polling.PollPolicy`."""
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
        """See :class:`newsbot.recrawl.polling.PollPolicy`."""
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
