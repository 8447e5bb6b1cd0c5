"""Upkeep: taking data out for good, and copying everything from one storage to another.

Removal: what is asked to stay out is noted elsewhere (:mod:`newsbot.sites.removals`); storage itself forgets.

Copying (``scrapy move``): a copy is whole. A storage of any kind that takes it answers every question as the
first one did. Copies come in the order of their keys, so that a move can go on after the last key. Nobody
else should write meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from newsbot.items import Article, PageRecord
from newsbot.storage.sources import SiteRecord

REMOVED_AT_ONCE = 500
"""Articles or pages that one call may be given: each call looks through the texts of their sites once."""
AT_ONCE = 500
"""Copies that a storage reads at once."""

Domains = Sequence[str] | None
"""Domains of the sites wanted; None: all."""


class Removal(Protocol):
    """What goes because it is asked for (addresses to site), and what goes because it is old (old_versions
    on).

    Of what is old the present versions of articles stay, and so does what is known of a URL: without it a
    crawl would take an old page for a new one.
    """

    def addresses(self, canonical_urls: Sequence[str]) -> list[str]:
        """Return the other URLs that lead to these articles."""

    def articles(self, canonical_urls: Sequence[str]) -> int:
        """Delete articles with their versions, texts, other URLs and words; return how many there were.

        Articles that name one of them as ``duplicate_of`` or ``derived_from`` name nothing afterwards. A URL
        that leads to another article leads nowhere afterwards.
        """

    def pages(self, fingerprints: Sequence[bytes]) -> int:
        """Delete page records, and what searches and checks found there; return how many records there were.

        What was found goes also where there is no record of the page.
        """

    def sources(self, urls: Sequence[str]) -> int:
        """Delete the records of feeds, sitemaps and sections, with their polls; return how many there
        were."""

    def site(self, source: str) -> None:
        """Delete the counters of a site."""

    def old_versions(self, before: datetime) -> int:
        """Return how many earlier versions of articles were fetched before this moment."""

    def drop_versions(self, before: datetime, limit: int) -> int:
        """Delete so many of them; return how many were deleted, 0 when none is left."""

    def old_pages(self, before: float) -> int:
        """Return how many page records are old and still have their history or their referrers.

        Old records are never due again and were last fetched (or else first seen) before this moment (POSIX
        seconds).
        """

    def slim_pages(self, before: float, limit: int) -> int:
        """Take history and referrers from so many of them; return how many that were, 0 when none is left.

        Address, state, counts, validators and times stay.
        """


@dataclass(frozen=True, slots=True)
class PageCopy:
    """A page, and its referrers that are only counted (see :class:`newsbot.storage.pages.Referrers`)."""

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
    """Of the canonical URL."""
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
        """Source and hash: neither has a space."""
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
    """Where its articles are now."""


@dataclass(frozen=True, slots=True)
class KeptNote:
    """A note (:mod:`newsbot.storage.notes`)."""

    kind: str
    key: str
    body: str
    """JSON."""


@dataclass(frozen=True, slots=True)
class PollDay:
    """The polls of a source on a day (:class:`newsbot.storage.sources.Sources`)."""

    url: str
    day: int
    polls: tuple[str, ...]
    """As they are packed, in order."""


@dataclass(frozen=True, slots=True)
class SiteHour:
    """What a site did in an hour (:class:`newsbot.storage.sources.Activity`)."""

    source: str
    hour: int
    counts: tuple[int, ...]
    """In the order of :data:`newsbot.storage.sources.COUNTED`."""


Book = JoinedStory | KeptNote | PollDay | SiteHour
"""What is kept beside pages and articles. A crawl goes on without it, but not as before."""


class Dump(Protocol):
    """Reading everything out. ``after`` is the key of the last copy that was taken; empty: from the
    beginning."""

    def count(self) -> dict[str, int]:
        """Return about how many there are, for progress bars: keys pages, articles, texts, aliases."""

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
    """Taking in what :class:`Dump` gave. What is there already stays, except records of sites."""

    def pages(self, copies: Sequence[PageCopy]) -> None:
        """Keep pages that are not there yet."""

    def articles(self, copies: Sequence[ArticleCopy]) -> None:
        """Keep articles that are not there yet, and make them findable."""

    def texts(self, copies: Sequence[TextCopy]) -> None:
        """Keep texts; those of articles that are not there are left out."""

    def aliases(self, copies: Sequence[AliasCopy]) -> None:
        """Keep other URLs; those of articles that are not there are left out."""

    def sites(self, records: Iterable[SiteRecord]) -> None:
        """Write the records of sites whole."""

    def books(self, books: Sequence[Book]) -> None:
        """Keep joined stories, notes, polls and hours that are not there yet."""


def poll_day(url: str, day: int, polls: str) -> PollDay:
    """Return a day's polls, which are written one behind the other, each with ``;`` at its end."""
    return PollDay(url, day, tuple(sorted(f"{one};" for one in polls.split(";") if one)))
