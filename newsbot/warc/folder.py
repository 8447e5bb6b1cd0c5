"""A folder of WARC files that one process writes, one file after the other.

While a file is written, its name ends in ``.open`` and it is locked. Each record is one write, so a killed
process leaves complete records. After a power failure, the next process that opens the folder removes an
incomplete record (:func:`recover`). Other programs may only read or delete files with their final name.
"""

from __future__ import annotations

import fcntl
import os
import re
import socket
import zlib
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from io import FileIO
from pathlib import Path
from typing import BinaryIO

from newsbot.warc.records import packed_info

SUFFIX = ".warc.gz"
OPEN = ".open"
_MEMBER = b"\x1f\x8b\x08\x00\x00\x00\x00\x00"
"""The first bytes of gzip members written by newsbot: deflate, no flags, no time."""
_BACK = 1 << 20
_FARTHEST = 1 << 28
"""Maximum distance from the end of a file that is searched, in bytes. No record of newsbot is this long."""


class WarcFolder:
    """Writes records. After ``max_size`` bytes the next file begins."""

    def __init__(
        self, folder: Path, *, max_size: int, about: str = "", now: Callable[[], datetime] | None = None
    ) -> None:
        """Create the folder and recover the files of dead processes. Raises ``OSError``."""
        self.folder = folder
        self._max_size = max_size
        self._about = about
        self._now = now or (lambda: datetime.now(UTC))
        self._file: FileIO | None = None
        self._size = 0
        self._number = 0
        folder.mkdir(parents=True, exist_ok=True)
        recover(folder)

    def write(self, records: bytes) -> None:
        """Append complete gzipped records. If it raises ``OSError``, nothing was written."""
        if self._file is None or self._size >= self._max_size:
            self._next()
        self._append(records)

    def close(self) -> None:
        """Finish the open file and give it its final name."""
        file, self._file = self._file, None
        if file is None:
            return
        path = Path(str(file.name))
        with file:
            os.fsync(file.fileno())
            path.rename(path.with_name(path.name.removesuffix(OPEN)))

    def _next(self) -> None:
        self.close()
        name = f"newsbot-{self._now():%Y%m%d%H%M%S}-{self._number:05}-{_host()}-{os.getpid()}{SUFFIX}"
        path = self.folder / f"{name}{OPEN}"
        file = FileIO(path, "xb")
        try:
            fcntl.flock(file, fcntl.LOCK_EX)
            self._file, self._size = file, 0
            self._append(packed_info(name, self._about))
        except BaseException:
            self._file = None
            file.close()
            with suppress(OSError):
                path.unlink()
            raise
        self._number += 1

    def _append(self, records: bytes) -> None:
        file, left = self._file, memoryview(records)
        assert file is not None
        try:
            while left:
                # An unbuffered write may be partial.
                left = left[file.write(left) :]
        except BaseException:
            file.truncate(self._size)  # a partial record would make those after it unreadable
            file.seek(self._size)
            raise
        self._size += len(records)


def recover(folder: Path) -> list[Path]:
    """Give the files of dead processes their final names, without incomplete records. Returns the new paths.

    Raises ``OSError``.
    """
    found = []
    for path in sorted(folder.glob(f"*{SUFFIX}{OPEN}")):
        try:
            file = path.open("r+b")
        except FileNotFoundError:  # another process was faster
            continue
        with file:
            try:
                # The lock of a dead process is gone, so this succeeds for its files only.
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:  # a running process writes to it
                continue
            file.truncate(whole_size(file))
            if not file.seek(0, os.SEEK_END):
                path.unlink(missing_ok=True)
                continue
            final = path.with_name(path.name.removesuffix(OPEN))
            with suppress(FileNotFoundError):
                path.rename(final)
                found.append(final)
    return found


def whole_size(file: BinaryIO) -> int:
    """Return how many bytes of a file written by newsbot are complete records. Only its end is read."""
    end = file.seek(0, os.SEEK_END)
    start = end
    tail = b""
    while start > 0:
        step = min(_BACK, start)
        start -= step
        file.seek(start)
        tail = file.read(step) + tail
        # The end overlaps the piece read before: a member's first bytes may lie in both.
        at = tail.rfind(_MEMBER, 0, step + len(_MEMBER) - 1)
        while at >= 0:
            ended = _end_of_member(tail[at:])
            if ended is not None:
                return start + at + ended
            at = tail.rfind(_MEMBER, 0, at)
        if end - start > _FARTHEST:
            return end  # not written by newsbot: leave it as it is
    return 0


def _end_of_member(data: bytes) -> int | None:
    """Return where the gzip member that begins here ends; None if it is incomplete or not a WARC record."""
    unpacker = zlib.decompressobj(wbits=31)
    first = True
    left = data
    try:
        while left and not unpacker.eof:
            out = unpacker.decompress(left, _BACK)
            if first and not out.startswith(b"WARC/1."):
                return None
            first, left = False, unpacker.unconsumed_tail
    except zlib.error:
        return None
    return len(data) - len(unpacker.unused_data) if unpacker.eof else None


def _host() -> str:
    return re.sub(r"[^A-Za-z0-9]+", "-", socket.gethostname())[:40] or "host"
