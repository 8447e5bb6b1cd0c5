"""The strategies that can be compared: built-in strategies (:data:`STRATEGIES`), and those in files of users.

A strategy is created for a :class:`Task`. It is either a
:class:`newsbot.apps.simulator.site_world.PollPolicy`, or it computes all visits itself, like push
(:class:`newsbot.apps.simulator.site_world.WholeRun`). The strategies are the policies of this crawler,
policies of other crawlers, fixed shares of the budget, and push. Most fixed shares are computed from the true
rates of the sources. :func:`choose` reads the option ``--policies``.

Formulas distribute the budget among pages, and give the resulting freshness, age and delay. Page i changes
``rates[i]`` times per unit of time (a Poisson process) and is visited ``visits[i]`` times, at equal
intervals. Functions with ``random`` in their name assume visits at random times. A page without visits is
never fresh, and its age is infinite.

Sources: Cho and Garcia-Molina, "Effective page refresh policies for web crawlers", ACM TODS 28 (2003). For
random visits: Azar, Horvitz, Lubetzky, Peres and Shahaf, "Tractable near-optimal policies for crawling", PNAS
115 (2018).

Strategies are compared on the same worlds, with confidence intervals, and the budget for a target is found.
"""

from __future__ import annotations

import math
import re
import runpy
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import NormalDist, fmean, stdev
from typing import Any, Final

import numpy as np

from newsbot.apps.simulator.model import Columns, Ended, Table, ignore, joined
from newsbot.apps.simulator.site_world import (
    KINDS,
    MINUTE,
    PAGE,
    UNITS,
    WAYS,
    WEEK,
    PollPolicy,
    SiteWorld,
    VisitFigures,
    Visits,
    WholeRun,
    Worlds,
    history_of,
    make_turns,
    measure,
    run_policy,
    take_turns,
)
from newsbot.clock import parse_duration
from newsbot.errors import ArgumentError, UserError, did_you_mean
from newsbot.items import Event, EventKind, Kind, PageRecord
from newsbot.pages.rules.rule import Rule
from newsbot.recrawl.planning import DAY, HOUR, SHORTEST, Array, Outcome, Policy, Polled, Rows
from newsbot.recrawl.policies import (
    Controller,
    Ladder,
    Optimum,
    SquareRootIndex,
    first_threshold,
    number_for,
    rough_rate,
)

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


NUTCH_FASTER: Final = 0.2
"""``db.fetch.schedule.adaptive.dec_rate`` of Apache Nutch."""


class NutchType:
    """The rule of Apache Nutch's AdaptiveFetchSchedule.

    The interval is multiplied by ``1 - NUTCH_FASTER`` after a change, and by 1 plus the controller's value
    otherwise (0.4 in Nutch). The value determines how often a poll finds new items, and therefore also the
    number of polls.
    """

    def __init__(self, count: int, controller: Controller, first: float) -> None:
        self.controller = controller
        self.interval = np.full(count, first)

    def next_polls(self, polled: Polled) -> Array:
        """Learn whether the sources changed. Return the times of the next polls."""
        factor = np.where(polled.new > 0, 1 - NUTCH_FASTER, 1 + min(10.0, self.controller.value))
        interval = np.clip(self.interval[polled.rows] * factor, SHORTEST, DAY)
        self.interval[polled.rows] = interval
        return np.asarray(polled.at + interval)

    def spend(self, requests: float, hours: float) -> None:
        """Adjust the growth of intervals to the budget."""
        self.controller.spend(requests, hours)


class MinifluxType:
    """The rule of Miniflux's entry-frequency scheduler: a week divided by the items of the last week.

    The controller's value is the number of items between two polls (``SCHEDULER_ENTRY_FREQUENCY_FACTOR``
    is its inverse). The week is the last 7 days, in steps of an hour.
    """

    def __init__(self, count: int, controller: Controller) -> None:
        self.controller = controller
        self.counts = np.zeros((count, int(WEEK / HOUR)))
        self.hour = np.full(count, -1, np.intp)

    def next_polls(self, polled: Polled) -> Array:
        """Learn the counts. Return the times of the next polls."""
        rows, now = polled.rows, (polled.at // HOUR).astype(np.intp)
        slots = self.counts.shape[1]
        # Each row is a ring buffer with one slot per hour. The slots of the hours since the last poll still
        # hold the counts of a week earlier, so they are set to 0 first.
        passed = np.minimum(now - self.hour[rows], slots)
        steps = np.arange(slots)
        stale = (now[:, None] - steps) % slots
        cleared = np.where(steps < passed[:, None], 0.0, self.counts[rows[:, None], stale])
        self.counts[rows[:, None], stale] = cleared
        first = self.hour[rows] < 0  # the first poll shows items of unknown age
        self.counts[rows, now % slots] += np.where(first, 0.0, polled.new)
        self.hour[rows] = now
        weekly = np.maximum(self.counts[rows].sum(axis=1), 1.0)
        interval = np.clip(WEEK / weekly * self.controller.value, SHORTEST, DAY)
        return np.asarray(polled.at + interval)

    def spend(self, requests: float, hours: float) -> None:
        """Adjust the factor to the budget."""
        self.controller.spend(requests, hours)


MOST_A_DAY: Final = DAY / SHORTEST
"""Largest number of visits of a source per day. No source is visited twice within 5 minutes."""
REMEMBERED: Final = 30
"""Number of visits that a page record stores one by one, as in the storage of the crawler."""
MAX_WEIGHT: Final = 64.0
"""Largest weight of a source, as in the crawler. Its inverse is the smallest one."""
EPOCH: Final = 7 * DAY
"""Seconds that are added to the times of a world, because the time 0 in a page record means "unknown"."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PushSettings:
    """How notices of events arrive."""

    loss: float = 0.05
    """Share of notices that never arrive."""
    notice: float = 10.0
    """Mean seconds from an event to the arrival of its notice."""
    safety: float = 6 * HOUR
    """Seconds between two safety polls of a source.

    A safety poll is a visit that is made without a notice.
    """
    servers: int = 1
    """Maximum number of simultaneous downloads, for strategies with a queue."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """The input of a strategy: the world, the budget, and a random generator.

    A fair strategy uses only ``sources``, ``interval`` and ``an_hour``. Other strategies use information that
    a crawler does not have, such as true rates. Their descriptions say so.
    """

    world: SiteWorld
    a_day: float
    """The budget: average number of visits of a source per day."""
    draw: np.random.Generator
    push: PushSettings = field(default_factory=PushSettings)

    @property
    def sources(self) -> int:
        """Number of sources."""
        return self.world.sources

    @property
    def interval(self) -> float:
        """Seconds between two visits of a source if all sources get the same number of visits."""
        return DAY / self.a_day

    @property
    def an_hour(self) -> float:
        """Mean number of visits per hour of all existing sources.

        This is the budget of a :class:`newsbot.recrawl.policies.Controller`.
        """
        return self.a_day * self.world.existing / 24


@dataclass(frozen=True, slots=True)
class Strategy:
    """A strategy: its name, a description in one line, and the function that creates it."""

    name: str
    about: str
    make: Callable[[Task], PollPolicy | WholeRun]
    budgeted: bool = True
    """False if it ignores the budget."""


class PageRecords:
    """A policy of the crawler for pages, with a record for each page."""

    policy: Policy = Ladder()
    """The policy of the crawler. The default visits pages at fixed ages and has no budget."""

    def __init__(self, task: Task) -> None:
        self._records = [_record(number) for number in range(task.sources)]
        self._rule = Rule(domain="example.org")

    def next_polls(self, polled: Polled) -> Array:
        """Write the visits into the page records, and return the times of the next visits."""
        visits = zip(polled.rows.tolist(), polled.at.tolist(), (polled.new > 0).tolist(), strict=True)
        return np.array(
            [at + self._rest(self._records[row], at + EPOCH, new) for row, at, new in visits], float
        )

    def _rest(self, record: PageRecord, now: float, changed: bool) -> float:
        record.first_seen = record.first_seen or now
        record.checks += 1
        known = changed if record.checks > 1 else None  # the first visit has no earlier state to compare
        record.changes += bool(known)
        outcome = Outcome(kind=Kind.ARTICLE, status=200, changed=known)
        rest = self.policy.interval(record, outcome, self._rule, now)
        record.last_fetched = now
        event: Event = {"at": now, "event": EventKind.PLANNED.value, "changed": known}
        record.history = [*record.history[1 - REMEMBERED :], event]
        return np.inf if rest is None else rest

    def spend(self, requests: float, hours: float) -> None:
        """Do nothing, because the policy has no budget."""


class OptimalPages(PageRecords):
    """A policy for pages that uses :class:`newsbot.recrawl.policies.Optimum`.

    The parameter of :class:`~newsbot.recrawl.policies.Optimum` is computed again each hour.
    """

    def __init__(self, task: Task) -> None:
        super().__init__(task)
        self._visits_each = task.a_day / DAY
        self.policy = Optimum(0.0, self._visits_each)

    def spend(self, requests: float, hours: float) -> None:  # noqa: ARG002  (the parameter keeps the budget)
        """Compute the parameter from the current estimates of the rates, so that visits keep the budget."""
        each = self._visits_each
        rates = [rate for record in self._records if (rate := rough_rate(record, each)) is not None]
        if rates:
            self.policy = Optimum(number_for(rates, each), each)


class Newsbot:
    """The policies of the crawler: the threshold index for feeds and sections, another policy for pages.

    Each of the two policies gets a part of the budget in proportion to the number of its sources.
    """

    def __init__(self, task: Task, pages: PageRecords, *, useful: bool = False) -> None:
        self._page = task.world.kinds == PAGE
        share = max(1.0 - float(self._page.mean()), 1e-9)
        self._index, self._pages = _index(task, plain=False, share=share), pages
        if useful:
            self._index.weight = np.clip(task.world.useful, 1 / MAX_WEIGHT, MAX_WEIGHT)
        self._polls = 0

    def next_polls(self, polled: Polled) -> Array:
        """Pass the visits to the policy of their kind, and return the times of the next visits."""
        page = self._page[polled.rows]
        found = np.empty(len(page))
        for rows, policy in ((~page, self._index), (page, self._pages)):
            if rows.any():
                one = Polled(polled.rows[rows], polled.at[rows], polled.new[rows], polled.shown[rows])
                found[rows] = policy.next_polls(one)
        self._polls += int((~page).sum())
        return found

    def spend(self, requests: float, hours: float) -> None:  # noqa: ARG002  (pages keep to their own share)
        """Adjust the index to its part of the budget. Visits of pages are not counted."""
        self._index.spend(self._polls, hours)
        self._pages.spend(0, hours)
        self._polls = 0


class Shared:
    """A strategy in which a formula of :mod:`newsbot.apps.simulator.strategies` sets the visits of each
    source.

    With ``random`` the times between visits are exponentially distributed, otherwise they are equal.
    """

    def __init__(self, task: Task, share: Share, *, random: bool = False) -> None:
        # A source without a share gets an infinite interval.
        with np.errstate(divide="ignore"):
            self._interval = DAY / capped(share, task.world.a_day(), task.a_day * task.sources)
        self._draw = task.draw if random else None

    def next_polls(self, polled: Polled) -> Array:
        """Return the times of the next visits. A source without a share is not visited again."""
        interval = self._interval[polled.rows]
        if self._draw is not None:
            interval = interval * self._draw.exponential(size=len(interval))
        return np.asarray(polled.at + interval)

    def spend(self, requests: float, hours: float) -> None:
        """Do nothing, because the shares are fixed."""


class Push:
    """Sources report their events (WebSub, a sensor), and safety polls find events whose notices were lost.

    Each notice causes a visit, unless a visit of the source is already waiting. A *server* makes one download
    at a time. So ``servers`` is the maximum number of simultaneous downloads (0: no limit). Visits are made
    in the order of the times at which they are wanted. A visit waits first for its host, then for a server. A
    server that is reserved for a visit does not take another visit.
    """

    def __init__(self, task: Task, servers: int) -> None:
        self._settings, self._draw, self._servers = task.push, task.draw, servers

    def visits(self, world: SiteWorld) -> Visits:
        """See :class:`newsbot.apps.simulator.site_world.WholeRun`."""
        rows, wanted = self._wanted(world)
        at = take_turns(make_turns(world, servers=self._servers), rows, wanted)
        # ``at`` is NaN for visits that are not made. A comparison with NaN is never true.
        made = at < world.last[rows]
        rows, at, wait = rows[made], at[made], (at - wanted)[made]
        order = np.lexsort((at, rows))
        rows, at, wait = rows[order], at[order], wait[order]
        until = world.published(rows, at)
        before = np.concatenate([[0], until[:-1]])[: len(until)].astype(np.intp)
        # Nothing is known before the first visit of a source.
        before[np.concatenate([[True], rows[1:] != rows[:-1]])[: len(rows)]] = 0
        return Visits(rows, at, before, until, wait)

    def _wanted(self, world: SiteWorld) -> tuple[Rows, Array]:
        """Return the sources and times of notices and safety polls, sorted by time."""
        received = self._draw.uniform(size=len(world.moments)) >= self._settings.loss
        owners = world.owners[received]
        arrivals = world.moments[received] + self._draw.exponential(self._settings.notice, len(owners))
        since = np.maximum(world.born, world.begin)
        # The safety polls of each source begin at a random time, so that they do not all come at once.
        phase = self._draw.uniform(0, self._settings.safety, world.sources)
        polls = np.maximum(np.ceil((world.end - since - phase) / self._settings.safety), 0).astype(np.intp)
        polled = np.repeat(np.arange(world.sources), polls)
        # The polls of each source are numbered from 0.
        number = np.arange(len(polled)) - np.repeat(np.cumsum(polls) - polls, polls)
        times = (since + phase)[polled] + number * self._settings.safety
        rows, wanted = np.concatenate([owners, polled]), np.concatenate([arrivals, times])
        order = np.argsort(wanted, kind="stable")
        return rows[order], wanted[order]


def capped(share: Share, rates: Array, budget: float) -> Array:
    """Return the visits of each source per day, none above :data:`MOST_A_DAY`.

    Visits above the limit are distributed among the other sources. The distribution is repeated until no
    source is above the limit.
    """
    visits = np.zeros_like(rates)
    left = np.ones(len(rates), bool)
    while left.any() and budget > 0:
        visits[left] = share(rates[left], budget)
        over = left & (visits >= MOST_A_DAY)
        if not over.any():
            break
        visits[over] = MOST_A_DAY
        budget -= MOST_A_DAY * over.sum()
        left &= ~over
        visits[left] = 0.0
    return visits


def _record(number: int) -> PageRecord:
    url = f"https://example.org/{number}"
    key = number.to_bytes(8, "big")
    return PageRecord(url=url, fingerprint=key, host="example.org", source="example.org", kind=Kind.ARTICLE)


def _index(task: Task, *, told: bool = False, plain: bool = True, share: float = 1.0) -> SquareRootIndex:
    an_hour, sources = task.an_hour * share, max(1, round(task.sources * share))
    controller = Controller(an_hour, first_threshold(an_hour, sources), 0.5)
    return SquareRootIndex(task.sources, controller, known=task.world if told else None, plain=plain)


def _shared(name: str, about: str, share: Share, *, random: bool = False) -> Strategy:
    return Strategy(name, about, lambda task: Shared(task, share, random=random))


_ALL: Final = (
    Strategy(
        "newsbot",
        "newsbot's own policy: threshold index with the window and learned hours; for pages, the optimum for "
        "estimated rates",
        lambda task: Newsbot(task, OptimalPages(task)),
    ),
    Strategy(
        "newsbot_ages",
        "like newsbot, but pages are visited at fixed ages (the default of the crawler)",
        lambda task: Newsbot(task, PageRecords(task)),
    ),
    Strategy(
        "newsbot_useful",
        "like newsbot, with rates multiplied by the true usefulness of a source",
        lambda task: Newsbot(task, OptimalPages(task), useful=True),
    ),
    Strategy("threshold", "square-root threshold index with learned hours, without the window", _index),
    Strategy(
        "threshold_told",
        "like threshold, but with the true rate of each hour",
        lambda task: _index(task, told=True),
    ),
    Strategy(
        "nutch",
        "like Apache Nutch: the interval is shorter after a visit with a change, and longer after a visit "
        "without a change",
        lambda task: NutchType(task.sources, Controller(task.an_hour, 0.4, 0.5), task.interval),
    ),
    Strategy(
        "miniflux",
        "like Miniflux: the interval depends on the number of items in the last week",
        lambda task: MinifluxType(task.sources, Controller(task.an_hour, 1.0, 1.0)),
    ),
    _shared("cyclic", "all sources at the same interval", uniform),
    _shared("random", "all sources equally often, at random times", uniform, random=True),
    _shared("proportional", "number of visits in proportion to the true rate of change", proportional),
    _shared(
        "square_root",
        "number of visits in proportion to the square root of the true rate of change",
        square_root,
    ),
    _shared("freshest", "optimum of freshness (Cho and Garcia-Molina), with true rates", freshest),
    _shared("youngest", "optimum of age (Cho and Garcia-Molina), with true rates", youngest),
    _shared(
        "azar",
        "optimum of freshness for visits at random times (Azar and others), with true rates",
        freshest_random,
        random=True,
    ),
    Strategy(
        "push",
        "a visit for each notice, and regular visits in case notices are lost",
        lambda task: Push(task, 0),
        False,
    ),
    Strategy(
        "push_queue",
        "like push, with at most --servers simultaneous downloads",
        lambda task: Push(task, task.push.servers),
        False,
    ),
)
STRATEGIES: Final[Mapping[str, Strategy]] = {one.name: one for one in _ALL}


MOST: Final = 16
"""Maximum number of strategies in a comparison. A chart cannot show more."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A strategy and the kind of its requests."""

    label: str
    """The text of this choice in the option."""
    strategy: Strategy
    way: str
    """The kind of its requests: one of :data:`newsbot.apps.simulator.site_world.WAYS`."""


def choose(text: str, way: str) -> Sequence[Choice]:
    """Return the strategies that a text names, for example ``name,name+way,file.py``.

    ``way`` is the kind of requests, unless the text names another kind for a strategy. Raises
    :class:`ArgumentError` for an unknown name, and :class:`UserError` for a file without a policy.
    """
    labels = [part.strip() for part in text.split(",") if part.strip()]
    if not 0 < len(labels) <= MOST:
        raise ArgumentError(f"--policies: 1 to {MOST} are needed, {len(labels)} are given")
    twice = [label for label in labels if labels.count(label) > 1]
    if twice:
        raise ArgumentError(f"--policies: {twice[0]} is given twice")
    return [_choice(label, way) for label in labels]


def _choice(label: str, way: str) -> Choice:
    name, plus, own = label.rpartition("+")
    if not plus:
        name, own = label, way
    if own not in WAYS:
        raise ArgumentError(
            f"--policies {label}: {own!r} is not a type of requests; allowed: {', '.join(WAYS)}"
        )
    if name.endswith(".py"):
        return Choice(label, from_file(Path(name)), own)
    if name not in STRATEGIES:
        hint = did_you_mean(name, STRATEGIES)
        allowed = ", ".join(STRATEGIES)
        raise ArgumentError(f"--policies: unknown policy {name!r}{hint}; allowed: {allowed}, or FILE.py")
    return Choice(label, STRATEGIES[name], own)


def from_file(path: Path) -> Strategy:
    """Return the strategy in a Python file: its only class with a method ``next_polls``.

    The file is executed. Raises :class:`ArgumentError` if it does not exist, and :class:`UserError` with the
    line if it raises an error or does not have exactly one such class.
    """
    if not path.is_file():
        raise ArgumentError(f"--policies {path}: the file does not exist")
    # Classes that the file defines have its name as __module__. Classes that it imports have other names.
    names: dict[str, Any] = _guarded(path, lambda: runpy.run_path(str(path), run_name=path.stem))
    found = [
        value
        for value in names.values()
        if isinstance(value, type) and value.__module__ == path.stem and hasattr(value, "next_polls")
    ]
    if len(found) != 1:
        raise UserError(
            f"{path}: has {len(found)} classes with next_polls; exactly one is needed (docs/simulator.md)"
        )
    made = found[0]
    return Strategy(
        path.stem, made.__doc__ or path.stem, lambda task: Guarded(path, _guarded(path, made, task))
    )


class Guarded:
    """A policy from a user's file. Its exceptions become one-line messages (:class:`UserError`)."""

    def __init__(self, path: Path, policy: Any) -> None:
        self._path, self._policy = path, policy

    def next_polls(self, polled: Any) -> Any:
        """See :class:`newsbot.apps.simulator.site_world.PollPolicy`."""
        return _guarded(self._path, self._policy.next_polls, polled)

    def spend(self, requests: float, hours: float) -> None:
        """See :class:`newsbot.apps.simulator.site_world.PollPolicy`."""
        _guarded(self._path, self._policy.spend, requests, hours)


def _guarded(path: Path, call: Any, *arguments: Any) -> Any:
    try:
        return call(*arguments)
    except SyntaxError as error:
        raise UserError(f"{error.filename}:{error.lineno}: {error.msg}") from error
    except Exception as error:  # the user's code may raise anything
        frames = traceback.extract_tb(error.__traceback__)
        lines = [frame.lineno for frame in frames if frame.filename == str(path)]
        place = f"{path}:{lines[-1]}" if lines else str(path)
        raise UserError(f"{place}: {type(error).__name__}: {error}") from error


# --- comparison
STUDENT: Final = (
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
    2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
    2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
)  # fmt: skip
"""The 97.5 % quantile of Student's t distribution for 1 to 30 degrees of freedom."""
AIMS: Final = ("freshness", "age", "median", "mean", "read", "p95", "p99", "lost", "over_12h")
"""Figures that improve with a larger budget. Only these can be targets."""
LEAST: Final = 0.25
"""The smallest budget that is tried, in visits per source and day."""
PRECISION: Final = 1.05
"""The budget that is found is at most the smallest possible budget, multiplied by this number."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean over seeds with its 95 % confidence interval. The interval is NaN for a single seed."""

    mean: float
    low: float
    high: float

    def as_dict(self) -> dict[str, float | None]:
        """Return a JSON-serializable dict. NaN and infinity become None."""
        named = {"mean": self.mean, "low": self.low, "high": self.high}
        return {name: value if math.isfinite(value) else None for name, value in named.items()}


Estimates = dict[str, Estimate]


@dataclass(frozen=True, slots=True)
class Compared:
    """The results of one strategy."""

    choice: Choice
    a_day: float
    """The budget: average number of visits of a source per day."""
    figures: Estimates
    """All figures by name, over all sources."""
    kinds: dict[str, Estimates]
    """All figures by name, for each kind of source. Empty if there is only one kind."""
    runs: Sequence[VisitFigures]
    """The results for each seed."""
    history: Columns
    """The events that were found with the first seed
    (:func:`newsbot.apps.simulator.site_world.history_of`)."""


@dataclass(frozen=True, slots=True)
class Target:
    """A figure and its bound: a minimum for freshness, and a maximum for all other figures."""

    figure: str
    bound: float
    """The bound, in the unit of the figure (:data:`newsbot.apps.simulator.site_world.UNITS`)."""
    strict: bool
    """True if the figure must not be equal to the bound."""
    text: str
    """The text of this target in the option."""

    def met(self, value: float) -> bool:
        """Return True if a value meets the bound. NaN does not meet it."""
        over = value - self.bound if self.figure == "freshness" else self.bound - value
        return over > 0 if self.strict else over >= 0


def compare(
    worlds: Worlds,
    choices: Sequence[Choice],
    a_day: float,
    seeds: Sequence[int],
    push: PushSettings,
    *,
    progress: Ended = ignore,
) -> list[Compared]:
    """Return the results of each strategy on the world of each seed. All strategies see the same events.

    ``a_day`` is the budget in visits of a source per day. ``progress`` is called after each run.
    """
    runs: list[list[tuple[VisitFigures, dict[str, VisitFigures]]]] = [[] for _ in choices]
    histories: list[Columns] = []
    for seed in seeds:
        # All strategies see the same world, so that different worlds do not cause differences between their
        # results.
        world = worlds.of_seed(seed)
        for place, choice in enumerate(choices):
            visits = visit_all(world, choice, a_day, seed, push)
            runs[place].append(figures_of(world, choice, visits))
            if seed == seeds[0]:
                histories.append(history_of(world, visits))
            progress("visits", seed, choice.label)
    return [
        Compared(
            choice,
            a_day,
            _estimates([whole for whole, _ in found]),
            {kind: _estimates([kinds[kind] for _, kinds in found]) for kind in found[0][1]},
            [whole for whole, _ in found],
            history,
        )
        for choice, found, history in zip(choices, runs, histories, strict=True)
    ]


def visit_all(world: SiteWorld, choice: Choice, a_day: float, seed: int, push: PushSettings) -> Visits:
    """Run a strategy on a world, and return its visits."""
    # The second number separates the random streams of different purposes (see site_world.py).
    task = Task(world=world, a_day=a_day, draw=np.random.default_rng([seed, 9]), push=push)
    first = np.random.default_rng([seed, 10]).uniform(0, task.interval, world.sources)
    return run_policy(world, choice.strategy.make(task), first)


def figures_of(
    world: SiteWorld, choice: Choice, visits: Visits
) -> tuple[VisitFigures, dict[str, VisitFigures]]:
    """Return the figures of a run over all sources, and by kind of source if there are several kinds."""
    kinds = np.unique(world.kinds).tolist()
    by_kind = {KINDS[one]: measure(world, visits, choice.way, one) for one in kinds if len(kinds) > 1}
    return measure(world, visits, choice.way), by_kind


def estimate(values: Iterable[float]) -> Estimate:
    """Return the mean of the finite values, with Student's confidence interval."""
    known = [value for value in values if math.isfinite(value)]
    mean = fmean(known) if known else math.nan
    if len(known) < 2:
        return Estimate(mean, math.nan, math.nan)
    freedom = len(known) - 1
    # For more than 30 degrees of freedom, the normal distribution is close enough.
    quantile = STUDENT[freedom - 1] if freedom <= len(STUDENT) else NormalDist().inv_cdf(0.975)
    half = quantile * stdev(known) / math.sqrt(len(known))
    return Estimate(mean, mean - half, mean + half)


def _estimates(runs: Sequence[VisitFigures]) -> Estimates:
    return {name: estimate(run.figures[name] for run in runs) for name in runs[0].figures}


def as_document(about: str, found: Sequence[Compared], seeds: Sequence[int]) -> dict[str, Any]:
    """Return all results as a JSON-serializable value. ``about`` describes the world."""

    def document(figures: Estimates) -> dict[str, Any]:
        return {name: value.as_dict() for name, value in figures.items()}

    return {
        "world": about,
        "budget": found[0].a_day,
        "seeds": list(seeds),
        "units": UNITS,
        "policies": [
            {
                "policy": one.choice.label,
                "request": one.choice.way,
                "figures": document(one.figures),
                "kinds": {kind: document(figures) for kind, figures in one.kinds.items()},
                "hosts": {
                    host: {"mean": mean, "peak": peak} for host, (mean, peak) in one.runs[0].hosts.items()
                },
            }
            for one in found
        ],
    }


def as_tables(found: Sequence[Compared], seeds: Sequence[int]) -> dict[str, Table | Columns]:
    """Return the results as the tables ``policies``, ``policy_seeds``, ``policy_hosts`` and ``history``."""
    policies, of_seeds, hosts = [], [], []
    for one in found:
        label = one.choice.label
        for kind, figures in {"all": one.figures, **one.kinds}.items():
            row: dict[str, object] = {"policy": label, "kind": kind, "budget": one.a_day}
            for name, value in figures.items():
                row |= {name: value.mean, f"{name}_low": value.low, f"{name}_high": value.high}
            policies.append(row)
        for seed, run in zip(seeds, one.runs, strict=True):
            of_seeds.append({"policy": label, "seed": seed, **run.figures})
        for host, (mean, peak) in one.runs[0].hosts.items():
            hosts.append({"policy": label, "host": host, "mean": mean, "peak": peak})
    history = joined("policy", {one.choice.label: one.history for one in found})
    return {"policies": policies, "policy_seeds": of_seeds, "policy_hosts": hosts, "history": history}


def read_targets(text: str) -> list[Target]:
    """Return the targets that a text names, for example ``p95<30m,lost<1%``.

    Raises :class:`ArgumentError` if the text is not valid.
    """
    parts = [part.strip() for part in text.split(",") if part.strip()]
    if not parts:
        raise ArgumentError("--target: is empty; write for example p95<30m or freshness>90%")
    return [_target(part) for part in parts]


def _target(text: str) -> Target:
    match = re.fullmatch(r"(\w+)\s*(<=|>=|<|>)\s*([\w.]+%?)", text)
    if match is None:
        raise ArgumentError(f"--target {text}: write for example p95<30m, lost<1% or freshness>90%")
    name, sign, bound = match.groups()
    if name not in AIMS:
        hint = did_you_mean(name, AIMS)
        raise ArgumentError(f"--target {text}: unknown figure {name!r}{hint}; allowed: {', '.join(AIMS)}")
    wanted, side = (">", "a lower") if name == "freshness" else ("<", "an upper")
    if sign[0] != wanted:
        raise ArgumentError(f"--target {text}: {name} needs {side} bound; use {wanted} instead of {sign[0]}")
    return Target(name, _bound(text, name, bound), len(sign) == 1, text)


def _bound(text: str, name: str, bound: str) -> float:
    """Return a bound in the unit of its figure: percent, or minutes."""
    share = UNITS[name] == "%"
    try:
        if share and 0 <= float(bound.removesuffix("%")) <= 100:
            return float(bound.removesuffix("%"))
        if not share and bound[-1] in "smhdw":
            return parse_duration(bound) / MINUTE
    except ValueError:
        pass
    unit = "a share from 0% to 100%" if share else "a duration such as 90s, 30m or 2h"
    raise ArgumentError(f"--target {text}: {bound!r} is not {unit}")


def smallest_budget(
    run: Callable[[float], Compared], targets: Sequence[Target], *, budgeted: bool = True
) -> tuple[float | None, Compared]:
    """Return the smallest budget that meets all targets, and the results of its run.

    The budget is found by bisection on a logarithmic scale. This assumes that no figure gets worse with more
    visits. If no budget meets the targets, the function returns None and the results with the largest budget.
    A strategy that is not ``budgeted`` is run once, and the number of its visits counts as its budget.
    """

    def met(compared: Compared) -> bool:
        return all(target.met(compared.figures[target.figure].mean) for target in targets)

    best = run(MOST_A_DAY)
    if not met(best):
        return None, best
    if not budgeted:
        return best.figures["visits"].mean, best
    low, high = LEAST, MOST_A_DAY
    tried = run(low)
    if met(tried):
        return low, tried
    while high / low > PRECISION:
        # The middle is the geometric mean, because PRECISION is relative.
        middle = math.sqrt(low * high)
        tried = run(middle)
        if met(tried):
            high, best = middle, tried
        else:
            low = middle
    return high, best


def most_rounds() -> int:
    """Return the largest number of runs that :func:`smallest_budget` makes."""
    # Both ends are tried. Each further run halves the logarithm of high / low.
    return 2 + math.ceil(math.log2(math.log(MOST_A_DAY / LEAST) / math.log(PRECISION)))
