"""Storage in the embedded data file (SQLite, WAL): several processes may share it.

Each part of the tables has its module; here are the transactions and the readable errors. A write is
one transaction: all of it or nothing, also when the disk is full or the process is killed.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

from newsbot.items import Article, Kind, PageRecord
from newsbot.sqlitefile import open_database, readable_errors, transaction
from newsbot.storage.activity import ALL, Arrival, Hour
from newsbot.storage.base import (
    ArticleFilter,
    Hit,
    Joined,
    RepeatedText,
    SiteRecord,
    SourceRecord,
    Stored,
    Story,
)
from newsbot.storage.books import Book
from newsbot.storage.checks import CheckedPage, PageCheck
from newsbot.storage.polls import Poll
from newsbot.storage.results import SearchResult, SearchSummary
from newsbot.storage.sqlite import (
    activity,
    articles,
    books,
    changes,
    notes,
    polls,
    readdress,
    removal,
    results,
    retention,
    search,
    sources,
    store,
    stories,
    transfer,
    words,
)
from newsbot.storage.sqlite import checks as page_checks
from newsbot.storage.sqlite import pages as page_table
from newsbot.storage.sqlite.schema import MIGRATIONS
from newsbot.storage.transfer import AliasCopy, ArticleCopy, PageCopy, Sites, TextCopy
from newsbot.storage.wordindex.background import Background
from newsbot.storage.wordindex.blocks import BlockStore
from newsbot.storage.wordindex.indexer import index_all
from newsbot.storage.wordindex.searching import WordIndex

__all__ = ["SqliteStorage"]

_Record = TypeVar("_Record")
_ALL = 1 << 62


class SqliteStorage:
    """:class:`newsbot.storage.base.Storage`, and what searches found, in one file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._database = open_database(path, component="storage", migrations=MIGRATIONS)
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

    # --- sources and sites
    def save_sources(self, records: Iterable[SourceRecord]) -> None:
        """See :meth:`newsbot.storage.base.Storage.save_sources`."""
        with self._writing() as database:
            sources.save_sources(database, records)

    def sources(self, source: str | None = None) -> list[SourceRecord]:
        """See :meth:`newsbot.storage.base.Storage.sources`."""
        with self._reading() as database:
            return sources.sources(database, source)

    def count_site(self, record: SiteRecord) -> None:
        """See :meth:`newsbot.storage.base.Storage.count_site`."""
        with self._writing() as database:
            sources.count_site(database, record)

    def sites(self) -> dict[str, SiteRecord]:
        """See :meth:`newsbot.storage.base.Storage.sites`."""
        with self._reading() as database:
            return sources.sites(database)

    # --- what searches over pages found
    def save_results(self, found: Sequence[SearchResult]) -> None:
        """See :meth:`newsbot.storage.results.SearchResults.save_results`."""
        with self._writing() as database:
            results.save_results(database, found)

    def results(
        self, search: str, *, text: str | None = None, source: str | None = None
    ) -> Iterator[SearchResult]:
        """See :meth:`newsbot.storage.results.SearchResults.results`."""
        return self._streamed(results.result_batches(self._database, search, text, source))

    def searches(self) -> list[SearchSummary]:
        """See :meth:`newsbot.storage.results.SearchResults.searches`."""
        with self._reading() as database:
            return results.searches(database)

    def forget_search(self, search: str) -> int:
        """See :meth:`newsbot.storage.results.SearchResults.forget_search`."""
        with self._writing() as database:
            return results.forget_search(database, search)

    # --- what looks at pages found
    def save_checks(self, checks: Sequence[PageCheck]) -> None:
        """See :meth:`newsbot.storage.checks.PageChecks.save_checks`."""
        with self._writing() as database:
            page_checks.save_checks(database, checks)

    def checked(self, fingerprints: Sequence[bytes]) -> dict[bytes, CheckedPage]:
        """See :meth:`newsbot.storage.checks.PageChecks.checked`."""
        with self._reading() as database:
            return page_checks.checked(database, fingerprints)

    def iter_checked(self, source: str | None = None, *, unlisted: bool = False) -> Iterator[CheckedPage]:
        """See :meth:`newsbot.storage.checks.PageChecks.iter_checked`."""
        return self._streamed(page_checks.checked_batches(self._database, source, unlisted=unlisted))

    def forget_checks(
        self, *, source: str | None = None, url: str | None = None, before: float | None = None
    ) -> int:
        """See :meth:`newsbot.storage.checks.PageChecks.forget_checks`."""
        with self._writing() as database:
            return page_checks.forget_checks(database, source, url, before)

    # --- notes
    def save_note(self, kind: str, key: str, note: Mapping[str, Any]) -> None:
        """See :meth:`newsbot.storage.notes.Notes.save_note`."""
        with self._writing() as database:
            notes.save_note(database, kind, key, note)

    def swap_note(self, kind: str, key: str, old: Mapping[str, Any] | None, new: Mapping[str, Any]) -> bool:
        """See :meth:`newsbot.storage.notes.Notes.swap_note`."""
        with self._writing() as database:
            return notes.swap_note(database, kind, key, old, new)

    def notes(self, kind: str) -> dict[str, dict[str, Any]]:
        """See :meth:`newsbot.storage.notes.Notes.notes`."""
        with self._reading() as database:
            return notes.notes(database, kind)

    def forget_note(self, kind: str, key: str) -> bool:
        """See :meth:`newsbot.storage.notes.Notes.forget_note`."""
        with self._writing() as database:
            return notes.forget_note(database, kind, key)

    # --- polls
    def log_poll(self, url: str, poll: Poll) -> None:
        """See :meth:`newsbot.storage.polls.PollLog.log_poll`."""
        with self._writing() as database:
            polls.log_poll(database, url, poll)

    def polls(self, url: str | None = None) -> Iterator[tuple[str, Poll]]:
        """See :meth:`newsbot.storage.polls.PollLog.polls`."""
        with self._reading() as database:
            rows = polls.rows(database, url)
        return polls.polls(rows)

    # --- activity
    def add_activity(self, at: float, sites: Mapping[str, Mapping[str, float]]) -> None:
        """See :meth:`newsbot.storage.activity.Activity.add_activity`."""
        with self._writing() as database:
            activity.add_activity(database, at, sites)

    def activity(self, since: float, source: str = ALL) -> list[Hour]:
        """See :meth:`newsbot.storage.activity.Activity.activity`."""
        with self._reading() as database:
            return activity.activity(database, since, source)

    def trends(self, since: float) -> dict[str, dict[int, int]]:
        """See :meth:`newsbot.storage.activity.Activity.trends`."""
        with self._reading() as database:
            return activity.trends(database, since)

    def watched_since(self) -> dict[str, float]:
        """See :meth:`newsbot.storage.activity.Activity.watched_since`."""
        with self._reading() as database:
            return activity.watched_since(database)

    def arrivals(self, limit: int, source: str | None = None) -> list[Arrival]:
        """See :meth:`newsbot.storage.activity.Activity.arrivals`."""
        with self._reading() as database:
            return activity.arrivals(database, limit, source)

    # --- what is new
    def changed(self, where: ArticleFilter | None = None, *, after: float, until: float) -> Iterator[Article]:
        """See :meth:`newsbot.storage.changes.Changes.changed`."""
        return self._streamed(changes.changed_batches(self._database, where, after, until))

    # --- taking out
    def addresses(self, canonical_urls: Sequence[str]) -> list[str]:
        """See :meth:`newsbot.storage.removal.Removal.addresses`."""
        with self._reading() as database:
            return removal.addresses(database, canonical_urls)

    def remove_articles(self, canonical_urls: Sequence[str]) -> int:
        """See :meth:`newsbot.storage.removal.Removal.remove_articles`."""
        with self._writing() as database:
            return removal.remove_articles(database, canonical_urls)

    def remove_pages(self, fingerprints: Sequence[bytes]) -> int:
        """See :meth:`newsbot.storage.removal.Removal.remove_pages`."""
        with self._writing() as database:
            return removal.remove_pages(database, fingerprints)

    def remove_sources(self, urls: Sequence[str]) -> int:
        """See :meth:`newsbot.storage.removal.Removal.remove_sources`."""
        with self._writing() as database:
            return removal.remove_sources(database, urls)

    def forget_site(self, source: str) -> None:
        """See :meth:`newsbot.storage.removal.Removal.forget_site`."""
        with self._writing() as database:
            removal.forget_site(database, source)

    # --- letting go of what is old
    def old_versions(self, before: datetime) -> int:
        """See :meth:`newsbot.storage.retention.Retention.old_versions`."""
        with self._reading() as database:
            return retention.old_versions(database, before)

    def drop_versions(self, before: datetime, limit: int) -> int:
        """See :meth:`newsbot.storage.retention.Retention.drop_versions`."""
        with self._writing() as database:
            return retention.drop_versions(database, before, limit)

    def old_pages(self, before: float) -> int:
        """See :meth:`newsbot.storage.retention.Retention.old_pages`."""
        with self._reading() as database:
            return retention.old_pages(database, before)

    def slim_pages(self, before: float, limit: int) -> int:
        """See :meth:`newsbot.storage.retention.Retention.slim_pages`."""
        with self._writing() as database:
            return retention.slim_pages(database, before, limit)

    # --- copies
    def count_copies(self) -> dict[str, int]:
        """See :meth:`newsbot.storage.transfer.Transfer.count_copies`."""
        with readable_errors(self._path):
            return transfer.count_copies(self._database)

    def copy_pages(self, after: str = "", sites: Sites = None) -> Iterator[PageCopy]:
        """See :meth:`newsbot.storage.transfer.Transfer.copy_pages`."""
        return self._streamed(transfer.copy_pages(self._database, after, sites))

    def copy_articles(self, after: str = "", sites: Sites = None) -> Iterator[ArticleCopy]:
        """See :meth:`newsbot.storage.transfer.Transfer.copy_articles`."""
        return self._streamed(transfer.copy_articles(self._database, after, sites))

    def copy_texts(self, after: str = "", sites: Sites = None) -> Iterator[TextCopy]:
        """See :meth:`newsbot.storage.transfer.Transfer.copy_texts`."""
        return self._streamed(transfer.copy_texts(self._database, after, sites))

    def copy_aliases(self, after: str = "", sites: Sites = None) -> Iterator[AliasCopy]:
        """See :meth:`newsbot.storage.transfer.Transfer.copy_aliases`."""
        return self._streamed(transfer.copy_aliases(self._database, after, sites))

    def take_pages(self, copies: Sequence[PageCopy]) -> None:
        """See :meth:`newsbot.storage.transfer.Transfer.take_pages`."""
        with self._writing() as database:
            transfer.take_pages(database, copies)

    def take_articles(self, copies: Sequence[ArticleCopy]) -> None:
        """See :meth:`newsbot.storage.transfer.Transfer.take_articles`."""
        with self._writing() as database:
            transfer.take_articles(database, copies)
        self._background.stored(self._blocks.count_waiting, len(copies))

    def take_texts(self, copies: Sequence[TextCopy]) -> None:
        """See :meth:`newsbot.storage.transfer.Transfer.take_texts`."""
        with self._writing() as database:
            transfer.take_texts(database, copies)

    def take_aliases(self, copies: Sequence[AliasCopy]) -> None:
        """See :meth:`newsbot.storage.transfer.Transfer.take_aliases`."""
        with self._writing() as database:
            transfer.take_aliases(database, copies)

    def take_sites(self, records: Iterable[SiteRecord]) -> None:
        """See :meth:`newsbot.storage.transfer.Transfer.take_sites`."""
        with self._writing() as database:
            transfer.take_sites(database, records)

    def copy_books(self) -> Iterator[Book]:
        """See :meth:`newsbot.storage.books.Books.copy_books`."""
        return self._streamed(books.copy_books(self._database))

    def take_books(self, some: Sequence[Book]) -> None:
        """See :meth:`newsbot.storage.books.Books.take_books`."""
        with self._writing() as database:
            books.take_books(database, some)

    def interrupt(self) -> None:
        """Break off what another thread reads now: it raises :class:`newsbot.errors.DataError`."""
        self._database.interrupt()

    # --- the word index
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

    # --- transactions and errors
    @contextmanager
    def _blocks_apart(self) -> Iterator[BlockStore]:
        """The word index on a connection of its own, for another thread."""
        with closing(open_database(self._path, component="storage", migrations=MIGRATIONS)) as database:
            yield words.SqliteBlocks(database, self._path)

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        with readable_errors(self._path), transaction(self._database) as database:
            yield database

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        """One reading method sees one state of the data, however many statements it takes."""
        with readable_errors(self._path):
            self._database.execute("BEGIN")
            try:
                yield self._database
            finally:
                if self._database.in_transaction:  # some faults end it by themselves
                    self._database.execute("ROLLBACK")

    def _streamed(self, batches: Iterator[list[_Record]]) -> Iterator[_Record]:
        while True:
            with readable_errors(self._path):
                batch = next(batches, None)
            if batch is None:
                return
            yield from batch
