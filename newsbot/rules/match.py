"""What a rule says of a URL: the question that is asked for every link, some hundred times a page.

The patterns are searched one after the other. One expression of all of them was tried and took as
long (4 µs a link with the 24 deny patterns of a usual rule), and could not say which one it was.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from newsbot.items import Kind
from newsbot.rules.schema import Pattern, Rule
from newsbot.urls import canonicalize

MAX_SEARCHED = 2048
"""Characters of path and query that patterns see; bounds the time of a search."""


@dataclass(frozen=True, slots=True)
class Match:
    """The verdict. ``pattern`` is the one that decided, None for URLs that the rule gives itself."""

    kind: Kind | None
    denied: bool = False
    pattern: Pattern | None = None


_NOTHING = Match(None)
_GIVEN = {kind: Match(kind) for kind in Kind}


def classify(rule: Rule, url: str) -> Match:
    """Return what the rule says of a canonical URL.

    deny comes first, then the URLs that the rule gives itself (seeds count as sections), then the
    article patterns, then the section patterns. ``kind`` is None when the rule says nothing.
    """
    slash = url.find("/", 8)
    text = url[slash : slash + MAX_SEARCHED] if slash > 0 else "/"
    if (pattern := _first(rule.deny, text)) is not None:
        return Match(None, denied=True, pattern=pattern)
    given = _given(rule.feeds, rule.sitemaps, rule.sections, rule.seeds, rule.drop_query)
    if given and (kind := given.get(_bare(url))) is not None:
        return _GIVEN[kind]
    if (pattern := _first(rule.article, text)) is not None:
        return Match(Kind.ARTICLE, pattern=pattern)
    if (pattern := _first(rule.section, text)) is not None:
        return Match(Kind.SECTION, pattern=pattern)
    return _NOTHING


def _first(patterns: Sequence[Pattern], text: str) -> Pattern | None:
    for pattern in patterns:
        if pattern.regex.search(text) is not None:
            return pattern
    return None


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
        (feeds, Kind.FEED),  # the last word: a feed that is a seed too is a feed
    ):
        for url in urls:
            kinds[_bare(canonicalize(url, drop_query))] = kind
    return kinds


def _bare(url: str) -> str:
    """Without scheme and ``www.``, which tell no pages apart."""
    return url.partition("://")[2].removeprefix("www.")
