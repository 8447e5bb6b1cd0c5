"""Checks for alerts during a news crawl and sends them. Only one worker does this at a time."""

from __future__ import annotations

import asyncio
import logging

from scrapy import Spider
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured

from newsbot.apps.alerts.watch import Watch, options_from, tell
from newsbot.crawl.assembly import Crawl
from newsbot.errors import ArgumentError, DataError
from newsbot.extensions import Extension

logger = logging.getLogger(__name__)

FIRST_AFTER = 60.0
"""Maximum number of seconds from the start of the crawl to the first check.

A crawl that starts after a break finds pages that are late. When the first check runs, these pages are
already being fetched, so they do not cause an alert.
"""


class Alerts(Extension):
    """Checks for alerts and sends them.

    Settings: NEWSBOT_ALERT_EVERY (seconds between two checks; 0 means never), and the settings that say where
    alerts are sent.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        try:
            self.options = options_from(crawler.settings)
        except (ArgumentError, ValueError) as error:
            raise NotConfigured(str(error)) from error
        if not self.options.every:
            raise NotConfigured
        self._watch: Watch | None = None
        self._round: asyncio.Task[None] | None = None
        self._due = 0.0

    def spider_opened(self, spider: Spider) -> None:
        """Start the checks, if this is the spider ``news`` and the crawl stores its results."""
        crawl = Crawl.of(self.crawler)
        context = self._context = crawl.context
        if spider.name != "news" or crawl.scope.arguments.dry_run or not context.is_open:
            return
        self._watch = Watch(
            context.storage, context.frontier, self.options, owner=crawl.owner, clock=context.clock
        )
        crawl.before_close.append(self._watch.leave)
        first = min(FIRST_AFTER, self.options.every)
        self._due = context.clock() + first
        self.repeat(self._look, first)

    def spider_closed(self, spider: Spider, reason: str) -> None:
        """Stop the checks. Another worker takes over when the lock is released or, after a crash, expires."""
        super().spider_closed(spider, reason)
        if self._round is not None:
            # A thread that sends a message is not interrupted, but its result is not stored.
            self._round.cancel()

    def _look(self) -> None:
        """Start a check if it is due and the last one has ended."""
        now = self._context.clock()
        if now < self._due or (self._round is not None and not self._round.done()):
            return
        # The timer runs every ``first`` seconds, which may be shorter than NEWSBOT_ALERT_EVERY.
        self._due = now + self.options.every
        self._round = asyncio.ensure_future(self._once())

    async def _once(self) -> None:
        assert self._watch is not None
        try:
            run = Crawl.of(self.crawler).context.calls.run
            deliveries = await run(self._watch.look)
            if deliveries:
                # Sending may take long, so it runs in a thread, outside of the calls to the backends. The
                # results are stored afterwards.
                for fault in await asyncio.to_thread(tell, deliveries):
                    logger.error("alert not sent fault=%s", fault)
                await run(self._watch.note, deliveries)
        except DataError:  # the outage is logged already; the next check tries again
            return
        except Exception:
            logger.exception("the check for alerts failed; it is tried again")
