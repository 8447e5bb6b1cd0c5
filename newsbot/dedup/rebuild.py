"""Rebuilds the near-duplicate index from stored texts.

This is needed after Redis lost its data, or if the parameters of signatures changed. The content of an index
can be computed from the stored texts of the last weeks. Texts that are already in the index are replaced, so
a rebuild may run during a crawl and may be repeated.

While the index was incomplete, a copy of a stored text began a new story instead of joining that text's
story. :func:`reunite` merges such stories.
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
    """Insert the stored texts into the index, oldest first. Return the number of inserted texts.

    Only texts fetched in the last ``index.keep`` seconds before ``now`` are inserted, because the index
    forgets older texts. ``wanted`` selects articles. After each text, ``report`` is called with the number of
    texts inserted so far. ``met`` is called with each article and its near texts. Raises subclasses of
    :class:`newsbot.errors.DataError`.
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
    """Merge a stored article's story with those of its peers. Return True if stories were merged.

    ``near`` are its near texts. Peers are the near texts that belong to its story
    (:mod:`newsbot.dedup.decision`), judged as if the article were new. Raises subclasses of
    :class:`newsbot.errors.DataError`.
    """
    kept = {one.doc_id: text for one in near[:MAX_NEIGHBOURS] if (text := storage.articles.get(one.doc_id))}
    # usually all near texts have the article's story already, and no texts need to be compared
    if {one.story for one in kept.values()} <= {article.story}:
        return False
    peers = place(article, [one for one in near if one.doc_id in kept], kept).peers
    stories = {one.story for one in kept.values() if one.canonical_url in peers}
    if stories <= {article.story}:
        return False
    join(storage, [article.canonical_url, *peers])
    return True
