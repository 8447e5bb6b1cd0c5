"""Reads sitemaps: lists of pages, news sitemaps, indexes and plain text, with or without gzip. If a file has
too many pages, the newest pages are kept.

Sources: https://www.sitemaps.org/protocol.html,
https://developers.google.com/search/docs/crawling-indexing/sitemaps/news-sitemap.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from typing import TypeVar

from newsbot.clock import system_clock, utc
from newsbot.items import Kind, Link, Where
from newsbot.pages.discovery.dates import SiteDates
from newsbot.pages.discovery.feeds import FeedError, SourceCollector, SourceError, clean_title, parse_feed
from newsbot.pages.discovery.xml_events import Enough, Handler, read
from newsbot.pages.text.codings import detect, gunzip, unpacked
from newsbot.urls import absolute, canonical_or_same

MAX_URLS = 50_000
"""Maximum number of pages of one sitemap file that are kept. It is the limit of the protocol."""
MAX_SEEN = 10 * MAX_URLS
"""Maximum number of pages of one file that are read. The newest pages are kept."""

_NEWS = re.compile(r"//[^/]+/.*(?:news|latest|recent|today)", re.IGNORECASE)
_UNDATED = datetime.min.replace(tzinfo=UTC)


class SitemapError(SourceError):
    """Raised if a body is not a sitemap. Other faults are counted in ``problems``."""


def is_news_file(url: str) -> bool:
    """Return True if the name of a sitemap file suggests that it lists new articles."""
    return _NEWS.search(url) is not None


@dataclass(frozen=True, slots=True)
class Child:
    """A sitemap that an index points to."""

    url: str
    lastmod: datetime | None = None


@dataclass(slots=True, kw_only=True)
class Entry:
    """A page or a child sitemap, with the texts that the file contains."""

    loc: str = ""
    lastmod: str = ""
    news: bool = False
    title: str = ""
    published: str = ""


_T = TypeVar("_T")


def _time(link: Link) -> datetime | None:
    return link.published_at or link.modified_at


def _changed(child: Child) -> datetime | None:
    return child.lastmod


class SitemapCollector(SourceCollector):
    """Collects the entries of a sitemap: resolves URLs, parses dates, merges duplicates, counts faults."""

    def __init__(self, url: str, now: datetime, dates: SiteDates) -> None:
        super().__init__(url, now, dates)
        self._own_name = canonical_or_same(url)
        self._children: dict[str, Child] = {}
        self._seen = 0

    def add(self, entry: Entry) -> None:
        """Add a page, or count its fault. Raises :class:`Enough` after :data:`MAX_SEEN` pages."""
        self._seen += 1
        if self._seen > MAX_SEEN:
            self.problem("too_long")
            raise Enough
        url = absolute(self._url, entry.loc)
        if url is None:
            self.problem("bad_link")
        elif url in self._links:
            self.problem("duplicate_url")
        else:
            self._links[url] = Link(
                url=url,
                where=Where.NEWS_SITEMAP if entry.news else Where.SITEMAP,
                kind=Kind.ARTICLE if entry.news else None,
                text=clean_title(entry.title) if entry.title else None,
                published_at=self._date(entry.published),
                modified_at=self._date(entry.lastmod),
            )
            # done only when the number of pages is twice the limit, because it sorts all pages
            if len(self._links) >= 2 * MAX_URLS:
                self._links = self._newest(self._links, _time)

    def add_child(self, entry: Entry) -> None:
        """Add a child of an index, or count its fault."""
        url = absolute(self._url, entry.loc) if entry.loc else None
        if url is None:
            self.problem("bad_link")
            return
        # Children are compared by their canonical URL. Otherwise an index that lists itself in another
        # spelling would be read repeatedly.
        name = canonical_or_same(url)
        if name == self._own_name:
            self.problem("self_reference")
        elif name in self._children:
            self.problem("duplicate_child")
        else:
            self._children[name] = Child(url, self._date(entry.lastmod))
            # done only when the number of children is twice the limit, so that they are rarely sorted
            if len(self._children) >= 2 * MAX_URLS:
                self._children = self._newest(self._children, _changed)

    def links(self) -> list[Link]:
        """Return the pages in file order. If there are too many, only the newest are returned."""
        return list(self._newest(self._links, _time).values())

    def children(self) -> list[Child]:
        """Return the children in file order. If there are too many, only the newest are returned."""
        return list(self._newest(self._children, _changed).values())

    def _newest(self, found: dict[str, _T], time: Callable[[_T], datetime | None]) -> dict[str, _T]:
        """Return at most :data:`MAX_URLS` entries: the newest, then entries without a date.

        Entries without a date are taken from both ends of the file, because the newest may be at either end.
        """
        over = len(found) - MAX_URLS
        if over <= 0:
            return found
        self.problem("too_many_urls", over)
        dated = [name for name, one in found.items() if time(one) is not None]
        kept = {*sorted(dated, key=lambda name: time(found[name]) or _UNDATED, reverse=True)[:MAX_URLS]}
        undated = [name for name, one in found.items() if time(one) is None]
        room = MAX_URLS - len(kept)
        kept |= {*undated[: room - room // 2], *undated[len(undated) - room // 2 :]}
        return {name: one for name, one in found.items() if name in kept}

    def _date(self, text: str) -> datetime | None:
        return self.date((text,)) if text else None


_MAX_TEXT = 20_000
_MAX_ELEMENTS = 3_000_000
_FIELDS = {
    "loc": "loc",
    "lastmod": "lastmod",
    "news:title": "title",
    "news:publication_date": "published",
}

_MEDIA = frozenset(("image", "video"))
"""Elements of a page with the URL of a picture or video, which is not the URL of the page."""


class SitemapHandler(Handler):
    """Receives the events of a document and fills a :class:`SitemapCollector`."""

    def __init__(self, found: SitemapCollector) -> None:
        super().__init__()
        self.found = found
        self._entry: Entry | None = None
        self._is_child = False
        self._inside: str | None = None
        self._captured: str | None = None
        self._elements = 0

    def start(self, name: str, attributes: dict[str, str]) -> None:  # noqa: ARG002 - not needed
        """See :class:`newsbot.pages.discovery.xml_events.Handler`."""
        self._elements += 1
        if self._elements > _MAX_ELEMENTS:
            self.found.problem("too_long")
            raise Enough
        if name in ("url", "sitemap"):
            self._close_entry()  # the previous entry may have no closing tag
            self._entry, self._is_child, self._inside = Entry(), name == "sitemap", None
            if self._is_child:  # some files have the URL directly in the element
                self._captured = name
                self.begin_text(_MAX_TEXT)
        elif self._entry is not None and self._inside is None:
            if name.rpartition(":")[2] in _MEDIA:
                self._inside = name
            elif name in _FIELDS:
                self._captured = name
                self.begin_text(_MAX_TEXT)
            elif name == "news:news":
                self._entry.news = True

    def end(self, name: str) -> None:
        """See :class:`newsbot.pages.discovery.xml_events.Handler`."""
        if name == self._inside:
            self._inside = None
        elif name == self._captured and name in _FIELDS:
            if self._entry is not None:
                setattr(self._entry, _FIELDS[name], self.end_text().strip())
            self._captured, self.wants_text = None, False
        elif name in ("url", "sitemap", "urlset", "sitemapindex"):
            self._close_entry()

    def close(self) -> None:
        """End the document. An entry that is still open is added if its URL is complete."""
        with suppress(Enough):
            self._close_entry()

    def _close_entry(self) -> None:
        entry, self._entry = self._entry, None
        if entry is not None and self._captured == "sitemap":
            entry.loc = self.end_text().strip()
        self._captured, self.wants_text = None, False
        if entry is not None:
            (self.found.add_child if self._is_child else self.found.add)(entry)


MAX_BODY = 50 << 20
"""Maximum number of unpacked bytes that are read. It is the limit of the protocol for one file."""

_HEAD = 1 << 16
# <urlset …>, <sm:sitemapindex …>, <url>
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
    """The files that an index points to, without the index itself. Each file is listed once."""
    problems: list[str] = field(default_factory=list)
    """Faults with the number of times they occurred, e.g. ``bad_date:3``.

    The names are malformed, cut_off, too_long, trailing_junk, bad_date, bad_link, duplicate_url,
    too_many_urls, self_reference, duplicate_child, is_feed and no_urls.
    """


def parse_sitemap(
    body: bytes,
    url: str,
    *,
    now: datetime | None = None,
    dates: SiteDates = SiteDates(),  # noqa: B008  (it cannot be changed)
) -> Sitemap:
    """Return the content of a sitemap, as far as it can be read.

    ``body`` may be gzip. ``url`` is the URL of the sitemap; ``now`` and ``dates`` are as in
    :func:`newsbot.pages.discovery.feeds.parse_feed`. A feed that serves as a sitemap is read as a feed.
    Raises :class:`SitemapError` if the body is not a sitemap. All other faults are counted in ``problems``.

    The file is read as a stream. The newest 50,000 URLs are kept. The memory depends on the number of URLs
    and not on the size of the file.
    """
    now = now or utc(system_clock())
    head = gunzip(body, _HEAD)[:_HEAD]
    codec = detect(head)
    text = head.decode(codec, errors="replace").strip("\ufeff\0 \t\r\n")  # only the beginning of the file
    if not text:
        raise SitemapError("empty")
    collector = partial(SitemapCollector, url, now, dates)
    if _ADDRESS.match(text):
        return _result(_read_lines(_decoded(body, codec), collector()))
    root = _ROOT.search(text)
    if root is None:
        return _from_feed(body, url, text, now, dates)
    if _HTML.search(text, 0, root.start()):
        raise SitemapError("html")
    return _read_xml(body, codec, collector)


def _read_xml(body: bytes, codec: str, collector: Callable[[], SitemapCollector]) -> Sitemap:
    handler, flaw = read(lambda: _from_root(_decoded(body, codec)), lambda: SitemapHandler(collector()))
    handler.close()
    if flaw:
        handler.found.problem(flaw)
    return _result(handler.found)


def _result(found: SitemapCollector) -> Sitemap:
    links, children = found.links(), found.children()
    if not links and not children:
        found.problem("no_urls")
    return Sitemap(links=links, children=children, problems=found.problems())


def _from_feed(body: bytes, url: str, head: str, now: datetime, dates: SiteDates) -> Sitemap:
    """Read a feed as a sitemap. The protocol allows RSS and Atom; other formats are refused."""
    if _FEED.search(head) is None:
        raise SitemapError("html" if _HTML.search(head) else "not_a_sitemap")
    try:
        feed = parse_feed(body, url, now=now, dates=dates)
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


def _read_lines(chunks: Iterator[str], found: SitemapCollector) -> SitemapCollector:
    """Read plain text with one URL per line. Return ``found``, which collects the URLs."""
    held = ""
    with suppress(Enough):
        for chunk in chunks:
            # The last line may be cut off at the end of the chunk, so it is held until the next chunk.
            *lines, held = (held + chunk).splitlines() or [""]
            for line in lines:
                _add_line(line, found)
            held = held[-10_000:]  # a file may be one endless line
        _add_line(held, found)
    return found


def _add_line(line: str, found: SitemapCollector) -> None:
    line = line.strip("\ufeff \t")
    if line and not _ADDRESS.match(line):
        found.problem("bad_link")
    elif line:
        found.add(Entry(loc=line))
