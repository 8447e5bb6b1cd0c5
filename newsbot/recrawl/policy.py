"""The outcome of a visit, and the interface of the policies that choose the time of the next visit.

A policy returns an interval in seconds for a successful visit. :mod:`newsbot.recrawl.planning` applies the
limits that hold for every policy: the longest interval of a source, longer intervals after failures, and
Retry-After.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from newsbot.items import Kind, PageRecord
from newsbot.pages.rules.rule import Rule

DEFAULT_SOURCE_INTERVAL = 1800.0
"""Seconds between two polls of a source whose rule gives no interval."""

WATCH_ARTICLES = 7 * 86400.0
"""An article is visited again for this number of seconds after its discovery, to find edits."""
GONE_STATUSES = (404, 410)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The outcome of one visit."""

    kind: Kind
    """The expected kind of the page."""
    status: int | None = None
    """HTTP status of the last response; None if there was none."""
    error: str | None = None
    """The reason why the content is missing, a token such as ``timeout``; None after a success."""
    not_modified: bool = False
    """True if the status was 304."""
    changed: bool | None = None
    """True if the content differs from the previous visit; None if unknown."""
    new_items: int = 0
    """Number of links that were not known before."""
    retry_after: float | None = None
    """Seconds from the Retry-After header."""
    max_age: float | None = None
    """Seconds from the Cache-Control header."""
    ttl: float | None = None
    """Seconds for which a feed asks clients not to poll it again."""
    update_period: float | None = None
    """Seconds between updates, as stated by a feed."""
    skip_hours: frozenset[int] = frozenset()
    """Hours of the day (UTC) that a feed excludes from polling."""
    shown: int = 0
    """Number of links in a source; 0 if unknown."""
    span: float | None = None
    """Age in seconds of the oldest link in the source; None if the links have no dates."""
    is_article: bool | None = None
    """True if the page is an article, False if it is not; None if unknown."""
    redirected_to: str | None = None

    @property
    def failed(self) -> bool:
        """True if the visit returned no content. A 304 response counts as content that is already known."""
        return self.error is not None or (self.status is not None and self.status >= 400)

    @property
    def gone(self) -> bool:
        """True if the server reports that the page does not exist."""
        return self.status in GONE_STATUSES and self.error in (None, f"http_{self.status}")

    @property
    def cause(self) -> str:
        """The cause of the failure, as text for people; empty if the visit did not fail."""
        if self.error is not None:
            return self.error
        return f"http_{self.status}" if self.failed else ""

    @property
    def seen_as(self) -> Kind:
        """The kind of the page after the visit. If it is not a source, it depends on :attr:`is_article`."""
        if self.kind.is_source or self.is_article is None:
            return self.kind
        return Kind.ARTICLE if self.is_article else Kind.OTHER


class Policy(Protocol):
    """Decides when a page is visited again after a successful visit."""

    def interval(self, record: PageRecord | None, outcome: Outcome, rule: Rule, now: float) -> float | None:
        """Return the seconds from ``now`` until the next visit, or None if there is no further visit.

        ``record`` is the page after the visit. The same arguments must give the same result, so that a
        simulator can replay the calls.
        """


class FixedIntervals:
    """The default policy: the interval that the rule gives for the kind of page.

    If this interval is absent or 0, sources are visited after :data:`DEFAULT_SOURCE_INTERVAL`, and other
    pages are not visited again. Most articles are edited only in their first days, so they are not visited
    again after :data:`WATCH_ARTICLES`.
    """

    def interval(self, record: PageRecord | None, outcome: Outcome, rule: Rule, now: float) -> float | None:
        """Return the rule's interval in seconds; see the class."""
        seconds = rule.interval.get(outcome.seen_as) or None  # 0 in a rule means no interval
        if outcome.seen_as is Kind.ARTICLE and record is not None and _is_old(record, now):
            return None
        if seconds is None and outcome.kind.is_source:
            return DEFAULT_SOURCE_INTERVAL
        return seconds


class Never:
    """Visits each page once."""

    def interval(self, *_visit: object) -> None:
        """Return None."""


def _is_old(record: PageRecord, now: float) -> bool:
    return 0.0 < record.first_seen < now - WATCH_ARTICLES


Array = NDArray[np.float64]
Rows = NDArray[np.intp]

HOUR: Final = 3600.0
DAY: Final = 24 * HOUR
SHORTEST: Final = 300.0
"""Minimum seconds between two polls of a source."""
LONGEST: Final = 6 * HOUR
"""Maximum seconds between two polls of a source. Items are found within 12 hours even if a poll is missed."""


@dataclass(frozen=True, slots=True)
class Polled:
    """Successful polls of some sources, at most one poll of each source. All arrays have the same length."""

    rows: Rows
    """Numbers of the sources, from 0."""
    at: Array
    """Times of the polls, POSIX seconds."""
    new: Array
    """Number of items that were not known before."""
    shown: Array
    """Number of items in the source; 0 if unknown."""


class PollPolicy(Protocol):
    """Decides from counts of new items when each source is polled next.

    A policy remembers what it learned about the sources. The same polls in the same order give the same
    results.
    """

    def next_polls(self, polled: Polled) -> Array:
        """Learn from polls. Return the time of the next poll of each of these sources, in POSIX seconds."""

    def spend(self, requests: float, hours: float) -> None:
        """Record how many ``requests`` per hour were made in the last ``hours``, to meet a budget."""


def no_rows(count: int, *more: int) -> Array:
    """Return zeros for ``count`` sources, in an array of the shape ``(count, *more)``."""
    return np.zeros((count, *more))


def rounded(values: Any) -> Any:
    """Return a number, or a (nested) list of numbers, rounded to 5 significant digits."""
    if isinstance(values, list):
        return [rounded(value) for value in values]
    return float(f"{values:.5g}")
