"""What only the embedded near-duplicate index has; the rest is in tests/contracts/test_near_index.py."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from newsbot.dedup import index as index_module
from newsbot.dedup.index import KEEP, MAX_CANDIDATES, SqliteIndex
from newsbot.dedup.minhash import signature, similarities
from newsbot.errors import SchemaError
from tests.test_dedup_minhash import text_of

NOW = 1_700_000_000.0


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "newsbot.db"


@pytest.fixture
def index(path: Path) -> Iterator[SqliteIndex]:
    opened = SqliteIndex(path)
    yield opened
    opened.close()


def buckets_of(path: Path) -> int:
    with sqlite3.connect(path) as database:
        count = int(database.execute("SELECT count(*) FROM near_band").fetchone()[0])
    database.close()
    return count


def test_the_same_document_again_replaces_itself(index: SqliteIndex, path: Path) -> None:
    first, second = " ".join(text_of(1)), " ".join(text_of(2))
    for text in (first, first, second):
        index.check_and_insert("doc", "a.org", signature(text), NOW)
        assert (index.count(), buckets_of(path)) == (1, 16)


def test_a_text_that_became_short_is_taken_out(index: SqliteIndex, path: Path) -> None:
    index.check_and_insert("doc", "a.org", signature(" ".join(text_of(1))), NOW)
    assert index.check_and_insert("doc", "a.org", signature("Short now."), NOW) == []
    assert (index.count(), buckets_of(path)) == (0, 0)


def test_what_came_long_ago_is_forgotten_and_cleared_away(index: SqliteIndex, path: Path) -> None:
    same = signature(" ".join(text_of(1)))
    for turn in range(3):
        index.check_and_insert(f"old {turn}", "a.org", same, NOW + turn)
    for number in range(100):
        index.check_and_insert(
            f"{number}", "a.org", signature(" ".join(text_of(10 + number))), NOW + 3 * KEEP
        )
    assert (index.count(), buckets_of(path)) == (100, 1600)


def test_a_template_fills_no_more_than_its_share_of_a_look(
    index: SqliteIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    same = signature(" ".join(text_of(1)))
    for number in range(MAX_CANDIDATES + 30):
        index.check_and_insert(f"{number}", "a.org", same, NOW + number)
    compared: list[int] = []

    def counted(packed: bytes, others: list[bytes]) -> NDArray[np.float64]:
        compared.append(len(others))
        return similarities(packed, others)

    monkeypatch.setattr(index_module, "similarities", counted)
    index.check_and_insert("asked", "a.org", same, NOW + 1000)
    assert compared == [MAX_CANDIDATES]


def test_an_index_of_another_scheme_is_refused(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    SqliteIndex(path).close()
    SqliteIndex(path).close()
    with monkeypatch.context() as patch:
        patch.setattr(index_module, "BUCKETS", "affine64 seed=2")
        with pytest.raises(SchemaError, match=r"newsbot\.db: .*affine32 seed=1.*affine64 seed=2.*empty"):
            SqliteIndex(path)
    with sqlite3.connect(path) as database:  # the remedy that the message names
        for table in ("near_doc", "near_band", "near_scheme"):
            database.execute(f"DELETE FROM {table}")
    database.close()
    monkeypatch.setattr(index_module, "BUCKETS", "affine64 seed=2")
    SqliteIndex(path).close()
