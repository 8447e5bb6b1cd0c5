"""The first day of a crawl: the number of polls meets the budget although the sources are unknown."""

from __future__ import annotations

import heapq
import random
from pathlib import Path

import pytest

from newsbot.crawl.sources import PollBudget
from newsbot.items import Kind
from newsbot.pages.rules.rule import Rule
from newsbot.recrawl.planning import Outcome
from newsbot.recrawl.policies import SourceIndex, first_threshold, fitting_threshold
from newsbot.storage.base import SourceRecord
from newsbot.storage.sqlite import SqliteStorage

NOW = 1_799_625_600.0
HOUR, DAY = 3600.0, 86400.0
RULE = Rule(domain="example.com")
SHOWN = 60
BY_DAY = [0.2] * 6 + [1.0, 1.4] + [1.6] * 8 + [1.3, 1.2, 1.0, 0.9, 0.8, 0.6, 0.4, 0.3]
"""Relative publication rate by hour of the day."""


def births(rate: float, days: float, chance: random.Random) -> list[float]:
    """Return publication times, from a day before the crawl begins; ``rate``: items per hour."""
    times, at = [], NOW - DAY
    while at < NOW + days * DAY:
        at += chance.expovariate(rate * max(BY_DAY)) * HOUR
        if chance.random() < BY_DAY[int(at // HOUR) % 24] / max(BY_DAY):
            times.append(at)
    return times


class Crawl:
    """Polls sources like a crawl, in simulated time."""

    def __init__(self, path: Path, rates: list[float], budget: float, *, dated: bool, hour: int = 0) -> None:
        chance = random.Random(7)
        self.now = self.start = NOW + hour * HOUR
        self.storage = SqliteStorage(path / "n.db")
        self.budget = PollBudget(budget, lambda: self.now)
        self.born = [births(rate, 6, chance) for rate in rates]
        self.dated = dated
        self.sources = [
            SourceRecord(url=f"https://{n}.org/f", source=f"{n}.org", kind=Kind.FEED)
            for n in range(len(rates))
        ]
        self.due = [(self.start + 2.0 * n, n) for n in range(len(rates))]
        self.polled: list[float] = []

    def run(self, hours: float) -> None:
        while self.due[0][0] < self.start + hours * HOUR:
            self.now, number = heapq.heappop(self.due)
            self.polled.append(self.now)
            heapq.heappush(self.due, (self.now + self._poll(number), number))

    def _poll(self, number: int) -> float:
        source = self.sources[number]
        since = source.last_poll or 0.0
        shown = [at for at in self.born[number] if at <= self.now][-SHOWN:]
        outcome = Outcome(
            kind=Kind.FEED,
            status=200,
            new_items=sum(at > since for at in shown),
            shown=len(shown),
            span=self.now - shown[0] if self.dated and shown else None,
        )
        policy = SourceIndex(source.rhythm, self.budget.threshold(self.storage))
        rest = policy.interval(None, outcome, RULE, self.now)
        source.rhythm, source.last_poll, source.polls = policy.rhythm, self.now, source.polls + 1
        self.storage.sources.save([source])
        self.storage.activity.add(self.now, {source.source: {"polls": 1}})
        return rest

    def polls_an_hour(self, since: float, until: float) -> float:
        begin, end = self.start + since * HOUR, self.start + until * HOUR
        return sum(begin <= at < end for at in self.polled) / (until - since)


@pytest.mark.parametrize(
    ("rates", "budget", "dated", "hour"),
    [
        ([12.0] * 12, 6.0, True, 8),
        ([12.0] * 12, 6.0, False, 8),
        ([12.0] * 12, 6.0, True, 0),
        ([0.2, 0.5, 1.0, 2.0, 4.0, 6.0, 8.0, 10.0, 12.0, 16.0, 16.0, 16.0], 6.0, True, 8),
        ([0.05] * 20 + [8.0] * 10, 15.0, False, 20),
    ],
)
def test_the_first_day_keeps_to_the_budget(
    tmp_path: Path, rates: list[float], budget: float, dated: bool, hour: int
) -> None:
    crawl = Crawl(tmp_path, rates, budget, dated=dated, hour=hour)
    crawl.run(24)
    assert 0.7 * budget < crawl.polls_an_hour(0, 24) <= 1.25 * budget
    crawl.storage.close()


def test_the_number_of_polls_is_stable_after_the_first_day(tmp_path: Path) -> None:
    crawl = Crawl(tmp_path, [12.0] * 12, 6.0, dated=True, hour=8)
    crawl.run(4 * 24)
    for day in (1, 2, 3):
        assert crawl.polls_an_hour(24 * day, 24 * day + 24) == pytest.approx(6.0, rel=0.25)
    crawl.storage.close()


def note(rate: float, window: float = 0.0) -> dict[str, float]:
    """Return the learned note of a source that was observed for a long time."""
    return {"items": rate * 10_000, "hours": 10_000.0, "window": window}


def test_the_fitting_threshold_matches_the_formula() -> None:
    assert fitting_threshold(20.0, [note(1.0)] * 10) == pytest.approx(first_threshold(20.0, 10), rel=1e-3)
    # for rates r, the number of polls is the sum of √(r / 2 T)
    rates = [0.5, 1.0, 2.0, 4.0]
    polls = sum((rate / 3600 / (2 * 10_000.0)) ** 0.5 for rate in rates) * 3600
    assert fitting_threshold(polls, [note(rate) for rate in rates]) == pytest.approx(10_000.0, rel=1e-3)


def test_polls_for_a_window_are_saved_at_other_sources() -> None:
    narrow = [note(30.0, window=20.0)] * 2  # about every 20 minutes, independent of the threshold
    assert fitting_threshold(8.0, [*narrow, *[note(1.0)] * 4]) > 2 * first_threshold(8.0, 6)


@pytest.mark.parametrize("budget", [1e-3, 1e6])
def test_a_budget_that_cannot_be_met_gives_the_longest_or_shortest_intervals(budget: float) -> None:
    threshold = fitting_threshold(budget, [note(1.0), {"items": "broken"}, {}])
    rest = (2 * threshold * 3600) ** 0.5
    assert rest == pytest.approx(6 * HOUR, rel=0.01) if budget < 1 else rest <= 300
    assert fitting_threshold(budget, []) > 0
