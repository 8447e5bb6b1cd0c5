"""Takes the links that a spider yields, so that they are queued before their page is acknowledged."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from scrapy.crawler import Crawler
from scrapy.http import Response

from newsbot.crawlstate import CrawlState
from newsbot.intake import queue_found
from newsbot.visit import META_KEY, Found, Visit


class LinksMiddleware:
    """Collects :class:`Found` in the visit; what ``start()`` yields is queued at once."""

    def __init__(self, crawler: Crawler) -> None:
        self.crawler = crawler

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> LinksMiddleware:
        """Make the middleware as Scrapy does."""
        return cls(crawler)

    async def process_start(self, start: AsyncIterator[Any]) -> AsyncIterator[Any]:
        """Queue the sources that a crawl begins with; pass on everything else."""
        async for result in start:
            if isinstance(result, Found):
                queue_found(CrawlState.of(self.crawler), result)
            else:
                yield result

    async def process_spider_output(
        self, response: Response, result: AsyncIterator[Any]
    ) -> AsyncIterator[Any]:
        """Collect the links; pass on everything else."""
        visit: Visit | None = response.meta.get(META_KEY)
        async for output in result:
            if isinstance(output, Found) and visit is not None:
                visit.found.append(output)
            else:
                yield output
