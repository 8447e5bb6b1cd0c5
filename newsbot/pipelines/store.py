"""Last pipeline: storage keeps the article, or says that it has it already."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from scrapy.crawler import Crawler
from scrapy.exceptions import DropItem

from newsbot.crawlstate import CrawlState
from newsbot.dedup.settling import settle
from newsbot.errors import DataError, RecordBusy
from newsbot.items import Article
from newsbot.latecomers import forget_texts, is_out
from newsbot.storage.base import Stored, Verdict
from newsbot.tombstones import REMOVED


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
            _refuse_removed(state, item)  # it may have waited for long
            try:
                return await state.store(item)
            except DataError as error:
                lost_answers += not isinstance(error, RecordBusy)
                raise

        stored = await state.outage.patiently_await(store)
        state.latecomers.stored(item)
        item.version = stored.version
        if stored.verdict is Verdict.UNCHANGED and lost_answers:
            # it was kept by the try whose answer was lost
            stored = replace(stored, verdict=Verdict.NEW if stored.version == 1 else Verdict.UPDATED)
        await state.outage.patiently(_settle, state, item, stored)
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


def _refuse_removed(state: CrawlState, article: Article) -> None:
    """Drop what was taken out since it was looked at first; its text is in the index by now."""
    if is_out(article, state.is_removed):
        forget_texts(state.index, [article.canonical_url], state.clock())
        state.peers.pop(article.canonical_url, None)
        state.count(f"dropped/{REMOVED}")
        raise DropItem(REMOVED)


def _settle(state: CrawlState, article: Article, stored: Stored) -> None:
    """Bring the article and those that resemble it into one story; others may have met them meanwhile."""
    url = article.canonical_url
    peers = state.peers.get(url, ())
    with state.timed("store"):
        if stored.verdict is Verdict.SAME_TEXT:
            settle(state.storage, url, peers, stored.canonical_url)
        elif peers or stored.verdict is Verdict.NEW:
            article.story = settle(state.storage, url, peers)
    state.peers.pop(url, None)
