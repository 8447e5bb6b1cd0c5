"""Storage in MongoDB (a replica set or a sharded cluster): any number of workers share it.

Each part of the collections has its module (schema.py lists them). Here are pages, articles and search; the
rest is in records.py and upkeep.py. A write is acknowledged when a majority has it in its journal, and is
idempotent: what calls again after a fault does no harm. This package is the only place that imports pymongo.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from datetime import datetime

from newsbot.connections.mongo import connect, readable_errors
from newsbot.items import Article, Kind, PageRecord
from newsbot.search.index.background import Background
from newsbot.search.index.indexer import index_all
from newsbot.search.index.searching import WordIndex
from newsbot.search.query import ArticleFilter, Hit
from newsbot.storage.base import Joined, RepeatedText, Stored, Story
from newsbot.storage.mongo import (
    articles,
    changes,
    discovery,
    readdress,
    search,
    store,
    stories,
    transfer,
    words,
)
from newsbot.storage.mongo import pages as page_collection
from newsbot.storage.mongo.records import Records
from newsbot.storage.mongo.schema import prepare
from newsbot.storage.mongo.transaction import transact
from newsbot.storage.mongo.upkeep import Upkeep
from newsbot.storage.transfer import ArticleCopy

__all__ = ["MongoStorage"]


class MongoStorage(Records, Upkeep):
    """:class:`newsbot.storage.base.Storage` and :class:`newsbot.storage.results.SearchResults` in MongoDB."""

    def __init__(self, uri: str, *, database: str | None = None, hurried: bool = False) -> None:
        """Open the database that ``database`` or else the URI names (``newsbot`` if neither does).

        ``hurried``: an answer that takes longer than a few seconds is a fault (the caller tries again).
        Raises :class:`newsbot.errors.DataError` kinds, in one line without credentials.
        """
        super().__init__(connect(uri, database, hurried=hurried))
        self._blocks = words.MongoBlocks(self._place)
        self._words = WordIndex(self._blocks)
        self._background = Background(lambda: nullcontext(words.MongoBlocks(self._place)))
        try:
            with readable_errors(self._place.name):
                prepare(self._place)
        except BaseException:
            self._place.client.close()
            raise

    # --- pages
    def discover(self, pages: Sequence[PageRecord]) -> None:
        """See :meth:`newsbot.storage.base.Storage.discover`."""
        if pages:
            with self._readable() as database:
                discovery.discover(database, pages)

    def pages(self, fingerprints: Sequence[bytes]) -> dict[bytes, PageRecord]:
        """See :meth:`newsbot.storage.base.Storage.pages`."""
        with self._readable() as database:
            return page_collection.pages(database, fingerprints)

    def save_pages(self, pages: Sequence[PageRecord]) -> None:
        """See :meth:`newsbot.storage.base.Storage.save_pages`."""
        if pages:
            with self._readable() as database:
                page_collection.save_pages(database, pages)

    def iter_pages(
        self, *, source: str | None = None, kind: Kind | None = None, state: str | None = None
    ) -> Iterator[PageRecord]:
        """See :meth:`newsbot.storage.base.Storage.iter_pages`."""
        return self._streamed(page_collection.page_batches(self._place.database, source, kind, state))

    def due_pages(self, *, after: float, until: float) -> Iterator[PageRecord]:
        """See :meth:`newsbot.storage.base.Storage.due_pages`."""
        return self._streamed(page_collection.due_batches(self._place.database, after, until))

    # --- articles
    def store(self, article: Article, over: str | None = None) -> Stored:
        """See :meth:`newsbot.storage.base.Storage.store`."""
        with self._readable() as database:
            try:
                stored = transact(self._place, lambda session: store.store(database, session, article, over))
            except store.Taken as taken:
                return taken.stored
        self._background.stored(self._blocks.count_waiting)
        return stored

    def readdress(self, canonical_url: str, content_hash: str, to: str) -> bool:
        """See :meth:`newsbot.storage.base.Storage.readdress`."""
        with self._readable() as database:
            return transact(
                self._place,
                lambda session: readdress.readdress(database, session, canonical_url, content_hash, to),
            )

    def article(self, canonical_url: str) -> Article | None:
        """See :meth:`newsbot.storage.base.Storage.article`."""
        with self._readable() as database:
            return articles.article(database, canonical_url)

    def text_owner(self, source: str, content_hash: str) -> str | None:
        """See :meth:`newsbot.storage.base.Storage.text_owner`."""
        with self._readable() as database:
            return articles.text_owner(database, source, content_hash)

    def assign_story(self, canonical_url: str, story: str, duplicate_of: str | None) -> None:
        """See :meth:`newsbot.storage.base.Storage.assign_story`."""
        with self._readable() as database:
            articles.assign_story(database, canonical_url, story, duplicate_of)

    def save_rights(self, canonical_url: str, rights: Mapping[str, str]) -> None:
        """See :meth:`newsbot.storage.base.Storage.save_rights`."""
        with self._readable() as database:
            articles.save_rights(database, canonical_url, rights)

    def join_stories(self, canonical_urls: Sequence[str]) -> Joined:
        """See :meth:`newsbot.storage.base.Storage.join_stories`."""
        with self._readable() as database:
            if len(canonical_urls) == 1 and (settled := stories.settled(database, canonical_urls[0])):
                return settled
            return transact(self._place, lambda session: stories.join(database, session, canonical_urls))

    def versions(self, canonical_url: str) -> list[Article]:
        """See :meth:`newsbot.storage.base.Storage.versions`."""
        with self._readable() as database:
            return articles.versions(database, canonical_url)

    def iter_articles(self, where: ArticleFilter | None = None) -> Iterator[Article]:
        """See :meth:`newsbot.storage.base.Storage.iter_articles`."""
        return self._streamed(articles.article_batches(self._place.database, where))

    def count_articles(self, where: ArticleFilter | None = None) -> int:
        """See :meth:`newsbot.storage.base.Storage.count_articles`."""
        with self._readable() as database:
            return articles.count_articles(database, where)

    def search(
        self, query: str, where: ArticleFilter | None = None, *, limit: int = 20, by_time: bool = False
    ) -> list[Hit]:
        """See :meth:`newsbot.storage.base.Storage.search`."""
        with self._readable() as database:
            return search.search(
                database,
                self._words,
                query,
                where,
                limit=limit,
                by_time=by_time,
                patience=self._place.patience,
            )

    def stories(
        self,
        *,
        since: datetime | None = None,
        min_members: int = 2,
        min_sources: int = 1,
        limit: int = 50,
    ) -> list[Story]:
        """See :meth:`newsbot.storage.base.Storage.stories`."""
        with self._readable() as database:
            return stories.stories(
                database, since, (min_members, min_sources), limit, patience=self._place.patience
            )

    def repeated_texts(self, *, least: int = 10, limit: int = 100) -> list[RepeatedText]:
        """See :meth:`newsbot.storage.base.Storage.repeated_texts`."""
        with self._readable() as database:
            return articles.repeated_texts(database, least, limit, patience=self._place.patience)

    # --- what is new
    def changed(self, where: ArticleFilter | None = None, *, after: float, until: float) -> Iterator[Article]:
        """See :meth:`newsbot.storage.changes.Changes.changed`."""
        return self._streamed(changes.changed_batches(self._place.database, where, after, until))

    # --- the word index
    def take_articles(self, copies: Sequence[ArticleCopy]) -> None:
        """See :meth:`newsbot.storage.transfer.Transfer.take_articles`."""
        with self._readable() as database:
            transfer.take_articles(database, copies)
        self._background.stored(self._blocks.count_waiting, len(copies))

    def waiting(self) -> int:
        """See :meth:`newsbot.storage.indexing.Indexing.waiting`."""
        return self._blocks.count_waiting(0)

    def index(self) -> bool:
        """See :meth:`newsbot.storage.indexing.Indexing.index`."""
        return index_all(self._blocks)

    def close(self) -> None:
        """See :meth:`newsbot.storage.base.Storage.close`."""
        self._background.close()
        self._place.client.close()
