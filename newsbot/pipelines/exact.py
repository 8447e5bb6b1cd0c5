"""Third pipeline: the same text under another address of the site, or an unchanged page, goes no further."""

from __future__ import annotations

from typing import Any

from scrapy.crawler import Crawler
from scrapy.exceptions import DropItem

from newsbot.crawlstate import CrawlState
from newsbot.dedup.exact import text_key
from newsbot.items import Article


class ExactDuplicatePipeline:
    """Fills ``content_hash``; drops copies before the costlier steps. Storage's unique indexes decide."""

    def __init__(self, crawler: Crawler) -> None:
        self.crawler = crawler

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> ExactDuplicatePipeline:
        """Make the pipeline as Scrapy does."""
        return cls(crawler)

    def process_item(self, item: Any) -> Any:
        """Return the article, or raise ``DropItem``."""
        if not isinstance(item, Article):
            return item
        state = CrawlState.of(self.crawler)
        with state.timed("dedup_exact"):
            item.content_hash = text_key(item.text)
            owner = state.storage.text_owner(item.source, item.content_hash)
            if owner is not None and owner != item.canonical_url:
                state.storage.store(item)  # records this address beside the owner's
                state.count("duplicates/text")
                state.count_site(item.source, "duplicates")
                raise DropItem(f"same_text as {owner}")
            if owner is not None:
                kept = state.storage.article(item.canonical_url)
                if kept is not None and kept.title == item.title and kept.story is not None:
                    state.count("articles/unchanged")
                    state.count("duplicates/url")
                    raise DropItem("unchanged")
        return item
