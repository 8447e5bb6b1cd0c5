from __future__ import annotations

import multiprocessing
import random
import sqlite3
from collections.abc import Iterator
from multiprocessing.synchronize import Barrier
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from newsbot.dedup import index as index_module
from newsbot.dedup.index import KEEP, MAX_CANDIDATES, Near, SqliteIndex
from newsbot.dedup.minhash import Signature, signature, similarities
from newsbot.errors import SchemaError
from tests.test_dedup_minhash import edited, text_of

NOW = 1_700_000_000.0


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "newsbot.db"


@pytest.fixture
def index(path: Path) -> Iterator[SqliteIndex]:
    opened = SqliteIndex(path)
    yield opened
    opened.close()


def names(found: list[Near]) -> list[str]:
    return [near.doc_id for near in found]


def buckets_of(path: Path) -> int:
    with sqlite3.connect(path) as database:
        count = int(database.execute("SELECT count(*) FROM near_band").fetchone()[0])
    database.close()
    return count


def test_a_text_with_some_words_changed_is_found_best_first(index: SqliteIndex) -> None:
    words = text_of(1)
    index.check_and_insert("far", "a.org", signature(" ".join(text_of(2))), NOW)
    index.check_and_insert("close", "a.org", signature(edited(words, 0.02)), NOW)
    index.check_and_insert("same", "b.org", signature(" ".join(words)), NOW)
    found = index.check_and_insert("asked", "c.org", signature(" ".join(words)), NOW)
    assert names(found) == ["same", "close"]
    assert (found[0].source, found[0].similarity) == ("b.org", 1.0)
    assert 0.8 < found[1].similarity < 1.0


def test_near_texts_are_found_and_others_never(index: SqliteIndex) -> None:
    """Replacing 5 % of the words leaves a similarity of about .75, which 16 bands find nearly always."""
    found = 0
    for seed in range(60):
        words = text_of(seed)
        index.check_and_insert(f"{seed}", "a.org", signature(" ".join(words)), NOW)
        near = index.check_and_insert(f"{seed} edited", "a.org", signature(edited(words, 0.05, seed)), NOW)
        assert set(names(near)) <= {f"{seed}"}
        found += len(near)
    assert found >= 57


def test_the_same_document_again_replaces_itself(index: SqliteIndex, path: Path) -> None:
    first, second = " ".join(text_of(1)), " ".join(text_of(2))
    for _ in range(3):
        assert index.check_and_insert("doc", "a.org", signature(first), NOW) == []
    assert (index.count(), buckets_of(path)) == (1, 16)
    index.check_and_insert("doc", "a.org", signature(second), NOW)
    assert index.check_and_insert("asks first", "a.org", signature(first), NOW) == []
    assert names(index.check_and_insert("asks second", "a.org", signature(second), NOW)) == ["doc"]
    assert (index.count(), buckets_of(path)) == (3, 48)


def test_a_text_that_became_short_is_taken_out(index: SqliteIndex, path: Path) -> None:
    index.check_and_insert("doc", "a.org", signature(" ".join(text_of(1))), NOW)
    assert index.check_and_insert("doc", "a.org", signature("Short now."), NOW) == []
    assert (index.count(), buckets_of(path)) == (0, 0)


@pytest.mark.parametrize("text", ["", "Кратко о главном", "слово " * 10_000, "1 2 3 " * 1000])
def test_texts_too_poor_to_compare_meet_nothing(index: SqliteIndex, text: str) -> None:
    for name in ("a", "b"):
        assert index.check_and_insert(name, "a.org", signature(text), NOW) == []
    assert index.count() == 0


def test_what_came_long_ago_is_forgotten_and_cleared_away(index: SqliteIndex, path: Path) -> None:
    same = signature(" ".join(text_of(1)))
    index.check_and_insert("old", "a.org", same, NOW)
    assert names(index.check_and_insert("month", "a.org", same, NOW + KEEP)) == ["old"]
    assert names(index.check_and_insert("later", "a.org", same, NOW + KEEP + 1)) == ["month"]
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
    found = index.check_and_insert("asked", "a.org", same, NOW + 1000)
    assert compared == [MAX_CANDIDATES]
    assert names(found)[0] == "30"  # the newest of them, the earliest first


def test_an_index_of_another_scheme_is_refused(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    SqliteIndex(path).close()
    SqliteIndex(path).close()
    with monkeypatch.context() as patch:
        patch.setattr(index_module, "_BUCKETS", "affine64 seed=2")
        with pytest.raises(SchemaError, match=r"newsbot\.db: .*affine32 seed=1.*affine64 seed=2.*empty"):
            SqliteIndex(path)
    with sqlite3.connect(path) as database:  # the remedy that the message names
        for table in ("near_doc", "near_band", "near_scheme"):
            database.execute(f"DELETE FROM {table}")
    database.close()
    monkeypatch.setattr(index_module, "_BUCKETS", "affine64 seed=2")
    SqliteIndex(path).close()


def _insert_at_once(path: Path, barrier: Barrier, name: str, answers: multiprocessing.Queue[int]) -> None:
    index = SqliteIndex(path)
    try:
        for turn in range(20):
            near = index_signature(turn)
            barrier.wait(60)
            answers.put(len(index.check_and_insert(f"{turn}/{name}", name, near, NOW)))
    finally:
        index.close()


def index_signature(turn: int) -> Signature:
    return signature(" ".join(text_of(turn)))


def test_processes_that_insert_one_text_at_once_see_each_other(path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    barrier, answers = context.Barrier(3), context.Queue()
    workers = [
        context.Process(target=_insert_at_once, args=(path, barrier, name, answers))
        for name in ("a", "b", "c")
    ]
    for worker in workers:
        worker.start()
    got = sorted(answers.get(timeout=120) for _ in range(60))
    for worker in workers:
        worker.join(60)
        assert worker.exitcode == 0
    assert got == [0] * 20 + [1] * 20 + [2] * 20


def test_the_same_answers_in_any_order_of_arrival(tmp_path: Path) -> None:
    """Who is near whom does not depend on who came first."""
    texts = {
        f"{seed}/{copy}": edited(text_of(seed), 0.04 * copy, copy) for seed in range(6) for copy in range(3)
    }
    pairs = []
    for turn in range(3):
        order = sorted(texts)
        random.Random(turn).shuffle(order)
        index = SqliteIndex(tmp_path / f"{turn}.db")
        pairs.append(
            {
                frozenset((name, near.doc_id))
                for name in order
                for near in index.check_and_insert(name, "a.org", signature(texts[name]), NOW)
            }
        )
        index.close()
    assert pairs[0] == pairs[1] == pairs[2]
    assert len(pairs[0]) >= 12
