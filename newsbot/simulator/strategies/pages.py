"""The crawler's own policies for pages, which look at a page's record, on many at once."""

from __future__ import annotations

from typing import Final

import numpy as np

from newsbot.items import Event, EventKind, Kind, PageRecord
from newsbot.recrawl.estimators import rough_rate
from newsbot.recrawl.optimum import Optimum, number_for
from newsbot.recrawl.pages import Ladder
from newsbot.recrawl.policy import Outcome, Policy
from newsbot.recrawl.polling import DAY, Array, Polled
from newsbot.rules.schema import Rule
from newsbot.simulator.strategies.task import Task

REMEMBERED: Final = 30
"""Visits that a record remembers one by one, as in storage."""
EPOCH: Final = 7 * DAY
"""Added to times: in a record, 0 means not known."""


class Pages:
    """A policy of the crawler with a record for each page."""

    policy: Policy

    def __init__(self, task: Task) -> None:
        self._records = [_record(number) for number in range(task.sources)]
        self._rule = Rule(domain="example.org")

    def next_polls(self, polled: Polled) -> Array:
        """Write the visits into the records; return the next ones."""
        visits = zip(polled.rows.tolist(), polled.at.tolist(), (polled.new > 0).tolist(), strict=True)
        return np.array(
            [at + self._rest(self._records[row], at + EPOCH, new) for row, at, new in visits], float
        )

    def _rest(self, record: PageRecord, now: float, changed: bool) -> float:
        record.first_seen = record.first_seen or now
        record.checks += 1
        known = changed if record.checks > 1 else None
        record.changes += bool(known)
        outcome = Outcome(kind=Kind.ARTICLE, status=200, changed=known)
        rest = self.policy.interval(record, outcome, self._rule, now)
        record.last_fetched = now
        event: Event = {"at": now, "event": EventKind.PLANNED.value, "changed": known}
        record.history = [*record.history[1 - REMEMBERED :], event]
        return np.inf if rest is None else rest

    def spend(self, requests: float, hours: float) -> None:
        """Nothing is adjusted."""


class Optimal(Pages):
    """:class:`newsbot.recrawl.optimum.Optimum`; its number is found each hour."""

    def __init__(self, task: Task) -> None:
        super().__init__(task)
        self._visits_each = task.a_day / DAY
        self.policy = Optimum(0.0, self._visits_each)

    def spend(self, requests: float, hours: float) -> None:  # noqa: ARG002  (the number keeps the budget)
        """Find the number anew."""
        each = self._visits_each
        rates = [rate for record in self._records if (rate := rough_rate(record, each)) is not None]
        if rates:
            self.policy = Optimum(number_for(rates, self._visits_each), self._visits_each)


class Ages(Pages):
    """:class:`newsbot.recrawl.pages.Ladder`: no budget, the ages of the rule."""

    policy = Ladder()


def _record(number: int) -> PageRecord:
    url = f"https://example.org/{number}"
    key = number.to_bytes(8, "big")
    return PageRecord(url=url, fingerprint=key, host="example.org", source="example.org", kind=Kind.ARTICLE)
