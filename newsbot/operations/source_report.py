"""The state of each site and each of its sources, as ``scrapy sources`` and the dashboard show it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from newsbot.cli.terminal import when
from newsbot.items import Kind
from newsbot.rules import RuleSet
from newsbot.rules.match import classify
from newsbot.rules.schema import Rule
from newsbot.search.query import ArticleFilter
from newsbot.sites.health import Health, health
from newsbot.sites.statistics import share
from newsbot.storage.base import Storage
from newsbot.storage.sources import SiteRecord, SourceRecord
from newsbot.urls import canonicalize


@dataclass(frozen=True, slots=True)
class Site:
    """One site with its sources."""

    domain: str
    articles: int
    record: SiteRecord
    sources: Sequence[SourceRecord]
    named: frozenset[str]
    """URLs of feeds, sitemaps, and of the sections that the rule names: those that people look after."""

    def counter(self, name: str) -> int:
        """A counter over all crawls."""
        return int(self.record.counters.get(name, 0))

    @property
    def useful_share(self) -> float | None:
        """Pages that held an article, in fetched pages outside feeds, sitemaps and sections."""
        return share(self.counter("article_pages"), self.counter("pages"))


def sites_of(storage: Storage, rules: RuleSet, domain: str | None = None) -> Iterator[Site]:
    """Yield all sites of rules and data by domain, or the one of this domain (known or not)."""
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
    """Return the domains of all sites of the rules and the data."""
    return _known(storage.sites.all(), (record.source for record in storage.sources.all()), rules)


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
    """Return empty records for the sources that a rule names and nothing has fetched yet."""
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
    """Return the health with what stands behind a failure."""
    state = health(one, now)
    if state not in (Health.FAILING, Health.DEAD):
        return state.value
    since = "" if one.failing_since is None else f" since {when(one.failing_since, now)}"
    return f"{state}{since}: {one.last_error or 'unknown'}, {one.failures} times"
