"""The interface of the near-duplicate index, which finds recent texts that resemble a new text.

A passage is a run of five words. A text is indexed under the hashes of up to 16 of its passages
(:mod:`newsbot.dedup.minhash`). A short text is indexed under two hashes of the whole text. A stored text that
shares two hashes with the new text is a candidate. The stored signatures of the candidates are then compared,
and only similar texts are returned. These are the *near texts*.

In a test (``python -m benchmarks.dedup``), all 1,614 real pairs with a similarity of .5 or more became
candidates. Nearly all pairs in which one text contains most of the other text became candidates too. Banding
(LSH on signature values) misses most of these pairs.

An index stores a *record* of each text: fetch time, size, packed signature, source and id. A record takes
about 130 bytes. The Lua scripts of the Redis index read only two fields: the time (the first four bytes) and
the id (from byte 73 on, see insert.lua). Ids are compressed. The file ``pieces.txt`` lists strings that are
frequent in URLs, called pieces. Each piece is stored as one byte, its *code* (:func:`shorten`).
"""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass
from hashlib import blake2b
from importlib.resources import files
from math import sqrt
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from newsbot.dedup.minhash import BITS, PASSAGES, PERMUTATIONS, RUN, SCHEME, Signature, similarities

_SINGLE = [bytes((code,)) for code in range(0x21, 0x7F) if chr(code) not in '"<>\\^`{|}']
"""The single characters that occur in URLs. Each character is a piece too."""
_ESCAPE = 0xFF
"""The code that marks the next byte as stored unchanged. It is used for bytes that no piece contains."""


def _pieces() -> list[bytes]:
    text = (files("newsbot") / "dedup" / "pieces.txt").read_text(encoding="ascii")
    return [*(line.encode() for line in text.split()), *_SINGLE]


_PIECES = _pieces()
_CODES = {piece: bytes((code,)) for code, piece in enumerate(_PIECES)}


def _pattern() -> bytes:
    """Return a regular expression that matches the longest piece at a position, or any byte if there is no
    piece.

    Its alternatives are grouped by their first character, and the largest groups come first. This makes
    matching twice as fast.
    """
    rests: dict[bytes, list[bytes]] = {}
    for piece in sorted(_PIECES, key=len, reverse=True):
        rests.setdefault(piece[:1], []).append(re.escape(piece[1:]))
    groups = sorted(rests.items(), key=lambda item: -len(item[1]))
    alone = b"".join(re.escape(first) for first, some in groups if len(some) == 1)
    # An alternation takes the first alternative that matches, so the longest piece of a group comes first.
    several = [b"%b(?:%b)" % (re.escape(first), b"|".join(some)) for first, some in groups if len(some) > 1]
    return b"|".join([b"[%b]" % alone, *several, b"."])


_SPLIT = re.compile(_pattern(), re.DOTALL)
"""Matches the next piece, or a byte that no piece begins with."""

PIECES_ID = blake2b(b"\n".join(_PIECES), digest_size=4).hexdigest()
"""Identifies the list of pieces. Records made with another list cannot be decoded."""


def shorten(text: str) -> bytes:
    """Return a text in compressed form. :func:`lengthen` restores the text. The compression works best for
    URLs."""
    raw = text.encode("utf8", "surrogatepass")  # a lone surrogate must not raise an error
    return b"".join([_CODES.get(piece) or bytes((_ESCAPE, piece[0])) for piece in _SPLIT.findall(raw)])


def lengthen(short: bytes) -> str:
    """Return the text that :func:`shorten` compressed."""
    codes = iter(short)
    parts = (bytes((next(codes),)) if code == _ESCAPE else _PIECES[code] for code in codes)
    return b"".join(parts).decode("utf8", "surrogatepass")


# time, number of shingles, packed signature, position of the source in the id, length of the source
_HEAD = struct.Struct(">IH64sBB")
_LENGTH = struct.Struct(">H")
# This value means that the id does not contain the source. Then the length and the text of the source are
# stored before the id.
_ELSEWHERE = 0xFF
_MAX_TIME = 2**32 - 1
MAX_SHINGLES = 2**16 - 1
"""Highest number of shingles that a record can store. It is also stored for longer texts."""
_MAX_SOURCE = 2**16 - 1


@dataclass(frozen=True, slots=True)
class IndexedText:
    """A decoded record: the data of one text in the index."""

    doc_id: str
    source: str
    packed: bytes
    """The signature of the text, 128 values of 4 bits."""
    shingles: int
    """Number of distinct shingles of the text, at most :data:`MAX_SHINGLES`."""
    at: int
    """Time of the fetch, POSIX seconds."""


def pack(doc_id: str, short: bytes, site: str, signature: Signature, at: int) -> bytes:
    """Return the encoded record of a text.

    ``short`` is ``doc_id`` compressed by :func:`shorten`. A URL usually contains its source. The source is
    then stored as a position and a length in the id, in two bytes.
    """
    shingles = min(signature.shingles, MAX_SHINGLES)
    # an empty source would be found at position 0
    place = doc_id.find(site) if site else -1
    inside = 0 <= place < _ELSEWHERE and len(site) <= 0xFF
    if inside:
        return _HEAD.pack(at, shingles, signature.packed(), place, len(site)) + short
    head = _HEAD.pack(at, shingles, signature.packed(), _ELSEWHERE, 0)
    name = shorten(site)[:_MAX_SOURCE]
    return b"".join((head, _LENGTH.pack(len(name)), name, short))


def unpack(raw: bytes) -> IndexedText:
    """Return the decoded record. ``raw`` is a result of :func:`pack`."""
    at, shingles, packed, place, length = _HEAD.unpack_from(raw)
    rest = raw[_HEAD.size :]
    if place != _ELSEWHERE:
        doc_id = lengthen(rest)
        return IndexedText(doc_id, doc_id[place : place + length], packed, shingles, at)
    (length,) = _LENGTH.unpack_from(rest)
    name, rest = rest[_LENGTH.size : _LENGTH.size + length], rest[_LENGTH.size + length :]
    return IndexedText(lengthen(rest), lengthen(name), packed, shingles, at)


def seconds(at: float) -> int:
    """Return a time in whole seconds, limited to the values that a record can store.

    Raises ``ValueError`` for NaN.
    """
    return int(min(max(at, 0.0), float(_MAX_TIME)))


SHARED = 2
"""Minimum number of hashes that a candidate shares with the new text. A single passage is not enough, because
it may be standard wording."""
THRESHOLD = 0.5
"""Minimum estimated Jaccard similarity of a near text. A text below it may still be near, see
:data:`CONTAINED`."""
CONTAINED = 0.55
"""Minimum containment of a near text whose similarity is below :data:`THRESHOLD`.

:mod:`newsbot.dedup.decision` decides later, using the texts themselves. It counts words and not shingles,
which gives a slightly higher value. A lower estimate is accepted, because it may be wrong (:data:`ERRORS`).
"""
ERRORS = 2.0
"""An estimated containment is increased by this number of standard errors and then compared with
:data:`CONTAINED`. A digest has an estimated similarity of 0 with some of the texts that it contains."""
MAX_CANDIDATES = 32
"""Maximum number of texts that are compared for each hash, newest first. A limit is needed because any number
of texts can be made from one template and share a passage."""
KEEP = 30 * 86400.0
"""Default of :attr:`NearIndex.keep`, in seconds. News is copied within days."""
# An odd factor. The lowest hashes have similar upper bits. Multiplying by this factor makes the bits differ.
_STEP = np.uint64(0xD6E8FEB86659FD93)

BUCKETS = f"{SCHEME} passages={PASSAGES}x{RUN}w bits={BITS}"
"""Parameters of an index. Two indexes return the same results only if these parameters are equal."""


@dataclass(frozen=True, slots=True)
class Near:
    """A near text: a stored text that resembles a new text."""

    doc_id: str
    """Id of the text in the index; the crawl uses the canonical URL."""
    source: str
    """Domain of the rule that was used to crawl the text."""
    similarity: float
    """Estimated Jaccard similarity of the shingles, 0 to 1. It does not exceed :func:`most_alike`."""


class NearIndex(Protocol):
    """An index of texts by similarity. Any number of processes may share it.

    Failures are raised as :class:`DataError`.
    """

    @property
    def place(self) -> str:
        """The name of the place where the index is stored, for messages: ``data file``, or the server's
        product name."""

    @property
    def is_local(self) -> bool:
        """True for the embedded data file."""

    @property
    def keep(self) -> float:
        """Seconds after which a text is forgotten. If processes use different values, the lowest value
        applies."""

    def check_and_insert(self, doc_id: str, site: str, signature: Signature, at: float) -> list[Near]:
        """Insert a text and return its near texts, the most similar first, in one atomic step.

        If two processes insert similar texts at the same time, at least one process finds the text of the
        other process. An earlier text with the same ``doc_id`` is replaced and never returned. ``at`` is the
        time of the fetch (POSIX seconds), because a site cannot forge this time. Texts that were fetched more
        than ``keep`` seconds before ``at`` are forgotten. Only identical texts are near to a short text. A
        text whose signature is not comparable is not stored and has no near texts.
        """

    def count(self) -> int:
        """Return the number of stored texts."""

    def close(self) -> None:
        """Close the backend."""


def posting_hashes(doc_id: str, signature: Signature) -> NDArray[np.uint64]:
    """Return the hashes under which a text is indexed: one for each passage, then one for its id.

    A text that is not comparable has only the hash of its id. A backend that needs only some bits of a hash
    takes the upper bits, because they are better distributed than the lower bits.
    """
    digest = blake2b(doc_id.encode("utf8", "surrogatepass"), digest_size=8).digest()
    own = np.frombuffer(digest, dtype=">u8").astype(np.uint64)
    return np.concatenate((signature.passages * _STEP, own)) if signature.comparable else own


def near_of(mine: Signature, records: list[IndexedText]) -> list[Near]:
    """Return the candidates in ``records`` that are near texts of the text ``mine``, most similar first.

    Equally similar texts keep the order of ``records``.
    """
    estimates = similarities(mine.packed(), [record.packed for record in records]).tolist()
    shingles = min(mine.shingles, MAX_SHINGLES)  # as stored in its record
    near = []
    for record, agreement in zip(records, estimates, strict=True):
        estimate = min(agreement, most_alike(shingles, record.shingles))
        if estimate >= THRESHOLD or _may_be_cut(estimate, shingles, record.shingles):
            near.append(Near(record.doc_id, record.source, estimate))
    return sorted(near, key=lambda one: -one.similarity)


def most_alike(one: int, other: int) -> float:
    """Return the highest possible Jaccard similarity of two sets of these sizes.

    The similarity is highest if the larger set contains the smaller one. If an estimate is above this bound,
    the estimate is wrong, and the bound is the most likely value.
    """
    return min(one, other) / max(1, one, other)


def containment(similarity: float, one: int, other: int) -> float:
    """Return the share of the smaller set that the larger one contains, 0 to 1.

    It is computed from the Jaccard similarity and the sizes of both sets.
    """
    # J = both / (one + other - both), solved for the size of the intersection
    both = similarity * (one + other) / (1.0 + similarity)
    return min(1.0, both / max(1, min(one, other)))


def _may_be_cut(estimate: float, one: int, other: int) -> bool:
    """Return True if the containment may be :data:`CONTAINED` or more, although its estimate may be lower.

    The estimate is increased by :data:`ERRORS` standard errors. Its standard error is the standard error of
    the share of agreeing signature values, multiplied by the derivative of the containment.
    """
    # Values cut to a few bits also agree by chance. The standard error is corrected for this.
    chance = 2.0**-BITS
    agree = estimate * (1.0 - chance) + chance
    error = sqrt(agree * (1.0 - agree) / PERMUTATIONS) / (1.0 - chance)
    # d/dJ of J (one + other) / (1 + J) / min(one, other), the containment as a function of J
    slope = (one + other) / max(1, min(one, other)) / (1.0 + estimate) ** 2
    return containment(estimate, one, other) + ERRORS * error * slope >= CONTAINED
