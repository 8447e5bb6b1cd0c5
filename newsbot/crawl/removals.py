"""What people have taken out and the crawl must not collect again."""

from __future__ import annotations

from newsbot.crawl.context import Context
from newsbot.items import Article
from newsbot.sites.removals import LateArrivals, RemovalNotes


class Removals:
    """The notes of ``scrapy remove``, and the articles that this worker stored while one was written."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._tombstones, self._latecomers = RemovalNotes(context.clock), LateArrivals()

    def read(self) -> None:
        """Read the notes. Raises :class:`newsbot.errors.DataError`."""
        self._tombstones.read(self._context.notes)

    def covers(self, key: bytes, host: str) -> bool:
        """Return True for a URL (its fingerprint, its host) that somebody has taken out."""
        self._tombstones.refresh(self._context.notes)
        return self._tombstones.covers(key, host)

    def covers_site(self, domain: str) -> bool:
        """Return True for a site of which nothing is to be kept."""
        return self._tombstones.covers_site(domain)

    def stored(self, article: Article) -> None:
        """Remember an article that was stored, or whose address was."""
        self._latecomers.stored(article)

    def take_out(self) -> None:
        """Delete what was stored while somebody took it out. Raises :class:`newsbot.errors.DataError`."""
        self.read()
        context = self._context
        gone = self._latecomers.take_out(
            self._tombstones.covers, context.storage, context.index, context.clock()
        )
        if gone:
            context.count("removed_again", gone)
