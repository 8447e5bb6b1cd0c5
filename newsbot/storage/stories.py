"""Stories: articles that tell the same thing, under one id."""

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
    """Return the id of the story that the article with this canonical URL begins: stable for ever."""
    return fingerprint(url).hex()


def out_by(article: Article) -> tuple[datetime, datetime, str]:
    """Return a key that sorts articles in the order of their publication, as far as it is known.

    Some pages give only the day of publication, some nothing, some the time of their last update. What was
    seen was published by then, whatever its page says. So the key is the moment that the page gives, or the
    moment when the page was seen if that was earlier or the page gives nothing. A page that gives only its
    day comes before a page of the same day with an hour if it was seen before that hour. Of equal ones the
    one that was fetched first comes first.
    """
    fetched = article.fetched_at or _NEVER
    seen = min(fetched, article.discovered_at or _NEVER)
    told = article.published_at or _NEVER
    if article.published_at is not None and article.published_precision == "day" and told < _NEVER - _DAY:
        told = max(told, min(seen, told + _DAY))
    return min(told, seen), fetched, article.canonical_url


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
        """The member that was published first, as far as is known (:func:`out_by`)."""
        return min(self.members, key=out_by)


@dataclass(frozen=True, slots=True)
class Joined:
    """The result of joining stories."""

    story: str
    """The id of the one story."""
    missing: bool
    """True if an article was not stored. It may have been stored meanwhile: look again."""


class Stories(Protocol):
    """Which articles belong to which story."""

    def join(self, canonical_urls: Sequence[str]) -> Joined:
        """Bring the stories of these articles into one, with all their members.

        Of several stories the one whose first article was fetched earliest keeps its id. The ids of the
        others lead to it for ever. An article that is not stored yet counts by the story that it would begin
        (:func:`story_id`), and finds the joined story when it is stored and joined itself.
        """

    def assign(self, canonical_url: str, story: str, duplicate_of: str | None) -> None:
        """Put a stored article into a story. Nothing happens if the article is not stored."""

    def recent(
        self,
        *,
        since: datetime | None = None,
        min_members: int = 2,
        min_sources: int = 1,
        limit: int = 50,
    ) -> list[Story]:
        """Return the stories with at least so many members of so many sources, the most recent first.

        The members come without their texts. ``since``: only stories with a member that was published (or,
        where that is unknown, fetched) then or later.
        """


def roots_of(own: Sequence[str], stories: Sequence[str | None], noted: Mapping[str, str]) -> set[str]:
    """Return the ids of the stories that joining some articles brings together.

    ``own`` are the ids of the stories that the articles would begin, ``stories`` those in which they are
    (None: not stored), ``noted`` says where a story is now that was joined before. An article's own id counts
    only where another article has noted it, or will look for it.
    """
    roots = {noted.get(story, story) for story in stories if story}
    pairs = zip(own, stories, strict=True)
    return roots | {noted.get(name, name) for name, story in pairs if name in noted or not story}


def is_settled(story: str, own: str, noted: Mapping[str, str]) -> bool:
    """Return True if joining the article of ``story`` alone would change nothing; names as for
    :func:`roots_of`."""
    return noted.get(story, story) == story and (own == story or noted.get(own, story) == story)


def readdressed_story(old: str, new: str, noted: str | None) -> str:
    """Return the new id of the story ``old`` when its first article moves to the URL of the story ``new``.

    ``noted``: where the story ``new`` is now, if it was joined with another one.
    """
    return new if noted is None or noted == old else noted
