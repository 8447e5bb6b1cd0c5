"""``scrapy crawl``: Scrapy's command with checks before the start.

The checks report a wrong setting or argument in one line, where Scrapy would print a traceback.
"""

from __future__ import annotations

import argparse
import logging
import os
import sys
from collections.abc import Mapping
from contextlib import suppress

from scrapy import signals
from scrapy.commands import crawl
from scrapy.exceptions import UsageError
from scrapy.utils.log import configure_logging

from newsbot.cli.command import FAULT, USAGE, complain
from newsbot.cli.log_lines import shape_logs
from newsbot.cli.program import COMMANDS, PROGRAM
from newsbot.config.apps import load
from newsbot.config.settings import check_settings, introduce, unknown_names
from newsbot.errors import ArgumentError, UserError

logger = logging.getLogger(__name__)

CHATTER = {
    "scrapy.utils.log": logging.WARNING,
    "scrapy.middleware": logging.WARNING,
    "scrapy.crawler": logging.WARNING,
    "scrapy.addons": logging.WARNING,
    "asyncio": logging.INFO,
    "scrapy.extensions": logging.WARNING,
    "pymongo": logging.WARNING,  # at DEBUG it creates 80 records per page
    "scrapy.core.downloader.handlers": logging.ERROR,  # broken and oversized responses are counted by cause
}
"""The lowest level that is logged, by name of the logger.

Lines of lower levels are of no use to users. ``scrapy why`` shows what happened to a page.
"""
STOPS = (
    "stopping: finishing the pages in progress; Ctrl-C again stops at once",
    "stopped at once: the next crawl fetches the pages in progress again",
)
"""Messages after the first and after the second signal (Ctrl-C, SIGTERM)."""
BAD_ENDS = ("data_unavailable", "data_damaged", "no_network", "start_error")
"""Finish reasons with exit code 1."""


class Command(crawl.Command):
    """Exit codes: 0 done, 1 an error that you can fix, 2 wrong usage."""

    def short_desc(self) -> str:
        """Return what the command does, in one line."""
        return COMMANDS["crawl"][1]

    def syntax(self) -> str:
        """Return the arguments for Scrapy's help."""
        return "[news|search|monitor] [SITE…] [-a NAME=VALUE…]"

    def process_options(self, args: list[str], opts: argparse.Namespace) -> None:
        """Read the options and check them before logging starts, so that an error is a single line."""
        try:
            super().process_options(args, opts)
        except UsageError as error:
            sys.exit(complain(f"{PROGRAM} crawl: {error}", USAGE))
        assert self.settings is not None
        introduce(self.settings)
        for line in unknown_names(self.settings, os.environ):
            complain(line, FAULT)
        try:
            load("newsbot.crawl.components:fill_in")(self.settings, args, opts.spargs)
            self._plain = not load("newsbot.crawl.components:uses_newsbot")(self.settings, args)
            if self._plain:
                return
            check_settings(self.settings)
            if self.settings.getbool("NEWSBOT_LOG_JSON"):
                for name in CHATTER:
                    logging.getLogger(name).addFilter(_nothing)
            load("newsbot.crawl.components:check")(self.settings, args, opts.spargs)
        except ArgumentError as error:
            sys.exit(self._refuse(f"{PROGRAM} crawl: {error}", USAGE))
        except UserError as error:
            sys.exit(self._refuse(str(error), FAULT))

    def _refuse(self, text: str, code: int) -> int:
        """Report on stderr and in the log file why the crawl does not start. Return ``code``.

        The log file is needed because scrapyd shows only the log file of a job.
        """
        assert self.settings is not None
        if self.settings.get("LOG_FILE"):
            with suppress(OSError):  # the log file itself may be the problem
                configure_logging(self.settings)
                shape_logs(self.settings)
                logger.error("%s", text)
        return complain(text, code)

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        """Run the crawl. The exit code is 1 if it could not finish normally.

        A spider without the components of newsbot runs as Scrapy runs it.
        """
        if self._plain:
            super().run(args, opts)
            return
        # The list of commands imports no part of the crawler.
        from newsbot.crawl.memory import keep_loaded  # noqa: PLC0415

        assert self.crawler_process is not None
        # The levels are set here, because Scrapy resets them when it sets up logging.
        for name, level in CHATTER.items():
            logging.getLogger(name).setLevel(level)
            logging.getLogger(name).removeFilter(_nothing)
        stops = logging.getLogger("scrapy.crawler")
        stops.setLevel(logging.INFO)
        stops.addFilter(_Stops())
        crawler = self._create_crawler(args[0])
        crawler.signals.connect(keep_loaded, signals.spider_opened)
        self.crawler_process.crawl(crawler, **opts.spargs)
        self.crawler_process.start()
        reason = crawler.stats.get_value("finish_reason") if crawler.stats else None
        if self.crawler_process.bootstrap_failed or reason in BAD_ENDS:
            self.exitcode = FAULT
        if crawler.stats and (fault := crawler.stats.get_value("newsbot/unreachable")):
            self.exitcode = complain(fault, FAULT)


class _Stops(logging.Filter):
    """Replaces Scrapy's log lines about SIGINT and SIGTERM with :data:`STOPS`.

    Other lines of the same logger pass the filter only if they are warnings or errors.
    """

    def __init__(self) -> None:
        super().__init__()
        self._told = 0

    def filter(self, record: logging.LogRecord) -> bool:
        """Return True if the record is logged."""
        if not (isinstance(record.args, Mapping) and "signame" in record.args):
            return record.levelno >= logging.WARNING
        record.msg, record.args = STOPS[min(self._told, 1)], ()
        self._told += 1
        return True


def _nothing(_record: logging.LogRecord) -> bool:
    """Reject all lines. This filter is used until the handler writes JSON.

    A log level would not work, because Scrapy resets the levels.
    """
    return False
