"""Removes the content codings of bodies: gzip, deflate, Brotli and Zstandard.

The header ``Content-Encoding`` is often wrong. So the bytes decide where they can: gzip and Zstandard have
marks, and a body that a decoder refuses is not packed with it.
"""

from __future__ import annotations

import sys
import zlib
from collections.abc import Callable, Iterator
from io import BytesIO
from itertools import chain

import brotli  # type: ignore[import-untyped]

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

_MAGIC = b"\x1f\x8b"
_ZSTD = b"\x28\xb5\x2f\xfd"
_PIECE = 1 << 18
_MAX_MEMBERS = 1000
_MOST_LAYERS = 3
"""Maximum number of codings of one body. A front server may compress a file that is already compressed."""
_CONTROL = bytes(set(range(32)) - {9, 10, 12, 13, 27})


class CodingError(ValueError):
    """Raised if a body is neither text nor packed with a declared coding."""


class TooLargeError(ValueError):
    """Raised if an unpacked body exceeds the limit."""


def decoded(body: bytes, declared: str, limit: int) -> bytes:
    """Return ``body`` without its content codings. The result is unchanged if it has none.

    ``declared`` is the value of ``Content-Encoding``. Unknown codings are ignored. If a packed body is cut
    off, its readable part is returned. Raises :class:`TooLargeError` if the result is longer than ``limit``
    (0: no limit), and :class:`CodingError` if the body is broken.
    """
    codings = [coding.strip().lower() for coding in declared.split(",")]
    for _layer in range(_MOST_LAYERS):
        coding = _shown(body) or (codings.pop() if codings else "")
        opened = _OPENERS[coding](body) if coding in _OPENERS else iter(())
        first = _first(opened)
        if first:
            body = _joined(chain((first,), opened), limit)
        elif coding in _OPENERS and _is_binary(body):
            raise CodingError(f"the body is not {coding}")
        elif not codings:
            break
    return body


def _shown(body: bytes) -> str:
    """Return the coding that the first bytes show. The result is empty if they show none."""
    if is_gzip(body):
        return "gzip"
    if body.startswith(_ZSTD):
        return "zstd"
    # The header of zlib with the usual size of the window (RFC 1950)
    is_zlib = body.startswith(b"x") and int.from_bytes(body[:2], "big") % 31 == 0 and _is_binary(body)
    return "deflate" if is_zlib else ""


def _first(pieces: Iterator[bytes]) -> bytes:
    try:
        return next(pieces, b"")
    except (ValueError, zlib.error, brotli.error, zstd.ZstdError, EOFError):
        return b""


def _joined(pieces: Iterator[bytes], limit: int) -> bytes:
    parts: list[bytes] = []
    total = 0
    try:
        for piece in pieces:
            parts.append(piece)
            total += len(piece)
            if limit and total > limit:
                raise TooLargeError(f"more than {limit} bytes when decompressed")
    except (zlib.error, brotli.error, zstd.ZstdError, EOFError):
        pass  # the readable part is kept
    return b"".join(parts)


def _is_binary(body: bytes) -> bool:
    start = body[:512]
    return (len(start) - len(start.translate(None, _CONTROL))) * 20 > len(start)


def _inflated(body: bytes) -> Iterator[bytes]:
    # RFC 9110, 8.4.1.2: "deflate" is the zlib format. Some servers send raw deflate data.
    for wbits in (zlib.MAX_WBITS, -zlib.MAX_WBITS):
        try:
            zlib.decompressobj(wbits).decompress(body, 1)
        except zlib.error:
            continue
        return _pieces(zlib.decompressobj(wbits), body)
    return iter(())


def _pieces(unpacker: zlib._Decompress, source: bytes) -> Iterator[bytes]:
    while source and not unpacker.eof and (piece := unpacker.decompress(source, _PIECE)):
        yield piece
        source = unpacker.unconsumed_tail


def _unbrotlied(body: bytes) -> Iterator[bytes]:
    unpacker = brotli.Decompressor()
    piece = unpacker.process(body, output_buffer_limit=_PIECE)
    while piece:
        yield piece
        if unpacker.is_finished():
            return
        piece = unpacker.process(b"", output_buffer_limit=_PIECE)


def _unzstded(body: bytes) -> Iterator[bytes]:
    file = zstd.ZstdFile(BytesIO(body))
    while piece := file.read1(_PIECE):
        yield piece


def is_gzip(body: bytes) -> bool:
    """Return True if ``body`` begins like a gzip file (RFC 1952). File names and HTTP headers are often
    wrong."""
    return body.startswith(_MAGIC)


def unpacked(body: bytes, limit: int) -> Iterator[bytes]:
    """Yield ``body`` in pieces, unpacked if it is gzip, and unpacked twice if the content is gzip again.

    All pieces together have at most ``limit`` bytes. If a gzip file is broken or cut off, its readable part
    is yielded. Pieces are small even if the compression ratio is high.
    """
    if not is_gzip(body):
        for at in range(0, min(len(body), limit), _PIECE):
            yield body[at : min(at + _PIECE, limit)]
        return
    pieces = _members(memoryview(body))
    first = next(pieces, b"")
    if is_gzip(first):
        inner = b"".join(_limited(chain((first,), pieces), limit))
        pieces = _members(memoryview(inner))
        first = next(pieces, b"")
    yield from _limited(chain((first,), pieces), limit)


def _limited(pieces: Iterator[bytes], limit: int) -> Iterator[bytes]:
    total = 0
    for piece in pieces:
        yield piece[: limit - total]
        total += len(piece)
        if total >= limit:
            return


def gunzip(body: bytes, limit: int) -> bytes:
    """Return the whole ``body``. If it is gzip, unpack at most ``limit`` bytes."""
    return b"".join(unpacked(body, limit)) if is_gzip(body) else body


def _members(packed: memoryview) -> Iterator[bytes]:
    """Unpack the members of a gzip file in order, up to the first fault (RFC 1952, 2.2)."""
    for _member in range(_MAX_MEMBERS):
        if packed[:2] != _MAGIC:
            return
        unpacker = zlib.decompressobj(wbits=31)
        position = 0
        while not unpacker.eof:
            source = unpacker.unconsumed_tail  # input that was left when the output reached _PIECE bytes
            if not source:
                source = bytes(packed[position : position + _PIECE])
                position += len(source)
            try:
                piece = unpacker.decompress(source, _PIECE)
            except zlib.error:
                return
            if piece:
                yield piece
            elif not source:  # the file is cut off
                return
        # the unpacker has also read the beginning of the next member
        packed = packed[position - len(unpacker.unused_data) :]


_OPENERS: dict[str, Callable[[bytes], Iterator[bytes]]] = {
    "gzip": lambda body: _members(memoryview(body)), "x-gzip": lambda body: _members(memoryview(body)),
    "deflate": _inflated, "br": _unbrotlied, "zstd": _unzstded,
}  # fmt: skip
