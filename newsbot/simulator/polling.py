"""Runs any polling policy over a world of feeds and says how late items were found, and what was lost."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from newsbot.recrawl.baselines import Fixed, MinifluxType, NutchType
from newsbot.recrawl.budget import Controller
from newsbot.recrawl.index import Rates, SquareRootIndex
from newsbot.recrawl.polling import DAY, HOUR, SHORTEST, Array, Polled, PollPolicy, Rows
from newsbot.simulator.feedworld import FeedWorld

TWELVE_HOURS: Final = 12 * HOUR


@dataclass(frozen=True, slots=True)
class Polls:
    """All polls of a run, in the order of time for each feed."""

    rows: Rows
    at: Array
    before: Rows
    """Items of the feed that earlier polls had come by."""
    until: Rows
    """Items that had been published when this one came."""


@dataclass(frozen=True, slots=True)
class Freshness:
    """How late polls came to items: delays in seconds from publication, of lost items too, else a policy that
    loses the items of busy hours would look fast. Shares of all items that were counted."""

    polls: float
    """Of a feed in a day."""
    median: float
    mean: float
    p95: float
    p99: float
    lost: float
    """Items that a feed showed no more when the next poll came."""
    over_12h: float


def run_policy(world: FeedWorld, policy: PollPolicy, first: Array) -> Polls:
    """Return the polls that a policy makes; ``first`` has the time of each feed's first poll."""
    due = first.copy()
    seen = np.zeros(len(due), np.intp)
    made: list[tuple[Rows, Array, Rows, Rows]] = []
    spent = 0
    window = float(world.settings.window)
    # No source is polled twice within SHORTEST: all that fall into such a step are independent of each other.
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
    """Return what polls found of the items published at or after ``begin`` (seconds).

    Items that no poll came for before the end count as late as the end is, so that none is left out.
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
    """Yield the policies that are compared by name, each with what makes it for ``a_day`` polls of a feed."""
    count = world.settings.feeds
    an_hour, interval = a_day * count / 24, DAY / a_day
    theta = interval**2 / 2 / HOUR  # right where each feed has an item an hour

    def index(known: Rates | None, *, plain: bool) -> Callable[[], PollPolicy]:
        return lambda: SquareRootIndex(count, Controller(an_hour, theta, 0.5), known=known, plain=plain)

    yield "fixed", lambda: Fixed(interval)
    yield "nutch", lambda: NutchType(count, Controller(an_hour, 0.4, 0.5), interval)
    yield "miniflux", lambda: MinifluxType(count, Controller(an_hour, 1.0, 1.0))
    yield "square_root", index(None, plain=True)
    yield "true_rate", index(world, plain=True)
    yield "newsbot", index(None, plain=False)
