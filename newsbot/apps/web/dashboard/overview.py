"""Computes the state of the whole crawl: articles by period, latency, errors, queue, workers, alerts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import cast

import numpy as np

from newsbot.apps.alerts.state import current
from newsbot.apps.operations.notifier_trust import Notifier, notifiers
from newsbot.apps.operations.verdict import Verdict, verdict
from newsbot.apps.progress.summary import share
from newsbot.apps.web.readers import Data
from newsbot.clock import utc, utc_of
from newsbot.frontier.base import Watched
from newsbot.sites.health import alarms
from newsbot.storage.sources import HOUR, Arrival, Hour

_COUNTED = ("articles", "pages", "article_pages", "fetched", "errors")
"""The counts of a :class:`Period`."""
HOURS = 48
DAYS = 30
MAX_NOTIFIERS = 50
ARRIVALS = 2000
"""Maximum number of articles from which the latency is computed.

The articles that were fetched last are used.
"""


@dataclass(frozen=True, slots=True)
class Period:
    """Counts of a period, for example an hour or a day. ``at`` is its start in POSIX seconds."""

    at: int
    articles: int = 0
    pages: int = 0
    article_pages: int = 0
    fetched: int = 0
    errors: int = 0

    @property
    def useful_share(self) -> float | None:
        """Share of fetched pages that contained an article (0 to 1).

        Feeds, sitemaps and sections do not count.
        """
        return share(self.article_pages, self.pages)


@dataclass(frozen=True, slots=True)
class Latency:
    """Quantiles of the time from the publication of an article until it was stored, in seconds."""

    p50: float | None = None
    p95: float | None = None
    articles: int = 0
    """Number of articles from which the quantiles are computed. These articles were stored recently, their
    publication time is known to the minute, and they were published after their site was first crawled."""


@dataclass(frozen=True, slots=True)
class WorkerRow:
    """A worker that holds leases."""

    owner: str
    leases: int
    deadline: datetime
    """Time at which its first lease ends, unless a heartbeat renews this lease."""
    overdue: bool
    """True if the deadline has passed: the worker is dead or stuck."""


@dataclass(frozen=True, slots=True)
class Queue:
    """Counts of the frontier and its workers."""

    pending: int
    leased: int
    done: int
    aside: int
    """Number of entries that are set aside. Such entries are no longer fetched."""
    hosts: int
    lag: float
    """Seconds by which due entries are late."""
    workers: list[WorkerRow] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Overview:
    """All figures of the crawl page."""

    hours: list[Period]
    """The last 48 hours, oldest first. The current hour is not complete."""
    days: list[Period]
    """The last 30 days (UTC), oldest first. The current day is not complete."""
    latency: Latency
    queue: Queue
    at: float = 0.0
    """Time at which the figures were computed, in POSIX seconds."""
    notifiers: list[Notifier] = field(default_factory=list)
    """The notifiers with the most notices, in descending order of the number of notices."""

    @property
    def last_day(self) -> Period:
        """Sums of the last 24 hours."""
        return together(self.hours[-24:])


def crawl_state(data: Data) -> Overview:
    """Return the overview.

    The function reads a few thousand small rows, regardless of the number of articles.
    """
    now = data.clock()
    hours = data.storage.activity.hours(now - DAYS * 24 * HOUR)
    return Overview(
        hours=periods(hours, now, HOUR, HOURS),
        days=periods(hours, now, 24 * HOUR, DAYS),
        latency=latency(data.storage.activity.arrivals(ARRIVALS), data.storage.activity.watched_since()),
        queue=queue(data, now),
        at=now,
        notifiers=[_rounded(one) for one in notifiers(data.storage.notes, now)[:MAX_NOTIFIERS]],
    )


def _rounded(one: Notifier) -> Notifier:
    """Return a notifier with figures that are rounded to two decimal places.

    The counts decay every second, so further digits would differ in each response.
    """
    return replace(
        one,
        notices=round(one.notices, 2),
        changes=round(one.changes, 2),
        precision=one.precision and round(one.precision, 2),
        recall=one.recall and round(one.recall, 2),
        believed=round(one.believed, 2),
    )


RANGES: Mapping[str, tuple[int, int]] = {
    "2d": (HOUR, 48),
    "7d": (6 * HOUR, 28),
    "30d": (24 * HOUR, 30),
    "60d": (24 * HOUR, 60),
}
"""The time ranges that a user can choose, by name.

Each has the length of a period in seconds, and the number of periods.
"""


def queue(data: Data, now: float) -> Queue:
    """Return counts, lag and workers of the frontier."""
    counts = data.frontier.counts()
    watch = cast("Watched", data.frontier).watch()
    # Deadlines use the clock of the frontier, for example the clock of the Redis server. They are converted
    # to the clock of this machine.
    workers = [
        WorkerRow(one.owner, one.leases, utc(one.deadline + now - watch.now), one.deadline < watch.now)
        for one in watch.workers
    ]
    names = ("pending", "leased", "done", "aside", "hosts")
    return Queue(**{name: counts[name] for name in names}, lag=watch.lag, workers=workers)


def periods(hours: Sequence[Hour], now: float, seconds: int, number: int) -> list[Period]:
    """Return the last ``number`` periods of ``seconds`` each, oldest first. The last one is not complete.

    The counters of ``hours`` are added up. Periods begin at multiples of ``seconds`` since 1970 (UTC).
    """
    last = int(now) // seconds
    sums: dict[int, dict[str, int]] = {}
    for hour in hours:
        kept = sums.setdefault(hour.hour * HOUR // seconds, {})
        for name, value in hour.counts.items():
            kept[name] = kept.get(name, 0) + value
    return [_period(at * seconds, sums.get(at, {})) for at in range(last - number + 1, last + 1)]


def together(some: Sequence[Period]) -> Period:
    """Return the sum of periods as one period with the start of the first one."""
    sums = {name: sum(getattr(one, name) for one in some) for name in _COUNTED}
    return Period(some[0].at if some else 0, **sums)


def _period(at: int, counts: Mapping[str, int]) -> Period:
    return Period(at, **{name: counts.get(name, 0) for name in _COUNTED})


def latency(arrivals: Sequence[Arrival], since: Mapping[str, float]) -> Latency:
    """Return the latency of the articles that were published after the first crawl of their site.

    The latency of older articles depends on the time at which the site was added, so it does not show the
    speed of the crawler. ``since`` contains the time of the first crawl of each site, in POSIX seconds.
    """
    delays = [
        # the difference is negative for an article with a date in the future
        max(0.0, (one.fetched_at - one.published_at).total_seconds())
        for one in arrivals
        if one.published_at and one.fetched_at and one.precise
        if one.published_at.timestamp() >= since.get(one.source, 0.0)
    ]
    if not delays:
        return Latency()
    p50, p95 = map(float, np.quantile(delays, (0.5, 0.95), method="inverted_cdf"))
    return Latency(p50, p95, len(delays))


@dataclass(frozen=True, slots=True)
class Trouble:
    """One current problem."""

    subject: str
    """The domain of a site, or ``crawl``, or ``disk``."""
    what: str
    """A description of the problem."""
    cause: str
    """The likely cause."""
    todo: str
    """What the user can do."""
    since: datetime | None


def current_troubles(data: Data) -> list[Trouble]:
    """Return the current problems: alerts, latest first, then alarms of sites that have no alert.

    An alarm means that a figure of a site has fallen.
    """
    alerts = [entry.alert for entry in current(data.storage.notes)]
    found = [Trouble(one.subject, one.what, one.cause, one.todo, utc_of(one.since)) for one in alerts]
    alerted = {one.subject for one in found}
    fallen = sorted(alarms(data.storage.notes).items())
    return found + [Trouble(site, text, "", "", None) for site, text in fallen if site not in alerted]


def crawl_verdict(data: Data) -> Verdict:
    """Return the verdict on the whole crawl, which the commands show as well."""
    return verdict(data.settings, data.storage, data.frontier, data.rules, data.clock())
