"""Reports the state of each site and its sources, for ``scrapy sources`` and the dashboard.

A source is a page with links to articles: a feed, a sitemap or a section.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from newsbot.cli.command import did_you_mean
from newsbot.cli.terminal import counted, when
from newsbot.errors import ArgumentError
from newsbot.items import ArticleFilter, Kind
from newsbot.rules import RuleSet
from newsbot.rules.rule import Rule, classify
from newsbot.sites.health import Health, health
from newsbot.sites.statistics import share
from newsbot.storage.base import Storage
from newsbot.storage.sources import SiteRecord, SourceRecord
from newsbot.urls import ascii_host, canonicalize


@dataclass(frozen=True, slots=True)
class Site:
    """One site with its sources."""

    domain: str
    articles: int
    record: SiteRecord
    sources: Sequence[SourceRecord]
    named: frozenset[str]
    """URLs of all feeds and sitemaps, and of the sections that the rule lists with their URLs."""

    def counter(self, name: str) -> int:
        """Return a counter, summed over all crawls; 0 if it does not exist."""
        return int(self.record.counters.get(name, 0))

    @property
    def useful_share(self) -> float | None:
        """Share (0 to 1) of the fetched pages that contained an article; None if no page was fetched.

        Feeds, sitemaps and sections do not count.
        """
        return share(self.counter("article_pages"), self.counter("pages"))


def sites_of(storage: Storage, rules: RuleSet, domain: str | None = None) -> Iterator[Site]:
    """Yield all sites in the rules or the data, sorted by domain.

    If ``domain`` is given, only this site is yielded, even if it is unknown.
    """
    records = storage.sites.all()
    polled: dict[str, list[SourceRecord]] = defaultdict(list)
    for record in storage.sources.all(domain):
        polled[record.source].append(record)
    for one in [domain] if domain else _known(records, polled, rules):
        rule = rules.get(one)
        never = never_polled(rule, polled[one]) if rule else []
        sources = [*sorted(polled[one], key=lambda record: (record.kind, record.url)), *never]
        yield Site(
            domain=one,
            articles=storage.articles.count(ArticleFilter(source=one)),
            record=records.get(one) or SiteRecord(source=one),
            sources=sources,
            named=frozenset(record.url for record in sources if _is_named(record, rule)),
        )


def known_sites(storage: Storage, rules: RuleSet) -> list[str]:
    """Return the domains of all sites in the rules or the data, sorted."""
    return _known(storage.sites.all(), (record.source for record in storage.sources.all()), rules)


def chosen_site(domain: str, storage: Storage, rules: RuleSet) -> str:
    """Return the domain of a site in the form that rules and data use (the rule's domain, or ASCII).

    Raises :class:`newsbot.errors.ArgumentError` if the site is neither in the rules nor in the data.
    """
    rule = rules.get(domain)
    chosen = rule.domain if rule else ascii_host(domain)
    known = known_sites(storage, rules)
    if chosen not in known:
        hint = did_you_mean(chosen, known)
        raise ArgumentError(f"{domain!r} is not a site in the rules or the data{hint}")
    return chosen


def _known(records: Iterable[str], polled: Iterable[str], rules: RuleSet) -> list[str]:
    return sorted({*records, *polled, *(rule.domain for rule in rules)})


def _is_named(record: SourceRecord, rule: Rule | None) -> bool:
    if record.kind is not Kind.SECTION:
        return True
    if rule is None:
        return False
    match = classify(rule, canonicalize(record.url, rule.drop_query))
    return match.kind is Kind.SECTION and match.pattern is None


def never_polled(rule: Rule, polled: Iterable[SourceRecord]) -> list[SourceRecord]:
    """Return empty records for the sources in a rule that were never fetched."""
    seen = {canonicalize(record.url, rule.drop_query) for record in polled}
    named = (
        (Kind.FEED, rule.feeds),
        (Kind.SITEMAP, rule.sitemaps),
        (Kind.SECTION, (*rule.sections, *rule.seeds)),
    )
    return [
        SourceRecord(url=url, source=rule.domain, kind=kind)
        for kind, urls in named
        for url in dict.fromkeys(urls)
        if canonicalize(url, rule.drop_query) not in seen
    ]


def health_text(one: SourceRecord, now: float) -> str:
    """Return the health of a source as text.

    The text of a failing source has the time, the error and the number of failures.
    """
    state = health(one, now)
    if state not in (Health.FAILING, Health.DEAD):
        return state.value
    since = "" if one.failing_since is None else f" since {when(one.failing_since, now)}"
    return f"{state}{since}: {one.last_error or 'unknown'}, {counted(one.failures, 'failure')}"
