"""Prints a table at the end of a crawl: the results of each site, and how to read its articles."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from scrapy import Spider
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured

from newsbot.apps.progress.figures import (
    SiteFigures,
    causes,
    duration,
    figures,
    percent,
    site_figures,
    size,
    total,
)
from newsbot.backends import place_of_data
from newsbot.cli.program import PROGRAM
from newsbot.cli.terminal import columns, counted, make_console, print_table
from newsbot.crawl.assembly import Crawl
from newsbot.crawl.scope import Arguments
from newsbot.extensions import Extension
from newsbot.items import Reason
from newsbot.ranking.families import rows_of, sentences
from newsbot.sites.health import next_due

SHOWN_SITES = 50
"""Maximum number of sites in the table. One row shows the sums of all other sites."""
SHOWN_FAMILIES = 5
"""Maximum number of families with waiting links in the summary."""
SHOWN_REASONS = 4
"""The summary shows at most this number of reasons why links were not followed."""
SAVED_BY = {"unchanged": "304"}
"""The ways to save downloads: name in the stats -> name in the summary."""

COLUMNS = columns(
    "site | pages > 1 | articles > | useful > 2 | duplicates > 3 | unchanged > 4 | errors > | most frequent *"
)


class Summary(Extension):
    """Prints the summary to stderr at ``spider_closed``, unless NEWSBOT_PROGRESS is off."""

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        settings = crawler.settings
        if not settings.getbool("NEWSBOT_PROGRESS") or settings.getbool("NEWSBOT_LOG_JSON"):
            raise NotConfigured
        self._data = place_of_data(settings)
        self._began = time.monotonic()
        self._waiting: list[str] = []
        """Sentences about links that wait. They are made while the backends are still open."""
        self._next = ""
        """A text about the source that is due next. It is made while the backends are still open."""

    def spider_opened(self, spider: Spider) -> None:
        """Arrange that the next due source is looked up before the backends are closed."""
        if isinstance(getattr(spider, "arguments", None), Arguments):
            crawl = Crawl.of(spider.crawler)
            crawl.before_close.append(lambda: self._look_ahead(crawl))

    def _look_ahead(self, crawl: Crawl) -> None:
        sources = crawl.context.storage.sources
        self._next = next_due(sources, crawl.scope.limited_to, crawl.context.clock())
        rows = (
            row
            for domain in crawl.sites.families.known_sites()
            if crawl.scope.in_scope(domain)
            for row in rows_of(domain, crawl.families.of(domain))
        )
        self._waiting = sentences(sorted(rows, key=lambda row: -row.waiting), SHOWN_FAMILIES)

    def spider_closed(self, spider: Spider, reason: str) -> None:
        """Print the summary. If no host could be reached, print nothing: the command itself prints why."""
        if reason == "no_network":
            return
        with suppress(BrokenPipeError):  # the reader of our output (scrapyd, a pager) has ended
            self._print(spider, reason)

    def _print(self, spider: Spider, reason: str) -> None:
        assert self.crawler.stats is not None
        stats = self.crawler.stats.get_stats()
        console = make_console(sys.stderr)
        rows = site_rows(stats)
        if rows:
            console.file.write("\n")
            print_table(console, COLUMNS, rows)
        kept = not getattr(getattr(spider, "arguments", None), "dry_run", False)
        data, seconds = self._data if kept else None, time.monotonic() - self._began
        trial = spider.settings.getbool("NEWSBOT_TRIAL")
        for text in closing_lines(
            stats, reason, seconds, data, trial=trial, ahead=self._next, waiting=self._waiting
        ):
            # rich's print() would wrap long lines.
            console.file.write(text + "\n")
        console.file.flush()


def site_rows(stats: Mapping[str, Any]) -> list[tuple[object, ...]]:
    """Return the rows of the table: sites with the most articles first, the total last."""
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
    stats: Mapping[str, Any],
    reason: str,
    seconds: float,
    data: str | None,
    *,
    trial: bool = False,
    ahead: str = "",
    waiting: Sequence[str] = (),
) -> list[str]:
    """Return the lines below the table. ``data`` says where the data are; None if nothing was stored.

    ``trial`` means that the program that started the crawl deletes its data, so they cannot be read
    afterwards. ``waiting`` are sentences about links that wait. ``ahead`` is the source that is due next, as
    text. ``seconds`` is the duration of the crawl.
    """
    now = figures(stats)
    ended = "" if reason == "finished" else f" ({reason})"
    articles = f"{counted(now.new, 'new article')}, {now.updated} updated"
    articles += f", {counted(now.posts, 'new post')}" if now.posts else ""
    useful = f"useful share {percent(now.useful_share)}"
    lines = [f"{articles}, {useful}, {now.fetched} fetched in {duration(seconds)}{ended}"]
    if now.errors:
        lines.append(f"errors: {causes(now)}")
    if Reason.TLS in now.errors:
        lines.append(f"tls: some certificates are not valid; {PROGRAM} why URL shows more (rule key: tls)")
    if now.saved:
        ways = ", ".join(f"{SAVED_BY.get(way, way)} {size(count)}" for way, count in now.saved.items())
        lines.append(f"download saved: {size(sum(now.saved.values()))} ({ways})")
    if now.aside:
        lines.append(f"given up: {now.aside} (URLs that failed too often; {PROGRAM} sources lists them)")
    lines += waiting
    # If no page was fetched and no link was known, the reasons show why the crawl found nothing.
    if now.left and not (now.pages or now.known):
        left = ", ".join(f"{reason} {count}" for reason, count in list(now.left.items())[:SHOWN_REASONS])
        lines.append(
            f"no link was followed: {left} ({PROGRAM} why URL shows the reason of a link; rule key: follow)"
        )
    if trial:
        return lines
    if data is None:
        return [*lines, "dry run: no articles were stored"]
    if ahead:
        lines.append(f"{ahead}; to read it now, add -a now=yes")
    if now.articles:
        lines.append(f"to read them: {PROGRAM} search WORD (or: {PROGRAM} articles export -o articles.jsonl)")
    return [*lines, data]
