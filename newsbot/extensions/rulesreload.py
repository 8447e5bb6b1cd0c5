"""Reloads rule files that change during a crawl."""

from __future__ import annotations

import logging
from dataclasses import replace
from functools import partial

from scrapy import Spider
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured

from newsbot.backends import rules_folder
from newsbot.crawl.assembly import Crawl
from newsbot.crawl.sources import seeds
from newsbot.errors import ArgumentError, DataError
from newsbot.extensions import Extension
from newsbot.pages.rules import RuleSet
from newsbot.pages.rules.load import RulesWatch
from newsbot.pages.rules.rule import Rule

logger = logging.getLogger(__name__)


class RulesReload(Extension):
    """Checks the rule files every NEWSBOT_RULES_RELOAD seconds (0: never).

    Visits in progress keep the rule with which they began.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self._seconds = crawler.settings.getfloat("NEWSBOT_RULES_RELOAD")
        if self._seconds <= 0:
            raise NotConfigured
        self._watch = RulesWatch(rules_folder(crawler.settings))
        self._new: RuleSet | None = None

    def spider_opened(self, spider: Spider) -> None:
        """Start checking the rule files."""
        context = Crawl.of(self.crawler).context
        if context.is_open:  # it is not open if a backend could not be opened
            self.repeat(partial(context.calls.start, self.look), self._seconds)

    def look(self) -> None:
        """Apply changed rules. New sources, and sources whose rule has changed, are queued at once."""
        # The watch reports a change only once, so after a DataError the new rules are kept for the next call.
        self._new = self._watch.changed() or self._new
        if self._new is None:
            return
        crawl = Crawl.of(self.crawler)
        context, old = crawl.context, crawl.context.rules
        try:
            crawl.take_rules(self._new)
            for found in seeds(context, crawl.scope):
                links = [
                    link
                    for link in found.links
                    if (rule := context.rules.get(found.site or context.rule_for(link.url).domain))
                    and not _is_same(rule, old.get(rule.domain))
                ]
                if links:
                    crawl.links.queue(replace(found, links=tuple(links)))
            self._new = None
        except ArgumentError as error:
            logger.error("new rules not used fault=%s; the old rules stay in use", error)
            self._new = None
        except DataError:
            context.rules = old  # a backend is unavailable, so the next call repeats all steps


def _is_same(rule: Rule, old: Rule | None) -> bool:
    """Return True if two rules are equal, except for the line numbers of their patterns."""
    return old is not None and replace(rule, file="") == replace(old, file="")
