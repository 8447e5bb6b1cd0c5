"""The near-duplicate index anew from the stored texts: after Redis has lost its data, or another scheme.

What an index keeps of a text can be computed again from the text, and only the last weeks count. A text that
is there already is replaced, so that this may run beside a crawl and be repeated.
"""

from __future__ import annotations

from collections.abc import Callable

from newsbot.dedup.index import KEEP, NearIndex
from newsbot.dedup.minhash import signature
from newsbot.items import Article
from newsbot.storage.base import Storage

Wanted = Callable[[Article], bool]


def rebuild(
    storage: Storage,
    index: NearIndex,
    now: float,
    report: Callable[[int], None],
    wanted: Wanted = lambda _article: True,
) -> int:
    """Put the texts of the last ``KEEP`` seconds before ``now`` into an index, the oldest first; how many.

    Those that were fetched before are forgotten there in any case. ``report`` is told how many so far, after
    each. Raises :class:`newsbot.errors.DataError` kinds.
    """
    number = 0
    for article in storage.iter_articles():
        moment = None if article.fetched_at is None else article.fetched_at.timestamp()
        if moment is None or moment < now - KEEP or not wanted(article):
            continue
        index.check_and_insert(article.canonical_url, article.source, signature(article.text), moment)
        number += 1
        report(number)
    return number
