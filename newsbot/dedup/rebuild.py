"""Rebuilds the near-duplicate index from stored texts, after Redis lost its data or for a new scheme.

The content of an index can be computed again from the texts of the last weeks. Texts that are already in the
index are replaced, so a rebuild may run during a crawl and may be repeated.

While the index was incomplete, copies of stored texts began stories of their own. :func:`reunite` merges
these stories.
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
    """Insert the texts of the last ``index.keep`` seconds before ``now``, oldest first. Return their number.

    The index forgets older texts anyway. ``wanted`` selects articles. After each text, ``report`` is called
    with the number so far. ``met`` is called with each article and the texts that resemble it. Raises
    subclasses of :class:`newsbot.errors.DataError`.
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
    """Merge a stored article's story with those of similar articles. Return False if nothing was merged.

    The article is judged as if it were new. Raises subclasses of :class:`newsbot.errors.DataError`.
    """
    kept = {one.doc_id: text for one in near[:MAX_NEIGHBOURS] if (text := storage.articles.get(one.doc_id))}
    # the usual case, which saves comparing the texts
    if {one.story for one in kept.values()} <= {article.story}:
        return False
    peers = place(article, [one for one in near if one.doc_id in kept], kept).peers
    stories = {one.story for one in kept.values() if one.canonical_url in peers}
    if stories <= {article.story}:
        return False
    join(storage, [article.canonical_url, *peers])
    return True
