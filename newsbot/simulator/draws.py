"""Random numbers that are a function of what they are for.

The k-th draw of a stream is the hash of the stream's key and k (the output function of SplitMix64: Steele,
Lea and Flood, 2014), not the next state of a generator. So a page's history does not depend on how many
other pages there are, runs do not depend on the order in which threads take them, and another model of
the same system can ask for the same draws.
"""

from __future__ import annotations

import hashlib
from math import log

import numpy as np

from newsbot.simulator.compiled import compiled

_STEP = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)
_30, _27, _31, _32, _11 = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(32), np.uint64(11)
_ONE = np.uint64(1)
_UNIT = 2.0**-53


def stream(*words: object) -> np.uint64:
    """Return the key of the stream that the words name, such as a seed and what it is drawn for."""
    text = "/".join(map(str, words)).encode()
    return np.uint64(int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "big"))


@compiled
def draw(key: np.uint64, number: int) -> np.uint64:
    """Return draw ``number`` of the stream: 64 even bits, which may serve as the key of a stream below it."""
    mixed = key + (np.uint64(number) + _ONE) * _STEP
    mixed = (mixed ^ (mixed >> _30)) * _FIRST
    mixed = (mixed ^ (mixed >> _27)) * _SECOND
    return mixed ^ (mixed >> _31)


@compiled
def between(key: np.uint64, number: int, low: int, high: int) -> int:
    """Return a whole number, uniform on low..high, both included (at most 2^32 of them)."""
    span = np.uint64(high - low + 1)
    return low + int(((draw(key, number) >> _32) * span) >> _32)


@compiled
def unit(key: np.uint64, number: int) -> float:
    """Return a number, uniform above 0 up to 1."""
    return (np.float64(draw(key, number) >> _11) + 1.0) * _UNIT


@compiled
def exponential(key: np.uint64, number: int, mean: float) -> float:
    """Return an exponential gap."""
    return -log(unit(key, number)) * mean
