"""The embedded file: schema versions, errors of disk and file, a consistent state for readers."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from newsbot.connections import sqlite as sqlitefile
from newsbot.connections.sqlite import open_database
from newsbot.dedup.sqlite import SqliteIndex
from newsbot.errors import DataError, DataFull, DataUnavailable, SchemaError
from newsbot.items import ArticleFilter
from newsbot.storage.sqlite import SqliteStorage
from newsbot.storage.sqlite.articles import conditions
from tests.contracts.storage_samples import make_article, make_page


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "newsbot.db"


def test_a_file_of_an_earlier_version_is_migrated_and_keeps_its_rows(path: Path) -> None:
    first = "CREATE TABLE thing (name TEXT NOT NULL);"
    second = (
        "ALTER TABLE thing ADD COLUMN size INTEGER NOT NULL DEFAULT 7; CREATE INDEX by_size ON thing (size);"
    )
    old = open_database(path, component="things", migrations={1: first})
    old.execute("INSERT INTO thing VALUES ('kept')")
    old.close()
    for _ in range(2):
        new = open_database(path, component="things", migrations={1: first, 2: second})
        assert [tuple(row) for row in new.execute("SELECT name, size FROM thing")] == [("kept", 7)]
        new.close()


def test_a_failed_migration_has_no_effect(path: Path) -> None:
    first = "CREATE TABLE thing (name TEXT NOT NULL);"
    open_database(path, component="things", migrations={1: first}).close()
    with pytest.raises(DataError, match="no such table"):
        open_database(
            path, component="things", migrations={1: first, 2: "CREATE TABLE other (x); DROP TABLE missing;"}
        )
    again = open_database(path, component="things", migrations={1: first})
    assert again.execute("SELECT count(*) FROM sqlite_master WHERE name = 'other'").fetchone()[0] == 0
    again.close()


@pytest.mark.parametrize(
    ("version", "message"),
    [
        (99, r"storage was written by a newer newsbot.*upgrade"),
        (3, r"storage was written by a build before the first release.*NEWSBOT_DATA"),
    ],
)
def test_a_file_of_another_version_is_refused(path: Path, version: int, message: str) -> None:
    SqliteStorage(path).close()
    with sqlite3.connect(path) as database:
        database.execute("UPDATE newsbot_schema SET version = ? WHERE component = 'storage'", (version,))
    database.close()
    with pytest.raises(SchemaError, match=message):
        SqliteStorage(path)
    SqliteIndex(path).close()  # each component has its own version


def test_a_file_that_is_not_a_database_is_refused_and_not_changed(path: Path) -> None:
    path.write_bytes(b"These are my notes, not a database. " * 100)
    with pytest.raises(SchemaError, match="not a newsbot data file"):
        SqliteStorage(path)
    assert path.read_bytes().startswith(b"These are my notes")


@pytest.mark.parametrize("name", ["/proc/newsbot.db", "/proc/newsbot/newsbot.db"])
def test_a_folder_that_cannot_be_written_is_reported(name: str) -> None:
    if not Path("/proc/self").exists():
        pytest.skip("needs a folder that nobody can write to")
    with pytest.raises(DataUnavailable, match="NEWSBOT_DATA"):
        SqliteStorage(Path(name))


def test_a_file_in_place_of_the_folder_is_reported(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("")
    with pytest.raises(DataUnavailable, match="cannot be created"):
        SqliteStorage(tmp_path / "data" / "newsbot.db")


def test_a_locked_file_is_reported_and_works_again_when_unlocked(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlitefile, "BUSY_SECONDS", 0.05)
    storage = SqliteStorage(path)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(DataUnavailable, match="locked by another program"):
        storage.articles.store(make_article("a"))
    assert storage.articles.count() == 0  # readers are not blocked
    other.execute("ROLLBACK")
    other.close()
    assert storage.articles.store(make_article("a")).verdict == "new"
    storage.close()


def _store_many(storage: SqliteStorage) -> None:
    for number in range(1000):
        text = " ".join(f"word{number}x{place}" for place in range(300))
        storage.articles.store(make_article(str(number), text))


def test_a_full_disk_causes_no_losses_or_partial_writes(path: Path) -> None:
    storage = SqliteStorage(path)
    database = storage.handle.database
    pages = database.execute("PRAGMA page_count").fetchone()[0]
    database.execute(f"PRAGMA max_page_count = {pages + 20}")
    with pytest.raises(DataFull, match="disk is full"):
        _store_many(storage)
    stored = storage.articles.count()
    assert stored > 0
    with pytest.raises(DataFull):
        storage.pages.discover([make_page(f"{number}/{'x' * 1000}") for number in range(500)])
    assert list(storage.pages.iter()) == []
    assert len(list(storage.articles.iter())) == stored
    for table in ("article", "article_text", "article_change"):
        assert database.execute(f"SELECT count(*) FROM {table}").fetchone()[0] == stored
    database.execute("PRAGMA max_page_count = 1000000")
    assert storage.articles.store(make_article(str(stored), "There is room again.")).verdict == "new"
    assert database.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
    storage.close()


def test_a_damaged_file_is_reported(path: Path) -> None:
    storage = SqliteStorage(path)
    for number in range(300):
        storage.articles.store(make_article(str(number), f"Text {number} " * 50))
    storage.close()
    content = bytearray(path.read_bytes())
    for start in range(4096 * 3, len(content), 4096):
        content[start : start + 64] = b"\xff" * 64
    path.write_bytes(content)
    with pytest.raises(DataError, match=r"newsbot\.db: is damaged"):
        _read_all(path)


def _read_all(path: Path) -> None:
    with closing(SqliteStorage(path)) as storage:
        list(storage.articles.iter())


def test_articles_of_a_site_in_a_language_are_found_by_an_index(path: Path) -> None:
    with closing(SqliteStorage(path)):
        tests, values = conditions(ArticleFilter(source="a.org", language="ru"))
        query = f"SELECT a.id FROM article a WHERE {' AND '.join(tests)} ORDER BY a.moment DESC, a.id DESC"
        with closing(sqlite3.connect(path)) as database:
            plan = " ".join(row[3] for row in database.execute(f"EXPLAIN QUERY PLAN {query} LIMIT 9", values))
    assert "COVERING INDEX article_by_source_moment (source=?)" in plan
