"""Copies of all data of a storage: how they are read and written, and the choice of those that are moved.

A storage of any backend that writes the copies returns the same results as the original. Copies are sorted by
their keys, so that an interrupted move can continue after the last key. No other process should write during
the move.

A side is one end of a move (source or target). The choice says which data are moved.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice
from typing import Any, NamedTuple, Protocol, cast

from newsbot import backends
from newsbot.config.apps import known_apps
from newsbot.config.settings import SettingsLike
from newsbot.dedup.index import NearIndex
from newsbot.frontier.base import EntryCopy, Frontier, HostCopy, check_idle
from newsbot.items import Article, PageRecord, batched
from newsbot.pages.text.words import clean
from newsbot.sites.pauses_and_removals import REMOVED
from newsbot.storage.base import COUNTED, Referrers, SiteRecord, SourceRecord, Storage
from newsbot.urls import canonicalize, fingerprint

AT_ONCE = 500
"""Number of copies that a storage reads with one query."""

Domains = Sequence[str] | None
"""The domains of the sites to copy; None for all."""


class FrontierTransfer(Protocol):
    """Methods to copy a frontier, in addition to :class:`Frontier`."""

    def copy_hosts(self) -> Iterator[HostCopy]:
        """Yield all hosts."""

    def copy_entries(self) -> Iterator[EntryCopy]:
        """Yield all entries that are kept in full. The storage has the pages of the other URLs."""

    def take_entries(self, copies: Sequence[EntryCopy]) -> None:
        """Store the entries. Entries that are already known stay unchanged."""


class PageCopy(NamedTuple):
    """A page record with the bitmap of the referrers that are not stored as URLs.

    The bitmap is explained in :class:`newsbot.storage.base.Referrers`.
    """

    page: PageRecord
    bitmap: bytes = b""

    @property
    def key(self) -> str:
        """The fingerprint in hexadecimal."""
        return self.page.fingerprint.hex()

    @property
    def referrers(self) -> Referrers:
        """The referrers as storages keep them."""
        kept = [clean(url) for url in self.page.referrers]
        return Referrers(kept, self.page.referrer_count, self.bitmap)


class ArticleCopy(NamedTuple):
    """An article with its earlier versions, the oldest first."""

    fingerprint: bytes
    """Fingerprint of the canonical URL."""
    article: Article
    earlier: tuple[Article, ...]

    @property
    def key(self) -> str:
        """The fingerprint in hexadecimal."""
        return self.fingerprint.hex()


class TextCopy(NamedTuple):
    """A text that an article of a site has or once had. Only its hash is copied."""

    source: str
    content_hash: str
    article: bytes
    """The fingerprint of the article's canonical URL."""

    @property
    def key(self) -> str:
        """Site and hash, separated by a space. Neither the site nor the hash contains a space."""
        return f"{self.source} {self.content_hash}"


class AliasCopy(NamedTuple):
    """Another URL of an article."""

    fingerprint: bytes
    url: str
    article: bytes
    """The fingerprint of the article's canonical URL."""

    @property
    def key(self) -> str:
        """The fingerprint in hexadecimal."""
        return self.fingerprint.hex()


KINDS = ("pages", "articles", "texts", "aliases")
"""Kinds of data in a storage, in the order in which they are copied."""
BOOKS: Mapping[str, tuple[str, ...]] = {
    "joined": ("story", "into"),
    "notes": ("kind", "key", "body"),
    "polls": ("url", "day", "polls"),
    "site_hours": ("source", "hour", *COUNTED),
    "waiting_links": ("fingerprint", "source", "family", "at", "priority", "body"),
}
"""Data without which a crawl works, but which it has to collect again: a name and the names of the values.

Joined stories (:meth:`newsbot.storage.articles.Stories.join`), notes as JSON (:mod:`newsbot.storage.notes`),
the polls of a source on one day, the counters of a site in one hour, and waiting links.
"""
Book = tuple[Any, ...]
"""A key of :data:`BOOKS`, and its values. Polls are sorted, because workers write them in any order, and are
one text, in which each poll is followed by ``;``."""


class Copies(Protocol):
    """Reads and writes copies of all data of a storage, sorted by key."""

    def count(self) -> dict[str, int]:
        """Return the approximate number of copies by :data:`KINDS`, for progress bars."""

    def read(self, kind: str, after: str = "", sites: Domains = None) -> Iterator[Any]:
        """Stream the copies of one of :data:`KINDS`, or all ``books``.

        ``after`` is the key of the last copy that an earlier call returned. The stream continues after this
        copy. With an empty key, the stream begins with the first copy. Books have no key and no site.
        """

    def write(self, kind: str, copies: Sequence[Any]) -> None:
        """Store copies that do not exist yet, except texts and other URLs of articles that do not exist."""

    def put_sites(self, records: Iterable[SiteRecord]) -> None:
        """Replace the records of sites."""


def copies_of(storage: Storage) -> Copies:
    """Open what reads and writes the copies of a storage."""
    copies: Copies = storage.repository(
        {
            "data file": "newsbot.apps.transfer.copies_sqlite:SqliteCopies",
            "MongoDB": "newsbot.apps.transfer.copies_mongodb:MongoCopies",
        }
    )
    return copies


def sorted_polls(polls: str) -> str:
    """Return the polls of a day in their stored form, sorted."""
    return "".join(sorted(f"{one};" for one in polls.split(";") if one))


class WholeFrontier(Frontier, FrontierTransfer, Protocol):
    """A frontier that can be copied completely. All frontiers of newsbot are of this type."""


@dataclass(slots=True)
class Side:
    """The open backends of one end of a move. A backend that is not moved is None."""

    storage: Storage | None = None
    frontier: WholeFrontier | None = None
    index: NearIndex | None = None
    _opened: ExitStack = field(default_factory=ExitStack)

    @classmethod
    def open(cls, settings: SettingsLike, *, storage: bool = True, frontier: bool = True) -> Side:
        """Open the backends that the settings name. Raises :class:`newsbot.errors.DataError`."""
        side = cls()
        # If one backend cannot be opened, the exit stack closes those that were opened before it.
        with ExitStack() as opened:
            if storage:
                side.storage = backends.open_storage(settings)
                opened.callback(side.storage.close)
            if frontier:
                side.frontier = cast("WholeFrontier", backends.open_frontier(settings))
                opened.callback(side.frontier.close)
                side.index = backends.open_index(settings)
                opened.callback(side.index.close)
            side._opened = opened.pop_all()
        return side

    def close(self) -> None:
        """Close the backends."""
        self._opened.close()

    def check_idle(self) -> None:
        """Raise :class:`newsbot.errors.DataError` while a crawl uses this side."""
        if self.frontier is not None:
            check_idle(self.frontier)

    def totals(self) -> dict[str, int]:
        """Return the approximate number of items by kind.

        The names of the kinds are those that :mod:`newsbot.apps.transfer.command` reports.
        """
        found: dict[str, int] = {}
        if self.storage is not None:
            found = copies_of(self.storage).count()
            found |= {f"check {kind} {where}": n for kind, n in found.items() for where in ("here", "there")}
            found["check queue"] = found["pages"]
        if self.frontier is not None:
            counts = self.frontier.counts()
            found["hosts"] = counts.pop("hosts")
            found["queue"] = sum(counts.values())
        return found

    def holds_something(self) -> bool:
        """Return True if this side contains data: pages, articles, sources or a queue."""
        storage, frontier = self.storage, self.frontier
        if storage is not None and any(islice(storage.pages.iter(), 1)):
            return True
        if storage is not None and (storage.articles.count() or storage.sources.count()):
            return True
        return frontier is not None and any(frontier.counts().values())


def of_apps(storage: Storage) -> Iterator[tuple[str, Any]]:
    """Yield the repositories that apps have for this storage, with their names."""
    for app in known_apps().values():
        for name, classes in app.repositories.items():
            if storage.place in classes:
                yield name, storage.repository(classes)


NOTES = (REMOVED,)
"""Kinds of notes that are always copied.

If only a part of the data is moved, the other notes are left out. Crawls learn the content of the other notes
again.
"""


@dataclass(slots=True)
class Choice:
    """The choice of the data to move.

    ``sites`` has the domains of the chosen sites; None means all sites. ``since`` (inclusive) and ``until``
    (exclusive) are bounds of the publication time, or of the fetch time if the publication time is unknown.
    ``max_articles`` is the size of a random sample; None means all articles. The keys of the chosen articles
    are kept in memory, about 300 bytes each.
    """

    sites: tuple[str, ...] | None = None
    max_articles: int | None = None
    since: datetime | None = None
    until: datetime | None = None
    _articles: set[bytes] | None = field(default=None, init=False)
    _pages: set[bytes] = field(default_factory=set, init=False)

    @property
    def everything(self) -> bool:
        """True if all data are moved."""
        return self.sites is None and not self.of_articles

    @property
    def of_articles(self) -> bool:
        """True if only some articles are chosen. Such a copy is for reading, so nothing is queued."""
        return (self.max_articles, self.since, self.until) != (None, None, None)

    def prepare(self, storage: Storage) -> None:
        """Choose the articles. This method must be called before all other methods.

        Articles are ordered by their keys. These are hashes, so the first articles are a random sample.
        """
        if not self.of_articles:
            return
        self._articles = set()
        right = filter(self._is_in_time, copies_of(storage).read("articles", "", self.sites))
        for copy in islice(right, self.max_articles):
            self._articles.add(copy.fingerprint)
            # The page record is stored under the canonical URL, or under the URL of the page if the two
            # differ.
            self._pages.add(copy.fingerprint)
            with suppress(ValueError):  # an invalid URL has no page
                self._pages.update(
                    fingerprint(canonicalize(url)) for url in (copy.article.url, copy.article.fetched_url)
                )

    def copies(self, storage: Storage, kind: str, after: str = "") -> Iterator[Any]:
        """Yield the chosen items of one of :data:`KINDS` in the order of their keys.

        Only items after the key ``after`` are yielded.
        """
        if kind == "pages" and self.of_articles:
            return self._own_pages(storage, after)
        some = copies_of(storage).read(kind, after, self.sites)
        return some if self._articles is None else filter(self._is_chosen, some)

    def _own_pages(self, storage: Storage, after: str) -> Iterator[PageCopy]:
        """Yield the pages of the chosen articles.

        The pages are read by key, because a scan of all pages would take too long. For each page, only the
        first referrers and the number of all other referrers are copied.
        """
        for keys in batched(sorted(key for key in self._pages if key > bytes.fromhex(after)), AT_ONCE):
            found = storage.pages.get(keys)
            for page in (found[key] for key in keys if key in found):
                if self.has_site(page.source):
                    yield PageCopy(page)

    def small(self, storage: Storage) -> Iterator[tuple[str, Iterator[Any]]]:
        """Yield the small kinds of data, each as its name and its chosen items.

        If only a part of the data is moved, "notes and polls" has all joined stories, the notes in
        :data:`NOTES`, and the polls of the chosen sources.
        """
        urls: set[str] = set()
        yield "sources", self._sources(storage, urls)
        yield "sites", (one for one in storage.sites.all().values() if self.has_site(one.source))
        for name, repository in of_apps(storage):
            yield name, (one for one in repository.records() if self.has_site(one.source))
        yield (
            "notes and polls",
            (one for one in copies_of(storage).read("books") if self._has_book(one, urls)),
        )

    def _sources(self, storage: Storage, urls: set[str]) -> Iterator[SourceRecord]:
        """Yield the chosen sources. If only a part of the data is moved, add their addresses to ``urls``."""
        for record in storage.sources.iter():
            if self.has_site(record.source):
                if not self.everything:
                    urls.add(record.url)
                yield record

    def _has_book(self, book: Book, urls: set[str]) -> bool:
        kind, first, *_ = book
        if self.everything or kind == "joined":
            return True
        return (kind == "notes" and first in NOTES) or (kind == "polls" and first in urls)

    def has_article(self, article: Article) -> bool:
        """Return True if the article is chosen."""
        if self._articles is not None:
            return fingerprint(article.canonical_url) in self._articles
        return self.has_site(article.source)

    def has_site(self, domain: str) -> bool:
        """Return True if the site is chosen."""
        return self.sites is None or domain in self.sites

    def _is_in_time(self, copy: ArticleCopy) -> bool:
        moment = copy.article.published_at or copy.article.fetched_at
        if moment is None:
            return self.since is None and self.until is None
        return (self.since is None or moment >= self.since) and (self.until is None or moment < self.until)

    def _is_chosen(self, copy: ArticleCopy | TextCopy | AliasCopy) -> bool:
        assert self._articles is not None
        article = copy.fingerprint if isinstance(copy, ArticleCopy) else copy.article
        return article in self._articles
