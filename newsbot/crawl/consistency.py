"""Warnings at the beginning of a crawl about backends that do not fit together.

Queue, storage and near-duplicate index may be three servers. If one was emptied or replaced, people would
otherwise notice weeks later by what is missing.
"""

from __future__ import annotations

import logging

from newsbot.clock import DAY, utc
from newsbot.dedup.index import NearIndex
from newsbot.frontier.base import Frontier, LeanFrontier
from newsbot.search.query import ArticleFilter
from newsbot.storage.base import Storage
from newsbot.storage.notes import identity_of

LEAST_INDEXED = 0.25
"""Share of the latest articles that an index at least has; those of few words are in none."""


logger = logging.getLogger(__name__)


def notice_lost_index(storage: Storage, index: NearIndex, now: float) -> None:
    """Log if little is known of the texts that were stored lately: copies of them would stay alone.

    ``now``: POSIX seconds. Raises :class:`newsbot.errors.DataError`.
    """
    texts = index.count()
    lately = storage.articles.count(ArticleFilter(since=utc(now - index.keep)))
    if texts < lately * LEAST_INDEXED:
        logger.warning(
            "near-duplicate index has lost texts place=%s texts=%d articles=%d; near copies of these articles"
            " of the last %g days may not be recognised. To put it right: scrapy articles reindex",
            *(index.place, texts, lately, index.keep / DAY),
        )


def notice_foreign_queue(frontier: Frontier, storage: Storage) -> None:
    """Log if the queue is that of another storage: what it knows would be missing in this one.

    An empty queue is the storage's own from now on. Raises :class:`newsbot.errors.DataError`.
    """
    if not isinstance(frontier, LeanFrontier):
        return
    counts = frontier.counts()  # first: a page is in the storage before it is queued
    urls = sum(counts[state] for state in ("pending", "leased", "done", "aside"))
    own = identity_of(storage.notes)
    served = frontier.serves(own, instead=not urls)
    if not urls:
        return
    if next(storage.pages.iter(), None) is None:
        fault = "has no page of them, and what was fetched is not fetched again"
    elif served != own:
        fault = "holds other pages, which will be missing among them"
    else:
        return
    logger.warning(
        "queue of another storage place=%s urls=%d; %s %s. One queue serves one storage: correct"
        " REDIS_URL or %s, or empty it",
        *(frontier.place, urls, storage.place, fault),
        "NEWSBOT_DATA" if storage.is_local else "MONGO_URI",
    )
