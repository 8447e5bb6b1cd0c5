"""Shapes of URLs: which of them lead to articles, on one site and on many.

A shape is what remains of a URL if its variable parts are replaced (:func:`shape_of`). The words and numbers
of some URLs look like those of an article (``/gallery/ten-best-pictures-7``, ``/2024/05/4711/``), but the
page may be anything. A shape is *proven* if the site's feed or sitemap lists URLs with it, or if pages with
it were articles. It has *failed* if at least :data:`ENOUGH` pages with it were not articles. Other shapes are
doubtful: a few pages are fetched, and the other links wait for the result. A shape that a feed lists can fail
too. It has then failed only for links that the feed does not list.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from newsbot.items import Bounded
from newsbot.rules.traits import kind_of, split_path

ENOUGH = 2
"""Minimum number of pages of a shape that were not articles, for the shape to have failed."""
LEAST_SHARE = 0.3
"""Minimum share of articles among the fetched pages of a shape that has not failed."""
ENOUGH_UNLISTED = 5
"""Used instead of :data:`ENOUGH` for shapes that a feed or sitemap lists. For these shapes, only pages that
no source lists are counted."""
MANY_SITES = 3
"""Number of sites on which a shape must fail before it is skipped on other sites. A shape that succeeded on
any site is not skipped."""
MAX_SHAPES = 500
"""Maximum number of shapes that are stored for one site, and for all sites together."""
_MAX_SITES = 5
"""Maximum number of domains that are stored for a shape of all sites."""
_NUMBERS = re.compile(r"\d+")
_SHORT_CODE = 9
_ID_IN_FRONT = re.compile(r"\d{5}")
"""The start of a segment with an id, as opposed to a number in the headline (``37-million-for-a-race``)."""
_LONG_WORD = 20
"""Maximum number of characters of a word. Longer ones are most likely slugs without hyphens."""


def shape_of(url: str) -> str:
    """Return the shape of a URL, e.g. ``/sport/*#.html`` or ``/?p&a=b``.

    Short words are kept. ``*`` replaces other text, ``#`` replaces a number. Values in the query that
    identify a page are left out.
    """
    _, segments, extension, slash, query = split_path(url)
    parts = [_part(segment) for segment in segments]
    path = "/" + "/".join(parts) + (f".{extension}" if extension else "") + ("/" if slash and parts else "")
    keys = sorted(key if _is_value(value) else f"{key}={value}" for key, _, value in _pairs(query))
    return path + ("?" + "&".join(keys) if keys else "")


def _part(segment: str) -> str:
    """Return the shape of one segment of the path."""
    kind = kind_of(segment)
    if kind == "word":
        return segment.lower() if len(segment) <= _LONG_WORD else "*"
    # An id at either end of a slug is part of the shape: "12345-a-headline", "a-headline-12345".
    if kind in ("slug", "mixed", "other"):
        in_front = _ID_IN_FRONT.match(segment) is not None
        return f"{'#' * in_front}*{'#' * segment[-1:].isdecimal()}"
    return _NUMBERS.sub("#", segment) if len(segment) < _SHORT_CODE else "#"


def _pairs(query: str) -> Iterable[tuple[str, str, str]]:
    return (part.partition("=") for part in query.split("&")[:8] if part)


def _is_value(value: str) -> bool:
    """Return True for a value that identifies a page; other values belong to the shape (``view=print``)."""
    return any(map(str.isdecimal, value)) or len(value) > _LONG_WORD or not value


@dataclass(slots=True)
class Shapes:
    """The evidence on the shapes of one site."""

    named: set[str] = field(default_factory=set)
    """Shapes of the URLs that a feed or sitemap lists."""
    good: Counter[str] = field(default_factory=Counter)
    """Shape -> number of fetched pages that were articles."""
    bad: Counter[str] = field(default_factory=Counter)
    """Shape -> number of fetched pages that were not articles."""
    unlisted: Counter[tuple[str, bool]] = field(default_factory=Counter)
    """(Shape, True for articles) -> number of pages fetched in this crawl that no source lists."""

    def name(self, url: str) -> None:
        """Record a URL that a feed or sitemap lists."""
        if len(self.named) < MAX_SHAPES:
            self.named.add(shape_of(url))

    def fetched(self, url: str, *, article: bool, listed: bool = True) -> None:
        """Record whether a page was an article. ``listed`` is True if a feed, sitemap or rule led to it."""
        counter, shape = self.good if article else self.bad, shape_of(url)
        # at the limit, known shapes are still counted
        if len(counter) < MAX_SHAPES or shape in counter:
            counter[shape] += 1
            self.unlisted[shape, article] += not listed

    def take(self, articles: Mapping[str, bool], others: Mapping[str, bool]) -> None:
        """Load the stored examples of articles and of other pages.

        Both map a URL to True if it was fetched. An article that was not fetched is known from a feed or
        sitemap, which lists it. Other pages that were not fetched are not evidence.
        """
        # the larger count is kept, because this crawl may have counted some of the pages already
        good = Counter(shape_of(url) for url, fetched in articles.items() if fetched)
        bad = Counter(shape_of(url) for url, fetched in others.items() if fetched)
        for counter, found in ((self.good, good), (self.bad, bad)):
            for shape, number in found.items():
                if shape in counter or len(counter) < MAX_SHAPES:
                    counter[shape] = max(counter[shape], number)
        for url, fetched in articles.items():
            if not fetched:
                self.name(url)

    def has_failed(self, shape: str) -> bool:
        """Return True if the shape has failed: links of this shape that no source lists are not articles."""
        good, bad, enough = self.good[shape], self.bad[shape], ENOUGH
        # The articles that a feed lists say nothing about the unlisted pages of the same shape.
        if shape in self.named:
            good, bad, enough = self.unlisted[shape, True], self.unlisted[shape, False], ENOUGH_UNLISTED
        return bad >= enough and good < LEAST_SHARE * (good + bad)

    def is_proven(self, shape: str) -> bool:
        """Return True if the shape is proven: pages of this shape are articles."""
        return (shape in self.named or self.good[shape] > 0) and not self.has_failed(shape)

    @property
    def lost(self) -> int:
        """Return the number of pages without an article, of shapes that are neither listed nor proven."""
        return sum(
            number
            for shape, number in self.bad.items()
            if shape not in self.named and not self.is_proven(shape)
        )


class ShapesOfAll:
    """The shapes that failed or succeeded on each site. A shape that failed on many is skipped on others."""

    def __init__(self) -> None:
        self.failed = Bounded[str, list[str]](MAX_SHAPES)
        """Shape -> the first :data:`_MAX_SITES` domains on which it failed."""
        self.good = Bounded[str, list[str]](MAX_SHAPES)
        """Shape -> the first :data:`_MAX_SITES` domains on which it succeeded."""

    def told(self, domain: str, shape: str, *, good: bool) -> None:
        """Record that pages of a shape were articles on a site (``good``), or that they were not."""
        home = self.good if good else self.failed
        domains = home.setdefault(shape, [])
        if domain not in domains and len(domains) < _MAX_SITES:
            domains.append(domain)

    def is_hopeless(self, shape: str) -> bool:
        """Return True if a shape failed on many sites and succeeded on none."""
        return len(self.failed.get(shape, ())) >= MANY_SITES and shape not in self.good

    def plain(self) -> dict[str, Any]:
        """Return the shapes as a JSON-able value."""
        return {"failed": self.failed, "good": self.good}

    def merge(self, plain: Mapping[str, Any]) -> None:
        """Add the :meth:`plain` value of another worker or an earlier crawl. Invalid parts are ignored."""
        for name, good in (("failed", False), ("good", True)):
            told = plain.get(name)
            for shape, domains in told.items() if isinstance(told, dict) else ():
                for domain in domains if isinstance(domains, list) else ():
                    self.told(str(domain), str(shape), good=good)
