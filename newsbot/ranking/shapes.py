"""Shapes of URLs: which of them lead to articles, on one site and on many.

Some links look like articles by their words (``/gallery/ten-best-pictures-7``, ``/2024/05/4711/``) but may be
anything. A shape is *proven* if the site's feed or sitemap lists URLs of it, or if its pages were articles.
It has *failed* if :data:`ENOUGH` of its pages were not articles. Other shapes are doubtful: a few of their
pages are fetched, and the others wait for the result. A shape that a feed lists can fail too, for the links
that the feed does not list.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from newsbot.rules.traits import kind_of, split_path

ENOUGH = 2
"""Pages of a shape without an article after which it has failed."""
LEAST_SHARE = 0.3
"""Least share of articles among the pages of a shape; below it, the shape has failed."""
ENOUGH_UNLISTED = 5
"""The same for pages of a listed shape that the feed or sitemap does not list."""
MANY_SITES = 3
"""Number of sites where a shape must fail, with none where it did not, before other sites skip it."""
MAX_SHAPES = 500
"""Shapes that are stored for one site, and for all sites together."""
_MAX_SITES = 5
_NUMBERS = re.compile(r"\d+")
_SHORT_CODE = 9
_ID_IN_FRONT = re.compile(r"\d{5}")
"""The start of a segment with an id, as opposed to a number in the headline (``37-million-for-a-race``)."""
_LONG_WORD = 20


def shape_of(url: str) -> str:
    """Return folders, form of the last segment and keys of the query: ``/sport/*#.html``, ``/?p&a=b``."""
    _, segments, extension, slash, query = split_path(url)
    parts = [_part(segment) for segment in segments]
    path = "/" + "/".join(parts) + (f".{extension}" if extension else "") + ("/" if slash and parts else "")
    keys = sorted(key if _is_value(value) else f"{key}={value}" for key, _, value in _pairs(query))
    return path + ("?" + "&".join(keys) if keys else "")


def _part(segment: str) -> str:
    kind = kind_of(segment)
    if kind == "word":
        return segment.lower() if len(segment) <= _LONG_WORD else "*"
    if kind in ("slug", "mixed", "other"):
        in_front = _ID_IN_FRONT.match(segment) is not None
        return f"{'#' * in_front}*{'#' * segment[-1:].isdecimal()}"
    return _NUMBERS.sub("#", segment) if len(segment) < _SHORT_CODE else "#"


def _pairs(query: str) -> Iterable[tuple[str, str, str]]:
    return (part.partition("=") for part in query.split("&")[:8] if part)


def _is_value(value: str) -> bool:
    return any(map(str.isdecimal, value)) or len(value) > _LONG_WORD or not value


@dataclass(slots=True)
class Shapes:
    """The evidence on the shapes of one site."""

    named: set[str] = field(default_factory=set)
    """Shapes listed by a feed or sitemap."""
    good: Counter[str] = field(default_factory=Counter)
    """Fetched pages that were articles, by shape."""
    bad: Counter[str] = field(default_factory=Counter)
    unlisted: Counter[tuple[str, bool]] = field(default_factory=Counter)
    """Pages that no source listed, fetched in this crawl, by shape and whether they were articles."""

    def name(self, url: str) -> None:
        """Record a URL that a feed or sitemap lists."""
        if len(self.named) < MAX_SHAPES:
            self.named.add(shape_of(url))

    def fetched(self, url: str, *, article: bool, listed: bool = True) -> None:
        """Record whether a page was an article; ``listed``: a feed, sitemap or rule led to it."""
        counter, shape = self.good if article else self.bad, shape_of(url)
        if len(counter) < MAX_SHAPES or shape in counter:
            counter[shape] += 1
            self.unlisted[shape, article] += not listed

    def take(self, articles: Mapping[str, bool], others: Mapping[str, bool]) -> None:
        """Load stored examples: URL -> whether it was fetched. Links that were not fetched are not
        evidence.
        """
        good = Counter(shape_of(url) for url, fetched in articles.items() if fetched)
        bad = Counter(shape_of(url) for url, fetched in others.items() if fetched)
        self.good |= good
        self.bad |= bad
        for url, fetched in articles.items():
            if not fetched:
                self.name(url)

    def has_failed(self, shape: str) -> bool:
        """Return True if links of this shape that no source lists are not articles."""
        good, bad, enough = self.good[shape], self.bad[shape], ENOUGH
        if shape in self.named:
            good, bad, enough = self.unlisted[shape, True], self.unlisted[shape, False], ENOUGH_UNLISTED
        return bad >= enough and good < LEAST_SHARE * (good + bad)

    def is_proven(self, shape: str) -> bool:
        """Return True if pages of this shape are articles."""
        return (shape in self.named or self.good[shape] > 0) and not self.has_failed(shape)

    @property
    def lost(self) -> int:
        """Return the number of pages fetched in vain for shapes that are neither listed nor proven."""
        return sum(
            number
            for shape, number in self.bad.items()
            if shape not in self.named and not self.is_proven(shape)
        )


class ShapesOfAll:
    """Shapes that failed or succeeded on several sites; a shape that failed on many is skipped on the next
    one.
    """

    def __init__(self) -> None:
        self.failed: dict[str, list[str]] = {}
        """Shape -> the first few domains."""
        self.good: dict[str, list[str]] = {}

    def told(self, domain: str, shape: str, *, good: bool) -> None:
        """Record the result of a shape on a site."""
        home = self.good if good else self.failed
        domains = home.setdefault(shape, [])
        if domain not in domains and len(domains) < _MAX_SITES:
            domains.append(domain)
        if len(home) > MAX_SHAPES:
            del home[next(iter(home))]

    def is_hopeless(self, shape: str) -> bool:
        """Return True if a shape failed on many sites and succeeded on none."""
        return len(self.failed.get(shape, ())) >= MANY_SITES and shape not in self.good

    def plain(self) -> dict[str, Any]:
        """Return the shapes as a JSON-able value."""
        return {"failed": self.failed, "good": self.good}

    def merge(self, plain: Mapping[str, Any]) -> None:
        """Add the :meth:`plain` value of another worker or an earlier crawl; unreadable parts are ignored."""
        for name, good in (("failed", False), ("good", True)):
            told = plain.get(name)
            for shape, domains in told.items() if isinstance(told, dict) else ():
                for domain in domains if isinstance(domains, list) else ():
                    self.told(str(domain), str(shape), good=good)
