"""Takes the links that a spider yields, so that they are queued before their page is acknowledged."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from typing import Any

from scrapy.crawler import Crawler
from scrapy.exceptions import CloseSpider
from scrapy.http import Response

from newsbot.crawlstate import CrawlState
from newsbot.errors import DataError, DataFull
from newsbot.intake import queue_found
from newsbot.visit import META_KEY, Found, Visit

logger = logging.getLogger(__name__)

PAUSE_AFTER_FAULT = 2.0


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
                await self._queue(result)
            else:
                yield result

    async def _queue(self, found: Found) -> None:
        """Queue what a crawl begins with, however long the data cannot be written: it comes only once."""
        told = False
        while True:
            try:
                queue_found(CrawlState.of(self.crawler), found)
            except DataFull as error:
                logger.error("%s", error)
                raise CloseSpider("disk_full") from error
            except DataError as error:
                if not told:
                    logger.error("%s", error)
                told = True
                await asyncio.sleep(PAUSE_AFTER_FAULT)
            else:
                return

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
