"""Saves the first article pages of a crawl as files, for writing and testing rules."""

from __future__ import annotations

import json
import logging
from pathlib import Path

from scrapy import Spider, signals
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured
from scrapy.http import Response

from newsbot.clock import iso
from newsbot.crawl.assembly import Crawl
from newsbot.items import Article

logger = logging.getLogger(__name__)

MAX_SAMPLES = 8
"""Maximum number of pages that are saved."""


class Samples:
    """Saves pages into the folder NEWSBOT_SAMPLES; an empty setting switches this off.

    The file ``crawl.json`` in this folder has the Crawl-delays of the hosts.
    """

    def __init__(self, crawler: Crawler, folder: Path) -> None:
        self.crawler = crawler
        self.folder = folder
        self._number = 0

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Samples:
        """Make the extension. Raises ``NotConfigured`` when no folder is named."""
        name = crawler.settings.get("NEWSBOT_SAMPLES")
        if not name:
            raise NotConfigured
        self = cls(crawler, Path(name).expanduser())
        crawler.signals.connect(self.item_scraped, signals.item_scraped)
        crawler.signals.connect(self.spider_closed, signals.spider_closed)
        return self

    def item_scraped(self, item: object, response: Response, spider: Spider) -> None:
        """Save the page of a stored article."""
        if not isinstance(item, Article) or self._number >= MAX_SAMPLES:
            return
        # ``response`` is the page as the spider got it: decompressed and, if the rule says so, rendered.
        meta = {"url": item.url, "fetched_at": iso(item.fetched_at) if item.fetched_at else None}
        self._number += 1
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            (self.folder / f"{self._number}.html").write_bytes(response.body)
            (self.folder / f"{self._number}.json").write_text(json.dumps({**meta, "item": item.to_dict()}))
        except OSError as error:
            logger.error("samples cannot be written NEWSBOT_SAMPLES=%s fault=%s", self.folder, error.strerror)

    def spider_closed(self, spider: Spider) -> None:
        """Write the Crawl-delays of the sites' robots.txt."""
        politeness = Crawl.of(self.crawler).politeness
        asked = politeness.crawl_delays.items()
        # A Crawl-delay is left out if it does not hold because the rule has a longer delay.
        delays = {host: delay for host, delay in asked if 0 < delay == politeness.delay_of(host)}
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            (self.folder / "crawl.json").write_text(json.dumps({"crawl_delays": delays}))
        except OSError as error:
            logger.error("samples cannot be written NEWSBOT_SAMPLES=%s fault=%s", self.folder, error.strerror)
