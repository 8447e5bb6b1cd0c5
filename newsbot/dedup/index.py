"""The interface of the near-duplicate index, which finds the recent texts that resemble a new one.

A text is indexed under the hashes of up to 16 of its passages, which are runs of five words
(:mod:`newsbot.dedup.minhash`). A short text is indexed under two hashes of the whole text. A stored text that
shares two hashes with the new one is a candidate. Candidates are then compared by their stored signatures,
and only the similar ones are returned: these are the *near texts*.

In a test (``python -m benchmarks.dedup``), all of 1,614 real pairs with a similarity of .5 or more became
candidates, and also nearly all pairs of which one text was cut from the other or built around it. Banding
(LSH on signature values) misses most pairs of the second kind.
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
"""Minimum number of hashes that a candidate shares with the new text. A single passage may be standard
wording: hundreds in a million texts have it."""
THRESHOLD = 0.5
"""Estimated Jaccard similarity from which a text is near."""
CONTAINED = 0.62
"""A text below :data:`THRESHOLD` is near if its containment may be this high, given the estimate's error.
:mod:`newsbot.dedup.decision` makes the final decision from the texts."""
ERRORS = 2.0
"""Number of standard errors that are added to an estimated containment before it is compared with
:data:`CONTAINED`."""
LEAST = 0.04
"""Minimum estimated Jaccard similarity of any near text."""
MAX_CANDIDATES = 32
"""Maximum number of texts that are compared for each hash, the newest first. One template may produce any
number of texts with the same passage."""
KEEP = 30 * 86400.0
"""Default of :attr:`NearIndex.keep`, in seconds. News is copied within days."""
# An odd factor. The lowest hashes have similar upper bits, and their products with this factor do not.
_STEP = np.uint64(0xD6E8FEB86659FD93)

BUCKETS = f"{SCHEME} passages={PASSAGES}x{RUN}w bits={BITS}"
"""Parameters that two indexes must share to give the same results."""


@dataclass(frozen=True, slots=True)
class Near:
    """A near text: a stored text that resembles the given one."""

    doc_id: str
    """Id of the text in the index; the crawl uses the canonical URL."""
    source: str
    """Domain of the rule that the text was crawled by."""
    similarity: float
    """Estimated Jaccard similarity of the shingles, 0 to 1, at most what the lengths of the texts allow."""
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
        """Seconds after which a text is forgotten. If processes have different values, the lowest applies."""

    def check_and_insert(self, doc_id: str, source: str, signature: Signature, at: float) -> list[Near]:
        """Insert a text and return its near texts, the most similar first, in one atomic step.

        If two processes insert similar texts at the same time, at least one of them finds the other's text.
        An earlier text with the same ``doc_id`` is replaced and never returned. ``at`` is the time of the
        fetch (POSIX seconds), because a site cannot forge this time. Texts that were fetched more than
        ``keep`` seconds before ``at`` are forgotten. A short text is near to identical texts only. A text
        whose signature is not comparable is not stored and has no near texts.
        """

    def count(self) -> int:
        """Return the number of stored texts."""

    def close(self) -> None:
        """Close the backend."""


def posting_hashes(doc_id: str, signature: Signature) -> NDArray[np.uint64]:
    """Return the hashes under which a text is indexed: one for each passage, then one for its id.

    A text that is not comparable has only the hash of its id. A backend that needs only some bits of a hash
    takes the upper ones, because they are better distributed than the lower ones.
    """
    digest = blake2b(doc_id.encode("utf8", "surrogatepass"), digest_size=8).digest()
    own = np.frombuffer(digest, dtype=">u8").astype(np.uint64)
    return np.concatenate((signature.passages * _STEP, own)) if signature.comparable else own


def near_of(mine: Signature, records: list[Record]) -> list[Near]:
    """Return those of the candidates ``records`` that are near to the text ``mine``, the most similar first.

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
    """Return the highest possible Jaccard similarity of two sets of these sizes.

    It is reached if the larger set contains the smaller one. If an estimate is above it, the estimate is
    wrong, and this bound is the most likely value.
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
    """Return True if the containment may be :data:`CONTAINED` or more, given the error of the estimate.

    The error is the standard error of the share of agreeing signature values, carried over to the
    containment by its derivative.
    """
    if estimate < LEAST:
        return False
    # Values cut to a few bits also agree by chance. The standard error of a share is corrected for this.
    chance = 2.0**-BITS
    agree = estimate * (1.0 - chance) + chance
    error = sqrt(agree * (1.0 - agree) / PERMUTATIONS) / (1.0 - chance)
    slope = (one + other) / max(1, min(one, other)) / (1.0 + estimate) ** 2
    return containment(estimate, one, other) + ERRORS * error * slope >= CONTAINED
