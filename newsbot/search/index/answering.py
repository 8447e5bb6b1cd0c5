"""Turns matches into hits: only present versions of articles, with their snippets."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice

from newsbot.items import Article
from newsbot.search.index.entry import Entry
from newsbot.search.index.searching import Found, WordIndex, asked_of
from newsbot.search.query import ArticleFilter, Hit, parse
from newsbot.search.snippets import snippet

Load = Callable[[Sequence[bytes]], dict[bytes, Article]]
"""Articles by key; unknown ones are missing."""


def answer(
    index: WordIndex,
    text: str,
    where: ArticleFilter | None,
    *,
    limit: int,
    by_time: bool,
    load: Load,
    members: Callable[[str], list[Entry]],
) -> list[Hit] | None:
    """Return what :meth:`newsbot.storage.articles.Texts.search` promises; None: all articles were asked for.

    ``members`` gives the articles of a story, which changes without the index.
    """
    query = parse(text)
    if limit <= 0:
        return []
    if query.empty:
        return None if query.blank else []
    asked = asked_of(query, where)
    by_time = by_time or not query.wanted
    if where is not None and where.story is not None:
        parts = index.find_among(members(where.story), asked, limit=limit, by_time=by_time)
    else:
        parts = index.find(asked, limit=limit, by_time=by_time)
    hits = [
        Hit(article, snippet(article.title, article.text, query.stems), score)
        for article, score in islice(_present(parts, load, limit), limit)
    ]
    return hits if by_time else sorted(hits, key=lambda hit: -hit.score)


def _present(parts: Iterator[list[Found]], load: Load, at_once: int) -> Iterator[tuple[Article, float]]:
    given: set[bytes] = set()
    pages = (part[start : start + at_once] for part in parts for start in range(0, len(part), at_once))
    for page in pages:
        articles = load([found.key for found in page])
        for found in page:
            article = articles.get(found.key)
            if article is not None and article.version == found.version and found.key not in given:
                given.add(found.key)
                yield article, found.score
