"""Data of articles: search by words and filters, one article in full, stories."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from heapq import nsmallest
from itertools import islice
from typing import Any

from newsbot.items import Article
from newsbot.search.index.searching import MAX_WAITING
from newsbot.search.query import ArticleFilter, Hit
from newsbot.storage.stories import Story, out_by
from newsbot.text.differences import changes
from newsbot.urls import canonicalize
from newsbot.web.readers import Data

PER_PAGE = 20
MAX_PAGE = 10
"""Pages of one search; who wants more narrows it, or exports."""
MAX_MEMBERS = 30
MAX_VERSIONS = 30
STORIES = 40


@dataclass(frozen=True, slots=True)
class ArticleRow:
    """An article in a list, without its text."""

    url: str
    canonical_url: str
    source: str
    title: str
    published_at: datetime | None
    published_precision: str | None
    fetched_at: datetime | None
    language: str | None
    authors: list[str]
    story: str | None
    relation: str | None
    """What it was to its story when it came: new, member, revision or derived."""
    similarity: float | None
    """To the article that decided."""
    derived_from: str | None
    """An article of another story that shares most of the shorter text."""
    version: int
    snippet: str = ""
    """Where the words were found stands between ``[`` and ``]``."""
    score: float = 0.0


@dataclass(frozen=True, slots=True)
class Found:
    """One page of a search."""

    articles: list[ArticleRow]
    page: int
    more: bool
    """There is a next page."""
    unindexed: int = 0
    """Articles of which only the newest were searched, since they wait for the index; 0: all were."""


@dataclass(frozen=True, slots=True)
class VersionRow:
    """A version of an article, and what differs from the one before."""

    version: int
    fetched_at: datetime | None
    title: str
    changes: dict[str, Any]
    """Field → [before, after]; ``text`` → {"removed": lines, "added": lines}. Empty for the first one."""


@dataclass(frozen=True, slots=True)
class StoryRow:
    """Articles that tell the same."""

    story: str
    sources: list[str]
    first: ArticleRow
    """Who published it first."""
    members: list[ArticleRow]
    """Oldest first, 30 at most."""
    count: int


@dataclass(frozen=True, slots=True)
class Whole:
    """One article with all that is known of it."""

    article: Article
    versions: list[VersionRow]
    members: list[ArticleRow]
    """The other members of its story."""


def find(data: Data, words: str, where: ArticleFilter, page: int, *, by_time: bool) -> Found:
    """Return a page of what matches, as :meth:`newsbot.storage.articles.Texts.search` does."""
    last = page * PER_PAGE
    hits = data.storage.texts.search(words, where, limit=last + 1, by_time=by_time)
    shown = hits[last - PER_PAGE : last]
    waiting = data.storage.texts.waiting() if words.strip() else 0
    unindexed = waiting if waiting > MAX_WAITING else 0
    return Found([_of_hit(hit) for hit in shown], page, len(hits) > last and page < MAX_PAGE, unindexed)


def whole(data: Data, url: str) -> Whole | None:
    """Return the article under this address; None: none is stored. Raises ``ValueError`` for no URL."""
    article = data.storage.articles.get(canonicalize(url))
    if article is None:  # the rule may name query keys that tell no pages apart
        article = data.storage.articles.get(canonicalize(url, data.rules.for_url(url).drop_query))
    if article is None:
        return None
    versions = data.storage.articles.versions(article.canonical_url)[-MAX_VERSIONS:]
    return Whole(article, version_rows(versions), _others(data, article))


def version_rows(versions: Sequence[Article]) -> list[VersionRow]:
    """Return versions, oldest first, with what changed in each."""
    rows = []
    for place, one in enumerate(versions):
        differs = changes(versions[place - 1], one) if place else {}
        rows.append(VersionRow(one.version, one.fetched_at, one.title, differs))
    return rows


def _others(data: Data, article: Article) -> list[ArticleRow]:
    if article.story is None:
        return []
    members = data.storage.articles.iter(ArticleFilter(story=article.story))
    others = (one for one in members if one.canonical_url != article.canonical_url)
    return [row_of(one) for one in islice(others, MAX_MEMBERS)]


def recent_stories(data: Data) -> list[StoryRow]:
    """Return the latest stories with more than one article. Dear."""
    return [_story(one) for one in data.storage.stories.recent(limit=STORIES)]


def one_story(data: Data, story: str) -> StoryRow | None:
    """Return a story by its id, with its first MAX_MEMBERS members."""
    sources: Counter[str] = Counter()

    def counted(members: Iterable[Article]) -> Iterator[Article]:
        for one in members:
            sources[one.source] += 1
            yield one

    found = data.storage.articles.iter(ArticleFilter(story=story))
    members = nsmallest(MAX_MEMBERS, counted(found), key=out_by)
    if not members:
        return None
    return _story(Story(story=members[0].story or story, members=members), sources)


def _story(story: Story, sources: Counter[str] | None = None) -> StoryRow:
    """Return a story; ``sources``: how many members each site has, where not all are given."""
    first = story.first
    sources = sources or Counter(one.source for one in story.members)
    return StoryRow(
        story=story.story,
        sources=[first.source, *sorted(sources.keys() - {first.source})],
        first=row_of(first),
        members=[row_of(one) for one in story.members[:MAX_MEMBERS]],
        count=sources.total(),
    )


def _of_hit(hit: Hit) -> ArticleRow:
    return row_of(hit.article, hit.snippet, round(hit.score, 4))


def row_of(article: Article, snippet: str = "", score: float = 0.0) -> ArticleRow:
    """Return an article as it stands in a list."""
    return ArticleRow(
        url=article.url,
        canonical_url=article.canonical_url,
        source=article.source,
        title=article.title,
        published_at=article.published_at,
        published_precision=article.published_precision,
        fetched_at=article.fetched_at,
        language=article.language,
        authors=list(article.authors),
        story=article.story,
        relation=article.relation,
        similarity=article.similarity,
        derived_from=article.derived_from,
        version=article.version,
        snippet=snippet,
        score=score,
    )
