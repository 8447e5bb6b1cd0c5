"""Fourth pipeline: near-duplicates become members of one story (MinHash, verified)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from scrapy.crawler import Crawler

from newsbot.crawlstate import CrawlState
from newsbot.dedup.decision import Neighbour, Relation, decide, numbers_in
from newsbot.dedup.index import Near
from newsbot.dedup.minhash import signature
from newsbot.items import Article

MAX_NEIGHBOURS = 20
"""The nearest texts that are looked at: they are ordered, and further ones decide nothing."""


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
        near = state.index.check_and_insert(
            article.canonical_url, article.source, signature(article.text), state.clock()
        )
        neighbours = [_neighbour(state, one) for one in near[:MAX_NEIGHBOURS]]
        decision = decide(article.canonical_url, article.source, numbers_in(article.text), neighbours)
        article.story = decision.story
        article.duplicate_of = decision.duplicate_of
        state.witnesses.pop(article.canonical_url, None)
        if decision.witness is not None:
            state.witnesses[article.canonical_url] = decision.witness
        if decision.relation is not Relation.NEW:
            state.count("duplicates/near")


def _neighbour(state: CrawlState, near: Near) -> Neighbour:
    kept = state.storage.article(near.doc_id)
    if kept is None:
        return Neighbour(near=near, story=None)
    # under the address that has the text: it may be the very page that asks
    stored = replace(near, doc_id=kept.canonical_url)
    return Neighbour(near=stored, story=kept.story, numbers=numbers_in(kept.text))
