"""What flows through newsbot: links that were found, pages that are known, articles that are kept."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, Literal

from newsbot.clock import iso

Precision = Literal["second", "minute", "day"]
Form = Literal["article", "live", "gallery"]


class Kind(StrEnum):
    """What a URL is expected to be."""

    FEED = "feed"
    SITEMAP = "sitemap"
    SECTION = "section"
    ARTICLE = "article"
    OTHER = "other"

    @property
    def is_source(self) -> bool:
        """True for kinds that are read for their links."""
        return self in (Kind.FEED, Kind.SITEMAP, Kind.SECTION)


class Where(StrEnum):
    """Where a link was found: the evidence that ranking weighs."""

    SEED = "seed"
    FEED = "feed"
    NEWS_SITEMAP = "news_sitemap"
    SITEMAP = "sitemap"
    BODY = "body"
    NAVIGATION = "navigation"
    AUTODISCOVERY = "autodiscovery"
    GUESS = "guess"
    """A usual place of feeds and sitemaps, of which nobody said that it is there."""
    ARGUMENT = "argument"
    REDIRECT = "redirect"
    PUSH = "push"


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """One link as a source gave it. ``url`` is absolute and as the site wrote it."""

    url: str
    where: Where
    kind: Kind | None = None
    text: str | None = None
    """Anchor text or the item's title."""
    lead: str | None = None
    """How what a feed writes below the title begins, as one line without markup; it is compared, not kept."""
    published_at: datetime | None = None
    modified_at: datetime | None = None


@dataclass(slots=True, kw_only=True)
class PageRecord:
    """What is known of one URL. Times are POSIX seconds."""

    url: str
    fingerprint: bytes
    host: str
    source: str
    kind: Kind
    state: Literal["pending", "leased", "done", "gone", "failed"] = "pending"
    http_status: int | None = None
    content_type: str | None = None
    content_length: int | None = None
    server: str | None = None
    etag: str | None = None
    last_modified: str | None = None
    content_hash: str | None = None
    referrers: list[str] = field(default_factory=list)
    referrer_count: int = 0
    links_count: int | None = None
    depth: int = 0
    first_seen: float = 0.0
    last_fetched: float | None = None
    last_full_fetch: float | None = None
    """The last time a body came (not a 304)."""
    next_due: float | None = None
    checks: int = 0
    changes: int = 0
    failures: int = 0
    """Failures in a row; 0 after a success."""
    history: list[dict[str, Any]] = field(default_factory=list)
    """The last events, oldest first: ``{"at": seconds, "event": name, …}``. Bounded by storage."""


TIME = {"serializer": iso}


@dataclass(slots=True, kw_only=True)
class Article:
    """One article: the Scrapy item, the stored document and the export row.

    Times are aware; ``published_at`` and ``modified_at`` keep the offset of the page, rows are in UTC.
    """

    url: str
    canonical_url: str
    source: str
    """The domain of the rule, or the registered domain for sites without one."""
    title: str
    text: str
    summary: str | None = None
    authors: list[str] = field(default_factory=list)
    agencies: list[str] = field(default_factory=list)
    """News agencies that the page names as author or source; those of the byline are in ``authors`` too."""
    published_at: datetime | None = field(default=None, metadata=TIME)
    published_source: str | None = None
    published_precision: Precision | None = None
    modified_at: datetime | None = field(default=None, metadata=TIME)
    language: str | None = None
    section: str | None = None
    tags: list[str] = field(default_factory=list)
    image: str | None = None
    structure: dict[str, list[int]] = field(default_factory=dict)
    """Which lines of ``text`` (from 0) are no plain paragraphs, by kind: heading, quote, item, cell."""
    form: Form = "article"
    """What the text is: one story, a live blog, or a gallery of pictures with captions."""
    partial: bool = False
    """True for a teaser: the rest is for subscribers."""
    discovered_at: datetime | None = field(default=None, metadata=TIME)
    fetched_at: datetime | None = field(default=None, metadata=TIME)
    content_hash: str = ""
    """Hexadecimal key of the normalised text (see :mod:`newsbot.dedup.minhash`)."""
    story: str | None = None
    """Id of the cluster of articles that tell the same in nearly the same words."""
    relation: str | None = None
    """What it was to its story when it came: new, member, revision or derived (newsbot/dedup/decision.py)."""
    similarity: float | None = None
    """To the nearest article of the story, 0 to 1."""
    duplicate_of: str | None = None
    """Canonical URL of the article of the source that this one nearly equals."""
    derived_from: str | None = None
    """Canonical URL of an article of another story: the shorter of the two texts is mostly in the other."""
    version: int = 1
    rights: dict[str, str] = field(default_factory=dict)
    """What the site reserves, and which place says so (:mod:`newsbot.rights`), e.g. ``{"noai": "meta"}``."""
    extraction: dict[str, str] = field(default_factory=dict)
    """Which method gave which field, e.g. ``{"title": "json-ld"}``."""

    def as_row(self) -> dict[str, Any]:
        """Return the article as a JSON-able mapping, times as ISO 8601 with ``Z``."""
        row = asdict(self)
        return {key: iso(value) if isinstance(value, datetime) else value for key, value in row.items()}
