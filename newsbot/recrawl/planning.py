"""Decides before a download whether it is made, and after a visit when the page is due again.

The module also has the outcome of a visit, and the interface of the policies. A policy returns an interval in
seconds for a successful visit.

Before a download, :func:`gate` decides whether the page is fetched, and with which conditional headers (RFC
9110, 13.1).

After a visit, :func:`plan` takes the interval that a policy returns
(:mod:`newsbot.recrawl.policies`) and applies the limits that hold for every policy:

* A working source is polled at least every 6 hours. Each item of a feed is then found within 12 hours of its
  publication, even if one poll is missed. Only intervals that a person fixed, and intervals of old lists, may
  be longer.
* A failing source is polled less and less often. It is *dead* after 20 failures in a row, and is then polled
  once per day. Polling never ends.
* A failing page is visited at growing intervals. After 10 failures in a row, the visits end. A missing page
  (404 or 410) is visited twice.
* Retry-After is obeyed up to a day, but for a working source only up to the limit of 6 hours.

It also reads the headers that :func:`plan` needs, and decides how often a failed visit is repeated.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import Any, Final, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from newsbot.items import Kind, PageRecord, Reason
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


def no_rows(count: int, *more: int) -> Array:
    """Return zeros for ``count`` sources, in an array of the shape ``(count, *more)``."""
    return np.zeros((count, *more))


def rounded(values: Any) -> Any:
    """Return a number, or a (nested) list of numbers, rounded to 5 significant digits."""
    if isinstance(values, list):
        return [rounded(value) for value in values]
    return float(f"{values:.5g}")


# --- planning
FULL_FETCH_EVERY = 24 * 3600.0
"""Seconds after which a page is fetched without conditional headers. Some servers never change an ETag,
although the page changes."""

_SLACK = 1.0  # in seconds; a due page may be requested a few milliseconds before its interval has passed
_MAX_VALIDATOR = 500
"""Maximum length of an ETag or Last-Modified value that is sent back."""


@dataclass(frozen=True, slots=True)
class Gate:
    """The decision whether a page is fetched now."""

    fetch: bool
    until: float | None
    """Time when a refused page may be fetched, in POSIX seconds; None if it may be fetched now."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """Conditional headers of the request; empty if it has none."""
    reason: str = ""
    """The reason for the decision, as text for people."""


def gate(record: PageRecord | None, interval: float, now: float) -> Gate:
    """Return the decision whether a page may be fetched at ``now`` (POSIX seconds), with the headers to send.

    A page is refused until ``interval`` seconds after its last fetch. If the interval is 0 or less, no page
    is refused. A page is also not refused if its last visit failed or found that the page is gone. The next
    visit was then planned without the interval.
    """
    if record is None or record.last_fetched is None:
        return Gate(True, None, {}, "never fetched")
    until = record.last_fetched + interval
    visited_well = record.failures == 0 and record.state != "gone"
    # a last visit in the future was recorded by a wrong clock
    if visited_well and record.last_fetched <= now < until - min(_SLACK, interval / 10):
        return Gate(False, until, {}, "younger than its interval")
    headers = _validators(record, now)
    return Gate(True, None, headers, "if changed" if headers else "in full")


def _validators(record: PageRecord, now: float) -> dict[str, str]:
    """Return the conditional headers; an empty dict if the page must be fetched in full."""
    # "0 <=": if the last full fetch is in the future, a wrong clock recorded it
    if record.last_full_fetch is None or not 0 <= now - record.last_full_fetch < FULL_FETCH_EVERY:
        return {}
    fields = {"If-None-Match": record.etag, "If-Modified-Since": record.last_modified}
    return {name: value for name, value in fields.items() if value and _is_sendable(value)}


def _is_sendable(value: str) -> bool:
    return value.isascii() and value.isprintable() and len(value) < _MAX_VALIDATOR


_SECONDS = re.compile(r"[0-9]{1,10}(?:\.[0-9]{1,9})?")  # the RFC has no fractions, but some servers send them
_MAX_HEADER = 1000


def parse_retry_after(value: str | None, now: float) -> float | None:
    """Return the seconds to wait according to a Retry-After header (RFC 9110, 10.2.3), at least 0.

    ``value`` is a number of seconds or a date; ``now`` is in POSIX seconds. Returns None for a missing or
    invalid header. There is no upper limit: the caller sets one.
    """
    text = (value or "").strip()
    if _SECONDS.fullmatch(text):
        return float(text)
    if not 0 < len(text) <= _MAX_HEADER:
        return None
    try:
        moment = parsedate_to_datetime(text)
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)  # HTTP dates are in GMT, also without a time zone
        return max(0.0, moment.timestamp() - now)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None


def parse_max_age(value: str | None) -> float | None:
    """Return the seconds for which a Cache-Control header allows caching (``max-age``; RFC 9111, 5.2.2).

    Returns 0 for ``no-cache`` and ``no-store``, and None if the header has no valid ``max-age``.
    """
    age = None
    for directive in (value or "")[:_MAX_HEADER].split(","):
        name, _, argument = directive.strip().partition("=")
        argument = argument.strip().strip('"')
        # ``no-cache="set-cookie"`` restricts only the named header fields (RFC 9111, 5.2.2.4)
        if name.lower() in ("no-cache", "no-store") and not argument:
            return 0.0
        # the first of several values counts (RFC 9111, 4.2.1)
        if name.strip().lower() == "max-age" and _SECONDS.fullmatch(argument) and age is None:
            age = float(argument)
    return age


LONGEST_SOURCE_REST: Final = 6 * HOUR
"""Maximum seconds between two polls of a source that is not dead, unless a rule fixes a longer interval."""
LONGEST_RETRY_AFTER: Final = DAY
LONGEST_MAX_AGE: Final = HOUR
"""Maximum seconds by which ``max-age`` delays a poll. Longer caching times are meant for browsers."""
DEAD_AFTER: Final = 20
"""Number of failures in a row after which a source counts as dead."""
DEAD_REST: Final = DAY
"""Seconds between two polls of a dead source."""
UNNAMED_REST: Final = DAY
"""Seconds until newsbot checks again whether a rule names the source. The check sends no request."""
FIRST_PAGE_RETRY: Final = HOUR
"""Seconds until the next visit after the first failure of a page. The time doubles with each further
failure."""
LONGEST_PAGE_RETRY: Final = DAY
GIVE_UP_AFTER: Final = 10
"""A page that is not a source is no longer visited after this number of failures in a row."""
MISSING_TOO_EARLY: Final = HOUR
"""Seconds until the second visit of a missing page that was never fetched.

It is short, because a feed may list a page before all servers of the site have the page.
"""

KNOWN_PAGE: Final[Mapping[str, str]] = {
    Reason.REDIRECT_KNOWN: "redirects to a known page",
    Reason.SAME_PAGE: "differs from a known page only in a session id",
}
"""Causes that are not failures, because the URL is another URL of a known page. Cause -> text for people."""
FINAL_CAUSES = frozenset(
    (
        Reason.ROBOTS,
        Reason.DENIED,
        Reason.PRIVATE_ADDRESS,
        Reason.PORT,
        Reason.SCHEME,
        Reason.BAD_URL,
        Reason.TOO_LARGE,
        Reason.IGNORED,
    )
)
"""Causes of failures after which a page is not visited again, because the next visit would fail as well."""


@dataclass(frozen=True, slots=True)
class Plan:
    """The decision on a page: when it is visited next, and its state until this visit."""

    next_due: float | None
    """POSIX seconds; None if the crawl does not visit the page again by itself."""
    state: Literal["done", "gone", "failed"]
    """``gone``: the server reports that the page does not exist (404 or 410)."""
    reason: str
    """The reason for the plan, as text for people. ``scrapy why`` shows it."""


_FIXED = FixedIntervals()


def plan(
    record: PageRecord | None,
    outcome: Outcome,
    rule: Rule,
    now: float,
    *,
    policy: Policy = _FIXED,
    as_written: bool = False,
    jitter: float = 0.5,
) -> Plan:
    """Return the plan for a page after a visit. Visits that :func:`may_retry` repeats are not planned.

    ``record`` already contains this visit (``failures``, ``last_fetched``), but its ``state`` is that of the
    previous visit. It is None if nothing is known of the page. ``now`` is in POSIX seconds.

    If ``as_written``, a working source is polled at the policy's interval, even if its publisher asks for
    another interval in the feed or in the caching headers. Only Retry-After is obeyed. ``jitter`` (0 to 1,
    random) changes the intervals of failing sources by up to a fifth, so that sources that failed together
    are not polled together.
    """
    rest = policy.interval(record, outcome, rule, now)
    # These two causes come from newsbot itself, before any request, so they do not count as failures.
    if outcome.error == Reason.TOO_YOUNG:
        return _not_yet(record, rest, now)
    if outcome.error == Reason.UNNAMED:
        return Plan(now + UNNAMED_REST, "done", "no rule names this page any more")
    if outcome.kind.is_source:
        if as_written and rest is not None and not outcome.failed:
            # the limit of 6 hours does not apply: a person chose this interval, or the source is an old list
            rest = max(rest, min(outcome.retry_after or 0.0, LONGEST_RETRY_AFTER))
            return Plan(now + rest, "done", f"again in {span(rest)}")
        return _source(record, outcome, rest, now, spread=0.8 + 0.4 * jitter)
    return _failed_page(record, outcome, now) if outcome.failed else _page(outcome, rest, now)


def _not_yet(record: PageRecord | None, rest: float | None, now: float) -> Plan:
    """Return the plan after a visit that was refused because the last fetch is too recent.

    Nothing was fetched. The page keeps its state, and its interval still counts from the last fetch.
    """
    seen = now if record is None or record.last_fetched is None else record.last_fetched
    # the record's state may also be pending or leased, and these states cannot be in a plan
    state: Literal["done", "gone", "failed"] = "done"
    if record is not None and record.state in ("gone", "failed"):
        state = record.state
    return Plan(None if rest is None else max(now, seen + rest), state, "younger than its interval")


def _source(
    record: PageRecord | None, outcome: Outcome, wish: float | None, now: float, *, spread: float
) -> Plan:
    """Return the plan for a source. ``wish`` is the policy's interval, and ``spread`` is a factor near 1."""
    rest = LONGEST_SOURCE_REST if wish is None else min(wish, LONGEST_SOURCE_REST)
    asked = outcome.retry_after or 0.0
    if not outcome.failed:
        # The publisher can delay a poll, but not bring it forward. Retry-After is an explicit request, so the
        # limit for caching times does not apply to it. The hours to skip are applied last, to the result of
        # all other rules.
        cached = max(outcome.max_age or 0.0, outcome.ttl or 0.0)
        patience = _past_skipped(max(min(cached, LONGEST_MAX_AGE), asked, rest), outcome.skip_hours, now)
        if patience > rest:
            rest = min(patience, LONGEST_SOURCE_REST)
            return Plan(now + rest, "done", f"again in {span(rest)}, as the publisher asks")
        return Plan(now + rest, "done", f"again in {span(rest)}")
    failures = _failures(record)
    # A source is always polled again, even if it is dead or gone. Otherwise its return would not be noticed.
    if failures >= DEAD_AFTER:
        rest, what = DEAD_REST * spread, "dead"
    else:
        rest, what = min(_doubled(rest, failures) * spread, LONGEST_SOURCE_REST), "failing"
    rest = max(rest, min(asked, LONGEST_RETRY_AFTER))
    reason = f"{what}: {outcome.cause}, {failures} in a row; again in {span(rest)}"
    return Plan(now + rest, "gone" if outcome.gone else "failed", reason)


def _past_skipped(rest: float, skipped: frozenset[int], now: float) -> float:
    """Return ``rest``, extended to the end of the ``skipped`` hours of the day (0 to 23, UTC).

    All times are in seconds. If all hours are skipped, ``rest`` is returned unchanged.
    """
    due = now + rest
    for _hour in range(24):
        if int(due // HOUR) % 24 not in skipped:
            return due - now
        due = (due // HOUR + 1) * HOUR
    return rest


def _page(outcome: Outcome, rest: float | None, now: float) -> Plan:
    """Return the plan for a fetched page that is not a source."""
    if outcome.status in (301, 308) and outcome.redirected_to:
        return Plan(None, "done", "moved permanently: the new address replaces this one")
    if rest is None:
        return Plan(None, "done", f"this {outcome.seen_as.value} page is not fetched again")
    rest = max(rest, min(outcome.retry_after or 0.0, LONGEST_RETRY_AFTER))
    return Plan(now + rest, "done", f"again in {span(rest)}")


def _failed_page(record: PageRecord | None, outcome: Outcome, now: float) -> Plan:
    """Return the plan for a page that is not a source and whose visit failed."""
    cause, failures = outcome.cause, _failures(record)
    # first the causes that are not failures, then the causes that end the visits, then all other causes
    if cause in KNOWN_PAGE:
        return Plan(None, "done", KNOWN_PAGE[cause])
    if outcome.gone:
        return _gone_page(record, cause, now)
    if cause in FINAL_CAUSES:
        return Plan(None, "failed", f"{cause}: another visit would not help")
    if failures >= GIVE_UP_AFTER:
        return Plan(None, "failed", f"given up: {cause}, {failures} in a row")
    rest = min(_doubled(FIRST_PAGE_RETRY, failures), LONGEST_PAGE_RETRY)
    rest = max(rest, min(outcome.retry_after or 0.0, LONGEST_RETRY_AFTER))
    return Plan(now + rest, "failed", f"failing: {cause}, {failures} in a row; again in {span(rest)}")


def _gone_page(record: PageRecord | None, cause: str, now: float) -> Plan:
    """Return the plan for a page that the server reports as missing. A second visit must confirm this."""
    if record is not None and record.state == "gone":  # the state after the previous visit
        return Plan(None, "gone", f"gone: {cause} twice")
    never_seen = record is None or record.last_full_fetch is None
    rest = MISSING_TOO_EARLY if never_seen else DAY
    return Plan(now + rest, "gone", f"gone: {cause}; visited once more in {span(rest)}")


def _failures(record: PageRecord | None) -> int:
    """Return the number of failures in a row, including this visit."""
    return 1 if record is None else max(1, record.failures)


def _doubled(first: float, failures: int) -> float:
    """Return ``first`` after one failure. The result doubles with each further failure."""
    # the bound of 30 avoids an OverflowError; the callers' maximum is reached much earlier
    return first * 2.0 ** min(failures - 1, 30)


def span(seconds: float) -> str:
    """Return a duration as text, e.g. ``15m`` or ``6h``, in the form that rule files use."""
    for unit, name in ((DAY, "d"), (HOUR, "h"), (60.0, "m")):
        if seconds >= unit:
            return f"{seconds / unit:.1f}".removesuffix(".0") + name
    return f"{seconds:.0f}s"


FIRST_DELAY: Final = 10.0
LONGEST_DELAY: Final = 3600.0
_TRIES = {
    "http_429": 5,  # by definition it is temporary
    "timeout": 4,
    "connection": 4,
    "http_408": 4,
    "http_425": 4,
    "http_5xx": 4,
    "dns": 3,
    "refused": 3,
    "proxy": 3,
    "truncated": 3,
    "robots_unreachable": 3,
    "robots_failing": 3,
    "robots_unreadable": 3,
    "ours": 3,
    "render": 3,
    "tls": 2,  # mostly an expired certificate, which is not renewed within minutes
}
"""Maximum number of attempts of one visit, including the first, by cause of failure. For other causes, it is
1."""


def may_retry(cause: str | None, attempts: int) -> bool:
    """Return True if a visit may be repeated after ``attempts`` attempts. The last attempt has failed.

    ``cause`` is :attr:`Outcome.error` of the last attempt.
    """
    return cause is not None and attempts < _TRIES.get(cause, 1)


def retry_delay(attempts: int, jitter: float = 0.5) -> float:
    """Return the seconds until the next attempt, after ``attempts`` (1 or more) failed attempts.

    The delay doubles with each attempt, from 10 s up to an hour. It is then multiplied by ``0.5 + jitter``
    (``jitter`` is random, 0 to 1), so that visits that failed together are not repeated together.
    """
    doubled = FIRST_DELAY * 2.0 ** min(max(attempts, 1) - 1, 30)
    return min(doubled, LONGEST_DELAY) * (0.5 + jitter)
