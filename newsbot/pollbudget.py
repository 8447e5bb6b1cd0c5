"""The budget of polls that all workers share."""

from __future__ import annotations

from typing import Any, cast

from newsbot.clock import Clock
from newsbot.recrawl.budget import Controller
from newsbot.recrawl.planning import DEAD_AFTER
from newsbot.recrawl.sources import POLLS_AN_HOUR, first_threshold
from newsbot.storage.base import Storage
from newsbot.storage.notes import Notes

ADJUST_EVERY = 600.0
"""Seconds between two corrections of the threshold, whichever worker makes them."""
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
            self._threshold = self._adjusted(storage, now)
            self._until = now + ADJUST_EVERY
        return self._threshold

    def _adjusted(self, storage: Storage, now: float) -> float:
        notes = cast("Notes", storage)
        kept = notes.notes(NOTE[0]).get(NOTE[1], {})
        sources = storage.sources()
        alive = sum(source.failures < DEAD_AFTER for source in sources)
        budget = self._budget or POLLS_AN_HOUR * max(1, alive)
        polls = sum(source.polls for source in sources)
        controller = Controller(budget, _number(kept, "value") or first_threshold(budget, alive), 0.5)
        controller.spent, controller.weight = _number(kept, "spent"), _number(kept, "weight")
        hours = (now - _number(kept, "at", now)) / 3600.0
        if kept and 0 <= hours < ADJUST_EVERY / 3600.0:
            return controller.value
        if kept and hours > 0:
            controller.spend(max(0.0, polls - _number(kept, "polls")) / hours, hours)
        note = {
            "at": now,
            "polls": polls,
            "value": controller.value,
            "spent": controller.spent,
            "weight": controller.weight,
        }
        notes.save_note(*NOTE, note)
        return controller.value


def _number(note: dict[str, Any], name: str, default: float = 0.0) -> float:
    value = note.get(name, default)
    return float(value) if isinstance(value, int | float) and value >= 0 else default
