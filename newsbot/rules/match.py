"""Matches a URL against a rule.

This code runs for every link, several hundred times per page. So all patterns of a rule are searched at once.
If several match, the first one decides.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from newsbot.items import Kind
from newsbot.rules.schema import Pattern, Rule
from newsbot.urls import canonicalize

MAX_SEARCHED = 2048
"""Maximum number of characters of path and query that are searched. The rest of a longer URL is ignored."""


@dataclass(frozen=True, slots=True)
class Match:
    """What a rule says about a URL."""

    kind: Kind | None
    """The kind of page, or None if the rule does not give one."""
    denied: bool = False
    """True if the URL must not be fetched."""
    pattern: Pattern | None = None
    """The pattern that decided. None if no pattern matched, or if the rule lists the URL itself."""


_NOTHING = Match(None)
_GIVEN = {kind: Match(kind) for kind in Kind}


def classify(rule: Rule, url: str) -> Match:
    """Match a canonical URL against the rule.

    The first match decides. The order is: deny patterns, URLs that the rule lists (seeds count as sections),
    article patterns, section patterns.
    """
    slash = url.find("/", 8)
    text = url[slash : slash + MAX_SEARCHED] if slash > 0 else "/"
    # ``first`` is an index in deny + article + section, so it gives both the list and the pattern.
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


# The result is the kind of each URL that the rule lists. The arguments are parts of the rule, because a rule
# cannot be the key of the cache: it contains mappings, which are not hashable.
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
        (feeds, Kind.FEED),  # the last entry wins, so a feed that is also a seed is a feed
    ):
        for url in urls:
            kinds[_bare(canonicalize(url, drop_query))] = kind
    return kinds


def _bare(url: str) -> str:
    """Return a URL without scheme and ``www.``, because sites link to a page in all these forms."""
    return url.partition("://")[2].removeprefix("www.")
