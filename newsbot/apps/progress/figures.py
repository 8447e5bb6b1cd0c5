"""Computes figures from the stats of a crawl: totals, rates, and a row for each site.

The functions have no side effects. Their input is the dict with Scrapy's stats, with keys of the form
``newsbot/<area>/<what>[/<detail>]``. A stat that is missing or is not a number counts as 0, so that a wrong
stat cannot stop a crawl.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from newsbot.sites.statistics import number

RATE_WINDOW = 60.0
"""Length in seconds of the period from which rates per minute are computed."""
SHOWN_CAUSES = 5
"""Number of causes of errors that :func:`causes` names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """The current totals of a crawl."""

    fetched: int = 0
    new: int = 0
    updated: int = 0
    posts: int = 0
    """New posts. Posts do not count as articles."""
    duplicates: int = 0
    """Articles that were not stored because their site already has the same text under another URL."""
    similar: int = 0
    """Articles stored as members of a story."""
    unchanged: int = 0
    skipped: int = 0
    """Pages that were not fetched because their interval had not passed."""
    errors: Mapping[str, int] = field(default_factory=dict)
    """Number of errors by cause, most frequent first."""
    queue: int | None = None
    waits_for: str = ""
    """Text that says what the crawl is waiting for; empty while there are requests."""
    aside: int = 0
    """URLs that this crawl or an earlier crawl has set aside."""
    useful_share: float | None = None
    """Share of articles among :attr:`pages`; None if there are no pages."""
    pages: int = 0
    """Fetched pages that are not feeds, sitemaps or sections."""
    known: int = 0
    """Links to known URLs."""
    left: Mapping[str, int] = field(default_factory=dict)
    """Number of links that were not followed, by reason, most frequent first."""
    saved: Mapping[str, int] = field(default_factory=dict)
    """Number of bytes that did not have to be sent, by cause: ``unchanged`` (304 responses), ``head``,
    ``compression``."""

    @property
    def articles(self) -> int:
        """Stored articles: new articles and new versions."""
        return self.new + self.updated

    @property
    def failed(self) -> int:
        """Errors of all causes."""
        return sum(self.errors.values())


@dataclass(slots=True, kw_only=True)
class SiteFigures:
    """Totals of one site."""

    site: str
    fetched: int = 0
    pages: int = 0
    """Fetched pages that are not feeds, sitemaps or sections."""
    article_pages: int = 0
    """Pages among :attr:`pages` that contained a new or known article."""
    articles: int = 0
    """New articles stored."""
    updated: int = 0
    duplicates: int = 0
    unchanged: int = 0
    errors: int = 0
    causes: Counter[str] = field(default_factory=Counter)

    @property
    def useful_share(self) -> float | None:
        """Share of articles among :attr:`pages`; None if there are no pages."""
        return share(self.article_pages, self.pages)

    @property
    def top_cause(self) -> str | None:
        """The most frequent cause of errors."""
        return self.causes.most_common(1)[0][0] if self.causes else None


def figures(stats: Mapping[str, Any]) -> Figures:
    """Return the totals of a crawl from its stats."""
    areas: dict[str, Counter[str]] = defaultdict(Counter)
    for key, value in stats.items():
        name, _, rest = key.partition("/")
        if name == "newsbot":
            area, _, detail = rest.partition("/")
            areas[area][detail] += number(value)
    sites = site_figures(stats)
    return Figures(
        fetched=areas["fetched"].total(),
        new=areas["articles"]["new"],
        updated=areas["articles"]["updated"],
        posts=areas["posts"]["new"],
        duplicates=areas["duplicates"]["text"],
        similar=areas["duplicates"]["near"],
        # a stat without a detail has the empty key
        unchanged=areas["unchanged"][""] + areas["articles"]["unchanged"],
        skipped=areas["gated"][""],
        errors=dict(areas["errors"].most_common()),
        aside=areas["queue"]["aside"],
        queue=areas["queue"]["pending"] if "newsbot/queue/pending" in stats else None,
        waits_for=str(stats.get("newsbot/queue/waits_for") or ""),
        useful_share=total(sites).useful_share,
        pages=areas["pages"][""],
        known=areas["links"]["known"],
        left={
            name.removeprefix("rejected/"): count
            for name, count in areas["links"].most_common()
            if name.startswith("rejected/")
        },
        saved=dict(areas["bytes_saved"].most_common()),
    )


def size(count: float) -> str:
    """Return a number of bytes as text, e.g. ``3.4 MB`` (powers of ten)."""
    power = 0
    while count >= 1000 and power < len(_UNITS) - 1:
        count, power = count / 1000, power + 1
    return f"{count:.1f} {_UNITS[power]}" if power and count < 100 else f"{count:.0f} {_UNITS[power]}"


_UNITS = ("bytes", "kB", "MB", "GB", "TB")


def site_figures(stats: Mapping[str, Any]) -> list[SiteFigures]:
    """Return the totals of each site, most articles first. Sites without fetches and errors are left out."""
    sites: dict[str, SiteFigures] = {}
    for key, value in stats.items():
        # e.g. newsbot/site/example.org/pages, newsbot/site/example.org/errors/timeout
        parts = key.split("/", 4)
        if len(parts) < 4 or parts[:2] != ["newsbot", "site"]:
            continue
        site = sites.setdefault(parts[2], SiteFigures(site=parts[2]))
        if len(parts) == 5 and parts[3] == "errors":
            site.causes[parts[4]] += number(value)
        elif len(parts) == 4 and parts[3] in _COUNTED:
            setattr(site, parts[3], number(value))
    busy = [site for site in sites.values() if site.fetched or site.pages or site.errors or site.articles]
    return sorted(busy, key=lambda site: (-site.articles, -site.pages, site.site))


_COUNTED = frozenset(
    ("fetched", "pages", "article_pages", "articles", "updated", "duplicates", "unchanged", "errors")
)


def total(sites: list[SiteFigures]) -> SiteFigures:
    """Return the sum of all sites."""
    result = SiteFigures(site=f"all {len(sites)}")
    for site in sites:
        for name in _COUNTED:
            setattr(result, name, getattr(result, name) + getattr(site, name))
        result.causes += site.causes
    return result


class Rates:
    """Computes rates per minute from totals, over the last :data:`RATE_WINDOW` seconds."""

    def __init__(self) -> None:
        self._seen: deque[tuple[float, Figures]] = deque()

    def per_minute(self, now: float, current: Figures) -> tuple[float, float]:
        """Add the totals at ``now`` (seconds of a monotonic clock). Return pages and articles per minute."""
        self._seen.append((now, current))
        # one entry before the window is kept, so that the rates cover the whole window
        while len(self._seen) > 2 and self._seen[1][0] <= now - RATE_WINDOW:
            self._seen.popleft()
        began, first = self._seen[0]
        if now <= began:
            return 0.0, 0.0
        minutes = (now - began) / 60.0
        return (current.fetched - first.fetched) / minutes, (current.articles - first.articles) / minutes


def share(part: int, whole: int) -> float | None:
    """Return ``part / whole``, at most 1; None if ``whole`` is 0."""
    return min(1.0, part / whole) if whole > 0 else None


def percent(value: float | None) -> str:
    """Return a share as text; ``-`` if it is None. 99.7 % is not rounded up to 100 %."""
    if value is None:
        return "-"
    # int() cuts off decimals. Adding 0.5 rounds the value; near 100 %, 0 is added.
    return f"{int(value * 100 + (0.5 if value < 0.99 else 0))} %"


def causes(now: Figures) -> str:
    """Return the most frequent causes of errors, e.g. ``timeout 8, dns 2, others 3``."""
    named = list(now.errors.items())
    words = [f"{cause} {count}" for cause, count in named[:SHOWN_CAUSES]]
    others = sum(count for _, count in named[SHOWN_CAUSES:])
    return ", ".join([*words, f"others {others}"] if others else words)


def duration(seconds: float) -> str:
    """Return a duration as ``h:mm:ss``."""
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{rest:02}"
