"""Decodes a feed or sitemap whose declared encoding may be wrong.

UTF-8 is tried first, even if another encoding is declared, because text in another encoding is practically
never valid UTF-8. If it is not UTF-8, the encoding that the document declares is used. The next choices are
the encoding that the server declares, and a guess.
"""

from __future__ import annotations

import codecs
import re
import zlib
from collections.abc import Iterator

_HEAD = 4096
_SAMPLE = 262_144
_DECLARED = re.compile(rb"""encoding\s{0,9}=\s{0,9}["']([A-Za-z0-9_.:-]{1,40})["']""")
_CHARSET = re.compile(r"""charset\s{0,9}=\s{0,9}["']?([A-Za-z0-9_.:-]{1,40})""", re.IGNORECASE)
_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_SAFE = re.compile(
    r"(?:utf-(?:8|16|32)|iso8859-|cp\d|koi8|gb|big5|shift_jis|euc_|iso2022|mac-|latin|ascii|tis-620|hz)"
)
"""Encodings that real documents have. Python's other codecs are slow or not meant for documents."""
_SEVEN_BIT = re.compile(r"(?:iso2022|hz)")
_DEFAULTS = ("iso8859-1", "cp1252")
"""Encodings that many servers declare for all documents."""
_HIGH = re.compile(rb"[\xa8\xb8\xc0-\xff]+")
"""Bytes that are letters in the Cyrillic code page 1251."""
_RUNS = re.compile(rb"[\xa8\xb8\xc0-\xff]{3,}")
_BROKEN_MAX = 0.1
"""Maximum share of invalid bytes among the bytes 0x80 to 0xFF of a document that is taken for UTF-8."""


def charset_of(content_type: str | None) -> str | None:
    """Return the ``charset`` of a Content-Type header, as written."""
    match = _CHARSET.search(content_type[:500]) if content_type else None
    return match[1] if match else None


def detect(body: bytes, charset: str | None = None) -> str:
    """Return the name of the Python codec that fits ``body`` best.

    ``charset`` is the encoding that the server declares. Never raises.
    """
    for bom, codec in _BOMS:
        if body.startswith(bom):
            return codec
    # UTF-16 without a byte order mark: one of the two bytes of the first character (usually "<") is zero
    if body[1:2] == b"\0" or body[:1] == b"\0":
        return "utf-16-le" if body[1:2] == b"\0" else "utf-16-be"
    match = _DECLARED.search(body[:_HEAD])
    declared = [_known(match[1].decode("ascii")) if match else None, _known(charset)]
    named = [name for name in declared if name]
    # Text in a seven-bit encoding is also valid UTF-8, so its declaration is used before UTF-8 is tried.
    for name in named:
        if _SEVEN_BIT.match(name):
            return name
    sample = body[:_SAMPLE]
    return "utf-8" if _is_utf8(sample) else _declared_or_guessed(named, sample)


def _declared_or_guessed(named: list[str], sample: bytes) -> str:
    for name in named:
        if name in _DEFAULTS:  # many servers declare these encodings for documents that have another one
            return "cp1251" if _looks_cyrillic(sample) else "cp1252"
        if not name.startswith(("utf-", "ascii")):
            return name
    return _guess(sample)


def decode(body: bytes, charset: str | None = None) -> str:
    """Return ``body`` as text without byte order mark. Never raises; invalid bytes become U+FFFD."""
    text = body.decode(detect(body, charset), errors="replace")
    return text.removeprefix("\ufeff")


def _known(name: str | None) -> str | None:
    """Return Python's name of an encoding; None if it is unknown or unusual."""
    if not name:
        return None
    try:
        codec = codecs.lookup(name).name
    except (LookupError, ValueError):
        return None
    if codec in ("utf-16", "utf-32"):  # the declaration is wrong, because detect() found no zero byte
        return None
    return codec if _SAFE.match(codec) else None


def _is_utf8(sample: bytes) -> bool:
    try:
        # a character that is cut at the end is allowed
        codecs.getincrementaldecoder("utf-8")().decode(sample)
    except UnicodeDecodeError:
        return False
    return True


def _guess(sample: bytes) -> str:
    """Return the likely codec if no declared codec fits: UTF-8 with a few errors, Cyrillic, or western."""
    high = sum(sample.count(byte) for byte in range(0x80, 0x100))
    broken = sample.decode("utf-8", errors="replace").count("\ufffd")
    if broken <= high * _BROKEN_MAX:
        return "utf-8"
    return "cp1251" if _looks_cyrillic(sample) else "cp1252"


def _looks_cyrillic(sample: bytes) -> bool:
    """Return True for Cyrillic text.

    Its words are runs of high bytes. In western text, high bytes stand alone among ASCII letters.
    """
    high = sum(len(run) for run in _HIGH.findall(sample))
    return sum(len(run) for run in _RUNS.findall(sample)) > high / 2


_MAGIC = b"\x1f\x8b"
_PIECE = 1 << 18
_MAX_MEMBERS = 1000


def is_gzip(body: bytes) -> bool:
    """Return True if ``body`` begins like a gzip file (RFC 1952). File names and headers are often wrong."""
    return body.startswith(_MAGIC)


def unpacked(body: bytes, limit: int) -> Iterator[bytes]:
    """Yield ``body`` in pieces, unpacked if it is gzip. All pieces together have at most ``limit`` bytes.

    If a gzip file is broken or cut off, its readable part is returned. All pieces are small, even if the
    compression ratio is high.
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
    """Return the whole ``body``, unpacked up to ``limit`` bytes if it is gzip."""
    return b"".join(unpacked(body, limit)) if is_gzip(body) else body


def _members(packed: memoryview) -> Iterator[bytes]:
    """Unpack the members of a gzip file in order, up to the first fault (RFC 1952, 2.2)."""
    for _member in range(_MAX_MEMBERS):
        if packed[:2] != _MAGIC:
            return
        unpacker = zlib.decompressobj(wbits=31)
        position = 0
        while not unpacker.eof:
            source = unpacker.unconsumed_tail  # input that was left because the output reached _PIECE bytes
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
        # the unpacker was also given the beginning of the next member
        packed = packed[position - len(unpacker.unused_data) :]
