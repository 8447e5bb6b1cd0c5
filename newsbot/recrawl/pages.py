"""When articles and other pages are visited again, from what earlier visits saw: policies without a memory.

What they need stands in the page's record: its history says of each visit whether the page had changed.
"""

from __future__ import annotations

from typing import Final

from newsbot.items import EventKind, PageRecord
from newsbot.recrawl.baselines import NUTCH_FASTER, NUTCH_SLOWER
from newsbot.recrawl.policy import Outcome
from newsbot.rules.schema import Rule

QUIET_AFTER: Final = 3
"""Unchanged answers in a row that end an article's ladder."""
DAY: Final = 86400.0
LONGEST_REST: Final = 30 * DAY
_SLACK = 0.05
"""A look this share of an age before a step counts as that step."""


class Ladder:
    """Looks at an article at set ages (``recheck`` of its rule), fewer if it does not change.

    After :data:`QUIET_AFTER` unchanged answers in a row, and after the last age, it rests for good.
    """

    def interval(self, record: PageRecord | None, outcome: Outcome, rule: Rule, now: float) -> float | None:
        """Return seconds until the next age; never less than the rule's interval."""
        kind = outcome.seen_as
        floor = rule.interval.get(kind, 0.0)
        first_seen = now if record is None or record.first_seen <= 0 else record.first_seen
        if unchanged_in_a_row(record, outcome) >= QUIET_AFTER:
            return None
        age = max(0.0, now - first_seen)
        step = next((step for step in rule.recheck if step * (1 - _SLACK) > age), None)
        return None if step is None else max(step - age, floor)


class NutchPages:
    """As Apache Nutch: the rest before is made shorter after a change, longer after none."""

    def interval(self, record: PageRecord | None, outcome: Outcome, rule: Rule, now: float) -> float | None:
        """Return seconds until the next visit; never less than the rule's interval."""
        floor = rule.interval.get(outcome.seen_as) or DAY
        looks = visits(record)
        changed = seen_change(outcome, record)
        if not looks or changed is None:
            return floor
        factor = 1 - NUTCH_FASTER if changed else 1 + NUTCH_SLOWER
        return min(max((now - looks[-1][0]) * factor, floor), max(LONGEST_REST, floor))


def visits(record: PageRecord | None) -> list[tuple[float, bool | None]]:
    """Return time and finding of the visits that the record remembers, oldest first."""
    history = [] if record is None else record.history
    return [
        (float(event["at"]), event.get("changed"))
        for event in history
        if event.get("event") == EventKind.PLANNED and isinstance(event.get("at"), int | float)
    ]


def seen_change(outcome: Outcome, record: PageRecord | None) -> bool | None:
    """Return whether this visit found the page changed; None: it is the first one, or it is not known."""
    if outcome.not_modified:
        return False
    if outcome.failed or record is None or record.checks <= 1:
        return None
    return outcome.changed


def unchanged_in_a_row(record: PageRecord | None, outcome: Outcome) -> int:
    """Return how many of the latest answers, this one included, showed nothing new."""
    if seen_change(outcome, record) is not False:
        return 0
    count = 1
    for _at, changed in reversed(visits(record)):
        if changed is not False:
            break
        count += 1
    return count
