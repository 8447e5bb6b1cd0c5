"""Loads rule files that change while a crawl runs."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import Any

from scrapy import Spider, signals
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured
from scrapy.utils.asyncio import create_looping_call

from newsbot.backends import rules_folder
from newsbot.crawl.assembly import Crawl
from newsbot.crawl.seeds import seeds
from newsbot.errors import ArgumentError, DataError
from newsbot.rules import RuleSet
from newsbot.rules.reload import RulesWatch
from newsbot.rules.schema import Rule

logger = logging.getLogger(__name__)


class RulesReload:
    """Looks every NEWSBOT_RULES_RELOAD seconds; 0: never. Pages under way end by the rule they began with."""

    def __init__(self, crawler: Crawler, seconds: float) -> None:
        self.crawler = crawler
        self._watch = RulesWatch(rules_folder(crawler.settings))
        self._seconds = seconds
        self._new: RuleSet | None = None
        self._task: Any = None

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> RulesReload:
        """Make the extension. Raises ``NotConfigured`` when it is switched off."""
        seconds = crawler.settings.getfloat("NEWSBOT_RULES_RELOAD")
        if seconds <= 0:
            raise NotConfigured
        self = cls(crawler, seconds)
        crawler.signals.connect(self.spider_opened, signal=signals.spider_opened)
        crawler.signals.connect(self.spider_closed, signal=signals.spider_closed)
        return self

    def spider_opened(self, spider: Spider) -> None:
        """Begin to look."""
        if Crawl.of(self.crawler).context.is_open:  # else the data could not be opened
            self._task = create_looping_call(self.look)
            self._task.start(self._seconds, now=False)

    def spider_closed(self, spider: Spider) -> None:
        """Stop."""
        if self._task is not None and self._task.running:
            self._task.stop()

    def look(self) -> None:
        """Take over what changed; sources that are new, or whose rule changed, are queued at once."""
        self._new = self._watch.changed() or self._new
        if self._new is None:
            return
        crawl = Crawl.of(self.crawler)
        context, old = crawl.context, crawl.context.rules
        try:
            crawl.take_rules(self._new)
            for found in seeds(context, crawl.scope):
                rule = None if found.source is None else context.rules.get(found.source)
                if rule is not None and not _is_same(rule, old.get(rule.domain)):
                    crawl.links.queue(found)
            self._new = None
        except ArgumentError as error:
            logger.error("rules not taken over fault=%s; the old rules stay", error)
            self._new = None
        except DataError:
            context.rules = old  # the data are away: all of it again when they are back


def _is_same(rule: Rule, old: Rule | None) -> bool:
    """Tell whether a rule says what it said; patterns also know their lines, which may move."""
    return old is not None and replace(rule, file="") == replace(old, file="")
