"""Scrapy's log lines about items, without the text of articles."""

from __future__ import annotations

import logging
from typing import Any

from scrapy.http import Response
from scrapy.logformatter import LogFormatter, LogFormatterResult
from scrapy.spiders import Spider
from twisted.python.failure import Failure

from newsbot.errors import DataError, RecordRefused


class QuietLogFormatter(LogFormatter):
    """Logs items with URL and title only, at level DEBUG. ``scrapy why`` shows what happened to a URL.

    :mod:`newsbot.settings` sets this class as LOG_FORMATTER. Scrapy's own class logs whole items.
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
