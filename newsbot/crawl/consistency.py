"""Warns at the start of a crawl if the backends do not belong together.

Queue, storage and near-duplicate index may be on three servers. If one of the servers is emptied or replaced,
the crawl still runs. Without a warning, missing data would be noticed only weeks later.
"""

from __future__ import annotations

import logging

from newsbot.cli.program import PROGRAM
from newsbot.clock import DAY, utc
from newsbot.dedup.index import NearIndex
from newsbot.frontier.base import LeanFrontier
from newsbot.items import ArticleFilter
from newsbot.storage.base import Storage
from newsbot.storage.notes import identity_of

LEAST_INDEXED = 0.25
"""The index counts as incomplete if it has less than this share of the texts of recent articles.

Even a complete index does not have all texts, because short texts are left out.
"""


logger = logging.getLogger(__name__)


def notice_lost_index(storage: Storage, index: NearIndex, now: float) -> None:
    """Log a warning if the near-duplicate index lacks most of the recently stored texts.

    Near copies of these texts would not be recognised. ``now`` is in POSIX seconds. Raises
    :class:`newsbot.errors.DataError`.
    """
    texts = index.count()
    lately = storage.articles.count(ArticleFilter(since=utc(now - index.keep), posts=False))
    if texts < lately * LEAST_INDEXED:
        logger.warning(
            "near-duplicate index has lost texts place=%s texts=%d articles=%d; near-duplicates of articles"
            " of the last %g days may be missed. To repair the index, run: %s articles reindex",
            *(index.place, texts, lately, index.keep / DAY, PROGRAM),
        )


def notice_volatile_queue(frontier: LeanFrontier) -> None:
    """Log a warning if a restart of the server can lose the queue. Raises
    :class:`newsbot.errors.DataError`."""
    if frontier.is_volatile():
        logger.warning(
            "queue is kept in memory only place=%s; a restart of the server can lose the queue and repeat"
            " fetches: set appendonly yes and appendfsync always in redis.conf",
            frontier.place,
        )


def notice_foreign_queue(frontier: LeanFrontier, storage: Storage) -> None:
    """Log a warning if the queue belongs to another storage.

    In this queue, URLs count as fetched although this storage does not have them, so they would never be
    stored here. An empty queue is assigned to this storage. Raises :class:`newsbot.errors.DataError`.
    """
    # The queue is read before the storage. Other workers store a page before they queue it, so a queued page
    # is found in the storage.
    counts = frontier.counts()
    urls = sum(counts[state] for state in ("pending", "leased", "done", "aside"))
    own = identity_of(storage.notes)
    served = frontier.serves(own, instead=not urls)
    if not urls:
        return
    if next(storage.pages.iter(), None) is None:
        fault = "has no pages, and the pages that this queue knows will not be fetched again"
    elif served != own:
        fault = "belongs to another crawl, and the pages that this queue knows will not be stored there"
    else:
        return
    logger.warning(
        "queue of another storage place=%s urls=%d; %s %s. Each storage needs its own queue: correct"
        " REDIS_URL or %s, or empty this queue",
        *(frontier.place, urls, storage.place, fault),
        "NEWSBOT_DATA" if storage.is_local else "MONGO_URI",
    )
