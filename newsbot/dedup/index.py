"""The near-duplicate index: which texts seen lately resemble this one.

Locality-sensitive hashing by bands: two signatures that agree in all values of a band are candidates;
candidates are then compared by their stored signatures, so that only real resemblance comes back.
With 16 bands of 4 values a pair of similarity .5 / .6 / .7 / .8 is found with a chance of
.64 / .89 / .99 / 1.0, and texts in the same story find each other through third ones as well.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from newsbot.dedup.minhash import SCHEME, Signature, similarities
from newsbot.dedup.record import Record

BANDS = 16
ROWS = 4
THRESHOLD = 0.5
"""Estimated similarity from which a text comes back as near …"""
CONTAINED = 0.55
"""… or the estimated share of the shorter text that stands in the longer one, both within a wide margin of
what decides (:mod:`newsbot.dedup.decision`), which looks at the texts …"""
LEAST = 0.12
"""… but not below this similarity: by chance texts without anything in common come to .09."""
MAX_CANDIDATES = 200
"""The newest texts of one bucket that are compared; a template may fill a bucket with any number."""
KEEP = 30 * 86400.0
"""Seconds after which a text is forgotten here: news is copied within days."""
_MULTIPLIERS = np.array(  # odd 64-bit numbers: multilinear hashing of a band's four values
    [0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0xD6E8FEB86659FD93], dtype=np.uint64
)
_STEP = np.uint64(0xD6E8FEB86659FD93)
_STEPS = np.arange(1, BANDS + 1, dtype=np.uint64) * _STEP  # equal values of two bands are not one place

BUCKETS = f"{SCHEME} bands={BANDS}x{ROWS} bits=4"
"""What two indexes must share for their answers to be the same."""


@dataclass(frozen=True, slots=True)
class Near:
    """A text that resembles the one asked about."""

    doc_id: str
    source: str
    similarity: float
    """Estimated Jaccard similarity of the shingles, 0 to 1."""
    contained: float = field(default=0.0, compare=False)
    """Estimated share of the shorter text's shingles that the longer one has too."""


class NearIndex(Protocol):
    """Texts by resemblance. Any number of processes may share one; faults are :class:`DataError`."""

    def check_and_insert(self, doc_id: str, source: str, signature: Signature, at: float) -> list[Near]:
        """Return the texts like this one, best first, and add it, in one atomic step.

        Of two processes that insert like texts at the same instant, at least one sees the other.
        The same ``doc_id`` again replaces what was kept under it and never comes back itself. ``at``
        (POSIX seconds) is the time of the fetch, which no site can forge: texts that came more than
        ``KEEP`` seconds before are forgotten.
        A signature that is not comparable is not kept, and nothing resembles it.
        """

    def count(self) -> int:
        """How many texts are kept."""

    def close(self) -> None:
        """Release the backend."""


def band_hashes(signature: Signature) -> NDArray[np.uint64]:
    """Return the hash of each band's values; the upper bits are the good ones."""
    bands = signature.values[: BANDS * ROWS].astype(np.uint64).reshape(BANDS, ROWS)
    hashes: NDArray[np.uint64] = (bands * _MULTIPLIERS).sum(axis=1, dtype=np.uint64)
    return hashes


def posting_hashes(doc_id: str, signature: Signature) -> NDArray[np.uint64]:
    """Return the hashes under which a text is noted: one a band, the last for its id.

    A text that is not comparable has only the last. The upper bits are the good ones.
    """
    digest = blake2b(doc_id.encode("utf8", "surrogatepass"), digest_size=8).digest()
    own = np.array([int.from_bytes(digest)], dtype=np.uint64)
    return np.concatenate((band_hashes(signature) + _STEPS, own)) if signature.comparable else own


def near_of(mine: Signature, records: list[Record]) -> list[Near]:
    """Compare candidates by their signatures, best first, in the given order among equals.

    A candidate that agrees in no band came by a chance agreement of hashes.
    """
    packed, theirs = mine.packed(), [record.packed for record in records]
    likely = zip(records, similarities(packed, theirs).tolist(), _agreeing(packed, theirs), strict=True)
    near = [
        Near(record.doc_id, record.source, estimate, containment(estimate, mine.shingles, record.shingles))
        for record, estimate, agrees in likely
        if agrees and estimate >= LEAST
    ]
    near = [one for one in near if one.similarity >= THRESHOLD or one.contained >= CONTAINED]
    return sorted(near, key=lambda one: -one.similarity)


def containment(similarity: float, one: int, other: int) -> float:
    """Return the share of the smaller of two sets that is in the larger, from their similarity and sizes."""
    both = similarity * (one + other) / (1.0 + similarity)
    return min(1.0, both / max(1, min(one, other)))


def _agreeing(packed: bytes, theirs: list[bytes]) -> NDArray[np.bool_]:
    """Whether each agrees in a band: four values of four bits are two bytes."""
    mine = np.frombuffer(packed, dtype="<u2")[:BANDS]
    others = np.frombuffer(b"".join(theirs), dtype="<u2").reshape(len(theirs), -1)[:, :BANDS]
    agree: NDArray[np.bool_] = (others == mine).any(axis=1)
    return agree
