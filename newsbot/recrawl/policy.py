"""The interface of policies: what a visit brought, and how long a page may rest after a good one.

A policy only wishes; what must hold whatever it says (no source rests over 6 hours, failing ones back
off, Retry-After is obeyed) is in :mod:`newsbot.recrawl.planning`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from newsbot.items import Kind, PageRecord
from newsbot.rules.schema import Rule

DEFAULT_SOURCE_INTERVAL = 1800.0
"""Seconds; for sources whose rule gives no interval."""

WATCH_ARTICLES = 7 * 86400.0
"""Seconds for which an article is looked at again for edits, from when it was first heard of."""
GONE_STATUSES = (404, 410)


@dataclass(slots=True, kw_only=True)
class Outcome:
    """What one visit brought; filled in while it goes on."""

    kind: Kind
    """What the URL was expected to be."""
    status: int | None = None
    """HTTP status of the last answer; None: there was none."""
    error: str | None = None
    """Why there is nothing to read: a token such as ``timeout`` or ``http_404``; None: all went well."""
    not_modified: bool = False
    """The answer was 304."""
    changed: bool | None = None
    """The content differs from that of the visit before; None: not known."""
    new_items: int = 0
    """Links that were not known before."""
    retry_after: float | None = None
    """Seconds, from the answer's Retry-After."""
    max_age: float | None = None
    """Seconds, from the answer's Cache-Control."""
    ttl: float | None = None
    """Seconds for which a feed asks not to be polled again."""
    skip_hours: frozenset[int] = frozenset()
    """Hours of the day (UTC) in which a feed asks not to be polled."""
    shown: int = 0
    """Links that a source showed; 0: not known."""
    span: float | None = None
    """Seconds from the oldest of them until now, by their dates; None: they say no dates."""
    is_article: bool | None = None
    """What the page turned out to be; None: not known."""
    redirected_to: str | None = None

    @property
    def failed(self) -> bool:
        """True when the visit gave no content (304 is content that is known already)."""
        return self.error is not None or (self.status is not None and self.status >= 400)

    @property
    def gone(self) -> bool:
        """True when the server says that there is no such page."""
        return self.status in GONE_STATUSES and self.error in (None, f"http_{self.status}")

    @property
    def cause(self) -> str:
        """Why it failed, for people; empty if it did not."""
        if self.error is not None:
            return self.error
        return f"http_{self.status}" if self.failed else ""

    @property
    def seen_as(self) -> Kind:
        """The kind after the visit: an article or another page is what it turned out to be."""
        if self.kind.is_source or self.is_article is None:
            return self.kind
        return Kind.ARTICLE if self.is_article else Kind.OTHER


class Policy(Protocol):
    """How long a page may rest after a visit that went well."""

    def interval(self, record: PageRecord | None, outcome: Outcome, rule: Rule, now: float) -> float | None:
        """Return seconds from ``now`` until the page is wanted again; None: never.

        ``record`` is the page after the visit. Must not keep state between calls that a simulator
        could not replay: the same arguments give the same answer.
        """


class FixedIntervals:
    """The rule's interval for the kind. Absent or 0: sources by the default, other pages never again.

    Articles are edited in their first days: after :data:`WATCH_ARTICLES` they rest for good.
    """

    def interval(
        self,
        record: PageRecord | None,
        outcome: Outcome,
        rule: Rule,
        now: float,
    ) -> float | None:
        """Return the rule's interval in seconds; see the class."""
        seconds = rule.interval.get(outcome.seen_as) or None
        if outcome.seen_as is Kind.ARTICLE and record is not None and _is_old(record, now):
            return None
        if seconds is None and outcome.kind.is_source:
            return DEFAULT_SOURCE_INTERVAL
        return seconds


class Never:
    """A page is visited once."""

    def interval(self, *_visit: object) -> None:
        """Return None."""


def _is_old(record: PageRecord, now: float) -> bool:
    return 0.0 < record.first_seen < now - WATCH_ARTICLES


Array = NDArray[np.float64]
Rows = NDArray[np.intp]

HOUR: Final = 3600.0
DAY: Final = 24 * HOUR
SHORTEST: Final = 300.0
"""Seconds; no policy polls a source sooner."""
LONGEST: Final = 6 * HOUR
"""Seconds; no source is older, so that an item is found within 12 hours even if one poll is missed."""


@dataclass(frozen=True, slots=True)
class Polled:
    """Good answers of some sources, one of each."""

    rows: Rows
    """Which sources."""
    at: Array
    """POSIX seconds."""
    new: Array
    """Items that were not known before."""
    shown: Array
    """Items that the source shows at once; 0: not known."""


class PollPolicy(Protocol):
    """Decides from counts of new items when each source is polled next.

    It keeps what it has learned of the sources; the same polls in the same order give the same answers.
    """

    def next_polls(self, polled: Polled) -> Array:
        """Learn from polls; return when each of these sources is wanted again, in POSIX seconds."""

    def spend(self, requests: float, hours: float) -> None:
        """Learn how many requests all sources took in the last ``hours``, so as to meet a budget."""


def no_rows(count: int, *more: int) -> Array:
    """Return zeros for ``count`` sources."""
    return np.zeros((count, *more))


def rounded(values: Any) -> Any:
    """Return a number or (nested) list of numbers with what is worth keeping of them: 5 digits."""
    if isinstance(values, list):
        return [rounded(value) for value in values]
    return float(f"{values:.5g}")
