"""The budget of polls that all workers share."""

from __future__ import annotations

from typing import Any

from newsbot.clock import Clock
from newsbot.recrawl.budget import HIGHEST, LOWEST, Controller
from newsbot.recrawl.fitting import begin_with_rates
from newsbot.recrawl.planning import DEAD_AFTER
from newsbot.recrawl.sources import POLLS_AN_HOUR, first_threshold
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
