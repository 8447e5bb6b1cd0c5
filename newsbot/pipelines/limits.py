"""Second pipeline: applies ``max_articles`` and ``max_articles_per_site`` exactly.

An article over the limit is not lost. Its lease is given back, and the next crawl fetches it.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

from scrapy import signals
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured

from newsbot.crawl.assembly import Component, Crawl
from newsbot.crawl.failures import DropItem
from newsbot.items import Article, Reason


class LimitReached(DropItem):
    """The crawl has reached its limit of articles. ``limit`` is the name of the argument."""

    def __init__(self, limit: str) -> None:
        super().__init__(Reason.LIMIT)
        self.args = (limit,)


class LimitsPipeline(Component):
    """Counts the articles that pass. Each article takes one *place* of the limit.

    If an article is dropped later, its place becomes free.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self._scope = Crawl.of(crawler).scope
        arguments = self._scope.arguments
        self.in_all = arguments.max_articles
        self.per_site = arguments.max_articles_per_site
        if self.in_all is None and self.per_site is None:
            raise NotConfigured
        self._taken: dict[str, int] = {}
        """The number of places taken by site, including places of articles that may still be dropped."""
        self._under_way = Counter[str]()
        """The URLs of articles that have a place and are not stored yet, with their number.

        The signals below also report articles that were dropped before this pipeline and have no place. The
        pipelines may have replaced the object of an article.
        """
        self._closing: asyncio.Future[None] | None = None
        crawler.signals.connect(self._kept, signals.item_scraped)
        crawler.signals.connect(self._given_back, signals.item_dropped)
        crawler.signals.connect(self._given_back, signals.item_error)

    def process_item(self, item: Any) -> Any:
        """Return the article, or raise :class:`LimitReached`."""
        if not isinstance(item, Article):
            return item
        if self.in_all is not None and sum(self._taken.values()) >= self.in_all:
            self._close()
            raise LimitReached("max_articles")
        if self.per_site is not None and self._taken.get(item.source, 0) >= self.per_site:
            self._scope.limited.add(item.source)
            raise LimitReached("max_articles_per_site")
        # The place is taken now, before the article is stored, because several articles are in the pipelines
        # at the same time.
        self._taken[item.source] = self._taken.get(item.source, 0) + 1
        self._under_way[item.fetched_url] += 1
        return item

    def _kept(self, item: Any, **_: Any) -> None:
        """Close the spider after the last article of the limit, without waiting for a further article."""
        if not self._has_arrived(item):
            return
        if self._under_way:
            return  # an article in progress may still be dropped, and its place then becomes free
        if self.per_site is not None and self._taken[item.source] >= self.per_site:
            self._scope.limited.add(item.source)
        if self.in_all is not None and sum(self._taken.values()) >= self.in_all:
            self._close()

    def _given_back(self, item: Any, **_: Any) -> None:
        if self._has_arrived(item):
            self._taken[item.source] -= 1

    def _has_arrived(self, item: Any) -> bool:
        """Return True if the item is an article with a place, which is no longer under way."""
        if not isinstance(item, Article) or item.fetched_url not in self._under_way:
            return False
        self._under_way[item.fetched_url] -= 1
        self._under_way += Counter()  # removes the zero
        return True

    def _close(self) -> None:
        engine = self.crawler.engine
        if self._closing is None and engine is not None:
            self._closing = asyncio.ensure_future(engine.close_spider_async(reason="max_articles"))
