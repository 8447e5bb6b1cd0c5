"""Policies that decide when articles and other pages are visited again. They keep no state.

They read the page's record: its history contains for each visit whether the page had changed.
"""

from __future__ import annotations

from typing import Final

from newsbot.items import EventKind, PageRecord
from newsbot.recrawl.baselines import NUTCH_FASTER, NUTCH_SLOWER
from newsbot.recrawl.policy import Outcome
from newsbot.rules.schema import Rule

QUIET_AFTER: Final = 3
"""Number of unchanged visits in a row after which an article is not visited again."""
DAY: Final = 86400.0
FIRST_REST: Final = DAY / 4
"""Seconds until the second visit of an old list (:class:`OldList`), and the minimum between two visits."""
LONGEST_REST: Final = 30 * DAY
"""Maximum seconds between two visits of a page."""
_SLACK = 0.05
"""Share of an age in ``recheck``. A visit that is too early by at most this share counts for this age."""


class Ladder:
    """Visits an article at fixed ages (``recheck`` of its rule).

    The visits end after the last age, or after :data:`QUIET_AFTER` unchanged visits in a row.
    """

    def interval(self, record: PageRecord | None, outcome: Outcome, rule: Rule, now: float) -> float | None:
        """Return the seconds until the next age, at least the rule's interval; None after the last visit."""
        kind = outcome.seen_as
        floor = rule.interval.get(kind, 0.0)
        first_seen = now if record is None or record.first_seen <= 0 else record.first_seen
        if unchanged_in_a_row(record, outcome) >= QUIET_AFTER:  # it is not edited any more
            return None
        age = max(0.0, now - first_seen)
        # A visit at 98 % of an age counts as the visit at this age, so the next visit is at the next age.
        step = next((step for step in rule.recheck if step * (1 - _SLACK) > age), None)
        return None if step is None else max(step - age, floor)


class NutchPages:
    """The rule of Apache Nutch: the interval is shortened after a change and lengthened otherwise."""

    def interval(self, record: PageRecord | None, outcome: Outcome, rule: Rule, now: float) -> float | None:
        """Return the seconds until the next visit, at least the rule's interval."""
        floor = rule.interval.get(outcome.seen_as) or DAY
        looks = visits(record)
        changed = seen_change(outcome, record)
        if not looks or changed is None:
            return floor
        factor = 1 - NUTCH_FASTER if changed else 1 + NUTCH_SLOWER
        return min(max((now - looks[-1][0]) * factor, floor), max(LONGEST_REST, floor))


class OldList:
    """Policy for further pages of lists and for archives: the interval doubles until a new link is found."""

    def interval(self, record: PageRecord | None, outcome: Outcome, _rule: Rule, now: float) -> float:
        """Return the seconds until the next visit, from :data:`FIRST_REST` to :data:`LONGEST_REST`."""
        looks = visits(record)
        if outcome.failed or outcome.new_items or not looks:
            return FIRST_REST
        return min(max(2 * (now - looks[-1][0]), FIRST_REST), LONGEST_REST)


def visits(record: PageRecord | None) -> list[tuple[float, bool | None]]:
    """Return pairs (POSIX seconds, changed) of the visits in the record's history, oldest first.

    The current visit is not among them. ``changed`` is None if it is unknown.
    """
    history = [] if record is None else record.history
    return [
        (float(event["at"]), event.get("changed"))
        for event in history
        if event.get("event") == EventKind.PLANNED and isinstance(event.get("at"), int | float)
    ]


def seen_change(outcome: Outcome, record: PageRecord | None) -> bool | None:
    """Return True if this visit found the page changed, False if not, None if unknown or the first visit."""
    if outcome.not_modified:
        return False
    if outcome.failed or record is None or record.checks <= 1:
        return None
    return outcome.changed


def unchanged_in_a_row(record: PageRecord | None, outcome: Outcome) -> int:
    """Return the number of visits without a change since the last other visit, including this visit."""
    if seen_change(outcome, record) is not False:
        return 0
    count = 1
    for _at, changed in reversed(visits(record)):
        if changed is not False:  # the page had changed, or it is unknown whether it had
            break
        count += 1
    return count
