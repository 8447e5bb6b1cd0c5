"""From XML events to a sitemap. Image, video and language extensions are passed over."""

from __future__ import annotations

from contextlib import suppress

from newsbot.discovery.sitemapparts import Entry, SitemapCollector
from newsbot.discovery.xmlread import Enough

_MAX_TEXT = 20_000
_MAX_ELEMENTS = 3_000_000
_FIELDS = {
    "loc": "loc",
    "lastmod": "lastmod",
    "news:title": "title",
    "news:publication_date": "published",
}


class SitemapHandler:
    """Told of a document by a reader, it fills a :class:`SitemapCollector`."""

    def __init__(self, found: SitemapCollector) -> None:
        self.wants_text = False
        self._found = found
        self._entry: Entry | None = None
        self._is_child = False
        self._captured: str | None = None
        self._parts: list[str] = []
        self._size = 0
        self._elements = 0

    def start(self, name: str, attributes: dict[str, str]) -> None:  # noqa: ARG002 - none matters
        """See :class:`newsbot.discovery.xmlread.Handler`."""
        self._elements += 1
        if self._elements > _MAX_ELEMENTS:
            self._found.problem("too_long")
            raise Enough
        if name in ("url", "sitemap"):
            self._close_entry()
            self._entry, self._is_child = Entry(), name == "sitemap"
        elif self._entry is not None:
            if name in _FIELDS:
                self._captured, self._parts, self._size = name, [], 0
                self.wants_text = True
            elif name == "news:news":
                self._entry.news = True

    def data(self, text: str) -> None:
        """See :class:`newsbot.discovery.xmlread.Handler`."""
        if self._size < _MAX_TEXT:
            self._parts.append(text[:_MAX_TEXT])
            self._size += len(text)

    def end(self, name: str) -> None:
        """See :class:`newsbot.discovery.xmlread.Handler`."""
        if name == self._captured:
            if self._entry is not None:
                setattr(self._entry, _FIELDS[name], "".join(self._parts).strip())
            self._captured, self.wants_text = None, False
        elif name in ("url", "sitemap", "urlset", "sitemapindex"):
            self._close_entry()

    def close(self) -> None:
        """The document is over; an open entry is taken if its address is whole."""
        with suppress(Enough):
            self._close_entry()

    def _close_entry(self) -> None:
        entry, self._entry = self._entry, None
        self._captured, self.wants_text = None, False
        if entry is not None and (entry.loc or not self._is_child):
            (self._found.add_child if self._is_child else self._found.add)(entry)
