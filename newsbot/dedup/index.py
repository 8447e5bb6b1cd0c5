"""The interface of the near-duplicate index: which texts seen lately resemble this one.

A text is noted under a few of its passages (:mod:`newsbot.dedup.minhash`). What shares two of them is a
candidate; candidates are then compared by their stored signatures, so that only real resemblance comes back.
All of 1,614 real pairs of similarity .5 and more are candidates, and nearly all texts that were cut from
others or built around them, most of which bands of signature values miss (``python -m benchmarks.dedup``).
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
"""Passages that a candidate shares: one may be a formula of the trade, which at 10^6 texts hundreds have."""
THRESHOLD = 0.5
"""Estimated similarity from which a text comes back as near …"""
CONTAINED = 0.62
"""… or the estimated share of the shorter text that stands in the longer one, less what the estimate may be
wrong by. What decides (:mod:`newsbot.dedup.decision`) looks at the texts …"""
ERRORS = 2.0
"""… standard errors of that estimate …"""
LEAST = 0.04
"""… but not below this similarity, which is as good as none."""
MAX_CANDIDATES = 32
"""The newest texts of one passage that are compared; a template may have any number."""
KEEP = 30 * 86400.0
"""Seconds after which a text is forgotten here, unless an index is told else: news is copied within days."""
_STEP = np.uint64(0xD6E8FEB86659FD93)  # odd: the lowest hashes are alike in their upper bits, these are not

BUCKETS = f"{SCHEME} passages={PASSAGES}x{RUN}w bits={BITS}"
"""What two indexes must share for their answers to be the same."""


@dataclass(frozen=True, slots=True)
class Near:
    """A text that resembles the one asked about."""

    doc_id: str
    source: str
    similarity: float
    """Estimated Jaccard similarity of the shingles, 0 to 1; never more than such lengths allow."""
    contained: float = field(default=0.0, compare=False)
    """Estimated share of the shorter text's shingles that the longer one has too."""


class NearIndex(Protocol):
    """Texts by resemblance. Any number of processes may share one; faults are :class:`DataError`."""

    @property
    def place(self) -> str:
        """What people call the place of the data: ``data file`` or the server's product."""

    @property
    def is_local(self) -> bool:
        """True for the embedded data file."""

    @property
    def keep(self) -> float:
        """Seconds after which this process forgets a text; of several that differ the least counts."""

    def check_and_insert(self, doc_id: str, source: str, signature: Signature, at: float) -> list[Near]:
        """Return the texts like this one, best first, and add it, in one atomic step.

        Of two processes that insert like texts at the same instant, at least one sees the other.
        The same ``doc_id`` again replaces what was kept under it and never comes back itself. ``at``
        (POSIX seconds) is the time of the fetch, which no site can forge: texts that came more than
        ``keep`` seconds before are forgotten.
        A signature that is not comparable is not kept, and nothing resembles it.
        """

    def count(self) -> int:
        """How many texts are kept."""

    def close(self) -> None:
        """Release the backend."""


def posting_hashes(doc_id: str, signature: Signature) -> NDArray[np.uint64]:
    """Return the hashes under which a text is noted: one a passage, the last for its id.

    A text that is not comparable has only the last. The upper bits are the good ones.
    """
    digest = blake2b(doc_id.encode("utf8", "surrogatepass"), digest_size=8).digest()
    own = np.frombuffer(digest, dtype=">u8").astype(np.uint64)
    return np.concatenate((signature.passages * _STEP, own)) if signature.comparable else own


def near_of(mine: Signature, records: list[Record]) -> list[Near]:
    """Compare candidates by their signatures, best first, in the given order among equals."""
    estimates = similarities(mine.packed(), [record.packed for record in records]).tolist()
    shingles = min(mine.shingles, MAX_SHINGLES)  # as its own record will say
    near = []
    for record, agreement in zip(records, estimates, strict=True):
        estimate = min(agreement, most_alike(shingles, record.shingles))
        if estimate >= THRESHOLD or _may_be_cut(estimate, shingles, record.shingles):
            contained = containment(estimate, shingles, record.shingles)
            near.append(Near(record.doc_id, record.source, estimate, contained))
    return sorted(near, key=lambda one: -one.similarity)


def most_alike(one: int, other: int) -> float:
    """Return the greatest Jaccard similarity that sets of such sizes can have: the smaller within the larger.

    An estimate above it is wrong by its own noise. Of what the sizes allow this bound is then the likeliest.
    """
    return min(one, other) / max(1, one, other)


def containment(similarity: float, one: int, other: int) -> float:
    """Return the share of the smaller of two sets that is in the larger, from their similarity and sizes."""
    both = similarity * (one + other) / (1.0 + similarity)
    return min(1.0, both / max(1, min(one, other)))


def _may_be_cut(estimate: float, one: int, other: int) -> bool:
    """Whether one text may have :data:`CONTAINED` of the other, as far as the estimate can be trusted.

    The error of a share of agreeing places, and by its derivative that of the containment.
    """
    if estimate < LEAST:
        return False
    chance = 2.0**-BITS
    agree = estimate * (1.0 - chance) + chance
    error = sqrt(agree * (1.0 - agree) / PERMUTATIONS) / (1.0 - chance)
    slope = (one + other) / max(1, min(one, other)) / (1.0 + estimate) ** 2
    return containment(estimate, one, other) + ERRORS * error * slope >= CONTAINED
