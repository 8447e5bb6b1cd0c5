"""Generated feeds for the benchmarks of polling, and a run of any polling policy over them.

Rates are lognormal: some feeds publish very rarely, a few publish all day. Each feed has daily and weekly
patterns: a busiest hour that depends on the time zone of the newsroom, a night that is more or less quiet,
and quiet weekends. Some feeds release items in batches. Some have bursts, which are one or two hours with
several times as many items as usual. Times are in seconds, and 0 is a midnight. The figures in README.md and
docs/ are measured with these feeds; ``scrapy simulate compare`` generates other feeds
(:mod:`newsbot.apps.simulator.site_world`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from newsbot.apps.search.usefulness import weights
from newsbot.apps.simulator.site_world import PollPolicy
from newsbot.apps.simulator.strategies import MinifluxType, NutchType
from newsbot.recrawl.planning import DAY, HOUR, SHORTEST, Array, Polled, Rows
from newsbot.recrawl.policies import Controller, Rates, SquareRootIndex

HOURS, DAYS = 24, 7
TWELVE_HOURS: Final = 12 * HOUR
LEARNING: Final = 14 * DAY
"""Seconds at the start of a world in which policies learn."""
_THURSDAY: Final = 3
"""The weekday of time 0, the same as that of POSIX time 0."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorldSettings:
    """The parameters of the generated feeds."""

    feeds: int = 2000
    days: float = 35
    window: int = 20
    """Number of items that a feed lists."""
    median: float = 3.4
    """Items per day of the median feed."""
    sigma: float = 1.6
    """Standard deviation of the logarithm of the rate."""
    most: float = 1500.0
    """Upper limit of the rate, in items per day."""
    batching: float = 0.2
    """Share of feeds that release items in batches."""
    batch: float = 4.0
    """Mean items of a batch."""
    bursts: float = 1.0
    """Mean number of bursts of a feed per week."""
    burst_factor: float = 12.0
    """Factor by which a burst increases the rate."""
    burst_hours: float = 2.0
    """Mean length of a burst."""
    burst_most: float = 150.0
    """Upper limit of the items per hour that a burst adds."""
    useful: float = 1.5
    """Standard deviation of the logarithm of the number of reads of an item of a feed."""
    reads: float = 0.05
    """Mean number of reads of an item while policies learn."""


@dataclass(frozen=True, slots=True)
class FeedWorld:
    """Items of all feeds, and the underlying rates (without batches and bursts)."""

    settings: WorldSettings
    moments: Array
    """Publication times, sorted by feed and time."""
    owners: Rows
    """The feed of each item."""
    first: Rows
    """The index of the first item of each feed; the last element is the end."""
    hourly: Array
    """Items per hour of each feed in each of the 168 hours of a week, starting on Monday."""
    bursting: Array
    """Items per hour of each feed in each hour of the world's time, with its bursts."""
    useful: Array
    """Reads of an item of each feed, relative to the mean of all feeds."""
    read: Array
    """Number of reads of the items of each feed in the first :data:`LEARNING` seconds."""
    keys: Array = field(repr=False)
    """A key that sorts by feed, then by time. With it, many feeds are searched at once."""

    @property
    def seconds(self) -> float:
        """Length of the simulated time."""
        return self.settings.days * DAY

    def published(self, rows: Rows, at: Array) -> Rows:
        """Return how many items these feeds had published by these times."""
        return np.searchsorted(self.keys, rows * (2 * self.seconds) + at, side="right") - self.first[rows]

    def rates(self, rows: Rows, at: Array, hours: int) -> Array:
        """Return the true rates (:class:`newsbot.recrawl.policies.Rates`)."""
        count = (at // HOUR).astype(np.intp)[:, None] + np.arange(hours) + _THURSDAY * HOURS
        return np.asarray(self.hourly[rows[:, None], count % (HOURS * DAYS)])


@dataclass(frozen=True, slots=True)
class Foretold:
    """The rates of a world with its bursts. No crawler can know bursts before they begin."""

    world: FeedWorld

    def rates(self, rows: Rows, at: Array, hours: int) -> Array:
        """Return the true rates (:class:`newsbot.recrawl.policies.Rates`)."""
        hour = (at // HOUR).astype(np.intp)[:, None] + np.arange(hours)
        last = self.world.bursting.shape[1] - 1
        return np.asarray(self.world.bursting[rows[:, None], np.minimum(hour, last)])


def make_world(settings: WorldSettings, draw: np.random.Generator) -> FeedWorld:
    """Return generated feeds; they depend only on the settings and the generator."""
    of_rates, of_items, of_reads = draw.spawn(3)
    hourly = _hourly_rates(settings, of_rates)
    of_feeds = of_items.spawn(settings.feeds)
    drawn = [_publish(settings, rates, one) for rates, one in zip(hourly, of_feeds, strict=True)]
    pieces = [moments for moments, _ in drawn]
    first = np.concatenate([[0], np.cumsum([len(piece) for piece in pieces])]).astype(np.intp)
    owners = np.repeat(np.arange(settings.feeds, dtype=np.intp), np.diff(first))
    moments = np.concatenate(pieces)
    keys = owners * (2 * settings.days * DAY) + moments
    bursting = np.array([rates for _, rates in drawn])
    useful = of_reads.lognormal(-(settings.useful**2) / 2, settings.useful, settings.feeds)
    early = np.bincount(owners[moments < LEARNING], minlength=settings.feeds)
    read = of_reads.poisson(useful * early * settings.reads).astype(float)
    return FeedWorld(settings, moments, owners, first, hourly, bursting, useful, read, keys)


def _hourly_rates(settings: WorldSettings, draw: np.random.Generator) -> Array:
    """Return items per hour of each feed in each hour of a week."""
    count = settings.feeds
    a_day = np.minimum(draw.lognormal(np.log(settings.median), settings.sigma, count), settings.most)
    zones = draw.choice([0.0, 3.0, 8.0, 17.0, 20.0], count, p=[0.35, 0.25, 0.1, 0.2, 0.1])
    busiest = zones + draw.normal(13.0, 2.5, count)
    sharpness = draw.uniform(0.6, 2.2, count)[:, None]
    angle = 2 * np.pi * (np.arange(HOURS) + 0.5 - busiest[:, None]) / HOURS
    by_hour = np.exp(sharpness * np.cos(angle)) + 0.05
    by_hour *= HOURS / by_hour.sum(axis=1, keepdims=True)
    by_day = np.ones((count, DAYS))
    by_day[:, 5:] = draw.uniform(0.25, 1.0, (count, 1)) * draw.uniform(0.85, 1.15, (count, 2))
    by_day *= DAYS / by_day.sum(axis=1, keepdims=True)
    week = by_day[:, :, None] * by_hour[:, None, :]
    return np.asarray((a_day[:, None, None] / HOURS * week).reshape(count, DAYS * HOURS))


def _publish(settings: WorldSettings, week: Array, draw: np.random.Generator) -> tuple[Array, Array]:
    """Return the sorted publication times of one feed, and its rates by hour with bursts."""
    hour = (np.arange(int(settings.days * HOURS)) + _THURSDAY * HOURS) % len(week)
    usual = week[hour]
    rates = usual + np.minimum(usual * (settings.burst_factor - 1), settings.burst_most) * _bursts(
        settings, draw
    )
    batch = draw.geometric(1 / settings.batch) if draw.uniform() < settings.batching else 0
    releases = draw.poisson(rates / settings.batch if batch else rates)
    begins = np.repeat(np.arange(len(rates)), releases)
    moments = (begins + draw.uniform(0, 1, len(begins))) * HOUR
    if batch:
        sizes = draw.geometric(1 / settings.batch, len(moments))
        moments = np.repeat(moments, sizes)
        moments = moments + draw.uniform(0, 60.0, len(moments))  # the items of a batch appear within a minute
    return np.sort(moments[moments < settings.days * DAY]), rates


def _bursts(settings: WorldSettings, draw: np.random.Generator) -> Array:
    """Return the share of each hour that belongs to a burst."""
    hours = int(settings.days * HOURS)
    share = np.zeros(hours)
    for begin in draw.uniform(0, hours, draw.poisson(settings.bursts * settings.days / DAYS)):
        length = draw.exponential(settings.burst_hours)
        inside = np.clip(
            np.minimum(np.arange(hours) + 1, begin + length) - np.maximum(np.arange(hours), begin), 0, 1
        )
        share = np.maximum(share, inside)
    return share


@dataclass(frozen=True, slots=True)
class Polls:
    """All polls of a run. The polls of each feed are in chronological order."""

    rows: Rows
    at: Array
    before: Rows
    """Number of items that the feed had published at the previous poll."""
    until: Rows
    """Number of items that the feed had published at this poll."""


@dataclass(frozen=True, slots=True)
class Freshness:
    """Delays are in seconds from publication to the poll, and shares are shares of all counted items. Lost
    items also have a delay. Otherwise a policy that loses items in busy hours would seem fast.
    """

    polls: float
    """Polls per feed and day."""
    median: float
    mean: float
    p95: float
    p99: float
    lost: float
    """Items that the feed no longer listed at the next poll."""
    over_12h: float
    read: float
    """Mean delay of a read item."""


def run_policy(world: FeedWorld, policy: PollPolicy, first: Array) -> Polls:
    """Return the polls of a policy; ``first`` has the time of each feed's first poll."""
    due = first.copy()
    seen = np.zeros(len(due), np.intp)
    made: list[tuple[Rows, Array, Rows, Rows]] = []
    spent = 0
    window = float(world.settings.window)
    # No source is polled twice within SHORTEST: all polls of a step are independent of each other.
    for step in range(int(world.seconds / SHORTEST)):
        rows = np.flatnonzero(due < (step + 1) * SHORTEST)
        if len(rows):
            at = due[rows]
            total = world.published(rows, at)
            made.append((rows, at, seen[rows], total))
            shown = np.minimum(total, window).astype(float)
            new = np.minimum(total - seen[rows], window).astype(float)
            seen[rows] = total
            due[rows] = policy.next_polls(Polled(rows, at, new, shown))
            spent += len(rows)
        if (step + 1) % int(HOUR / SHORTEST) == 0:
            policy.spend(spent, 1.0)
            spent = 0
    rows, at, before, until = (np.concatenate(column) for column in zip(*made, strict=True))
    order = np.lexsort((at, rows))
    return Polls(rows[order], at[order], before[order], until[order])


def judge(world: FeedWorld, polls: Polls, begin: float) -> Freshness:
    """Return the figures of the items published at or after ``begin`` (seconds).

    For items without a poll before the end, the delay until the end is counted.
    """
    size = polls.until - polls.before
    poll = np.repeat(np.arange(len(size)), size)
    place = np.arange(len(poll)) - np.repeat(np.cumsum(size) - size, size) + polls.before[poll]
    item = world.first[polls.rows[poll]] + place
    found_at = np.full(len(world.moments), world.seconds)
    found_at[item] = polls.at[poll]
    gone = np.zeros(len(world.moments), bool)
    gone[item] = place < polls.until[poll] - world.settings.window
    counted = world.moments >= begin
    delays = (found_at - world.moments)[counted]
    days = (world.seconds - begin) / DAY
    median, p95, p99 = np.quantile(delays, (0.5, 0.95, 0.99))
    return Freshness(
        polls=float((polls.at >= begin).sum() / world.settings.feeds / days),
        median=float(median),
        mean=float(delays.mean()),
        p95=float(p95),
        p99=float(p99),
        lost=float(gone[counted].mean()),
        over_12h=float((delays > TWELVE_HOURS).mean()),
        read=float(np.average(delays, weights=world.useful[world.owners[counted]])),
    )


class Fixed:
    """The same interval for all feeds, in seconds."""

    def __init__(self, interval: float) -> None:
        self.interval = interval

    def next_polls(self, polled: Polled) -> Array:
        """Return the next polls; the policy does not learn."""
        return polled.at + self.interval

    def spend(self, requests: float, hours: float) -> None:
        """Do nothing: the policy has no budget."""


def policies(world: FeedWorld, a_day: float) -> Iterator[tuple[str, Callable[[], PollPolicy]]]:
    """Yield the name and the factory of each policy that is compared, for ``a_day`` polls per
    feed and day."""
    count = world.settings.feeds
    an_hour, interval = a_day * count / 24, DAY / a_day
    theta = interval**2 / 2 / HOUR  # exact if each feed has one item per hour

    def index(known: Rates | None, *, plain: bool) -> Callable[[], SquareRootIndex]:
        return lambda: SquareRootIndex(count, Controller(an_hour, theta, 0.5), known=known, plain=plain)

    yield "fixed", lambda: Fixed(interval)
    yield "nutch", lambda: NutchType(count, Controller(an_hour, 0.4, 0.5), interval)
    yield "miniflux", lambda: MinifluxType(count, Controller(an_hour, 1.0, 1.0))
    yield "square_root", index(None, plain=True)
    yield "true_rate", index(world, plain=True)
    yield "oracle", index(Foretold(world), plain=True)
    yield "newsbot", index(None, plain=False)

    def useful() -> PollPolicy:
        policy = index(None, plain=False)()
        items = np.bincount(world.owners[world.moments < LEARNING], minlength=count)
        found = weights(*({str(row): one for row, one in enumerate(some)} for some in (world.read, items)))
        policy.weight = np.array([found[str(row)] for row in range(count)])
        return policy

    yield "useful", useful
