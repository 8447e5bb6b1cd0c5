"""What a rule says of a URL: the question that is asked for every link, some hundred times a page."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

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


class Patterns(tuple[Pattern, ...]):
    """Patterns that are searched together: one pass says whether any of them matches."""

    @cached_property
    def _any(self) -> re.Pattern[str] | None:
        try:
            return re.compile("|".join(map(_alternative, self)), re.ASCII)
        except re.error:  # two patterns name a group alike: they are searched one by one
            return None

    def first(self, text: str) -> Pattern | None:
        """Return the first pattern that is found in ``text``, in the order of the file."""
        if not self or (self._any is not None and self._any.search(text) is None):
            return None
        return _first(self, text)


def classify(rule: Rule, url: str) -> Match:
    """Return what the rule says of a canonical URL.

    deny comes first, then the URLs that the rule gives itself (seeds count as sections), then the
    article patterns, then the section patterns. ``kind`` is None when the rule says nothing.
    """
    slash = url.find("/", 8)
    text = url[slash : slash + MAX_SEARCHED] if slash > 0 else "/"
    if (pattern := _search(rule.deny, text)) is not None:
        return Match(None, denied=True, pattern=pattern)
    given = _given(rule.feeds, rule.sitemaps, rule.sections, rule.seeds, rule.drop_query)
    if given and (kind := given.get(_bare(url))) is not None:
        return _GIVEN[kind]
    if (pattern := _search(rule.article, text)) is not None:
        return Match(Kind.ARTICLE, pattern=pattern)
    if (pattern := _search(rule.section, text)) is not None:
        return Match(Kind.SECTION, pattern=pattern)
    return _NOTHING


def _search(patterns: Sequence[Pattern], text: str) -> Pattern | None:
    return patterns.first(text) if isinstance(patterns, Patterns) else _first(patterns, text)


def _first(patterns: Sequence[Pattern], text: str) -> Pattern | None:
    for pattern in patterns:
        if pattern.regex.search(text) is not None:
            return pattern
    return None


def _alternative(pattern: Pattern) -> str:
    """The pattern as one alternative of many: inline flags hold for itself only."""
    if pattern.regex.flags & re.IGNORECASE:
        return f"(?i:{pattern.text.removeprefix('(?i)')})"
    return f"(?:{pattern.text})"


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
