"""Finds which of some articles in memory match queries, with a temporary index.

No process needs the search index for that.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path

from newsbot.apps.search.articles import ArticleSearch
from newsbot.apps.search.labels import NO_LABELS, Labels
from newsbot.apps.search.query import Tagged
from newsbot.items import Article, ArticleFilter
from newsbot.storage.articles import Change, Changes
from newsbot.urls import fingerprint


def matches(
    articles: Mapping[bytes, Article],
    queries: Mapping[str, str],
    tagged: Tagged,
    labels: Labels = NO_LABELS,
) -> dict[str, set[bytes]]:
    """Return the keys of the articles that match each query, by name of the query.

    ``articles`` are given by the fingerprints of their canonical URLs. ``tagged`` returns the sites of a tag,
    and ``labels`` finds the labels of articles.
    """
    if not articles:
        return {name: set() for name in queries}
    with (
        tempfile.TemporaryDirectory(prefix="newsbot-") as folder,
        closing(ArticleSearch(Path(folder) / "search.db", _InMemory(articles), tagged, labels)) as index,
    ):
        index.follow()
        return {
            name: {fingerprint(hit.article.canonical_url) for hit in index.find(query, limit=len(articles))}
            for name, query in queries.items()
        }


class _InMemory:
    """A batch of articles in memory that :class:`ArticleSearch` can index.

    It implements :class:`newsbot.apps.search.following.Library`.
    """

    def __init__(self, articles: Mapping[bytes, Article]) -> None:
        self._articles = articles

    def changes_since(self, cursor: str = "", limit: int = 500) -> Changes:
        """Return all articles at the first call, and none at later calls."""
        found = [] if cursor else [Change(key, one) for key, one in self._articles.items()]
        # Any text that is not empty can be the cursor after all articles.
        return Changes(found[:limit], "all", restarted=not cursor)

    def with_keys(self, keys: Sequence[bytes]) -> dict[bytes, Article]:
        """Return the articles with these keys."""
        return {key: self._articles[key] for key in keys if key in self._articles}

    def iter(self, where: ArticleFilter | None = None) -> Iterator[Article]:
        """Yield all articles, or only those of the story that the filter names.

        Other filters are not used.
        """
        story = where.story if where else None
        return (one for one in self._articles.values() if story is None or one.story == story)

    def newest(self, where: ArticleFilter | None = None, *, limit: int) -> list[Article]:
        """Return up to ``limit`` articles of a story, in any order."""
        return list(self.iter(where))[:limit]

    def count(self, where: ArticleFilter | None = None) -> int:
        """Return the number of articles of a story."""
        return sum(1 for _ in self.iter(where))

    def changes_after(self, cursor: str) -> int:
        """Return the number of articles for an empty cursor, and 0 for any other cursor."""
        return 0 if cursor else len(self._articles)
