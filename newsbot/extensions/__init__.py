"""The extensions of newsbot.

* ``logs``: the format of log lines, and Scrapy's lines about items
* ``pauses``, ``rulesreload``: apply paused sites and changed rules while a crawl runs
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

from scrapy import Spider, signals
from scrapy.crawler import Crawler
from scrapy.utils.asyncio import create_looping_call

from newsbot.crawl.assembly import Component


class Extension(Component):
    """The base of the extensions. A method with the name of a signal is called when the signal is sent."""

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self._task: Any = None

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Make the extension. Raises ``NotConfigured`` if it is switched off."""
        self = super().from_crawler(crawler)
        for name in ("spider_opened", "spider_closed", "item_scraped"):
            if (method := getattr(self, name, None)) is not None:
                crawler.signals.connect(method, signal=getattr(signals, name))
        return self

    def repeat(self, call: Callable[[], object], seconds: float, *, now: bool = False) -> None:
        """Call a function every ``seconds`` until the spider is closed. With ``now``, call it at once too."""
        self._task = create_looping_call(call)
        self._task.start(seconds, now=now)

    def spider_closed(self, spider: Spider, reason: str) -> None:
        """End the repeated calls."""
        if self._task is not None and self._task.running:
            self._task.stop()
