"""Interfaces for articles, their versions, their texts and the sequence of their changes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from newsbot.items import Article, ArticleFilter
from newsbot.storage.article_decision import Stored

MAX_VERSIONS = 30
"""Maximum number of earlier versions kept for an article: the first one and the latest ones."""


SiteText = tuple[str, str]
"""A text of a site: the domain of the site, and the ``content_hash`` of the text."""


@dataclass(frozen=True, slots=True)
class RepeatedText:
    """A text that many URLs of a site returned, such as a paywall notice or one page under many URLs."""

    source: str
    canonical_url: str
    """The canonical URL of the article that has the text."""
    urls: int
    """Number of URLs that returned the text, including this one."""


@dataclass(frozen=True, slots=True)
class Change:
    """An article that was stored or removed, or whose rights or URL were changed."""

    fingerprint: bytes
    """Fingerprint of the canonical URL."""
    article: Article | None
    """The current article; None if there is no article under this URL any more."""


@dataclass(frozen=True, slots=True)
class Changes:
    """Changes since a cursor, in the order of their numbers."""

    found: list[Change]
    cursor: str
    """The position after the last change of ``found``. The next call continues there."""
    restarted: bool
    """True if the changes begin with the first one, because the given cursor was empty, belongs to another
    storage, or is beyond the end of this one (a backup was restored)."""


@dataclass(frozen=True, slots=True)
class Numbering:
    """The sequence of change numbers of one storage. It creates and reads cursors (positions in it)."""

    id: str
    """A random id of the sequence. Cursors contain it, so that a cursor of another storage is recognized."""
    last: int
    """The number of the last change."""

    def cursor(self, number: int) -> str:
        """Return the cursor after the change with this number."""
        return f"{self.id}-{number}"

    def read(self, cursor: str) -> tuple[int, bool]:
        """Return the number of the last change before a cursor, and False.

        For a cursor of another sequence, return (0, True): the caller has to read from the beginning.
        """
        id_, _, number = cursor.partition("-")
        known = id_ == self.id and number.isdecimal() and int(number) <= self.last
        return (int(number), False) if known else (0, True)

    def after(self, cursor: str) -> int:
        """Return how many numbers were given after a cursor."""
        return self.last - self.read(cursor)[0]


class Articles(Protocol):
    """Stores articles by canonical URL."""

    def store(self, article: Article, over: str | None = None, peers: Sequence[str] = ()) -> Stored:
        """Store an article. :func:`newsbot.storage.article_decision.decide` determines the result.

        Two texts are the same if their ``content_hash`` is equal. If one of them has no hash, their
        characters are compared. A new version takes the story, ``duplicate_of`` and the first
        ``discovered_at`` from the previous version, which stays stored (see :data:`MAX_VERSIONS`). The
        fetched URL (``url``) becomes an alias of the article, unless another article has that URL.

        If the stored article was fetched from another page, it is replaced only if ``over`` is its
        ``content_hash``. With that, the caller confirms that it has compared the two.

        ``peers`` are the canonical URLs of articles whose stories are joined with the story of the stored
        article (:meth:`newsbot.storage.stories.Stories.join`), in the same transaction. Nothing is joined if
        the URL is taken.
        """

    def store_new(
        self, articles: Sequence[Article], peers: Sequence[Sequence[str]] = ()
    ) -> list[Stored | None]:
        """Store those of the articles that are plainly new, in one transaction.

        ``peers`` is empty, or has the third argument of :meth:`store` for each article. The result has None
        for each of the other articles, which :meth:`store` has to store. These are articles of which a URL or
        the text is known, or is that of an earlier article of the batch, and faulty ones. If another worker
        writes one of the records at the same time, or a record cannot be stored, the result has None for all
        articles.
        """

    def readdress(self, canonical_url: str, content_hash: str, to: str) -> bool:
        """Move an article, with everything that belongs to it, to the canonical URL ``to``.

        Returns False and does nothing if the article no longer has this text, or if ``to`` already has an
        article. If the id of a story was made from the old URL, the story gets the id made from the new URL.
        """

    def get(self, canonical_url: str) -> Article | None:
        """Return the article with this canonical URL, or else the article that this URL is an alias of."""
        return self.get_many([canonical_url]).get(canonical_url)

    def get_many(self, canonical_urls: Sequence[str]) -> dict[str, Article]:
        """Return the same as :meth:`get` for each of the URLs. Unknown URLs are left out."""

    def known(self, keys: Sequence[bytes]) -> set[bytes]:
        """Return those of the keys (fingerprints of URLs) that belong to an article or an alias."""

    def with_keys(self, keys: Sequence[bytes]) -> dict[bytes, Article]:
        """Return articles by key (the fingerprint of the canonical URL). Unknown keys are left out."""

    def save_rights(self, canonical_url: str, rights: Mapping[str, str]) -> None:
        """Write the rights that a site reserves for a stored article, without creating a new version.

        Does nothing if the article is not stored.
        """

    def save_origin(self, article: Article) -> None:
        """Write publication time, authors and ``extraction`` of an article, without creating a new version.

        Does nothing if the stored article has another text now. The write counts as a change, see
        :meth:`changes_since`.
        """

    def versions(self, canonical_url: str) -> list[Article]:
        """Return all stored versions, oldest first and the current one last.

        The list is empty if there is no article with this URL.
        """

    def iter(self, where: ArticleFilter | None = None) -> Iterator[Article]:
        """Stream the matching articles by fetch time, oldest first."""

    def newest(self, where: ArticleFilter | None = None, *, limit: int) -> list[Article]:
        """Return the newest matching articles. Articles without any time come last."""

    def count(self, where: ArticleFilter | None = None) -> int:
        """Return the number of matching articles."""

    def changes_since(self, cursor: str = "", limit: int = 500) -> Changes:
        """Return up to ``limit`` changes after ``cursor``. If there are fewer, no more changes exist yet.

        ``cursor`` comes from an earlier result. An empty cursor starts before the first change. Changes are
        numbered in the order of their commits, not by a clock. So no change is missed. An article that
        changed several times is returned once, in its current state, with its last number. Updates of the
        story, ``duplicate_of``, ``derived_from`` and aliases do not count as changes.
        """

    def end_of_changes(self) -> str:
        """Return the cursor after the last change."""

    def changes_after(self, cursor: str) -> int:
        """Return approximately how many changes come after ``cursor``, in constant time.

        An article that changed several times can be counted several times.
        """


class Texts(Protocol):
    """The texts of all articles."""

    def owners(self, texts: Sequence[SiteText]) -> dict[SiteText, str]:
        """Return by text the canonical URL of the article that has, or once had, this text."""

    def repeated(self, *, least: int = 10, limit: int = 100) -> list[RepeatedText]:
        """Return texts that at least ``least`` URLs of one site returned, the text with most URLs first."""
