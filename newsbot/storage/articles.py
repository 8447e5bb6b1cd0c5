"""Interfaces for articles, their versions, their texts and the sequence of their changes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from newsbot.items import Article
from newsbot.search.query import ArticleFilter
from newsbot.storage.article_decision import Stored

MAX_VERSIONS = 30
"""Maximum number of earlier versions kept for an article: the first one and the latest ones."""


@dataclass(frozen=True, slots=True)
class RepeatedText:
    """A text that many URLs of a site returned, such as a paywall notice or one page under many URLs."""

    source: str
    canonical_url: str
    """The URL that the text is stored under."""
    urls: int
    """Number of URLs that returned the text, including this one."""


@dataclass(frozen=True, slots=True)
class Change:
    """An article that was stored, was removed, or got other rights or another URL."""

    fingerprint: bytes
    """Fingerprint of the canonical URL."""
    article: Article | None
    """The current article; None if there is no article under this URL any more."""


@dataclass(frozen=True, slots=True)
class Changes:
    """Changes since a cursor, in the order of their numbers."""

    found: list[Change]
    cursor: str
    """Cursor after the last change of ``found``."""
    restarted: bool
    """True if the changes begin with the first one, because the given cursor was empty, belongs to another
    storage, or is beyond the end of this one (a backup was restored)."""


@dataclass(frozen=True, slots=True)
class Numbering:
    """The sequence of change numbers of one storage, and its cursors."""

    id: str
    last: int

    def cursor(self, number: int) -> str:
        """Return the cursor after the change with this number."""
        return f"{self.id}-{number}"

    def read(self, cursor: str) -> tuple[int, bool]:
        """Return the number of the last change before a cursor, and whether reading restarts.

        A cursor of another sequence gives (0, True).
        """
        id_, _, number = cursor.partition("-")
        known = id_ == self.id and number.isdecimal() and int(number) <= self.last
        return (int(number), False) if known else (0, True)


class Articles(Protocol):
    """Stores articles by canonical URL."""

    def store(self, article: Article, over: str | None = None) -> Stored:
        """Store an article. :func:`decide` determines the result.

        Two texts are the same if their ``content_hash`` is equal, or their characters if one has no hash. A
        new version keeps the story, ``duplicate_of`` and the first ``discovered_at``; the earlier text is
        kept as a version (MAX_VERSIONS). The fetched URL (``url``) becomes an alias of the article, unless it
        is an article itself.

        If the stored article was fetched from another page, it is replaced only if ``over`` is its
        ``content_hash``, which shows that the caller has compared the two.
        """

    def readdress(self, canonical_url: str, content_hash: str, to: str) -> bool:
        """Move an article, with everything that belongs to it, to the canonical URL ``to``.

        Returns False and does nothing if the article no longer has this text, or if an article exists under
        ``to``. A story named after the old URL is renamed after the new one.
        """

    def get(self, canonical_url: str) -> Article | None:
        """Return the article with this canonical URL, or else the article that this URL is an alias of."""

    def with_keys(self, keys: Sequence[bytes]) -> dict[bytes, Article]:
        """Return articles by the fingerprints of their canonical URLs. Unknown ones are left out."""

    def save_rights(self, canonical_url: str, rights: Mapping[str, str]) -> None:
        """Write the rights that a site reserves for a stored article, without creating a new version.

        Does nothing if the article is not stored.
        """

    def save_origin(self, article: Article) -> None:
        """Write publication time, authors and ``extraction`` of an article, without creating a new version.

        Does nothing if the stored article has another text by now. Counts as a change.
        """

    def versions(self, canonical_url: str) -> list[Article]:
        """Return all stored versions, oldest first, the current one last. Empty for an unknown article."""

    def iter(self, where: ArticleFilter | None = None) -> Iterator[Article]:
        """Stream the matching articles by fetch time, oldest first."""

    def newest(self, where: ArticleFilter | None = None, *, limit: int) -> list[Article]:
        """Return the newest articles that match; undated ones come last."""

    def count(self, where: ArticleFilter | None = None) -> int:
        """Return how many articles match."""

    def changes_since(self, cursor: str = "", limit: int = 500) -> Changes:
        """Return up to ``limit`` changes after ``cursor``. Fewer than ``limit`` means there are no more.

        ``cursor`` comes from an earlier result; an empty cursor starts before the first change. Changes are
        numbered in commit order, independent of clocks, so that none is missed. An article that changed
        several times is returned once, in its current state, with its last number. Updates of the story,
        ``duplicate_of``, ``derived_from`` and aliases do not count as changes.
        """

    def end_of_changes(self) -> str:
        """Return the cursor after the last change."""


class Texts(Protocol):
    """The texts of all articles."""

    def owner(self, source: str, content_hash: str) -> str | None:
        """Return the canonical URL of the article of ``source`` that has, or once had, this text."""

    def repeated(self, *, least: int = 10, limit: int = 100) -> list[RepeatedText]:
        """Return texts that at least ``least`` URLs of their site returned, most URLs first."""
