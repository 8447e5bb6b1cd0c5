"""Reads sitemaps: lists of pages, news sitemaps, indexes and plain text, also as gzip.

Sources: https://www.sitemaps.org/protocol.html,
https://developers.google.com/search/docs/crawling-indexing/sitemaps/news-sitemap.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, tzinfo

from newsbot.clock import system_clock, utc
from newsbot.discovery.encoding import detect, gunzip, unpacked
from newsbot.discovery.feed_types import FeedError
from newsbot.discovery.feeds import parse_feed
from newsbot.discovery.sitemap_types import Child, Entry, SitemapCollector, SitemapError
from newsbot.discovery.xml_events import Enough, Malformed, read_loosely, read_strictly
from newsbot.items import Link

_MAX_TEXT = 20_000
_MAX_ELEMENTS = 3_000_000
_FIELDS = {
    "loc": "loc",
    "lastmod": "lastmod",
    "news:title": "title",
    "news:publication_date": "published",
}


class SitemapHandler:
    """Receives the events of a document and fills a :class:`SitemapCollector`."""

    def __init__(self, found: SitemapCollector) -> None:
        self.wants_text = False
        self._found = found
        self._entry: Entry | None = None
        self._is_child = False
        self._captured: str | None = None
        self._parts: list[str] = []
        self._size = 0
        self._elements = 0

    def start(self, name: str, attributes: dict[str, str]) -> None:  # noqa: ARG002 - not needed
        """See :class:`newsbot.discovery.xml_events.Handler`."""
        self._elements += 1
        if self._elements > _MAX_ELEMENTS:
            self._found.problem("too_long")
            raise Enough
        if name in ("url", "sitemap"):
            self._close_entry()  # the previous entry may have no closing tag
            self._entry, self._is_child = Entry(), name == "sitemap"
        elif self._entry is not None:
            if name in _FIELDS:
                self._captured, self._parts, self._size = name, [], 0
                self.wants_text = True
            elif name == "news:news":
                self._entry.news = True

    def data(self, text: str) -> None:
        """See :class:`newsbot.discovery.xml_events.Handler`."""
        if self._size < _MAX_TEXT:
            self._parts.append(text[:_MAX_TEXT])
            self._size += len(text)

    def end(self, name: str) -> None:
        """See :class:`newsbot.discovery.xml_events.Handler`."""
        if name == self._captured:
            if self._entry is not None:
                setattr(self._entry, _FIELDS[name], "".join(self._parts).strip())
            self._captured, self.wants_text = None, False
        elif name in ("url", "sitemap", "urlset", "sitemapindex"):
            self._close_entry()

    def close(self) -> None:
        """End the document. An entry that is still open is added if its URL is complete."""
        with suppress(Enough):
            self._close_entry()

    def _close_entry(self) -> None:
        entry, self._entry = self._entry, None
        self._captured, self.wants_text = None, False
        # a page without a URL counts as a fault, a child without a URL is ignored
        if entry is not None and (entry.loc or not self._is_child):
            (self._found.add_child if self._is_child else self._found.add)(entry)


MAX_BODY = 50 << 20
"""Maximum number of unpacked bytes that are read. It is the limit of the protocol for one file."""

_HEAD = 1 << 16
_ROOT = re.compile(
    r"<(?:[A-Za-z][\w.\-]{0,20}:)?(?:urlset|sitemapindex|url|sitemap)(?=[\s>/])", re.IGNORECASE
)
_FEED = re.compile(r"<(?:[A-Za-z][\w.\-]{0,20}:)?(?:rss|rdf|feed)(?=[\s>/])", re.IGNORECASE)
_HTML = re.compile(r"<(?:!doctype\s{1,9}html|html|head|body)(?=[\s>/])", re.IGNORECASE)
_ADDRESS = re.compile(r"\s*+https?://", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sitemap:
    """The content of one sitemap file."""

    links: list[Link] = field(default_factory=list)
    """The pages, each URL once. Pages of a news sitemap have kind, title and publication time."""
    children: list[Child] = field(default_factory=list)
    """The files that an index points to, each file once, but not the index itself."""
    problems: list[str] = field(default_factory=list)
    """Counted faults, e.g. ``bad_date:3``. Tokens: malformed, cut_off, too_long, trailing_junk, bad_date,
    bad_link, duplicate_url, too_many_urls, self_reference, duplicate_child, is_feed, no_urls."""


def parse_sitemap(body: bytes, url: str, *, now: datetime | None = None, zone: tzinfo = UTC) -> Sitemap:
    """Return the content of a sitemap, as far as it can be read.

    ``body`` may be gzip. ``url`` is the URL of the sitemap; ``now`` and ``zone`` are as in
    :func:`newsbot.discovery.feeds.parse_feed`. A feed may serve as a sitemap; it is read as a feed. Raises
    :class:`SitemapError` if the body is not a sitemap. All other faults are counted in ``problems``.

    The file is read as a stream. The memory depends on the number of URLs, of which the newest 50,000 are
    kept, but not on the size of the file.
    """
    now = now or utc(system_clock())
    head = gunzip(body, _HEAD)[:_HEAD]
    codec = detect(head)
    text = head.decode(codec, errors="replace").strip("\ufeff\0 \t\r\n")  # only the beginning of the file
    if not text:
        raise SitemapError("empty")
    found = SitemapCollector(url, now, zone)
    if _ADDRESS.match(text):
        _read_lines(_decoded(body, codec), found)
        return _result(found)
    root = _ROOT.search(text)
    if root is None:
        return _from_feed(body, url, text, now, zone)
    if _HTML.search(text, 0, root.start()):
        raise SitemapError("html")
    return _read_xml(body, codec, found)


def _read_xml(body: bytes, codec: str, found: SitemapCollector) -> Sitemap:
    handler = SitemapHandler(found)
    try:
        flaw: str | None = read_strictly(_from_root(_decoded(body, codec)), handler)
    except Malformed:
        flaw = "malformed"
        found = found.anew()
        handler = SitemapHandler(found)
        # the body is unpacked and decoded a second time, so that the text need not be kept in memory
        read_loosely(_from_root(_decoded(body, codec)), handler)
    handler.close()
    if flaw:
        found.problem(flaw)
    return _result(found)


def _result(found: SitemapCollector) -> Sitemap:
    links, children = found.links(), found.children()
    if not links and not children:
        found.problem("no_urls")
    return Sitemap(links=links, children=children, problems=found.problems())


def _from_feed(body: bytes, url: str, head: str, now: datetime, zone: tzinfo) -> Sitemap:
    """Read a feed as a sitemap. The protocol allows RSS and Atom; other formats are refused."""
    if _FEED.search(head) is None:
        raise SitemapError("html" if _HTML.search(head) else "not_a_sitemap")
    try:
        feed = parse_feed(body, url, now=now, zone=zone)
    except FeedError as error:
        raise SitemapError("html" if error.reason == "html" else "not_a_sitemap") from error
    return Sitemap(links=feed.links, problems=[*feed.problems, "is_feed:1"])


def _decoded(body: bytes, codec: str) -> Iterator[str]:
    decoder = codecs.getincrementaldecoder(codec)(errors="replace")
    for piece in unpacked(body, MAX_BODY):
        yield decoder.decode(piece)


def _from_root(chunks: Iterator[str]) -> Iterator[str]:
    """Yield the text that begins with the root element. Declarations and warnings before it are skipped."""
    text = ""
    for chunk in chunks:
        text += chunk
        root = _ROOT.search(text)
        if root:
            yield text[root.start() :]
            yield from chunks
            return


def _read_lines(chunks: Iterator[str], found: SitemapCollector) -> None:
    """Read plain text with one URL per line."""
    held = ""
    try:
        for chunk in chunks:
            *lines, held = (held + chunk).splitlines() or [""]
            for line in lines:
                _add_line(line, found)
            held = held[-10_000:]  # a file may be one line without end
        _add_line(held, found)
    except Enough:
        return


def _add_line(line: str, found: SitemapCollector) -> None:
    line = line.strip("\ufeff \t")
    if line and not _ADDRESS.match(line):
        found.problem("bad_link")
    elif line:
        found.add(Entry(loc=line))
