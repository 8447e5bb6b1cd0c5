"""Builds WARC records (WARC 1.1, ISO 28500:2017), and writes them into the files of a folder.

While a file is being written, its name ends in ``.open`` and the process holds a lock on it. Each record is
written with one system call, so a killed process usually leaves complete records. After a power failure, the
last record may be incomplete. The next process that opens the folder removes this record (:func:`recover`).
Other programs may read or delete only files that have their final name.

Each finished WARC file has an index with the same name and the suffix ``.cdxj``: a sorted line for each
response, with the place of its record. Source: CDXJ 0.1.0 (https://specs.webrecorder.net/cdxj/0.1.0/). The
keys are URLs in the form SURT (``org,example)/path``), in lower case.

A thread copies finished files and their indexes to an object store (NEWSBOT_WARC_S3). After a file was
copied, a small file beside it (``.copied``) names the folder in the store. Files without it are copied at the
next start, so a killed process, or a store that is away, loses no copy.
"""

from __future__ import annotations

import base64
import fcntl
import gzip
import hashlib
import json
import logging
import mmap
import os
import re
import socket
import threading
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from http import HTTPStatus
from io import FileIO
from pathlib import Path
from queue import SimpleQueue
from typing import BinaryIO
from urllib.parse import urlsplit
from uuid import uuid4

from newsbot import __version__
from newsbot.apps.archive.reader import Page, WarcFault, read_records
from newsbot.apps.outgoing import object_store

logger = logging.getLogger(__name__)

# The profile of a ``revisit`` record for a response with status 304 (ISO 28500:2017, 6.7.3).
NOT_MODIFIED = "http://netpreserve.org/warc/1.1/revisit/server-not-modified"
SECRET_HEADERS = frozenset((b"authorization", b"proxy-authorization", b"cookie"))
"""Request headers that are not written, because they contain passwords or sessions."""
_REFRAMED = frozenset((b"transfer-encoding", b"content-length", b"connection"))
"""Response headers that are not written, because the body is stored without chunks and in full."""
_LEVEL = 4
"""Compression level of zlib for data that are not compressed yet."""
_LEVEL_PACKED = 1
"""Compression level for data that are already compressed."""

Headers = Iterable[tuple[bytes, bytes]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """One HTTP request and its response, as they were sent, except that the transfer encoding is removed."""

    url: str
    at: datetime
    """Time of the request, with a time zone."""
    method: str
    asked: tuple[tuple[bytes, bytes], ...]
    """Request headers as pairs of name and value."""
    status: int
    protocol: str
    """The protocol version of the response, for example ``HTTP/1.1``."""
    answered: tuple[tuple[bytes, bytes], ...]
    """Response headers as pairs of name and value."""
    body: bytes
    """The response body with its content encoding (not decompressed)."""
    address: str = ""
    """IP address of the server; empty if unknown."""


def packed_records(exchange: Exchange) -> tuple[bytes, bytes]:
    """Return the ``response`` record and the ``request`` record, each as a separate gzip member.

    A response with status 304 becomes a ``revisit`` record.
    """
    answer_id, target = uuid4().urn, exchange.url
    answer = _answer_block(exchange)
    headers = {
        "WARC-Type": "response",
        "WARC-Record-ID": answer_id,
        "WARC-Date": warc_date(exchange.at),
        "WARC-Target-URI": target,
        "WARC-Payload-Digest": digest(exchange.body),
        "Content-Type": "application/http; msgtype=response",
    }
    if exchange.status == HTTPStatus.NOT_MODIFIED:
        # A 304 response has no body: the record refers to the body of an earlier visit (ISO 28500, 6.7).
        headers |= {"WARC-Type": "revisit", "WARC-Profile": NOT_MODIFIED}
    question = {
        "WARC-Type": "request",
        "WARC-Record-ID": uuid4().urn,
        "WARC-Date": warc_date(exchange.at),
        "WARC-Target-URI": target,
        "WARC-Concurrent-To": answer_id,
        "Content-Type": "application/http; msgtype=request",
    }
    if exchange.address:
        headers["WARC-IP-Address"] = question["WARC-IP-Address"] = exchange.address
    # A body that the server has already compressed hardly becomes smaller, so the fastest level is used.
    encoded = any(name.lower() == b"content-encoding" for name, _ in exchange.answered)
    response = packed(to_record(answer, headers), _LEVEL_PACKED if encoded else _LEVEL)
    return response, packed(to_record(_question_block(exchange), question))


def packed_info(name: str, about: str) -> bytes:
    """Return the gzipped ``warcinfo`` record, which must be the first record of a file.

    ``name`` is the name of the file. ``about`` has more lines for the text of the record. Each line ends with
    CRLF.
    """
    text = (
        f"software: newsbot/{__version__}\r\nformat: WARC File Format 1.1\r\n"
        f"conformsTo: http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/\r\n{about}"
    )
    headers = {
        "WARC-Type": "warcinfo",
        "WARC-Record-ID": uuid4().urn,
        "WARC-Date": warc_date(datetime.now(UTC)),
        "WARC-Filename": name,
        "Content-Type": "application/warc-fields",
    }
    return packed(to_record(text.encode("utf-8", "replace"), headers))


def packed(record: bytes, level: int = _LEVEL) -> bytes:
    """Return a record as a separate gzip member.

    The member does not contain the time of compression, so that equal records result in equal bytes.
    """
    return gzip.compress(record, level, mtime=0)


def to_record(block: bytes, headers: Mapping[str, str]) -> bytes:
    """Return one uncompressed record with these headers and this block (ISO 28500:2017, section 4).

    The headers ``Content-Length`` and ``WARC-Block-Digest`` are added.
    """
    # The standard requires angle brackets around record ids. Since version 1.1, WARC-Target-URI has no angle
    # brackets.
    lines = {name: f"<{value}>" if value.startswith("urn:") else value for name, value in headers.items()} | {
        "WARC-Block-Digest": digest(block),
        "Content-Length": str(len(block)),
    }
    head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
    return f"WARC/1.1\r\n{head}\r\n".encode() + block + b"\r\n\r\n"


def digest(data: bytes) -> str:
    """Return the SHA-1 digest of a block or payload in the form of WARC files: ``sha1:`` and base 32."""
    return "sha1:" + base64.b32encode(hashlib.sha1(data, usedforsecurity=False).digest()).decode()


def warc_date(moment: datetime) -> str:
    """Return a time in the format of WARC records: UTC, in whole seconds."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _answer_block(exchange: Exchange) -> bytes:
    """Return the response with its status line, headers and body."""
    try:
        phrase = HTTPStatus(exchange.status).phrase
    except ValueError:
        phrase = "Unknown"
    kept = [(name, value) for name, value in exchange.answered if name.lower() not in _REFRAMED]
    # A response with status 304 has no body. Its Content-Length would state the size of the unchanged page
    # (RFC 9110, 8.6).
    if exchange.body or exchange.status != HTTPStatus.NOT_MODIFIED:
        kept.append((b"Content-Length", str(len(exchange.body)).encode()))
    line = f"{_version(exchange)} {exchange.status} {phrase}".encode()
    return b"\r\n".join((line, *_lines(kept), b"", exchange.body))


def _question_block(exchange: Exchange) -> bytes:
    """Return the request with its request line and headers, but without passwords and cookies."""
    parts = urlsplit(exchange.url)
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    # The part before "@" is a user name and a password, which are removed.
    host = parts.netloc.rpartition("@")[2].encode("ascii", "replace")
    kept = [(name, value) for name, value in exchange.asked if name.lower() not in SECRET_HEADERS]
    if not any(name.lower() == b"host" for name, _ in kept):
        kept.insert(0, (b"Host", host))
    line = f"{exchange.method} {path} {_version(exchange)}".encode("ascii", "replace")
    return b"\r\n".join((line, *_lines(kept), b"", b""))


def _version(exchange: Exchange) -> str:
    """Return the protocol version to record. HTTP/2 is recorded as HTTP/1.1, which readers can parse."""
    return exchange.protocol if exchange.protocol in ("HTTP/1.0", "HTTP/1.1") else "HTTP/1.1"


def _lines(headers: Headers) -> Iterable[bytes]:
    """Yield header lines. Line ends in values become spaces, so that no value can add a header."""
    return (name + b": " + value.replace(b"\r", b" ").replace(b"\n", b" ") for name, value in headers)


SUFFIX = ".warc.gz"
OPEN = ".open"
_MEMBER = b"\x1f\x8b\x08\x00\x00\x00\x00\x00"
"""The first bytes of each gzip member that newsbot writes. They mean: method deflate, no flags, no time."""
_BACK = 1 << 20
"""Number of bytes that are read in each step of the search for a file's last complete record."""
_FARTHEST = 1 << 28
"""Maximum number of bytes at the end of a file that are searched. Records of newsbot are shorter."""


class WarcFolder:
    """Writes records into files of a folder.

    A new file is begun when the current file has at least ``max_size`` bytes, so files are slightly larger
    than ``max_size``. ``about`` is added to the ``warcinfo`` record of each file. It consists of lines that
    end with CRLF.
    """

    def __init__(
        self, folder: Path, *, max_size: int, about: str = "", finished: Callable[[Path], None] | None = None
    ) -> None:
        """Create the folder if necessary, and recover the files of dead processes. Raises ``OSError``.

        ``finished`` is called with the path of each file that gets its final name.
        """
        self.folder = folder
        self._max_size = max_size
        self._about = about
        self._file: FileIO | None = None
        self._size = 0
        self._number = 0
        self._finished = finished or (lambda _path: None)
        folder.mkdir(parents=True, exist_ok=True)
        for path in recover(folder):
            self._finished(path)

    def write(self, records: bytes) -> tuple[str, int]:
        """Append complete gzipped records, which stay together in one file.

        Return the final name of the file, and the offset of the first record in bytes. Raises ``OSError``,
        for example if the disk is full. In this case nothing was written.
        """
        if self._file is None or self._size >= self._max_size:
            self._next()
        assert self._file is not None
        offset = self._size
        self._append(records)
        return Path(str(self._file.name)).name.removesuffix(OPEN), offset

    def close(self) -> None:
        """Flush the open file to disk and give it its final name. Raises ``OSError``."""
        file, self._file = self._file, None
        if file is None:
            return
        path = Path(str(file.name))
        with file:
            # The data must be on disk before the rename, because a file with its final name must contain only
            # complete records.
            os.fsync(file.fileno())
            final = path.rename(path.with_name(path.name.removesuffix(OPEN)))
        self._finished(final)

    def _next(self) -> None:
        """Close the current file and begin the next one with its ``warcinfo`` record."""
        self.close()
        name = self._name()
        while (self.folder / name).exists():  # of an earlier crawl of this process, in the same second
            self._number += 1
            name = self._name()
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

    def _name(self) -> str:
        return f"newsbot-{datetime.now(UTC):%Y%m%d%H%M%S}-{self._number:05}-{_host()}-{os.getpid()}{SUFFIX}"

    def _append(self, records: bytes) -> None:
        file, left = self._file, memoryview(records)
        assert file is not None
        try:
            while left:
                # An unbuffered write may write only part of the data.
                left = left[file.write(left) :]
        except BaseException:
            file.truncate(self._size)  # readers would fail at a partial record
            file.seek(self._size)
            raise
        self._size += len(records)


def recover(folder: Path) -> list[Path]:
    """Finish the files of dead processes: remove incomplete records, and rename the files to their final
    names.

    Returns the new paths. Files that a running process writes are not touched, and files without a complete
    record are deleted. Raises ``OSError``.
    """
    found = []
    for path in sorted(folder.glob(f"*{SUFFIX}{OPEN}")):
        try:
            file = path.open("r+b")
        except FileNotFoundError:  # another process has already renamed or deleted it
            continue
        with file:
            try:
                # The kernel releases the locks of a process that ends. So this call fails only if the process
                # is still running.
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:  # a running process writes to it
                continue
            file.truncate(whole_size(file))
            if not file.seek(0, os.SEEK_END):
                path.unlink(missing_ok=True)
                continue
            final = path.with_name(path.name.removesuffix(OPEN))
            with suppress(FileNotFoundError):  # another process has renamed it in the meantime
                path.rename(final)
                found.append(final)
    return found


def whole_size(file: BinaryIO) -> int:
    """Return the size in bytes of the complete records at the start of a file written by newsbot.

    The search for the last complete gzip member starts at the end of the file, so only the last part is read.
    If no member is found within :data:`_FARTHEST` bytes, the size of the file is returned.
    """
    end = file.seek(0, os.SEEK_END)
    start = end
    tail = b""
    while start > 0:
        step = min(_BACK, start)
        start -= step
        file.seek(start)
        tail = file.read(step) + tail
        # The pieces overlap slightly, because a member's first bytes may be at the end of one piece and the
        # beginning of the next.
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
            # The output is dropped. Its size is limited so that a large record does not fill the memory.
            out = unpacker.decompress(left, _BACK)
            if first and not out.startswith(b"WARC/1."):
                return None
            first, left = False, unpacker.unconsumed_tail
    except zlib.error:
        return None
    return len(data) - len(unpacker.unused_data) if unpacker.eof else None


def _host() -> str:
    """Return the name of this machine, reduced to characters that are safe in a file name."""
    return re.sub(r"[^A-Za-z0-9]+", "-", socket.gethostname())[:40] or "host"


INDEX = ".cdxj"
MAX_BODY = 16 * 2**20
"""Maximum size in bytes of a page that is read from the archive."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where the archived response of a URL is."""

    url: str
    moment: str
    """Time of the request as 14 digits, in UTC."""
    status: int
    path: Path
    offset: int
    fields: Mapping[str, str]
    """All fields of the line."""


def surt(url: str) -> str:
    """Return a URL as a key: the host with its labels reversed, then path and query, in lower case."""
    parts = urlsplit(url)
    host = ",".join(reversed((parts.hostname or "").removeprefix("www.").split(".")))
    port = f":{parts.port}" if parts.port and parts.port not in (80, 443) else ""
    query = f"?{parts.query}" if parts.query else ""
    return f"{host}{port}){parts.path or '/'}{query}".lower()


def line_of(exchange: Exchange, filename: str, offset: int, length: int) -> str:
    """Return the line of a response whose record has this place in a file."""
    headers = {name.lower(): value for name, value in exchange.answered}
    mime = headers.get(b"content-type", b"").decode("latin-1").partition(";")[0].strip() or "unk"
    fields = {"mime": mime, "status": str(exchange.status), "digest": digest(exchange.body)}
    place = {"length": str(length), "offset": str(offset), "filename": filename}
    return cdxj_line(exchange.url, _digits(warc_date(exchange.at)), fields | place)


def write_index(path: Path, lines: Iterable[str]) -> None:
    """Write the index of a finished WARC file. Raises ``OSError``."""
    part = path.with_name(f"{path.name}{INDEX}.part")
    with part.open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(f"{line}\n" for line in sorted(lines))
        file.flush()
        os.fsync(file.fileno())
    part.replace(path.with_name(path.name + INDEX))


def lines_in(path: Path) -> Iterator[str]:
    """Yield the lines of a WARC file, read from its records. A damaged end of the file is ignored."""
    name = path.name.removesuffix(OPEN)
    for page, start, end in _pages(path):
        if page.body is None:
            continue
        moment = "" if page.at is None else page.at.strftime("%Y%m%d%H%M%S")
        mime = page.headers.get("content-type", "").partition(";")[0].strip() or "unk"
        fields = {"mime": mime, "status": str(page.status)}
        place = {"length": str(end - start), "offset": str(start), "filename": name}
        yield cdxj_line(page.url, moment, fields | place)


def latest(folder: Path, url: str, known: Mapping[str, Sequence[Place]] | None = None) -> Place | None:
    """Return the place of the newest archived page of a URL, or None.

    Files without an index are searched record by record: those that a crawl writes at this moment. ``known``
    is what :func:`unindexed` has found in them. Raises ``OSError``.
    """
    found = [*_indexed(folder, url), *(unindexed(folder) if known is None else known).get(url, ())]
    good = [one for one in found if one.status == 200] or found
    return max(good, key=lambda one: one.moment, default=None)


def unindexed(folder: Path) -> dict[str, list[Place]]:
    """Return the places in files without an index, by URL. Raises ``OSError``."""
    found: dict[str, list[Place]] = {}
    for path in sorted([*folder.glob(f"*{SUFFIX}"), *folder.glob(f"*{SUFFIX}{OPEN}")]):
        if not path.with_name(path.name + INDEX).exists():
            for line in lines_in(path):
                if (place := _place(line, folder)) is not None:
                    found.setdefault(place.url, []).append(place)
    return found


def page_at(place: Place) -> Page | None:
    """Return the archived page at a place; None if it cannot be read. Raises ``OSError``."""
    with place.path.open("rb") as file:
        try:
            record = next(read_records(file, start=place.offset, max_body=MAX_BODY), None)
        except WarcFault:
            return None
    return None if record is None else record.page


def _indexed(folder: Path, url: str) -> Iterator[Place]:
    key = f"{surt(url)} ".encode()
    for index in sorted(folder.glob(f"*{SUFFIX}{INDEX}")):
        if not index.stat().st_size:
            continue
        with index.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as lines:
            at = _first(lines, key)
            while at < len(lines) and lines[at : at + len(key)] == key:
                end = lines.find(b"\n", at)
                end = len(lines) if end < 0 else end
                place = _place(lines[at:end].decode("utf-8", "replace"), folder)
                if place is not None and place.url == url:
                    yield place
                at = end + 1


def _first(lines: mmap.mmap, key: bytes) -> int:
    """Return the offset of the first line that is not before ``key`` (binary search)."""
    low, high = 0, len(lines)
    while low < high:
        middle = (low + high) // 2
        start = lines.rfind(b"\n", 0, middle) + 1
        end = lines.find(b"\n", middle)
        end = len(lines) if end < 0 else end
        if lines[start:end] < key:
            low = end + 1
        else:
            high = start
    return low


def _place(line: str, folder: Path) -> Place | None:
    """Return the place in a line of an index; None if its file no longer exists, or the line is damaged."""
    try:
        _, moment, document = line.split(" ", 2)
        fields = json.loads(document)
        url, status, offset = str(fields["url"]), int(fields["status"]), int(fields["offset"])
        file = str(fields["filename"])
    except (ValueError, LookupError, TypeError, RecursionError):
        return None
    if offset < 0 or file != Path(file).name:
        return None
    for name in (file, file + OPEN):
        if (path := folder / name).exists():
            return Place(url, moment, status, path, offset, fields)
    return None


def _pages(path: Path) -> Iterator[tuple[Page, int, int]]:
    """Yield the pages of a file, with the offsets of their records and of the next records."""
    start = 0
    with path.open("rb") as file:
        try:
            for record in read_records(file, max_body=MAX_BODY):
                if record.end is None:  # several records share a gzip member: no record can be found again
                    return
                if record.page is not None and record.kind == "response":
                    yield record.page, start, record.end
                start = record.end
        except WarcFault:
            return


def cdxj_line(url: str, moment: str, fields: Mapping[str, str]) -> str:
    """Return a line of an index."""
    return f"{surt(url)} {moment} {json.dumps({**fields, 'url': url})}"


def _digits(date: str) -> str:
    return "".join(sign for sign in date if sign.isdigit())


COPIED = ".copied"
UPLOAD_TIMEOUT = 60.0
"""Seconds to wait for a response of the store, and for the last copies at the end of a crawl."""
_PIECE = 8 * 2**20


class Uploads:
    """Copies files to ``address``. Raises :class:`newsbot.errors.UserError` if it is not valid."""

    def __init__(self, address: str) -> None:
        self._store, self._folder = object_store(address, "NEWSBOT_WARC_S3", patience=UPLOAD_TIMEOUT)
        self._waiting: SimpleQueue[Path | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="warc uploads", daemon=True)
        self._fault = ""

    def start(self, folder: Path) -> None:
        """Start the thread, with the finished files of a folder."""
        for path in sorted(folder.glob(f"*{SUFFIX}")):
            self.add(path)
        self._thread.start()

    def add(self, path: Path) -> None:
        """Let the thread copy a finished file and its index."""
        self._waiting.put(path)

    def close(self) -> None:
        """Wait for the copies. What is not copied in time is copied at the next start."""
        self._waiting.put(None)
        self._thread.join(UPLOAD_TIMEOUT)
        if self._thread.is_alive():
            logger.error("archive files are not copied yet bucket=%s; the next crawl goes on", self._folder)

    def has(self, path: Path) -> bool:
        """Return True if a file was copied to this folder of the store. Raises ``OSError``."""
        mark = path.with_name(path.name + COPIED)
        return mark.exists() and mark.read_text(encoding="utf-8") == self._folder

    def _run(self) -> None:
        while (path := self._waiting.get()) is not None:
            try:
                if not self.has(path):
                    self._copy(path)
                self._fault = ""
            except Exception as error:  # noqa: BLE001  (pyarrow raises errors of its own)
                fault = " ".join(str(error).split())[:300]
                if fault != self._fault:
                    logger.error(
                        "archive file not copied file=%s fault=%s; it is tried at the next start",
                        path.name,
                        fault,
                    )
                self._fault = fault

    def _copy(self, path: Path) -> None:
        for one in (path, path.with_name(path.name + INDEX)):
            if one.exists():
                place = f"{self._folder}/{one.name}"
                with one.open("rb") as file, self._store.open_output_stream(place) as target:
                    while piece := file.read(_PIECE):
                        target.write(piece)
        path.with_name(path.name + COPIED).write_text(self._folder, encoding="utf-8")
