"""Applies pauses of sites during a crawl. People pause and resume sites on the dashboard."""

from __future__ import annotations

import logging
from contextlib import suppress
from functools import partial

from scrapy import Spider
from scrapy.crawler import Crawler

from newsbot.cli.program import PROGRAM
from newsbot.crawl.assembly import Crawl
from newsbot.errors import DataError
from newsbot.extensions import Extension
from newsbot.sites.pauses_and_removals import paused

logger = logging.getLogger(__name__)

_PAUSED = f"paused site=%s; the site is not fetched until it is resumed in the dashboard ({PROGRAM} serve)"
EVERY = 5.0
"""Seconds between two reads of the pauses."""


class Pauses(Extension):
    """Reads the pauses every few seconds. While a backend is unavailable, the known pauses stay valid."""

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        crawl = Crawl.of(crawler)
        self._context, self._scope = crawl.context, crawl.scope

    def spider_opened(self, spider: Spider) -> None:
        """Start to read the pauses."""
        if self._context.is_open:  # it is not open if a backend could not be opened
            for domain in sorted(filter(self._scope.in_scope, self._scope.paused)):
                logger.warning(_PAUSED, domain)
            self.repeat(partial(self._context.calls.start, self.look), EVERY, now=True)

    def look(self) -> None:
        """Read the pauses and apply them to the crawl."""
        with suppress(DataError):  # the outage is logged already
            now = frozenset(paused(self._context.notes))
            for domain in sorted(now - self._scope.paused):
                logger.info(_PAUSED, domain)
            for domain in sorted(self._scope.paused - now):
                logger.info("resumed site=%s", domain)
            self._scope.paused = now
