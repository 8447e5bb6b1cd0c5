"""Gives the log of a crawl the form that NEWSBOT_LOG_JSON says, without secrets.

Scrapy 2.19 makes its handler anew after the extensions are made; so the shape is
given again right after that, and, should Scrapy's private name for it change, when the spider opens.
"""

from __future__ import annotations

from typing import Any, Self

from scrapy import signals
from scrapy.crawler import Crawler

from newsbot.cli.log_lines import shape_logs


class Logs:
    """See :mod:`newsbot.cli.log_lines`."""

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
        """Let the handlers that are there now write as the settings say."""
        shape_logs(self._crawler.settings)
