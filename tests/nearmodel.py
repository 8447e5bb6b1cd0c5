"""A simple model of the near-duplicate index, and random steps with colliding hashes and postings."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from newsbot.dedup.index import KEEP, PERMUTATIONS, SHARED, Signature

NOW = 1_795_000_000
ALIKE = np.zeros(PERMUTATIONS, dtype=np.uint32)
"""The signature of all texts, so that every candidate is returned."""

UPPER = (0x0000, 0x0001, 0x0100, 0x0101, 0x0180, 0xFFFF)
LOWER = (0, 1, 0x1FFF, 0x3FFF)
HASHES = [upper << 16 | lower for upper in UPPER for lower in LOWER]
"""A few hashes that share buckets and have similar bytes."""


@dataclass(frozen=True)
class Step:
    """One insertion."""

    doc: int
    hashes: tuple[int, ...]
    later: int  # seconds after the previous step
    second: bool  # by the second client


@dataclass
class Model:
    """Texts as (id, hashes, time), oldest first."""

    texts: list[tuple[str, tuple[int, ...], int]] = field(default_factory=list)

    def check_and_insert(self, doc: str, hashes: tuple[int, ...], at: int) -> list[str]:
        self.texts = [text for text in self.texts if text[0] != doc]
        shares: dict[str, int] = {}
        for one in hashes:
            for name, its, _ in self.texts:
                shares[name] = shares.get(name, 0) + its.count(one)
        found = [
            name for name, _, came in self.texts if shares.get(name, 0) >= SHARED and came >= at - int(KEEP)
        ]
        if hashes:
            self.texts.append((doc, (*hashes, own_hash(doc)), at))
        return found


def own_hash(doc_id: str) -> int:
    return HASHES[int(doc_id) % len(HASHES)]


def signature_of(hashes: tuple[int, ...]) -> Signature:
    passages: NDArray[np.uint64] = np.array(hashes, dtype=np.uint64)
    return Signature(ALIKE, 400 if hashes else 0, passages)


STEPS = st.lists(
    st.builds(
        Step,
        st.integers(0, 40),
        st.lists(st.sampled_from(HASHES), unique=True, max_size=5).map(tuple),
        st.sampled_from([0, 1, int(KEEP) // 3, int(KEEP) + 1]),
        st.booleans(),
    ),
    max_size=40,
)
