"""Writes the stats of a crawl to a file when it ends, for other programs."""

from __future__ import annotations

import json
import logging
from pathlib import Path

from scrapy import Spider, signals
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured

logger = logging.getLogger(__name__)


class StatsFile:
    """NEWSBOT_STATS_FILE names the file (JSON); empty: none is written."""

    def __init__(self, crawler: Crawler, path: Path) -> None:
        self.crawler = crawler
        self.path = path

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> StatsFile:
        """Make the extension. Raises ``NotConfigured`` when no file is named."""
        name = crawler.settings.get("NEWSBOT_STATS_FILE")
        if not name:
            raise NotConfigured
        extension = cls(crawler, Path(name).expanduser())
        crawler.signals.connect(extension.spider_closed, signals.spider_closed)
        return extension

    def spider_closed(self, spider: Spider, reason: str) -> None:
        """Write all stats; times as text."""
        assert self.crawler.stats is not None
        stats = {**self.crawler.stats.get_stats(), "finish_reason": reason}
        try:
            self.path.write_text(json.dumps(stats, default=str, indent=1, sort_keys=True), encoding="utf8")
        except OSError as error:
            logger.error("stats cannot be written NEWSBOT_STATS_FILE=%s fault=%s", self.path, error.strerror)
