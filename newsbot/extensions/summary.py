"""Prints a table at the end of a crawl: the results of each site, and how to read its articles."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

from scrapy import Spider, signals
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured
from scrapy.statscollectors import StatsCollector

from newsbot.backends import data_folder
from newsbot.cli.terminal import Column, make_console, print_table
from newsbot.sites.statistics import (
    SiteFigures,
    causes,
    duration,
    figures,
    percent,
    site_figures,
    size,
    total,
)

SHOWN_SITES = 50
SAVED_BY = {"unchanged": "304", "head": "HEAD"}
"""How the ways to save bytes are called in the summary."""

COLUMNS = (
    Column("site"),
    Column("pages", "right"),
    Column("articles", "right"),
    Column("useful", "right"),
    Column("duplicates", "right"),
    Column("unchanged", "right"),
    Column("errors", "right"),
    Column("most frequent", wide=True),
)


class Summary:
    """Prints the summary to stderr at ``spider_closed``, unless NEWSBOT_PROGRESS is off."""

    def __init__(self, stats: StatsCollector, data: Path) -> None:
        self._stats = stats
        self._data = data
        self._began = time.monotonic()

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Make the extension. Raises ``NotConfigured`` when it is switched off."""
        settings = crawler.settings
        if not settings.getbool("NEWSBOT_PROGRESS") or settings.getbool("NEWSBOT_LOG_JSON"):
            raise NotConfigured
        assert crawler.stats is not None
        self = cls(crawler.stats, data_folder(crawler.settings).absolute())
        crawler.signals.connect(self.spider_closed, signal=signals.spider_closed)
        return self

    def spider_closed(self, spider: Spider, reason: str) -> None:
        """Print the summary."""
        with suppress(BrokenPipeError):  # who read our output has gone: scrapyd, a pager
            self._print(spider, reason)

    def _print(self, spider: Spider, reason: str) -> None:
        stats = self._stats.get_stats()
        console = make_console(sys.stderr)
        rows = site_rows(stats)
        if rows:
            console.file.write("\n")
            print_table(console, COLUMNS, rows)
        kept = not getattr(getattr(spider, "arguments", None), "dry_run", False)
        data, seconds = self._data if kept else None, time.monotonic() - self._began
        for text in closing_lines(
            stats, reason, seconds, data, trial=spider.settings.getbool("NEWSBOT_TRIAL")
        ):
            console.file.write(text + "\n")
        console.file.flush()


def site_rows(stats: Mapping[str, Any]) -> list[tuple[object, ...]]:
    """Return the rows of the table: the sites with most articles first, the sum last."""
    sites = site_figures(stats)
    shown = sites[:SHOWN_SITES]
    if len(sites) > SHOWN_SITES:
        rest = total(sites[SHOWN_SITES:])
        rest.site = f"{len(sites) - SHOWN_SITES} more"
        shown.append(rest)
    if len(sites) > 1:
        shown.append(total(sites))
    return [_row(site) for site in shown]


def _row(site: SiteFigures) -> tuple[object, ...]:
    return (
        site.site,
        site.pages,
        f"{site.articles} ({site.updated} updated)" if site.updated else site.articles,
        percent(site.useful_share),
        site.duplicates,
        site.unchanged,
        site.errors,
        site.top_cause,
    )


def closing_lines(
    stats: Mapping[str, Any], reason: str, seconds: float, data: Path | None, *, trial: bool = False
) -> list[str]:
    """Return what stands under the table; ``data`` is None when nothing was kept.

    ``trial``: who started the crawl throws its data away, so that there is nothing to read afterwards.
    """
    now = figures(stats)
    ended = "" if reason == "finished" else f" ({reason})"
    articles = f"{now.new} new articles, {now.updated} updated, useful share {percent(now.useful_share)}"
    lines = [f"{articles}, {now.fetched} fetched in {duration(seconds)}{ended}"]
    if now.errors:
        lines.append(f"errors: {causes(now)}")
    if now.saved:
        ways = ", ".join(f"{SAVED_BY.get(way, way)} {size(count)}" for way, count in now.saved.items())
        lines.append(f"not sent: {size(sum(now.saved.values()))} ({ways})")
    if now.aside:
        lines.append(f"set aside: {now.aside} (given up; see: scrapy sources)")
    if trial:
        return lines
    if data is None:
        return [*lines, "dry run: nothing was kept"]
    lines.append("read them with: scrapy articles search WORD (or: scrapy articles export -o articles.jsonl)")
    lines.append(f"data: {data}")
    return lines
