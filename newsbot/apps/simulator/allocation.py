"""Formulas that distribute a budget of visits among pages, and the resulting freshness, age and delay.

Page i changes ``rates[i]`` times per unit of time (a Poisson process) and is visited ``visits[i]`` times, at
equal intervals. Functions with ``random`` in their name assume visits at random times. A page without visits
is never fresh, and its age is infinite.

Sources: Cho and Garcia-Molina, "Effective page refresh policies for web crawlers", ACM TODS 28 (2003). For
random visits: Azar, Horvitz, Lubetzky, Peres and Shahaf, "Tractable near-optimal policies for crawling", PNAS
115 (2018).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from newsbot.apps.simulator.model import Array

INNER, OUTER = 60, 110
"""Numbers of steps of the bisection in :func:`_inverse` and of the bisection in :func:`_spend`.

The results have the precision of a double.
"""
MAX_COST = 600.0
"""Highest cost that the search in :func:`freshest` tries. It stands for one visit per 600 changes.

The exponential of this number is a finite double.
"""

Rates = Sequence[float] | Array
Share = Callable[[Rates, float], Array]
"""A function that distributes a budget.

It takes the rates of change and the budget (the sum of all visits per unit of time). It returns the number of
visits of each page per unit of time.
"""


def uniform(rates: Rates, budget: float) -> Array:
    """Return the same number of visits for all pages."""
    known = _checked(rates, budget)
    return np.full(len(known), budget / len(known))


def proportional(rates: Rates, budget: float) -> Array:
    """Return visits in proportion to the rates of change.

    This distribution seems right, but it gives less freshness than uniform visits (Cho and Garcia-Molina,
    2003).
    """
    known = _checked(rates, budget)
    return np.asarray(budget * known / known.sum())


def square_root(rates: Rates, budget: float) -> Array:
    """Return visits in proportion to the square root of the rates, which minimizes :func:`mean_delay`."""
    roots = np.sqrt(_checked(rates, budget))
    return np.asarray(budget * roots / roots.sum())


def freshest(rates: Rates, budget: float) -> Array:
    """Return the visits that maximize the mean freshness. Pages that change too often get no visits."""
    known = _checked(rates, budget)
    ratio = known / known.min()

    def visits(cost: float) -> Array:
        # At the optimum, one more visit brings the same gain for all visited pages. This gain is called the
        # price. For page i the price is (1 - e^-x (1 + x)) / rate, with x = rate / visits. It is always below
        # 1 / rate. Near this bound doubles are too coarse to represent the price. Therefore the search uses
        # a cost instead: price = (1 - e^-cost) / lowest rate.
        left = 1 + ratio * np.expm1(-cost) if cost < 1 else ratio * np.exp(-cost) - (ratio - 1)
        found = np.zeros_like(known)
        worth = left > 0
        found[worth] = known[worth] / _inverse(lambda x: x - np.log1p(x), -np.log(left[worth]))
        return found

    return _spend(visits, budget, MAX_COST)


def youngest(rates: Rates, budget: float) -> Array:
    """Return the visits that minimize the mean age. Every page gets visits."""
    known = _checked(rates, budget)

    def visits(price: float) -> Array:
        # The price of page i, here the age that one more visit saves, is (x^2 / 2 - 1 + e^-x (1 + x)) /
        # rate^2, with x = rate / visits. At the optimum it is the same for all pages.
        return np.asarray(known / _inverse(lambda x: x * x / 2 - 1 + np.exp(-x) * (1 + x), price * known**2))

    high = 1.0
    while visits(high).sum() > budget:
        high *= 2
    return _spend(visits, budget, high)


def freshest_random(rates: Rates, budget: float) -> Array:
    """Return the random visits with the highest mean freshness.

    Only the pages with the lowest rates get visits. The visits of such a page are the square root of its
    rate, multiplied by a common factor, minus its rate.
    """
    known = _checked(rates, budget)
    order = np.argsort(known, kind="stable")
    slowest = known[order]
    # Item n is the common factor if the n + 1 slowest pages get visits. A page gets visits if the factor is
    # above the square root of its rate.
    numbers = (budget + slowest.cumsum()) / np.sqrt(slowest).cumsum()
    served = int(np.flatnonzero(numbers > np.sqrt(slowest)).max(initial=0)) + 1
    found = np.zeros_like(known)
    chosen = order[:served]
    found[chosen] = np.maximum(numbers[served - 1] * np.sqrt(known[chosen]) - known[chosen], 0)
    return found


def freshness(rates: Rates, visits: Rates) -> Array:
    """Return the freshness of each page: the share of time (0 to 1) in which its known state is correct."""
    x = _changes_a_visit(rates, visits)
    with np.errstate(invalid="ignore"):
        return np.where(np.isinf(x), 0.0, -np.expm1(-x) / x)


def age(rates: Rates, visits: Rates) -> Array:
    """Return the mean age of each page. The age is the time since the first change that is not known yet.

    The age is 0 while all changes are known.
    """
    known, x = np.asarray(rates, float), _changes_a_visit(rates, visits)
    with np.errstate(invalid="ignore"):
        return np.where(np.isinf(x), np.inf, (x / 2 - 1 - np.expm1(-x) / x) / known)


def mean_delay(rates: Rates, visits: Rates) -> float:
    """Return the mean time from a change to the next visit, over all changes of all pages."""
    known, often = np.asarray(rates, float), np.asarray(visits, float)
    with np.errstate(divide="ignore"):
        return float((known / (2 * often)).sum() / known.sum())


def _checked(rates: Rates, budget: float) -> Array:
    """Return the rates as an array. Raises ``ValueError`` for invalid rates or an invalid budget."""
    known = np.asarray(rates, float)
    if not len(known) or not (np.isfinite(known).all() and (known > 0).all()):
        raise ValueError("there must be at least one rate, and all rates must be above 0")
    if not 0 < budget < float("inf"):
        raise ValueError(f"budget {budget}: must be a number above 0")
    return known


def _changes_a_visit(rates: Rates, visits: Rates) -> Array:
    with np.errstate(divide="ignore"):
        return np.asarray(np.asarray(rates, float) / np.asarray(visits, float))


def _inverse(rising: Callable[[Array], Array], wanted: Array) -> Array:
    """Return x with ``rising(x) == wanted``, by bisection. ``rising`` must grow from 0 at x = 0."""
    low, high = np.zeros_like(wanted), np.ones_like(wanted)
    while (short := (rising(high) < wanted) & (high < 1e9)).any():
        high[short] *= 2
    for _round in range(INNER):
        middle = (low + high) / 2
        below = rising(middle) < wanted
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return high


def _spend(visits: Callable[[float], Array], budget: float, high: float) -> Array:
    """Return the visits for the price at which their sum is the budget, by bisection.

    ``visits`` takes a price and returns fewer visits for a higher price. At the price ``high``, the sum is
    not above the budget.
    """
    low = 0.0
    for _round in range(OUTER):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        low, high = (middle, high) if visits(middle).sum() > budget else (low, middle)
    # For a page that changes very often, two neighbouring prices can differ by many visits. The rest of the
    # budget goes to the pages that get more visits at the next lower price.
    fewer, more = visits(high), visits(low)
    found = fewer + (more - fewer) * ((budget - fewer.sum()) / (more.sum() - fewer.sum())) if low else fewer
    return np.asarray(found * (budget / found.sum()))
