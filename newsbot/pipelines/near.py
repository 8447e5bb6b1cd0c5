"""Fourth pipeline: near-duplicates become members of one story (MinHash, verified)."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any

from scrapy.crawler import Crawler

from newsbot.crawl.assembly import Crawl
from newsbot.dedup.decision import Relation
from newsbot.dedup.index import Near
from newsbot.dedup.minhash import signature
from newsbot.dedup.story_merge import MAX_NEIGHBOURS, place
from newsbot.items import Article

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
        self._stories = StoryFinder(Crawl.of(crawler))

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> NearDuplicatePipeline:
        """Make the pipeline as Scrapy does."""
        return cls(crawler)

    async def process_item(self, item: Any) -> Any:
        """Return the article with its story; wait while the data are away."""
        if isinstance(item, Article):
            await self._stories.find(item)
        return item


class StoryFinder:
    """Puts articles into the index and finds their stories."""

    def __init__(self, crawl: Crawl) -> None:
        self._context, self._peers = crawl.context, crawl.peers

    async def find(self, article: Article) -> None:
        """Put the article into the index under its URL, and find its story; wait while the data are away."""
        found = await self._context.outage.patiently(self._ask, article)
        for pause in WAITS:
            if await self._context.outage.patiently(self._all_stored, found):
                break
            await asyncio.sleep(pause)
        else:
            await self._context.outage.patiently(self._all_stored, found)
        await self._context.outage.patiently(self._decide, article, found)

    def _ask(self, article: Article) -> _Found:
        """Ask the index, and add the article to it."""
        with self._context.timed("dedup_near"):
            mine = signature(article.text)
            return _Found(
                self._context.index.check_and_insert(
                    article.canonical_url, article.source, mine, self._context.clock()
                )
            )

    def _all_stored(self, found: _Found) -> bool:
        """Read the texts that are not known yet; False if one is not there."""
        with self._context.timed("dedup_near"):
            missing = [one.doc_id for one in found.near[:MAX_NEIGHBOURS] if one.doc_id not in found.kept]
            for doc_id in missing:
                kept = self._context.storage.articles.get(doc_id)
                if kept is not None:
                    found.kept[doc_id] = kept
            return found.kept.keys() >= set(missing)

    def _decide(self, article: Article, found: _Found) -> None:
        with self._context.timed("dedup_near"):
            decision = place(article, found.near, found.kept)
        article.story = decision.story
        article.duplicate_of = decision.duplicate_of
        article.derived_from = decision.derived_from
        article.relation = decision.relation.value
        article.similarity = round(decision.similarity, 3) or None
        self._peers.pop(article.canonical_url, None)
        if decision.peers:
            self._peers[article.canonical_url] = decision
        if decision.relation is Relation.DERIVED:
            self._context.count("duplicates/derived")
        elif decision.relation is not Relation.NEW:
            self._context.count("duplicates/near")
