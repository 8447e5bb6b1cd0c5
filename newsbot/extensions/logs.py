"""Sets the format of a crawl's log by NEWSBOT_LOG_JSON and removes secrets from it.

Scrapy 2.19 creates its log handler again after it has created the extensions, so the format is set a second
time after that. The format is also set when the spider opens, in case Scrapy's private method has another
name in another version.
"""

from __future__ import annotations

from typing import Any, Self

from scrapy import signals
from scrapy.crawler import Crawler

from newsbot.cli.log_lines import shape_logs


class Logs:
    """Sets the log format that :mod:`newsbot.cli.log_lines` defines."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Make the extension."""
        self = cls(crawler)
        made: Any = crawler
        renew = getattr(made, "_update_root_log_handler", None)
        if renew is not None:

            def renew_and_shape() -> None:
                renew()
                self.shape()

            made._update_root_log_handler = renew_and_shape  # noqa: SLF001
        crawler.signals.connect(self.shape, signals.spider_opened)
        self.shape()
        return self

    def shape(self) -> None:
        """Set the format of the present log handlers as the settings say."""
        shape_logs(self._crawler.settings)
