"""Bodies that are gzip files themselves, as sitemaps often are (``sitemap.xml.gz``)."""

from __future__ import annotations

import zlib
from collections.abc import Iterator

_MAGIC = b"\x1f\x8b"
_PIECE = 1 << 18
_MAX_MEMBERS = 1000


def is_gzip(body: bytes) -> bool:
    """Tell a gzip file by its first bytes (RFC 1952); names and headers are often wrong."""
    return body.startswith(_MAGIC)


def unpacked(body: bytes, limit: int) -> Iterator[bytes]:
    """Give ``body`` in pieces, unpacked if it is gzip, at most ``limit`` bytes in all.

    A broken or cut archive gives what can be read. Each piece is small, however well it was packed.
    """
    if not is_gzip(body):
        for at in range(0, min(len(body), limit), _PIECE):
            yield body[at : min(at + _PIECE, limit)]
        return
    given = 0
    for piece in _members(memoryview(body)):
        yield piece[: limit - given]
        given += len(piece)
        if given >= limit:
            return


def gunzip(body: bytes, limit: int) -> bytes:
    """Return ``body`` whole, unpacked up to ``limit`` bytes if it is gzip."""
    return b"".join(unpacked(body, limit)) if is_gzip(body) else body


def _members(packed: memoryview) -> Iterator[bytes]:
    """Unpack one gzip member after the other; end at the first fault."""
    for _member in range(_MAX_MEMBERS):
        if packed[:2] != _MAGIC:
            return
        unpacker = zlib.decompressobj(wbits=31)
        position = 0
        while not unpacker.eof:
            source = unpacker.unconsumed_tail
            if not source:
                source = bytes(packed[position : position + _PIECE])
                position += len(source)
            try:
                piece = unpacker.decompress(source, _PIECE)
            except zlib.error:
                return
            if piece:
                yield piece
            elif not source:  # cut off
                return
        packed = packed[position - len(unpacker.unused_data) :]
