"""What a crawl begins with: the sources that its rules and arguments name."""

from __future__ import annotations

from collections.abc import Iterator

from newsbot.crawl.context import CrawlState
from newsbot.crawl.visit import Found
from newsbot.discovery.traps import is_archive, is_pagination
from newsbot.items import Kind, Link, Where
from newsbot.ranking.judging import THRESHOLD, article_odds
from newsbot.rules.match import classify
from newsbot.rules.schema import Rule
from newsbot.rules.shape import probability
from newsbot.urls import canonicalize


def sources(state: CrawlState) -> Iterator[Found]:
    """Yield the links to begin with: of each selected rule, then those of the arguments."""
    for rule in state.selected_rules():
        links = tuple(_of_rule(rule, state.arguments.follow))
        yield Found(links=links, referrer=None, depth=0, source=rule.domain)
    asked = tuple(_of_arguments(state))
    if asked:
        yield Found(links=asked, referrer=None, depth=0, force=True)


def _of_rule(rule: Rule, follow: tuple[str, ...] | None) -> Iterator[Link]:
    chosen = follow or rule.follow
    kinds = (("feeds", Kind.FEED, rule.feeds), ("sitemaps", Kind.SITEMAP, rule.sitemaps))
    for name, kind, urls in kinds:
        if chosen is None or name in chosen:
            yield from (Link(url=url, where=Where.SEED, kind=kind) for url in urls)
    if chosen is None or "sections" in chosen or "links" in chosen:
        for url in (*rule.seeds, *rule.sections):
            yield Link(url=url, where=Where.SEED, kind=Kind.SECTION)
    if not (rule.seeds or rule.has_sources):
        # a one-line rule: its sources are found from the home page and robots.txt
        yield Link(url=f"https://{rule.domain}/", where=Where.SEED, kind=Kind.SECTION)


def _of_arguments(state: CrawlState) -> Iterator[Link]:
    for url in state.arguments.feeds:
        yield Link(url=url, where=Where.ARGUMENT, kind=Kind.FEED)
    for url in state.arguments.urls:
        yield Link(url=url, where=Where.ARGUMENT, kind=_kind_of(state, url))


def _kind_of(state: CrawlState, url: str) -> Kind:
    """Return what a person most likely means: what the rule says, else what the address looks like."""
    rule = state.rule_for(url)
    canonical = canonicalize(url, rule.drop_query)
    match = classify(rule, canonical)
    if match.kind is not None:
        return match.kind
    path = canonical.split("://", 1)[-1].partition("/")[2]
    if not path or is_pagination(canonical) or is_archive(canonical):
        return Kind.SECTION
    odds = article_odds(Link(url=url, where=Where.ARGUMENT), canonical)
    return Kind.SECTION if path.endswith("/") and probability(odds) < THRESHOLD else Kind.ARTICLE
