"""Reads WARC files over HTTP as streams, and the lists of Common Crawl's news set (CC-NEWS) that name them.

A broken connection is reopened at the same position (Range requests, RFC 9110, 14). Files are not stored.
"""

from __future__ import annotations

import re
import time
import zlib
from collections.abc import Callable
from contextlib import closing
from http.client import HTTPException, HTTPResponse
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

from newsbot.errors import NewsbotError

TRIES = 6
FIRST_WAIT = 2.0
"""Seconds to the second try; each further wait is twice as long."""
TIMEOUT = 60.0
MAX_LIST = 32 * 2**20
"""Bytes of an unpacked list; a month has some 500 files."""
_STEP = 1 << 16
_NAME = re.compile(r"crawl-data/CC-NEWS/[0-9]{4}/[0-9]{2}/[\w-][\w.-]*\.warc\.gz")
_RANGE = re.compile(r"bytes (\d+)-\d+/(\d+)")


class RemoteFault(NewsbotError):
    """A remote file cannot be read; ``str()`` says why. ``status``: of the answer, 0 if there was none."""

    def __init__(self, text: str, status: int = 0) -> None:
        super().__init__(text)
        self.status = status


class RemoteFile:
    """A file behind an address, to be read once from some place on; ``say`` takes a line about each retry."""

    def __init__(self, url: str, user_agent: str, say: Callable[[str], None]) -> None:
        self.url = url
        self._user_agent, self._say = user_agent, say
        self._at = 0
        self._size: int | None = None
        self._answer: HTTPResponse | None = None

    def seek(self, at: int) -> int:
        """Continue at this place."""
        self.close()
        self._at = at
        return at

    def read(self, size: int) -> bytes:
        """Return up to ``size`` bytes; an empty result is the end.

        Raises :class:`RemoteFault` after some tries.
        """
        wait = FIRST_WAIT
        for left in reversed(range(TRIES)):
            try:
                return self._read(size)
            except (OSError, HTTPException) as error:
                self.close()
                text, status = _reason(error), error.code if isinstance(error, HTTPError) else 0
            if not left:
                break
            self._say(f"{self.url}: {text} at byte {self._at:,}; tried again in {wait:g} s")
            time.sleep(wait)
            wait *= 2
        raise RemoteFault(f"{text}; tried {TRIES} times", status)

    def close(self) -> None:
        """End the connection."""
        if self._answer is not None:
            self._answer.close()
            self._answer = None

    def _read(self, size: int) -> bytes:
        if self._size is not None and self._at >= self._size:
            return b""
        if self._answer is None:
            self._answer = self._opened()
            if self._answer is None:
                return b""
        data = self._answer.read(size)
        if not data and self._size is not None:
            raise ConnectionError(f"the answer ended {self._size - self._at:,} bytes too early")
        self._at += len(data)
        return data

    def _opened(self) -> HTTPResponse | None:
        """Ask for the rest of the file; None: there is no more."""
        headers = {"User-Agent": self._user_agent} | ({"Range": f"bytes={self._at}-"} if self._at else {})
        try:
            request = Request(self.url, headers=headers)  # noqa: S310  # the setting allows http and https
            answer: HTTPResponse = urlopen(request, timeout=TIMEOUT)  # noqa: S310
        except HTTPError as error:
            error.close()
            if error.code == 416:  # behind the end
                return None
            raise
        part = _RANGE.fullmatch(answer.headers.get("Content-Range", ""))
        if answer.status == 206 and (part is None or int(part[1]) != self._at):
            answer.close()
            raise ConnectionError("the server sent another part than it was asked for")
        length = answer.headers.get("Content-Length", "")
        size = int(part[2]) if part else int(length) if length.isdecimal() else None
        if self._size is not None and size != self._size:
            answer.close()
            raise ConnectionError("the file has another size than before")
        self._size = size
        if answer.status != 206:
            self._pass_over(answer)
        return answer

    def _pass_over(self, answer: HTTPResponse) -> None:
        """Read up to where we stood, if the server knows no ranges."""
        left = self._at
        while left:
            data = answer.read(min(left, _STEP))
            if not data:
                answer.close()
                raise ConnectionError("the answer ended too early")
            left -= len(data)


def news_files(base: str, month: str, user_agent: str, say: Callable[[str], None]) -> list[str]:
    """Return the addresses of the files of a month (``2026-11``), in their order.

    Raises :class:`RemoteFault` if the list cannot be had, is damaged, or names no file.
    """
    root = base.rstrip("/") + "/"
    url = f"{root}crawl-data/CC-NEWS/{month.replace('-', '/')}/warc.paths.gz"
    unpacker = zlib.decompressobj(wbits=31)
    text = b""
    with closing(RemoteFile(url, user_agent, say)) as file:
        try:
            while (piece := file.read(_STEP)) and len(text) <= MAX_LIST and not unpacker.eof:
                text += unpacker.decompress(piece, MAX_LIST + 1)
        except RemoteFault as fault:
            raise RemoteFault(f"{url}: {fault}", fault.status) from fault
        except zlib.error as error:
            raise RemoteFault(f"{url}: is not a list of files ({error})") from error
    if not unpacker.eof or len(text) > MAX_LIST:
        raise RemoteFault(f"{url}: the list is cut off or larger than {MAX_LIST // 2**20} MiB")
    lines = text.decode("ascii", "replace").split()
    names = list(dict.fromkeys(line for line in lines if _NAME.fullmatch(line)))
    if not names:
        raise RemoteFault(f"{url}: names no file of CC-NEWS")
    return [root + name for name in names]


def _reason(error: Exception) -> str:
    if isinstance(error, HTTPError):
        return f"the server answers {error.code}"
    cause: Any = error.reason if isinstance(error, URLError) else error
    return str(getattr(cause, "strerror", None) or cause or type(cause).__name__)
