"""The polling policy for one source at a time: what was learned goes in and comes out."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final

import numpy as np

from newsbot.items import PageRecord
from newsbot.recrawl.budget import Controller
from newsbot.recrawl.index import SquareRootIndex
from newsbot.recrawl.policy import DEFAULT_SOURCE_INTERVAL, Outcome
from newsbot.recrawl.polling import DAY, HOUR, Polled
from newsbot.rules.schema import Rule

POLLS_AN_HOUR: Final = 2.0
"""Of a source, on average, where no budget is set."""
_ONE = np.zeros(1, np.intp)


class SourceIndex:
    """:class:`newsbot.recrawl.policy.Policy` by the square-root index, for one visit of one source.

    ``rhythm`` is what earlier visits learned (anything that is none counts as nothing); afterwards it
    holds what is known now. ``threshold`` in items * seconds is the same for all sources.
    """

    def __init__(self, rhythm: Mapping[str, Any], threshold: float) -> None:
        self.rhythm = dict(rhythm)
        self._threshold = threshold

    def interval(
        self,
        record: PageRecord | None,  # noqa: ARG002  (other policies look at it)
        outcome: Outcome,
        rule: Rule,
        now: float,
    ) -> float:
        """Return seconds until the next poll; never less than the rule's interval for the kind."""
        floor = rule.interval.get(outcome.kind, 0.0)
        if outcome.failed:
            return floor or DEFAULT_SOURCE_INTERVAL
        policy = self._policy()
        if np.isnan(policy.last[0]) and outcome.span is not None:
            policy.rhythm.suppose(0, outcome.shown, outcome.span / HOUR)
        new, shown = np.array([float(outcome.new_items)]), np.array([float(outcome.shown)])
        due = policy.next_polls(Polled(_ONE, np.array([now]), new, shown))
        self.rhythm |= policy.as_note(0)
        return max(float(due[0]) - now, floor)

    def _policy(self) -> SquareRootIndex:
        policy = SquareRootIndex(1, Controller(1.0, self._threshold, 0.5))
        with suppress(ValueError, TypeError):  # of another version, or damaged: it is learned anew
            policy.take_note(0, self.rhythm)
            return policy
        return SquareRootIndex(1, Controller(1.0, self._threshold, 0.5))


def first_threshold(requests_an_hour: float, sources: int) -> float:
    """Return a threshold that is right where every source has an item an hour, to begin with."""
    interval = HOUR * max(1, sources) / requests_an_hour
    return min(interval, DAY) ** 2 / 2 / HOUR
