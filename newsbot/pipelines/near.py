"""Fourth pipeline: near-duplicates become members of one story (MinHash, verified)."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scrapy.crawler import Crawler

from newsbot.crawlstate import CrawlState
from newsbot.dedup.decision import Neighbour, Relation, decide, numbers_in
from newsbot.dedup.index import Near
from newsbot.dedup.minhash import exact, shingle_hashes, signature
from newsbot.items import Article

MAX_NEIGHBOURS = 20
"""The nearest texts that are read. Further ones of other sites join by their signatures alone; those of the
same site, where numbers must be compared, are left: each of them was compared with its own nearest."""
WAITS = (0.02, 0.08, 0.3, 0.6)
"""Seconds between looks for a like text that is on its way to storage."""


@dataclass(slots=True)
class _Found:
    """What resembles an article, with the stored texts as far as they are known."""

    near: list[Near]
    kept: dict[str, Article] = field(default_factory=dict)


class NearDuplicatePipeline:
    """Fills ``story`` and ``duplicate_of``. The index is asked and added to before storage: idempotent.

    Texts themselves tell how alike they are, and their numbers whether like texts of one site are one piece
    of news. A text that another worker is about to store is waited for, a second at most. If it does not
    come, its signature counts; one of the same site is then no neighbour, for nobody can say, and two issues
    of a template would be one story for ever.
    """

    def __init__(self, crawler: Crawler) -> None:
        self.crawler = crawler

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> NearDuplicatePipeline:
        """Make the pipeline as Scrapy does."""
        return cls(crawler)

    async def process_item(self, item: Any) -> Any:
        """Return the article with its story; wait while the data are away."""
        if isinstance(item, Article):
            await find_story(CrawlState.of(self.crawler), item)
        return item


async def find_story(state: CrawlState, article: Article) -> None:
    """Put the article into the index under its URL, and find its story; wait while the data are away."""
    found = await state.outage.patiently(_ask, state, article)
    for pause in WAITS:
        if await state.outage.patiently(_all_stored, state, found):
            break
        await asyncio.sleep(pause)
    else:
        await state.outage.patiently(_all_stored, state, found)
    await state.outage.patiently(_decide, state, article, found)


def _ask(state: CrawlState, article: Article) -> _Found:
    """Ask the index, and add the article to it."""
    with state.timed("dedup_near"):
        mine = signature(article.text)
        return _Found(
            state.index.check_and_insert(article.canonical_url, article.source, mine, state.clock())
        )


def _all_stored(state: CrawlState, found: _Found) -> bool:
    """Read the texts that are not known yet; False if one is not there."""
    with state.timed("dedup_near"):
        missing = [one.doc_id for one in found.near[:MAX_NEIGHBOURS] if one.doc_id not in found.kept]
        for doc_id in missing:
            kept = state.storage.article(doc_id)
            if kept is not None:
                found.kept[doc_id] = kept
        return found.kept.keys() >= set(missing)


def _decide(state: CrawlState, article: Article, found: _Found) -> None:
    with state.timed("dedup_near"):
        shingles = shingle_hashes(article.text) if found.kept else None
        neighbours = [
            _neighbour(one, found.kept.get(one.doc_id), shingles)
            for one in found.near
            if one.doc_id in found.kept or one.source != article.source
        ]
        decision = decide(article.canonical_url, article.source, numbers_in(article.text), neighbours)
    article.story = decision.story
    article.duplicate_of = decision.duplicate_of
    article.derived_from = decision.derived_from
    article.relation = decision.relation.value
    article.similarity = round(decision.similarity, 3) or None
    state.peers.pop(article.canonical_url, None)
    if decision.peers:
        state.peers[article.canonical_url] = decision.peers
    if decision.relation is Relation.DERIVED:
        state.count("duplicates/derived")
    elif decision.relation is not Relation.NEW:
        state.count("duplicates/near")


def _neighbour(near: Near, kept: Article | None, shingles: NDArray[np.uint32] | None) -> Neighbour:
    if kept is None or shingles is None:
        return Neighbour(near=near, story=None)
    # under the address that has the text: it may be the very page that asks
    stored = replace(near, doc_id=kept.canonical_url)
    return Neighbour(stored, kept.story, numbers_in(kept.text), exact(shingles, shingle_hashes(kept.text)))
