"""Last pipeline: storage keeps the article, or says that it has it already."""

from __future__ import annotations

from typing import Any

from scrapy.crawler import Crawler
from scrapy.exceptions import DropItem

from newsbot.crawlstate import CrawlState
from newsbot.items import Article
from newsbot.storage.base import Verdict


class StorePipeline:
    """Stores; what was not new is dropped with its reason."""

    def __init__(self, crawler: Crawler) -> None:
        self.crawler = crawler

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> StorePipeline:
        """Make the pipeline as Scrapy does."""
        return cls(crawler)

    def process_item(self, item: Any) -> Any:
        """Return the stored article with its version, or raise ``DropItem``."""
        if not isinstance(item, Article):
            return item
        state = CrawlState.of(self.crawler)
        with state.timed("store"):
            stored = state.storage.store(item)
        item.version = stored.version
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
