"""The state of the crawl as a whole: articles by hour and day, latency, errors, queue, workers, troubles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import cast

from newsbot.alerts.state import current
from newsbot.clock import utc
from newsbot.frontier.base import Watched
from newsbot.push.trust import Notifier, notifiers
from newsbot.sites.health import alarms
from newsbot.sites.statistics import share
from newsbot.storage.sources import HOUR, Arrival, Hour
from newsbot.web.readers import Data

HOURS = 48
DAYS = 30
MAX_NOTIFIERS = 50
ARRIVALS = 2000
"""Articles stored last that the latency is taken from."""


@dataclass(frozen=True, slots=True)
class Period:
    """What came of an hour or a day. ``at`` is its beginning, in POSIX seconds."""

    at: int
    articles: int = 0
    pages: int = 0
    article_pages: int = 0
    fetched: int = 0
    errors: int = 0

    @property
    def useful_share(self) -> float | None:
        """Pages that held an article, in fetched pages outside feeds, sitemaps and sections."""
        return share(self.article_pages, self.pages)


@dataclass(frozen=True, slots=True)
class Latency:
    """Seconds from publication to the moment at which the article was stored."""

    p50: float | None = None
    p95: float | None = None
    articles: int = 0
    """Articles that it is taken from: those stored last whose publication is known to the minute, and which
    were published since their site is watched."""


@dataclass(frozen=True, slots=True)
class WorkerRow:
    """A worker that holds leases."""

    owner: str
    leases: int
    deadline: datetime
    """When the first of its leases ends, unless its heartbeat comes before."""
    overdue: bool
    """That moment is past: the worker is dead or stands still."""


@dataclass(frozen=True, slots=True)
class Queue:
    """The frontier."""

    pending: int
    leased: int
    done: int
    aside: int
    hosts: int
    lag: float
    """Seconds by which planned work is late."""
    workers: list[WorkerRow] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Overview:
    """All of it."""

    hours: list[Period]
    """The last 48, oldest first; the last one is not over."""
    days: list[Period]
    """The last 30 (UTC), oldest first; the last one is not over."""
    latency: Latency
    queue: Queue
    notifiers: list[Notifier] = field(default_factory=list)
    """Those with most notices first."""

    @property
    def last_day(self) -> Period:
        """The last 24 hours together."""
        return together(self.hours[-24:])

    @property
    def last_month(self) -> Period:
        """The last 30 days together."""
        return together(self.days)


def overview(data: Data) -> Overview:
    """Compute the overview: some thousand small rows, whatever the number of articles."""
    now = data.clock()
    hours = data.activity.hours(now - DAYS * 24 * HOUR)
    return Overview(
        hours=periods(hours, now, HOUR, HOURS),
        days=periods(hours, now, 24 * HOUR, DAYS),
        latency=latency(data.activity.arrivals(ARRIVALS), data.activity.watched_since()),
        queue=queue(data, now),
        notifiers=[_rounded(one) for one in notifiers(data.notes, now)[:MAX_NOTIFIERS]],
    )


def _rounded(one: Notifier) -> Notifier:
    """Weights fade from second to second: hundredths say all."""
    return replace(
        one,
        notices=round(one.notices, 2),
        changes=round(one.changes, 2),
        precision=one.precision and round(one.precision, 2),
        recall=one.recall and round(one.recall, 2),
        believed=round(one.believed, 2),
    )


def queue(data: Data, now: float) -> Queue:
    """Return how the frontier does."""
    counts = data.frontier.counts()
    watch = cast("Watched", data.frontier).watch()
    workers = [
        WorkerRow(one.owner, one.leases, utc(one.deadline + now - watch.now), one.deadline < watch.now)
        for one in watch.workers
    ]
    names = ("pending", "leased", "done", "aside", "hosts")
    return Queue(**{name: counts[name] for name in names}, lag=watch.lag, workers=workers)


def periods(hours: Sequence[Hour], now: float, seconds: int, number: int) -> list[Period]:
    """Add hours up to the last ``number`` periods of so many seconds, the present one included."""
    last = int(now) // seconds
    sums: dict[int, dict[str, int]] = {}
    for hour in hours:
        kept = sums.setdefault(hour.hour * HOUR // seconds, {})
        for name, value in hour.counts.items():
            kept[name] = kept.get(name, 0) + value
    return [_period(at * seconds, sums.get(at, {})) for at in range(last - number + 1, last + 1)]


def together(some: Sequence[Period]) -> Period:
    """Return the sum of periods."""
    names = ("articles", "pages", "article_pages", "fetched", "errors")
    return Period(
        some[0].at if some else 0, **{name: sum(getattr(one, name) for one in some) for name in names}
    )


def _period(at: int, counts: Mapping[str, int]) -> Period:
    names = ("articles", "pages", "article_pages", "fetched", "errors")
    return Period(at, **{name: counts.get(name, 0) for name in names})


def latency(arrivals: Sequence[Arrival], since: Mapping[str, float]) -> Latency:
    """Return the latency of articles that were published since their site is watched.

    What a site had before its first crawl says nothing of the crawler.
    """
    delays = sorted(
        max(0.0, (one.fetched_at - one.published_at).total_seconds())
        for one in arrivals
        if one.published_at and one.fetched_at and one.precise
        if one.published_at.timestamp() >= since.get(one.source, 0.0)
    )
    if not delays:
        return Latency()
    return Latency(_quantile(delays, 0.5), _quantile(delays, 0.95), len(delays))


def _quantile(values: Sequence[float], part: float) -> float:
    """The smallest of sorted values that at least this part of them does not exceed."""
    return values[min(len(values) - 1, max(0, -int(-part * len(values) // 1) - 1))]


@dataclass(frozen=True, slots=True)
class Trouble:
    """One thing that is wrong."""

    subject: str
    """A site, or ``crawl``, ``disk``."""
    what: str
    cause: str
    """The likely one."""
    todo: str
    since: datetime | None


def troubles(data: Data) -> list[Trouble]:
    """Return what is wrong, the latest first."""
    alerts = [entry.alert for entry in current(data.notes)]
    found = [Trouble(one.subject, one.what, one.cause, one.todo, _utc(one.since)) for one in alerts]
    told = {one.subject for one in found}
    fallen = sorted(alarms(data.notes).items())
    return found + [Trouble(site, text, "", "", None) for site, text in fallen if site not in told]


def _utc(seconds: float | None) -> datetime | None:
    return None if seconds is None else utc(seconds)
