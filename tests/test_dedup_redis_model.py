"""The near-duplicate index in Redis answers as a plain model does, also where hashes or buckets meet."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from newsbot.dedup.index import KEEP, SHARED
from newsbot.dedup.minhash import PERMUTATIONS, Signature
from newsbot.dedup.redis import RedisIndex, empty, index, keys

NOW = 1_795_000_000
WINDOW = 2**24
ALIKE = np.zeros(PERMUTATIONS, dtype=np.uint32)
"""All texts have one signature: whatever is a candidate comes back."""

TAGS = (0x0000, 0x0001, 0x0100, 0x0101, 0x0180, 0xFFFF)
LOWER = (0, 1, 0x1FFF, 0x3FFF)
HASHES = [tag << 16 | lower for tag in TAGS for lower in LOWER]
"""Few hashes, whose buckets are the same before they are split, and whose bytes look like one another's."""


@dataclass(frozen=True)
class Step:
    """One insertion."""

    doc: int
    hashes: tuple[int, ...]
    later: int  # seconds after the one before
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


def places_of(doc_id: str, signature: Signature) -> bytes:
    """Instead of the real ones: a passage is its own hash, and ids have the hashes of passages."""
    return np.append(signature.passages, np.uint64(own_hash(doc_id))).astype(">u4").tobytes()


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

PLACES = st.tuples(st.integers(14, 22), st.floats(0, 0.99))
"""How far the index has grown before: level, and which share of its buckets is split."""


@pytest.fixture(scope="module")
def place(redis_url: str) -> Iterator[Callable[[], dict[str, str]]]:
    """Make arguments of an index of one example's own."""
    namespace = f"test-{secrets.token_hex(8)}"

    def fresh() -> dict[str, str]:
        empty(redis_url, namespace=namespace)
        return {"where": redis_url, "namespace": namespace}

    yield fresh
    fresh()


@pytest.fixture(autouse=True, scope="module")
def collisions() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(index, "places_of", places_of)
        patch.setattr(index, "MAX_CANDIDATES", 1000)  # the model has no bound
        patch.setattr(index, "_TEND_EVERY", 2)
        patch.setattr(index, "_SPLITS_AT_ONCE", 900)
        patch.setattr(keys, "LOAD", 0.001)
        yield


@settings(deadline=None, max_examples=150)
@given(steps=STEPS, grown=PLACES, turns=st.integers(0, 3), offset=st.integers(0, keys.BLOCK - 1))
def test_answers_are_those_of_a_plain_model(
    place: Callable[[], dict[str, str]],
    steps: list[Step],
    grown: tuple[int, float],
    turns: int,
    offset: int,
) -> None:
    """Two clients, replaced and expired texts, buckets that split meanwhile, numbers that start over."""
    model, at = Model(), NOW
    where = place()
    with closing(RedisIndex(**where)) as first, closing(RedisIndex(**where)) as second:
        prepare(first, grown, turns * WINDOW, offset)
        for step in steps:
            at += step.later
            client = second if step.second else first
            found = client.check_and_insert(f"{step.doc}", "", signature_of(step.hashes), at)
            expected = model.check_and_insert(f"{step.doc}", step.hashes, at)
            assert [near.doc_id for near in found] == expected


def prepare(opened: RedisIndex, grown: tuple[int, float], number: int, offset: int) -> None:
    """Make it an index that has had so many texts: they are gone, and it has grown."""
    level, share = grown
    client, names = opened._client, opened._keys
    number = max(0, number - keys.BLOCK)
    client.rpush(names.block(number // keys.BLOCK), *[b""] * (offset + 1))
    number += offset + 1
    split = 0 if level == 22 else int(2**level * share)
    client.hset(names.meta, mapping={"next": number, "tail": number, "level": level, "split": split})
