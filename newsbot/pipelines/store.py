"""Last pipeline: storage keeps the article, or says that it has it already."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from scrapy.crawler import Crawler
from scrapy.exceptions import DropItem

from newsbot.crawlstate import CrawlState
from newsbot.dedup.decision import story_id
from newsbot.dedup.settling import settle
from newsbot.errors import DataError, RecordBusy
from newsbot.items import Article
from newsbot.storage.base import Stored, Verdict


class StorePipeline:
    """Stores; what was not new is dropped with its reason."""

    def __init__(self, crawler: Crawler) -> None:
        self.crawler = crawler

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> StorePipeline:
        """Make the pipeline as Scrapy does."""
        return cls(crawler)

    async def process_item(self, item: Any) -> Any:
        """Return the stored article with its version, or raise ``DropItem``; wait while the data are away."""
        if not isinstance(item, Article):
            return item
        state = CrawlState.of(self.crawler)
        lost_answers = 0

        async def store() -> Stored:
            nonlocal lost_answers
            try:
                return await state.store(item)
            except DataError as error:
                lost_answers += not isinstance(error, RecordBusy)
                raise

        stored = await state.outage.patiently_await(store)
        item.version = stored.version
        if stored.verdict is Verdict.UNCHANGED and lost_answers:
            # it was kept by the try whose answer was lost
            stored = replace(stored, verdict=Verdict.NEW if stored.version == 1 else Verdict.UPDATED)
        await state.outage.patiently(_settle, state, item, stored.verdict)
        return self._tell(state, item, stored)

    @staticmethod
    def _tell(state: CrawlState, item: Article, stored: Stored) -> Article:
        if stored.verdict is Verdict.SAME_TEXT:
            state.count("duplicates/text")
            state.count_site(item.source, "duplicates")
            raise DropItem(f"same_text as {stored.canonical_url}")
        if stored.verdict is Verdict.UNCHANGED:
            state.count("articles/unchanged")
            raise DropItem("unchanged")
        state.count(f"articles/{stored.verdict}")
        state.count_site(item.source, "articles" if stored.verdict is Verdict.NEW else "updated")
        state.books.last_article[item.source] = state.clock()
        return item


def _settle(state: CrawlState, article: Article, verdict: Verdict) -> None:
    """Look again whether others, who met a like text meanwhile, are in the same story."""
    url, story = article.canonical_url, article.story
    joined = verdict is Verdict.NEW and story != story_id(url)
    if story is not None and (joined or verdict is Verdict.SAME_TEXT):
        with state.timed("store"):
            settle(state.storage, url, story, state.witnesses.get(url))
    state.witnesses.pop(url, None)
