"""Rebuilds the near-duplicate index from the stored texts, after Redis has lost its data or for another
scheme.

What an index keeps of a text can be computed again from the text, and only the last weeks count. A text that
is there already is replaced, so that this may run beside a crawl and be repeated.

Copies of texts that the index had lost when they came stand in stories of their own: they can be joined then.
"""

from __future__ import annotations

from collections.abc import Callable

from newsbot.dedup.index import Near, NearIndex
from newsbot.dedup.minhash import signature
from newsbot.dedup.story_merge import MAX_NEIGHBOURS, join, place
from newsbot.items import Article
from newsbot.storage.base import Storage

Wanted = Callable[[Article], bool]
Met = Callable[[Article, list[Near]], object]


def rebuild(
    storage: Storage,
    index: NearIndex,
    now: float,
    report: Callable[[int], None],
    wanted: Wanted = lambda _article: True,
    *,
    met: Met = lambda _article, _near: None,
) -> int:
    """Put the texts of the last ``index.keep`` seconds before ``now`` into it, the oldest first; how many.

    Those that were fetched before are forgotten there in any case. ``report`` is told how many so far, after
    each; ``met`` gets an article with what resembles it. Raises :class:`newsbot.errors.DataError` kinds.
    """
    number = 0
    for article in storage.articles.iter():
        moment = None if article.fetched_at is None else article.fetched_at.timestamp()
        if moment is None or moment < now - index.keep or not wanted(article):
            continue
        text = signature(article.text)
        met(article, index.check_and_insert(article.canonical_url, article.source, text, moment))
        number += 1
        report(number)
    return number


def reunite(storage: Storage, article: Article, near: list[Near]) -> bool:
    """Join a stored article's story with those that it belongs to by what resembles it; False if it has none.

    It is judged as if it had just come. Raises :class:`newsbot.errors.DataError` kinds.
    """
    kept = {one.doc_id: text for one in near[:MAX_NEIGHBOURS] if (text := storage.articles.get(one.doc_id))}
    if {one.story for one in kept.values()} <= {article.story}:
        return False
    peers = place(article, [one for one in near if one.doc_id in kept], kept).peers
    stories = {one.story for one in kept.values() if one.canonical_url in peers}
    if stories <= {article.story}:
        return False
    join(storage, [article.canonical_url, *peers])
    return True
