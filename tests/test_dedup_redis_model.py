"""The near-duplicate index in Redis gives the same answers as a simple model, even if hashes collide."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from newsbot.apps.redis import index as near_redis
from newsbot.apps.redis.index import RedisIndex
from newsbot.dedup.index import Signature
from tests.nearkeys import BLOCK, block_key
from tests.nearmodel import NOW, STEPS, Model, Step, own_hash, signature_of

WINDOW = 2**24


def places_of(doc_id: str, signature: Signature) -> bytes:
    """Replaces the real hashes: a passage is its own hash, and ids have the hashes of passages."""
    return np.append(signature.passages, np.uint64(own_hash(doc_id))).astype(">u4").tobytes()


PLACES = st.tuples(st.integers(14, 22), st.floats(0, 0.99))
"""Growth of the index before the test: level, and share of its buckets that are split."""


@pytest.fixture(scope="module")
def place(redis_url: str) -> Iterator[Callable[[], dict[str, Any]]]:
    """Yield a function that returns the arguments of a new, empty index for one example."""
    namespace = f"test-{secrets.token_hex(8)}"

    def fresh() -> dict[str, str]:
        RedisIndex.empty(redis_url, namespace=namespace)
        return {"where": redis_url, "namespace": namespace}

    yield fresh
    fresh()


@pytest.fixture(autouse=True, scope="module")
def collisions() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(near_redis, "places_of", places_of)
        patch.setattr(near_redis, "MAX_CANDIDATES", 1000)  # the model is unbounded
        patch.setattr(near_redis, "_TEND_EVERY", 2)
        patch.setattr(near_redis, "_SPLITS_AT_ONCE", 900)
        patch.setattr(near_redis, "LOAD", 0.001)
        yield


@settings(deadline=None, max_examples=150)
@given(
    steps=STEPS,
    grown=PLACES,
    turns=st.integers(0, 3),
    offset=st.integers(0, BLOCK - 1),
    size=st.sampled_from([1, 3, 10**6]),
)
def test_answers_are_those_of_a_plain_model(  # noqa: PLR0917
    place: Callable[[], dict[str, Any]],
    steps: list[Step],
    grown: tuple[int, float],
    turns: int,
    offset: int,
    size: int,
) -> None:
    """Two clients, with replaced and expired texts, bucket splits, several parts, and numbers that wrap
    around."""
    model, at = Model(), NOW
    where = place()
    with (
        pytest.MonkeyPatch.context() as patch,
        closing(RedisIndex(**where)) as first,
        closing(RedisIndex(**where)) as second,
    ):
        patch.setattr(near_redis, "PART_SIZE", size)
        prepare(first, grown, turns * WINDOW, offset)
        for step in steps:
            at += step.later
            client = second if step.second else first
            found = client.check_and_insert(f"{step.doc}", "", signature_of(step.hashes), at)
            expected = model.check_and_insert(f"{step.doc}", step.hashes, at)
            assert [near.doc_id for near in found] == expected


def prepare(opened: RedisIndex, grown: tuple[int, float], number: int, offset: int) -> None:
    """Give the index the size of one that had many texts, all of which were removed."""
    level, share = grown
    client, names = opened._client, opened._keys
    number = max(0, number - BLOCK)
    client.rpush(block_key(names, number // BLOCK), *[b""] * (offset + 1))
    number += offset + 1
    split = 0 if level == 22 else int(2**level * share)
    client.hset(names.meta, mapping={"next": number, "tail": number, "level": level, "split": split})
