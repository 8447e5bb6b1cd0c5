"""The data of a feed, and the conversion of its items to links, for all formats."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, tzinfo
from typing import Literal
from urllib.parse import urlsplit

from newsbot.discovery.dates import parse_date
from newsbot.discovery.xml_events import unescape
from newsbot.items import Kind, Link, Where
from newsbot.urls import absolute

MAX_ITEMS = 5000
"""Maximum number of items that are read from a feed. The first items are usually the newest."""
MAX_HUBS = 10
MAX_TTL = 7 * 86400.0
"""Maximum seconds for which a feed may ask not to be polled. Longer times are ignored."""
_MAX_TITLE = 500
_MAX_LEAD = 300
_MAX_AUTHOR = 200
MAX_AUTHORS = 10
MAX_RAW_LEAD = 4_000
"""Maximum number of characters, including markup, that are read for the lead of an item. The lead is the text
below its title."""

# also control characters, the no-break space, the zero-width space and the byte order mark
_BLANKS = re.compile(r"[\s\x00-\x1f\x7f\xa0\u200b\ufeff]+")
_MARKUP = re.compile(r"</?[A-Za-z][A-Za-z0-9:-]{0,20}(?:\s[^<>]{0,2000})?/?>|<!--.{0,2000}?-->", re.DOTALL)
"""Tags and comments. A "<" in a title that is not part of one is kept."""
# jane@example.org (Jane Doe)
_MAILED = re.compile(r"[^\s()]{1,200}@[^\s()]{1,200}\s?\(([^()]{1,100})\)")
_BREAKS = re.compile(r"</?(?:br|p|div|li)\b", re.IGNORECASE)
"""Tags that separate words. Other tags, such as ``<b>``, may be inside a word."""


class SourceError(ValueError):
    """Raised if a body is not a source of the expected kind; ``reason`` is a token."""

    def __init__(self, reason: Literal["empty", "html", "not_a_feed", "not_a_sitemap"]) -> None:
        super().__init__(reason)
        self.reason = reason


class FeedError(SourceError):
    """Raised if a body is not a feed. :attr:`Feed.problems` counts other faults."""


@dataclass(frozen=True, slots=True)
class Hub:
    """A service that announces changes of a feed: a WebSub hub or an rssCloud."""

    url: str
    protocol: Literal["websub", "rsscloud"]


@dataclass(slots=True, kw_only=True)
class Feed:
    """The content of one feed."""

    links: list[Link] = field(default_factory=list)
    """The items in the feed's order, each URL once. The ``text`` of a link is the item's title."""
    title: str | None = None
    site_url: str | None = None
    ttl: float | None = None
    """Seconds after a poll during which the feed asks not to be polled again."""
    update_period: float | None = None
    """The update interval in seconds that the feed declares (``sy:updatePeriod``)."""
    skip_hours: frozenset[int] = frozenset()
    """Hours of the day (UTC) in which the feed asks not to be polled."""
    hubs: list[Hub] = field(default_factory=list)
    self_url: str | None = None
    next_url: str | None = None
    """URL of the page with older items (RFC 5005)."""
    problems: list[str] = field(default_factory=list)
    """Counted faults, e.g. ``bad_date:3``. Tokens: malformed, cut_off, too_long, leading_junk,
    trailing_junk, bad_date, item_without_link, bad_link, duplicate_item, too_many_items, no_items."""


@dataclass(slots=True)
class RawItem:
    """An item as the feed contains it."""

    addresses: list[tuple[str, str | None]]
    """Pairs (href, base of relative URLs), the most reliable first."""
    title: str | None
    published: Iterable[str]
    modified: Iterable[str]
    lead: str = ""
    """The text below the title, with its markup."""
    authors: Iterable[str] = ()


class SourceCollector:
    """Collects the links of a source: parses dates and counts faults."""

    def __init__(self, url: str, now: datetime, zone: tzinfo, problems: Iterable[str] = ()) -> None:
        self._url = url
        self._now = now
        self._zone = zone
        self._problems = Counter(problems)
        self._links: dict[str, Link] = {}
        self.language = ""
        """The language that the source declares (BCP 47)."""

    def problem(self, token: str, count: int = 1) -> None:
        """Count a fault."""
        if count > 0:
            self._problems[token] += count

    def problems(self) -> list[str]:
        """Return the faults with their numbers, e.g. ``bad_date:3``."""
        return [f"{token}:{count}" for token, count in self._problems.items()]

    def date(self, texts: Iterable[str]) -> datetime | None:
        """Return the first time in ``texts``. If none of them can be parsed, this is a fault."""
        written = False
        for text in texts:
            if not text:
                continue
            moment = parse_date(text, now=self._now, zone=self._zone, language=self.language)
            if moment:
                return moment
            written = written or bool(text.strip())
        if written:
            self.problem("bad_date")
        return None


class Collector(SourceCollector):
    """Collects the items of a feed: resolves URLs, parses dates, merges duplicates, counts faults."""

    def __init__(self, url: str, now: datetime, zone: tzinfo, problems: Iterable[str] = ()) -> None:
        super().__init__(url, now, zone, problems)
        self.feed = Feed()
        self._items = 0
        self._hubs: dict[str, Hub] = {}
        self.base = url

    @property
    def full(self) -> bool:
        """True if no more items are accepted."""
        return self._items >= MAX_ITEMS

    def resolve(self, href: str, base: str | None = None) -> str | None:
        """Return ``href`` as an absolute URL, or None if it is not an http(s) URL."""
        return absolute(base or self.base, href)

    def add_hub(self, href: str, protocol: Literal["websub", "rsscloud"] = "websub") -> None:
        """Add a hub, at most :data:`MAX_HUBS` in all."""
        hub = self.resolve(href)
        if hub and len(self._hubs) < MAX_HUBS:
            self._hubs.setdefault(hub, Hub(hub, protocol))

    def set_ttl(self, seconds: float) -> None:
        """Set the seconds for which the feed asks not to be polled.

        The first value that is above 0 and at most :data:`MAX_TTL` is kept.
        """
        if 0 < seconds <= MAX_TTL and self.feed.ttl is None:
            self.feed.ttl = seconds

    def set_title(self, text: str) -> None:
        """Set the feed's title. The first title that is not empty is kept."""
        self.feed.title = self.feed.title or clean_title(text)

    def add(self, item: RawItem) -> None:
        """Convert an item to a link, or count the fault if it has no usable URL."""
        self._items += 1  # items without a link count too, because the limit must bound the work
        address = self._address(item)
        if address is None:
            return
        if address in self._links:
            self.problem("duplicate_item")
            return
        self._links[address] = Link(
            url=address,
            where=Where.FEED,
            kind=Kind.ARTICLE,
            text=clean_title(item.title or ""),
            lead=clean_lead(item.lead),
            published_at=self.date(item.published),
            modified_at=self.date(item.modified),
            authors=tuple(dict.fromkeys(name for text in item.authors if (name := clean_author(text)))),
        )

    def collected(self) -> Feed:
        """Return the feed with the items, hubs and faults that were found."""
        if not self._links:
            self.problem("no_items")
        self.feed.links, self.feed.hubs = list(self._links.values()), list(self._hubs.values())
        self.feed.problems = self.problems()
        return self.feed

    def _address(self, item: RawItem) -> str | None:
        if not item.addresses:
            self.problem("item_without_link")
            return None
        for href, base in item.addresses:
            address = absolute(base or self._item_base(), href)
            if address:
                return address
        self.problem("bad_link")
        return None

    def _item_base(self) -> str:
        """Return the base of relative links of items.

        In a feed on another host, such as FeedBurner, they are relative to the site that the feed is about.
        """
        site_url = self.feed.site_url
        if self.base == self._url and site_url and _host(site_url) != _host(self._url):
            return site_url
        return self.base


def clean_title(text: str) -> str | None:
    """Return a title as one line of plain text, with markup and entities resolved."""
    # The markup is removed before entities are resolved. An escaped "&lt;b&gt;" is text and not a tag.
    if "<" in text:
        text = _MARKUP.sub(_in_place_of, text)
    return _BLANKS.sub(" ", unescape(text)).strip()[:_MAX_TITLE].strip() or None


def clean_author(text: str) -> str | None:
    """Return an author's name as one line. For ``jane@example.org (Jane Doe)``, as in RSS, it is Jane Doe."""
    named = _MAILED.fullmatch(text.strip())
    return clean_title(named[1] if named else text[:_MAX_AUTHOR])


def clean_lead(text: str) -> str | None:
    """Return the start of the text below a title, as one line of plain text; None if there is none."""
    cleaned = clean_title(text)
    return cleaned[:_MAX_LEAD].strip() if cleaned else None


def _in_place_of(tag: re.Match[str]) -> str:
    return " " if _BREAKS.match(tag[0]) else ""


def _host(url: str) -> str | None:
    try:
        return urlsplit(url).hostname
    except ValueError:
        return None
