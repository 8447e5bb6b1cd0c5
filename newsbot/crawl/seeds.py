"""Yields the seeds of a crawl, and checks whether a known source is still named by a rule.

Seeds are the sources that the rules and the arguments name.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator

from newsbot.crawl.arguments import Arguments
from newsbot.crawl.context import Context
from newsbot.crawl.failures import Ignored
from newsbot.crawl.scope import Scope
from newsbot.crawl.visit import Due, Found, Visit
from newsbot.items import Kind, Link, Reason, Where
from newsbot.pages.discovery.list_pages import is_archive, is_pagination
from newsbot.pages.discovery.reader import claiming
from newsbot.pages.rules.rule import Rule, classify
from newsbot.pages.rules.shape import probability
from newsbot.ranking.judging import article_odds
from newsbot.urls import canonicalize, fingerprint

TOGETHER = 200
"""Number of links from rules that are queued in one transaction. One transaction per rule would be slow."""
LIKELY = 0.5
"""Minimum probability that a URL from the arguments is an article, if its path ends with a slash."""
SHOWN = 5
"""Maximum number of sites that a log line names."""

logger = logging.getLogger(__name__)


def seeds(context: Context, scope: Scope) -> Iterator[Found]:
    """Yield the links that the crawl begins with: first the links of rules, then the links of arguments."""
    bare: dict[tuple[str, ...], list[str]] = {}
    # Seeds on the site's own hosts need no ``source``, so seeds of many rules can be queued together.
    at_home: list[Link] = []
    for rule in scope.selected_rules():
        links = tuple(_of_rule(context, rule, scope.arguments.follow))
        if all(_is_at_home(context, rule, link) for link in links):
            at_home += links
        else:
            yield Found(links=links, referrer=None, depth=0, site=rule.domain)
        if len(at_home) >= TOGETHER:
            yield Found(links=tuple(at_home), referrer=None, depth=0)
            at_home = []
        if not links:
            bare.setdefault(scope.arguments.follow or rule.follow or (), []).append(rule.domain)
    if at_home:
        yield Found(links=tuple(at_home), referrer=None, depth=0)
    # A rule without seeds is probably a mistake: its ``follow`` allows only kinds of sources that the rule
    # does not name.
    for follow, domains in bare.items():
        names, kinds = ", ".join(domains[:SHOWN]), ",".join(follow)
        text = "no seeds sites=%d (%s) follow=%s; the rules name no such sources"
        logger.warning(text, len(domains), names, kinds)
    asked = tuple(_of_arguments(context, scope.arguments))
    if asked:
        yield Found(links=asked, referrer=None, depth=0, force=True)


def _is_at_home(context: Context, rule: Rule, link: Link) -> bool:
    """Return True if this rule covers the host of the link."""
    try:
        return context.rule_for(link.url) is rule
    except ValueError:
        return False


def _of_rule(context: Context, rule: Rule, follow: tuple[str, ...] | None) -> Iterator[Link]:
    chosen = follow or rule.follow
    if chosen is None or "feeds" in chosen:
        yield from (Link(url=url, where=Where.SEED, kind=_kind_of_feed(context, url)) for url in rule.feeds)
    if chosen is None or "sitemaps" in chosen:
        yield from (Link(url=url, where=Where.SEED, kind=Kind.SITEMAP) for url in rule.sitemaps)
    yield from (Link(url=url, where=Where.SEED, kind=Kind.SECTION) for url in _fronts(rule, chosen))


def _fronts(rule: Rule, chosen: tuple[str, ...] | None) -> tuple[str, ...]:
    """Return the URLs of the pages to begin with: seeds and sections of the rule, else the home page.

    ``chosen`` is the list ``follow`` that applies. If a rule names only feeds or sitemaps, the home page is
    read only if ``chosen`` includes ``sections`` or ``links``.
    """
    of_pages = chosen is None or "sections" in chosen or "links" in chosen
    given = (*rule.seeds, *rule.sections) if of_pages else ()
    finds_its_sources = not (rule.seeds or rule.has_sources)
    if finds_its_sources or (chosen and of_pages and not given):
        return (f"https://{rule.domain}/",)
    return given


def _of_arguments(context: Context, arguments: Arguments) -> Iterator[Link]:
    for url in arguments.feeds:
        yield Link(url=url, where=Where.ARGUMENT, kind=_kind_of_feed(context, url))
    for url in arguments.urls:
        yield Link(url=url, where=Where.ARGUMENT, kind=_kind_of(url, context.rule_for(url)))


def _kind_of_feed(context: Context, url: str) -> Kind:
    """Return the kind of a source that is named as a feed."""
    reader = claiming(context.readers, url)
    return Kind.FEED if reader is None else reader.kind


def _kind_of(url: str, rule: Rule) -> Kind:
    """Return the kind of a URL from the arguments. If the rule does not decide, the form of the URL
    decides."""
    canonical = canonicalize(url, rule.drop_query)
    match = classify(rule, canonical)
    if match.kind is not None:
        return match.kind
    path = canonical.split("://", 1)[-1].partition("/")[2]
    if not path or is_pagination(canonical) or is_archive(canonical):
        return Kind.SECTION
    # No rule decides. A path with a slash at its end is a list, unless it looks like an article.
    odds = article_odds(Link(url=url, where=Where.ARGUMENT), canonical)
    return Kind.SECTION if path.endswith("/") and probability(odds) < LIKELY else Kind.ARTICLE


def refuse_unnamed(context: Context, scope: Scope, visit: Visit) -> None:
    """Raise :class:`Ignored` if the page came from a rule, and no rule names or covers it now.

    If a rule named a source itself, the source is due again only when a rule names it again. If the page was
    found on the site of a deleted rule, newsbot checks once a day, without a request, whether a rule covers
    it again.
    """
    if is_unnamed(context, scope, visit):
        if visit.data.get("where") == Where.SEED:
            visit.due = Due(None)
        raise Ignored(Reason.UNNAMED, "no rule names this page any more")


def is_unnamed(context: Context, scope: Scope, visit: Visit) -> bool:
    """Return True for a page that came from a rule, if the rule was deleted or no longer names the page."""
    domain = visit.data.get("source", "")
    if visit.forced:
        return False
    rule = context.rules.get(domain)
    if rule is None:
        asked = scope.limited_to is not None and domain in scope.limited_to
        covered = not visit.kind.is_source and context.rules.get(context.rule_for(visit.url).domain)
        return bool(visit.data.get("ruled")) and not asked and not covered
    if not visit.kind.is_source:
        return False
    if visit.data.get("where") != Where.SEED or not (rule.has_sources or rule.seeds):
        return False  # the source was found on a page, or its rule names no sources at all
    fronts = _fronts(rule, scope.arguments.follow or rule.follow)
    named = (*rule.feeds, *rule.sitemaps, *rule.sections, *rule.seeds, *fronts)
    key = visit.lease.entry.fingerprint
    return all(fingerprint(canonicalize(url, rule.drop_query)) != key for url in named)
