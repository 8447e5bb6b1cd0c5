"""Chooses the recrawl policy of each page. The policy decides when the page is fetched again.

A *source* is a feed, a sitemap or a section, and a *poll* is a visit of a source. All sources share a budget
of polls. The other pages of a site share a budget of visits (policy ``optimum``), or are fetched again at
fixed ages.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from itertools import islice
from typing import Any

from newsbot.clock import DAY, Clock
from newsbot.crawl.context import MAX_HOSTS, Context
from newsbot.crawl.visit import Visit
from newsbot.items import Bounded, Kind
from newsbot.pages.rules.rule import RECRAWL
from newsbot.recrawl.pages import Ladder, Optimum, number_for, rough_rate
from newsbot.recrawl.planning import DEAD_AFTER
from newsbot.recrawl.policy import HOUR, FixedIntervals, Never, Policy
from newsbot.recrawl.sources import (
    HIGHEST,
    LOWEST,
    POLLS_AN_HOUR,
    Controller,
    begin_with_rates,
    first_threshold,
)
from newsbot.storage.base import Storage

ADJUST_EVERY = 600.0
"""Minimum number of seconds between two corrections of the threshold by any worker."""
GROWING = 60.0
"""Seconds until the next correction while sources are still being added. Workers read the note with the
threshold this often."""
NOTE, WEIGHTS = ("polling", "budget"), ("polling", "weights")
"""Kind and key of the note with the threshold, and of the note with the weights of sites.

An app writes the weights, by domain. The weight of a site says how useful its articles are; 1 on average.
"""
MAX_WEIGHT = 64.0
"""Largest weight that is used. Its inverse is the smallest one."""
SAMPLED = 500
"""Maximum number of sources whose rates are read to compute a threshold."""


class PollBudget:
    """Adjusts the threshold of the square-root index until all sources together use the poll budget.

    :mod:`newsbot.recrawl.sources` explains index and threshold. The threshold is in a note. The first worker
    that finds it outdated adjusts it for all workers, from the number of sources and from the hourly counters
    of polls. The cost does not depend on the number of sources.
    """

    def __init__(self, budget: float, clock: Clock, *, useful: bool = False) -> None:
        """``budget`` is in requests per hour. 0 means a budget of POLLS_AN_HOUR requests per hour for each
        source. If ``useful``, the weights of sites are used.

        Sources that failed at least DEAD_AFTER times in a row are not counted.
        """
        self._budget, self._clock = budget, clock
        self._threshold = 0.0
        self._names, self._weights = (NOTE, WEIGHTS) if useful else (NOTE,), dict[str, Any]()
        self._until = 0.0

    def threshold(self, storage: Storage, site: str = "") -> float:
        """Return the present threshold of the index for the sources of a site.

        Raises :class:`newsbot.errors.DataError`.
        """
        now = self._clock()
        # The lower bound matters if the clock was set back. Without it, the threshold would not change until
        # the clock reaches the old time.
        if not self._until - GROWING <= now < self._until:
            notes = storage.notes.get_many(self._names)
            kept, self._weights = notes.get(NOTE, {}), notes.get(WEIGHTS, {})
            if not self._is_valid(kept, now):
                adjusted = self._adjusted(storage, kept, now)
                # If another worker was faster, both thresholds are nearly the same.
                storage.notes.swap(*NOTE, kept or None, adjusted)
                kept = adjusted
            self._threshold, self._until = _number(kept, "value"), now + GROWING
        # An index that is multiplied by a weight reaches the threshold when the index itself reaches this.
        return self._threshold / min(MAX_WEIGHT, max(1 / MAX_WEIGHT, _number(self._weights, site, 1.0)))

    def _is_valid(self, kept: Mapping[str, Any], now: float) -> bool:
        """Return True if no worker needs to adjust the threshold of this note now."""
        sources, at = _number(kept, "sources"), _number(kept, "at")
        budget = self._budget or POLLS_AN_HOUR * sources
        known = _number(kept, "value") and sources and budget == _number(kept, "budget")
        # The time is before ``at`` if the clock was set back after the note was written.
        return bool(known) and at <= now < _number(kept, "next") and now < at + ADJUST_EVERY

    def _adjusted(self, storage: Storage, kept: dict[str, Any], now: float) -> dict[str, Any]:
        """Return the note with the threshold for the time ``now``. ``kept`` is the stored note."""
        sources = storage.sources.count(failures=DEAD_AFTER)
        alive = max(1, sources)
        budget = self._budget or POLLS_AN_HOUR * alive
        controller = Controller(budget, _number(kept, "value") or first_threshold(budget, alive), 0.5)
        controller.spent, controller.weight = _number(kept, "spent"), _number(kept, "weight")
        changed = _rescale(controller, kept, alive)
        before = _number(kept, "at", now)
        hours = (now - before) / HOUR
        # If the hours are negative, the clock was set back after the note was written.
        due = not kept or not 0 <= hours < ADJUST_EVERY / HOUR
        if due:
            polls = Counter({one.hour: one.counts.get("polls", 0) for one in storage.activity.hours(before)})
            if hours > 0 and "in_hour" in kept:
                # The polls of the first hour were counted before in part. They may have been removed since.
                controller.spend(max(0.0, polls.total() - _number(kept, "in_hour")) / hours, hours)
        if due or changed:
            rhythms = [one.rhythm for one in storage.sources.sample(SAMPLED, failures=DEAD_AFTER)]
            begin_with_rates(controller, rhythms, alive)
        return {
            "at": now if due else before,
            "next": now + (GROWING if changed or not sources else ADJUST_EVERY),
            "in_hour": polls[int(now // HOUR)] if due else _number(kept, "in_hour"),
            "value": controller.value,
            "spent": controller.spent,
            "weight": controller.weight,
            "sources": alive,
            "budget": budget,
        }


def _rescale(controller: Controller, kept: dict[str, Any], alive: int) -> bool:
    """Adapt the threshold at once if the budget or the number of sources has changed.

    ``kept`` is the stored note. ``alive`` is the present number of sources. Returns True if the budget or the
    number differs from the note. The controller is slow on purpose: without this function, it would need days
    to reach the new threshold.
    """
    before, budget = _number(kept, "sources"), _number(kept, "budget")
    if not (before and budget) or (before, budget) == (alive, controller.budget):
        return False
    # The mean pause between two polls of a source changes by this ratio. The pause grows with the square root
    # of the threshold, so the threshold changes by the ratio's square.
    rest = (alive / controller.budget) / (before / budget)
    controller.value = min(HIGHEST, max(LOWEST, controller.value * rest**2))
    # ``spent`` is compared with the budget, so it is scaled in the same way
    controller.spent *= controller.budget / budget
    return True


def _number(note: Mapping[str, Any], name: str, default: float = 0.0) -> float:
    value = note.get(name, default)
    return float(value) if isinstance(value, int | float) and value >= 0 else default


SAMPLE = 2000
"""Maximum number of a site's page records that are read. Reading them takes less than a second."""
ANEW_AFTER = 3600.0
"""The policy of a site's pages is computed again after this number of seconds."""


class PagePrices:
    """Computes the ``optimum`` policy of each site and kind of page.

    ``visits_a_day`` is the average number of visits per page and day. Each worker computes the policy itself.
    All workers read the same records, so their results hardly differ.
    """

    def __init__(self, visits_a_day: float, clock: Clock) -> None:
        self._visits_each, self._clock = visits_a_day / DAY, clock
        self._known = Bounded[tuple[str, Kind], tuple[float, Optimum]](MAX_HOSTS)

    def policy(self, storage: Storage, domain: str, kind: Kind) -> Optimum:
        """Return the policy for the pages of this site and kind. Raises :class:`newsbot.errors.DataError`."""
        now = self._clock()
        at, policy = self._known.get((domain, kind), (0.0, None))
        if policy is None or not at <= now < at + ANEW_AFTER:
            pages = islice(storage.pages.iter(site=domain, kind=kind), SAMPLE)
            rates = [rate for page in pages if (rate := rough_rate(page, self._visits_each)) is not None]
            number = number_for(rates, self._visits_each) if rates else 0.0
            policy = Optimum(number, self._visits_each)
            self._known[domain, kind] = now, policy
        return policy


PAGES: Mapping[str, Policy] = {
    "ladder": Ladder(),
    "fixed": FixedIntervals(),
    "off": Never(),
}
"""The policies that the rule key ``recrawl`` can name for articles and other pages, besides ``optimum``."""


class RecrawlPolicies:
    """Selects the policy of each visited page.

    ``budget`` is for sources: :class:`newsbot.crawl.source_state.SourceState` uses it.
    """

    def __init__(self, context: Context, budget: PollBudget, prices: PagePrices) -> None:
        self._context, self.budget, self._prices = context, budget, prices

    def of(self, visit: Visit) -> Policy:
        """Return the policy for the visited page.

        A source whose polls are counted gets its policy from :class:`newsbot.crawl.source_state.SourceState`.
        Raises :class:`newsbot.errors.DataError`.
        """
        if visit.kind.is_source:
            return FixedIntervals()
        kind = visit.outcome.seen_as
        word = visit.rule.recrawl.get(kind, RECRAWL[kind][0])
        if word == "optimum":
            return self._prices.policy(self._context.storage, visit.rule.domain, visit.kind)
        return PAGES[word]
