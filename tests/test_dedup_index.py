"""What only the embedded near-duplicate index has; the rest is in tests/contracts/test_near_index.py."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from newsbot.dedup import sqlite
from newsbot.dedup.index import KEEP, MAX_CANDIDATES
from newsbot.dedup.minhash import signature
from newsbot.dedup.sqlite import SqliteIndex
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


def kept(path: Path) -> tuple[int, int]:
    """Return how many texts and postings the file holds."""
    with sqlite3.connect(path) as database:
        texts = int(database.execute("SELECT count(*) FROM near_text").fetchone()[0])
        octets = database.execute("SELECT coalesce(sum(length(postings)), 0) FROM near_bucket").fetchone()[0]
    database.close()
    return texts, octets // 6


def test_a_text_costs_seventeen_postings_and_replaces_itself(index: SqliteIndex, path: Path) -> None:
    first, second = " ".join(text_of(1)), " ".join(text_of(2))
    for text, postings in ((first, 17), (first, 17), (second, 33)):  # those of the first wait to be met
        index.check_and_insert("doc", "a.org", signature(text), NOW)
        assert kept(path) == (1, postings)
    index.check_and_insert("other", "a.org", signature(first), NOW)
    assert kept(path) == (2, 34)


def test_postings_of_what_is_gone_are_cleared_away(
    index: SqliteIndex, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite, "_BUCKETS", 1)  # each clearing begins at the first bucket
    for number in range(10):
        index.check_and_insert(f"old {number}", "a.org", signature(" ".join(text_of(number))), NOW)
    for number in range(193):
        index.check_and_insert("new", "a.org", signature(f"{number} " * 30), NOW + 2 * KEEP)
    assert kept(path) == (0, 0)


def test_numbers_are_never_used_again(index: SqliteIndex, path: Path) -> None:
    """Another process may believe that all below a number are gone."""
    with closing(SqliteIndex(path)) as other:
        for number in range(70):
            other.check_and_insert(f"{number}", "a.org", signature(" ".join(text_of(number))), NOW)
        for _ in range(70):
            index.check_and_insert("short", "a.org", signature("Short."), NOW + 2 * KEEP)
        assert kept(path)[0] == 0
        same = signature(" ".join(text_of(100)))
        assert index.check_and_insert("one", "a.org", same, NOW + 2 * KEEP) == []
        assert [n.doc_id for n in other.check_and_insert("two", "a.org", same, NOW + 2 * KEEP)] == ["one"]


def test_a_template_fills_no_more_than_its_share_of_a_bucket(index: SqliteIndex, path: Path) -> None:
    same = signature(" ".join(text_of(1)))
    for number in range(MAX_CANDIDATES + 30):
        index.check_and_insert(f"{number}", "a.org", same, NOW + number)
    assert kept(path) == (MAX_CANDIDATES + 30, 16 * (MAX_CANDIDATES + 1) + MAX_CANDIDATES + 30)


def test_the_first_layout_gives_way(path: Path) -> None:
    SqliteIndex(path).close()
    with sqlite3.connect(path) as database:
        for table in ("near_text", "near_bucket"):
            database.execute(f"DROP TABLE {table}")
        database.execute("CREATE TABLE near_doc (id INTEGER PRIMARY KEY)")
        database.execute("CREATE TABLE near_band (bucket INTEGER PRIMARY KEY)")
        database.execute("UPDATE near_scheme SET scheme = 'an older one'")
        database.execute("UPDATE newsbot_schema SET version = 1 WHERE component = 'dedup'")
    database.close()
    index = SqliteIndex(path)
    assert index.check_and_insert("doc", "a.org", signature(" ".join(text_of(1))), NOW) == []
    assert index.count() == 1
    index.close()


def test_an_index_of_another_scheme_is_refused(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    SqliteIndex(path).close()
    SqliteIndex(path).close()
    with monkeypatch.context() as patch:
        patch.setattr(sqlite, "SCHEME", "affine64 seed=2")
        with pytest.raises(
            SchemaError, match=r"newsbot\.db: .*affine32 seed=1.*affine64 seed=2.*reindex --anew"
        ):
            SqliteIndex(path)
    with sqlite3.connect(path) as database:  # the remedy that the message names
        for table in ("near_text", "near_bucket", "near_scheme"):
            database.execute(f"DELETE FROM {table}")
    database.close()
    monkeypatch.setattr(sqlite, "SCHEME", "affine64 seed=2")
    SqliteIndex(path).close()
