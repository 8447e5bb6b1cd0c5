"""Matches a URL against a rule. This runs for every link, some hundred times per page.

All patterns of a rule are searched at once; the first one that matches decides.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from newsbot.items import Kind
from newsbot.rules.schema import Pattern, Rule
from newsbot.urls import canonicalize

MAX_SEARCHED = 2048
"""Characters of path and query that are searched."""


@dataclass(frozen=True, slots=True)
class Match:
    """The verdict; ``pattern`` is the deciding one, or None for URLs that the rule lists itself."""

    kind: Kind | None
    denied: bool = False
    pattern: Pattern | None = None


_NOTHING = Match(None)
_GIVEN = {kind: Match(kind) for kind in Kind}


def classify(rule: Rule, url: str) -> Match:
    """Return the verdict of the rule on a canonical URL.

    ``deny`` comes first, then the URLs that the rule lists (seeds count as sections), then the article
    patterns, then the section patterns. ``kind`` is None if nothing matches.
    """
    slash = url.find("/", 8)
    text = url[slash : slash + MAX_SEARCHED] if slash > 0 else "/"
    first = rule.patterns.first(text)
    if first is not None and first < len(rule.deny):
        return Match(None, denied=True, pattern=rule.deny[first])
    given = _given(rule.feeds, rule.sitemaps, rule.sections, rule.seeds, rule.drop_query)
    if given and (kind := given.get(_bare(url))) is not None:
        return _GIVEN[kind]
    if first is None:
        return _NOTHING
    place = first - len(rule.deny)
    if place < len(rule.article):
        return Match(Kind.ARTICLE, pattern=rule.article[place])
    return Match(Kind.SECTION, pattern=rule.section[place - len(rule.article)])


@lru_cache(maxsize=4096)
def _given(
    feeds: tuple[str, ...],
    sitemaps: tuple[str, ...],
    sections: tuple[str, ...],
    seeds: tuple[str, ...],
    drop_query: tuple[str, ...],
) -> dict[str, Kind]:
    kinds: dict[str, Kind] = {}
    for urls, kind in (
        (seeds, Kind.SECTION),
        (sections, Kind.SECTION),
        (sitemaps, Kind.SITEMAP),
        (feeds, Kind.FEED),  # last, so it wins: a feed that is also a seed is a feed
    ):
        for url in urls:
            kinds[_bare(canonicalize(url, drop_query))] = kind
    return kinds


def _bare(url: str) -> str:
    """Return a URL without scheme and ``www.``, which do not distinguish pages."""
    return url.partition("://")[2].removeprefix("www.")
