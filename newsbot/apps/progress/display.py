"""Shows the progress of a crawl: a live display on a terminal, else a log line every few seconds.

The stats can also be written to a file for other programs.

All output goes to stderr, so that ``-O -:jsonl`` can use stdout.
"""

from __future__ import annotations

import atexit
import json
import logging
import os
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
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

from newsbot.apps.numbers import percent
from newsbot.apps.progress.summary import Figures, Rates, causes, duration, figures
from newsbot.cli.terminal import clean, make_console
from newsbot.extensions import Extension

logger = logging.getLogger(__name__)

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
