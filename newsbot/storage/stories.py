"""Stories: groups of articles that report the same event, under one id."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Protocol

from newsbot.items import Article
from newsbot.urls import fingerprint

_NEVER = datetime.max.replace(tzinfo=UTC)
_DAY = timedelta(days=1)


def story_id(url: str) -> str:
    """Return the id of the story that the article with this canonical URL begins. It never changes."""
    return fingerprint(url).hex()


def out_by(article: Article) -> tuple[datetime, datetime, str]:
    """Return a sort key for the order of publication, as far as it is known.

    Some pages state only the day of publication, some nothing, and some the time of their last update. An
    article was published before it was first seen, whatever its page states. The key is therefore the stated
    time, or the time when the page was first seen if that was earlier or no time is stated. A page that
    states only a day sorts before a page with an hour of the same day if it was seen before that hour. Equal
    articles are sorted by fetch time.
    """
    fetched = article.fetched_at or _NEVER
    seen = min(fetched, article.discovered_at or _NEVER)
    told = article.published_at or _NEVER
    if article.published_at is not None and article.published_precision == "day" and told < _NEVER - _DAY:
        told = max(told, min(seen, told + _DAY))
    return min(told, seen), fetched, article.canonical_url


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """Articles that report the same event, sorted by publication, oldest first."""

    story: str
    members: list[Article]

    @property
    def sources(self) -> set[str]:
        """The domains that have an article in the story."""
        return {article.source for article in self.members}

    @property
    def first(self) -> Article:
        """The member that was published first, as far as is known (:func:`out_by`)."""
        return min(self.members, key=out_by)


@dataclass(frozen=True, slots=True)
class Joined:
    """The result of joining stories."""

    story: str
    """The id of the one story."""
    missing: bool
    """True if an article was not stored. It may have been stored in the meantime; call again."""


class Stories(Protocol):
    """Assigns articles to stories."""

    def join(self, canonical_urls: Sequence[str]) -> Joined:
        """Merge the stories of these articles, with all their members, into one.

        The story whose first article was fetched earliest keeps its id. The ids of the others remain
        redirects to it. An article that is not stored yet takes part with the story that it would begin
        (:func:`story_id`); it gets the merged story when it is stored and joined itself.
        """

    def assign(self, canonical_url: str, story: str, duplicate_of: str | None) -> None:
        """Assign a stored article to a story. Does nothing if the article is not stored."""

    def recent(
        self,
        *,
        since: datetime | None = None,
        min_members: int = 2,
        min_sources: int = 1,
        limit: int = 50,
    ) -> list[Story]:
        """Return stories with at least ``min_members`` from ``min_sources``, the most recent first.

        The members have no texts. ``since`` selects stories with a member that was published (or fetched, if
        that is unknown) at that time or later.
        """


def roots_of(own: Sequence[str], stories: Sequence[str | None], noted: Mapping[str, str]) -> set[str]:
    """Return the ids of the stories that are merged when some articles are joined.

    ``own`` are the ids of the stories that the articles would begin. ``stories`` are their current stories
    (None: not stored). ``noted`` maps stories that were merged before to their current story. An article's
    own id is included only if another article has recorded it or will look it up.
    """
    roots = {noted.get(story, story) for story in stories if story}
    pairs = zip(own, stories, strict=True)
    return roots | {noted.get(name, name) for name, story in pairs if name in noted or not story}


def is_settled(story: str, own: str, noted: Mapping[str, str]) -> bool:
    """Return True if joining the article of ``story`` alone would change nothing.

    The arguments have the same meaning as for :func:`roots_of`.
    """
    return noted.get(story, story) == story and (own == story or noted.get(own, story) == story)


def readdressed_story(old: str, new: str, noted: str | None) -> str:
    """Return the new id of the story ``old`` when its first article moves to the URL of the story ``new``.

    ``noted`` is the current story of ``new``, if it was merged with another one.
    """
    return new if noted is None or noted == old else noted
