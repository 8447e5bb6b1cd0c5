"""Storage in the embedded data file (SQLite, WAL): several processes may share it.

Each part of the tables has its module. Here are pages, articles and search; the rest is in records.py and
upkeep.py, transactions in access.py. A write is one transaction: all of it or nothing, also when the disk is
full or the process is killed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from datetime import datetime
from pathlib import Path

from newsbot.connections.sqlite import open_database
from newsbot.items import Article, Kind, PageRecord
from newsbot.search.index.background import Background
from newsbot.search.index.blocks import BlockStore
from newsbot.search.index.indexer import index_all
from newsbot.search.index.searching import WordIndex
from newsbot.search.query import ArticleFilter, Hit
from newsbot.storage.base import Joined, RepeatedText, Stored, Story
from newsbot.storage.sqlite import (
    articles,
    changes,
    readdress,
    search,
    store,
    stories,
    transfer,
    words,
)
from newsbot.storage.sqlite import pages as page_table
from newsbot.storage.sqlite.records import Records
from newsbot.storage.sqlite.schema import MIGRATIONS
from newsbot.storage.sqlite.upkeep import Upkeep
from newsbot.storage.transfer import ArticleCopy

__all__ = ["SqliteStorage"]

_ALL = 1 << 62


class SqliteStorage(Records, Upkeep):
    """:class:`newsbot.storage.base.Storage`, and what searches found, in one file."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._blocks = words.SqliteBlocks(self._database, path)
        self._words = WordIndex(self._blocks)
        self._background = Background(self._blocks_apart)

    # --- pages
    def discover(self, pages: Sequence[PageRecord]) -> None:
        """See :meth:`newsbot.storage.base.Storage.discover`."""
        if pages:
            with self._writing() as database:
                page_table.discover(database, pages)

    def pages(self, fingerprints: Sequence[bytes]) -> dict[bytes, PageRecord]:
        """See :meth:`newsbot.storage.base.Storage.pages`."""
        with self._reading() as database:
            return page_table.pages(database, fingerprints)

    def save_pages(self, pages: Sequence[PageRecord]) -> None:
        """See :meth:`newsbot.storage.base.Storage.save_pages`."""
        if pages:
            with self._writing() as database:
                page_table.save_pages(database, pages)

    def iter_pages(
        self, *, source: str | None = None, kind: Kind | None = None, state: str | None = None
    ) -> Iterator[PageRecord]:
        """See :meth:`newsbot.storage.base.Storage.iter_pages`."""
        return self._streamed(page_table.page_batches(self._database, source, kind, state))

    def due_pages(self, *, after: float, until: float) -> Iterator[PageRecord]:
        """See :meth:`newsbot.storage.base.Storage.due_pages`."""
        return self._streamed(page_table.due_batches(self._database, after, until))

    # --- articles
    def store(self, article: Article, over: str | None = None) -> Stored:
        """See :meth:`newsbot.storage.base.Storage.store`."""
        with self._writing() as database:
            stored = store.store(database, article, over)
        self._background.stored(self._blocks.count_waiting)
        return stored

    def readdress(self, canonical_url: str, content_hash: str, to: str) -> bool:
        """See :meth:`newsbot.storage.base.Storage.readdress`."""
        with self._writing() as database:
            return readdress.readdress(database, canonical_url, content_hash, to)

    def article(self, canonical_url: str) -> Article | None:
        """See :meth:`newsbot.storage.base.Storage.article`."""
        with self._reading() as database:
            return articles.article(database, canonical_url)

    def text_owner(self, source: str, content_hash: str) -> str | None:
        """See :meth:`newsbot.storage.base.Storage.text_owner`."""
        with self._reading() as database:
            return articles.text_owner(database, source, content_hash)

    def assign_story(self, canonical_url: str, story: str, duplicate_of: str | None) -> None:
        """See :meth:`newsbot.storage.base.Storage.assign_story`."""
        with self._writing() as database:
            articles.assign_story(database, canonical_url, story, duplicate_of)

    def save_rights(self, canonical_url: str, rights: Mapping[str, str]) -> None:
        """See :meth:`newsbot.storage.base.Storage.save_rights`."""
        with self._writing() as database:
            articles.save_rights(database, canonical_url, rights)

    def join_stories(self, canonical_urls: Sequence[str]) -> Joined:
        """See :meth:`newsbot.storage.base.Storage.join_stories`."""
        if len(canonical_urls) == 1:
            with self._reading() as database:
                if settled := stories.settled(database, canonical_urls[0]):
                    return settled
        with self._writing() as database:
            return stories.join(database, canonical_urls)

    def versions(self, canonical_url: str) -> list[Article]:
        """See :meth:`newsbot.storage.base.Storage.versions`."""
        with self._reading() as database:
            return articles.versions(database, canonical_url)

    def iter_articles(self, where: ArticleFilter | None = None) -> Iterator[Article]:
        """See :meth:`newsbot.storage.base.Storage.iter_articles`."""
        return self._streamed(articles.article_batches(self._database, where))

    def count_articles(self, where: ArticleFilter | None = None) -> int:
        """See :meth:`newsbot.storage.base.Storage.count_articles`."""
        with self._reading() as database:
            return articles.count_articles(database, where)

    def search(
        self, query: str, where: ArticleFilter | None = None, *, limit: int = 20, by_time: bool = False
    ) -> list[Hit]:
        """See :meth:`newsbot.storage.base.Storage.search`."""
        with self._reading() as database:
            return search.search(database, self._words, query, where, limit=limit, by_time=by_time)

    def stories(
        self,
        *,
        since: datetime | None = None,
        min_members: int = 2,
        min_sources: int = 1,
        limit: int = 50,
    ) -> list[Story]:
        """See :meth:`newsbot.storage.base.Storage.stories`."""
        with self._reading() as database:
            return stories.stories(database, since, min_members, min_sources, limit)

    def repeated_texts(self, *, least: int = 10, limit: int = 100) -> list[RepeatedText]:
        """See :meth:`newsbot.storage.base.Storage.repeated_texts`."""
        with self._reading() as database:
            return articles.repeated_texts(database, least, limit)

    # --- what is new
    def changed(self, where: ArticleFilter | None = None, *, after: float, until: float) -> Iterator[Article]:
        """See :meth:`newsbot.storage.changes.Changes.changed`."""
        return self._streamed(changes.changed_batches(self._database, where, after, until))

    # --- the word index
    def take_articles(self, copies: Sequence[ArticleCopy]) -> None:
        """See :meth:`newsbot.storage.transfer.Transfer.take_articles`."""
        with self._writing() as database:
            transfer.take_articles(database, copies)
        self._background.stored(self._blocks.count_waiting, len(copies))

    def waiting(self) -> int:
        """See :meth:`newsbot.storage.indexing.Indexing.waiting`."""
        return self._blocks.count_waiting(_ALL)

    def index(self) -> bool:
        """See :meth:`newsbot.storage.indexing.Indexing.index`."""
        return index_all(self._blocks)

    def close(self) -> None:
        """See :meth:`newsbot.storage.base.Storage.close`."""
        self._background.close()
        self._database.close()

    def interrupt(self) -> None:
        """Break off what another thread reads now: it raises :class:`newsbot.errors.DataError`."""
        self._database.interrupt()

    @contextmanager
    def _blocks_apart(self) -> Iterator[BlockStore]:
        """The word index on a connection of its own, for another thread."""
        with closing(open_database(self._path, component="storage", migrations=MIGRATIONS)) as database:
            yield words.SqliteBlocks(database, self._path)
