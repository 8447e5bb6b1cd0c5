"""``scrapy sensor``: reads the access log of a site and reports changed pages to a newsbot server.

The log is one of nginx or Apache, in the common or combined format.

A log contains no texts. A URL is reported if it looks like an article, the status is 200, and the URL was not
in the log before. It is reported again if its size clearly differs from all known sizes twice in a row. So a
page on which only a number varies, such as a counter of visitors, is not reported, although the sizes of its
responses differ. Visitors can write one URL in several ways: with a query, parameters, further slashes,
escapes or segments. A URL that differs from a known URL only in these parts is therefore not new if its size
is a known size of that URL.
"""

from __future__ import annotations

import glob
import gzip
import os
import re
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from posixpath import normpath
from typing import IO, cast
from urllib.parse import unquote

from newsbot.apps.push.sensor.watching import MAX_PAGES, Notifier, is_article, without_tracking
from newsbot.cli.command import Action, Argument, Call
from newsbot.cli.terminal import counted
from newsbot.clock import utc
from newsbot.errors import ArgumentError, UserError
from newsbot.items import Bounded

MAX_LINE = 8192
"""Maximum number of characters of a line that are read."""
MAX_SIZES = 64
"""Maximum number of sizes remembered for a page, or for all URLs that differ only in their query."""
ROTATED = 2
"""Maximum number of rotated files that are read at the start."""
TOLERANCE = 0.02
"""Largest relative difference between two sizes of an unchanged page."""
# 192.0.2.1 - - [03/May/2024:14:05:00 +0000] "GET /news/1 HTTP/1.1" 200 5120
_LINE = re.compile(
    r'\S+ \S+ .{0,200}? \[(?P<time>[^\]]{1,60})\] "GET (?P<path>/[^ "]{0,4000}) HTTP/[0-9.]+" '
    r"(?P<status>\d{3}) (?P<size>\d+|-)"
)
_ANY_LINE = re.compile(r'\S+ \S+ .{0,200}? \[[^\]]{1,60}\] "')
_IGNORED = re.compile(r";[^/]*")


@dataclass(slots=True)
class _Page:
    sizes: list[int]
    """The known sizes of the page in bytes.

    A page can have several sizes, because a server may send it compressed to some clients and uncompressed to
    other clients.
    """
    other: int | None = None
    """A size that differs from all known sizes and was seen only once."""


class LogReader:
    """Reads the lines of one log, in order.

    Requests before ``since`` (POSIX seconds) are remembered, but never reported.
    """

    def __init__(self, since: float = 0.0) -> None:
        self._since = utc(since)
        self._pages = Bounded[str, _Page](MAX_PAGES)
        """Pages by path with query. A path that ends in ``?`` stands for all other forms of its URL."""
        self.bad_lines = 0
        """Number of lines that are not access log lines."""

    def news(self, line: str, *, learning: bool = False) -> str | None:
        """Return the path of the article in this line if it is new or has changed, otherwise None.

        ``learning`` means that the line was written before the sensor started. Such a line is remembered, but
        not reported.
        """
        found = _LINE.match(line[:MAX_LINE])
        if found is None:
            self.bad_lines += _ANY_LINE.match(line[:MAX_LINE]) is None
            return None
        if found["status"] != "200" or found["size"] == "-" or not is_article(found["path"]):
            return None
        path, size = without_tracking(found["path"]), int(found["size"])
        known = self._pages.get(path)
        if known is None:
            is_news = self._is_new(path, size)
            self._page(path).sizes.append(size)
        else:
            self._pages.move_to_end(path)
            is_news = _has_changed(known, size)
        # The page is remembered even if it is not reported here.
        return path if is_news and not learning and not self._is_old(found["time"]) else None

    def _is_new(self, path: str, size: int) -> bool:
        """Return False if the path seems to be another form of a known path with a similar size."""
        base = _plain(path)
        above = self._pages.get(base.rpartition("/")[0])  # some servers ignore a further segment
        if base == path:
            return above is None or not any(_is_near(size, one) for one in above.sizes)
        others = self._page(f"{base}?").sizes
        bare = self._pages.get(base)
        known = (*others, *(one for page in (bare, above) if page for one in page.sizes))
        if any(_is_near(size, one) for one in known):
            return False
        others.append(size)
        del others[:-MAX_SIZES]
        return True

    def _page(self, path: str) -> _Page:
        page = self._pages[path] = self._pages.get(path) or _Page([])
        return page

    def _is_old(self, written: str) -> bool:
        try:
            return datetime.strptime(written, "%d/%b/%Y:%H:%M:%S %z") < self._since
        except ValueError:  # Apache can be configured to write other date formats
            return False


def _plain(path: str) -> str:
    """Return a path without the differences that servers ignore.

    Servers ignore differences in the query, in parameters, escapes, case, dots and slashes.
    """
    plain = unquote(path.partition("?")[0].partition("#")[0])
    return normpath("/" + _IGNORED.sub("", plain).lower().lstrip("/"))


def _is_near(size: int, other: int) -> bool:
    return abs(size - other) <= TOLERANCE * other


def _has_changed(page: _Page, size: int) -> bool:
    if any(_is_near(size, one) for one in page.sizes):
        page.other = None
        return False
    # A new size is reported only after it was seen twice in a row, because the response to one visitor may
    # differ.
    if page.other is None or not _is_near(size, page.other):
        page.other = size
        return False
    page.sizes.append(size)
    del page.sizes[:-MAX_SIZES]
    page.other = None
    return True


PAUSE = 0.5
"""Seconds between two attempts to read new lines."""
MAX_READ = 65_536
"""Maximum number of bytes of a line that are kept in memory."""


def lines(path: Path, *, follow: bool, pause: Callable[[], None] | None = None) -> Iterator[tuple[str, bool]]:
    """Yield each line, and True if it was in the file at the start.

    With ``follow`` the iterator never ends, and the lines of the last rotated files come first
    (``access.log.1``, ``access.log-20241121.gz``). If the file is replaced or truncated, it is read from the
    beginning again. ``pause`` is called to wait for new lines. Raises :class:`newsbot.errors.UserError` if
    the file cannot be opened at the start.
    """
    wait = pause or (lambda: time.sleep(PAUSE))
    try:
        file: IO[bytes] = path.open("rb")
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror})") from error
    if follow:
        yield from _rotated_lines(path)
    at_start = True
    while True:
        with file:
            yield from _lines_of(file, at_start=at_start)
            if not follow:
                return
            at_start = False
            while not _was_replaced(file, path):
                yield from _lines_of(file, at_start=False)
                wait()
            yield from _lines_of(file, at_start=False)  # lines written just before the change
        file = _opened_again(path, wait)


def _rotated_lines(path: Path) -> Iterator[tuple[str, bool]]:
    older = [one for mark in ".-" for one in path.parent.glob(f"{glob.escape(path.name)}{mark}*")]
    dated = sorted((one.stat().st_mtime, one) for one in older if one.is_file())
    for _, one in dated[-ROTATED:]:
        with suppress(OSError, EOFError, zlib.error), _opened(one) as file:
            yield from _lines_of(file, at_start=True)


def _opened(path: Path) -> IO[bytes]:
    return cast("IO[bytes]", gzip.open(path)) if path.suffix == ".gz" else path.open("rb")


def _lines_of(file: IO[bytes], *, at_start: bool) -> Iterator[tuple[str, bool]]:
    while True:
        begin = file.tell()
        line = file.readline(MAX_READ)
        if not line:
            return
        # A line that is longer than MAX_READ is yielded in pieces, so that memory use is limited.
        if not line.endswith(b"\n") and len(line) < MAX_READ:
            file.seek(begin)  # the server has not written the rest of the line yet
            return
        yield line.decode("utf-8", "replace").rstrip("\r\n"), at_start


def _was_replaced(file: IO[bytes], path: Path) -> bool:
    try:
        there = path.stat()
    except OSError:
        return True
    ours = os.fstat(file.fileno())
    # Rotation by rename changes the inode; rotation by copy and truncation makes the file shorter.
    return (there.st_ino, there.st_dev) != (ours.st_ino, ours.st_dev) or there.st_size < file.tell()


def _opened_again(path: Path, wait: Callable[[], None]) -> IO[bytes]:
    while True:
        try:
            return path.open("rb")
        except OSError:  # the old file was renamed, and the new file does not exist yet
            wait()


MOSTLY = 20
"""Number of lines that are checked at the start. The file is refused if none of them has a known format."""


def run(call: Call) -> None:
    """Follow the log until Ctrl-C, or read it once (``--once``). With ``--dry-run`` URLs are only printed."""
    options = call.options
    notifier = None if options.dry_run else _notifier(call)
    reader = LogReader(since=0.0 if options.once else time.time())
    reported = number = 0
    try:
        for number, (line, old) in enumerate(lines(options.log, follow=not options.once), start=1):
            # Lines that were written before the start are not reported. The reader only learns from them
            # which pages are known.
            path = reader.news(line, learning=old and not options.once)
            if reader.bad_lines == number == MOSTLY:
                raise ArgumentError(f"{options.log}: contains no access log lines of nginx or Apache")
            if path is None:
                continue
            reported += 1
            if notifier is None:
                call.text(options.site.rstrip("/") + path)
            else:
                notifier.changed(notifier.site + path)
    finally:
        if notifier is not None:
            notifier.close()
    outcome = "found" if notifier is None else "sent"
    call.note(f"{counted(number, 'line')} read, {counted(reported, 'change')} {outcome}")


def _notifier(call: Call) -> Notifier:
    url = call.options.url
    if not url:
        raise ArgumentError("give --url, the address for notices, e.g. https://newsbot.example/push/notice")
    secret = str(call.settings.get("NEWSBOT_SENSOR_SECRET") or "")
    try:
        return Notifier(url, secret, call.options.site)
    except ValueError as error:
        raise ArgumentError(str(error)) from error


ACTIONS = (
    Action(
        "",
        "Follow an access log of nginx or Apache, and report new and changed pages to newsbot",
        run,
        Argument("log", type=Path, metavar="FILE", help="common or combined format"),
        Argument("--site", required=True, metavar="URL", help="the site of the log: https://my.site"),
        Argument("--url", metavar="URL", help="where to send: https://newsbot.example/push/notice"),
        Argument("--once", action="store_true", help="read the log once, then end"),
        Argument("--dry-run", action="store_true", help="only print the URLs, without sending them"),
    ),
)
