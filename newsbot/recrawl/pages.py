"""Policies that decide when articles and other pages are visited again. They keep no state.

They read the record of the page. The history in this record says for each visit whether the page had changed.

:class:`Optimum` distributes a budget of visits over the pages of a site so that as many as possible are up to
date. For a page with r changes per second, the best number of visits per second is ``m * √r - r``. The factor
m is the same for all pages. If the result is below 0, the page is not visited, because it changes so often
that visits cannot keep it up to date (Azar, Horvitz, Lubetzky, Peres and Shahaf, "Tractable near-optimal
policies for crawling", PNAS 115, 2018). The simulator computes the same formula for arrays
(:func:`newsbot.apps.simulator.strategies.freshest_random`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from newsbot.items import EventKind, PageRecord
from newsbot.pages.rules.rule import Rule
from newsbot.recrawl.policy import DAY, Outcome

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
_HALVINGS = 60


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
    for _step in range(_HALVINGS):
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
    """A :class:`newsbot.recrawl.policy.Policy` with the formula of this module.

    ``number`` is the factor m; its unit is √(changes per second). ``visits_each`` is the number of visits of
    an average page per second.

    A page without observations is visited at the average rate. A page that never changed is visited less and
    less often. A page that changes too often is visited after :data:`newsbot.recrawl.pages.LONGEST_REST`,
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
