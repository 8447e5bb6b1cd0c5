"""Storage: the crawl database (pages), the articles, the sources and the stories.

Every write is idempotent: doing it twice is doing it once. Two articles of one source never share a
canonical URL or a text (``content_hash``): unique indexes hold that in any race. A backend is used by
one thread; several processes may share the same data. Faults of the backend surface as
:class:`newsbot.errors.DataError`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, Protocol

from newsbot.items import Article, Kind, PageRecord
from newsbot.search.query import ArticleFilter, Hit
from newsbot.storage.publishing import out_by
from newsbot.urls import fingerprint

MAX_REFERRERS = 20
MAX_HISTORY = 30
MAX_VERSIONS = 30
"""Versions of an article that are kept: the first one and the latest."""


class Verdict(StrEnum):
    """What :meth:`Storage.store` did with an article."""

    NEW = "new"
    UPDATED = "updated"
    """Same URL, other text or title: kept as a new version."""
    UNCHANGED = "unchanged"
    """Same URL, same text and title."""
    SAME_TEXT = "same_text"
    """Another URL of the source holds this text: not stored, the other URL is recorded."""
    TAKEN = "taken"
    """Another page's article is kept under this URL, or the URL leads to it: nothing was changed."""


@dataclass(frozen=True, slots=True)
class Stored:
    """The verdict and the canonical URL under which the text is kept."""

    verdict: Verdict
    canonical_url: str
    version: int


@dataclass(frozen=True, slots=True)
class Joined:
    """What came of joining stories."""

    story: str
    """The id of the one story."""
    missing: bool
    """Whether an article was not stored: it may have been meanwhile, and one should look again."""


@dataclass(frozen=True, slots=True)
class RepeatedText:
    """A text that many URLs of a site gave: a wall before the articles, or addresses alike."""

    source: str
    canonical_url: str
    """Where it is kept."""
    urls: int
    """Under how many URLs it came, this one included."""


def story_id(url: str) -> str:
    """Return the id of the story that the article with this canonical URL begins: stable for ever."""
    return fingerprint(url).hex()


@dataclass(slots=True, kw_only=True)
class SourceRecord:
    """What is known of one source: a feed, sitemap or section front. Times are POSIX seconds."""

    url: str
    source: str
    kind: Kind
    polls: int = 0
    unchanged: int = 0
    """Polls answered by 304 or by the same content."""
    new_links: int = 0
    """Links that were not known before, over all polls."""
    last_poll: float | None = None
    last_new: float | None = None
    next_due: float | None = None
    failures: int = 0
    """Failures in a row."""
    failing_since: float | None = None
    last_error: str | None = None
    rhythm: dict[str, Any] = field(default_factory=dict)
    """What the polling policy has learned; JSON-able (:class:`newsbot.recrawl.index.SquareRootIndex`)."""


@dataclass(slots=True, kw_only=True)
class SiteRecord:
    """Counters of one site (a rule's domain), added up over all crawls."""

    source: str
    counters: dict[str, float] = field(default_factory=dict)
    last_article: float | None = None
    last_error: str | None = None
    last_error_at: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """Articles that tell the same thing; members oldest first by publication."""

    story: str
    members: list[Article]

    @property
    def sources(self) -> set[str]:
        """The domains that carry the story."""
        return {article.source for article in self.members}

    @property
    def first(self) -> Article:
        """Who published it first, as far as is known (:func:`newsbot.storage.publishing.out_by`)."""
        return min(self.members, key=out_by)


class Storage(Protocol):
    """See the module's text for the guarantees."""

    # --- pages: the crawl database
    def discover(self, pages: Sequence[PageRecord]) -> None:
        """Record pages that links point to: new ones as given (state pending), known ones get the
        given referrers added (the first MAX_REFERRERS distinct ones are kept, the rest counted, each
        once, to within a few per cent) and the smaller depth."""

    def pages(self, fingerprints: Sequence[bytes]) -> dict[bytes, PageRecord]:
        """The records of those URLs; unknown ones are missing from the answer."""

    def save_pages(self, pages: Sequence[PageRecord]) -> None:
        """Write records whole, except ``referrers``, ``referrer_count`` and ``first_seen`` of known
        ones. Events of ``history`` that are not kept yet are added; the last MAX_HISTORY by time stay,
        and the first one if it says where the page was discovered."""

    def iter_pages(
        self, *, source: str | None = None, kind: Kind | None = None, state: str | None = None
    ) -> Iterator[PageRecord]:
        """All records that match now, each once, in no particular order, streamed.

        Writing meanwhile is allowed, as with all that is streamed.
        """

    def due_pages(self, *, after: float, until: float) -> Iterator[PageRecord]:
        """Records whose ``next_due`` is later than ``after`` and not later than ``until``, the earliest
        first, streamed: what a frontier asks that keeps only what is due soon."""

    # --- articles
    def store(self, article: Article, over: str | None = None) -> Stored:
        """Keep an article; see :class:`Verdict`.

        Texts are the same when their ``content_hash`` is, or, where one has none, letter by letter.
        An updated article keeps its story, ``duplicate_of`` and first ``discovered_at``; its earlier
        text is kept as a version (MAX_VERSIONS). A text that an article of the source has or once had
        is ``SAME_TEXT`` for any other URL; a URL that is an article itself then stays as it was.
        The address that was fetched (``url``) leads to the article too, unless it is one itself.

        What is kept under the URL but was fetched from another address is replaced (``UPDATED``) only if
        ``over`` is its ``content_hash``: the caller has compared the two. Else the answer is ``TAKEN``, and
        so it is for a new article whose page names a URL that leads to another article.
        """

    def readdress(self, canonical_url: str, content_hash: str, to: str) -> bool:
        """Keep an article, with all that belongs to it, under the canonical URL ``to`` from now on.

        In one atomic step, and only if it still has this text and nothing is kept under ``to``; else False.
        A story that is named after its old URL is named after the new one.
        """

    def article(self, canonical_url: str) -> Article | None:
        """The article kept under this URL, or else fetched from it, or whose text was also seen under it."""

    def text_owner(self, source: str, content_hash: str) -> str | None:
        """The canonical URL under which ``source`` has, or once had, this text, if it has."""

    def assign_story(self, canonical_url: str, story: str, duplicate_of: str | None) -> None:
        """Put a stored article into a story; nothing happens if it is not stored."""

    def save_rights(self, canonical_url: str, rights: Mapping[str, str]) -> None:
        """Write what the site reserves of a stored article, without a new version; nothing happens if it is
        not stored."""

    def join_stories(self, canonical_urls: Sequence[str]) -> Joined:
        """Bring the stories of these articles into one, with all their members, in one atomic step.

        Of several stories the one whose first article was fetched earliest keeps its id. The ids of the
        others lead to it for ever: an article that is not stored yet counts by the story that it would
        begin (:func:`story_id`), and finds it when it is stored and joined itself.
        """

    def versions(self, canonical_url: str) -> list[Article]:
        """All kept versions, oldest first, the present one last; empty if unknown."""

    def iter_articles(self, where: ArticleFilter | None = None) -> Iterator[Article]:
        """Articles that match now by fetch time, oldest first, each once, streamed."""

    def count_articles(self, where: ArticleFilter | None = None) -> int:
        """How many articles match."""

    def search(
        self, query: str, where: ArticleFilter | None = None, *, limit: int = 20, by_time: bool = False
    ) -> list[Hit]:
        """Full text in title and text, word forms of Russian and English included.

        Words are joined by AND; ``"a phrase"``, ``-without`` and ``title:word`` work as people
        expect. Any text is a legal query: a blank one finds all, newest first; one without a word finds
        nothing. Best first, or newest first with ``by_time``; a higher ``score`` is better.
        """

    def stories(
        self,
        *,
        since: datetime | None = None,
        min_members: int = 2,
        min_sources: int = 1,
        limit: int = 50,
    ) -> list[Story]:
        """Stories with at least so many members, of so many sources, the most recent first.

        The members come without their texts.

        ``since``: with a member that was published (or, where unknown, fetched) then or later.
        """

    def repeated_texts(self, *, least: int = 10, limit: int = 100) -> list[RepeatedText]:
        """Texts that came under at least so many URLs of their site, those under most URLs first."""

    # --- sources and sites
    def save_sources(self, records: Iterable[SourceRecord]) -> None:
        """Write source records whole."""

    def sources(self, source: str | None = None) -> list[SourceRecord]:
        """All source records, or those of one site."""

    def count_site(self, record: SiteRecord) -> None:
        """Add the counters to what is kept of the site; later times win."""

    def sites(self) -> dict[str, SiteRecord]:
        """All site records by domain."""

    def close(self) -> None:
        """Release the backend."""
