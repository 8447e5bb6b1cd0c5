"""The near-duplicate index in the data file agrees with a simple model, even if hashes collide."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from newsbot.dedup import sqlite
from newsbot.dedup.index import Signature
from newsbot.dedup.sqlite import SqliteIndex
from tests.nearmodel import HASHES, NOW, STEPS, Model, Step, own_hash, signature_of


def hashes_of(doc_id: str, signature: Signature) -> list[int]:
    """Replaces the real hashes: a passage is its own hash, and ids have the hashes of passages."""
    hashes: list[int] = np.append(signature.passages, np.uint64(own_hash(doc_id))).tolist()
    return hashes


@pytest.fixture(autouse=True, scope="module")
def collisions() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sqlite, "_hashes", hashes_of)
        patch.setattr(sqlite, "MAX_CANDIDATES", 1000)  # the model is unbounded
        patch.setattr(sqlite, "_LOOKED_AT", 1000)
        patch.setattr(sqlite, "_FORGET_EVERY", 2)
        patch.setattr(sqlite, "EVERY", 1)
        patch.setattr(sqlite, "CHUNKS", 2)
        patch.setattr(sqlite, "CHUNK_BITS", 1)
        yield


@settings(deadline=None, max_examples=150)
@given(steps=STEPS, number=st.integers(0, 1), restarts=st.sets(st.integers(0, 40)))
def test_answers_are_those_of_a_plain_model(steps: list[Step], number: int, restarts: set[int]) -> None:
    """Two processes, one of which restarts from time to time, while chunks are merged into buckets."""
    model, at = Model(), NOW
    with TemporaryDirectory() as folder:
        path = Path(folder) / "newsbot.db"
        with closing(SqliteIndex(path)) as first:
            first._database.execute("INSERT INTO sqlite_sequence VALUES ('near_text', ?)", (number,))
            second = SqliteIndex(path)
            for nth, step in enumerate(steps):
                if nth in restarts:
                    second.close()
                    second = SqliteIndex(path)
                at += step.later
                client = second if step.second else first
                found = client.check_and_insert(f"{step.doc}", "", signature_of(step.hashes), at)
                expected = model.check_and_insert(f"{step.doc}", step.hashes, at)
                assert [near.doc_id for near in found] == expected
            second.close()


def test_postings_of_a_hash_without_texts_do_not_shift_those_of_the_next_hash(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A chunk has one hash without texts and one with two, so it has as many postings as hashes."""
    monkeypatch.setattr(sqlite, "EVERY", 4)
    alone, other, shared, own = HASHES[12:16]
    steps = [
        (0, HASHES[10:12]),
        (0, []),  # removes the text: the hash of its id has no text any more
        (1, [alone, other]),
        (2, [shared, own]),
        (3, [shared, HASHES[16]]),
        *((4 + nth, [HASHES[20 + nth]]) for nth in range(4)),  # until the chunk is merged into the buckets
    ]
    with closing(SqliteIndex(tmp_path / "newsbot.db")) as near_index:
        for doc, hashes in steps:
            near_index.check_and_insert(f"{doc}", "", signature_of(tuple(hashes)), NOW)
        found = near_index.check_and_insert("8", "", signature_of((shared, own)), NOW)
    assert [near.doc_id for near in found] == ["2"]
