"""Reads feeds: RSS 0.9x to 2.0, RDF (RSS 1.0), Atom 0.3 and 1.0, JSON Feed.

One parser (:class:`FeedHandler`) reads RSS, RDF and Atom, because real feeds mix these formats. It is a small
state machine without a stack. It is either inside an item or outside of all items. In addition, it may
capture the text of one element or skip one element. Therefore deep or wrong nesting cannot cause errors.
Feeds that are cut off or broken are read as far as possible.

Sources: https://www.rssboard.org/rss-specification, https://web.resource.org/rss/1.0/spec, RFC 4287 (Atom),
RFC 5005 (paging), https://www.w3.org/TR/websub/, https://www.jsonfeed.org/version/1.1/.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from html import escape
from itertools import islice
from typing import Any, Literal
from urllib.parse import urlsplit

from w3lib.encoding import http_content_type_encoding

from newsbot.clock import system_clock, utc
from newsbot.items import Kind, Link, Medium, Where
from newsbot.pages.discovery.dates import SiteDates, has_two_readings, parse_date
from newsbot.pages.discovery.xml_events import Enough, Handler, pieces, read, unescape
from newsbot.pages.extraction.fields.details import MAX_MEDIA, listed, medium
from newsbot.pages.text.codings import decode, gunzip
from newsbot.pages.text.words import squash, untagged
from newsbot.urls import absolute

# --- the data of a feed, and the conversion of its items to links, for all formats

MAX_ITEMS = 5000
"""Maximum number of items that are read from a feed. The first items are usually the newest."""
MAX_HUBS = 10
MAX_TTL = 7 * 86400.0
"""The longest time without polls that a feed may ask for, in seconds. Longer times are ignored."""
_MAX_TITLE = 500
_MAX_AUTHOR = 200
MAX_AUTHORS = 10
_MAX_CONTENT = 200_000
"""Maximum number of characters, including markup, that are read for the full text of an item."""
MAX_CONTENTS = 4_000_000
"""Maximum number of characters of the full texts of one feed."""

# jane@example.org (Jane Doe)
_MAILED = re.compile(r"[^\s()]{1,200}@[^\s()]{1,200}\s?\(([^()]{1,100})\)")


class SourceError(ValueError):
    """Raised if a body is not a source of the expected kind. ``reason`` is a short fixed word."""

    def __init__(self, reason: Literal["empty", "html", "not_a_feed", "not_a_sitemap", "no_posts"]) -> None:
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
    """The feed asks not to be polled again for this number of seconds after a poll."""
    update_period: float | None = None
    """The update interval in seconds that the feed declares (``sy:updatePeriod``)."""
    skip_hours: frozenset[int] = frozenset()
    """Hours of the day (UTC) that the feed excludes from polling."""
    hubs: list[Hub] = field(default_factory=list)
    self_url: str | None = None
    next_url: str | None = None
    """URL of the page with older items (RFC 5005)."""
    problems: list[str] = field(default_factory=list)
    """Faults with the number of times they occurred, e.g. ``bad_date:3``.

    The names are malformed, cut_off, too_long, leading_junk, trailing_junk, bad_date, item_without_link,
    bad_link, duplicate_item, too_many_items, one_date and no_items.
    """


_ONE_DATE = 5
"""Minimum number of items with one and the same time that make this time doubtful."""


class SourceCollector:
    """Collects the links of a source: parses dates and counts faults."""

    def __init__(self, url: str, now: datetime, dates: SiteDates, problems: Iterable[str] = ()) -> None:
        self._url = url
        self._now = now
        self._dates = dates
        self._problems = Counter(problems)
        self._links: dict[str, Link] = {}
        self.language = ""
        """The language that the source declares (BCP 47)."""
        self._host = _host(url) or ""
        self._two_readings: list[tuple[str, str, str]] = []

    def problem(self, token: str, count: int = 1) -> None:
        """Count a fault."""
        if count > 0:
            self._problems[token] += count

    def problems(self) -> list[str]:
        """Return the faults with the number of times they occurred, e.g. ``bad_date:3``."""
        return [f"{token}:{count}" for token, count in self._problems.items()]

    def date(self, texts: Iterable[str], address: str = "", field: str = "") -> datetime | None:
        """Return the first time in ``texts``. If no text can be parsed, a fault is counted.

        ``address`` is the URL of the link to which the time belongs, and ``field`` is the name of its field.
        If day and month of the time cannot be told apart, it is set at the end (:meth:`settle`).
        """
        written = False
        for text in texts:
            if not text:
                continue
            if two := address and has_two_readings(text):
                self._two_readings.append((address, field, text))
            moment = self._parsed(text)
            if moment:
                return moment
            if two:  # another form of the date is probably not a better one
                break
            written = written or bool(text.strip())
        if written:
            self.problem("bad_date")
        return None

    def settle(self) -> None:
        """Set the order of day and month from all dates of the source, and read these dates again.

        If they do not show the order, it is that of the site's articles.
        """
        if not self._two_readings:
            return
        from newsbot.pages.extraction.fields.moments import order_in  # noqa: PLC0415

        order = order_in(text for _, _, text in self._two_readings)
        for address, name, text in self._two_readings:
            link = self._links.get(address)
            moment = self._parsed(text, order)
            if link is not None and moment is not None:
                self._links[address] = replace(link, **{name: moment})  # type: ignore[arg-type]
            elif link is not None:
                self.problem("bad_date")

    def _parsed(self, text: str, order: bool | None = None) -> datetime | None:
        return parse_date(
            text,
            now=self._now,
            zone=self._dates.zone,
            language=self.language,
            host=self._host,
            month_first=self._dates.month_first if order is None else order,
        )


class _Collector(SourceCollector):
    """Collects the items of a feed: resolves URLs, parses dates, merges duplicates, counts faults."""

    def __init__(
        self, url: str, now: datetime, dates: SiteDates, problems: Iterable[str] = (), *, markup: bool = False
    ) -> None:
        super().__init__(url, now, dates, problems)
        self.markup = markup
        """True if the full texts of items are read, with their markup."""
        self.contents: dict[str, str] = {}
        """URL of an item -> its full text as HTML."""
        self.feed = Feed()
        self._items = self._size = 0
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
        """Add a hub, unless there are already :data:`MAX_HUBS` hubs."""
        hub = self.resolve(href)
        if hub and len(self._hubs) < MAX_HUBS:
            self._hubs.setdefault(hub, Hub(hub, protocol))

    def set_ttl(self, seconds: float) -> None:
        """Set for how many seconds after a poll the feed asks not to be polled again.

        The first value that is above 0 and at most :data:`MAX_TTL` is kept.
        """
        if 0 < seconds <= MAX_TTL and self.feed.ttl is None:
            self.feed.ttl = seconds

    def set_title(self, text: str) -> None:
        """Set the feed's title. The first title that is not empty is kept."""
        self.feed.title = self.feed.title or clean_title(text)

    def add(
        self,
        addresses: Sequence[tuple[str, str | None]],
        *,
        title: str,
        published: Iterable[str],
        modified: Iterable[str],
        authors: Iterable[str],
        content: str = "",
        plain: bool = False,
        media: Iterable[Medium | None] = (),
    ) -> None:
        """Convert an item to a link, or count the fault if it has no usable URL.

        ``addresses`` are pairs (href, base of relative URLs), most reliable first. ``content`` is the full
        text as HTML. If ``plain`` is true, the title is a text without markup. ``media`` are its pictures,
        audio and video.
        """
        self._items += 1  # items without a link count too, because reading them takes time
        address = self._address(addresses)
        if address is None:
            return
        if address in self._links:
            self.problem("duplicate_item")
            return
        self._links[address] = Link(
            url=address,
            where=Where.FEED,
            kind=Kind.ARTICLE,
            text=plain_title(title) if plain else clean_title(title),
            published_at=self.date(published, address, "published_at"),
            modified_at=self.date(modified, address, "modified_at"),
            authors=tuple(dict.fromkeys(name for text in authors if (name := _clean_author(text)))),
            media=tuple(listed(media)),
        )
        if self.markup and content and self._size < MAX_CONTENTS:
            self.contents[address] = content
            self._size += len(content)

    def collected(self) -> Feed:
        """Return the feed with the items, hubs and faults that were found."""
        if not self._links:
            self.problem("no_items")
        self.settle()
        self._drop_one_date()
        self.feed.links, self.feed.hubs = list(self._links.values()), list(self._hubs.values())
        self.feed.problems = self.problems()
        return self.feed

    def _drop_one_date(self) -> None:
        """Remove the publication times if all items have the same one, which is that of the feed itself."""
        times = {link.published_at for link in self._links.values()}
        if len(self._links) < _ONE_DATE or len(times) != 1 or (at := times.pop()) is None:
            return
        if at.time() != datetime.min.time():  # at midnight, it is only a day
            self.problem("one_date")
            self._links = {key: replace(link, published_at=None) for key, link in self._links.items()}

    def _address(self, addresses: Sequence[tuple[str, str | None]]) -> str | None:
        if not addresses:
            self.problem("item_without_link")
            return None
        for href, base in addresses:
            address = absolute(base or self._item_base(), href)
            if address:
                return address
        self.problem("bad_link")
        return None

    def _item_base(self) -> str:
        """Return the base of relative links in items.

        If the feed is on another host, such as FeedBurner, these links are relative to the site of the feed.
        """
        site_url = self.feed.site_url
        if self.base == self._url and site_url and _host(site_url) != _host(self._url):
            return site_url
        return self.base


def clean_title(text: str) -> str | None:
    """Return a title as one line of plain text, with markup and entities resolved."""
    # The markup is removed before entities are resolved. An escaped "&lt;b&gt;" is text and not a tag.
    return squash(unescape(untagged(text)))[:_MAX_TITLE].strip() or None


def plain_title(text: str) -> str | None:
    """Return a title that is declared as plain text, as one line. Its ``<`` is a character like any other.

    Some sites declare a title with markup as plain text. It has an end tag.
    """
    if "</" in text:
        return clean_title(text)
    return squash(unescape(text))[:_MAX_TITLE].strip() or None


def _clean_author(text: str) -> str | None:
    """Return an author's name as one line. For ``jane@example.org (Jane Doe)``, a form of RSS, the result is
    Jane Doe."""
    named = _MAILED.fullmatch(text.strip())
    return clean_title(named[1] if named else text[:_MAX_AUTHOR])


def _host(url: str) -> str | None:
    try:
        return urlsplit(url).hostname
    except ValueError:
        return None


# --- reading

_MAX_TEXT = 20_000
_MAX_LINKS = 20
_MAX_ELEMENTS = 1_000_000

_ITEM_NAMES = frozenset(("item", "entry"))
_FEEDS = frozenset(("rss", "rdf:rdf", "rdf", "feed", "channel"))
_SKIPPED = frozenset((
    "image", "textinput", "source", "contributor", "content", "content:encoded", "description",
    "summary", "media:group", "media:content",
))  # fmt: skip
"""Elements whose inner elements are ignored.

Some of these elements contain titles, links or dates that do not belong to the item. Other elements have a
long text.
"""
_CONTENTS = ("content:encoded", "content")
"""The elements that have the full text of an item."""
_PUBLISHED = (
    "pubdate", "published", "issued", "dc:date", "dcterms:issued", "dcterms:created", "created",
    "dcterms:date",
)  # fmt: skip
_MODIFIED = ("updated", "modified", "dcterms:modified", "lastbuilddate")
_AUTHORS = ("author", "name", "dc:creator")
"""Elements with the names of authors.

``name`` is the name of an Atom author. The names of contributors and sources are in skipped elements.
"""
_TEXTS = frozenset((
    *_PUBLISHED, *_MODIFIED, *_AUTHORS, "date", "title", "dc:title", "link", "guid", "id",
    "language", "dc:language",
    "feedburner:origlink", "pheedo:origlink", "ttl", "hour", "sy:updateperiod", "sy:updatefrequency",
))  # fmt: skip
_MEDIA = ("enclosure", "media:content")
_PERIODS = {
    "hourly": 3600.0,
    "daily": 86400.0,
    "weekly": 604800.0,
    "monthly": 2592000.0,
    "yearly": 31536000.0,
}
_NO_ARTICLE = frozenset((
    "self", "edit", "enclosure", "replies", "license", "hub", "next", "prev", "previous", "first", "last",
    "payment", "http://schemas.google.com/g/2005#self",
))  # fmt: skip


@dataclass(slots=True)
class _Item:
    """The data of the item that the parser is in."""

    base: str | None = None
    about: str | None = None
    """``rdf:about``, the URL of an item in RDF."""
    permalink: bool = True
    """False if the ``guid`` is not a URL."""
    texts: dict[str, str] = field(default_factory=dict)
    authors: list[str] = field(default_factory=list)
    links: list[tuple[int, str, str | None]] = field(default_factory=list)
    """Links as (rank, href, base of relative URLs). The lowest rank is the best (:func:`_rank`)."""
    atom: bool = False
    plain_title: bool = False
    """True if the title is declared as plain text."""
    media: list[dict[str, str]] = field(default_factory=list)
    """The attributes of the elements in :data:`_MEDIA`, and of Atom's links to files."""

    def add_to(self, found: _Collector) -> None:
        """Add the item to the feed.

        Its most reliable URLs come first. The original URL that FeedBurner and Pheedo add comes before the
        link to their own counter.
        """
        original = [
            self.texts[key] for key in ("feedburner:origlink", "pheedo:origlink") if key in self.texts
        ]
        links: list[tuple[str, str | None]] = [(href, None) for href in original]
        links += [
            (href, base or self.base) for _rank, href, base in sorted(self.links, key=lambda link: link[0])
        ]
        guid = self.texts.get("guid", "") if self.permalink else ""
        links += [
            (href.strip(), None)
            for href in (guid, self.about or "", self.texts.get("id", ""))
            if href.strip().lower().startswith(("http://", "https://"))
        ]
        found.add(
            links,
            title=self.texts.get("title") or self.texts.get("dc:title") or "",
            published=[self.texts[key] for key in (*_PUBLISHED, "date") if key in self.texts],
            modified=[self.texts[key] for key in _MODIFIED if key in self.texts],
            authors=self.authors,
            content=next((self.texts[key] for key in _CONTENTS if key in self.texts), ""),
            plain=self.plain_title,
            media=[
                medium(
                    one.get("url") or one.get("href") or "",
                    form=one.get("medium", ""),
                    mime=one.get("type", ""),
                    width=one.get("width"),
                    height=one.get("height"),
                    size=one.get("length") or one.get("filesize"),
                )
                for one in self.media
            ],
        )


class FeedHandler(Handler):
    """Receives the events of a document and fills a :class:`_Collector`."""

    def __init__(self, found: _Collector) -> None:
        super().__init__()
        self.found = found
        self._item: _Item | None = None
        self._captured: str | None = None
        self._attributes: dict[str, str] = {}
        self._skipped: str | None = None
        self._depth = 0
        self._elements = 0
        self._period: tuple[float, float] = (0.0, 1.0)

    def start(self, name: str, attributes: dict[str, str]) -> None:
        """See :class:`newsbot.pages.discovery.xml_events.Handler`."""
        self._elements += 1
        if self._elements > _MAX_ELEMENTS:
            self.found.problem("too_long")
            raise Enough
        if name in _MEDIA and self._item is not None and len(self._item.media) < MAX_MEDIA:
            self._item.media.append(attributes)
        # Items are checked before skipped elements, because an item ends all open elements, even a skipped
        # element without a closing tag.
        if name in _ITEM_NAMES:
            self._open_item(name, attributes)
        elif self._skipped:
            self._depth += name == self._skipped  # an inner element with the same name has an end tag too
            if self.wants_text:  # texts of two XHTML elements are separate words
                self.data(f"<{_local(name)}>" if self.found.markup else " ")
        elif name in _SKIPPED:
            self._skip(name)
        elif name in _TEXTS:
            self._finish_text()  # the previous element may have no closing tag
            self._capture(name, attributes)
        elif name in _FEEDS or name == "cloud":
            self._feed_element(name, attributes)

    def end(self, name: str) -> None:
        """See :class:`newsbot.pages.discovery.xml_events.Handler`."""
        if name in _ITEM_NAMES or name in _FEEDS:
            self._close_item()
        elif self._skipped:
            self._depth -= name == self._skipped
            if not self._depth:
                self._finish_skipping()
            elif self.wants_text and self.found.markup:
                self.data(f"</{_local(name)}>")
        elif name == self._captured:
            self._finish_text()

    def close(self) -> None:
        """End the document. An item that is still open is dropped, because its best URL may be missing."""
        period, frequency = self._period
        # RSS module "syndication": the feed is updated ``frequency`` times per period. The period is 0 if the
        # feed does not state it.
        self.found.feed.update_period = period / frequency or None

    def _open_item(self, name: str, attributes: dict[str, str]) -> None:
        self._close_item()
        base = attributes.get("xml:base")
        self._item = _Item(
            base=self.found.resolve(base) if base else None,
            about=attributes.get("rdf:about"),
            atom=name == "entry",
        )

    def _close_item(self) -> None:
        self._finish_text()
        self._finish_skipping()
        if self._item is not None:
            item, self._item = self._item, None
            item.add_to(self.found)
            if self.found.full:
                raise Enough

    def _capture(self, name: str, attributes: dict[str, str]) -> None:
        self._captured, self._attributes = name, attributes
        self.begin_text(_MAX_TEXT)

    def _skip(self, name: str) -> None:
        """Ignore all elements inside the element ``name``. The full text of an item is kept if wanted."""
        self._finish_text()
        self._skipped, self._depth = name, 1
        wanted = self.found.markup and name in _CONTENTS
        if self._item is not None and wanted and name not in self._item.texts:
            self.begin_text(_MAX_CONTENT)

    def _finish_skipping(self) -> None:
        name, self._skipped = self._skipped, None
        if name is None or not self.wants_text:
            return
        text = self.end_text()[:_MAX_CONTENT].strip()
        if text and self._item is not None:
            self._item.texts[name] = text

    def _finish_text(self) -> None:
        if self._captured is None:
            return
        name, text = self._captured, self.end_text().strip()
        self._captured = None
        if name == "link":
            self._link(text, self._attributes)
        elif self._item is not None:
            # RSS 2.0: a guid is the URL of the item unless this attribute says "false".
            if name == "guid" and self._attributes.get("ispermalink", "").strip().lower() == "false":
                self._item.permalink = False
            if text and name in _AUTHORS:
                self._item.authors += [text] * (len(self._item.authors) < MAX_AUTHORS)
            elif text:
                if name == "title" and "title" not in self._item.texts:
                    # RFC 4287, 3.1.1: a title of Atom is plain text unless its type says otherwise
                    kind = self._attributes.get("type", "text").strip().lower()
                    self._item.plain_title = self._item.atom and kind == "text"
                self._item.texts.setdefault(name, text)
        elif text:
            self._feed_text(name, text)

    def _link(self, text: str, attributes: dict[str, str]) -> None:
        href = attributes.get("href", "").strip()
        relation = attributes.get("rel", "").strip().lower()
        base = attributes.get("xml:base")
        base = self.found.resolve(base) if base else None
        if self._item is None:
            self._feed_link(text, href, relation)
        elif len(self._item.links) < _MAX_LINKS:
            # In RSS the URL is the text of the element; in Atom it is in an attribute.
            if text:
                self._item.links.append((0, text, base))
            if href and relation == "enclosure":
                self._item.media.append(attributes)
            if href and relation not in _NO_ARTICLE:
                self._item.links.append((_rank(relation, attributes.get("type", "")), href, base))

    def _feed_link(self, text: str, href: str, relation: str) -> None:
        found = self.found
        address = found.resolve(href or text)
        if address is None:
            return
        if relation == "hub":
            found.add_hub(address)
        elif relation == "self":
            found.feed.self_url = found.feed.self_url or address
        elif relation == "next":
            found.feed.next_url = found.feed.next_url or address
        elif relation in ("", "alternate"):
            found.feed.site_url = found.feed.site_url or address

    def _feed_element(self, name: str, attributes: dict[str, str]) -> None:
        if name == "cloud":
            self._cloud(attributes)
            return
        if base := attributes.get("xml:base"):
            self.found.base = self.found.resolve(base) or self.found.base
        self.found.language = self.found.language or attributes.get("xml:lang", "")

    def _cloud(self, attributes: dict[str, str]) -> None:
        """See https://www.rssboard.org/rsscloud-interface."""
        domain, path = attributes.get("domain", ""), attributes.get("path", "/")
        port = attributes.get("port", "80")
        if (
            domain
            and port.isdecimal()
            and attributes.get("protocol", "").lower() in ("http-post", "https-post")
        ):
            scheme = "https" if port == "443" or attributes["protocol"].lower() == "https-post" else "http"
            self.found.add_hub(f"{scheme}://{domain}:{port}/{path.lstrip('/')}", "rsscloud")

    def _feed_text(self, name: str, text: str) -> None:
        found = self.found
        # numbers with more digits are mistakes
        number = int(text) if text.isdecimal() and len(text) < 7 else 0
        if name == "title":
            found.set_title(text)
        elif name in ("language", "dc:language"):
            found.language = found.language or text
        elif name == "ttl":
            found.set_ttl(number * 60.0)
        # hours are 1 to 24 in RSS 0.91, and 0 to 23 in RSS 2.0
        elif name == "hour" and text.isdecimal() and number <= 24:
            found.feed.skip_hours |= {number % 24}
        elif name == "sy:updateperiod":
            self._period = (_PERIODS.get(text.lower(), 0.0), self._period[1])
        elif name == "sy:updatefrequency":
            self._period = (self._period[0], float(number or 1))


def _local(name: str) -> str:
    return name.rpartition(":")[2]


def _rank(relation: str, media_type: str) -> int:
    """Return the rank of a link of an Atom entry. The lowest rank is the best.

    The rank is 1 for the article as HTML, 2 for another form of the article, and 3 for a related page. Rank 0
    is used for link elements whose text is the URL.
    """
    if relation in ("", "alternate"):
        return 1 if not media_type or "html" in media_type.lower() else 2
    return 3


_WHOLE = 4 << 20
"""Maximum length of a feed that is parsed as a whole, in characters. Longer feeds are parsed item by item to
save memory."""
_JSON_ITEMS = re.compile(r'"items"\s{0,20}:\s{0,20}\[')
# blanks and commas between two items
_BETWEEN = re.compile(r"[\s,]*+")
_DECODER = json.JSONDecoder()


def _read_json(text: str, found: _Collector) -> None:
    """Add the content of a JSON Feed to ``found``.

    Raises :class:`FeedError` if the text is another JSON document.
    """
    whole = _whole_document(text)
    if whole is None:
        found.problem("malformed")
        # The items before the fault can still be parsed one by one.
        items = _JSON_ITEMS.search(text)
        if items is None:
            raise FeedError("not_a_feed")
        _read_items(_one_by_one(text, items.end()), found)
        return
    if not isinstance(whole.get("items"), list):
        raise FeedError("not_a_feed")
    _read_top(whole, found)
    _read_items(iter(whole["items"]), found)
    found.problem("too_many_items", len(whole["items"]) - MAX_ITEMS)


def _whole_document(text: str) -> dict[str, Any] | None:
    """Return the parsed document; None if it is too long or broken, or if it is not a JSON object."""
    if len(text) > _WHOLE:
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _one_by_one(text: str, position: int) -> Iterator[Any]:
    """Yield the items that begin at ``position``, up to the first item that cannot be parsed."""
    while True:
        blank = _BETWEEN.match(text, position)
        position = blank.end() if blank else position
        try:
            item, position = _DECODER.raw_decode(text, position)
        except (ValueError, RecursionError):
            return
        yield item


def _read_top(whole: dict[str, Any], found: _Collector) -> None:
    found.set_title(_text_of(whole, "title"))
    if home := _text_of(whole, "home_page_url"):
        found.feed.site_url = found.resolve(home)
    if own := _text_of(whole, "feed_url"):
        found.feed.self_url = found.resolve(own)
    if following := _text_of(whole, "next_url"):
        found.feed.next_url = found.resolve(following)
    hubs = whole.get("hubs")
    for hub in hubs[:20] if isinstance(hubs, list) else ():
        if isinstance(hub, dict) and (address := _text_of(hub, "url")):
            found.add_hub(address, "rsscloud" if _text_of(hub, "type").lower() == "rsscloud" else "websub")


def _read_items(items: Iterator[Any], found: _Collector) -> None:
    for item in items:
        if found.full:
            return
        if not isinstance(item, dict):
            item = {}  # noqa: PLW2901 - counted as an item without a link
        own = _text_of(item, "id")
        addresses = [address for key in ("url", "external_url") if (address := _text_of(item, key))]
        if own.lower().startswith(("http://", "https://")):
            addresses.append(own)
        found.add(
            [(address, None) for address in addresses],
            title=_text_of(item, "title"),
            published=[_text_of(item, "date_published")],
            modified=[_text_of(item, "date_modified")],
            authors=_authors(item),
            content=_content(item),
            media=[
                medium(_text_of(one, "url"), mime=_text_of(one, "mime_type"), size=one.get("size_in_bytes"))
                for one in _attachments(item)
            ],
        )


def _attachments(item: dict[str, Any]) -> list[dict[str, Any]]:
    attached = item.get("attachments")
    found = attached[:MAX_MEDIA] if isinstance(attached, list) else []
    return [one for one in found if isinstance(one, dict)]


def _authors(item: dict[str, Any]) -> list[str]:
    """Return the names in ``authors``, or in ``author`` of version 1.0."""
    entries = item.get("authors") or [item.get("author")]
    authors = entries[:MAX_AUTHORS] if isinstance(entries, list) else []
    return [name for one in authors if isinstance(one, dict) and (name := _text_of(one, "name"))]


def _content(item: dict[str, Any]) -> str:
    if text := _text_of(item, "content_html", _MAX_CONTENT):
        return text
    paragraphs = _text_of(item, "content_text", _MAX_CONTENT).splitlines()
    return "".join(f"<p>{escape(line)}</p>" for line in paragraphs if line.strip())


def _text_of(value: dict[str, Any], key: str, most: int = _MAX_TEXT) -> str:
    text = value.get(key)
    return text[:most] if isinstance(text, str) else ""


MAX_BODY = 16 << 20
"""Maximum number of bytes of a feed that are read. If there are more, the rest is ignored, and the fault
``too_long`` is counted."""

_JUNK = 1 << 16
"""Maximum number of characters before the feed, where some servers print warnings."""
# <rss version=…>, <rdf:RDF …>, <atom:feed …>, <channel>: with or without a prefix
_JSON = re.compile(rb"(?:\xef\xbb\xbf)?\s{0,200}\{")
_ROOT = re.compile(r"<(?:[A-Za-z][\w.\-]{0,20}:)?(?:rss|rdf|feed|channel)(?=[\s>/])", re.IGNORECASE)
_HTML = re.compile(r"<(?:!doctype\s{1,9}html|html|head|body)(?=[\s>/])", re.IGNORECASE)
# The alternatives begin with different characters, and (?!-->) ends a comment at its first end, so matching
# takes linear time. Python before 3.11.5 matches possessive groups with alternatives wrongly.
_PROLOGUE = re.compile(r"(?:\s+|<\?[^>]*>|<!--(?:(?!-->)[\s\S])*-->|<![A-Za-z][^>\[]*(?:\[[^\]]*\]\s*)?>)*")
"""Matches text that may precede the root element: declarations, comments, a DOCTYPE."""
# <!ENTITY site "Example News">, but not a redefinition of the five entities of XML.
_ENTITY = re.compile(
    r"""<!ENTITY\s{1,9}(?!(?:amp|lt|gt|quot|apos)\s)([A-Za-z][\w.\-]{0,30})\s{1,9}"""
    r"""["']((?:[^&%<"']|&amp;){1,200})["']\s{0,9}>"""
)
_MAX_ENTITIES, _MAX_USES = 20, 2 * MAX_ITEMS
"""Maximum number of entities that are replaced, and maximum number of replacements of each entity.

Both limit the growth of the text. An entity has at most 200 characters, and entities in replaced text are not
expanded again.
"""
# <item>, <atom:entry …>
_ITEM = re.compile(r"<(?:[A-Za-z][\w.\-]{0,20}:)?(?:item|entry)(?=[\s>/])", re.IGNORECASE)


def parse_feed(
    body: bytes,
    url: str,
    content_type: str | None = None,
    *,
    now: datetime | None = None,
    dates: SiteDates = SiteDates(),  # noqa: B008  (it cannot be changed)
) -> Feed:
    """Return the content of a feed, as far as it can be read.

    ``body`` may be gzip. ``url`` is the URL of the feed, and ``content_type`` is the header of the response.
    ``dates`` says how the site writes dates. A date more than a day after ``now`` (default: the current time)
    counts as a fault. Raises :class:`FeedError` if the body is not a feed. All other faults are counted
    in ``problems``. Time and memory are linear in the size of the body, up to :data:`MAX_BODY`.
    """
    return _parse(body, url, content_type, now or utc(system_clock()), dates).collected()


def item_contents(body: bytes, url: str, content_type: str | None = None) -> dict[str, str]:
    """Return the full texts of the items of a feed as HTML, by the URL of the item.

    The texts are ``content:encoded`` (RSS), ``content`` (Atom) and ``content_html`` or ``content_text``
    (JSON Feed), at most :data:`MAX_CONTENTS` characters in all. Items without such a text are left out.
    Raises :class:`FeedError` if the body is not a feed.
    """
    return _parse(body, url, content_type, utc(system_clock()), SiteDates(), markup=True).contents


def _parse(
    body: bytes, url: str, content_type: str | None, now: datetime, dates: SiteDates, *, markup: bool = False
) -> _Collector:
    """Return a collector with the items of a feed. For ``markup`` see :class:`_Collector`."""
    problems: list[str] = []
    collector = partial(_Collector, url, now, dates, problems, markup=markup)
    body = gunzip(body, MAX_BODY + 1)  # one more byte than the limit, to detect a body that is too long
    if len(body) > MAX_BODY:
        problems.append("too_long")
        body = body[:MAX_BODY]
    # JSON is always in UTF-8 (RFC 8259, 8.1).
    charset = "utf-8" if _JSON.match(body) else http_content_type_encoding(content_type)
    text = decode(body, charset).strip("\0 \t\r\n")
    if (shown := _SHOWN.match(text)) is not None:
        text = unescape(shown[1])
    if not text:
        raise FeedError("empty")
    if text[0] != "{":
        return _read_xml(text, collector, problems)
    found = collector()
    _read_json(text, found)
    return found


_TAGS = re.compile(r"<[^<>]{0,2000}>")
# An HTML page that has nothing but the escaped source of a feed in <pre>.
_SHOWN = re.compile(
    r"(?:<(?!pre\b)[^>]{0,500}>\s{0,50}){0,20}<pre[^>]{0,300}>\s{0,50}(&lt;(?:\?xml|rss|feed|rdf).*)</pre>",
    re.IGNORECASE | re.DOTALL,
)


def _with_entities(text: str, prologue: str) -> str:
    """Replace the entities that the DOCTYPE declares as short plain texts, up to the limits.

    The parsers themselves do not expand declared entities, because a document could then grow without limit.
    """
    values = {f"&{name};": value for name, value in islice(_ENTITY.findall(prologue), _MAX_ENTITIES)}
    for name, value in values.items():
        text = text.replace(name, value, _MAX_USES)
    return text


def _read_xml(text: str, collector: Callable[[], _Collector], problems: list[str]) -> _Collector:
    """Return a collector with the items of an XML feed.

    ``collector`` returns a collector without items that already has the faults in ``problems``. It is called
    again if parsing has to start again.
    """
    prologue = _PROLOGUE.match(text)
    assert prologue is not None  # the pattern always matches, because the prologue may be empty
    root = _ROOT.match(text, prologue.end())
    if root is None:  # text before the root element does not belong to the feed
        root = _ROOT.search(text, 0, _JUNK)
        # an HTML page may contain the text of a feed, e.g. in an example
        before = text[: root.start() if root else _JUNK]
        wrapped = root is not None and not _TAGS.sub("", before).strip() and _ITEM.search(text)
        if _HTML.search(before) and not wrapped:
            raise FeedError("html")
        if root is None:
            raise FeedError("not_a_feed")
        problems.append("leading_junk")
    text = _with_entities(text[root.start() :], prologue[0])
    handler, flaw = read(lambda: pieces(text), lambda: FeedHandler(collector()))
    handler.close()
    found = handler.found
    if flaw:
        found.problem(flaw)
    if found.full:
        found.problem("too_many_items", sum(1 for _ in _ITEM.finditer(text)) - MAX_ITEMS)
    return found
