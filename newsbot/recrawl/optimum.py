"""Sharing a budget of visits among the pages of a site so that as many as possible are known as they are.

With rates of change r and a number m that is the same for all, the best visits are ``m * √r - r``, none where
that is below 0: pages that change too often to be known are not worth the effort (Azar, Horvitz, Lubetzky,
Peres and Shahaf, "Tractable near-optimal policies for crawling", PNAS 115, 2018). The simulator has the same
closed form for whole arrays (:func:`newsbot.simulator.allocation.freshest_random`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from newsbot.items import PageRecord
from newsbot.recrawl.estimators import change_rate, observations, unchanged_rate
from newsbot.recrawl.pages import LONGEST_REST, seen_change
from newsbot.recrawl.policy import Outcome
from newsbot.rules.schema import Rule


def number_for(rates: Sequence[float], visits_each: float) -> float:
    """Return the number m with which pages of these rates get ``visits_each`` on average.

    Both in the same unit of time. Rates of 0 need no visits, but are counted in the average. Raises
    ``ValueError`` where there are no rates, or no visits.
    """
    if not rates or not 0 < visits_each < math.inf:
        raise ValueError("rates, and visits above 0, are needed")
    budget = visits_each * len(rates)
    sum_rates = sum_roots = number = 0.0
    for rate in sorted(rate for rate in rates if rate > 0):
        root = math.sqrt(rate)
        if number and number <= root:  # this one and all faster ones are not worth a visit
            break
        sum_rates += rate
        sum_roots += root
        number = (budget + sum_rates) / sum_roots
    return number


class Optimum:
    """:class:`newsbot.recrawl.policy.Policy` by the closed form; ``number`` in the root of changes a second.

    A page of which nothing is known is visited as the average is; one that never changed ever more seldom;
    one that changes too often to be known after :data:`newsbot.recrawl.pages.LONGEST_REST`, which bounds all.
    """

    def __init__(self, number: float, visits_each: float) -> None:
        self._number, self._visits_each = number, visits_each

    def interval(self, record: PageRecord | None, outcome: Outcome, rule: Rule, now: float) -> float:
        """Return seconds until the next visit; never less than the rule's interval."""
        floor = rule.interval.get(outcome.seen_as, 0.0)
        return max(floor, min(LONGEST_REST, self._rest(record, outcome, now)))

    def _rest(self, record: PageRecord | None, outcome: Outcome, now: float) -> float:
        seen = [] if record is None else observations(record, now, seen_change(outcome, record))
        if not seen or self._number <= 0:
            return 1 / self._visits_each
        rate = change_rate(seen) or unchanged_rate(sum(gap for gap, _ in seen), self._visits_each)
        visits = self._number * math.sqrt(rate) - rate
        return 1 / visits if visits > 0 else LONGEST_REST
