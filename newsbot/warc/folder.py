"""Writes WARC files into a folder, one file after the other.

While a file is written, its name ends in ``.open`` and the process holds a lock on it. Each record is written
with one system call, so a killed process usually leaves complete records. After a power failure the last
record may be incomplete. The next process that opens the folder removes this record (:func:`recover`). Other
programs may read or delete only files that have their final name.
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
"""The first bytes of each gzip member that newsbot writes. They mean: method deflate, no flags, no time."""
_BACK = 1 << 20
"""Number of bytes that each step of the search for the last complete record of a file reads."""
_FARTHEST = 1 << 28
"""Maximum number of bytes at the end of a file that are searched. Records of newsbot are shorter."""


class WarcFolder:
    """Writes records into files of a folder.

    A new file begins as soon as the current file has at least ``max_size`` bytes, so files are a little
    larger than ``max_size``. ``about`` is added to the ``warcinfo`` record of each file. It consists of lines
    that end with CRLF.
    ``now`` returns the time that is part of file names.
    """

    def __init__(
        self, folder: Path, *, max_size: int, about: str = "", now: Callable[[], datetime] | None = None
    ) -> None:
        """Create the folder if necessary, and recover the files of dead processes. Raises ``OSError``."""
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
        """Append complete gzipped records, which stay together in one file.

        Raises ``OSError``, for example if the disk is full. In this case nothing was written.
        """
        if self._file is None or self._size >= self._max_size:
            self._next()
        self._append(records)

    def close(self) -> None:
        """Flush the open file to disk and give it its final name. Raises ``OSError``."""
        file, self._file = self._file, None
        if file is None:
            return
        path = Path(str(file.name))
        with file:
            # The data must be on disk before the rename, because the final name promises complete records.
            os.fsync(file.fileno())
            path.rename(path.with_name(path.name.removesuffix(OPEN)))

    def _next(self) -> None:
        """Close the current file and begin the next one with its ``warcinfo`` record."""
        self.close()
        name = f"newsbot-{self._now():%Y%m%d%H%M%S}-{self._number:05}-{_host()}-{os.getpid()}{SUFFIX}"
        path = self.folder / f"{name}{OPEN}"
        file = FileIO(path, "xb")
        try:
            # Another process that runs recover() skips a locked file. The kernel releases the lock if this
            # process dies.
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
                # An unbuffered write may write only a part of the data.
                left = left[file.write(left) :]
        except BaseException:
            file.truncate(self._size)  # readers would fail at a partial record
            file.seek(self._size)
            raise
        self._size += len(records)


def recover(folder: Path) -> list[Path]:
    """Finish the files of dead processes: remove incomplete records, and give the files their final names.

    Returns the new paths. Files that a running process writes are not touched, and files without a complete
    record are deleted. Raises ``OSError``.
    """
    found = []
    for path in sorted(folder.glob(f"*{SUFFIX}{OPEN}")):
        try:
            file = path.open("r+b")
        except FileNotFoundError:  # another process was faster
            continue
        with file:
            try:
                # The kernel releases the locks of a process that ends. So this call fails only if the process
                # still runs.
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:  # a running process writes to it
                continue
            file.truncate(whole_size(file))
            if not file.seek(0, os.SEEK_END):
                path.unlink(missing_ok=True)
                continue
            final = path.with_name(path.name.removesuffix(OPEN))
            with suppress(FileNotFoundError):  # another process has renamed it meanwhile
                path.rename(final)
                found.append(final)
    return found


def whole_size(file: BinaryIO) -> int:
    """Return the size in bytes of the complete records at the start of a file written by newsbot.

    The last complete gzip member is searched from the end of the file, so only the end is read. If no member
    is found within :data:`_FARTHEST` bytes, the size of the file is returned.
    """
    end = file.seek(0, os.SEEK_END)
    start = end
    tail = b""
    while start > 0:
        step = min(_BACK, start)
        start -= step
        file.seek(start)
        tail = file.read(step) + tail
        # The search continues a little into the piece that was read before, because a member's first bytes
        # may lie in both pieces.
        at = tail.rfind(_MEMBER, 0, step + len(_MEMBER) - 1)
        while at >= 0:
            # The same bytes may also occur by chance inside compressed data. Such data cannot be unpacked.
            ended = _end_of_member(tail[at:])
            if ended is not None:
                return start + at + ended
            at = tail.rfind(_MEMBER, 0, at)
        if end - start > _FARTHEST:
            return end  # not written by newsbot, so the file is not changed
    return 0


def _end_of_member(data: bytes) -> int | None:
    """Return the length of the gzip member at the start of ``data``.

    Returns None if the member is incomplete or does not contain a WARC record.
    """
    unpacker = zlib.decompressobj(wbits=31)
    first = True
    left = data
    try:
        while left and not unpacker.eof:
            # The output is dropped. Its size is limited, so that a large record does not fill the memory.
            out = unpacker.decompress(left, _BACK)
            if first and not out.startswith(b"WARC/1."):
                return None
            first, left = False, unpacker.unconsumed_tail
    except zlib.error:
        return None
    return len(data) - len(unpacker.unused_data) if unpacker.eof else None


def _host() -> str:
    """Return the name of this machine with characters that are safe in a file name."""
    return re.sub(r"[^A-Za-z0-9]+", "-", socket.gethostname())[:40] or "host"
