"""The interface of the near-duplicate index, which finds the recent texts that resemble a new one.

A text is indexed under a few of its passages (:mod:`newsbot.dedup.minhash`), a short text under two hashes of
the whole. A text that shares two of these is a candidate. Candidates are then compared by their stored
signatures, so that only similar texts are returned. All of 1,614 real pairs with a similarity of .5 or more
are found as candidates, and nearly all texts that were cut from others or built around them. Banding (LSH on
signature values) misses most of the latter (``python -m benchmarks.dedup``).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from hashlib import blake2b
from math import sqrt
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from newsbot.dedup.minhash import BITS, PASSAGES, PERMUTATIONS, RUN, SCHEME, Signature, similarities
from newsbot.dedup.record import MAX_SHINGLES, Record

SHARED = 2
"""Minimum number of passages that a candidate shares. A single passage may be standard wording, which
hundreds of a million texts have."""
THRESHOLD = 0.5
"""Minimum estimated Jaccard similarity of a near text."""
CONTAINED = 0.62
"""Minimum estimated containment of a near text below :data:`THRESHOLD`, after allowing for the error of the
estimate. :mod:`newsbot.dedup.decision` makes the final decision from the texts."""
ERRORS = 2.0
"""Standard errors of the containment estimate that are allowed for."""
LEAST = 0.04
"""Minimum estimated similarity; texts below it are never near."""
MAX_CANDIDATES = 32
"""Maximum number of texts compared per passage, the newest first. A template may produce any number."""
KEEP = 30 * 86400.0
"""Default of ``keep``: seconds after which an index forgets a text. News is copied within days."""
_STEP = np.uint64(0xD6E8FEB86659FD93)  # odd: the lowest hashes are alike in their upper bits, these are not

BUCKETS = f"{SCHEME} passages={PASSAGES}x{RUN}w bits={BITS}"
"""Parameters that two indexes must share to give the same results."""


@dataclass(frozen=True, slots=True)
class Near:
    """A text that resembles the given one."""

    doc_id: str
    source: str
    similarity: float
    """Estimated Jaccard similarity of the shingles, 0 to 1, limited to what the text lengths allow."""
    contained: float = field(default=0.0, compare=False)
    """Estimated share of the shorter text's shingles that the longer one has too."""


class NearIndex(Protocol):
    """An index of texts by similarity. Any number of processes may share it.

    Failures are raised as :class:`DataError`.
    """

    @property
    def place(self) -> str:
        """Name of the data's place in messages: ``data file``, or the product name of the server."""

    @property
    def is_local(self) -> bool:
        """True for the embedded data file."""

    @property
    def keep(self) -> float:
        """Seconds after which this process forgets a text. If processes differ, the lowest value applies."""

    def check_and_insert(self, doc_id: str, source: str, signature: Signature, at: float) -> list[Near]:
        """Return the texts that resemble this one, best first, and insert it, in one atomic step.

        If two processes insert similar texts at the same time, at least one finds the other's. An earlier
        text with the same ``doc_id`` is replaced and never returned. ``at`` (POSIX seconds) is the time of
        the fetch, which a site cannot forge; texts fetched more than ``keep`` seconds earlier are forgotten.
        A short text matches only identical texts. A signature that is not comparable is not stored and has
        no near texts.
        """

    def count(self) -> int:
        """Return the number of stored texts."""

    def close(self) -> None:
        """Close the backend."""


def posting_hashes(doc_id: str, signature: Signature) -> NDArray[np.uint64]:
    """Return the hashes under which a text is indexed: one for each passage, then one for its id.

    A text that is not comparable has only the hash of its id. The upper bits are better distributed.
    """
    digest = blake2b(doc_id.encode("utf8", "surrogatepass"), digest_size=8).digest()
    own = np.frombuffer(digest, dtype=">u8").astype(np.uint64)
    return np.concatenate((signature.passages * _STEP, own)) if signature.comparable else own


def near_of(mine: Signature, records: list[Record]) -> list[Near]:
    """Compare candidates by their signatures. Return the near ones, the most similar first.

    Equally similar texts keep the order of ``records``.
    """
    estimates = similarities(mine.packed(), [record.packed for record in records]).tolist()
    shingles = min(mine.shingles, MAX_SHINGLES)  # as stored in its record
    near = []
    for record, agreement in zip(records, estimates, strict=True):
        estimate = min(agreement, most_alike(shingles, record.shingles))
        if estimate >= THRESHOLD or _may_be_cut(estimate, shingles, record.shingles):
            contained = containment(estimate, shingles, record.shingles)
            near.append(Near(record.doc_id, record.source, estimate, contained))
    return sorted(near, key=lambda one: -one.similarity)


def most_alike(one: int, other: int) -> float:
    """Return the maximum Jaccard similarity of sets of these sizes: the larger contains the smaller.

    An estimate above this bound is noise. The bound is then the most likely value.
    """
    return min(one, other) / max(1, one, other)


def containment(similarity: float, one: int, other: int) -> float:
    """Return the share of the smaller set that the larger one contains, from similarity and sizes."""
    # J = both / (one + other - both), solved for the size of the intersection
    both = similarity * (one + other) / (1.0 + similarity)
    return min(1.0, both / max(1, min(one, other)))


def _may_be_cut(estimate: float, one: int, other: int) -> bool:
    """Return True if the containment may be :data:`CONTAINED` or more, given the error of the estimate.

    The error is the standard error of the share of agreeing signature values, carried over to the
    containment by its derivative.
    """
    if estimate < LEAST:
        return False
    # Truncated values also agree by chance. The error is that of a binomial share, corrected for this.
    chance = 2.0**-BITS
    agree = estimate * (1.0 - chance) + chance
    error = sqrt(agree * (1.0 - agree) / PERMUTATIONS) / (1.0 - chance)
    slope = (one + other) / max(1, min(one, other)) / (1.0 + estimate) ** 2
    return containment(estimate, one, other) + ERRORS * error * slope >= CONTAINED
