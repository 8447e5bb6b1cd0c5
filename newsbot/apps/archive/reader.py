"""Reads WARC files of other programs, such as CC-NEWS, with limited memory.

The formats are WARC 1.0 and 1.1, either uncompressed or with each record as a separate gzip member. The size
of lines, headers and bodies is limited. Compressed data are decompressed only up to the limit, and the rest
is skipped.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Protocol

from newsbot.errors import NewsbotError
from newsbot.pages.text.codings import CodingError, TooLargeError, decoded

MAX_LINE = 16 * 1024
"""Maximum number of bytes of a header line."""
MAX_HEADERS = 128 * 1024
"""Maximum total size in bytes of the headers of a record, and of the HTTP headers in the record."""
_CHUNK = 64 * 1024
"""Maximum number of bytes that are read from a file, or decompressed, at a time."""
_GZIP = b"\x1f\x8b"
_PLACE = re.compile(rb"\x1f\x8b\x08|WARC/1\.\d\r?\n[A-Za-z][A-Za-z-]{1,40}:")
"""Matches the beginning of a gzip member, and of a record that is not compressed."""
_ENOUGH = 512
"""Number of bytes at the start of a gzip member that show whether the member contains a record."""
_Headers = dict[str, str]


class Stream(Protocol):
    """A file to read. Files that are opened in binary mode have this interface."""

    def seek(self, at: int, /) -> int:
        """Set the position of the next :meth:`read`, in bytes from the start."""

    def read(self, size: int, /) -> bytes:
        """Return up to ``size`` bytes. An empty result means the end of the file."""


class WarcFault(NewsbotError):
    """The data are damaged or not in the WARC format. ``str()`` returns the reason."""


@dataclass(frozen=True, slots=True)
class Page:
    """One archived response."""

    url: str
    at: datetime | None
    """Time of the download, in UTC; None if the record has no valid date."""
    status: int
    headers: Mapping[str, str]
    """HTTP headers by lower-case name. If a header is repeated, the last value is used."""
    body: bytes | None
    """The body without transfer and content encodings; None if it is larger than allowed."""


@dataclass(frozen=True, slots=True)
class WarcRecord:
    """One record of a WARC file."""

    kind: str
    """The value of ``WARC-Type``, for example ``response`` or ``warcinfo``."""
    page: Page | None
    """The archived response; None for other kinds of records."""
    end: int | None
    """Offset in bytes of the next record in the file.

    None if reading cannot start there because several records share a gzip member.
    """


def read_records(stream: Stream, *, start: int = 0, max_body: int) -> Iterator[WarcRecord]:
    """Yield the records of a file from the offset ``start`` on.

    ``start`` must be 0 or the ``end`` of a record. ``max_body`` is the maximum size of a body in bytes, both
    compressed and decompressed. Larger bodies are skipped (:attr:`Page.body` is None).

    Raises :class:`WarcFault` for damaged data. If a file is incomplete, all complete records are yielded
    first. Errors of the stream, for example ``OSError``, are not converted.
    """
    source = _Source(stream, start)
    while (headers := _head(source)) is not None:
        kind = headers.get("warc-type", "")
        length = _length(headers)
        page = None
        if kind == "response" and headers.get("content-type", "").startswith("application/http"):
            # A block that is larger than both limits together has a body above its limit. The rest of such a
            # block is skipped, so it needs no memory.
            block = source.read(min(length, max_body + MAX_HEADERS))
            source.skip(length - len(block))
            page = _page(headers, block, whole=length == len(block), max_body=max_body)
        else:
            source.skip(length)
        source.skip_blank()
        yield WarcRecord(kind, page, source.boundary)


def next_record(stream: Stream, start: int) -> int | None:
    """Return the offset of the next record at or after ``start``, or None if there is none.

    It is used to continue after a damaged record.
    """
    stream.seek(start)
    data = b""
    while True:
        piece = stream.read(_CHUNK)
        data += piece
        # Compressed data may contain the first three bytes of a member by chance, so each place is tested. If
        # the place is followed by fewer than _ENOUGH bytes, it is tested with the next piece.
        for place in _PLACE.finditer(data):
            at = place.start()
            if at + _ENOUGH > len(data) and piece:
                break
            if not place[0].startswith(_GZIP) or _begins_record(data[at : at + _ENOUGH]):
                return start + at
        if not piece:
            return None
        # The last bytes are kept, because a member may begin in them.
        passed = max(0, len(data) - _ENOUGH)
        start, data = start + passed, data[passed:]


def _begins_record(data: bytes) -> bool:
    try:
        return zlib.decompressobj(wbits=31).decompress(data, 16).startswith(b"WARC/1.")
    except zlib.error:
        return False


class _Source:
    """Reads the decompressed bytes of a file, and records the offsets at which gzip members end."""

    # Data flow: _stream -> _input (bytes as stored) -> _unpacker -> _buffer (decompressed, not yet returned).

    def __init__(self, stream: Stream, start: int) -> None:
        self._stream = stream
        stream.seek(start)
        self._input = stream.read(_CHUNK)
        self._read = start + len(self._input)
        self._packed = self._input.startswith(_GZIP)
        self._unpacker: zlib._Decompress | None = None
        self._buffer = b""

    @property
    def boundary(self) -> int | None:
        """Offset in the file of the next byte that will be returned; None inside a gzip member.

        After :meth:`skip_blank`, it is the offset of the next record.
        """
        if not self._packed:
            # The data are not compressed. The position of the stream is after the bytes that were read but
            # not returned yet, so their number is subtracted.
            return self._read - len(self._input) - len(self._buffer)
        between = self._unpacker is None and not self._buffer
        return self._read - len(self._input) if between else None

    def line(self) -> bytes:
        """Return the next line with its line end, or the rest of the file if there is no further line end.

        Raises :class:`WarcFault` if the line is too long.
        """
        while (at := self._buffer.find(b"\n")) < 0:
            if len(self._buffer) > MAX_LINE:
                raise WarcFault("a header line has no end")
            if not self._fill():
                at = len(self._buffer) - 1
                break
        line, self._buffer = self._buffer[: at + 1], self._buffer[at + 1 :]
        return line

    def read(self, size: int) -> bytes:
        """Return exactly ``size`` bytes. Raises :class:`WarcFault` if there are fewer bytes."""
        parts, left = [], size
        while left:
            if not self._buffer and not self._fill():
                raise WarcFault("the file is cut off")
            part, self._buffer = self._buffer[:left], self._buffer[left:]
            parts.append(part)
            left -= len(part)
        return b"".join(parts)

    def skip(self, size: int) -> None:
        """Skip ``size`` bytes. Raises :class:`WarcFault` if there are fewer bytes."""
        while size > 0:
            size -= len(self.read(min(size, _CHUNK)))

    def skip_blank(self) -> None:
        """Skip the line ends after a record, to the end of its gzip member."""
        while True:
            # The standard requires two line ends after a record. Some programs write more or fewer.
            self._buffer = self._buffer.lstrip(b"\r\n")
            # Reading stops at the end of the member. Otherwise the next member would be opened, and its
            # offset would be lost.
            member_ended = self._packed and self._unpacker is None
            if self._buffer or member_ended or not self._fill():
                return

    def _fill(self) -> bool:
        """Add data to the buffer. Returns False at the end of the file, otherwise True.

        The result is True even if a gzip member has ended without new data. Raises :class:`WarcFault` if the
        file ends within a member, or if the data are damaged.
        """
        while True:
            if not self._input:
                self._input = self._stream.read(_CHUNK)
                self._read += len(self._input)
                if not self._input:
                    if self._unpacker is not None:
                        raise WarcFault("the file is cut off")
                    return False
            if not self._packed:
                self._buffer, self._input = self._buffer + self._input, b""
                return True
            if self._unpack():
                return True

    def _unpack(self) -> bool:
        """Decompress one piece of a gzip member. Returns True if there were data or the member ended."""
        if self._unpacker is None:
            self._input = self._input.lstrip(b"\0")  # padding between members
            if not self._input:
                return False
            self._unpacker = zlib.decompressobj(wbits=31)  # 31: gzip header and checksum are required
        try:
            piece = self._unpacker.decompress(self._input, _CHUNK)
        except zlib.error as error:
            raise WarcFault(f"a record is damaged ({error})") from error
        # Each call returns at most _CHUNK bytes, so that a small input that unpacks to gigabytes does not
        # fill the memory.
        if self._unpacker.eof:
            self._input = self._unpacker.unused_data
            self._unpacker = None
        else:
            self._input = self._unpacker.unconsumed_tail
        self._buffer += piece
        return bool(piece) or self._unpacker is None


def _head(source: _Source) -> _Headers | None:
    """Return the headers of the next record by lower-case name, or None at the end of the file."""
    blanks = 0
    # If reading started after a record, line ends of that record can remain. Their number is limited, so that
    # a file that has only line ends is not read to its end.
    while (line := source.line()) in (b"\r\n", b"\n"):
        blanks += 1
        if blanks > MAX_LINE:
            raise WarcFault("a record does not begin")
    if not line:
        return None
    if not line.startswith(b"WARC/1."):
        begin = repr(line[:30].decode()) if line.isascii() else f"the bytes {line[:8].hex(' ')}"
        raise WarcFault(f"expected a WARC record, found {begin}")
    lines, size = [], 0
    while (line := source.line()) not in (b"\r\n", b"\n"):
        if not line:
            raise WarcFault("the file is cut off")
        size += len(line)
        if size > MAX_HEADERS:
            raise WarcFault("the headers of a record have no end")
        lines.append(line)
    return _headers(lines)


def _headers(lines: list[bytes]) -> _Headers:
    """Return the values of header lines by lower-case name. Lines without a colon are ignored."""
    found: _Headers = {}
    for line in lines:
        name, colon, value = line.decode("utf-8", "replace").partition(":")
        if colon:
            found[name.strip().lower()] = value.strip()
    return found


def _length(headers: _Headers) -> int:
    """Return the length of a record's block in bytes. Raises :class:`WarcFault` if it is not a number."""
    text = headers.get("content-length", "")
    if not text.isascii() or not text.isdecimal() or len(text) > 15:
        raise WarcFault(f"a record has no valid Content-Length: {text[:40]!r}")
    return int(text)


def _page(headers: _Headers, block: bytes, *, whole: bool, max_body: int) -> Page | None:
    """Return the HTTP response in the block of a record, or None if the block is not an HTTP response.

    ``headers`` has the headers of the record. ``whole`` is False if only the beginning of the block was read.
    """
    head, gap, body = block.partition(b"\r\n\r\n")
    if not gap:  # some programs write bare line feeds
        head, gap, body = block.partition(b"\n\n")
    lines = head[:MAX_HEADERS].splitlines()
    words = lines[0].split(None, 2) if lines else []
    if len(words) < 2 or not words[0].startswith(b"HTTP/") or not words[1].isdigit():
        return None
    http_headers = _headers(lines[1:])
    kept = plain_body(http_headers, body, max_body) if whole and len(body) <= max_body else None
    # In the grammar of WARC 1.0, the URI is in angle brackets, and some programs write these brackets.
    url = headers.get("warc-target-uri", "").strip("<>")
    return Page(url, _date(headers.get("warc-date", "")), int(words[1][:3]), http_headers, kept)


def plain_body(headers: Mapping[str, str], body: bytes, max_body: int) -> bytes | None:
    """Return a body without its transfer and content encodings, or None if it is larger than ``max_body``.

    Some archives remove an encoding but keep its header. Therefore a body that cannot be decoded is returned
    unchanged.
    """
    if "chunked" in headers.get("transfer-encoding", "").lower():
        joined = _unchunked(body)
        body = body if joined is None else joined
    if "content-encoding" in headers:
        try:
            body = decoded(body, headers["content-encoding"], max_body)
        except TooLargeError:
            return None
        except CodingError:
            return body
    return body if len(body) <= max_body else None


def _unchunked(body: bytes) -> bytes | None:
    """Return the joined chunks of a chunked body (RFC 9112, 7.1), or None if the body is not chunked."""
    parts: list[bytes] = []
    at = 0
    while True:
        end = body.find(b"\r\n", at, at + 1024)
        digits = body[at:end].partition(b";")[0].strip() if end >= 0 else b""
        try:
            size = int(digits, 16) if len(digits) <= 8 else -1
        except ValueError:
            return None
        # int() accepts a sign, which is not allowed here. A chunk cannot be larger than the rest of the body.
        if size < 0 or digits[:1] in (b"+", b"-") or end + 2 + size > len(body):
            return None
        if size == 0:
            return b"".join(parts)
        parts.append(body[end + 2 : end + 2 + size])
        at = end + 2 + size + 2  # there is a line end before and after the data of a chunk


def _date(text: str) -> datetime | None:
    """Return the UTC time for a date in ISO 8601, or None if the date is not valid."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
