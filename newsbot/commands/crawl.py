"""``scrapy crawl``: Scrapy's own, which first checks what a person can get wrong, and says it in one line."""

from __future__ import annotations

import argparse
import logging
import os
import sys
from difflib import get_close_matches
from typing import Any

from scrapy.commands import crawl
from scrapy.spiderloader import get_spider_loader

from newsbot import backends
from newsbot.alerts.watch import options_from
from newsbot.clock import system_clock, utc
from newsbot.config.check import check_parts, check_settings, unknown_names
from newsbot.config.contact import introduce
from newsbot.crawl.archive import open_archive
from newsbot.crawl.scope import check_scope
from newsbot.errors import ArgumentError, UserError

FAULT, USAGE = 1, 2
CHATTER = {
    "scrapy.utils.log": logging.WARNING,
    "scrapy.middleware": logging.WARNING,
    "scrapy.crawler": logging.WARNING,
    "scrapy.addons": logging.WARNING,
    "asyncio": logging.INFO,
    "scrapy.extensions": logging.WARNING,
    "pymongo": logging.WARNING,  # Scrapy lets every record be made: 80 a page here, for nobody
    "scrapy.core.downloader.handlers": logging.ERROR,  # broken and too large answers are counted by cause
}
"""Loggers that tell a person nothing about the crawl; what happened to each page is in ``scrapy why``."""
BAD_ENDS = ("data_unavailable", "disk_full", "start_error")


class Command(crawl.Command):
    """Exit codes: 0 done, 1 a fault that somebody can put right, 2 wrong usage."""

    def process_options(self, args: list[str], opts: argparse.Namespace) -> None:
        """Take the options and check them: before logging begins, so that a fault is one line."""
        super().process_options(args, opts)
        assert self.settings is not None
        introduce(self.settings)
        for line in unknown_names(self.settings, os.environ):
            _complain(line, FAULT)
        try:
            check_settings(self.settings)
            check_parts(self.settings)
            if self.settings.getbool("NEWSBOT_LOG_JSON"):
                for name in CHATTER:
                    logging.getLogger(name).addFilter(_nothing)
            self._check(args, opts.spargs)
        except ArgumentError as error:
            sys.exit(_complain(f"scrapy crawl: {error}", USAGE))
        except UserError as error:
            sys.exit(_complain(str(error), FAULT))

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        """Crawl."""
        assert self.crawler_process is not None
        for name, level in CHATTER.items():
            logging.getLogger(name).setLevel(level)
            logging.getLogger(name).removeFilter(_nothing)
        crawler = self._create_crawler(args[0])
        self.crawler_process.crawl(crawler, **opts.spargs)
        self.crawler_process.start()
        reason = crawler.stats.get_value("finish_reason") if crawler.stats else None
        if self.crawler_process.bootstrap_failed or reason in BAD_ENDS:
            self.exitcode = FAULT

    def _check(self, args: list[str], spider_arguments: dict[str, Any]) -> None:
        assert self.settings is not None
        options_from(self.settings)
        names = sorted(get_spider_loader(self.settings).list())
        _check_words(args, names)
        spider: Any = get_spider_loader(self.settings).load(args[0])
        arguments = spider.read_arguments(spider_arguments, utc(system_clock()))
        check_scope(self.settings, backends.open_rules(self.settings), arguments)
        if not arguments.dry_run:
            backends.open_frontier(self.settings).close()
            backends.open_storage(self.settings).close()
            if (archive := open_archive(self.settings, lambda _: None)) is not None:
                archive.close()


def _nothing(_record: logging.LogRecord) -> bool:
    """Hold back what Scrapy says before its handler writes JSON; a level would not do, Scrapy resets it."""
    return False


def _check_words(words: list[str], spiders: list[str]) -> None:
    """Raise :class:`ArgumentError` unless the words are the name of one spider."""
    there_is = f"(there is: {', '.join(spiders)})"
    if not words:
        raise ArgumentError(f"name a spider {there_is}")
    if words[0] not in spiders:
        near = get_close_matches(words[0], spiders, n=1)
        hint = f"; did you mean '{near[0]}'?" if near else ""
        raise ArgumentError(f"'{words[0]}' is no spider{hint} {there_is}")
    if "--json" in words:
        raise ArgumentError("takes no --json; articles go to -O -:jsonl, stats to -s NEWSBOT_STATS_FILE=FILE")
    if len(words) > 1:
        raise ArgumentError(f"'{words[1]}' is one word too many; arguments are given as -a NAME=VALUE")


def _complain(text: str, code: int) -> int:
    sys.stderr.write(text + "\n")
    return code
