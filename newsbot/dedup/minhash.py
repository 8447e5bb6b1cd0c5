"""MinHash signatures of texts, compatible with datasketch.

A text is treated as the set of its runs of three words (shingles). Its signature holds the smallest value
for each of 128 permutations of the hashed shingles. The share of equal values in two signatures estimates the
Jaccard similarity of the sets (A. Broder, On the resemblance and containment of documents, 1997). The
standard error is .044 at a similarity of .5. Two signatures can be compared only if all parameters in
:data:`SCHEME` are equal.

The signature also holds hashes of *passages*, which are runs of five words. The index uses them to find
similar texts (:mod:`newsbot.dedup.index`).
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from importlib import import_module
from importlib.util import find_spec, module_from_spec
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
