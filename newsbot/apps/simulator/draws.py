"""Random numbers that depend only on their purpose.

Draw k of a stream is a hash of k and the key of the stream. It does not depend on earlier draws. So the
history of a page does not depend on the number of pages, a run does not depend on the order of the threads,
and another model can use the same draws. The hash is the output function of SplitMix64 (Steele, Lea and
Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014).
"""

from __future__ import annotations

import hashlib
from math import log

import numpy as np

from newsbot.apps.simulator.requirements import compiled

# The constants of SplitMix64: the increment, which is 2^64 divided by the golden ratio, and two multipliers.
_STEP = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)
_30, _27, _31, _32, _11 = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(32), np.uint64(11)
_ONE = np.uint64(1)
# A float has 53 bits of precision.
_UNIT = 2.0**-53


def stream(*words: object) -> np.uint64:
    """Return the key of the stream that these words name, for example a seed and a purpose."""
    text = "/".join(map(str, words)).encode()
    return np.uint64(int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "big"))


@compiled
def draw(key: np.uint64, number: int) -> np.uint64:
    """Return draw ``number`` of a stream: 64 random bits. A draw can be the key of another stream."""
    mixed = key + (np.uint64(number) + _ONE) * _STEP
    mixed = (mixed ^ (mixed >> _30)) * _FIRST
    mixed = (mixed ^ (mixed >> _27)) * _SECOND
    return mixed ^ (mixed >> _31)


@compiled
def between(key: np.uint64, number: int, low: int, high: int) -> int:
    """Return a uniform whole number from ``low`` to ``high``, both included (at most 2^32 values)."""
    # The upper 32 bits are scaled to the span by a multiplication, which is faster than a modulo.
    span = np.uint64(high - low + 1)
    return low + int(((draw(key, number) >> _32) * span) >> _32)


@compiled
def unit(key: np.uint64, number: int) -> float:
    """Return a uniform number above 0 and up to 1, so that its logarithm is finite."""
    return (np.float64(draw(key, number) >> _11) + 1.0) * _UNIT


@compiled
def exponential(key: np.uint64, number: int, mean: float) -> float:
    """Return an exponentially distributed number with this mean."""
    return -log(unit(key, number)) * mean
