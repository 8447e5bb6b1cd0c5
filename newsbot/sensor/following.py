"""Reads a file that grows, also past its rotation (``tail -F``)."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

from newsbot.errors import UserError

PAUSE = 0.5
MAX_LINE = 65_536


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
        line = file.readline(MAX_LINE)
        if not line:
            return
        if not line.endswith(b"\n") and len(line) < MAX_LINE:
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
