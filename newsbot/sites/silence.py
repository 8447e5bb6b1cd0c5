"""Decides whether a source has had no new links for an unusually long time."""

from __future__ import annotations

import numpy as np

from newsbot.recrawl.policy import HOUR
from newsbot.recrawl.sources import HALF_LIFE, PRIOR_HOURS, PRIOR_ITEMS, Rhythm, overlaps
from newsbot.storage.sources import SourceRecord

EXPECTED = 20.0
"""A silence is a problem if :func:`expected_items` returns at least this number."""
SHORTEST = 6 * HOUR
"""Minimum duration of a silence in seconds. Shorter silences are ignored."""
LONGEST_LOOK = 30 * 24
"""Expected items are counted only for this number of hours after the start of a silence."""
KNOWN_HOURS, KNOWN_ITEMS = 24.0, 10.0
"""The rhythm of a source is used only after this number of observed hours and this number of new links."""
FEWEST_ITEMS = 15.0
"""The level before a silence is known only if the weights of the remembered items add up to at least this.

The weight of an item is 1 at first, and halves every week.
"""


def is_silent(record: SourceRecord) -> bool:
    """Return True if many new links were expected since the last new one, and the last poll found none."""
    return expected_items(record) >= EXPECTED


def expected_items(record: SourceRecord) -> float:
    """Return the number of items that were expected during a source's silence, divided by its usual spread.

    The result is 0 if the last poll failed, the silence is short, or too little is known about the source.
    """
    heard, polled = record.last_new, record.last_poll
    if heard is None or polled is None or record.failures or polled - heard < SHORTEST:
        return 0.0
    rhythm = _rhythm(record)
    if rhythm is None:
        return 0.0
    return expected(rhythm, 0, heard, polled)


def expected(rhythm: Rhythm, row: int, heard: float, polled: float) -> float:
    """Return the number of expected items for one row of a rhythm, divided by its usual spread.

    ``heard`` is the time of the last new item, and ``polled`` is the time of the last poll (POSIX seconds).
    """
    if polled - heard < SHORTEST:
        return 0.0
    rows, since = np.array([row]), np.array([heard])
    until = np.array([min(polled, heard + LONGEST_LOOK * HOUR)])
    level = _level_before(rhythm, row, polled - heard)
    if not level:
        return 0.0
    hours = int((until[0] - since[0]) / HOUR) + 2
    # The rhythm gives the shape of the week. Its current level is replaced by the level before the silence.
    rates = rhythm.rates(rows, since, hours) / HOUR * level / float(rhythm.level(rows)[0])
    items = float((rates * overlaps(since, until, hours)).sum())
    return items / max(1.0, float(rhythm.spread[row]))


def _level_before(rhythm: Rhythm, row: int, silent: float) -> float:
    """Return the level (items per hour) before a silence of ``silent`` seconds; 0 if too little is known.

    The estimate of the level falls during a silence, so a long silence would look normal. Each poll in the
    silence has lowered the estimate by the same formula. The inverse formula gives the level before the
    silence.
    """
    # After some weeks of silence the weight is nearly 0, and a division by it would give meaningless numbers.
    # So it has a lower bound.
    left = max(0.5 ** (silent / HALF_LIFE), 1e-3)
    # This is the weight of the hours that the silence has added: the integral of 0.5 ** (t / HALF_LIFE) over
    # the silence.
    added = HALF_LIFE / HOUR / np.log(2) * (1 - left)
    hours = max((float(rhythm.hours[row]) - added) / left, KNOWN_HOURS)
    items = float(rhythm.items[row]) / left
    return float((items + PRIOR_ITEMS) / (hours + PRIOR_HOURS)) if items >= FEWEST_ITEMS else 0.0


def hourly(record: SourceRecord) -> float:
    """Return the number of items per hour before the current silence; 0 if too little is known."""
    rhythm = _rhythm(record)
    if rhythm is None:
        return 0.0
    return _level_before(rhythm, 0, max(0.0, (record.last_poll or 0.0) - (record.last_new or 0.0)))


def _rhythm(record: SourceRecord) -> Rhythm | None:
    rhythm = Rhythm(1)
    try:
        rhythm.take_note(0, record.rhythm)
    except (ValueError, TypeError):  # a damaged note, or one of another version
        return None
    known = float(rhythm.hours[0]) >= KNOWN_HOURS and record.new_links >= KNOWN_ITEMS
    return rhythm if known else None
