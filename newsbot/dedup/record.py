"""Encodes what an index stores of a text: fetch time, size, packed signature, source and id.

This record takes about 130 bytes. The Lua scripts of the Redis index read only two fields: the time (the
first four bytes) and the id (from byte 73 on, see insert.lua).

Ids are compressed. The file ``pieces.txt`` lists pieces that are frequent in URLs, and each piece is stored
as one byte, its *code* (:func:`shorten`).
"""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass
from hashlib import blake2b
from importlib.resources import files

from newsbot.dedup.minhash import Signature

_SINGLE = [bytes((code,)) for code in range(0x21, 0x7F) if chr(code) not in '"<>\\^`{|}']
"""The single characters that occur in URLs. Each of them is a piece too."""
_ESCAPE = 0xFF
"""A code that is followed by one byte as it is. It is used for bytes that no piece contains."""


def _pieces() -> list[bytes]:
    text = (files("newsbot") / "dedup" / "pieces.txt").read_text(encoding="ascii")
    return [*(line.encode() for line in text.split()), *_SINGLE]


_PIECES = _pieces()
_CODES = {piece: bytes((code,)) for code, piece in enumerate(_PIECES)}


def _pattern() -> bytes:
    """Return a regular expression that matches the longest piece at a position, or else any byte.

    Its alternatives are grouped by their first character, and the largest groups come first. This doubles the
    speed.
    """
    rests: dict[bytes, list[bytes]] = {}
    for piece in sorted(_PIECES, key=len, reverse=True):
        rests.setdefault(piece[:1], []).append(re.escape(piece[1:]))
    groups = sorted(rests.items(), key=lambda item: -len(item[1]))
    alone = b"".join(re.escape(first) for first, some in groups if len(some) == 1)
    several = [b"%b(?:%b)" % (re.escape(first), b"|".join(some)) for first, some in groups if len(some) > 1]
    return b"|".join([b"[%b]" % alone, *several, b"."])


_SPLIT = re.compile(_pattern(), re.DOTALL)
"""Matches the next piece, or a byte that no piece begins with."""

PIECES_ID = blake2b(b"\n".join(_PIECES), digest_size=4).hexdigest()
"""Identifies the list of pieces. Records made with another list cannot be decoded."""


def shorten(text: str) -> bytes:
    """Return a text in compressed form, which :func:`lengthen` restores. It works best for URLs."""
    raw = text.encode("utf8", "surrogatepass")  # a lone surrogate must not raise
    return b"".join([_CODES.get(piece) or bytes((_ESCAPE, piece[0])) for piece in _SPLIT.findall(raw)])


def lengthen(short: bytes) -> str:
    """Return the text that :func:`shorten` compressed."""
    codes = iter(short)
    parts = (bytes((next(codes),)) if code == _ESCAPE else _PIECES[code] for code in codes)
    return b"".join(parts).decode("utf8", "surrogatepass")


# time, number of shingles, packed signature, position of the source in the id, length of the source
_HEAD = struct.Struct(">IH64sBB")
_LENGTH = struct.Struct(">H")
# as position: the id does not contain the source, so the source's length and text are stored before the id
_ELSEWHERE = 0xFF
_MAX_TIME = 2**32 - 1
MAX_SHINGLES = 2**16 - 1
"""Highest number of shingles that a record can store. A longer text is stored with this number."""
_MAX_SOURCE = 2**16 - 1


@dataclass(frozen=True, slots=True)
class Record:
    """A decoded record: the data of one text in the index."""

    doc_id: str
    source: str
    packed: bytes
    """The signature of the text, 128 values of 4 bits."""
    shingles: int
    """Number of distinct shingles of the text, at most :data:`MAX_SHINGLES`."""
    at: int
    """Time of the fetch, POSIX seconds."""


def pack(doc_id: str, short: bytes, source: str, signature: Signature, at: int) -> bytes:
    """Return the encoded record of a text.

    ``short`` is ``doc_id`` compressed by :func:`shorten`. A URL usually contains its source. The source is
    then stored as a position and a length in the id, in two bytes.
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
    """Return the decoded record. ``raw`` is a result of :func:`pack`."""
    at, shingles, packed, place, length = _HEAD.unpack_from(raw)
    rest = raw[_HEAD.size :]
    if place != _ELSEWHERE:
        doc_id = lengthen(rest)
        return Record(doc_id, doc_id[place : place + length], packed, shingles, at)
    (length,) = _LENGTH.unpack_from(rest)
    name, rest = rest[_LENGTH.size : _LENGTH.size + length], rest[_LENGTH.size + length :]
    return Record(lengthen(rest), lengthen(name), packed, shingles, at)


def seconds(at: float) -> int:
    """Return a time in whole seconds, limited to the values that a record can store.

    Raises ``ValueError`` for NaN.
    """
    return int(min(max(at, 0.0), float(_MAX_TIME)))
