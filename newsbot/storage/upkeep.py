"""Deletes data for good, and copies all data from one storage to another.

Removal: the storage does not remember what was removed; :mod:`newsbot.sites.removals` does.

Copying (``scrapy move``): a copy is complete. A storage of any kind that loads it gives the same answers as
the first one. Copies come in the order of their keys, so that a move can continue after the last key. Nobody
else should write in the meantime.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from newsbot.items import Article, PageRecord
from newsbot.storage.sources import SiteRecord

REMOVED_AT_ONCE = 500
"""Maximum number of articles or pages in one call. Each call reads the texts of their sites once."""
AT_ONCE = 500
"""Number of copies that a storage reads at once."""

Domains = Sequence[str] | None
"""Domains of the sites wanted; None: all."""


class Removal(Protocol):
    """Deletes data on request (``addresses`` to ``site``) and old data (``old_versions`` on).

    Old data do not include the current versions of articles and the records of URLs: without its record a
    crawl would take an old page for a new one.
    """

    def addresses(self, canonical_urls: Sequence[str]) -> list[str]:
        """Return the other URLs that lead to these articles."""

    def articles(self, canonical_urls: Sequence[str]) -> int:
        """Delete articles with their versions, texts, other URLs and words. Returns how many there were.

        ``duplicate_of`` and ``derived_from`` of other articles no longer name them. A URL that was an alias
        is none afterwards.
        """

    def pages(self, fingerprints: Sequence[bytes]) -> int:
        """Delete page records, and the results of searches and checks of these pages. Returns how many
        records there were.

        Results are deleted also if the page has no record.
        """

    def sources(self, urls: Sequence[str]) -> int:
        """Delete the records of feeds, sitemaps and sections, with their polls; return how many there
        were."""

    def site(self, source: str) -> None:
        """Delete the counters of a site."""

    def old_versions(self, before: datetime) -> int:
        """Return how many earlier versions of articles were fetched before this moment."""

    def drop_versions(self, before: datetime, limit: int) -> int:
        """Delete up to ``limit`` of them. Returns how many were deleted; 0 when none is left."""

    def old_pages(self, before: float) -> int:
        """Return how many page records are old and still have their history or their referrers.

        Old records are never due again and were last fetched (or else first seen) before this moment (POSIX
        seconds).
        """

    def slim_pages(self, before: float, limit: int) -> int:
        """Delete history and referrers of up to ``limit`` of them. Returns how many; 0 when none is left.

        Address, state, counts, validators and times stay.
        """


@dataclass(frozen=True, slots=True)
class PageCopy:
    """A page, and the bitmap of its further referrers (see :class:`newsbot.storage.pages.Referrers`)."""

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
    """A text that an article of a source has, or once had."""

    source: str
    content_hash: str
    article: bytes
    """The article's fingerprint."""

    @property
    def key(self) -> str:
        """Source and hash, neither of which has a space."""
        return f"{self.source} {self.content_hash}"


@dataclass(frozen=True, slots=True)
class AliasCopy:
    """Another URL that leads to an article."""

    fingerprint: bytes
    url: str
    article: bytes

    @property
    def key(self) -> str:
        """The fingerprint in hexadecimal."""
        return self.fingerprint.hex()


@dataclass(frozen=True, slots=True)
class JoinedStory:
    """A story that was joined with another one (:meth:`newsbot.storage.stories.Stories.join`)."""

    story: str
    into: str
    """The story that its articles are in now."""


@dataclass(frozen=True, slots=True)
class KeptNote:
    """A note (:mod:`newsbot.storage.notes`)."""

    kind: str
    key: str
    body: str
    """The note as JSON."""


@dataclass(frozen=True, slots=True)
class PollDay:
    """The polls of a source on a day (:class:`newsbot.storage.sources.Sources`)."""

    url: str
    day: int
    polls: tuple[str, ...]
    """The polls as they are stored, in order."""


@dataclass(frozen=True, slots=True)
class SiteHour:
    """The counters of a site in one hour (:class:`newsbot.storage.sources.Activity`)."""

    source: str
    hour: int
    counts: tuple[int, ...]
    """The counters, in the order of :data:`newsbot.storage.sources.COUNTED`."""


Book = JoinedStory | KeptNote | PollDay | SiteHour
"""Data besides pages and articles. A crawl without them continues, but loses what it learned."""


class Dump(Protocol):
    """Copies all data out of a storage. ``after`` is the key of the last copy that was taken; empty: from the
    beginning."""

    def count(self) -> dict[str, int]:
        """Return approximate counts for progress bars, with the keys pages, articles, texts, aliases."""

    def pages(self, after: str = "", sites: Domains = None) -> Iterator[PageCopy]:
        """Stream all pages."""

    def articles(self, after: str = "", sites: Domains = None) -> Iterator[ArticleCopy]:
        """Stream all articles."""

    def texts(self, after: str = "", sites: Domains = None) -> Iterator[TextCopy]:
        """Stream all texts that articles have or had."""

    def aliases(self, after: str = "", sites: Domains = None) -> Iterator[AliasCopy]:
        """Stream all other URLs of articles."""

    def books(self) -> Iterator[Book]:
        """Stream joined stories, notes, polls and hours."""


class Load(Protocol):
    """Loads the copies of :class:`Dump`. Existing data stay, except the records of sites."""

    def pages(self, copies: Sequence[PageCopy]) -> None:
        """Store pages that do not exist yet."""

    def articles(self, copies: Sequence[ArticleCopy]) -> None:
        """Store articles that do not exist yet, and make them findable."""

    def texts(self, copies: Sequence[TextCopy]) -> None:
        """Store texts, except those of articles that do not exist."""

    def aliases(self, copies: Sequence[AliasCopy]) -> None:
        """Store other URLs, except those of articles that do not exist."""

    def sites(self, records: Iterable[SiteRecord]) -> None:
        """Replace the records of sites."""

    def books(self, books: Sequence[Book]) -> None:
        """Store joined stories, notes, polls and hours that do not exist yet."""


def poll_day(url: str, day: int, polls: str) -> PollDay:
    """Return a day's polls from the stored text, in which each poll ends with ``;``."""
    return PollDay(url, day, tuple(sorted(f"{one};" for one in polls.split(";") if one)))
