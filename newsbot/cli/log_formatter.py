"""Scrapy's log lines, without whole articles in them."""

from __future__ import annotations

import logging
from typing import Any

from scrapy.http import Response
from scrapy.logformatter import LogFormatter, LogFormatterResult
from scrapy.spiders import Spider
from twisted.python.failure import Failure

from newsbot.errors import DataError, RecordRefused


class QuietLogFormatter(LogFormatter):
    """Logs only URL and title of an item, at DEBUG. ``scrapy why`` shows what happened to each URL."""

    def scraped(self, item: Any, response: Response | Failure | None, spider: Spider) -> LogFormatterResult:
        """Log a stored article."""
        return _line("stored url=%(url)s title=%(title)s", item)

    def dropped(
        self, item: Any, exception: BaseException, response: Response | Failure | None, spider: Spider
    ) -> LogFormatterResult:
        """Log an article that was not stored."""
        return _line("dropped url=%(url)s reason=%(reason)s", item, reason=str(exception))

    def item_error(
        self, item: Any, exception: BaseException, response: Response | Failure | None, spider: Spider
    ) -> LogFormatterResult:
        """Log an article that could not be processed."""
        line = _line("failed url=%(url)s error=%(reason)s", item, reason=str(exception))
        if isinstance(exception, RecordRefused):
            return {**line, "level": logging.WARNING}
        # an outage of the data is logged once elsewhere; any other error is a bug and needs its traceback
        return {**line, "level": logging.DEBUG if isinstance(exception, DataError) else logging.ERROR}


def _line(message: str, item: Any, **more: str) -> LogFormatterResult:
    args = {"url": getattr(item, "url", "?"), "title": getattr(item, "title", "?"), **more}
    return {"level": logging.DEBUG, "msg": message, "args": args}
