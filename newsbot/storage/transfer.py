"""Copying all that a storage holds, to another storage of any kind: what ``scrapy move`` asks for.

A copy is whole: taken by another storage it answers every question as the first one did. Copies come in
the order of their keys; after a key one can begin again. Taking a copy twice is taking it once. Nobody
else should write meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from newsbot.items import Article, PageRecord
from newsbot.storage.base import SiteRecord

AT_ONCE = 500
"""Copies that a storage reads at once."""

Sites = Sequence[str] | None
"""Domains of the sites wanted; None: all."""


@dataclass(frozen=True, slots=True)
class PageCopy:
    """A page, and its referrers that are only counted (see :mod:`newsbot.storage.referrers`)."""

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


class Transfer(Protocol):
    """What a storage offers beside :class:`newsbot.storage.base.Storage`.

    ``after`` is the key of the last copy that was taken; empty: from the beginning. Raises
    :class:`newsbot.errors.DataError` kinds.
    """

    def count_copies(self) -> dict[str, int]:
        """About how many there are, for who waits: keys pages, articles, texts, aliases."""

    def copy_pages(self, after: str = "", sites: Sites = None) -> Iterator[PageCopy]:
        """All pages."""

    def copy_articles(self, after: str = "", sites: Sites = None) -> Iterator[ArticleCopy]:
        """All articles."""

    def copy_texts(self, after: str = "", sites: Sites = None) -> Iterator[TextCopy]:
        """All texts that articles have or had."""

    def copy_aliases(self, after: str = "", sites: Sites = None) -> Iterator[AliasCopy]:
        """All other URLs of articles."""

    def take_pages(self, copies: Sequence[PageCopy]) -> None:
        """Keep pages that are not there yet."""

    def take_articles(self, copies: Sequence[ArticleCopy]) -> None:
        """Keep articles that are not there yet, and make them findable."""

    def take_texts(self, copies: Sequence[TextCopy]) -> None:
        """Keep texts; those of articles that are not there are left out."""

    def take_aliases(self, copies: Sequence[AliasCopy]) -> None:
        """Keep other URLs; those of articles that are not there are left out."""

    def take_sites(self, records: Iterable[SiteRecord]) -> None:
        """Write the records of sites whole."""
