"""Finds the changes of a site in its access log (nginx and Apache, common and combined format).

A log has no texts. A page that was asked for and answered with 200 is news if its address was not in the
log before, or if its size changed by more than a little, twice in a row: then it is no counter's digit.
"""

from __future__ import annotations

import os
import re
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from newsbot.errors import UserError
from newsbot.sensor.fingerprints import MAX_PAGES
from newsbot.sensor.watching import without_tracking

MAX_LINE = 8192
TOLERANCE = 0.02
"""Share of a page's size that may come and go without an edit."""
_LINE = re.compile(
    r'\S+ \S+ .{0,200}? \[[^\]]{1,60}\] "GET (?P<path>/[^ "]{0,4000}) HTTP/[0-9.]+" '
    r"(?P<status>\d{3}) (?P<size>\d+|-)"
)
_ANY_LINE = re.compile(r'\S+ \S+ .{0,200}? \[[^\]]{1,60}\] "')
_NO_PAGE = re.compile(
    r"\.(?:css|js|mjs|map|png|jpe?g|gif|svg|webp|avif|ico|woff2?|ttf|mp[34]|webm|pdf|zip|xml|json|txt)(?:\?|$)",
    re.IGNORECASE,
)


@dataclass(slots=True)
class _Size:
    size: int
    other: int | None = None
    """A size that differs, seen once."""


class LogReader:
    """Reads lines of one log, in order."""

    def __init__(self) -> None:
        self._sizes: OrderedDict[str, _Size] = OrderedDict()
        self.bad_lines = 0
        """Lines that are none of an access log."""

    def news(self, line: str, *, learning: bool = False) -> str | None:
        """Return the path of a page that is new or has changed, or None.

        ``learning``: the line was written before we looked; what it tells is only remembered.
        """
        found = _LINE.match(line[:MAX_LINE])
        if found is None:
            self.bad_lines += _ANY_LINE.match(line[:MAX_LINE]) is None
            return None
        if found["status"] != "200" or found["size"] == "-" or _NO_PAGE.search(found["path"]):
            return None
        path, size = without_tracking(found["path"]), int(found["size"])
        known = self._sizes.pop(path, None)
        self._sizes[path] = known or _Size(size)
        if len(self._sizes) > MAX_PAGES:
            self._sizes.popitem(last=False)
        is_news = known is None or _changed(known, size)
        return path if is_news and not learning else None


def _changed(known: _Size, size: int) -> bool:
    if abs(size - known.size) <= TOLERANCE * known.size:
        known.other = None
        return False
    if known.other is None or abs(size - known.other) > TOLERANCE * known.other:
        known.other = size
        return False
    known.size, known.other = size, None
    return True


PAUSE = 0.5
MAX_READ = 65_536


def lines(path: Path, *, follow: bool, pause: Callable[[], None] | None = None) -> Iterator[tuple[str, bool]]:
    """Yield each line, and whether it was there at the start; with ``follow`` without end.

    A file that is replaced or emptied is read from its beginning. Raises :class:`newsbot.errors.UserError`
    if there is no such file at the start.
    """
    wait = pause or (lambda: time.sleep(PAUSE))
    try:
        file: BinaryIO = path.open("rb")
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror})") from error
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
            yield from _lines_of(file, at_start=False)  # what was written before it was replaced
        file = _opened_again(path, wait)


def _lines_of(file: BinaryIO, *, at_start: bool) -> Iterator[tuple[str, bool]]:
    while True:
        begin = file.tell()
        line = file.readline(MAX_READ)
        if not line:
            return
        if not line.endswith(b"\n") and len(line) < MAX_READ:
            file.seek(begin)  # the rest of it is still being written
            return
        yield line.decode("utf-8", "replace").rstrip("\r\n"), at_start


def _was_replaced(file: BinaryIO, path: Path) -> bool:
    try:
        there = path.stat()
    except OSError:
        return True
    ours = os.fstat(file.fileno())
    return (there.st_ino, there.st_dev) != (ours.st_ino, ours.st_dev) or there.st_size < file.tell()


def _opened_again(path: Path, wait: Callable[[], None]) -> BinaryIO:
    while True:
        try:
            return path.open("rb")
        except OSError:  # between the two steps of a rotation
            wait()
