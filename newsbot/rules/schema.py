"""The rule of one site, as data. :mod:`newsbot.rules.load` loads and checks the files."""

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

TLS = Literal["verify", "ignore"]
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
"""The recrawl policies that each kind of page allows; the first is the default."""

RECHECK = (3 * 3600.0, 9 * 3600.0, 24 * 3600.0, 50 * 3600.0, 96 * 3600.0, 7 * 86400.0)
"""Ages of articles in seconds at which they are fetched again by default."""

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
    """A regular expression that is searched in the path and query of a URL; it is not anchored."""

    text: str
    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.text} ({self.file}:{self.line})"


@dataclass(frozen=True, slots=True)
class Selector:
    """One alternative for a field: CSS or XPath as written, and the XPath that runs.

    An XPath that ends in ``@attribute`` or ``text()``, or a CSS selector with ``::attr(x)`` or ``::text``,
    gives strings. Others give elements.
    """

    text: str
    xpath: str


@dataclass(frozen=True, slots=True)
class Layout:
    """How to read pages of a site from ``valid_from`` on (by publication date, else by today's date)."""

    valid_from: date | None = None
    extract: Mapping[str, tuple[Selector, ...]] = field(default_factory=lambda: MappingProxyType({}))
    remove: tuple[Selector, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """The rule of one site; ``domain`` covers its subdomains unless they have rules of their own."""

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
    """Seconds before a page of that kind is fetched again; ``_defaults.yaml`` has a value for every kind."""
    recrawl: Mapping[Kind, Recrawl] = field(default_factory=lambda: MappingProxyType({}))
    """How the next visit of a page of that kind is scheduled."""
    recheck: tuple[float, ...] = RECHECK
    """Seconds after the discovery of an article at which it is fetched again, for ``ladder``."""
    head: tuple[Kind, ...] = ()
    """Kinds of pages that are requested by HEAD first if they are known."""
    delay: float = 1.0
    concurrency: int = 1
    tls: TLS = "verify"
    """How an invalid certificate is handled."""
    render: bool | None = None
    """Whether pages are read after their scripts have run; None: as NEWSBOT_RENDER says."""
    language: str | None = None
    timezone: str | None = None
    layouts: tuple[Layout, ...] = ()
    """Newest ``valid_from`` first; ``extract`` and ``remove`` at the top of the file are the last one."""
    learn: bool | None = None
    follow: tuple[Follow, ...] | None = None
    """None: all links that the site offers."""
    tags: tuple[str, ...] = ()
    """Collections that contain the site: short lower-case words."""
    notes: str = ""
    patterns: PatternSet = field(init=False, repr=False, compare=False)
    """All patterns, in the order deny, article, section."""

    def __post_init__(self) -> None:
        texts = tuple(pattern.text for pattern in (*self.deny, *self.article, *self.section))
        object.__setattr__(self, "patterns", pattern_set(texts))

    @property
    def has_sources(self) -> bool:
        """True if the file lists feeds, sitemaps or sections, so that none have to be discovered."""
        return bool(self.feeds or self.sitemaps or self.sections)
