"""MinHash signatures of texts, compatible with datasketch.

A text is treated as the set of its runs of three words (shingles). Its signature holds the smallest value
for each of 128 permutations of the hashed shingles. The share of equal values in two signatures estimates the
Jaccard similarity of the sets (A. Broder, On the resemblance and containment of documents, 1997; standard
error .044 at .5). The values depend on everything in :data:`SCHEME`.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from hashlib import blake2b
from importlib import import_module
from importlib.util import find_spec, module_from_spec
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from newsbot.text import words
from newsbot.text.words import token_bytes, tokens

__all__ = ["text_key", "tokens"]

_KEY_BYTES = 16  # among 10**9 texts, two different ones share a key with a probability of 10**-21


def text_key(text: str) -> str:
    """Return the key of ``text`` (without its title), 32 hexadecimal digits.

    All texts without a word (empty or punctuation only) share one key.
    """
    return blake2b(b" ".join(token_bytes(text)), digest_size=_KEY_BYTES).hexdigest()


_PACKAGE = "datasketch"


def affine32(count: int, seed: int) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    """Return factors and offsets of ``count`` permutations as datasketch's scheme affine32 draws them."""
    # An empty package in sys.modules lets this one module be imported without the package's ``__init__``,
    # which imports many others.
    before = _loaded()
    spec = find_spec(_PACKAGE)
    if spec is None:
        raise ModuleNotFoundError(f"No module named {_PACKAGE!r}", name=_PACKAGE)
    if _PACKAGE not in before:
        sys.modules[_PACKAGE] = module_from_spec(spec)
    try:
        made = import_module(f"{_PACKAGE}.minhash").MinHash(num_perm=count, seed=seed, scheme="affine32")
    finally:
        for name in _loaded() - before:  # a later import then loads the complete package
            del sys.modules[name]
    factors, offsets = made.permutations.copy()
    return factors, offsets


def _loaded() -> set[str]:
    return {name for name in sys.modules if name.partition(".")[0] == _PACKAGE}


PERMUTATIONS = 128
SEED = 1
SHINGLE = 3
"""Number of words in a shingle."""
MIN_SHINGLES = 23
"""Minimum number of distinct shingles to compare a text by similarity (25 words give 23 shingles)."""
LEAST_SHINGLES = 4
"""Minimum number of distinct shingles to find identical texts of a shorter text."""

SCHEME = f"affine32 seed={SEED} permutations={PERMUTATIONS} shingles={SHINGLE}w-crc32 words={words.VERSION}"
"""Parameters that two signatures must share to be comparable. An index stores it and refuses another."""

BITS = 4
"""Low bits of each value that an index stores: 64 bytes per text instead of 512 (Li and König, b-bit minwise
hashing, 2010). Values agree by chance with a probability of 1/16; the estimate corrects for that."""

_CHUNK = 4096  # shingles permuted at once: 2 MB, which stays in the processor's cache
_MULTIPLIERS = np.array([0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9], dtype=np.uint64)
_UPPER_HALF = np.uint64(32)
_FACTORS, _OFFSETS = (row[:, np.newaxis] for row in affine32(PERMUTATIONS, SEED))
_NOTHING = np.uint32(0xFFFFFFFF)
"""The values of an empty set."""
_MIX = tuple(map(np.uint32, (16, 0x85EBCA6B, 13, 0xC2B2AE35, 16)))


@dataclass(frozen=True, slots=True, eq=False)
class Signature:
    """The signature of a text, with the hashes that it is looked up by."""

    values: NDArray[np.uint32]
    """The smallest value of each permutation."""
    shingles: int
    """Number of distinct shingles of the text."""
    passages: NDArray[np.uint64]
    """Hashes for the lookup: the lowest hashes of its runs, or two hashes of the whole of a short text."""

    @property
    def comparable(self) -> bool:
        """False for texts that are too short to be indexed."""
        return self.shingles >= LEAST_SHINGLES

    def packed(self) -> bytes:
        """Return the low :data:`BITS` bits of each value, two values per byte."""
        return (self.values[0::2] << 4 | self.values[1::2] & 0xF).astype(np.uint8).tobytes()


def signature(text: str) -> Signature:
    """Return the signature of ``text`` (without its title), bit by bit as datasketch computes it."""
    sums = _shingle_sums(text)
    hashes = _distinct(sums)
    values = np.full(PERMUTATIONS, _NOTHING, dtype=np.uint32)
    # all shingles at once would need 512 bytes of memory for each
    for start in range(0, len(hashes), _CHUNK):
        np.minimum(values, _least(hashes[start : start + _CHUNK]), out=values)
    short = len(hashes) < MIN_SHINGLES
    return Signature(values, len(hashes), _whole(sums) if short else lowest_runs(sums, SHINGLE))


def _whole(sums: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return two hashes of a whole text, sorted. Short texts match if they share both."""
    digest = blake2b(sums.astype("<u8").tobytes(), digest_size=16).digest()
    return np.sort(np.frombuffer(digest, dtype="<u8").astype(np.uint64))


def _least(hashes: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """Return the smallest value of each permutation, as datasketch's scheme affine32 defines it.

    Hashes are mixed by MurmurHash3's last step, then permuted by ``a * h + b`` modulo 2**32.
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
    """Return the hashes of the distinct shingles of ``text``, sorted. A shorter text is one shingle."""
    return _distinct(_shingle_sums(text))


def _shingle_sums(text: str) -> NDArray[np.uint64]:
    """Return a number for each shingle in turn, whose upper half is its hash."""
    tokens = words.token_bytes(text)
    if not tokens:
        return np.empty(0, dtype=np.uint64)
    each = np.fromiter(map(crc32, tokens), dtype=np.uint64, count=len(tokens))
    if len(each) < SHINGLE:
        each = np.concatenate((each, np.zeros(SHINGLE - len(each), dtype=np.uint64)))
    count = len(each) - SHINGLE + 1
    sums: NDArray[np.uint64] = each[:count] * _MULTIPLIERS[0]
    for place in range(1, SHINGLE):
        sums += each[place : place + count] * _MULTIPLIERS[place]
    return sums


def _distinct(sums: NDArray[np.uint64]) -> NDArray[np.uint32]:
    """Return the distinct hashes in the upper halves of ``sums``, sorted."""
    if not len(sums):
        return np.empty(0, dtype=np.uint32)
    hashes = (sums >> _UPPER_HALF).astype(np.uint32)
    hashes.sort()
    first = np.empty(len(hashes), dtype=np.bool_)
    first[0] = True
    np.not_equal(hashes[1:], hashes[:-1], out=first[1:])
    distinct: NDArray[np.uint32] = hashes[first]
    return distinct


def similarity(one: Signature, other: Signature) -> float:
    """Return the estimated Jaccard similarity of two texts, 0 to 1."""
    return float(np.count_nonzero(one.values == other.values)) / PERMUTATIONS


def exact(one: NDArray[np.uint32], other: NDArray[np.uint32]) -> tuple[float, float]:
    """Return the Jaccard similarity and the containment of two results of :func:`shingle_hashes`."""
    both = len(np.intersect1d(one, other, assume_unique=True))
    smaller = min(len(one), len(other))
    return (both / (len(one) + len(other) - both), both / smaller) if smaller else (0.0, 0.0)


def similarities(packed: bytes, others: list[bytes]) -> NDArray[np.float64]:
    """Return the estimated Jaccard similarity of one packed signature and each of the others."""
    mine = np.frombuffer(packed, dtype=np.uint8)
    theirs = np.frombuffer(b"".join(others), dtype=np.uint8).reshape(len(others), len(packed))
    # each byte holds two values, one in each half
    differing = mine ^ theirs
    equal = np.count_nonzero(differing & 0xF0 == 0, axis=1) + np.count_nonzero(differing & 0x0F == 0, axis=1)
    chance = 2.0**-BITS
    estimates: NDArray[np.float64] = (equal / PERMUTATIONS - chance) / (1.0 - chance)
    return estimates.clip(0.0, 1.0)


RUN = 5
"""Number of words in a run."""
PASSAGES = 16
"""Maximum number of runs that a text is indexed under."""

_STEP = np.uint64(0xD6E8FEB86659FD93)  # odd: the sums of a run's two ends make one hash
_FIRST = 4 * PASSAGES
"""Number of lowest hashes that are checked for repetitions."""


def lowest_runs(sums: NDArray[np.uint64], shingle: int) -> NDArray[np.uint64]:
    """Return the lowest distinct hashes of runs, at most :data:`PASSAGES`, in order.

    ``sums`` holds a hash for each run of ``shingle`` words, in text order. The upper bits are better
    distributed.
    """
    # the first and the last shingle of a run together contain all of its words
    apart = RUN - shingle
    runs = sums[:-apart] * _STEP
    runs += sums[apart:]
    runs.sort()
    first = runs[:_FIRST]
    if not np.all(first[1:] != first[:-1]):  # a text that repeats itself
        return np.unique(runs)[:PASSAGES].copy()
    return first[:PASSAGES].copy()
