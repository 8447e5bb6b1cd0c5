"""Sets the format of a crawl's log by NEWSBOT_LOG_JSON, removes secrets, and shortens the lines about items.

Scrapy 2.19 creates its log handler again after it has created the extensions, so the format is set a second
time after that. The format is also set when the spider opens, in case Scrapy's private method has another
name in another version.
"""

from __future__ import annotations

import logging
from typing import Any, Self

from scrapy import signals
from scrapy.crawler import Crawler
from scrapy.http import Response
from scrapy.logformatter import LogFormatter, LogFormatterResult
from scrapy.spiders import Spider
from twisted.python.failure import Failure

from newsbot.cli.log_lines import shape_logs
from newsbot.errors import DataError, RecordRefused


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


class QuietLogFormatter(LogFormatter):
    """Logs items with URL and title only, at level DEBUG. ``scrapy why`` shows what happened to a URL.

    It is the LOG_FORMATTER of a crawl. Scrapy's own class logs whole items.
    """

    def scraped(self, item: Any, response: Response | Failure | None, spider: Spider) -> LogFormatterResult:
        """Return the log line for a stored article."""
        return _line("stored url=%(url)s title=%(title)s", item)

    def dropped(
        self, item: Any, exception: BaseException, response: Response | Failure | None, spider: Spider
    ) -> LogFormatterResult:
        """Return the log line for an article that a pipeline dropped."""
        return _line("dropped url=%(url)s reason=%(reason)s", item, reason=str(exception))

    def item_error(
        self, item: Any, exception: BaseException, response: Response | Failure | None, spider: Spider
    ) -> LogFormatterResult:
        """Return the log line for an error of a pipeline."""
        line = _line("failed url=%(url)s error=%(reason)s", item, reason=str(exception))
        if isinstance(exception, RecordRefused):
            return {**line, "level": logging.WARNING}
        # While a database is unavailable, every item fails, and crawl/backend_calls.py logs the outage once.
        # Any other error is a bug and needs its traceback.
        return {**line, "level": logging.DEBUG if isinstance(exception, DataError) else logging.ERROR}


def _line(message: str, item: Any, **more: str) -> LogFormatterResult:
    args = {"url": getattr(item, "url", "?"), "title": getattr(item, "title", "?"), **more}
    return {"level": logging.DEBUG, "msg": message, "args": args}
