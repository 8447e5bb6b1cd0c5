"""Reads WARC files over HTTP as streams, and short documents of archives with pauses between them. Also reads
the monthly file lists of Common Crawl's news data (CC-NEWS).

Files are not stored on disk. If a connection breaks, it is reopened at the same position with a Range request
(RFC 9110, section 14).
"""

from __future__ import annotations

import re
import time
import zlib
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass
from http.client import HTTPException, HTTPResponse
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

from newsbot.errors import NewsbotError

TRIES = 6
"""Maximum number of attempts for one read, including the first attempt."""
FIRST_WAIT = 2.0
"""Seconds before the second attempt. Each further wait is twice as long."""
TIMEOUT = 60.0
"""Seconds without data after which a connection counts as broken."""
LONGEST_WAIT = 600.0
"""Maximum number of seconds that an archive may ask to wait (Retry-After)."""
BUSY = frozenset((429, 500, 502, 503, 504))
"""HTTP statuses after which a request is repeated."""
MAX_LIST = 32 * 2**20
"""Maximum size in bytes of a decompressed file list. A month has about 500 files."""
_STEP = 1 << 16
_NAME = re.compile(r"crawl-data/CC-NEWS/[0-9]{4}/[0-9]{2}/[\w-][\w.-]*\.warc\.gz")
"""Matches a path of a WARC file.

Other paths in a list are ignored, so that a list cannot lead to other files.
"""
_RANGE = re.compile(r"bytes (\d+)-\d+/(\d+)")


class RemoteFault(NewsbotError):
    """A remote file cannot be read. ``str()`` returns the reason.

    ``status`` is the HTTP status of the last response if the response was an error, else 0.
    """

    def __init__(self, text: str, status: int = 0) -> None:
        super().__init__(text)
        self.status = status


class TooLargeFault(RemoteFault):
    """The response is larger than the caller wants."""


class RemoteFile:
    """A file at an HTTP(S) URL, read as a stream from any position.

    It has the interface of :class:`newsbot.apps.archive.reader.Stream`. ``say`` is called with one line of
    text before each retry. Nothing is requested before the first :meth:`read`.
    """

    def __init__(self, url: str, user_agent: str, say: Callable[[str], None]) -> None:
        self.url = url
        self._user_agent, self._say = user_agent, say
        self._at = 0
        self._size: int | None = None
        self._answer: HTTPResponse | None = None

    def seek(self, at: int) -> int:
        """Set and return the position of the next :meth:`read`, in bytes from the start of the file."""
        self.close()
        self._at = at
        return at

    def read(self, size: int) -> bytes:
        """Return up to ``size`` bytes. An empty result means the end of the file.

        The method blocks until there are data. Raises :class:`RemoteFault` after :data:`TRIES` failed
        attempts. The waiting time between attempts increases.
        """
        wait = FIRST_WAIT
        for left in reversed(range(TRIES)):
            try:
                return self._read(size)
            except (OSError, HTTPException) as error:  # HTTPError and URLError are OSErrors too
                # The position is unchanged, so the next attempt opens a connection at the same byte.
                self.close()
                text, status = _reason(error), error.code if isinstance(error, HTTPError) else 0
            if not left:
                break
            self._say(f"{self.url}: {text} at byte {self._at:,}; retrying in {wait:g} s")
            time.sleep(wait)
            wait *= 2
        raise RemoteFault(f"{text}; gave up after {TRIES} attempts", status)

    def close(self) -> None:
        """Close the connection if it is open. A later :meth:`read` opens a new connection."""
        if self._answer is not None:
            self._answer.close()
            self._answer = None

    def _read(self, size: int) -> bytes:
        """Make one attempt to read. Raises ``OSError`` or ``HTTPException``."""
        if self._size is not None and self._at >= self._size:
            return b""
        if self._answer is None:
            self._answer = self._opened()
            if self._answer is None:
                return b""
        data = self._answer.read(size)
        # If the server closes the connection early, http.client returns no data and does not raise. Only the
        # expected size shows that this is not the end of the file.
        if not data and self._size is not None:
            raise ConnectionError(f"the response ended {self._size - self._at:,} bytes too early")
        self._at += len(data)
        return data

    def _opened(self) -> HTTPResponse | None:
        """Request the file from the current position on, and return the response.

        Returns None if the position is at or after the end of the file.

        Raises ``OSError`` for network errors, error statuses, and responses that do not continue the file at
        the current position.
        """
        headers = {"User-Agent": self._user_agent} | ({"Range": f"bytes={self._at}-"} if self._at else {})
        try:
            request = Request(self.url, headers=headers)  # noqa: S310  # the setting allows http and https
            answer: HTTPResponse = urlopen(request, timeout=TIMEOUT)  # noqa: S310
        except HTTPError as error:
            error.close()
            if error.code == 416:  # Range Not Satisfiable: the position is at or after the end
                return None
            raise
        # A response with status 206 (Partial Content) must begin at the requested position. A proxy may send
        # another part from its cache.
        part = _RANGE.fullmatch(answer.headers.get("Content-Range", ""))
        if answer.status == 206 and (part is None or int(part[1]) != self._at):
            answer.close()
            raise ConnectionError("the server sent a different part of the file than requested")
        # Content-Range has the size of the whole file. In a response with status 206, Content-Length has only
        # the size of the part.
        length = answer.headers.get("Content-Length", "")
        size = int(part[2]) if part else int(length) if length.isdecimal() else None
        # The file may be replaced between two attempts. Parts of two different files must not be joined.
        if self._size is not None and size != self._size:
            answer.close()
            raise ConnectionError("the size of the file has changed")
        self._size = size
        if answer.status != 206:  # the server ignores Range and sends the whole file
            self._pass_over(answer)
        return answer

    def _pass_over(self, answer: HTTPResponse) -> None:
        """Read and drop the data before the current position, for servers without support for Range."""
        left = self._at
        while left:
            data = answer.read(min(left, _STEP))
            if not data:
                answer.close()
                raise ConnectionError("the response ended too early")
            left -= len(data)


@dataclass(frozen=True, slots=True)
class Answer:
    """A response with its headers by lower-case name."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class PacedClient:
    """Sends GET requests one after the other, with a pause of ``delay`` seconds between two to one host.

    ``say`` is called with one line of text before each retry.
    """

    def __init__(self, user_agent: str, delay: float, say: Callable[[str], None]) -> None:
        self._user_agent, self._delay, self._say = user_agent, delay, say
        self._next: dict[str, float] = {}
        """The earliest time of the next request, by host (monotonic)."""

    def get(self, url: str, most: int, headers: Mapping[str, str] | None = None) -> Answer:
        """Return the response, whose body may have at most ``most`` bytes.

        Raises :class:`RemoteFault` if the server cannot be reached or stays busy after :data:`TRIES`
        attempts, or if the body is larger.
        """
        wait, host = FIRST_WAIT, urlsplit(url).netloc
        for left in reversed(range(TRIES)):
            time.sleep(max(0.0, self._next.get(host, 0.0) - time.monotonic()))
            asked, status = 0.0, 0
            try:
                answer = self._get(url, most, headers or {})
                if answer.status not in BUSY:
                    return answer
                text, status = f"the server responded with status {answer.status}", answer.status
                after = answer.headers.get("retry-after", "")
                asked = min(float(after), LONGEST_WAIT) if after.isdecimal() else 0.0
            except (OSError, HTTPException) as error:
                text = _reason(error)
            finally:
                self._next[host] = time.monotonic() + self._delay
            if left:
                rest = max(wait, asked)
                self._say(f"{host}: {text}; retrying in {rest:g} s")
                time.sleep(rest)
                wait *= 2
        raise RemoteFault(f"{host}: {text}; gave up after {TRIES} attempts", status)

    def _get(self, url: str, most: int, headers: Mapping[str, str]) -> Answer:
        request = Request(url, headers={"User-Agent": self._user_agent, **headers})  # noqa: S310  # as above
        try:
            answer = urlopen(request, timeout=TIMEOUT)  # noqa: S310
        except HTTPError as error:
            answer = error
        with answer:
            body = answer.read(most + 1)
            found = {name.lower(): value for name, value in answer.headers.items()}
            status = int(answer.status)
        if len(body) > most:
            raise TooLargeFault(f"{urlsplit(url).netloc}: a response has more than {most >> 20} MiB")
        if found.get("content-length", "").isdecimal() and len(body) < int(found["content-length"]):
            raise ConnectionError("the response ended too early")
        return Answer(status, found, body)


def news_files(base: str, month: str, user_agent: str, say: Callable[[str], None]) -> list[str]:
    """Return the URLs of the WARC files of one month, in the order of the list and without duplicates.

    ``base`` is the URL of a copy of the data set, for example ``https://data.commoncrawl.org/``; ``month``
    has the form ``2026-11``. ``say`` is called with one line of text before each retry.

    Raises :class:`RemoteFault` if the list cannot be read, is damaged or too large, or contains no file.
    """
    root = base.rstrip("/") + "/"
    url = f"{root}crawl-data/CC-NEWS/{month.replace('-', '/')}/warc.paths.gz"
    unpacker = zlib.decompressobj(wbits=31)
    text = b""
    with closing(RemoteFile(url, user_agent, say)) as file:
        try:
            while (piece := file.read(_STEP)) and len(text) <= MAX_LIST and not unpacker.eof:
                # The size is limited, because a small file could unpack to gigabytes. One more byte than
                # allowed is read, so that the check below can see that the list is too large.
                text += unpacker.decompress(piece, MAX_LIST + 1)
        except RemoteFault as fault:  # its text does not contain the URL
            raise RemoteFault(f"{url}: {fault}", fault.status) from fault
        except zlib.error as error:
            raise RemoteFault(f"{url}: not a gzipped list of files ({error})") from error
    if not unpacker.eof or len(text) > MAX_LIST:
        raise RemoteFault(f"{url}: the list is incomplete or larger than {MAX_LIST // 2**20} MiB")
    lines = text.decode("ascii", "replace").split()
    names = list(dict.fromkeys(line for line in lines if _NAME.fullmatch(line)))
    if not names:
        raise RemoteFault(f"{url}: the list contains no file of CC-NEWS")
    return [root + name for name in names]


def _reason(error: Exception) -> str:
    """Return the reason for an error in a few words, for a message."""
    if isinstance(error, HTTPError):
        return f"the server responded with status {error.code}"
    # URLError holds the real error in ``reason``, which may also be a text.
    cause: Any = error.reason if isinstance(error, URLError) else error
    return str(getattr(cause, "strerror", None) or cause or type(cause).__name__)
