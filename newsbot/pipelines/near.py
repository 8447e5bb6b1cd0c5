"""Fourth pipeline: near-duplicates become members of one story (MinHash, verified)."""

from __future__ import annotations

from dataclasses import replace
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


class NearDuplicatePipeline:
    """Fills ``story`` and ``duplicate_of``. The index is asked and added to before storage: idempotent."""

    def __init__(self, crawler: Crawler) -> None:
        self.crawler = crawler

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> NearDuplicatePipeline:
        """Make the pipeline as Scrapy does."""
        return cls(crawler)

    async def process_item(self, item: Any) -> Any:
        """Return the article with its story; wait while the data are away."""
        if isinstance(item, Article):
            state = CrawlState.of(self.crawler)
            await state.outage.patiently(self._place, state, item)
        return item

    def _place(self, state: CrawlState, article: Article) -> None:
        with state.timed("dedup_near"):
            self._decide(state, article)

    @staticmethod
    def _decide(state: CrawlState, article: Article) -> None:
        mine = signature(article.text)
        near = state.index.check_and_insert(article.canonical_url, article.source, mine, state.clock())
        shingles = shingle_hashes(article.text) if near else None
        neighbours = [_neighbour(state, one, shingles) for one in near[:MAX_NEIGHBOURS]]
        neighbours += [Neighbour(one, None) for one in near[MAX_NEIGHBOURS:] if one.source != article.source]
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


def _neighbour(state: CrawlState, near: Near, shingles: NDArray[np.uint32] | None) -> Neighbour:
    kept = state.storage.article(near.doc_id)
    if kept is None or shingles is None:
        return Neighbour(near=near, story=None)
    # under the address that has the text: it may be the very page that asks
    stored = replace(near, doc_id=kept.canonical_url)
    return Neighbour(stored, kept.story, numbers_in(kept.text), exact(shingles, shingle_hashes(kept.text)))
