"""Articles: what happens to one that comes, its versions, its texts, and full-text search."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol

from newsbot.items import Article
from newsbot.search.query import ArticleFilter, Hit
from newsbot.urls import canonicalize, fingerprint

MAX_VERSIONS = 30
"""Versions of an article that are kept beside the present one: the first one and the latest."""
KEPT = ("story", "duplicate_of")
"""Fields that a new version takes over from the version before, beside the first ``discovered_at``."""


class Verdict(StrEnum):
    """What :meth:`Articles.store` did with an article."""

    NEW = "new"
    UPDATED = "updated"
    """Same URL, other text or title: kept as a new version."""
    UNCHANGED = "unchanged"
    """Same URL, same text and title."""
    SAME_TEXT = "same_text"
    """Another article of the source has this text: not stored, its URL is recorded."""
    TAKEN = "taken"
    """Another page's article is kept under this URL, or the URL leads to it: nothing was changed."""


@dataclass(frozen=True, slots=True)
class Stored:
    """The verdict and the canonical URL under which the text is kept."""

    verdict: Verdict
    canonical_url: str
    version: int


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


class Record(Protocol):
    """An article as a backend keeps it: a row or a document."""

    def __getitem__(self, name: str, /) -> Any:
        """Return a field."""


@dataclass(frozen=True, slots=True)
class Decision:
    """What happens to an article that comes."""

    verdict: Verdict
    of: Record
    """The article that the answer is about: the given one, the one under its URL, or the one that has its
    text."""
    version: int
    addresses: tuple[str, ...] = ()
    """URLs that lead to ``of`` from now on, unless they are articles themselves."""

    @property
    def stored(self) -> Stored:
        """The answer of :meth:`Articles.store`."""
        return Stored(self.verdict, self.of["canonical_url"], self.version)


def decide(
    given: Record, own: Record | None, owner: Record | None, led_to: Record | None, over: str | None = None
) -> Decision:
    """Decide what happens to the article ``given``; this is pure, the backends look up and execute.

    ``own`` is the article kept under the same canonical URL, ``owner`` another article of the source that
    has, or once had, the same text, ``led_to`` the article to which the canonical URL leads so far.
    ``led_to`` counts only for a new article that :func:`names_another_page`, so that backends look it up only
    then. ``over``: see :meth:`Articles.store`.
    """
    if own is None and owner is None:
        if led_to is not None and names_another_page(given):
            return Decision(Verdict.TAKEN, led_to, led_to["version"])
        return Decision(Verdict.NEW, given, 1, _fetched_address(given))
    if own is not None and _is_same(own, given):
        return Decision(Verdict.UNCHANGED, own, own["version"], _fetched_address(given))
    if owner is not None:
        addresses = _fetched_address(given)
        if own is None:
            addresses = (given["canonical_url"], *addresses)
        return Decision(Verdict.SAME_TEXT, owner, owner["version"], addresses)
    assert own is not None
    if over != own["content_hash"] and not of_one_page(own["url"], given["url"]):
        return Decision(Verdict.TAKEN, own, own["version"])
    return Decision(Verdict.UPDATED, given, own["version"] + 1, _fetched_address(given))


def names_another_page(given: Record) -> bool:
    """Return True if an article's page names the URL of another page as its canonical URL."""
    return not of_one_page(given["canonical_url"], given["url"])


def of_one_page(one: str, other: str) -> bool:
    """Return True if two addresses that were fetched belong to one page, or if one of them is not an
    address."""
    try:
        return fingerprint(canonicalize(one)) == fingerprint(canonicalize(other))
    except ValueError:
        return True


def _is_same(own: Record, given: Record) -> bool:
    if own["title"] != given["title"]:
        return False
    if given["content_hash"] and own["content_hash"]:
        return bool(own["content_hash"] == given["content_hash"])
    return bool(own["text"] == given["text"])


def _fetched_address(given: Record) -> tuple[str, ...]:
    """The address that was fetched, where the page names another one as canonical."""
    try:
        fetched = canonicalize(given["url"])
    except ValueError:  # nobody can ask for it
        return ()
    return () if fingerprint(fetched) == fingerprint(given["canonical_url"]) else (fetched,)
