"""Interface for stories: groups of articles with nearly the same text, under one id."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Protocol

from newsbot.items import Article
from newsbot.urls import fingerprint

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
