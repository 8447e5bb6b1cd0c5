"""A world of feeds for the benchmarks of polling, and a run of any polling policy over it.

Some feeds hardly ever publish, a few do so all day long: rates are lognormal. Each feed has its day and
its week: a busiest hour (newsrooms of several time zones), a night of its own depth, quieter weekends.
Some release their items in batches. Sometimes there is a burst in which a feed publishes several times as
much for an hour or two. Times are seconds from 0, a midnight. The figures in README.md and docs/ belong to
this world; ``scrapy simulate compare`` has another one (:mod:`newsbot.simulator.site_world`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from newsbot.recrawl.baselines import Fixed, MinifluxType, NutchType
from newsbot.recrawl.budget import Controller
from newsbot.recrawl.index import Rates, SquareRootIndex
from newsbot.recrawl.policy import DAY, HOUR, SHORTEST, Array, Polled, PollPolicy, Rows

HOURS, DAYS = 24, 7
TWELVE_HOURS: Final = 12 * HOUR
_THURSDAY: Final = 3
"""The weekday of time 0, as that of POSIX times."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorldSettings:
    """The properties of a world."""

    feeds: int = 2000
    days: float = 35
    window: int = 20
    """Items that a feed shows."""
    median: float = 3.4
    """Items a day of the feed in the middle."""
    sigma: float = 1.6
    """Of the logarithm of the rate."""
    most: float = 1500.0
    """Items a day of the busiest feeds."""
    batching: float = 0.2
    """Share of feeds that release items in batches."""
    batch: float = 4.0
    """Mean items of a batch."""
    bursts: float = 1.0
    """Bursts of a feed in a week, on average."""
    burst_factor: float = 12.0
    """By how much a feed publishes more in a burst."""
    burst_hours: float = 2.0
    """Mean length of a burst."""
    burst_most: float = 150.0
    """Items an hour that a burst adds at most."""


@dataclass(frozen=True, slots=True)
class FeedWorld:
    """Items of all feeds, and the rates behind them (batches and bursts apart)."""

    settings: WorldSettings
    moments: Array
    """When items were published, by feed and time."""
    owners: Rows
    """The feed of each item."""
    first: Rows
    """Where the items of each feed begin; one more for the end."""
    hourly: Array
    """Items an hour of each feed in each of the 168 hours of a week, Monday first."""
    keys: Array = field(repr=False)
    """Sorts feeds, then times: to find places of many feeds at once."""

    @property
    def seconds(self) -> float:
        """Length of the world's time."""
        return self.settings.days * DAY

    def published(self, rows: Rows, at: Array) -> Rows:
        """Return how many items those feeds had published by those times."""
        return np.searchsorted(self.keys, rows * (2 * self.seconds) + at, side="right") - self.first[rows]

    def rates(self, rows: Rows, at: Array, hours: int) -> Array:
        """Return the true rates (:class:`newsbot.recrawl.index.Rates`)."""
        count = (at // HOUR).astype(np.intp)[:, None] + np.arange(hours) + _THURSDAY * HOURS
        return np.asarray(self.hourly[rows[:, None], count % (HOURS * DAYS)])


def make_world(settings: WorldSettings, draw: np.random.Generator) -> FeedWorld:
    """Return a world; the same draws give the same one."""
    of_rates, of_items = draw.spawn(2)
    hourly = _hourly_rates(settings, of_rates)
    of_feeds = of_items.spawn(settings.feeds)
    pieces = [_publish(settings, rates, one) for rates, one in zip(hourly, of_feeds, strict=True)]
    first = np.concatenate([[0], np.cumsum([len(piece) for piece in pieces])]).astype(np.intp)
    owners = np.repeat(np.arange(settings.feeds, dtype=np.intp), np.diff(first))
    moments = np.concatenate(pieces)
    keys = owners * (2 * settings.days * DAY) + moments
    return FeedWorld(settings, moments, owners, first, hourly, keys)


def _hourly_rates(settings: WorldSettings, draw: np.random.Generator) -> Array:
    """Return items an hour of each feed in each hour of a week."""
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


def _publish(settings: WorldSettings, week: Array, draw: np.random.Generator) -> Array:
    """Return the sorted moments of one feed's items."""
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
        moments = moments + draw.uniform(0, 60.0, len(moments))  # a release takes a minute
    return np.sort(moments[moments < settings.days * DAY])


def _bursts(settings: WorldSettings, draw: np.random.Generator) -> Array:
    """Return the share of each hour that is in a burst."""
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
    """All polls of a run, in the order of time for each feed."""

    rows: Rows
    at: Array
    before: Rows
    """Items that the feed had published at the poll before."""
    until: Rows
    """Items that it had published at this poll."""


@dataclass(frozen=True, slots=True)
class Freshness:
    """Delays in seconds from publication to the poll, and shares of all items that were counted.

    Lost items have a delay too, else a policy that loses the items of busy hours would look fast.
    """

    polls: float
    """Of a feed in a day."""
    median: float
    mean: float
    p95: float
    p99: float
    lost: float
    """Items that had left the feed at the next poll."""
    over_12h: float


def run_policy(world: FeedWorld, policy: PollPolicy, first: Array) -> Polls:
    """Return the polls that a policy makes; ``first`` has the time of each feed's first poll."""
    due = first.copy()
    seen = np.zeros(len(due), np.intp)
    made: list[tuple[Rows, Array, Rows, Rows]] = []
    spent = 0
    window = float(world.settings.window)
    # No source is polled twice within SHORTEST: all polls of such a step are independent of each other.
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

    Items without a poll before the end count as late as the end is, so that none is left out.
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
    )


def policies(world: FeedWorld, a_day: float) -> Iterator[tuple[str, Callable[[], PollPolicy]]]:
    """Yield the names of the policies that are compared, and what makes each for ``a_day`` polls of a
    feed."""
    count = world.settings.feeds
    an_hour, interval = a_day * count / 24, DAY / a_day
    theta = interval**2 / 2 / HOUR  # exact if each feed has an item an hour

    def index(known: Rates | None, *, plain: bool) -> Callable[[], PollPolicy]:
        return lambda: SquareRootIndex(count, Controller(an_hour, theta, 0.5), known=known, plain=plain)

    yield "fixed", lambda: Fixed(interval)
    yield "nutch", lambda: NutchType(count, Controller(an_hour, 0.4, 0.5), interval)
    yield "miniflux", lambda: MinifluxType(count, Controller(an_hour, 1.0, 1.0))
    yield "square_root", index(None, plain=True)
    yield "true_rate", index(world, plain=True)
    yield "newsbot", index(None, plain=False)
