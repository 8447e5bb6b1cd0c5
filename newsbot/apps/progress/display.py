"""Shows the progress of a crawl: a live display on a terminal, else a log line every few seconds.

At the end, a table shows the results of each site, and how to read its articles. The stats can also be
written to a file for other programs.

The functions for figures have no side effects. Their input is the dict with Scrapy's stats, with keys of the
form ``newsbot/<area>/<what>[/<detail>]``. A stat that is missing or is not a number counts as 0, so that a
wrong stat cannot stop a crawl.

All output goes to stderr, so that ``-O -:jsonl`` can use stdout.
"""

from __future__ import annotations

import atexit
import json
import logging
import os
import sys
import time
from collections import Counter, defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.file_proxy import FileProxy
from rich.live import Live
from rich.text import Text
from scrapy import Spider
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured
from scrapy.settings import BaseSettings
from scrapy.utils.asyncio import call_later

from newsbot.apps.numbers import percent, share, size
from newsbot.backends import place_of_data
from newsbot.cli.program import PROGRAM
from newsbot.cli.terminal import clean, columns, counted, make_console, print_table
from newsbot.crawl.assembly import Crawl
from newsbot.crawl.scope import Arguments
from newsbot.extensions import Extension
from newsbot.items import Reason
from newsbot.ranking.families import rows_of, sentences
from newsbot.sites.health import next_due
from newsbot.sites.statistics import number

logger = logging.getLogger(__name__)

# --- figures of sites
RATE_WINDOW = 60.0
"""Length in seconds of the period from which rates per minute are computed."""
SHOWN_CAUSES = 5
"""Number of causes of errors that :func:`causes` names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """The current totals of a crawl."""

    fetched: int = 0
    new: int = 0
    updated: int = 0
    posts: int = 0
    """New posts. Posts do not count as articles."""
    duplicates: int = 0
    """Articles that were not stored because their site already has the same text under another URL."""
    similar: int = 0
    """Articles stored as members of a story."""
    unchanged: int = 0
    skipped: int = 0
    """Pages that were not fetched because their interval had not passed."""
    errors: Mapping[str, int] = field(default_factory=dict)
    """Number of errors by cause, most frequent first."""
    queue: int | None = None
    waits_for: str = ""
    """Text that says what the crawl is waiting for; empty while there are requests."""
    aside: int = 0
    """URLs that this crawl or an earlier crawl has set aside."""
    useful_share: float | None = None
    """Share of articles among :attr:`pages`; None if there are no pages."""
    pages: int = 0
    """Fetched pages that are not feeds, sitemaps or sections."""
    known: int = 0
    """Links to known URLs."""
    left: Mapping[str, int] = field(default_factory=dict)
    """Number of links that were not followed, by reason, most frequent first."""
    saved: Mapping[str, int] = field(default_factory=dict)
    """Number of bytes that did not have to be sent, by cause: ``unchanged`` (304 responses), ``head``,
    ``compression``."""

    @property
    def articles(self) -> int:
        """Stored articles: new articles and new versions."""
        return self.new + self.updated

    @property
    def failed(self) -> int:
        """Errors of all causes."""
        return sum(self.errors.values())


@dataclass(slots=True, kw_only=True)
class SiteFigures:
    """Totals of one site."""

    site: str
    fetched: int = 0
    pages: int = 0
    """Fetched pages that are not feeds, sitemaps or sections."""
    article_pages: int = 0
    """Pages among :attr:`pages` that contained a new or known article."""
    articles: int = 0
    """New articles stored."""
    updated: int = 0
    duplicates: int = 0
    unchanged: int = 0
    errors: int = 0
    causes: Counter[str] = field(default_factory=Counter)

    @property
    def useful_share(self) -> float | None:
        """Share of articles among :attr:`pages`; None if there are no pages."""
        return share(self.article_pages, self.pages)

    @property
    def top_cause(self) -> str | None:
        """The most frequent cause of errors."""
        return self.causes.most_common(1)[0][0] if self.causes else None


def figures(stats: Mapping[str, Any]) -> Figures:
    """Return the totals of a crawl from its stats."""
    areas: dict[str, Counter[str]] = defaultdict(Counter)
    for key, value in stats.items():
        name, _, rest = key.partition("/")
        if name == "newsbot":
            area, _, detail = rest.partition("/")
            areas[area][detail] += number(value)
    sites = site_figures(stats)
    return Figures(
        fetched=areas["fetched"].total(),
        new=areas["articles"]["new"],
        updated=areas["articles"]["updated"],
        posts=areas["posts"]["new"],
        duplicates=areas["duplicates"]["text"],
        similar=areas["duplicates"]["near"],
        # a stat without a detail has the empty key
        unchanged=areas["unchanged"][""] + areas["articles"]["unchanged"],
        skipped=areas["gated"][""],
        errors=dict(areas["errors"].most_common()),
        aside=areas["queue"]["aside"],
        queue=areas["queue"]["pending"] if "newsbot/queue/pending" in stats else None,
        waits_for=str(stats.get("newsbot/queue/waits_for") or ""),
        useful_share=total(sites).useful_share,
        pages=areas["pages"][""],
        known=areas["links"]["known"],
        left={
            name.removeprefix("rejected/"): count
            for name, count in areas["links"].most_common()
            if name.startswith("rejected/")
        },
        saved=dict(areas["bytes_saved"].most_common()),
    )


def site_figures(stats: Mapping[str, Any]) -> list[SiteFigures]:
    """Return the totals of each site, most articles first. Sites without fetches and errors are left out."""
    sites: dict[str, SiteFigures] = {}
    for key, value in stats.items():
        # e.g. newsbot/site/example.org/pages, newsbot/site/example.org/errors/timeout
        parts = key.split("/", 4)
        if len(parts) < 4 or parts[:2] != ["newsbot", "site"]:
            continue
        site = sites.setdefault(parts[2], SiteFigures(site=parts[2]))
        if len(parts) == 5 and parts[3] == "errors":
            site.causes[parts[4]] += number(value)
        elif len(parts) == 4 and parts[3] in _COUNTED:
            setattr(site, parts[3], number(value))
    busy = [site for site in sites.values() if site.fetched or site.pages or site.errors or site.articles]
    return sorted(busy, key=lambda site: (-site.articles, -site.pages, site.site))


_COUNTED = frozenset(
    ("fetched", "pages", "article_pages", "articles", "updated", "duplicates", "unchanged", "errors")
)


def total(sites: list[SiteFigures]) -> SiteFigures:
    """Return the sum of all sites."""
    result = SiteFigures(site=f"all {len(sites)}")
    for site in sites:
        for name in _COUNTED:
            setattr(result, name, getattr(result, name) + getattr(site, name))
        result.causes += site.causes
    return result


class Rates:
    """Computes rates per minute from totals, over the last :data:`RATE_WINDOW` seconds."""

    def __init__(self) -> None:
        self._seen: deque[tuple[float, Figures]] = deque()

    def per_minute(self, now: float, current: Figures) -> tuple[float, float]:
        """Add the totals at ``now`` (seconds of a monotonic clock). Return pages and articles per minute."""
        self._seen.append((now, current))
        # one entry before the window is kept, so that the rates cover the whole window
        while len(self._seen) > 2 and self._seen[1][0] <= now - RATE_WINDOW:
            self._seen.popleft()
        began, first = self._seen[0]
        if now <= began:
            return 0.0, 0.0
        minutes = (now - began) / 60.0
        return (current.fetched - first.fetched) / minutes, (current.articles - first.articles) / minutes


def causes(now: Figures) -> str:
    """Return the most frequent causes of errors, e.g. ``timeout 8, dns 2, others 3``."""
    named = list(now.errors.items())
    words = [f"{cause} {count}" for cause, count in named[:SHOWN_CAUSES]]
    others = sum(count for _, count in named[SHOWN_CAUSES:])
    return ", ".join([*words, f"others {others}"] if others else words)


def duration(seconds: float) -> str:
    """Return a duration as ``h:mm:ss``."""
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{rest:02}"


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


# --- the display
FIRST_AFTER = 2.0
"""Maximum number of seconds until the first log line, so that users soon see that the crawl is running."""
MAX_INTERVAL = 10**6
"""Maximum interval in seconds (eleven days). The limit is needed because a timer does not accept infinity or
many months."""
REFRESH = 0.5
"""Seconds between two updates of the live display."""


class Progress(Extension):
    """Shows the progress from ``spider_opened`` to ``spider_closed``.

    Settings: NEWSBOT_PROGRESS (off: no progress), NEWSBOT_PROGRESS_INTERVAL (seconds between log lines).
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        if not crawler.settings.getbool("NEWSBOT_PROGRESS"):
            raise NotConfigured
        given = crawler.settings.get("NEWSBOT_PROGRESS_INTERVAL")
        try:
            self._interval = float(given)
        except (TypeError, ValueError):
            self._interval = 0.0
        # This is also true for NaN, which float() accepts.
        if not 0 < self._interval < MAX_INTERVAL:
            raise NotConfigured(f"NEWSBOT_PROGRESS_INTERVAL={given}: must be a number of seconds above 0")
        live = wants_live_display(crawler.settings)
        self._display = LiveDisplay(make_console(sys.stderr)) if live else None
        self._rates = Rates()
        self._began = 0.0
        self._first: Any = None

    def spider_opened(self, spider: Spider) -> None:
        """Start showing the progress."""
        self._began = time.monotonic()
        # The first figures are zeros, so that rates are counted from the start of the crawl.
        self._rates.per_minute(self._began, Figures())
        if self._display is not None:
            self._display.start()
            self.repeat(self._show, REFRESH, now=True)
        else:
            self._first = call_later(min(FIRST_AFTER, self._interval), self._show_first)

    def spider_closed(self, spider: Spider, reason: str) -> None:
        """Show the last state and stop."""
        if self._first is not None:
            self._first.cancel()
            self._first = None
        super().spider_closed(spider, reason)
        self._show()
        if self._display is not None:
            self._display.stop()

    def _show_first(self) -> None:
        self._first = None
        self._show()
        self.repeat(self._show, self._interval)

    def _show(self) -> None:
        now = time.monotonic()
        assert self.crawler.stats is not None
        current = figures(self.crawler.stats.get_stats())
        rates = self._rates.per_minute(now, current)
        if self._display is not None:
            self._display.show(picture(current, rates, now - self._began))
        else:
            logger.info("%s", line(current, rates))


class LiveDisplay:
    """A few lines at the bottom of the terminal. Log lines scroll above them."""

    def __init__(self, console: Console) -> None:
        # The extension updates the display itself, so Live needs no thread. Live must not redirect the
        # streams, because log_lines_above() redirects the log handlers.
        self._live = Live(console=console, auto_refresh=False, redirect_stdout=False, redirect_stderr=False)
        self._console = console
        self._shown = ExitStack()

    def start(self) -> None:
        """Start the display."""
        self._shown.enter_context(log_lines_above(self._console))
        self._shown.enter_context(self._live)
        atexit.register(self.stop)  # restores the cursor after a second Ctrl-C, which skips spider_closed

    def show(self, text: Text) -> None:
        """Replace the text of the display."""
        self._live.update(text, refresh=True)

    def stop(self) -> None:
        """Stop the display and keep its last state on the terminal. A second call does nothing."""
        self._shown.close()
        atexit.unregister(self.stop)


@contextmanager
def log_lines_above(console: Console) -> Iterator[None]:
    """Redirect log handlers from stderr to ``console``, so that log lines do not break its display."""
    handlers = [
        handler
        for handler in logging.root.handlers
        if isinstance(handler, logging.StreamHandler) and handler.stream is console.file
    ]
    # rich's proxy prints each line above the live display
    proxy = FileProxy(console, console.file)
    for handler in handlers:
        handler.setStream(proxy)
    try:
        yield
    finally:
        for handler in handlers:
            if handler.stream is proxy:
                handler.setStream(console.file)


def wants_live_display(settings: BaseSettings) -> bool:
    """Return True if stderr is a terminal that can move its cursor, and if no items are printed there."""
    if not sys.stderr.isatty() or os.environ.get("TERM", "dumb") in ("dumb", "unknown"):
        return False
    to_stdout = any(str(uri) == "-" or str(uri).startswith("stdout:") for uri in settings.getdict("FEEDS"))
    return not (to_stdout and sys.stdout.isatty())


def line(now: Figures, rates: tuple[float, float]) -> str:
    """Return the state as one log line: the event, then ``key=value`` pairs."""
    words = [
        f"progress fetched={now.fetched} ({rates[0]:.0f}/min)",
        f"articles={now.articles} ({rates[1]:.0f}/min)",
        f"useful={percent(now.useful_share).replace(' ', '')}",
        f"new={now.new} updated={now.updated} duplicates={now.duplicates} similar={now.similar}",
        f"unchanged={now.unchanged} errors={now.failed}",
    ]
    if now.errors:
        words.append(f"({causes(now)})")
    if now.queue is not None:
        words.append(f"queue={now.queue}")
    if now.waits_for:
        words.append(f"waits_for={clean(now.waits_for)!r}")
    return " ".join(words)


def picture(now: Figures, rates: tuple[float, float], seconds: float) -> Text:
    """Return the state as the lines of the live display."""
    queue = "" if now.queue is None else f"   queue {now.queue:,}"
    lines = [
        f"newsbot {duration(seconds)}{queue}",
        f"fetched {now.fetched:,} ({rates[0]:,.0f}/min)   articles {now.articles:,} ({rates[1]:,.0f}/min)",
        f"new {now.new:,}   updated {now.updated:,}   useful {percent(now.useful_share)}",
        f"duplicates {now.duplicates:,}   similar {now.similar:,}   unchanged {now.unchanged:,}",
        f"errors {now.failed:,}" + (f": {causes(now)}" if now.errors else ""),
    ]
    if now.waits_for:
        lines.append(f"waits for: {clean(now.waits_for)}")
    text = Text("\n").join(Text(line, no_wrap=True, overflow="ellipsis") for line in lines)
    # join() takes these values from the separator, not from the lines.
    text.no_wrap, text.overflow = True, "ellipsis"
    text.stylize("bold", 0, len(lines[0]))
    return text


# --- the file of stats
class StatsFile(Extension):
    """Writes the stats to the JSON file NEWSBOT_STATS_FILE; an empty setting switches this off.

    The file is written every NEWSBOT_PROGRESS_INTERVAL seconds and at the end. Only the last version has
    ``finish_reason``.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        name = crawler.settings.get("NEWSBOT_STATS_FILE")
        if not name:
            raise NotConfigured
        self.path = Path(name).expanduser()

    def spider_opened(self, spider: Spider) -> None:
        """Start to write the stats at intervals."""
        self.repeat(self._write, self.crawler.settings.getfloat("NEWSBOT_PROGRESS_INTERVAL"))

    def spider_closed(self, spider: Spider, reason: str) -> None:
        """Write the final stats, with the reason why the crawl has ended."""
        super().spider_closed(spider, reason)
        self._write(finish_reason=reason)

    def _write(self, **more: str) -> None:
        assert self.crawler.stats is not None
        stats = {**self.crawler.stats.get_stats(), **more}
        try:
            # default=str is for datetimes, such as Scrapy's start_time.
            self.path.write_text(json.dumps(stats, default=str, indent=1, sort_keys=True), encoding="utf8")
        except OSError as error:
            logger.error("stats cannot be written NEWSBOT_STATS_FILE=%s fault=%s", self.path, error.strerror)
