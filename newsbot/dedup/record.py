"""Encodes a text for the index: time, size, packed signature, source and id, in about 130 bytes.

The Lua scripts of the Redis index read only the time (the first four bytes) and the id (from byte 73 on, see
insert.lua).
"""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass
from hashlib import blake2b
from importlib.resources import files

from newsbot.dedup.minhash import Signature

_SINGLE = [bytes((code,)) for code in range(0x21, 0x7F) if chr(code) not in '"<>\\^`{|}']
"""The characters of URLs, which are pieces too."""
_ESCAPE = 0xFF
"""The code before a byte that is not part of a piece."""


def _pieces() -> list[bytes]:
    text = (files("newsbot") / "dedup" / "pieces.txt").read_text(encoding="ascii")
    return [*(line.encode() for line in text.split()), *_SINGLE]


_PIECES = _pieces()
_CODES = {piece: bytes((code,)) for code, piece in enumerate(_PIECES)}


def _pattern() -> bytes:
    """Return a pattern that matches the longest piece.

    Alternatives are grouped by first character, largest groups first, which doubles the speed.
    """
    rests: dict[bytes, list[bytes]] = {}
    for piece in sorted(_PIECES, key=len, reverse=True):
        rests.setdefault(piece[:1], []).append(re.escape(piece[1:]))
    groups = sorted(rests.items(), key=lambda item: -len(item[1]))
    alone = b"".join(re.escape(first) for first, some in groups if len(some) == 1)
    several = [b"%b(?:%b)" % (re.escape(first), b"|".join(some)) for first, some in groups if len(some) > 1]
    return b"|".join([b"[%b]" % alone, *several, b"."])


_SPLIT = re.compile(_pattern(), re.DOTALL)

"""Matches the next piece, or any other byte."""

PIECES_ID = blake2b(b"\n".join(_PIECES), digest_size=4).hexdigest()


def shorten(text: str) -> bytes:
    """Compress a text of any kind, best for URLs. :func:`lengthen` restores it."""
    raw = text.encode("utf8", "surrogatepass")  # a lone surrogate must not raise
    return b"".join([_CODES.get(piece) or bytes((_ESCAPE, piece[0])) for piece in _SPLIT.findall(raw)])


def lengthen(short: bytes) -> str:
    """Return the text that :func:`shorten` compressed."""
    codes = iter(short)
    parts = (bytes((next(codes),)) if code == _ESCAPE else _PIECES[code] for code in codes)
    return b"".join(parts).decode("utf8", "surrogatepass")


_HEAD = struct.Struct(">IH64sBB")  # time, shingles, signature, place and length of the source in the id
_LENGTH = struct.Struct(">H")
_ELSEWHERE = 0xFF  # the id does not contain the source: its length and text are stored before the id
_MAX_TIME = 2**32 - 1
MAX_SHINGLES = 2**16 - 1
"""Upper limit of the stored number of shingles."""
_MAX_SOURCE = 2**16 - 1


@dataclass(frozen=True, slots=True)
class Record:
    """A text in the index."""

    doc_id: str
    source: str
    packed: bytes
    """Its signature, 128 values of 4 bits."""
    shingles: int
    """Number of distinct shingles of the text, at most :data:`MAX_SHINGLES`."""
    at: int
    """Time of the fetch, POSIX seconds."""


def pack(doc_id: str, short: bytes, source: str, signature: Signature, at: int) -> bytes:
    """Return the record of a text. ``short`` is its id after :func:`shorten`.

    If the id contains the source, as URLs do, only its place is stored (two bytes).
    """
    shingles = min(signature.shingles, MAX_SHINGLES)
    place = doc_id.find(source) if source else -1
    inside = 0 <= place < _ELSEWHERE and len(source) <= 0xFF
    if inside:
        return _HEAD.pack(at, shingles, signature.packed(), place, len(source)) + short
    head = _HEAD.pack(at, shingles, signature.packed(), _ELSEWHERE, 0)
    name = shorten(source)[:_MAX_SOURCE]
    return b"".join((head, _LENGTH.pack(len(name)), name, short))


def unpack(raw: bytes) -> Record:
    """Decode a record."""
    at, shingles, packed, place, length = _HEAD.unpack_from(raw)
    rest = raw[_HEAD.size :]
    if place != _ELSEWHERE:
        doc_id = lengthen(rest)
        return Record(doc_id, doc_id[place : place + length], packed, shingles, at)
    (length,) = _LENGTH.unpack_from(rest)
    name, rest = rest[_LENGTH.size : _LENGTH.size + length], rest[_LENGTH.size + length :]
    return Record(lengthen(rest), lengthen(name), packed, shingles, at)


def seconds(at: float) -> int:
    """Return a time in whole seconds, limited to the range of a record. Raises ``ValueError`` for NaN."""
    return int(min(max(at, 0.0), float(_MAX_TIME)))
