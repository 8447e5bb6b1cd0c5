"""Articles: what happens to one that comes, its versions, its texts, and full-text search."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

from newsbot.items import Article
from newsbot.search.query import ArticleFilter, Hit
from newsbot.storage.article_decision import Stored

MAX_VERSIONS = 30
"""Versions of an article that are kept beside the present one: the first one and the latest."""


@dataclass(frozen=True, slots=True)
class RepeatedText:
    """A text that many URLs of a site gave: a wall before the articles, or one page under many addresses."""

    source: str
    canonical_url: str
    """Where it is kept."""
    urls: int
    """Under how many URLs it came, this one included."""


class Articles(Protocol):
    """Articles by canonical URL."""

    def store(self, article: Article, over: str | None = None) -> Stored:
        """Keep an article; :func:`decide` says what happens to it.

        Texts are the same when their ``content_hash`` is the same, or, where one has none, letter by letter.
        A new version keeps the story, ``duplicate_of`` and first ``discovered_at``; the earlier text is kept
        as a version (MAX_VERSIONS). The address that was fetched (``url``) leads to the article too, unless
        it is an article itself.

        What is kept under the URL but was fetched from another address is replaced only if ``over`` is its
        ``content_hash``: the caller has compared the two.
        """

    def readdress(self, canonical_url: str, content_hash: str, to: str) -> bool:
        """Move an article, with everything that belongs to it, to the canonical URL ``to``.

        Returns False, and does nothing, if the article no longer has this text or if something is kept under
        ``to``. A story that is named after the old URL is named after the new one.
        """

    def get(self, canonical_url: str) -> Article | None:
        """Return the article kept under this URL, or else fetched from it, or whose text also came from
        it."""

    def save_rights(self, canonical_url: str, rights: Mapping[str, str]) -> None:
        """Write what the site reserves of a stored article, without a new version.

        Nothing happens if the article is not stored.
        """

    def versions(self, canonical_url: str) -> list[Article]:
        """Return all kept versions, oldest first, the present one last; empty if unknown."""

    def iter(self, where: ArticleFilter | None = None) -> Iterator[Article]:
        """Stream the articles that match now by fetch time, oldest first."""

    def count(self, where: ArticleFilter | None = None) -> int:
        """Return how many articles match."""

    def changed(self, where: ArticleFilter | None = None, *, after: float, until: float) -> Iterator[Article]:
        """Stream the articles that were stored later than ``after`` and not later than ``until``, in this
        order.

        Times are POSIX seconds by the clock of the worker that stored the present version or the rights. An
        article that changes while this runs is left out: it belongs to a later time.
        """


class Texts(Protocol):
    """The texts of all articles."""

    def owner(self, source: str, content_hash: str) -> str | None:
        """Return the canonical URL of the article of ``source`` that has, or once had, this text."""

    def repeated(self, *, least: int = 10, limit: int = 100) -> list[RepeatedText]:
        """Return texts that came under at least so many URLs of their site, those under most URLs first."""

    def search(
        self, query: str, where: ArticleFilter | None = None, *, limit: int = 20, by_time: bool = False
    ) -> list[Hit]:
        """Search in title and text, word forms of Russian and English included; see
        :mod:`newsbot.search.query`.

        Words are joined by AND. Every text is a legal query: a blank one finds everything, newest first; one
        without a word finds nothing. Best first, or newest first with ``by_time``; a higher ``score`` is
        better.
        """

    def waiting(self) -> int:
        """Return how many articles are not in the word index yet. Searches look through them one by one."""

    def index(self) -> bool:
        """Index everything that waits, and merge. A process that stores articles does this in the background.

        Returns False if another process holds the index and nothing has changed for a minute and a half.
        """
