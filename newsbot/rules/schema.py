"""The types for the rule of one site. :mod:`newsbot.rules.load` creates them from files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from types import MappingProxyType
from typing import Literal

from newsbot.items import Kind
from newsbot.rules.regexes import PatternSet, pattern_set

# Kinds of sources whose links may be followed.
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
"""The policies by which pages of each kind may be fetched again. The first one is the default."""

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
"""Fields of an article for which ``extract`` may have selectors."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """A regular expression that is searched anywhere in the path and query of a URL."""

    text: str
    file: str
    """Name of the rule file that contains the pattern."""
    line: int
    """Line in this file, from 1."""

    def __str__(self) -> str:
        return f"{self.text} ({self.file}:{self.line})"


@dataclass(frozen=True, slots=True)
class Selector:
    """One of the selectors for a field: a CSS selector or an XPath.

    An XPath that ends in ``@attribute`` or ``text()``, or a CSS selector with ``::attr(x)`` or ``::text``,
    selects strings. Other selectors select elements.
    """

    text: str
    """The selector as it is written in the file."""
    xpath: str
    """The equivalent XPath, which is executed."""


@dataclass(frozen=True, slots=True)
class Layout:
    """The selectors for pages of a site from the day ``valid_from`` on.

    ``valid_from`` is compared with the publication date of the page, or with the current day if the date is
    unknown. It is None for the layout that applies to all earlier pages.
    """

    valid_from: date | None = None
    extract: Mapping[str, tuple[Selector, ...]] = field(default_factory=lambda: MappingProxyType({}))
    remove: tuple[Selector, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """The rule of one site. It applies to ``domain`` and to its subdomains without rules of their own.

    docs/rules.md describes the keys.
    """

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
    """Seconds before a page of that kind is fetched again. Loaded rules have a value for every kind."""
    recrawl: Mapping[Kind, Recrawl] = field(default_factory=lambda: MappingProxyType({}))
    """The policy that schedules the next visit of a page of that kind."""
    recheck: tuple[float, ...] = RECHECK
    """Seconds after the discovery of an article at which the policy ``ladder`` fetches it again."""
    head: tuple[Kind, ...] = ()
    """Kinds of pages that are first requested with HEAD if they were fetched before."""
    delay: float = 1.0
    """Seconds between two requests to a host."""
    concurrency: int = 1
    """Maximum number of simultaneous requests to a host."""
    tls: TLS = "verify"
    """How an invalid certificate is handled."""
    render: bool | None = None
    """Whether a browser loads the pages and runs their scripts. None: the setting NEWSBOT_RENDER decides."""
    language: str | None = None
    timezone: str | None = None
    layouts: tuple[Layout, ...] = ()
    """The layouts, newest ``valid_from`` first.

    The last one has the keys ``extract`` and ``remove`` from the top level of the file.
    """
    learn: bool | None = None
    """Whether the forms of article URLs are learned. None: only if the rule has no article patterns."""
    follow: tuple[Follow, ...] | None = None
    """Sources whose links are followed. None: all sources that the site offers."""
    tags: tuple[str, ...] = ()
    """Collections that contain the site: short lower-case words."""
    notes: str = ""
    patterns: PatternSet = field(init=False, repr=False, compare=False)
    """All patterns of the rule, compiled together, in the order deny, article, section."""

    def __post_init__(self) -> None:
        texts = tuple(pattern.text for pattern in (*self.deny, *self.article, *self.section))
        # The usual way to set a field of a frozen dataclass after __init__.
        object.__setattr__(self, "patterns", pattern_set(texts))

    @property
    def has_sources(self) -> bool:
        """True if the file lists feeds, sitemaps or sections, so that no sources have to be discovered."""
        return bool(self.feeds or self.sitemaps or self.sections)
