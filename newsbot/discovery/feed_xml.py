"""Builds a feed from XML events: RSS, RDF and Atom in one parser, because real feeds mix them.

The parser is a small state machine without a stack. It is either inside an item or outside of all items. In
addition it may capture the text of one element, or skip one element. Therefore neither deep nor wrong nesting
can cause errors.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from newsbot.discovery.feed_types import MAX_AUTHORS, MAX_RAW_LEAD, Collector, RawItem
from newsbot.discovery.xml_events import Enough

_MAX_TEXT = 20_000
_MAX_LINKS = 20
_MAX_ELEMENTS = 1_000_000

_ITEMS = frozenset(("item", "entry"))
_FEEDS = frozenset(("rss", "rdf:rdf", "rdf", "feed", "channel"))
_SKIPPED = frozenset((
    "image", "textinput", "source", "contributor", "content", "content:encoded", "description",
    "summary", "media:group", "media:content",
))  # fmt: skip
"""Elements whose inner elements are ignored.

The inner elements have titles, links or dates that are not those of the item. Or the element has a long text
of which only the start is needed.
"""
_LEADS = ("description", "summary", "content:encoded", "content")
"""The skipped elements that describe an item. Elements that are usually short come first. The first of them
in an item is its lead."""
_PUBLISHED = (
    "pubdate",
    "published",
    "issued",
    "dc:date",
    "dcterms:issued",
    "dcterms:created",
    "created",
    "dcterms:date",
)
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

    def raw(self) -> RawItem:
        """Return the item with its URLs, the most reliable first.

        The original URL that FeedBurner and Pheedo add comes before the link to their own counter.
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
        return RawItem(
            addresses=links,
            title=self.texts.get("title") or self.texts.get("dc:title"),
            published=[self.texts[key] for key in (*_PUBLISHED, "date") if key in self.texts],
            modified=[self.texts[key] for key in _MODIFIED if key in self.texts],
            lead=next((self.texts[key] for key in _LEADS if key in self.texts), ""),
            authors=self.authors,
        )


class FeedHandler:
    """Receives the events of a document and fills a :class:`Collector`."""

    def __init__(self, found: Collector) -> None:
        self.wants_text = False
        self._found = found
        self._item: _Item | None = None
        self._captured: str | None = None
        self._parts: list[str] = []
        self._size, self._most = 0, 0
        self._attributes: dict[str, str] = {}
        self._skipped: str | None = None
        self._depth = 0
        self._elements = 0
        self._period: tuple[float, float] = (0.0, 1.0)

    def start(self, name: str, attributes: dict[str, str]) -> None:
        """See :class:`newsbot.discovery.xml_events.Handler`."""
        self._elements += 1
        if self._elements > _MAX_ELEMENTS:
            self._found.problem("too_long")
            raise Enough
        if name in _ITEMS:
            self._open_item(attributes)
        elif self._skipped:
            self._depth += name == self._skipped  # an inner element with the same name also has an end
            self.data(" ")  # words in two XHTML elements are separate words
        elif name in _SKIPPED:
            self._skip(name)
        elif name in _TEXTS:
            self._finish_text()  # the previous element may have no closing tag
            self._capture(name, attributes)
        elif name in _FEEDS or name == "cloud":
            self._feed_element(name, attributes)

    def data(self, text: str) -> None:
        """See :class:`newsbot.discovery.xml_events.Handler`."""
        if self.wants_text and self._size < self._most:
            self._parts.append(text[: self._most])
            self._size += len(text)

    def end(self, name: str) -> None:
        """See :class:`newsbot.discovery.xml_events.Handler`."""
        if name in _ITEMS or name in _FEEDS:
            self._close_item()
        elif self._skipped:
            self._depth -= name == self._skipped
            if not self._depth:
                self._finish_skipping()
        elif name == self._captured:
            self._finish_text()

    def close(self) -> None:
        """End the document. An item that is still open is dropped, because its best URL may be missing."""
        period, frequency = self._period
        self._found.update_period = period / frequency or None

    def _open_item(self, attributes: dict[str, str]) -> None:
        self._close_item()
        base = attributes.get("xml:base")
        self._item = _Item(
            base=self._found.resolve(base) if base else None,
            about=attributes.get("rdf:about"),
        )

    def _close_item(self) -> None:
        self._finish_text()
        self._finish_skipping()
        if self._item is not None:
            item, self._item = self._item, None
            self._found.add(item.raw())
            if self._found.full:
                raise Enough

    def _capture(self, name: str, attributes: dict[str, str]) -> None:
        self._captured, self._attributes = name, attributes
        self._listen(_MAX_TEXT)

    def _listen(self, most: int) -> None:
        self._parts, self._size, self._most = [], 0, most
        self.wants_text = True

    def _skip(self, name: str) -> None:
        """Ignore all elements inside the element ``name``. Its text is kept if it is the lead of an item."""
        self._finish_text()
        self._skipped, self._depth = name, 1
        if self._item is not None and name in _LEADS and name not in self._item.texts:
            self._listen(MAX_RAW_LEAD)

    def _finish_skipping(self) -> None:
        name, self._skipped = self._skipped, None
        if name is None or not self.wants_text:
            return
        self.wants_text = False
        text = "".join(self._parts)[:MAX_RAW_LEAD].strip()
        if text and self._item is not None:
            self._item.texts[name] = text

    def _finish_text(self) -> None:
        if self._captured is None:
            return
        name, text = self._captured, "".join(self._parts).strip()
        self._captured, self.wants_text = None, False
        if name == "link":
            self._link(text, self._attributes)
        elif self._item is not None:
            # RSS 2.0: a guid is the URL of the item unless this attribute says "false".
            if name == "guid" and self._attributes.get("ispermalink", "").strip().lower() == "false":
                self._item.permalink = False
            if text and name in _AUTHORS:
                self._item.authors += [text] * (len(self._item.authors) < MAX_AUTHORS)
            elif text:
                self._item.texts.setdefault(name, text)
        elif text:
            self._feed_text(name, text)

    def _link(self, text: str, attributes: dict[str, str]) -> None:
        href = attributes.get("href", "").strip()
        relation = attributes.get("rel", "").strip().lower()
        base = attributes.get("xml:base")
        base = self._found.resolve(base) if base else None
        if self._item is None:
            self._feed_link(text, href, relation)
        elif len(self._item.links) < _MAX_LINKS:
            if text:
                self._item.links.append((0, text, base))
            if href and relation not in _NO_ARTICLE:
                self._item.links.append((_rank(relation, attributes.get("type", "")), href, base))

    def _feed_link(self, text: str, href: str, relation: str) -> None:
        found = self._found
        address = found.resolve(href or text)
        if address is None:
            return
        if relation == "hub":
            found.add_hub(address)
        elif relation == "self":
            found.self_url = found.self_url or address
        elif relation == "next":
            found.next_url = found.next_url or address
        elif relation in ("", "alternate"):
            found.site_url = found.site_url or address

    def _feed_element(self, name: str, attributes: dict[str, str]) -> None:
        if name == "cloud":
            self._cloud(attributes)
            return
        if base := attributes.get("xml:base"):
            self._found.base = self._found.resolve(base) or self._found.base
        self._found.language = self._found.language or attributes.get("xml:lang", "")

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
            self._found.add_hub(f"{scheme}://{domain}:{port}/{path.lstrip('/')}", "rsscloud")

    def _feed_text(self, name: str, text: str) -> None:
        found = self._found
        number = int(text) if text.isdecimal() and len(text) < 7 else 0
        if name == "title":
            found.set_title(text)
        elif name in ("language", "dc:language"):
            found.language = found.language or text
        elif name == "ttl":
            found.set_ttl(number * 60.0)
        # RSS 0.91 counts the hours from 1 to 24, RSS 2.0 from 0 to 23
        elif name == "hour" and text.isdecimal() and number <= 24:
            found.skip_hours.add(number % 24)
        elif name == "sy:updateperiod":
            self._period = (_PERIODS.get(text.lower(), 0.0), self._period[1])
        elif name == "sy:updatefrequency":
            self._period = (self._period[0], float(number or 1))


def _rank(relation: str, media_type: str) -> int:
    """Return the rank of a link of an Atom entry; the lowest is the best.

    1 is the article as HTML, 2 another form of the article, 3 a related page. A link element whose text is
    the URL has rank 0.
    """
    if relation in ("", "alternate"):
        return 1 if not media_type or "html" in media_type.lower() else 2
    return 3
