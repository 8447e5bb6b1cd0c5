"""The seeds of a crawl: the sources that its rules and arguments name, and whether a known source is still
named.
"""

from __future__ import annotations

from collections.abc import Iterator

from newsbot.crawl.arguments import Arguments
from newsbot.crawl.context import Context
from newsbot.crawl.failures import Ignored
from newsbot.crawl.scope import Scope
from newsbot.crawl.visit import Found, Visit
from newsbot.discovery.traps import is_archive, is_pagination
from newsbot.items import Kind, Link, Reason, Where
from newsbot.ranking.judging import THRESHOLD, article_odds
from newsbot.rules.match import classify
from newsbot.rules.schema import Rule
from newsbot.rules.shape import probability
from newsbot.urls import canonicalize, fingerprint


def seeds(context: Context, scope: Scope) -> Iterator[Found]:
    """Yield the links to begin with: of each selected rule, then those of the arguments."""
    for rule in scope.selected_rules():
        links = tuple(_of_rule(rule, scope.arguments.follow))
        yield Found(links=links, referrer=None, depth=0, source=rule.domain)
    asked = tuple(_of_arguments(context, scope.arguments))
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


def _of_arguments(context: Context, arguments: Arguments) -> Iterator[Link]:
    for url in arguments.feeds:
        yield Link(url=url, where=Where.ARGUMENT, kind=Kind.FEED)
    for url in arguments.urls:
        yield Link(url=url, where=Where.ARGUMENT, kind=_kind_of(url, context.rule_for(url)))


def _kind_of(url: str, rule: Rule) -> Kind:
    """Return what a person most likely means: what the rule says, else what the address looks like."""
    canonical = canonicalize(url, rule.drop_query)
    match = classify(rule, canonical)
    if match.kind is not None:
        return match.kind
    path = canonical.split("://", 1)[-1].partition("/")[2]
    if not path or is_pagination(canonical) or is_archive(canonical):
        return Kind.SECTION
    odds = article_odds(Link(url=url, where=Where.ARGUMENT), canonical)
    return Kind.SECTION if path.endswith("/") and probability(odds) < THRESHOLD else Kind.ARTICLE


def refuse_unnamed(context: Context, scope: Scope, visit: Visit) -> None:
    """Raise :class:`Ignored` for a source that was named by a rule and is not now.

    One that the rule itself named comes back when it is named again; another one asks again each day.
    """
    if is_unnamed(context, scope, visit):
        if visit.data.get("where") == Where.SEED:
            visit.page["next_due"] = None
        raise Ignored(Reason.UNNAMED, "no rule names it any more")


def is_unnamed(context: Context, scope: Scope, visit: Visit) -> bool:
    """Return True for a source that a rule led to and that, as the rules are now, none names any more."""
    domain = visit.data.get("source", "")
    if not visit.kind.is_source or visit.forced:
        return False
    rule = context.rules.get(domain)
    if rule is None:
        asked = scope.limited_to is not None and domain in scope.limited_to
        return bool(visit.data.get("ruled")) and not asked
    if visit.data.get("where") != Where.SEED or not (rule.has_sources or rule.seeds):
        return False  # it was found, or its rule leaves it to us what to begin with
    named = (*rule.feeds, *rule.sitemaps, *rule.sections, *rule.seeds)
    key = visit.lease.entry.fingerprint
    return all(fingerprint(canonicalize(url, rule.drop_query)) != key for url in named)
