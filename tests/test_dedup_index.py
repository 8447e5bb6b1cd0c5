"""The embedded near-duplicate index; tests for all indexes are in tests/contracts/test_near_index.py."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from newsbot.dedup import sqlite
from newsbot.dedup.index import KEEP, MAX_CANDIDATES, Signature, signature
from newsbot.dedup.sqlite import SqliteIndex
from newsbot.errors import DataFull, SchemaError
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


def kept(path: Path) -> tuple[int, int, int]:
    """Return the number of texts, of postings in buckets, and of recent texts that are not in buckets yet."""
    with closing(sqlite3.connect(path)) as database:
        counts = [
            database.execute(f"SELECT {what}").fetchone()[0]
            for what in (
                "count(*) FROM near_text",
                "coalesce(sum(length(postings)), 0) / 6 FROM near_bucket",
                "count(*) FROM near_recent",
            )
        ]
    texts, postings, recent = counts
    return texts, postings, recent


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Merge a chunk into the buckets after each text."""
    monkeypatch.setattr(sqlite, "EVERY", 1)


def texts(start: int, stop: int) -> Iterator[tuple[str, Signature]]:
    return ((f"doc {number}", signature(" ".join(text_of(number)))) for number in range(start, stop))


@pytest.mark.usefixtures("quick")
def test_a_text_has_seventeen_postings_and_waits_once_for_all_chunks(index: SqliteIndex, path: Path) -> None:
    for doc, one in texts(0, 200):
        index.check_and_insert(doc, "a.org", one, NOW)
    kept_texts, postings, waiting = kept(path)
    assert (kept_texts, waiting) == (200, sqlite.CHUNKS)
    assert 17 * (200 - sqlite.CHUNKS) <= postings <= 17 * 200
    for doc, one in texts(0, 200):
        (near,) = index.check_and_insert(f"copy of {doc}", "b.org", one, NOW)
        assert near.doc_id == doc


@pytest.mark.usefixtures("quick")
def test_a_text_that_changes_leaves_no_postings_behind(index: SqliteIndex, path: Path) -> None:
    for turn in range(1000):
        index.check_and_insert("doc", "a.org", signature(" ".join(text_of(turn % 3))), NOW)
    count, postings, waiting = kept(path)
    assert (count, waiting) == (1, sqlite.CHUNKS)
    assert postings <= 3 * 16 + 1


@pytest.mark.usefixtures("quick")
def test_postings_of_removed_texts_are_removed(index: SqliteIndex, path: Path) -> None:
    for doc, one in texts(0, 100):
        index.check_and_insert(doc, "a.org", one, NOW)
    for doc, one in texts(200, 400):
        index.check_and_insert(doc, "a.org", one, NOW + 2 * KEEP)
    count, postings, _ = kept(path)
    assert count == 200
    assert postings <= 17 * 200
    for doc, one in texts(0, 100):
        assert index.check_and_insert(f"copy of {doc}", "b.org", one, NOW + 2 * KEEP) == []


def test_a_failed_insertion_leaves_no_trace_in_memory(
    index: SqliteIndex, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next text gets the number of the text that could not be committed."""
    (lost, first), (doc, second) = texts(0, 2)
    with monkeypatch.context() as patch:
        patch.setattr(sqlite, "transaction", full)
        with pytest.raises(DataFull):
            index.check_and_insert(lost, "a.org", first, NOW)
    with closing(SqliteIndex(path)) as other:
        assert other.check_and_insert(doc, "a.org", second, NOW) == []
        assert [near.doc_id for near in index.check_and_insert("copy", "a.org", second, NOW)] == [doc]
        assert index.check_and_insert("asked", "a.org", first, NOW) == []


@contextmanager
def full(connection: sqlite3.Connection) -> Iterator[sqlite3.Connection]:
    """Return a transaction whose last step fails."""
    connection.execute("BEGIN IMMEDIATE")
    yield connection
    connection.execute("ROLLBACK")
    raise DataFull("the disk is full")


def test_numbers_are_never_used_again(index: SqliteIndex, path: Path) -> None:
    """Another process may assume that all texts below a number are removed."""
    with closing(SqliteIndex(path)) as other:
        for number in range(70):
            other.check_and_insert(f"{number}", "a.org", signature(" ".join(text_of(number))), NOW)
        for _ in range(70):
            index.check_and_insert("short", "a.org", signature("Short."), NOW + 2 * KEEP)
        assert index.count() == 0
        same = signature(" ".join(text_of(100)))
        assert index.check_and_insert("one", "a.org", same, NOW + 2 * KEEP) == []
        assert [n.doc_id for n in other.check_and_insert("two", "a.org", same, NOW + 2 * KEEP)] == ["one"]


@pytest.mark.usefixtures("quick")
def test_a_template_fills_only_its_share_of_a_bucket(index: SqliteIndex, path: Path) -> None:
    same = signature(" ".join(text_of(1)))
    number = 3 * sqlite.CHUNKS
    for nth in range(number):
        index.check_and_insert(f"{nth}", "a.org", same, NOW + nth)
    count, postings, _ = kept(path)
    assert count == number
    assert postings <= 16 * MAX_CANDIDATES + number
    found = index.check_and_insert("asked", "a.org", same, NOW + number)
    assert [near.doc_id for near in found] == [f"{nth}" for nth in range(number - MAX_CANDIDATES, number)]


def test_an_index_of_another_scheme_is_refused(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    SqliteIndex(path).close()
    SqliteIndex(path).close()
    with monkeypatch.context() as patch:
        patch.setattr(sqlite, "SCHEME", "affine64 seed=2")
        with pytest.raises(
            SchemaError, match=r"newsbot\.db: .*affine32 seed=1.*affine64 seed=2.*reindex --anew"
        ):
            SqliteIndex(path)
    with sqlite3.connect(path) as database:  # the solution that the message suggests
        for table in ("near_text", "near_bucket", "near_scheme"):
            database.execute(f"DELETE FROM {table}")
    database.close()
    monkeypatch.setattr(sqlite, "SCHEME", "affine64 seed=2")
    SqliteIndex(path).close()
