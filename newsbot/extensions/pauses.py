"""Applies pauses of sites during a crawl. People pause and resume sites on the dashboard."""

from __future__ import annotations

import logging
from contextlib import suppress
from functools import partial
from typing import Any

from scrapy import Spider, signals
from scrapy.crawler import Crawler
from scrapy.utils.asyncio import create_looping_call

from newsbot.crawl.assembly import Crawl
from newsbot.errors import DataError
from newsbot.sites.pauses import paused

logger = logging.getLogger(__name__)

_PAUSED = "paused site=%s; it is not fetched until somebody resumes it (scrapy serve)"
EVERY = 5.0
"""Seconds between two reads of the pauses."""


class Pauses:
    """Reads the pauses every few seconds. While a backend is unavailable, the pauses last read stay valid."""

    def __init__(self, crawler: Crawler) -> None:
        crawl = Crawl.of(crawler)
        self._context, self._scope = crawl.context, crawl.scope
        self._task: Any = None

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Pauses:
        """Make the extension."""
        self = cls(crawler)
        crawler.signals.connect(self.spider_opened, signal=signals.spider_opened)
        crawler.signals.connect(self.spider_closed, signal=signals.spider_closed)
        return self

    def spider_opened(self, spider: Spider) -> None:
        """Start to read the pauses."""
        if self._context.is_open:  # otherwise the backends could not be opened
            for domain in sorted(filter(self._scope.in_scope, self._scope.paused)):
                logger.warning(_PAUSED, domain)
            self._task = create_looping_call(partial(self._context.calls.start, self.look))
            self._task.start(EVERY, now=True)

    def spider_closed(self, spider: Spider) -> None:
        """Stop reading the pauses."""
        if self._task is not None and self._task.running:
            self._task.stop()

    def look(self) -> None:
        """Read the pauses and apply them to the crawl."""
        with suppress(DataError):  # the outage is logged already
            now = frozenset(paused(self._context.notes))
            for domain in sorted(now - self._scope.paused):
                logger.info(_PAUSED, domain)
            for domain in sorted(self._scope.paused - now):
                logger.info("resumed site=%s", domain)
            self._scope.paused = now
