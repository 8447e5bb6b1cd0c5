"""The embedded file: schema versions, errors of disk and file, a consistent state for readers."""

from __future__ import annotations

import json
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
from newsbot.storage.sqlite.articles import insert
from newsbot.storage.sqlite.connection import MIGRATIONS
from newsbot.storage.sqlite.rows import conditions, to_row
from newsbot.urls import fingerprint
from tests.contracts.storage_samples import make_article, make_page


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "newsbot.db"


def test_a_file_of_an_earlier_version_is_migrated_and_keeps_its_rows(path: Path) -> None:
    first = "CREATE TABLE thing (name TEXT NOT NULL);"
    second = (
        "ALTER TABLE thing ADD COLUMN size INTEGER NOT NULL DEFAULT 7; CREATE INDEX by_size ON thing (size);"
    )
    old = open_database(path, component="things", migrations=[first])
    old.execute("INSERT INTO thing VALUES ('kept')")
    old.close()
    for _ in range(2):
        new = open_database(path, component="things", migrations=[first, second])
        assert [tuple(row) for row in new.execute("SELECT name, size FROM thing")] == [("kept", 7)]
        new.close()


def test_exports_by_time_continue_by_number(path: Path) -> None:
    before = next(number for number, script in enumerate(MIGRATIONS) if "TABLE article_change" in script)
    with closing(open_database(path, component="storage", migrations=MIGRATIONS[:before])) as old:
        for name, stored in (("late", 300.0), ("early", 100.0), ("noon", 200.0)):
            article = make_article(name, f"Text of {name}.")
            insert(old, to_row(article), fingerprint(article.canonical_url))
            old.execute("UPDATE article SET stored = ? WHERE url = ?", (stored, article.url))
        pending = {"until": 200.0, "number": 2, "file": "x"}
        for key, state in (
            ("daily", {"until": 100.0, "number": 1}),
            ("broken", {"until": 100.0, "pending": pending}),
            ("ahead", {"until": 9e9}),
        ):
            old.execute("INSERT INTO note VALUES ('export', ?, ?)", (key, json.dumps(state)))
    with closing(SqliteStorage(path)) as storage:
        states = storage.notes.all("export")

        def later(cursor: str) -> list[str]:
            found = storage.articles.changes_since(cursor).found
            return [one.article.canonical_url.rpartition("/")[2] for one in found if one.article]

        assert later(states["daily"]["cursor"]) == ["noon", "late"]
        assert later(states["broken"]["pending"]["cursor"]) == ["late"]
        assert later(states["ahead"]["cursor"]) == ["early", "noon", "late"]
        assert "pending" not in states["daily"]


def test_articles_with_a_single_basis_are_read_and_renamed(path: Path) -> None:
    before = next(number for number, script in enumerate(MIGRATIONS) if "TABLE article_basis" in script)
    basis = "https://example.org/basis"
    with closing(open_database(path, component="storage", migrations=MIGRATIONS[:before])) as old:
        for name, named in (("derived", basis), ("new", None)):
            article = make_article(name, f"Text of {name}.")
            row = to_row(article)
            row["data"] = json.dumps(json.loads(row["data"]) | {"derived_from": named})
            insert(old, row, fingerprint(article.canonical_url))
    with closing(SqliteStorage(path)) as storage:
        storage.articles.store(make_article("basis", "Text of the basis."))
        assert sorted(one.derived_from for one in storage.articles.iter()) == [[], [], [basis]]
        storage.removal.articles([make_article("basis").canonical_url])
        assert [one.derived_from for one in storage.articles.iter()] == [[], []]


def test_a_failed_migration_has_no_effect(path: Path) -> None:
    first = "CREATE TABLE thing (name TEXT NOT NULL);"
    open_database(path, component="things", migrations=[first]).close()
    with pytest.raises(DataError, match="no such table"):
        open_database(
            path, component="things", migrations=[first, "CREATE TABLE other (x); DROP TABLE missing;"]
        )
    again = open_database(path, component="things", migrations=[first])
    assert again.execute("SELECT count(*) FROM sqlite_master WHERE name = 'other'").fetchone()[0] == 0
    again.close()


def test_a_file_of_a_newer_version_is_refused(path: Path) -> None:
    SqliteStorage(path).close()
    with sqlite3.connect(path) as database:
        database.execute("UPDATE newsbot_schema SET version = 99 WHERE component = 'storage'")
    database.close()
    with pytest.raises(SchemaError, match=r"storage was written by a newer newsbot.*upgrade"):
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
    database = storage.file.database
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
