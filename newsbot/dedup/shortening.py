"""URLs in about half of their bytes: each frequent piece becomes one byte.

The pieces (``pieces.txt``) were learned by pair encoding (P. Gage, A New Algorithm for Data Compression,
1994) from addresses of articles of some hundred sites. The same text always gives the same bytes, so that
shortened texts can be compared as they are. What is kept depends on the order of the pieces: a change of
``pieces.txt`` makes another index, which :data:`PIECES_ID` tells.
"""

from __future__ import annotations

import re
from hashlib import blake2b
from importlib.resources import files

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
