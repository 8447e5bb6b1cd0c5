"""``scrapy crawl``: Scrapy's own command, which first checks settings and arguments and reports a mistake in
one line.
"""

from __future__ import annotations

import argparse
import logging
import os
import sys

from scrapy.commands import crawl

from newsbot.cli.command import FAULT, USAGE, load
from newsbot.config.check import check_settings, unknown_names
from newsbot.config.contact import introduce
from newsbot.errors import ArgumentError, UserError

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
            if self.settings.getbool("NEWSBOT_LOG_JSON"):
                for name in CHATTER:
                    logging.getLogger(name).addFilter(_nothing)
            load("newsbot.actions.crawl:check")(self.settings, args, opts.spargs)
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


def _nothing(_record: logging.LogRecord) -> bool:
    """Hold back what Scrapy says before its handler writes JSON; a level would not do, Scrapy resets it."""
    return False


def _complain(text: str, code: int) -> int:
    sys.stderr.write(text + "\n")
    return code
