"""The data types of newsbot: links, page records, articles, and the reasons and events in their history."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, Literal, TypedDict

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


class Reason(StrEnum):
    """Why something was done or left: tokens that the crawl compares, as data, stats and records have them.

    Other tokens exist that nobody compares, such as ``http_503`` or ``feed_empty``. Sentences are made where
    people read them (:mod:`newsbot.operations.explain_text`).
    """

    # why a URL was queued, or was marked as done without a visit
    ALIAS = "alias"
    """Another address of a fetched page."""
    CLAIMED = "claimed"
    """A fetched page calls it its canonical address."""
    DOUBTED = "doubted"
    """So did another page; it is read all the same."""
    DUE_AGAIN = "due_again"
    EXPLORED = "explored"
    """An unlikely link, fetched to see whether the judgement is right."""
    IMPORTED = "imported"
    LIKELY_ARTICLE = "likely_article"
    LIST = "list"
    """A list that nobody vouches for: it is fetched only while such lists lead to articles."""
    RULE = "rule"
    SAME_HEADLINE = "same_headline"
    """The site has listed its headline under another address."""
    UNRANKED = "unranked"
    # why a link is not followed
    BARREN_LIST = "barren_list"
    FRONT_PAGE = "front_page"
    NOT_FOLLOWED = "not_followed"
    NOT_IN_RULE = "not_in_rule"
    OFFSITE = "offsite"
    TOO_DEEP = "too_deep"
    TOO_OLD = "too_old"
    UNLIKELY_ARTICLE = "unlikely_article"
    UNLIKELY_LIST = "unlikely_list"
    # why a visit gave nothing to read
    BAD_URL = "bad_url"
    CONNECTION = "connection"
    DENIED = "denied"
    DNS = "dns"
    HTTP_404 = "http_404"
    HTTP_410 = "http_410"
    IGNORED = "ignored"
    LIMIT = "limit"
    """The crawl has all the articles that it may take of the site."""
    NO_ARTICLE = "no_article"
    NOTHING_THERE = "nothing_there"
    """A usual place of feeds gives a feed or sitemap without links."""
    OURS = "ours"
    """A fault of newsbot or of its data."""
    PRIVATE_ADDRESS = "private_address"
    PROXY = "proxy"
    REDIRECT_KNOWN = "redirect_known"
    REDIRECTS = "redirects"
    REFUSED = "refused"
    REMOVED = "removed"
    """Somebody has taken it out (``scrapy remove``)."""
    ROBOTS = "robots"
    ROBOTS_FAILING = "robots_failing"
    ROBOTS_UNREACHABLE = "robots_unreachable"
    SAME_PAGE = "same_page"
    """It differs from a known page in a session's id only."""
    SCHEME = "scheme"
    TIMEOUT = "timeout"
    TLS = "tls"
    TOO_LARGE = "too_large"
    TOO_YOUNG = "too_young"
    """Its interval has not passed since the last visit."""
    UNNAMED = "unnamed"
    """A source that no rule names any more."""
    # why an article was not stored
    SAME_TEXT = "same_text"
    UNCHANGED = "unchanged"


class EventKind(StrEnum):
    """What happened to a page: the name of an event in its history."""

    DISCOVERED = "discovered"
    FETCHED = "fetched"
    HEAD = "head"
    REDIRECT = "redirect"
    HOST_RESTS = "host_rests"
    NO_PAGE = "no_page"
    UNREADABLE = "unreadable"
    NOFOLLOW = "nofollow"
    LINKS_CUT = "links_cut"
    FEED_PROBLEMS = "feed_problems"
    SITEMAPS_LEFT = "sitemaps_left"
    MOVED = "moved"
    NOT_AN_ARTICLE = "not_an_article"
    PAGES_JOINED = "pages_joined"
    STORED = "stored"
    DROPPED = "dropped"
    FAULT = "fault"
    LIST = "list"
    """A list under trial has shown what it leads to."""
    GUESSED = "guessed"
    CANONICAL = "canonical"
    RETRY = "retry"
    PLANNED = "planned"
    """The end of a visit."""
    IMPORTED = "imported"


class Details(TypedDict, total=False):
    """What an event says besides its time and kind; each kind has some of these."""

    where: str
    """Discovered: where the link was found, a :class:`Where`."""
    referrer: str | None
    why: str
    """Discovered: a :class:`Reason` or :class:`Where`, after a colon a detail. Planned: a sentence."""
    published_at: str
    ruled: bool
    status: int
    bytes: int
    unchanged: bool
    to: str
    host: str
    seconds: float
    cause: str
    text: str
    kept: int
    problems: list[str]
    left: int
    old: int
    of: int
    reason: str
    pages: int
    fault: str
    version: int | None
    error: str
    fruitful: bool
    absent: str
    believed: bool
    after: float
    attempt: int
    next_due: float | None
    changed: bool | None
    file: str


class Event(Details):
    """An event as it is stored, in JSON."""

    at: float
    """POSIX seconds."""
    event: str
    """An :class:`EventKind`."""


_SENTENCES = {
    "another address of a fetched page": Reason.ALIAS,
    "named as canonical by a fetched page": Reason.CLAIMED,
    "named as canonical by another page": Reason.DOUBTED,
    "due again": Reason.DUE_AGAIN,
}
"""Reasons as they were stored until November 2026."""
_SAME_HEADLINE = "same headline as "


def read_reason(stored: str | None) -> tuple[str, str]:
    """Return the token and the detail of a stored reason, also of one that an earlier version stored."""
    stored = stored or ""
    if stored in _SENTENCES:
        return _SENTENCES[stored], ""
    if stored.startswith(_SAME_HEADLINE):
        return Reason.SAME_HEADLINE, stored.removeprefix(_SAME_HEADLINE).removeprefix("under another address")
    token, _, detail = stored.partition(":")
    return token, detail


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
    history: list[Event] = field(default_factory=list)
    """The last events, oldest first. Bounded by storage."""

    def last(self, kind: EventKind) -> Event | None:
        """Return the last event of a kind."""
        return next((event for event in reversed(self.history) if event.get("event") == kind), None)


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
