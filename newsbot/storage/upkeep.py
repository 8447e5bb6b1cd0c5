"""Interfaces for deleting data permanently, and for copying all data from one storage to another.

The storage itself does not record what was removed. This is done by
:mod:`newsbot.sites.pauses_and_removals`.

Copies are made for ``scrapy move``, and contain all data. A storage of any backend that loads them returns
the same results as the original. Copies are sorted by their keys, so that an interrupted move can continue
after the last key. No other process should write during the move.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from newsbot.items import Article, PageRecord
from newsbot.storage.sources import SiteRecord
from newsbot.storage.waiting import WaitingLink

REMOVED_AT_ONCE = 500
"""Maximum number of articles or pages that callers should pass in one call of :class:`Removal`.

The number is large, because each call may have to read the list of texts of each site once.
"""
AT_ONCE = 500
"""Number of copies that a storage reads with one query."""

Domains = Sequence[str] | None
"""The domains of the sites to copy; None for all."""


class Removal(Protocol):
    """Deletes data on request (methods ``addresses`` to ``site``), and old data (``old_versions`` and below).

    Current versions of articles and page records are never deleted as old data. Without its record, a crawl
    would treat an old page as a new page.
    """

    def addresses(self, canonical_urls: Sequence[str]) -> list[str]:
        """Return the other URLs (aliases) of these articles."""

    def articles(self, canonical_urls: Sequence[str]) -> int:
        """Delete articles with their versions, texts and other URLs. Return the number of deleted articles.

        Their URLs are also removed from ``duplicate_of`` and ``derived_from`` of other articles. If a URL is
        only an alias of an article, the alias is deleted.
        """

    def pages(self, fingerprints: Sequence[bytes]) -> int:
        """Delete page records, with the checks and search results of these pages.

        Checks and results are deleted even if the page has no record. Return the number of deleted records.
        """

    def sources(self, urls: Sequence[str]) -> int:
        """Delete the records of feeds, sitemaps and sections, with their polls.

        Return the number of deleted records.
        """

    def site(self, site: str) -> None:
        """Delete the counters of a site."""

    def old_versions(self, before: datetime) -> int:
        """Return the number of earlier versions of articles that were fetched before this time."""

    def drop_versions(self, before: datetime, limit: int) -> int:
        """Delete at most ``limit`` of the versions that :meth:`old_versions` counts.

        Return the number of deleted versions; 0 means that none were left.
        """

    def old_pages(self, before: float) -> int:
        """Return the number of old page records that still have their history or their referrers.

        A record is old if the page is never due again and was last fetched before this time (POSIX seconds).
        If the page was never fetched, the time when it was first seen counts.
        """

    def slim_pages(self, before: float, limit: int) -> int:
        """Delete history and referrers of at most ``limit`` of the records that :meth:`old_pages` counts.

        Return the number of changed records; 0 means that none were left. The other fields of the records are
        not changed: URL, state, counters, validators and times.
        """


@dataclass(frozen=True, slots=True)
class PageCopy:
    """A page record with the bitmap of the referrers that are not stored as URLs.

    The bitmap is explained in :class:`newsbot.storage.pages.Referrers`.
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
    """A story that was joined with another story (:meth:`newsbot.storage.stories.Stories.join`)."""

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
    """The polls of a source on one day (:class:`newsbot.storage.sources.Sources`)."""

    url: str
    day: int
    polls: tuple[str, ...]
    """The polls in their stored form, sorted as text."""


@dataclass(frozen=True, slots=True)
class SiteHour:
    """The counters of a site in one hour (:class:`newsbot.storage.sources.Activity`)."""

    source: str
    hour: int
    counts: tuple[int, ...]
    """The counters, in the order of :data:`newsbot.storage.sources.COUNTED`."""


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
