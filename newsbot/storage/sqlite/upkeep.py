"""Taking out, letting go of what is old, and copies for another storage."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime

from newsbot.connections.sqlite import readable_errors
from newsbot.storage.base import (
    SiteRecord,
)
from newsbot.storage.books import Book
from newsbot.storage.sqlite import (
    books,
    removal,
    retention,
    transfer,
)
from newsbot.storage.sqlite.access import Access
from newsbot.storage.transfer import AliasCopy, ArticleCopy, PageCopy, Sites, TextCopy


class Upkeep(Access):
    """What goes, and what moves; each method is one step."""

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
