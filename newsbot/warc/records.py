"""Builds WARC records as bytes (WARC 1.1, ISO 28500:2017)."""

from __future__ import annotations

import base64
import gzip
import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from http import HTTPStatus
from urllib.parse import urlsplit
from uuid import uuid4

from newsbot import __version__

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
    """One HTTP request and its response, as they were sent, but without transfer encoding."""

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


def packed_exchange(exchange: Exchange) -> bytes:
    """Return the ``response`` record and the ``request`` record, each as its own gzip member.

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
    # A body that the server has compressed hardly becomes smaller, so the fastest level is enough.
    encoded = any(name.lower() == b"content-encoding" for name, _ in exchange.answered)
    return packed(to_record(answer, headers), _LEVEL_PACKED if encoded else _LEVEL) + packed(
        to_record(_question_block(exchange), question)
    )


def packed_info(name: str, about: str) -> bytes:
    """Return the gzipped ``warcinfo`` record, which must be the first record of a file.

    ``name`` is the name of the file. ``about`` has more lines for the text of the record, each with CRLF at
    its end.
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
    """Return a record as its own gzip member.

    The member has no time of compression, so that equal records give equal bytes.
    """
    return gzip.compress(record, level, mtime=0)


def to_record(block: bytes, headers: Mapping[str, str]) -> bytes:
    """Return one uncompressed record with these headers and this block (ISO 28500:2017, section 4).

    The headers ``Content-Length`` and ``WARC-Block-Digest`` are added.
    """
    # The standard requires angle brackets around record ids. Since version 1.1, WARC-Target-URI has none.
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
    # A response with status 304 has no body. Its Content-Length would give the size of the unchanged page
    # (RFC 9110, 8.6).
    if exchange.body or exchange.status != HTTPStatus.NOT_MODIFIED:
        kept.append((b"Content-Length", str(len(exchange.body)).encode()))
    line = f"{_version(exchange)} {exchange.status} {phrase}".encode()
    return b"\r\n".join((line, *_lines(kept), b"", exchange.body))


def _question_block(exchange: Exchange) -> bytes:
    """Return the request with its request line and headers, but without passwords and cookies."""
    parts = urlsplit(exchange.url)
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    # The part before "@" is a user name and a password.
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
