"""The interface of the near-duplicate index, which finds recent texts that resemble a new text.

A *passage* is a run of five words. A text is indexed under the hashes of up to 16 of its passages. A short
text is indexed under two hashes of the whole text. A stored text that shares two hashes with the new text is
a candidate. The stored signatures of the candidates are then compared, and only similar texts are returned.
These are the *near texts*.

In a test (``python -m benchmarks.dedup``), all 1,614 real pairs with a similarity of .5 or more became
candidates. Nearly all pairs in which one text contains most of the other text became candidates too. Banding
(LSH on signature values) misses most of these pairs.

An index stores a *record* of each text: fetch time, size, packed signature, source and id. A record takes
about 130 bytes. The Lua scripts of the Redis index read only two fields: the time (the first four bytes) and
the id (from byte 73 on, see insert.lua). Ids are compressed. The file ``pieces.txt`` lists strings that are
frequent in URLs, called pieces. Each piece is stored as one byte, its *code* (:func:`shorten`).

Signatures are MinHash signatures, compatible with datasketch. A text is treated as the set of its runs of
three words (shingles). Its signature holds the smallest value for each of 128 permutations of the hashed
shingles. The share of equal values in two signatures estimates the Jaccard similarity of the sets (A. Broder,
On the resemblance and containment of documents, 1997). The standard error is .044 at a similarity of .5. Two
signatures can be compared only if all parameters in :data:`SCHEME` are equal.

The signature also holds the hashes of passages under which the text is indexed.
"""

from __future__ import annotations

import re
import struct
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from importlib import import_module
from importlib.resources import files
from importlib.util import find_spec, module_from_spec
from math import sqrt
from typing import Protocol
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from newsbot.pages.text import words
from newsbot.pages.text.words import token_bytes

_KEY_BYTES = 16  # the probability that any two of 10**9 different texts have the same key is about 10**-21


def text_key(text: str) -> str:
    """Return a key of an article's text (without its title), as 32 hexadecimal digits.

    Two texts have the same key if their words are equal; case and punctuation do not count. All texts without
    a word share one key.
    """
    return blake2b(b" ".join(token_bytes(text)), digest_size=_KEY_BYTES).hexdigest()


_PACKAGE = "datasketch"


def affine32(count: int, seed: int) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    """Return the factors and offsets of ``count`` permutations, as in datasketch's scheme affine32.

    datasketch makes them if it is installed. Otherwise numpy makes the same numbers.
    """
    spec = find_spec(_PACKAGE)
    if spec is None:
        return _same_as_affine32(count, seed)
    # With an empty package object in sys.modules, one module of datasketch can be imported alone. The
    # package's own ``__init__`` is not executed, because it imports many other modules.
    before = _loaded()
    if _PACKAGE not in before:
        sys.modules[_PACKAGE] = module_from_spec(spec)
    try:
        made = import_module(f"{_PACKAGE}.minhash").MinHash(num_perm=count, seed=seed, scheme="affine32")
    finally:
        for name in _loaded() - before:  # a later import then loads the complete package
            del sys.modules[name]
    factors, offsets = made.permutations.copy()
    return factors, offsets


def _same_as_affine32(count: int, seed: int) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    # The numbers of RandomState are the same in all versions of numpy (NEP 19).
    numbers = np.random.RandomState(seed)
    factors = numbers.randint(0, 2**31, count, dtype=np.uint32) * np.uint32(2) + np.uint32(1)
    return factors, numbers.randint(0, 2**32, count, dtype=np.uint32)


def _loaded() -> set[str]:
    return {name for name in sys.modules if name.partition(".")[0] == _PACKAGE}


PERMUTATIONS = 128
SEED = 1
SHINGLE = 3
"""Number of words in a shingle."""
MIN_SHINGLES = 23
"""Minimum number of distinct shingles of a text that is compared by similarity; 25 words have 23 shingles."""
LEAST_SHINGLES = 4
"""Minimum number of distinct shingles of a text that is indexed. For texts between the two limits, only
identical texts are found."""

SCHEME = f"affine32 seed={SEED} permutations={PERMUTATIONS} shingles={SHINGLE}w-crc32 words={words.VERSION}"
"""All parameters of a signature. Signatures of different schemes cannot be compared, so an index stores its
scheme and refuses signatures of another scheme."""

BITS = 4
"""Number of low bits of each signature value that an index stores. A signature then takes 64 bytes instead of
512 (Li and König, b-bit minwise hashing, 2010). Two different values agree in these bits with a probability
of 1/16. The estimated similarity is corrected for this."""

_CHUNK = 4096  # number of shingles that are permuted at once; they take 2 MB, which fit into the CPU cache
# odd 64-bit constants without a pattern in their bits: one of SplitMix64, two of xxHash64
_MULTIPLIERS = np.array([0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9], dtype=np.uint64)
_UPPER_HALF = np.uint64(32)
_FACTORS, _OFFSETS = (row[:, np.newaxis] for row in affine32(PERMUTATIONS, SEED))
_NOTHING = np.uint32(0xFFFFFFFF)
"""Each signature value of a text without shingles."""
# shifts and factors of MurmurHash3's finalizer fmix32, in the order of their use
_MIX = tuple(map(np.uint32, (16, 0x85EBCA6B, 13, 0xC2B2AE35, 16)))


@dataclass(frozen=True, slots=True, eq=False)
class Signature:
    """The signature of a text, and the hashes that are used to look it up."""

    values: NDArray[np.uint32]
    """The smallest value of each permutation."""
    shingles: int
    """Number of distinct shingles of the text."""
    passages: NDArray[np.uint64]
    """Hashes under which the text is indexed: hashes of passages, or two hashes of the whole text if it is
    short."""

    @property
    def comparable(self) -> bool:
        """True if the text is long enough to be indexed (:data:`LEAST_SHINGLES`)."""
        return self.shingles >= LEAST_SHINGLES

    def packed(self) -> bytes:
        """Return the low :data:`BITS` bits of each value, two values per byte."""
        return (self.values[0::2] << 4 | self.values[1::2] & 0xF).astype(np.uint8).tobytes()


def signature(text: str) -> Signature:
    """Return the signature of an article's text (without its title).

    The values are identical to the values that datasketch computes.
    """
    sums = shingle_sums(token_bytes(text))
    hashes = distinct_hashes(upper_halves(sums))
    values = np.full(PERMUTATIONS, _NOTHING, dtype=np.uint32)
    # done in chunks, because each shingle needs 512 bytes of memory during the step
    for start in range(0, len(hashes), _CHUNK):
        np.minimum(values, _least(hashes[start : start + _CHUNK]), out=values)
    short = len(hashes) < MIN_SHINGLES
    return Signature(values, len(hashes), _whole(sums) if short else lowest_runs(sums, SHINGLE))


def _whole(sums: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return two hashes of a whole text, sorted. Two short texts are identical if both hashes are equal."""
    digest = blake2b(sums.astype("<u8").tobytes(), digest_size=16).digest()
    return np.sort(np.frombuffer(digest, dtype="<u8").astype(np.uint64))


def _least(hashes: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """Return the smallest value of each permutation, as datasketch's scheme affine32 defines it.

    ``hashes`` are mixed by the last step of MurmurHash3 and then permuted by ``a * h + b`` modulo 2**32.
    """
    first, one, second, other, third = _MIX
    mixed = hashes ^ (hashes >> first)
    mixed *= one
    mixed ^= mixed >> second
    mixed *= other
    mixed ^= mixed >> third
    permuted = _FACTORS * mixed
    permuted += _OFFSETS
    least: NDArray[np.uint32] = np.minimum.reduce(permuted, axis=1)
    return least


def shingle_hashes(text: str) -> NDArray[np.uint32]:
    """Return the hashes of the distinct shingles of ``text``, sorted.

    A text of one or two words counts as one shingle.
    """
    return distinct_hashes(upper_halves(shingle_sums(token_bytes(text))))


def shingle_sums(tokens: Sequence[bytes]) -> NDArray[np.uint64]:
    """Return one 64-bit number for each shingle, in text order. Its upper half is the hash of the shingle."""
    if not tokens:
        return np.empty(0, dtype=np.uint64)
    each = np.fromiter(map(crc32, tokens), dtype=np.uint64, count=len(tokens))
    if len(each) < SHINGLE:
        each = np.concatenate((each, np.zeros(SHINGLE - len(each), dtype=np.uint64)))
    count = len(each) - SHINGLE + 1
    sums: NDArray[np.uint64] = each[:count] * _MULTIPLIERS[0]
    # Adding shifted arrays computes all shingles at once. Sums above 2**64 wrap around.
    for place in range(1, SHINGLE):
        sums += each[place : place + count] * _MULTIPLIERS[place]
    return sums


def upper_halves(sums: NDArray[np.uint64]) -> NDArray[np.uint32]:
    """Return the hashes of the shingles from the numbers of :func:`shingle_sums`."""
    return (sums >> _UPPER_HALF).astype(np.uint32)


def distinct_hashes(hashes: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """Return the distinct hashes, sorted."""
    if not len(hashes):
        return hashes
    hashes = np.sort(hashes)
    # The same as numpy.unique, without its general checks: after sorting, a hash is new if it differs from
    # the previous hash.
    first = np.empty(len(hashes), dtype=np.bool_)
    first[0] = True
    np.not_equal(hashes[1:], hashes[:-1], out=first[1:])
    distinct: NDArray[np.uint32] = hashes[first]
    return distinct


def similarity(one: Signature, other: Signature) -> float:
    """Return the Jaccard similarity of two texts, 0 to 1, estimated from complete signatures."""
    return float(np.count_nonzero(one.values == other.values)) / PERMUTATIONS


def jaccard(one: NDArray[np.uint32], other: NDArray[np.uint32]) -> float:
    """Return the exact Jaccard similarity of two results of :func:`shingle_hashes`."""
    both = len(np.intersect1d(one, other, assume_unique=True))
    return both / max(1, len(one) + len(other) - both)


def containment(one: NDArray[np.uint32], other: NDArray[np.uint32]) -> float:
    """Return the share of the smaller of two results of :func:`shingle_hashes` that the other one has."""
    return len(np.intersect1d(one, other, assume_unique=True)) / max(1, min(len(one), len(other)))


def similarities(packed: bytes, others: list[bytes]) -> NDArray[np.float64]:
    """Return the estimated Jaccard similarity (0 to 1) of one packed signature to each signature in
    ``others``."""
    mine = np.frombuffer(packed, dtype=np.uint8)
    theirs = np.frombuffer(b"".join(others), dtype=np.uint8).reshape(len(others), len(packed))
    # each byte holds two values, one in each half
    differing = mine ^ theirs
    equal = np.count_nonzero(differing & 0xF0 == 0, axis=1) + np.count_nonzero(differing & 0x0F == 0, axis=1)
    chance = 2.0**-BITS
    estimates: NDArray[np.float64] = (equal / PERMUTATIONS - chance) / (1.0 - chance)
    return estimates.clip(0.0, 1.0)


RUN = 5
"""Number of words in a passage."""
PASSAGES = 16
"""Maximum number of passages under which a text is indexed."""

_STEP = np.uint64(0xD6E8FEB86659FD93)  # an odd factor, which makes one hash of the two ends of a passage
_FIRST = 4 * PASSAGES
""":func:`lowest_runs` looks for repeated passages among this number of lowest hashes."""


def lowest_runs(sums: NDArray[np.uint64], shingle: int) -> NDArray[np.uint64]:
    """Return the :data:`PASSAGES` lowest distinct hashes of a text's passages, sorted. A short text has
    fewer.

    ``sums`` holds a hash for each run of ``shingle`` words, in text order. The upper bits of these hashes are
    better distributed than the lower bits. Similar texts share many of their lowest hashes.
    """
    # the first and the last shingle of a passage together contain all of its words
    apart = RUN - shingle
    # Because of the factor, the order of the two ends matters.
    runs = sums[:-apart] * _STEP
    runs += sums[apart:]
    runs.sort()
    # Usually the lowest hashes are distinct, and numpy.unique over the whole text is not needed.
    first = runs[:_FIRST]
    if not np.all(first[1:] != first[:-1]):  # a passage occurs twice: all hashes are needed
        return np.unique(runs)[:PASSAGES].copy()
    return first[:PASSAGES].copy()


# --- index
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

    Failures are raised as :class:`newsbot.errors.DataError`.
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


def estimated_containment(similarity: float, one: int, other: int) -> float:
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
    return estimated_containment(estimate, one, other) + ERRORS * error * slope >= CONTAINED
