"""Saves the first article pages of a crawl as files, for writing and testing rules."""

from __future__ import annotations

import json
import logging
from pathlib import Path

from scrapy import Spider
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured
from scrapy.http import Response

from newsbot.clock import iso
from newsbot.crawl.assembly import Crawl
from newsbot.extensions import Extension
from newsbot.items import Article

logger = logging.getLogger(__name__)

MAX_SAMPLES = 8
"""Maximum number of pages that are saved."""


class Samples(Extension):
    """Saves pages into the folder NEWSBOT_SAMPLES; an empty setting switches this off.

    The file ``crawl.json`` in this folder has the Crawl-delays of the hosts.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        name = crawler.settings.get("NEWSBOT_SAMPLES")
        if not name:
            raise NotConfigured
        self.folder = Path(name).expanduser()
        self._number = 0

    def item_scraped(self, item: object, response: Response, spider: Spider) -> None:
        """Save the page of a stored article."""
        if not isinstance(item, Article) or self._number >= MAX_SAMPLES:
            return
        # ``response`` is the page as the spider got it: decompressed and, if the rule says so, rendered.
        meta = {"url": item.url, "fetched_at": iso(item.fetched_at) if item.fetched_at else None}
        self._number += 1
        self._write(f"{self._number}.html", response.body)
        self._write(f"{self._number}.json", json.dumps({**meta, "item": item.to_dict()}).encode())

    def spider_closed(self, spider: Spider, reason: str) -> None:
        """Write the Crawl-delays of the sites' robots.txt."""
        politeness = Crawl.of(self.crawler).politeness
        asked = politeness.crawl_delays.items()
        # A Crawl-delay is left out if the rule has a longer delay.
        delays = {host: delay for host, delay in asked if 0 < delay == politeness.delay_of(host)}
        self._write("crawl.json", json.dumps({"crawl_delays": delays}).encode())

    def _write(self, name: str, content: bytes) -> None:
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            (self.folder / name).write_bytes(content)
        except OSError as error:
            logger.error("samples cannot be written NEWSBOT_SAMPLES=%s fault=%s", self.folder, error.strerror)
