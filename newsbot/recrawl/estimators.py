"""How often a page changes, from visits that only tell whether it had changed since the one before.

Counting changes found says too little: several changes between two visits look like one. With equal distances
the bias-corrected estimator of Cho and Garcia-Molina ("Estimating frequency of change", ACM TOIT 3, 2003) is
``-log((n - X + 0.5) / (n + 0.5)) / distance``. Here distances differ: this is the likeliest rate when half an
unchanged visit at the mean distance is added, which for equal distances is the same.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

from newsbot.items import PageRecord
from newsbot.recrawl.pages import visits

MAX_OLD = 200
"""Visits that are counted of those before what the record remembers one by one."""
_HALVINGS = 60


def change_rate(observations: Sequence[tuple[float, bool]]) -> float:
    """Return changes a second from pairs of distance (seconds, above 0) and finding.

    0 where no change was seen. Raises ``ValueError`` for a distance that is none.
    """
    if any(not 0 < distance < math.inf for distance, _ in observations):
        raise ValueError("distances between visits must be numbers above 0")
    changed = [distance for distance, found in observations if found]
    if not changed:
        return 0.0
    total = sum(distance for distance, _ in observations)
    quiet = total - sum(changed) + total / len(observations) / 2

    def surplus(rate: float) -> float:
        return sum(_expected(rate, distance) for distance in changed) - quiet

    low, high = 0.0, 1.0 / min(changed)
    while surplus(high) > 0:
        high *= 2
    for _step in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if surplus(middle) > 0 else (low, middle)
    return high


def _expected(rate: float, distance: float) -> float:
    exponent = rate * distance
    return distance / math.expm1(exponent) if exponent < 700 else 0.0


def observations(record: PageRecord, now: float, changed: bool | None) -> list[tuple[float, bool]]:
    """Return what is known of a page: each visit it remembers, and the older ones at equal distances.

    ``now`` and ``changed`` are the present visit's.
    """
    looks = [*visits(record), (now, changed)]
    found = [
        (at - before, seen) for (before, _), (at, seen) in pairwise(looks) if seen is not None and at > before
    ]
    count = min(MAX_OLD, record.checks - 1 - len(found))
    span = looks[0][0] - record.first_seen
    if count > 0 and span > 0 and record.first_seen > 0:
        changes = record.changes - sum(seen for _, seen in found)
        found = [(span / count, number < changes) for number in range(count)] + found
    return found


def unchanged_rate(seconds: float, visits_each: float) -> float:
    """Return the rate to suppose of a page that was looked at for so long and never had changed.

    Half a change (as Jeffreys' prior has it) in that time and the time between two visits of an average page:
    what was seen unchanged twice may yet change, what stood still for a year hardly will.
    """
    return 0.5 / (max(0.0, seconds) + 1 / visits_each)


def rough_rate(record: PageRecord, visits_each: float) -> float | None:
    """Return the rate by the record's counters alone; None if the page was not looked at twice.

    ``visits_each``: of an average page in a second, for :func:`unchanged_rate`.
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
