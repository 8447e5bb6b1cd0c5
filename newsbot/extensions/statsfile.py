"""Writes the stats of a crawl to a file for other programs, while it runs and when it ends."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

from scrapy import Spider, signals
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured
from scrapy.utils.asyncio import create_looping_call

logger = logging.getLogger(__name__)


class StatsFile:
    """Writes the stats to the JSON file NEWSBOT_STATS_FILE; an empty setting switches this off.

    The file is written every NEWSBOT_PROGRESS_INTERVAL seconds and at the end. Only the last version has
    ``finish_reason``.
    """

    def __init__(self, crawler: Crawler, path: Path, interval: float) -> None:
        self.crawler = crawler
        self.path = path
        self._interval = interval
        self._task: Any = None

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> StatsFile:
        """Make the extension. Raises ``NotConfigured`` when no file is named."""
        name = crawler.settings.get("NEWSBOT_STATS_FILE")
        if not name:
            raise NotConfigured
        interval = crawler.settings.getfloat("NEWSBOT_PROGRESS_INTERVAL")
        extension = cls(crawler, Path(name).expanduser(), interval)
        crawler.signals.connect(extension.spider_opened, signals.spider_opened)
        crawler.signals.connect(extension.spider_closed, signals.spider_closed)
        return extension

    def spider_opened(self, spider: Spider) -> None:
        """Start to write the stats at intervals."""
        self._task = create_looping_call(self._write)
        self._task.start(self._interval, now=False)

    def spider_closed(self, spider: Spider, reason: str) -> None:
        """Write the final stats, with the reason why the crawl has ended."""
        if self._task is not None and self._task.running:
            self._task.stop()
        self._write(finish_reason=reason)

    def _write(self, **more: str) -> None:
        assert self.crawler.stats is not None
        stats = {**self.crawler.stats.get_stats(), **more}
        try:
            self.path.write_text(json.dumps(stats, default=str, indent=1, sort_keys=True), encoding="utf8")
        except OSError as error:
            logger.error("stats cannot be written NEWSBOT_STATS_FILE=%s fault=%s", self.path, error.strerror)
