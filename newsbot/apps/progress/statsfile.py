"""Writes the stats of a crawl to a file for other programs, while it runs and when it ends."""

from __future__ import annotations

import json
import logging
from pathlib import Path

from scrapy import Spider
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured

from newsbot.extensions import Extension

logger = logging.getLogger(__name__)


class StatsFile(Extension):
    """Writes the stats to the JSON file NEWSBOT_STATS_FILE; an empty setting switches this off.

    The file is written every NEWSBOT_PROGRESS_INTERVAL seconds and at the end. Only the last version has
    ``finish_reason``.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        name = crawler.settings.get("NEWSBOT_STATS_FILE")
        if not name:
            raise NotConfigured
        self.path = Path(name).expanduser()

    def spider_opened(self, spider: Spider) -> None:
        """Start to write the stats at intervals."""
        self.repeat(self._write, self.crawler.settings.getfloat("NEWSBOT_PROGRESS_INTERVAL"))

    def spider_closed(self, spider: Spider, reason: str) -> None:
        """Write the final stats, with the reason why the crawl has ended."""
        super().spider_closed(spider, reason)
        self._write(finish_reason=reason)

    def _write(self, **more: str) -> None:
        assert self.crawler.stats is not None
        stats = {**self.crawler.stats.get_stats(), **more}
        try:
            # default=str is for datetimes, such as Scrapy's start_time.
            self.path.write_text(json.dumps(stats, default=str, indent=1, sort_keys=True), encoding="utf8")
        except OSError as error:
            logger.error("stats cannot be written NEWSBOT_STATS_FILE=%s fault=%s", self.path, error.strerror)
