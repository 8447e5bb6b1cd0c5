"""Collects the links that a spider yields, so that they are queued before their page is acknowledged."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

from scrapy.crawler import Crawler
from scrapy.exceptions import CloseSpider
from scrapy.http import Response

from newsbot.crawl.assembly import Crawl
from newsbot.crawl.visit import META_KEY, Ending, Found, Visit
from newsbot.errors import DataDamaged, DataError, RecordRefused
from newsbot.middlewares import Middleware


class LinksMiddleware(Middleware):
    """Collects the :class:`newsbot.crawl.visit.Found` of a page in its visit. Seeds are queued at once."""

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        crawl = Crawl.of(crawler)
        self._outage, self._links = crawl.context.outage, crawl.links

    async def process_start(self, start: AsyncIterator[Any]) -> AsyncIterator[Any]:
        """Queue the seeds of a crawl. Yield everything else unchanged."""
        async for result in start:
            if isinstance(result, Found):
                await self._queue(result)
            else:
                yield result

    async def _queue(self, found: Found) -> None:
        """Queue seeds. Wait as long as a backend is unavailable, because seeds are yielded only once."""
        try:
            await self._outage.patiently(self._links.queue, found)
        except DataDamaged as error:
            raise CloseSpider("data_damaged") from error
        except DataError as error:
            raise CloseSpider("data_unavailable") from error

    async def process_spider_output(
        self, response: Response, result: AsyncIterator[Any]
    ) -> AsyncIterator[Any]:
        """Collect the links in the visit. Yield everything else unchanged."""
        visit: Visit | None = response.meta.get(META_KEY)
        try:
            async for output in result:
                if isinstance(output, Found) and visit is not None:
                    visit.found.append(replace(output, feed=None))  # a feed can be large
                else:
                    yield output
        except DataError as error:
            # A record that was refused would be refused again, so a later visit would not help.
            if visit is None or isinstance(error, RecordRefused):
                raise
            visit.end(Ending.RETURNED)  # a backend is unavailable, so the page is read again later
