"""The recrawl policy of each page: a budget of polls for sources, shares of visits or fixed ages for
others.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import Any

from newsbot.clock import DAY, Clock
from newsbot.crawl.context import Context
from newsbot.crawl.visit import Visit
from newsbot.items import Kind
from newsbot.recrawl import FixedIntervals, Never, Policy
from newsbot.recrawl.budget import HIGHEST, LOWEST, Controller
from newsbot.recrawl.index import POLLS_AN_HOUR, begin_with_rates, first_threshold
from newsbot.recrawl.optimum import Optimum, number_for, rough_rate
from newsbot.recrawl.pages import Ladder, NutchPages
from newsbot.recrawl.planning import DEAD_AFTER
from newsbot.rules.schema import RECRAWL
from newsbot.storage.base import Storage

ADJUST_EVERY = 600.0
"""Seconds between two corrections of the threshold, whichever worker makes them."""
GROWING = 60.0
"""Seconds until the next look at the records while new sources still come."""
NOTE = ("polling", "budget")
"""Kind and key of the note with the threshold."""


class PollBudget:
    """The threshold of the square-root index, moved until all sources take the budget of requests an hour.

    The polls of all workers are in the records of sources, so nobody has to add them up in a race: what
    two workers find at the same time is the same.
    """

    def __init__(self, budget: float, clock: Clock) -> None:
        """``budget``: requests an hour; 0: so many for each source that is alive."""
        self._budget, self._clock = budget, clock
        self._threshold = 0.0
        self._until = 0.0

    def threshold(self, storage: Storage) -> float:
        """Return the threshold. Raises :class:`newsbot.errors.DataError`."""
        now = self._clock()
        if not self._until - ADJUST_EVERY <= now < self._until:
            self._threshold, rest = self._adjusted(storage, now)
            self._until = now + rest
        return self._threshold

    def _adjusted(self, storage: Storage, now: float) -> tuple[float, float]:
        """Return the threshold, and for how many seconds it may be taken for right."""
        notes = storage.notes
        kept = notes.all(NOTE[0]).get(NOTE[1], {})
        sources = storage.sources.all()
        alive = max(1, sum(source.failures < DEAD_AFTER for source in sources))
        budget = self._budget or POLLS_AN_HOUR * alive
        polls = sum(source.polls for source in sources)
        controller = Controller(budget, _number(kept, "value") or first_threshold(budget, alive), 0.5)
        controller.spent, controller.weight = _number(kept, "spent"), _number(kept, "weight")
        changed = _rescale(controller, kept, alive)
        hours = (now - _number(kept, "at", now)) / 3600.0
        due = not kept or not 0 <= hours < ADJUST_EVERY / 3600.0
        if kept and due and hours > 0:
            controller.spend(max(0.0, polls - _number(kept, "polls")) / hours, hours)
        if due or changed:
            rhythms = [source.rhythm for source in sources if source.failures < DEAD_AFTER]
            begin_with_rates(controller, rhythms)
            note = {
                "at": now if due else _number(kept, "at", now),
                "polls": polls if due else _number(kept, "polls"),
                "value": controller.value,
                "spent": controller.spent,
                "weight": controller.weight,
                "sources": alive,
                "budget": budget,
            }
            notes.save(*NOTE, note)
        return controller.value, GROWING if changed or not sources else ADJUST_EVERY


def _rescale(controller: Controller, kept: dict[str, Any], alive: int) -> bool:
    """Let more or fewer sources, or another budget, count at once; return True if there was a change.

    The controller alone, which is slow on purpose, would take days to forget the threshold of other times.
    """
    before, budget = _number(kept, "sources"), _number(kept, "budget")
    if not (before and budget) or (before, budget) == (alive, controller.budget):
        return False
    rest = (alive / controller.budget) / (before / budget)  # of a source, from poll to poll
    controller.value = min(HIGHEST, max(LOWEST, controller.value * rest**2))
    controller.spent *= controller.budget / budget
    return True


def _number(note: dict[str, Any], name: str, default: float = 0.0) -> float:
    value = note.get(name, default)
    return float(value) if isinstance(value, int | float) and value >= 0 else default


SAMPLE = 2000
"""Pages of a site that are looked at: some tenths of a second."""
ANEW_AFTER = 3600.0


class PagePrices:
    """One worker's; all come to about the same, since they look at the same records.

    ``visits_a_day``: of a page, on average.
    """

    def __init__(self, visits_a_day: float, clock: Clock) -> None:
        self._visits_each, self._clock = visits_a_day / DAY, clock
        self._known: dict[tuple[str, Kind], tuple[float, Optimum]] = {}

    def policy(self, storage: Storage, domain: str, kind: Kind) -> Optimum:
        """Return the policy for a site's pages of a kind. Raises :class:`newsbot.errors.DataError`."""
        now = self._clock()
        at, policy = self._known.get((domain, kind), (0.0, None))
        if policy is None or not at <= now < at + ANEW_AFTER:
            pages = islice(storage.pages.iter(source=domain, kind=kind), SAMPLE)
            rates = [rate for page in pages if (rate := rough_rate(page, self._visits_each)) is not None]
            number = number_for(rates, self._visits_each) if rates else 0.0
            policy = Optimum(number, self._visits_each)
            self._known[domain, kind] = now, policy
        return policy


PAGES: Mapping[str, Policy] = {
    "ladder": Ladder(),
    "nutch": NutchPages(),
    "fixed": FixedIntervals(),
    "off": Never(),
}
"""What ``recrawl`` of a rule names, for articles and other pages."""


class RecrawlPolicies:
    """The policies of one crawl. ``budget`` decides on sources, see :class:`SourceState`."""

    def __init__(self, context: Context, budget: PollBudget, prices: PagePrices) -> None:
        self._context, self.budget, self._prices = context, budget, prices

    def of(self, visit: Visit) -> Policy:
        """Return what decides when the visited page is wanted again, but for sources that are polled.

        Raises :class:`newsbot.errors.DataError`.
        """
        if visit.kind.is_source:
            return FixedIntervals()
        kind = visit.outcome.seen_as
        word = visit.rule.recrawl.get(kind, RECRAWL[kind][0])
        if word == "optimum":
            return self._prices.policy(self._context.storage, visit.rule.domain, visit.kind)
        return PAGES[word]
