"""A text as an index keeps it: time, size, packed signature, source and id, in some 130 bytes.

Lua reads the time (the first four bytes) and the id (from byte 73 on, see lib.lua), nothing else.
"""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass
from hashlib import blake2b
from importlib.resources import files

from newsbot.dedup.minhash import Signature

_SINGLE = [bytes((code,)) for code in range(0x21, 0x7F) if chr(code) not in '"<>\\^`{|}']
"""Characters of URLs: each is a piece of its own."""
_ESCAPE = 0xFF
"""The next byte stands for itself."""


def _pieces() -> list[bytes]:
    text = (files("newsbot") / "dedup" / "pieces.txt").read_text(encoding="ascii")
    return [*(line.encode() for line in text.split()), *_SINGLE]


_PIECES = _pieces()
_CODES = {piece: bytes((code,)) for code, piece in enumerate(_PIECES)}


def _pattern() -> bytes:
    """Match the longest piece: by first character, those with most pieces first (it is twice as fast)."""
    rests: dict[bytes, list[bytes]] = {}
    for piece in sorted(_PIECES, key=len, reverse=True):
        rests.setdefault(piece[:1], []).append(re.escape(piece[1:]))
    groups = sorted(rests.items(), key=lambda item: -len(item[1]))
    alone = b"".join(re.escape(first) for first, some in groups if len(some) == 1)
    several = [b"%b(?:%b)" % (re.escape(first), b"|".join(some)) for first, some in groups if len(some) > 1]
    return b"|".join([b"[%b]" % alone, *several, b"."])


_SPLIT = re.compile(_pattern(), re.DOTALL)

PIECES_ID = blake2b(b"\n".join(_PIECES), digest_size=4).hexdigest()


def shorten(text: str) -> bytes:
    """Return the bytes that :func:`lengthen` turns into ``text`` again; any text will do."""
    raw = text.encode("utf8", "surrogatepass")
    return b"".join([_CODES.get(piece) or bytes((_ESCAPE, piece[0])) for piece in _SPLIT.findall(raw)])


def lengthen(short: bytes) -> str:
    """Return the text that was shortened."""
    codes = iter(short)
    parts = (bytes((next(codes),)) if code == _ESCAPE else _PIECES[code] for code in codes)
    return b"".join(parts).decode("utf8", "surrogatepass")


_HEAD = struct.Struct(">IH64sBB")  # time, shingles, signature, place and length of the source in the id
_LENGTH = struct.Struct(">H")
_ELSEWHERE = 0xFF  # the source is no part of the id: its length and itself stand before the id
_MAX_TIME = 2**32 - 1
MAX_SHINGLES = 2**16 - 1
"""A text of more is kept as one of so many."""
_MAX_SOURCE = 2**16 - 1


@dataclass(frozen=True, slots=True)
class Record:
    """A kept text."""

    doc_id: str
    source: str
    packed: bytes
    """Its signature, 128 values of 4 bits."""
    shingles: int
    """How many distinct shingles the text has, up to :data:`MAX_SHINGLES`."""
    at: int
    """When it came, POSIX seconds."""


def pack(doc_id: str, short: bytes, source: str, signature: Signature, at: int) -> bytes:
    """Return the record of a text; ``short`` is its id, shortened.

    The source costs two bytes where the id holds it, as URLs do.
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
    """Read a record."""
    at, shingles, packed, place, length = _HEAD.unpack_from(raw)
    rest = raw[_HEAD.size :]
    if place != _ELSEWHERE:
        doc_id = lengthen(rest)
        return Record(doc_id, doc_id[place : place + length], packed, shingles, at)
    (length,) = _LENGTH.unpack_from(rest)
    name, rest = rest[_LENGTH.size : _LENGTH.size + length], rest[_LENGTH.size + length :]
    return Record(lengthen(rest), lengthen(name), packed, shingles, at)


def seconds(at: float) -> int:
    """Return a moment in whole seconds, as far as a record can say it. Raises ``ValueError`` for NaN."""
    return int(min(max(at, 0.0), float(_MAX_TIME)))
