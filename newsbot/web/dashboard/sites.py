"""The state of each site and each of its sources, as a list and for one site."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import PurePath
from typing import Any

from newsbot.clock import utc
from newsbot.frontier.base import ASIDE
from newsbot.operations.source_report import Site, health_text, known_sites, sites_of
from newsbot.ranking.url_learning import kept
from newsbot.sites.health import Health, alarms, health
from newsbot.sites.pauses import paused
from newsbot.sites.statistics import share
from newsbot.storage.sources import HOUR, SourceRecord
from newsbot.urls import ascii_host
from newsbot.web.dashboard.overview import HOURS, SITES_BAD, Period, periods
from newsbot.web.readers import Data

TREND_DAYS = 30
MAX_SOURCES = 200
"""Sources of one site that are shown; those named in the rule come first."""
ASIDE_LOOKED_AT = 1000
MAX_ASIDE = 10
MAX_PATTERNS = 40


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
    """When the next source of the site is polled."""
    last_error: str | None
    last_error_at: datetime | None
    failing_since: datetime | None
    """Since when a source fails, if the health is dead or failing."""
    health: str
    """The worst health of its sources: dead, failing, quiet, never polled, ok. ``paused``: paused by hand."""
    sources: dict[str, int]
    """Number of sources by health."""
    trend: list[int]
    """New articles a day over 30 days (UTC), oldest first. The last day is not complete."""
    alarm: str | None = None
    """Which figure fell, and the likely cause."""
    paused_since: datetime | None = None


@dataclass(frozen=True, slots=True)
class SourceRow:
    """One feed, sitemap or section front."""

    url: str
    kind: str
    health: str
    why: str
    """The health, with the reason for a failure."""
    polls: int
    unchanged_share: float | None
    new_links: int
    last_new: datetime | None
    last_poll: datetime | None
    next_poll: datetime | None
    failures: int
    failing_since: datetime | None
    last_error: str | None


@dataclass(frozen=True, slots=True)
class PatternRow:
    """A pattern of article addresses that was learned."""

    text: str
    articles: int
    others: int
    examples: list[str]


@dataclass(frozen=True, slots=True)
class AsideRow:
    """A URL that is set aside: it is not fetched any more."""

    url: str
    reason: str


@dataclass(frozen=True, slots=True)
class SiteSheet:
    """All data of one site."""

    row: SiteRow
    rule: str | None
    """The file of its rule, if it has one."""
    source_rows: list[SourceRow]
    more_sources: int
    patterns: list[PatternRow]
    learned_from: int
    """Number of URLs that the patterns were learned from."""
    causes: dict[str, int]
    """Errors by cause, over all crawls, the most frequent first."""
    hours: list[Period]
    aside: list[AsideRow] = field(default_factory=list)


_WORST = (Health.DEAD, Health.FAILING, Health.QUIET, Health.NEVER_POLLED, Health.OK)


def all_sites(data: Data) -> list[SiteRow]:
    """Return all sites by domain. Expensive, because it counts the articles of each site."""
    now = data.clock()
    trends = data.activity.trends(now - TREND_DAYS * 24 * HOUR)
    fallen, resting = alarms(data.notes), paused(data.notes)
    return [
        _row(site, now, trends.get(site.domain, {}), fallen.get(site.domain), resting.get(site.domain))
        for site in sites_of(data.storage, data.rules)
    ]


def one_site(data: Data, domain: str) -> SiteSheet | None:
    """Return all data of one site; None if neither the rules nor the data know it."""
    rule = data.rules.get(domain)
    domain = rule.domain if rule else ascii_host(domain)
    if rule is None and domain not in known_sites(data.storage, data.rules):
        return None
    now = data.clock()
    (site,) = sites_of(data.storage, data.rules, domain)
    hours = data.activity.hours(now - TREND_DAYS * 24 * HOUR, domain)
    days = periods(hours, now, 24 * HOUR, TREND_DAYS)
    trend = {one.at // (24 * HOUR): one.articles for one in days}
    fallen, resting = alarms(data.notes).get(domain), paused(data.notes).get(domain)
    _, learned = kept(data.notes, domain)
    ordered = sorted(site.sources, key=lambda one: (one.url not in site.named, one.kind, one.url))
    aside = [one for one in data.frontier.aside(ASIDE_LOOKED_AT) if one.data.get("source") == domain]
    return SiteSheet(
        row=_row(site, now, trend, fallen, resting),
        rule=PurePath(rule.file).name if rule else None,
        source_rows=[_source(one, now) for one in ordered[:MAX_SOURCES]],
        more_sources=max(0, len(ordered) - MAX_SOURCES),
        patterns=[
            PatternRow(one.text, one.articles, one.others, list(one.examples[:3]))
            for one in (learned.patterns[:MAX_PATTERNS] if learned else ())
        ],
        learned_from=learned.articles + learned.others if learned else 0,
        causes=_causes(site.record.counters),
        hours=periods(hours, now, HOUR, HOURS),
        aside=[AsideRow(one.url, str(one.data.get(ASIDE, "unknown"))) for one in aside[:MAX_ASIDE]],
    )


def _row(
    site: Site, now: float, trend: Mapping[int, int], alarm: str | None, resting: float | None
) -> SiteRow:
    states = Counter(health(one, now) for one in site.sources)
    worst = next((state for state in _WORST if states[state]), Health.NEVER_POLLED)
    today = int(now // (24 * HOUR))
    due = [one.next_due for one in site.sources if one.next_due is not None]
    return SiteRow(
        site=site.domain,
        articles=site.articles,
        useful_share=site.useful_share,
        errors=site.counter("errors"),
        duplicates=site.counter("duplicates"),
        unchanged=site.counter("unchanged"),
        last_article=_utc(site.record.last_article),
        next_poll=_utc(min(due, default=None)),
        last_error=site.record.last_error,
        last_error_at=_utc(site.record.last_error_at),
        failing_since=_utc(_failing_since(site.sources)) if worst in _WORST[:2] else None,
        health="paused" if resting is not None else worst.value,
        sources={state.value: states[state] for state in Health if states[state]},
        trend=[trend.get(day, 0) for day in range(today - TREND_DAYS + 1, today + 1)],
        alarm=alarm,
        paused_since=_utc(resting),
    )


def _failing_since(sources: Sequence[SourceRecord]) -> float | None:
    return min((one.failing_since for one in sources if one.failing_since is not None), default=None)


def _source(one: SourceRecord, now: float) -> SourceRow:
    return SourceRow(
        url=one.url,
        kind=one.kind.value,
        health=health(one, now).value,
        why=health_text(one, now),
        polls=one.polls,
        unchanged_share=share(one.unchanged, one.polls),
        new_links=one.new_links,
        last_new=_utc(one.last_new),
        last_poll=_utc(one.last_poll),
        next_poll=_utc(one.next_due),
        failures=one.failures,
        failing_since=_utc(one.failing_since),
        last_error=one.last_error,
    )


def _causes(counters: Mapping[str, float]) -> dict[str, int]:
    found = {
        name.removeprefix("errors/"): int(n) for name, n in counters.items() if name.startswith("errors/")
    }
    return dict(sorted(found.items(), key=lambda one: (-one[1], one[0])))


def _utc(seconds: float | None) -> datetime | None:
    return None if seconds is None else utc(seconds)


_HEALTH: Mapping[str, int] = {
    word: place
    for place, word in enumerate(("dead", "failing", "alarm", "paused", "quiet", "never polled", "ok"))
}
ORDERS: Mapping[str, Callable[[SiteRow], Any]] = {
    "site": lambda row: row.site,
    "articles": lambda row: -row.articles,
    "useful": lambda row: 2.0 if row.useful_share is None else row.useful_share,
    "last": lambda row: -row.last_article.timestamp() if row.last_article else 0.0,
    "next": lambda row: row.next_poll.timestamp() if row.next_poll else 1e18,
    "errors": lambda row: -row.errors,
    "health": lambda row: min(_HEALTH.get(row.health, 9), 2 if row.alarm else 9),
    "trend": lambda row: -sum(row.trend),
}
"""Sort keys for sites. Ties are sorted by name. In the order by health, sites with an alarm follow those that
fail."""


def has_problem(row: SiteRow) -> bool:
    """Return True if somebody should look at the site: a source fails, or a figure fell."""
    return row.health in SITES_BAD or row.alarm is not None


def in_order(rows: Sequence[SiteRow], order: str, *, backwards: bool = False) -> list[SiteRow]:
    """Return sites in one of :data:`ORDERS`."""
    by_name = sorted(rows, key=lambda row: row.site)
    return sorted(by_name, key=ORDERS[order], reverse=backwards)
