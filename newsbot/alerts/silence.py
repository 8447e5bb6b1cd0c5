"""How long a source may be silent, by its learned rhythm of hours and days.

The items that were to be expected between the last new one and the last good poll are added up, hour by
hour, and divided by how much the counts of the source vary (variance over mean). If items come as they used
to, the chance of none is about ``exp`` of minus that number: at :data:`EXPECTED` one gap in three million.
"""

from __future__ import annotations

import numpy as np

from newsbot.recrawl.polling import HOUR
from newsbot.recrawl.rhythm import Rhythm, overlaps
from newsbot.storage.base import SourceRecord

EXPECTED = 15.0
SHORTEST = 6 * HOUR
"""Seconds; a shorter silence is none."""
LONGEST_LOOK = 14 * 24
"""Hours; a longer silence needs no exact number."""
KNOWN_HOURS, KNOWN_ITEMS = 24.0, 10.0
"""What must have been seen of a source before anything is said of its rhythm (as far as it is remembered)."""
_ONE = np.zeros(1, np.intp)


def expected_items(record: SourceRecord) -> float:
    """Return how many items, in units of their spread, were expected in the silence of a source, if any."""
    heard, silent = record.last_new, 0.0
    if heard is not None and record.last_poll is not None and not record.failures:
        silent = record.last_poll - heard
    rhythm = _rhythm(record)
    if silent < SHORTEST or rhythm is None or heard is None:
        return 0.0
    since, until = np.array([heard]), np.array([heard + min(silent, LONGEST_LOOK * HOUR)])
    hours = int((until[0] - since[0]) / HOUR) + 2
    rates = rhythm.rates(_ONE, since, hours) / HOUR
    items = float((rates * overlaps(since, until, hours)).sum())
    return items / max(1.0, float(rhythm.spread[0]))


def hourly(record: SourceRecord) -> float:
    """Return the learned rate in items an hour, the mean over a week; 0: nothing was learned."""
    rhythm = _rhythm(record)
    return 0.0 if rhythm is None else float(rhythm.level(_ONE)[0])


def _rhythm(record: SourceRecord) -> Rhythm | None:
    rhythm = Rhythm(1)
    try:
        rhythm.take_note(0, record.rhythm)
    except (ValueError, TypeError):  # of another version, or damaged
        return None
    known = float(rhythm.hours[0]) >= KNOWN_HOURS and record.new_links >= KNOWN_ITEMS
    return rhythm if known else None
