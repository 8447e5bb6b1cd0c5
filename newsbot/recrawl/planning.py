"""Decides after a visit when the page is due again, and what state it is in.

A source that works is never left alone for more than 6 hours, so that no item of a feed is found later than
12 hours after its publication even if one poll is missed. Only an interval that a person fixed may be longer.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import Final, Literal

from newsbot.items import PageRecord, Reason
from newsbot.recrawl.policy import FixedIntervals, Outcome, Policy
from newsbot.rules.schema import Rule

_SECONDS = re.compile(r"[0-9]{1,10}(?:\.[0-9]{1,9})?")  # fractions are not in the RFC, but seen
_MAX_HEADER = 1000


def parse_retry_after(value: str | None, now: float) -> float | None:
    """Return the seconds from ``now`` that a Retry-After field asks for (RFC 9110, 10.2.3), at least 0.

    None for a missing or unreadable field. The caller sets its own upper bound.
    """
    text = (value or "").strip()
    if _SECONDS.fullmatch(text):
        return float(text)
    if not 0 < len(text) <= _MAX_HEADER:
        return None
    try:
        moment = parsedate_to_datetime(text)
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)  # HTTP dates are in GMT, whatever they forget to say
        return max(0.0, moment.timestamp() - now)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None


def parse_max_age(value: str | None) -> float | None:
    """Return the seconds that a Cache-Control field calls the answer fresh (RFC 9111, 5.2.2).

    0 for ``no-cache`` and ``no-store``; None if it says nothing readable of it.
    """
    age = None
    for directive in (value or "")[:_MAX_HEADER].split(","):
        name, _, argument = directive.strip().partition("=")
        argument = argument.strip().strip('"')
        if name.lower() in ("no-cache", "no-store") and not argument:
            return 0.0
        if name.strip().lower() == "max-age" and _SECONDS.fullmatch(argument) and age is None:
            age = float(argument)
    return age


HOUR: Final = 3600.0
DAY: Final = 24 * HOUR

LONGEST_SOURCE_REST: Final = 6 * HOUR
LONGEST_RETRY_AFTER: Final = DAY
LONGEST_MAX_AGE: Final = HOUR
"""Caching times above are common, and meant for readers' browsers."""
DEAD_AFTER: Final = 20
"""Failures in a row after which a source counts as dead."""
DEAD_REST: Final = DAY
UNNAMED_REST: Final = DAY
"""Until the rules are asked again whether they name a source; that costs no request."""
FIRST_PAGE_RETRY: Final = HOUR
LONGEST_PAGE_RETRY: Final = DAY
GIVE_UP_AFTER: Final = 10
"""Failures in a row after which a page that is not a source is left alone."""
MISSING_TOO_EARLY: Final = HOUR
"""Feeds announce pages before every server has them: the second look at one never seen."""

KNOWN_PAGE: Final[Mapping[str, str]] = {
    Reason.REDIRECT_KNOWN: "redirects to a page that is known",
    Reason.SAME_PAGE: "differs from a known page in a session's id only",
}
"""Causes that are no fault of the page: it is another one's address."""
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
"""Causes that asking again does not cure."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What becomes of a page. ``next_due`` in POSIX seconds, None: never again by itself."""

    next_due: float | None
    state: Literal["done", "gone", "failed"]
    reason: str
    """For people who ask why."""


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
    """Return what becomes of a page after a visit that is not tried again at once.

    ``record`` is the page with this visit counted in (``failures``, ``last_fetched``), its ``state``
    still that of the visit before; None: nothing is known of it. ``now`` in POSIX seconds. ``as_written``:
    the policy's interval for a source that works holds, whatever its publisher hints at. ``jitter``
    (0 to 1, random) spreads sources that fail by a fifth, so that they do not all come back together.
    """
    rest = policy.interval(record, outcome, rule, now)
    if outcome.error == Reason.TOO_YOUNG:
        return _not_yet(record, rest, now)
    if outcome.error == Reason.UNNAMED:
        return Plan(now + UNNAMED_REST, "done", "no rule names it any more")
    if outcome.kind.is_source:
        if as_written and rest is not None and not outcome.failed:
            rest = max(rest, min(outcome.retry_after or 0.0, LONGEST_RETRY_AFTER))
            return Plan(now + rest, "done", f"again in {span(rest)}")
        return _source(record, outcome, rest, now, spread=0.8 + 0.4 * jitter)
    return _failed_page(record, outcome, now) if outcome.failed else _page(outcome, rest, now)


def _not_yet(record: PageRecord | None, rest: float | None, now: float) -> Plan:
    """Nothing was fetched: nothing changes."""
    seen = now if record is None or record.last_fetched is None else record.last_fetched
    state: Literal["done", "gone", "failed"] = "done"
    if record is not None and record.state in ("gone", "failed"):
        state = record.state
    return Plan(None if rest is None else max(now, seen + rest), state, "younger than its interval")


def _source(
    record: PageRecord | None, outcome: Outcome, wish: float | None, now: float, *, spread: float
) -> Plan:
    rest = LONGEST_SOURCE_REST if wish is None else min(wish, LONGEST_SOURCE_REST)
    asked = outcome.retry_after or 0.0
    if not outcome.failed:
        cached = max(outcome.max_age or 0.0, outcome.ttl or 0.0)
        patience = _past_skipped(max(min(cached, LONGEST_MAX_AGE), asked, rest), outcome.skip_hours, now)
        if patience > rest:
            rest = min(patience, LONGEST_SOURCE_REST)
            return Plan(now + rest, "done", f"again in {span(rest)}, as the publisher asks")
        return Plan(now + rest, "done", f"again in {span(rest)}")
    failures = _failures(record)
    if failures >= DEAD_AFTER:
        rest, what = DEAD_REST * spread, "dead"
    else:
        rest, what = min(_doubled(rest, failures) * spread, LONGEST_SOURCE_REST), "failing"
    rest = max(rest, min(asked, LONGEST_RETRY_AFTER))
    reason = f"{what}: {outcome.cause}, {failures} in a row; again in {span(rest)}"
    return Plan(now + rest, "gone" if outcome.gone else "failed", reason)


def _past_skipped(rest: float, skipped: frozenset[int], now: float) -> float:
    """Return the rest until the first moment from ``now + rest`` on in an hour (UTC) that is not skipped."""
    due = now + rest
    for _hour in range(24):
        if int(due // HOUR) % 24 not in skipped:
            return due - now
        due = (due // HOUR + 1) * HOUR
    return rest


def _page(outcome: Outcome, rest: float | None, now: float) -> Plan:
    if outcome.status in (301, 308) and outcome.redirected_to:
        return Plan(None, "done", "moved for good: the new address is the page now")
    if rest is None:
        return Plan(None, "done", f"this {outcome.seen_as.value} page is not fetched again")
    rest = max(rest, min(outcome.retry_after or 0.0, LONGEST_RETRY_AFTER))
    return Plan(now + rest, "done", f"again in {span(rest)}")


def _failed_page(record: PageRecord | None, outcome: Outcome, now: float) -> Plan:
    cause, failures = outcome.cause, _failures(record)
    if cause in KNOWN_PAGE:
        return Plan(None, "done", KNOWN_PAGE[cause])
    if outcome.gone:
        return _gone_page(record, cause, now)
    if cause in FINAL_CAUSES:
        return Plan(None, "failed", f"{cause}: asking again would not help")
    if failures >= GIVE_UP_AFTER:
        return Plan(None, "failed", f"given up: {cause}, {failures} in a row")
    rest = min(_doubled(FIRST_PAGE_RETRY, failures), LONGEST_PAGE_RETRY)
    rest = max(rest, min(outcome.retry_after or 0.0, LONGEST_RETRY_AFTER))
    return Plan(now + rest, "failed", f"failing: {cause}, {failures} in a row; again in {span(rest)}")


def _gone_page(record: PageRecord | None, cause: str, now: float) -> Plan:
    """A page is believed to be gone when two looks at it say so."""
    if record is not None and record.state == "gone":
        return Plan(None, "gone", f"gone: {cause} twice")
    never_seen = record is None or record.last_full_fetch is None
    rest = MISSING_TOO_EARLY if never_seen else DAY
    return Plan(now + rest, "gone", f"gone: {cause}; once more in {span(rest)}")


def _failures(record: PageRecord | None) -> int:
    return 1 if record is None else max(1, record.failures)


def _doubled(first: float, failures: int) -> float:
    return first * 2.0 ** min(failures - 1, 30)


def span(seconds: float) -> str:
    """Return a duration for people, e.g. ``15m`` or ``6h``, as rule files write it."""
    for unit, name in ((DAY, "d"), (HOUR, "h"), (60.0, "m")):
        if seconds >= unit:
            return f"{seconds / unit:.1f}".removesuffix(".0") + name
    return f"{seconds:.0f}s"


FIRST_DELAY: Final = 10.0
LONGEST_DELAY: Final = 3600.0
_TRIES = {
    "http_429": 5,  # it will pass, by its own words
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
    "ours": 3,
    "render": 3,
    "tls": 2,  # mostly a certificate that nobody renews today
}
"""Attempts in all, by cause. Causes that are not here are final for the visit."""


def may_retry(cause: str | None, attempts: int) -> bool:
    """Return True if a visit that failed for ``cause`` may be tried again after ``attempts`` failed ones."""
    return cause is not None and attempts < _TRIES.get(cause, 1)


def retry_delay(attempts: int, jitter: float = 0.5) -> float:
    """Return the seconds before the next attempt after ``attempts`` failed ones (at least 1).

    Doubles from 10 s up to an hour. ``jitter`` (0 to 1, random) spreads it from half to one and a half
    times that, so that what failed together does not come back together.
    """
    doubled = FIRST_DELAY * 2.0 ** min(max(attempts, 1) - 1, 30)
    return min(doubled, LONGEST_DELAY) * (0.5 + jitter)
