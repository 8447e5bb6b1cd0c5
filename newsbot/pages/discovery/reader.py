"""The readers of sources. A reader reads one kind of source for the crawl.

Feeds and sitemaps are read by :data:`BUILT_IN`. Apps register readers for other kinds, such as the API of a
service or a page with posts (:attr:`newsbot.config.apps.App.readers`). A reader declares its kind, which is
like ``feed`` or ``sitemap``: the address of such a source is named in rules like that of a feed, and it is
polled like a feed.

A document reader reads files that are articles but not HTML, e.g. PDF. Apps register document readers
(:attr:`newsbot.config.apps.App.documents`). A reader writes the content of a file as a page in HTML, so that
the extraction, the rules and the rights apply to it as to every other page.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeVar, get_args, get_origin, get_type_hints

from newsbot.errors import ArgumentError
from newsbot.items import Kind, Link, Medium
from newsbot.pages.discovery.dates import SiteDates
from newsbot.pages.discovery.feeds import Feed, FeedError, Hub, SourceError, parse_feed
from newsbot.pages.discovery.sitemaps import Child, Sitemap, parse_sitemap
from newsbot.pages.text.codings import gunzip

HTML = "text/html; charset=utf-8"
"""The content type of converted files."""


@dataclass(frozen=True, slots=True)
class Converted:
    """A file as a page."""

    html: bytes
    """The page, in UTF-8."""
    complete: bool = True
    """False if only the beginning of the file was read."""


class DocumentReader(Protocol):
    """Reads files of some formats."""

    @property
    def extensions(self) -> Collection[str]:
        """The extensions of these files in URLs, in lower case and without a dot. Links to them are read."""

    def recognises(self, url: str, content_type: str, body: bytes) -> bool:
        """Return True if a response is such a file. ``content_type`` is its header, empty if it has none."""

    def to_html(self, url: str, content_type: str, body: bytes) -> Converted:
        """Return the file as a page.

        Raises :class:`newsbot.errors.NotAnArticle`. The function may run in any thread.
        """


def html_of(readers: Sequence[DocumentReader], url: str, content_type: str, body: bytes) -> tuple[bytes, str]:
    """Return the page and the content type of a document; every other response as it is.

    Raises :class:`newsbot.errors.NotAnArticle` if the document cannot be read.
    """
    reader = recognising(readers, url, content_type, body)
    return (body, content_type) if reader is None else (reader.to_html(url, content_type, body).html, HTML)


def extensions_of(readers: Sequence[DocumentReader]) -> frozenset[str]:
    """Return the extensions of the files that can be read."""
    return frozenset(extension for one in readers for extension in one.extensions)


class SourceReader:
    """Reads one kind of source. A class of your own overrides what differs."""

    kind: Kind = Kind.FEED
    """The kind of the source, e.g. ``Kind("timeline", like=Kind.FEED)``."""

    def claims(self, url: str) -> bool:  # noqa: ARG002  (an interface)
        """Return True if the address alone shows that a source is of this kind."""
        return False

    def address(self, url: str) -> str:
        """Return the address that is requested for a source that this reader claims."""
        return url

    def recognises(self, url: str, content_type: str, body: bytes) -> bool:  # noqa: ARG002  (an interface)
        """Return True if a response is of this kind. ``content_type`` is its header, empty if it has none."""
        return self.claims(url)

    def read(self, body: bytes, url: str, content_type: str, dates: SiteDates) -> Feed | Sitemap:
        """Return the links of a source.

        ``dates`` says how the site writes dates. ``Feed.ttl`` says how often the source may be polled at
        most. Raises :class:`newsbot.pages.discovery.feeds.SourceError`. The function may run in any
        thread.
        """
        raise NotImplementedError


class Sitemaps(SourceReader):
    """Reads sitemaps and their indexes."""

    kind = Kind.SITEMAP

    def recognises(self, url: str, content_type: str, body: bytes) -> bool:  # noqa: ARG002  (an interface)
        """See :class:`SourceReader`."""
        return _root_of(body) in (b"urlset", b"sitemapindex")

    def read(self, body: bytes, url: str, content_type: str, dates: SiteDates) -> Sitemap:  # noqa: ARG002
        """See :class:`SourceReader`."""
        return parse_sitemap(body, url, dates=dates)


class Feeds(SourceReader):
    """Reads RSS, RDF, Atom and JSON Feed."""

    def recognises(self, url: str, content_type: str, body: bytes) -> bool:  # noqa: ARG002  (an interface)
        """See :class:`SourceReader`."""
        return _root_of(body) in (b"rss", b"rdf", b"feed", _JSON)

    def read(self, body: bytes, url: str, content_type: str, dates: SiteDates) -> Feed:
        """See :class:`SourceReader`."""
        return parse_feed(body, url, content_type, dates=dates)


BUILT_IN: tuple[SourceReader, ...] = (Sitemaps(), Feeds())
"""The readers of all crawls, after those of apps."""


def checked(reader: object, place: str) -> SourceReader:
    """Return the reader at ``place``. Raises :class:`ArgumentError` if it is no reader of sources."""
    if isinstance(reader, SourceReader) and isinstance(reader.kind, Kind) and reader.kind.is_listing:
        return reader
    wanted = "an object (not a class) of a SourceReader whose kind is a Kind like feed or sitemap"
    raise ArgumentError(f"{place} must be {wanted}; it is {reader!r:.80}")


def claiming(readers: Sequence[SourceReader], url: str) -> SourceReader | None:
    """Return the reader of a feed by its address; None if the address does not tell."""
    return next((one for one in readers if one.claims(url)), None)


_Reader = TypeVar("_Reader", SourceReader, DocumentReader)


def recognising(readers: Sequence[_Reader], url: str, content_type: str, body: bytes) -> _Reader | None:
    """Return the reader of a response by its content; None if it is neither a source nor a document."""
    return next((one for one in readers if one.recognises(url, content_type, body)), None)


def readers_like(readers: Sequence[SourceReader], kind: Kind) -> list[SourceReader]:
    """Return the readers of sources that are like a kind. The last of them reads feeds or sitemaps."""
    return [one for one in readers if one.kind.like is kind.like]


def read_source(
    readers: Sequence[SourceReader], body: bytes, url: str, content_type: str, dates: SiteDates
) -> Feed | Sitemap:
    """Read a source with the first reader that recognises it, otherwise with the last reader.

    Any error of a reader counts as an invalid source. Raises
    :class:`newsbot.pages.discovery.feeds.SourceError`.
    """
    chosen = readers[-1]
    try:
        for chosen in readers:
            if chosen is readers[-1] or chosen.recognises(url, content_type, body):
                break
        read = chosen.read(body, url, content_type, dates)
        return read if chosen in BUILT_IN else _checked(read, Sitemap if isinstance(read, Sitemap) else Feed)
    except SourceError:
        raise
    except Exception as error:
        logger, name = logging.getLogger(__name__), f"{type(chosen).__module__}.{type(chosen).__qualname__}"
        logger.error("reader=%s failed url=%s error=%s: %s", name, url, type(error).__name__, error)
        logger.debug("reader=%s failed", name, exc_info=True)
        raise FeedError("not_a_feed") from error


_HINTS: dict[Any, dict[str, Any]] = {one: get_type_hints(one) for one in (Feed, Sitemap, Link, Hub, Child)}


def _checked(value: Any, hint: Any, place: str = "the result of read()") -> Any:
    """Return a value of the result of a reader. Raises ``TypeError`` if its type is not the declared one.

    Otherwise the crawl would fail later, at a place that does not name the reader.
    """
    if type(None) in get_args(hint):  # e.g. str | None
        hint = type(None) if value is None else get_args(hint)[0]
    kind: Any = get_origin(hint) or hint
    allowed: Any = {float: float | int, Literal: str, Medium: dict}.get(kind, kind)
    # A time without a zone cannot be compared with the times of a crawl.
    if not isinstance(value, allowed) or getattr(value, "tzinfo", 0) is None:
        raise TypeError(f"{place} is {value!r:.80}, not {kind}{' with tzinfo' * hasattr(kind, 'tzinfo')}")
    for number, one in enumerate(value if kind in (list, tuple, frozenset) else ()):
        _checked(one, get_args(hint)[0], f"{place}[{number}]")
    for name, declared in _HINTS.get(kind, {}).items():
        _checked(getattr(value, name), declared, f"{place}.{name}")
    return value


# Matches declarations, comments and a DOCTYPE, then <rss>, <atom:feed>, <urlset> and so on. "{0,20}+" is
# possessive: it never backtracks, so a page that consists of comments takes no longer.
OTHER_ROOT = re.compile(
    rb"^(?:<\?.{0,300}?\?>|<!--.{0,500}?-->|<!DOCTYPE.{0,300}?>|\s){0,20}+"
    rb"<(?:\w{1,20}:)?(rss|rdf|feed|urlset|sitemapindex|opml)[\s>]",
    re.IGNORECASE | re.DOTALL,
)
_JSON_FEED = re.compile(rb"^\{.{0,500}https?:\\?/\\?/(?:www\.)?jsonfeed\.org\\?/version", re.DOTALL)
_JSON = b"{"
_HEAD = 2048


def _root_of(body: bytes) -> bytes | None:
    """Return the name of the root element of a feed or sitemap, also in gzip; None for all other content."""
    head = gunzip(body, _HEAD)[:_HEAD].lstrip(b"\xef\xbb\xbf \t\r\n")
    if _JSON_FEED.search(head):
        return _JSON
    root = OTHER_ROOT.search(head)
    return None if root is None or b"<html" in head.lower() else root[1].lower()
