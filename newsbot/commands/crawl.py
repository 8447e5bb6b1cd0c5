"""``scrapy crawl``: Scrapy's own, which first checks what a person can get wrong, and says it in one line."""

from __future__ import annotations

import argparse
import sys
from difflib import get_close_matches
from typing import Any

from scrapy.commands import crawl
from scrapy.crawler import Crawler

from newsbot import backends
from newsbot.clock import system_clock, utc
from newsbot.crawlstate import check_scope
from newsbot.errors import ArgumentError, UserError
from newsbot.spiders.arguments import parse_arguments

FAULT, USAGE = 1, 2
BAD_ENDS = ("data_unavailable", "disk_full", "start_error")


class Command(crawl.Command):
    """Exit codes: 0 done, 1 a fault that somebody can put right, 2 wrong usage."""

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        """Check rules, arguments and data file, then crawl."""
        try:
            self._check(args, opts.spargs)
        except ArgumentError as error:
            self.exitcode = _complain(f"scrapy crawl: {error}", USAGE)
            return
        except UserError as error:
            self.exitcode = _complain(str(error), FAULT)
            return
        assert self.crawler_process is not None
        crawlers: list[Crawler] = []
        create = self.crawler_process.create_crawler

        def remember(spider: Any) -> Crawler:
            crawlers.append(create(spider))
            return crawlers[-1]

        self.crawler_process.create_crawler = remember  # type: ignore[method-assign]
        super().run(args, opts)
        reasons = [crawler.stats.get_value("finish_reason") for crawler in crawlers if crawler.stats]
        if any(reason in BAD_ENDS for reason in reasons):
            self.exitcode = FAULT

    def _check(self, args: list[str], spider_arguments: dict[str, Any]) -> None:
        assert self.settings is not None
        assert self.crawler_process is not None
        names = sorted(self.crawler_process.spider_loader.list())
        if len(args) != 1 or args[0] not in names:
            near = get_close_matches(args[0], names, n=1) if args else []
            hint = f"; did you mean '{near[0]}'?" if near else ""
            given = f"'{' '.join(args)}' is no spider{hint} " if args else "name a spider "
            raise ArgumentError(f"{given}(there is: {', '.join(names)})")
        arguments = parse_arguments(spider_arguments, now=utc(system_clock()))
        check_scope(self.settings, backends.open_rules(self.settings), arguments)
        if not arguments.dry_run:
            backends.open_frontier(self.settings).close()
            backends.open_storage(self.settings).close()


def _complain(text: str, code: int) -> int:
    sys.stderr.write(text + "\n")
    return code
