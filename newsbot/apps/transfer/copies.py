"""Copies of all data of a storage, and the interfaces that read and write them.

A storage of any backend that loads the copies returns the same results as the original. Copies are sorted by
their keys, so that an interrupted move can continue after the last key. No other process should write during
the move.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from newsbot.items import Article, PageRecord
from newsbot.storage.base import SiteRecord, Storage, WaitingLink

AT_ONCE = 500
"""Number of copies that a storage reads with one query."""

Domains = Sequence[str] | None
"""The domains of the sites to copy; None for all."""


@dataclass(frozen=True, slots=True)
class PageCopy:
    """A page record with the bitmap of the referrers that are not stored as URLs.

    The bitmap is explained in :class:`newsbot.storage.base.Referrers`.
    """

    page: PageRecord
    bitmap: bytes = b""

    @property
    def key(self) -> str:
        """The fingerprint in hexadecimal."""
        return self.page.fingerprint.hex()


@dataclass(frozen=True, slots=True)
class ArticleCopy:
    """An article with its earlier versions, the oldest first."""

    fingerprint: bytes
    """Fingerprint of the canonical URL."""
    article: Article
    earlier: tuple[Article, ...]

    @property
    def key(self) -> str:
        """The fingerprint in hexadecimal."""
        return self.fingerprint.hex()


@dataclass(frozen=True, slots=True)
class TextCopy:
    """A text that an article of a site has or once had. Only its hash is copied."""

    source: str
    content_hash: str
    article: bytes
    """The fingerprint of the article's canonical URL."""

    @property
    def key(self) -> str:
        """Site and hash, separated by a space. Neither the site nor the hash contains a space."""
        return f"{self.source} {self.content_hash}"


@dataclass(frozen=True, slots=True)
class AliasCopy:
    """Another URL of an article."""

    fingerprint: bytes
    url: str
    article: bytes
    """The fingerprint of the article's canonical URL."""

    @property
    def key(self) -> str:
        """The fingerprint in hexadecimal."""
        return self.fingerprint.hex()


@dataclass(frozen=True, slots=True)
class JoinedStory:
    """A story that was joined with another story (:meth:`newsbot.storage.articles.Stories.join`)."""

    story: str
    into: str
    """The id of the story to which its articles belong now."""


@dataclass(frozen=True, slots=True)
class KeptNote:
    """A note (:mod:`newsbot.storage.notes`)."""

    kind: str
    key: str
    body: str
    """The note as JSON."""


@dataclass(frozen=True, slots=True)
class PollDay:
    """The polls of a source on one day (:class:`newsbot.storage.base.Sources`)."""

    url: str
    day: int
    polls: tuple[str, ...]
    """The polls in their stored form, sorted as text."""


@dataclass(frozen=True, slots=True)
class SiteHour:
    """The counters of a site in one hour (:class:`newsbot.storage.base.Activity`)."""

    source: str
    hour: int
    counts: tuple[int, ...]
    """The counters, in the order of :data:`newsbot.storage.base.COUNTED`."""


Book = JoinedStory | KeptNote | PollDay | SiteHour | WaitingLink
"""Copies of data other than pages and articles. A crawl works without these data, but has to collect them
again."""


class Dump(Protocol):
    """Reads copies of all data of a storage, sorted by key.

    ``after`` is the key of the last copy that an earlier call returned. The stream continues after this copy.
    With an empty key, the stream begins with the first copy.
    """

    def count(self) -> dict[str, int]:
        """Return approximate numbers for progress bars.

        The keys are ``pages``, ``articles``, ``texts`` and ``aliases``.
        """

    def pages(self, after: str = "", sites: Domains = None) -> Iterator[PageCopy]:
        """Stream all pages."""

    def articles(self, after: str = "", sites: Domains = None) -> Iterator[ArticleCopy]:
        """Stream all articles."""

    def texts(self, after: str = "", sites: Domains = None) -> Iterator[TextCopy]:
        """Stream all texts that articles have or had."""

    def aliases(self, after: str = "", sites: Domains = None) -> Iterator[AliasCopy]:
        """Stream all other URLs of articles."""

    def books(self) -> Iterator[Book]:
        """Stream joined stories, notes, days of polls, and hourly counters."""


class Load(Protocol):
    """Writes the copies of :class:`Dump`. Existing data are not changed, except the records of sites."""

    def pages(self, copies: Sequence[PageCopy]) -> None:
        """Store pages that do not exist yet."""

    def articles(self, copies: Sequence[ArticleCopy]) -> None:
        """Store articles that do not exist yet, with their earlier versions."""

    def texts(self, copies: Sequence[TextCopy]) -> None:
        """Store texts, except those of articles that do not exist."""

    def aliases(self, copies: Sequence[AliasCopy]) -> None:
        """Store other URLs, except those of articles that do not exist."""

    def sites(self, records: Iterable[SiteRecord]) -> None:
        """Replace the records of sites."""

    def books(self, books: Sequence[Book]) -> None:
        """Store joined stories, notes, days of polls, and hourly counters that do not exist yet."""


def poll_day(url: str, day: int, polls: str) -> PollDay:
    """Return the polls of a day from their stored text, in which each poll ends with ``;``."""
    # Workers append polls in any order. The polls are sorted, so that equal days have equal copies.
    return PollDay(url, day, tuple(sorted(f"{one};" for one in polls.split(";") if one)))


def dump_of(storage: Storage) -> Dump:
    """Open what reads copies from a storage."""
    dump: Dump = storage.repository(
        {
            "data file": "newsbot.apps.transfer.copies_sqlite:SqliteDump",
            "MongoDB": "newsbot.apps.transfer.copies_mongodb:MongoDump",
        }
    )
    return dump


def load_of(storage: Storage) -> Load:
    """Open what writes copies to a storage."""
    load: Load = storage.repository(
        {
            "data file": "newsbot.apps.transfer.copies_sqlite:SqliteLoad",
            "MongoDB": "newsbot.apps.transfer.copies_mongodb:MongoLoad",
        }
    )
    return load
