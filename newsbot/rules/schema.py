"""The rule of one site, as data. Loading and checking files is in :mod:`newsbot.rules.load`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from types import MappingProxyType
from typing import Literal

from newsbot.items import Kind
from newsbot.rules.regexes import PatternSet, pattern_set

Follow = Literal["feeds", "sitemaps", "sections", "links"]
FOLLOW: tuple[Follow, ...] = ("feeds", "sitemaps", "sections", "links")

Recrawl = Literal["index", "ladder", "optimum", "nutch", "fixed", "off"]
RECRAWL: Mapping[Kind, tuple[Recrawl, ...]] = MappingProxyType(
    {
        Kind.FEED: ("index", "fixed"),
        Kind.SITEMAP: ("index", "fixed"),
        Kind.SECTION: ("index", "fixed"),
        Kind.ARTICLE: ("ladder", "optimum", "nutch", "fixed", "off"),
        Kind.OTHER: ("fixed", "optimum", "nutch", "off"),
    }
)
"""What each kind of page may be planned by; the first is what holds where no rule says it."""

RECHECK = (3 * 3600.0, 9 * 3600.0, 24 * 3600.0, 50 * 3600.0, 96 * 3600.0, 7 * 86400.0)
"""Ages of articles at which they are looked at again where no rule says otherwise."""

FIELDS = (
    "title",
    "text",
    "summary",
    "authors",
    "published_at",
    "modified_at",
    "language",
    "section",
    "tags",
    "image",
    "canonical_url",
    "next_page",
)
"""Fields that ``extract`` may name."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """A regular expression over path and query of a URL, searched, not anchored by itself."""

    text: str
    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.text} ({self.file}:{self.line})"


@dataclass(frozen=True, slots=True)
class Selector:
    """One alternative for a field: CSS or XPath as written, and the XPath that is run.

    An XPath that ends in ``@attribute`` or ``text()``, or a CSS with ``::attr(x)`` or ``::text``,
    gives strings; others give elements.
    """

    text: str
    xpath: str


@dataclass(frozen=True, slots=True)
class Layout:
    """How pages of a site are read from ``valid_from`` on (by publication date, else by today)."""

    valid_from: date | None = None
    extract: Mapping[str, tuple[Selector, ...]] = field(default_factory=lambda: MappingProxyType({}))
    remove: tuple[Selector, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One site. ``domain`` covers its subdomains unless these have a rule of their own."""

    domain: str
    file: str = "(built in)"
    seeds: tuple[str, ...] = ()
    feeds: tuple[str, ...] = ()
    sitemaps: tuple[str, ...] = ()
    sections: tuple[str, ...] = ()
    article: tuple[Pattern, ...] = ()
    section: tuple[Pattern, ...] = ()
    deny: tuple[Pattern, ...] = ()
    drop_query: tuple[str, ...] = ()
    max_depth: int = 5
    interval: Mapping[Kind, float] = field(default_factory=lambda: MappingProxyType({}))
    """Seconds before a page of that kind is touched again; ``_defaults.yaml`` gives every kind."""
    recrawl: Mapping[Kind, Recrawl] = field(default_factory=lambda: MappingProxyType({}))
    """How the next visit of a page of that kind is planned."""
    recheck: tuple[float, ...] = RECHECK
    """Seconds from when an article was first heard of to the looks at it, for ``ladder``."""
    head: tuple[Kind, ...] = ()
    """Kinds of pages that are asked for by HEAD first when they are known already."""
    delay: float = 1.0
    concurrency: int = 1
    language: str | None = None
    timezone: str | None = None
    layouts: tuple[Layout, ...] = ()
    """Newest ``valid_from`` first; ``extract`` and ``remove`` at the top of the file are the last one."""
    learn: bool | None = None
    follow: tuple[Follow, ...] | None = None
    """None: whatever the site offers."""
    notes: str = ""
    patterns: PatternSet = field(init=False, repr=False, compare=False)
    """All patterns, in the order deny, article, section."""

    def __post_init__(self) -> None:
        texts = tuple(pattern.text for pattern in (*self.deny, *self.article, *self.section))
        object.__setattr__(self, "patterns", pattern_set(texts))

    @property
    def has_sources(self) -> bool:
        """True when the file names feeds, sitemaps or sections, so that none have to be found."""
        return bool(self.feeds or self.sitemaps or self.sections)
