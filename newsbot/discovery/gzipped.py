"""Unpacks feeds and sitemaps that are gzip files."""

from __future__ import annotations

import zlib
from collections.abc import Iterator

_MAGIC = b"\x1f\x8b"
_PIECE = 1 << 18
_MAX_MEMBERS = 1000


def is_gzip(body: bytes) -> bool:
    """Return True if ``body`` begins like a gzip file (RFC 1952). File names and HTTP headers are often
    wrong."""
    return body.startswith(_MAGIC)


def unpacked(body: bytes, limit: int) -> Iterator[bytes]:
    """Yield ``body`` in pieces, unpacked if it is gzip.

    All pieces together have at most ``limit`` bytes. If a gzip file is broken or cut off, its readable part
    is yielded. Pieces are small even if the compression ratio is high.
    """
    if not is_gzip(body):
        for at in range(0, min(len(body), limit), _PIECE):
            yield body[at : min(at + _PIECE, limit)]
        return
    total = 0
    for piece in _members(memoryview(body)):
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
