"""HTTP/1.1 as the loopback server speaks it (RFC 9112), with conditional requests (RFC 9110)."""

from __future__ import annotations

import asyncio
import hashlib
import ssl
from collections.abc import Mapping
from email.utils import formatdate, parsedate_to_datetime
from http import HTTPStatus
from urllib.parse import urlsplit

from testbed.messages import Answer, Request

MAX_HEADERS = 100
MAX_BODY = 2**20


async def read_request(reader: asyncio.StreamReader) -> Request | None:
    """Read one request (RFC 9112); None at the end of the connection. Raises ``ValueError``."""
    line = await reader.readline()
    if not line.strip():
        return None
    method, target, _version = line.decode("latin-1").split(" ", 2)
    headers: dict[str, str] = {}
    while (row := await reader.readline()).strip():
        name, _, value = row.decode("latin-1").partition(":")
        headers[name.strip().lower()] = value.strip()
        if len(headers) > MAX_HEADERS:
            raise ValueError("too many header lines")
    length = int(headers.get("content-length") or 0)
    if not 0 <= length <= MAX_BODY:
        raise ValueError("request body too long")
    body = await reader.readexactly(length)
    if method == "CONNECT":
        return Request(method, target.rpartition(":")[0].lower(), "", headers)
    parts = urlsplit(target)
    host = (parts.netloc or headers.get("host", "")).lower().removesuffix(":80").removesuffix(":443")
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return Request(method, host, path, headers, body)


async def open_tunnel(writer: asyncio.StreamWriter, tls: ssl.SSLContext) -> None:
    """Answer CONNECT and start TLS with the certificate of the requested host."""
    writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
    await writer.drain()
    await writer.start_tls(tls)


def refuse_tunnel() -> Answer:
    """Return the answer to CONNECT if the server has no TLS."""
    return Answer(status=501, body=b"plain HTTP only\n", kind="tunnel", validators=False)


def with_validators(request: Request, answer: Answer) -> tuple[Answer, dict[str, str]]:
    """Add validators to a complete answer, or turn it into a 304 (RFC 9110, 13.1)."""
    headers = dict(answer.headers)
    if answer.status != 200 or answer.pieces is not None or not answer.validators:
        return answer, headers
    etag = headers.setdefault("ETag", f'"{hashlib.sha256(answer.body).hexdigest()[:20]}"')
    if answer.last_modified is not None:
        headers.setdefault("Last-Modified", formatdate(answer.last_modified, usegmt=True))
    if _is_unchanged(request.headers, etag, answer.last_modified):
        return Answer(status=304, kind=answer.kind), headers
    return answer, headers


def _is_unchanged(headers: Mapping[str, str], etag: str, last_modified: float | None) -> bool:
    known = headers.get("if-none-match")
    if known is not None:  # has precedence over If-Modified-Since
        tags = [tag.strip().removeprefix("W/") for tag in known.split(",")]
        return etag.removeprefix("W/") in tags or "*" in tags
    since = headers.get("if-modified-since")
    if since is None or last_modified is None:
        return False
    try:
        return int(last_modified) <= parsedate_to_datetime(since).timestamp()
    except ValueError:
        return False


async def send(
    request: Request, answer: Answer, headers: dict[str, str], writer: asyncio.StreamWriter
) -> bool:
    """Write an answer; False if the connection must be closed. A broken connection raises ``OSError``."""
    lines = {"Server": "newsbot-loopback", "Date": formatdate(usegmt=True), **headers}
    bare = request.method == "HEAD" or answer.status in (204, 304)
    if answer.pieces is not None:
        lines["Transfer-Encoding"] = "chunked"
    elif answer.status not in (204, 304):
        lines.setdefault("Content-Length", str(len(answer.body)))
    if request.method == "CONNECT":
        lines["Connection"] = "close"
    writer.write(_head(answer.status, lines))
    if bare:
        await writer.drain()
        return True
    if answer.pieces is not None:
        return await _send_pieces(answer, writer)
    writer.write(answer.body if answer.cut is None else answer.body[: answer.cut])
    await writer.drain()
    return answer.cut is None and lines.get("Connection") != "close"


def _head(status: int, lines: Mapping[str, str]) -> bytes:
    try:
        phrase = HTTPStatus(status).phrase
    except ValueError:
        phrase = "Unknown"
    rows = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
    return f"HTTP/1.1 {status} {phrase}\r\n{rows}\r\n".encode("latin-1")


async def _send_pieces(answer: Answer, writer: asyncio.StreamWriter) -> bool:
    sent = 0
    for piece in answer.pieces or ():
        if not piece:
            continue  # an empty chunk would end the body
        writer.write(b"%x\r\n%s\r\n" % (len(piece), piece))
        await writer.drain()
        sent += len(piece)
        if answer.cut is not None and sent >= answer.cut:
            return False
        await asyncio.sleep(answer.pause)
    writer.write(b"0\r\n\r\n")
    await writer.drain()
    return True
