"""Computes the state of the whole crawl: articles by period, latency, errors, queue, workers, alerts.

The state of sites and their sources is a list of all sites, and all data of one site.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import PurePath
from typing import Any

import numpy as np

from newsbot.apps.alerts.rules import current
from newsbot.apps.numbers import share, utc_of
from newsbot.apps.operations.notifier_trust import Notifier, notifiers
from newsbot.apps.operations.sources import Site, SourceRow, is_stored, sites_of, source_row
from newsbot.apps.operations.verdict import Verdict, alarms, is_unanswered, verdict
from newsbot.apps.web.readers import Data
from newsbot.clock import utc
from newsbot.frontier.base import ASIDE
from newsbot.ranking.families import FamilyRow, read_site, rows_of
from newsbot.ranking.url_learning import kept
from newsbot.sites.health import Health, health
from newsbot.sites.pauses_and_removals import paused
from newsbot.storage.base import HOUR, Arrival, Hour, SourceRecord
from newsbot.urls import ascii_host

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
    watch = data.frontier.watch()
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


TREND_DAYS = 30
MAX_SOURCES = 200
"""Maximum number of a site's sources that are shown. Feeds, sitemaps and sections of the rule come first."""
ASIDE_LOOKED_AT = 1000
"""Maximum number of set-aside entries of all sites that are read to find the entries of one site.

URLs that are set aside are no longer fetched.
"""
MAX_ASIDE = 10
"""Maximum number of set-aside URLs of one site that are shown."""
MAX_FAMILIES = 30
"""Maximum number of families of one site that are shown."""
MAX_PATTERNS = 40
"""Maximum number of learned patterns of one site that are shown."""


@dataclass(frozen=True, slots=True)
class SiteRow:
    """One site."""

    site: str
    articles: int
    useful_share: float | None
    errors: int
    duplicates: int
    unchanged: int
    last_article: datetime | None
    next_poll: datetime | None
    """Time at which the next source of the site is due."""
    last_error: str | None
    last_error_at: datetime | None
    failing_since: datetime | None
    """Time since which a source has been failing, if the health is dead or failing."""
    health: str
    """The worst health of the site's sources (dead, failing, quiet, never polled, ok), or ``paused``, or
    ``unreachable`` if no request to the site was ever answered."""
    sources: dict[str, int]
    """Number of sources by health."""
    trend: list[int]
    """New articles on each of the last 30 days (UTC), oldest first. The last day is not complete."""
    alarm: str | None = None
    """The figure that has fallen, and the likely cause; None if no figure has fallen."""
    paused_since: datetime | None = None


@dataclass(frozen=True, slots=True)
class PatternRow:
    """A learned pattern of article URLs."""

    text: str
    articles: int
    """Number of articles whose URLs match."""
    others: int
    """Number of other pages whose URLs match."""
    examples: list[str]


@dataclass(frozen=True, slots=True)
class AsideRow:
    """A URL that is set aside. Such a URL is no longer fetched."""

    url: str
    reason: str


@dataclass(frozen=True, slots=True)
class SiteSheet:
    """All data of one site."""

    row: SiteRow
    rule: str | None
    """The name of its rule file; None if it has no rule."""
    source_rows: list[SourceRow]
    more_sources: int
    """Number of sources that are not in ``source_rows``."""
    patterns: list[PatternRow]
    learned_from: int
    """Number of URLs from which the patterns were learned."""
    causes: dict[str, int]
    """Number of errors by cause over all crawls, the most frequent cause first."""
    hours: list[Period]
    """The last 48 hours, oldest first. The current hour is not complete."""
    aside: list[AsideRow] = field(default_factory=list)
    families: list[FamilyRow] = field(default_factory=list)
    """The families of the site's addresses, those with most waiting links first."""
    tags: list[str] = field(default_factory=list)
    """The collections of the site: the tags in its rule."""


# The states of sources, the worst state first.
_WORST = (Health.DEAD, Health.FAILING, Health.QUIET, Health.NEVER_POLLED, Health.OK)


def all_sites(data: Data) -> list[SiteRow]:
    """Return all sites, sorted by domain. This takes long, because the articles of each site are counted."""
    now = data.clock()
    trends = data.storage.activity.trends(now - TREND_DAYS * 24 * HOUR)
    fallen, resting = alarms(data.storage.notes), paused(data.storage.notes)
    return [
        _row(site, now, trends.get(site.domain, {}), fallen.get(site.domain), resting.get(site.domain))
        for site in sites_of(data.storage, data.rules)
    ]


def one_site(data: Data, domain: str) -> SiteSheet | None:
    """Return all data of one site, or None if the site is neither in the rules nor in the data."""
    rule = data.rules.get(domain)
    domain = rule.domain if rule else ascii_host(domain)
    if rule is None and not is_stored(domain, data.storage):
        return None
    now = data.clock()
    (site,) = sites_of(data.storage, data.rules, [domain])
    hours = data.storage.activity.hours(now - TREND_DAYS * 24 * HOUR, domain)
    days = periods(hours, now, 24 * HOUR, TREND_DAYS)
    trend = {one.at // (24 * HOUR): one.articles for one in days}
    fallen, resting = alarms(data.storage.notes).get(domain), paused(data.storage.notes).get(domain)
    _, learned = kept(data.storage.notes, domain)
    ordered = sorted(site.sources, key=lambda one: (one.url not in site.named, one.kind, one.url))
    # The frontier can list set-aside entries only for all sites together, so they are filtered here.
    aside = [one for one in data.frontier.aside(ASIDE_LOOKED_AT) if one.data.get("source") == domain]
    return SiteSheet(
        row=_row(site, now, trend, fallen, resting),
        rule=PurePath(rule.file).name if rule else None,
        source_rows=[source_row(one, now) for one in ordered[:MAX_SOURCES]],
        more_sources=max(0, len(ordered) - MAX_SOURCES),
        patterns=[
            PatternRow(one.text, one.articles, one.others, list(one.examples[:3]))
            for one in (learned.patterns[:MAX_PATTERNS] if learned else ())
        ],
        learned_from=learned.articles + learned.others if learned else 0,
        causes=_causes(site.record.counters),
        hours=periods(hours, now, HOUR, HOURS),
        aside=[AsideRow(one.url, str(one.data.get(ASIDE, "unknown"))) for one in aside[:MAX_ASIDE]],
        families=rows_of(domain, read_site(data.storage.notes, domain))[:MAX_FAMILIES],
        tags=list(rule.tags) if rule else [],
    )


def _row(
    site: Site, now: float, trend: Mapping[int, int], alarm: str | None, resting: float | None
) -> SiteRow:
    states = Counter(health(one, now) for one in site.sources)
    worst = next((state for state in _WORST if states[state]), Health.NEVER_POLLED)
    if is_unanswered(site.record, site.sources):
        worst = Health.UNREACHABLE
    today = int(now // (24 * HOUR))
    due = [one.next_due for one in site.sources if one.next_due is not None]
    return SiteRow(
        site=site.domain,
        articles=site.articles,
        useful_share=site.useful_share,
        errors=site.counter("errors"),
        duplicates=site.counter("duplicates"),
        unchanged=site.counter("unchanged"),
        last_article=utc_of(site.record.last_article),
        next_poll=utc_of(min(due, default=None)),
        last_error=site.record.last_error,
        last_error_at=utc_of(site.record.last_error_at),
        failing_since=utc_of(_failing_since(site.sources)) if worst in _WORST[:2] else None,
        health="paused" if resting is not None else worst.value,
        sources={state.value: states[state] for state in Health if states[state]},
        trend=[trend.get(day, 0) for day in range(today - TREND_DAYS + 1, today + 1)],
        alarm=alarm,
        paused_since=utc_of(resting),
    )


def _failing_since(sources: Sequence[SourceRecord]) -> float | None:
    return min((one.failing_since for one in sources if one.failing_since is not None), default=None)


def _causes(counters: Mapping[str, float]) -> dict[str, int]:
    found = {
        name.removeprefix("errors/"): int(n) for name, n in counters.items() if name.startswith("errors/")
    }
    return dict(sorted(found.items(), key=lambda one: (-one[1], one[0])))


_BY_HEALTH = ("unreachable", "dead", "failing", "alarm", "paused", "quiet", "never polled", "ok")
ORDERS: Mapping[str, Callable[[SiteRow], Any]] = {
    "site": lambda row: row.site,
    "articles": lambda row: -row.articles,
    # In the next three orders, sites without a value come last.
    "useful": lambda row: 2.0 if row.useful_share is None else row.useful_share,
    "last": lambda row: -row.last_article.timestamp() if row.last_article else 0.0,
    "next": lambda row: row.next_poll.timestamp() if row.next_poll else 1e18,
    "errors": lambda row: -row.errors,
    "health": lambda row: min(map(_BY_HEALTH.index, (row.health, "alarm" if row.alarm else row.health))),
    "trend": lambda row: -sum(row.trend),
}
"""Functions that return the sort key of a site, by name of the order.

Sites with equal keys are sorted by name. In the order ``health``, sites with an alarm follow the sites with
failing sources.
"""


SITES_BAD = (Health.UNREACHABLE, Health.DEAD, Health.FAILING)
"""Values of ``SiteRow.health`` for sites that cannot be reached or have a failing source."""


def has_problem(row: SiteRow) -> bool:
    """Return True if a source of the site fails, or if a figure of the site has fallen."""
    return row.health in SITES_BAD or row.alarm is not None


def in_order(rows: Sequence[SiteRow], order: str, *, backwards: bool = False) -> list[SiteRow]:
    """Return the sites in one of the :data:`ORDERS`, or in the reverse order with ``backwards``."""
    by_name = sorted(rows, key=lambda row: row.site)
    return sorted(by_name, key=ORDERS[order], reverse=backwards)
