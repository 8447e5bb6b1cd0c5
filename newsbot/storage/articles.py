"""Interfaces for articles, their versions, their texts, the sequence of their changes, and stories.

:func:`decide` decides how a fetched article is stored; :class:`Verdict` lists the possible results. The
function has no side effects: a backend reads the existing records, calls the function, and executes the
decision in the same transaction. Both backends therefore decide in the same way.

A *story* is a group of articles with nearly the same text, under one id.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any, Protocol

from newsbot.items import FETCHED, Article, ArticleFilter
from newsbot.urls import canonicalize, fingerprint

_NEVER = datetime.max.replace(tzinfo=UTC)
_DAY = timedelta(days=1)


def story_id(url: str) -> str:
    """Return the id of the story that the article with this canonical URL would begin.

    The id depends only on the URL, so every worker computes the same id.
    """
    return fingerprint(url).hex()


def publication_key(article: Article) -> tuple[datetime, datetime, str]:
    """Return a key that sorts articles by their time of publication.

    The key begins with the best estimate of this time:

    * the stated time, unless the page was first seen earlier (some pages state their last update)
    * the time when the page was first seen, if no time is stated
    * if only a day is stated, the time when the page was first seen, but at most the end of that day

    Articles with equal times are sorted by fetch time, then by URL.
    """
    fetched = article.fetched_at or _NEVER
    seen = min(fetched, article.discovered_at or _NEVER)
    stated = article.published_at or _NEVER
    if article.published_at is not None and article.published_precision == "day" and stated < _NEVER - _DAY:
        stated = max(stated, min(seen, stated + _DAY))  # ``stated`` is the beginning of the day
    return min(stated, seen), fetched, article.canonical_url


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """A story with its articles."""

    story: str
    """The id of the story."""
    members: list[Article]
    """The articles, sorted by publication, oldest first."""

    @property
    def sources(self) -> set[str]:
        """The domains that have an article in the story."""
        return {article.source for article in self.members}

    @property
    def first(self) -> Article:
        """The member that was probably published first (:func:`publication_key`)."""
        return min(self.members, key=publication_key)


@dataclass(frozen=True, slots=True)
class Joined:
    """The result of joining stories."""

    story: str
    """The id of the joined story."""
    missing: bool
    """True if an article was not stored yet. The caller should join again, because another worker may have
    stored the article in the meantime."""
    awaited: bool = False
    """True if the story that the first article would begin was joined before. If this article is new, other
    articles were compared with its text before it was stored."""


class Stories(Protocol):
    """Assigns articles to stories."""

    def join(self, canonical_urls: Sequence[str]) -> Joined:
        """Merge the stories of these articles, with all their members, into one.

        The story whose first article was fetched earliest keeps its id. The ids of the other stories are
        stored as redirects to this id. If an article is not stored yet, the story that it would begin
        (:func:`story_id`) is merged. The article gets the merged story when it is stored and then joined.
        """

    def current(self, stories: Collection[str]) -> dict[str, str]:
        """Return a mapping from the ids of joined stories to the ids of their current stories.

        The mapping does not contain stories that were never joined, with one exception: if a story has
        members although its first article is not stored yet, it is mapped to itself.
        """

    def assign(self, canonical_url: str, story: str, duplicate_of: str | None) -> None:
        """Set the story and ``duplicate_of`` of an article. Does nothing if the article is not stored."""

    def split(self, groups: Sequence[Sequence[str]]) -> list[str]:
        """Give each group of articles its own story. Return the ids of these stories.

        The groups are lists of the canonical URLs of one story's articles. The first group keeps the id,
        unless this is the id that an article of another group would begin (:func:`story_id`).
        """

    def recent(
        self,
        *,
        since: datetime | None = None,
        min_members: int = 2,
        min_sources: int = 1,
        limit: int = 50,
    ) -> list[Story]:
        """Return at most ``limit`` stories. The story with the newest member comes first.

        Each story has at least ``min_members`` articles of at least ``min_sources`` sites. ``since`` selects
        stories with a member that was published (if unknown: fetched) at that time or later. The members are
        returned without their texts, because a story can have thousands of members.
        """


def roots_of(stories: Collection[tuple[str, str | None]], merged: Mapping[str, str]) -> set[str]:
    """Return the ids of the stories that are merged when some articles are joined.

    ``stories`` has a pair for each article: the id of the story that the article would begin, and its current
    story (None if the article is not stored). ``merged`` maps stories that were merged before to their
    current story. The story that an article would begin is included only if this story was merged before, or
    if the article is not stored.
    """
    roots = {merged.get(story, story) for _, story in stories if story}
    return roots | {merged.get(name, name) for name, story in stories if name in merged or not story}


def split_ids(story: str, groups: Sequence[Sequence[str]]) -> list[str]:
    """Return the ids of the groups into which ``story`` is split; see :meth:`Stories.split`."""
    begun = [[story_id(url) for url in group] for group in groups]
    keeps = next((place for place, ids in enumerate(begun) if story in ids), 0)
    return [story if place == keeps else ids[0] for place, ids in enumerate(begun)]


def overlapping(groups: Iterable[set[str]]) -> list[set[str]]:
    """Return the unions of the groups that are connected by common members."""
    found: list[set[str]] = []
    for group in groups:
        apart = [other for other in found if other.isdisjoint(group)]
        found = [*apart, group.union(*(other for other in found if not other.isdisjoint(group)))]
    return found


def is_settled(story: str, own: str, merged: Mapping[str, str]) -> bool:
    """Return True if joining one article alone would change nothing.

    ``story`` is the current story of the article. ``own`` is the id of the story that the article would
    begin. ``merged`` maps stories that were merged before to their current story.
    """
    return merged.get(story, story) == story and (own == story or merged.get(own, story) == story)


def readdressed_story(old: str, new: str, merged: str | None) -> str:
    """Return the new id of the story ``old`` after its first article was moved to another URL.

    ``new`` is the id of the story that an article at the new URL would begin. ``merged`` is the current story
    of ``new`` if ``new`` was merged with another story.
    """
    return new if merged is None or merged == old else merged


# --- the decision

NOTHING = "-"
"""Value of ``over`` for an archived page: no stored article is replaced."""
KEPT = ("story", "duplicate_of")
"""Fields that a new version takes from the previous one, in addition to the first ``discovered_at``."""


class Verdict(StrEnum):
    """The result of :meth:`Articles.store` for an article."""

    NEW = "new"
    UPDATED = "updated"
    """The stored article with this URL has another text or title. The given article becomes a new version."""
    UNCHANGED = "unchanged"
    """The stored article with this URL has the same text and title."""
    SAME_TEXT = "same_text"
    """Another article of the source has this text. The article is not stored, but its URL is recorded as an
    alias of the other article."""
    TAKEN = "taken"
    """The URL belongs to the article of another page, or is an alias of that article. Nothing was changed."""


@dataclass(frozen=True, slots=True)
class Stored:
    """The result of storing an article."""

    verdict: Verdict
    canonical_url: str
    """The canonical URL under which the text is stored."""
    version: int
    """The version of the stored article."""
    joined: Joined | None = None
    """The story of the article, if it was joined with the stories of the peers."""


class ArticleForm(Protocol):
    """An article in the form of a backend: a row or a document."""

    def __getitem__(self, name: str, /) -> Any:
        """Return a field."""


@dataclass(frozen=True, slots=True)
class Decision:
    """The decision how an article is stored."""

    verdict: Verdict
    of: ArticleForm
    """The article that the verdict refers to: the given article, the stored article with the same URL, or the
    stored article with the same text."""
    version: int
    addresses: tuple[str, ...] = ()
    """URLs that become aliases of ``of``, except those that have an article themselves."""

    @property
    def stored(self) -> Stored:
        """The return value of :meth:`Articles.store`."""
        return Stored(self.verdict, self.of["canonical_url"], self.version)


def decide(
    given: ArticleForm,
    own: ArticleForm | None,
    owner: ArticleForm | None,
    led_to: ArticleForm | None,
    over: str | None = None,
) -> Decision:
    """Decide how the article ``given`` is stored.

    ``own`` is the article that is stored under the same canonical URL. ``owner`` is another article of the
    source that has, or once had, the same text. ``led_to`` is the article that has the canonical URL of
    ``given`` as an alias. It is used only if ``own`` and ``owner`` are None and :func:`names_another_page` is
    true, so backends look it up only in that case. :meth:`Articles.store` explains ``over``.
    """
    if own is None and owner is None:
        # The canonical URL that the page names has returned another article. Many sites name wrong URLs.
        if led_to is not None and names_another_page(given):
            return Decision(Verdict.TAKEN, led_to, led_to["version"])
        return Decision(Verdict.NEW, given, 1, fetched_address(given))
    # This test comes first, because an unchanged article is not a copy, even if another article has or had
    # the same text.
    is_kept = own is not None and over == NOTHING and of_one_page(own["url"], given["url"])
    if own is not None and (is_kept or _is_same(own, given)):
        return Decision(Verdict.UNCHANGED, own, own["version"], fetched_address(given))
    if owner is not None:
        addresses = fetched_address(given)
        if own is None:  # otherwise the canonical URL belongs to ``own``, so it cannot be an alias
            addresses = (given["canonical_url"], *addresses)
        return Decision(Verdict.SAME_TEXT, owner, owner["version"], addresses)
    assert own is not None
    # The text was fetched from another page. Only the page of the stored article may write a new version.
    if over != own["content_hash"] and not of_one_page(own["url"], given["url"]):
        return Decision(Verdict.TAKEN, own, own["version"])
    return Decision(Verdict.UPDATED, given, own["version"] + 1, fetched_address(given))


def names_another_page(given: ArticleForm) -> bool:
    """Return True if the canonical URL of an article is not the URL from which it was fetched."""
    return not of_one_page(given["canonical_url"], given["url"])


def of_one_page(one: str, other: str) -> bool:
    """Return True if two URLs belong to one page, or if one of them is not a valid URL."""
    try:
        return fingerprint(canonicalize(one)) == fingerprint(canonicalize(other))
    except ValueError:
        return True


def may_be_plain(given: Sequence[ArticleForm]) -> list[bool]:
    """Return a list with True for each article of a batch that differs from all earlier ones.

    True means that no earlier article of the batch has one of its URLs or its text. The result of storing the
    article is then the same if it is stored before the other articles. Even then, the article is not
    necessarily new, because stored records may have its URLs or its text.
    """
    seen: set[object] = set()
    found = []
    for one in given:
        # bytes for the URLs, a tuple for the text: they cannot be equal by accident
        own: set[object] = {fingerprint(url) for url in (one["canonical_url"], *fetched_address(one))}
        # An empty hash would make all articles without a key of their text look alike.
        if one["content_hash"]:
            own.add((one["source"], one["content_hash"]))
        found.append(seen.isdisjoint(own))
        seen |= own
    return found


def _is_same(own: ArticleForm, given: ArticleForm) -> bool:
    if own["title"] != given["title"]:
        return False
    if given["content_hash"] and own["content_hash"]:  # only the pipeline for exact copies sets the hash
        return bool(own["content_hash"] == given["content_hash"])
    return bool(own["text"] == given["text"])


def fetched_address(given: ArticleForm) -> tuple[str, ...]:
    """Return the fetched URL in a tuple if it is not the canonical URL; otherwise an empty tuple."""
    try:
        fetched = canonicalize(given["extraction"].get(FETCHED, given["url"]))
    except ValueError:  # an invalid URL cannot be an alias
        return ()
    return () if fingerprint(fetched) == fingerprint(given["canonical_url"]) else (fetched,)


# --- interfaces

MAX_VERSIONS = 30
"""Maximum number of earlier versions of an article. The first version and the latest versions are kept."""


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
    """The current article; None if there is no longer an article under this URL."""


@dataclass(frozen=True, slots=True)
class Changes:
    """Changes since a cursor, in the order of their numbers."""

    found: list[Change]
    cursor: str
    """The position after the last change of ``found``. The next call continues there."""
    restarted: bool
    """True if the changes begin with the first change. The cursor was empty, belongs to another storage, or
    is beyond the end of this storage because a backup was restored."""
    rewound: float = 0.0
    """The time at which a person let the follower begin again (POSIX seconds); 0 if nobody did."""


@dataclass(frozen=True, slots=True)
class Numbering:
    """The sequence of change numbers of one storage. It creates and reads cursors. A cursor is a position in
    the sequence."""

    id: str
    """A random id of the sequence. Cursors contain the id, so that a cursor of another storage is
    recognised. It is empty as long as the storage has no change."""
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
        # A cursor of a storage without a change is the beginning of each sequence.
        known = id_ in (self.id, "") and number.isdecimal() and int(number) <= (self.last if id_ else 0)
        return (int(number), False) if known else (0, True)

    def after(self, cursor: str) -> int:
        """Return the number of changes after a cursor."""
        return self.last - self.read(cursor)[0]


class Articles(Protocol):
    """Stores articles by canonical URL."""

    def store(self, article: Article, over: str | None = None, peers: Sequence[str] = ()) -> Stored:
        """Store an article. :func:`decide` determines the result.

        Two texts are the same if their ``content_hash`` is equal. If one of them has no hash, their
        characters are compared. A new version takes the story, ``duplicate_of`` and the first
        ``discovered_at`` from the previous version, which stays stored (see :data:`MAX_VERSIONS`). The
        fetched URL (``url``) becomes an alias of the article, unless another article has that URL.

        If the stored article was fetched from another page, it is replaced only if ``over`` is its
        ``content_hash``. With ``over``, the caller confirms that it has compared both articles. With
        :data:`NOTHING`, a stored article is never replaced.

        ``peers`` are the canonical URLs of articles whose stories are joined with the story of the stored
        article (:meth:`Stories.join`), in the same transaction. Nothing is joined if
        the URL is taken.
        """

    def store_new(
        self, articles: Sequence[Article], peers: Sequence[Sequence[str]] = ()
    ) -> list[Stored | None]:
        """Store the articles that are certainly new, in one transaction.

        ``peers`` is empty, or has the third argument of :meth:`store` for each article. An article is not
        certainly new if one of its URLs or its text is known, or if an earlier article of the batch has the
        same URL or text. The result is None for these articles and for faulty articles. The caller then
        passes them to :meth:`store`. If another worker writes one of the records at the same time, or if a
        record cannot be stored, the result is None for all articles.
        """

    def readdress(self, canonical_url: str, content_hash: str, to: str, fetched: str | None = None) -> bool:
        """Move an article, with everything that belongs to it, to the canonical URL ``to``.

        ``to`` may also be another spelling of the same URL, with the same fingerprint. ``fetched`` replaces
        the URL from which the article was fetched; None keeps it.

        Returns False and does nothing if the article no longer has this text, or if ``to`` already has an
        article. If the id of a story was made from the old URL, the story gets the id made from the new URL.
        """

    def get(self, canonical_url: str) -> Article | None:
        """Return the article with this canonical URL, or else the article with this alias, or else None."""
        return self.get_many([canonical_url]).get(canonical_url)

    def get_many(self, canonical_urls: Sequence[str]) -> dict[str, Article]:
        """Return the same as :meth:`get` for each of the URLs. Unknown URLs are left out."""

    def known(self, keys: Sequence[bytes]) -> set[bytes]:
        """Return the keys (fingerprints of URLs) that belong to an article or an alias."""

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
        """Return up to ``limit`` changes after ``cursor``. If the result has fewer changes, there are no
        further changes yet.

        ``cursor`` comes from an earlier result. An empty cursor starts before the first change. Changes are
        numbered in the order of their commits, not by a clock, so no change is missed. An article that
        changed several times is returned once, in its current state, with its last number. Updates of story,
        ``duplicate_of``, ``derived_from`` and aliases do not count as changes.
        """

    def end_of_changes(self) -> str:
        """Return the cursor after the last change."""

    def changes_after(self, cursor: str) -> int:
        """Return approximately how many changes come after ``cursor``, in constant time.

        An article that changed several times may be counted several times.
        """


class Texts(Protocol):
    """The texts of all articles."""

    def owners(self, texts: Sequence[SiteText]) -> dict[SiteText, str]:
        """Return, by text, the canonical URL of the article that has, or once had, the text.

        Unknown texts are left out.
        """

    def repeated(self, *, least: int = 10, limit: int = 100) -> list[RepeatedText]:
        """Return texts that at least ``least`` URLs of one site returned, most URLs first."""
