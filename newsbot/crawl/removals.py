"""Keeps the crawl from collecting pages and sites again that people have removed (``scrapy remove``)."""

from __future__ import annotations

from newsbot.crawl.context import Context
from newsbot.items import Article
from newsbot.sites.pauses_and_removals import LateArrivals, RemovalNotes


class Removals:
    """Holds the removed pages and sites, and the articles stored since the notes were last read.

    A page may be removed by another program while this worker stores its article. Such articles are deleted
    at the next heartbeat.
    """

    def __init__(self, context: Context) -> None:
        self._context = context
        self._tombstones, self._latecomers = RemovalNotes(context.clock), LateArrivals()

    def read(self) -> None:
        """Read the notes. Raises :class:`newsbot.errors.DataError`."""
        self._tombstones.read(self._context.notes)

    def covers(self, key: bytes, host: str) -> bool:
        """Return True if a URL was removed. ``key`` is its fingerprint, ``host`` its host key.

        Outside of a section, a server's notes are not read again, because this would block the event loop.
        """
        if self._context.storage.is_local or self._context.calls.in_section:
            self._tombstones.refresh(self._context.notes)
        return self._tombstones.covers(key, host)

    def covers_site(self, domain: str) -> bool:
        """Return True for a site that was removed as a whole."""
        return self._tombstones.covers_site(domain)

    def stored(self, article: Article) -> None:
        """Remember an article that was stored or moved to another address. :meth:`take_out` checks it."""
        self._latecomers.stored(article)

    def take_out(self) -> None:
        """Delete articles that were stored while somebody removed them.

        Raises :class:`newsbot.errors.DataError`.
        """
        self.read()
        context = self._context
        gone = self._latecomers.take_out(
            self._tombstones.covers, context.storage, context.index, context.clock()
        )
        if gone:
            context.count("removed_again", gone)
