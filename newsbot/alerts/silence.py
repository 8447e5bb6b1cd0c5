"""How long a source may be silent, by its learned rhythm of hours and days.

The items that were to be expected between the last new one and the last good poll are added up, hour by
hour, and divided by how much the counts of the source vary (variance over mean). If items come as they used
to, the chance of none is about ``exp`` of minus that number: at :data:`EXPECTED` next to none; what is
measured on feeds with bursts and batches: ``python -m benchmarks.alerts``.
"""

from __future__ import annotations

import numpy as np

from newsbot.recrawl.polling import HOUR
from newsbot.recrawl.rhythm import HALF_LIFE, PRIOR_HOURS, PRIOR_ITEMS, Rhythm, overlaps
from newsbot.storage.sources import SourceRecord

EXPECTED = 20.0
SHORTEST = 6 * HOUR
"""Seconds; a shorter silence is none."""
LONGEST_LOOK = 30 * 24
"""Hours; a longer silence needs no exact number."""
KNOWN_HOURS, KNOWN_ITEMS = 24.0, 10.0
"""What must have been seen of a source before anything is said of its rhythm (as far as it is remembered)."""
FEWEST_ITEMS = 15.0
"""That are remembered (a week counts half): slower sources have no rhythm to speak of."""


def expected_items(record: SourceRecord) -> float:
    """Return how many items, in units of their spread, were expected in the silence of a source, if any."""
    heard, polled = record.last_new, record.last_poll
    if heard is None or polled is None or record.failures or polled - heard < SHORTEST:
        return 0.0
    rhythm = _rhythm(record)
    if rhythm is None:
        return 0.0
    return expected(rhythm, 0, heard, polled)


def expected(rhythm: Rhythm, row: int, heard: float, polled: float) -> float:
    """Return the same of a row: ``heard`` is when its last item came, ``polled`` when it was asked last."""
    if polled - heard < SHORTEST:
        return 0.0
    rows, since = np.array([row]), np.array([heard])
    until = np.array([min(polled, heard + LONGEST_LOOK * HOUR)])
    level = _level_before(rhythm, row, polled - heard)
    if not level:
        return 0.0
    hours = int((until[0] - since[0]) / HOUR) + 2
    rates = rhythm.rates(rows, since, hours) / HOUR * level / float(rhythm.level(rows)[0])
    items = float((rates * overlaps(since, until, hours)).sum())
    return items / max(1.0, float(rhythm.spread[row]))


def _level_before(rhythm: Rhythm, row: int, silent: float) -> float:
    """Return the level as it was before the silence, which has made the source look slow; 0: little is known.

    Each poll since then forgot by the same law, so that what it was can be told from what is left.
    """
    left = max(0.5 ** (silent / HALF_LIFE), 1e-3)
    added = HALF_LIFE / HOUR / np.log(2) * (1 - left)
    hours = max((float(rhythm.hours[row]) - added) / left, KNOWN_HOURS)
    items = float(rhythm.items[row]) / left
    return float((items + PRIOR_ITEMS) / (hours + PRIOR_HOURS)) if items >= FEWEST_ITEMS else 0.0


def hourly(record: SourceRecord) -> float:
    """Return the rate in items an hour as it was before the present silence; 0: nothing was learned."""
    rhythm = _rhythm(record)
    if rhythm is None:
        return 0.0
    return _level_before(rhythm, 0, max(0.0, (record.last_poll or 0.0) - (record.last_new or 0.0)))


def _rhythm(record: SourceRecord) -> Rhythm | None:
    rhythm = Rhythm(1)
    try:
        rhythm.take_note(0, record.rhythm)
    except (ValueError, TypeError):  # of another version, or damaged
        return None
    known = float(rhythm.hours[0]) >= KNOWN_HOURS and record.new_links >= KNOWN_ITEMS
    return rhythm if known else None
