"""The embedded data file: versions, transactions, and readable error messages."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from multiprocessing.synchronize import Barrier
from pathlib import Path

import pytest

from newsbot.connections import sqlite as sqlitefile
from newsbot.connections.sqlite import open_database, readable_errors, snapshot, transaction
from newsbot.errors import DataDamaged, DataError, DataFull, DataUnavailable, SchemaError
from tests import warm

ONE = "CREATE TABLE things (name TEXT PRIMARY KEY); INSERT INTO things VALUES ('first; and -- only')"
TWO = """
-- a comment; with a semicolon
ALTER TABLE things ADD COLUMN size INTEGER NOT NULL DEFAULT 0;
CREATE TRIGGER grow AFTER INSERT ON things
BEGIN
    UPDATE things SET size = size + 1 WHERE name <> new.name;
    UPDATE things SET size = 0 WHERE name = new.name;
END;
-- the end
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "deep" / "down" / "newsbot.db"


def opened(path: Path, *migrations: str, component: str = "test") -> sqlite3.Connection:
    return open_database(path, component=component, migrations=dict(enumerate(migrations, 1)))


def names(connection: sqlite3.Connection) -> list[str]:
    return [row["name"] for row in connection.execute("SELECT name FROM things ORDER BY name")]


# --- versions


def test_a_new_file_is_created_with_its_folders(path: Path) -> None:
    connection = opened(path, ONE)
    assert names(connection) == ["first; and -- only"]
    assert connection.execute("PRAGMA journal_mode").fetchone()[0] == "wal"
    connection.close()


def test_an_older_file_is_migrated_step_by_step(path: Path) -> None:
    opened(path, ONE).close()
    connection = opened(path, ONE, TWO)
    connection.execute("INSERT INTO things (name) VALUES ('second')")
    assert [tuple(row) for row in connection.execute("SELECT * FROM things ORDER BY name")] == [
        ("first; and -- only", 1),
        ("second", 0),
    ]
    connection.close()
    again = opened(path, ONE, TWO)
    assert len(names(again)) == 2
    again.close()


def test_a_migration_sorts_on_disk_and_queries_in_memory(path: Path) -> None:
    """An index on 10^7 rows is sorted in a temporary table of 1 GB."""
    kept = "CREATE TABLE things (name TEXT); INSERT INTO things SELECT temp_store FROM pragma_temp_store"
    with closing(opened(path, kept)) as connection:
        assert names(connection) == ["0"]
        assert connection.execute("PRAGMA temp_store").fetchone()[0] == 2


def test_components_have_versions_of_their_own(path: Path) -> None:
    opened(path, ONE, TWO).close()
    other = opened(path, "CREATE TABLE others (x)", component="other")
    rows = other.execute("SELECT component, version FROM newsbot_schema ORDER BY component")
    assert [tuple(row) for row in rows] == [("other", 1), ("test", 2)]
    other.close()


def test_a_failed_migration_changes_nothing(path: Path) -> None:
    opened(path, ONE).close()
    with pytest.raises(DataError, match="no_such_table"):
        opened(path, ONE, "CREATE TABLE half (x); INSERT INTO no_such_table VALUES (1)")
    connection = opened(path, ONE)
    tables = {row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    assert tables == {"things", "newsbot_schema"}
    connection.close()


def test_a_file_of_a_newer_newsbot_is_not_changed(path: Path) -> None:
    opened(path, ONE, TWO).close()
    with pytest.raises(SchemaError, match=r"newsbot\.db: test was written by a newer newsbot .* upgrade"):
        opened(path, ONE)
    connection = opened(path, ONE, TWO)
    assert names(connection) == ["first; and -- only"]
    connection.close()


def _open_at_once(path: Path, barrier: Barrier) -> None:
    barrier.wait(60)
    for _ in range(3):
        open_database(path, component="test", migrations={1: ONE, 2: TWO}).close()


def test_processes_may_create_the_file_at_the_same_time(path: Path) -> None:
    path.parent.mkdir(parents=True)
    context = warm.context()
    barrier = context.Barrier(4)
    workers = [context.Process(target=_open_at_once, args=(path, barrier)) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
    assert [worker.exitcode for worker in workers] == [0, 0, 0, 0]
    connection = opened(path, ONE, TWO)
    assert names(connection) == ["first; and -- only"]
    connection.close()


# --- transactions


def test_a_transaction_is_all_or_nothing(path: Path) -> None:
    connection = opened(path, ONE)
    with transaction(connection):
        connection.execute("INSERT INTO things VALUES ('kept')")
    with pytest.raises(sqlite3.IntegrityError), transaction(connection):
        connection.executemany("INSERT INTO things VALUES (?)", [("lost",), ("kept",)])
    assert names(connection) == ["first; and -- only", "kept"]
    with transaction(connection):
        connection.execute("DELETE FROM things")
    assert names(connection) == []
    connection.close()


def test_a_commit_that_fails_is_rolled_back(path: Path) -> None:
    """For example on a full disk; the next transaction must be able to begin."""
    connection = opened(
        path, "CREATE TABLE a (id PRIMARY KEY); CREATE TABLE b (a REFERENCES a DEFERRABLE INITIALLY DEFERRED)"
    )
    connection.execute("PRAGMA foreign_keys = ON")
    with pytest.raises(sqlite3.IntegrityError), transaction(connection):
        connection.execute("INSERT INTO b VALUES (1)")
    assert not connection.in_transaction
    with transaction(connection):
        connection.execute("INSERT INTO a VALUES (1)")
        connection.execute("INSERT INTO b VALUES (1)")
    connection.close()


def test_a_snapshot_shows_one_moment(path: Path) -> None:
    reader, writer = opened(path, ONE), opened(path, ONE)
    with snapshot(reader):
        before = names(reader)
        with transaction(writer):
            writer.execute("INSERT INTO things VALUES ('meanwhile')")
        assert names(reader) == before
    assert len(names(reader)) == len(before) + 1
    reader.close()
    writer.close()


def test_a_snapshot_ends_also_when_its_block_fails(path: Path) -> None:
    connection = opened(path, ONE)
    with pytest.raises(KeyError), snapshot(connection):
        raise KeyError
    with transaction(connection):
        connection.execute("DELETE FROM things")
    connection.close()


# --- faults


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    with pytest.raises(DataUnavailable, match=r"cannot be created \(.*\); set NEWSBOT_DATA"):
        opened(tmp_path / "file" / "newsbot.db", ONE)


def test_a_folder_instead_of_the_file(path: Path) -> None:
    path.mkdir(parents=True)
    with pytest.raises(DataUnavailable, match=r"newsbot\.db: cannot be written; check its permissions"):
        opened(path, ONE)


def test_a_file_of_another_kind(path: Path) -> None:
    path.parent.mkdir(parents=True)
    path.write_text("Dear diary, " * 1000)
    with pytest.raises(SchemaError, match=r"newsbot\.db: is not a newsbot data file"):
        opened(path, ONE)
    assert path.read_text().startswith("Dear diary")


def _read(path: Path) -> list[str]:
    with closing(opened(path, ONE)) as connection:
        return names(connection)


def test_a_damaged_file(path: Path) -> None:
    connection = opened(path, ONE)
    connection.executemany("INSERT INTO things VALUES (?)", [(f"{n:01000}",) for n in range(200)])
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    content = bytearray(path.read_bytes())
    content[4096 * 3 :] = b"\xff" * len(content[4096 * 3 :])
    path.write_bytes(content)
    with pytest.raises(DataError, match="is damaged; restore a backup"), readable_errors(path):
        _read(path)


def test_a_file_locked_by_another_program(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlitefile, "BUSY_SECONDS", 0.05)
    holder, other = opened(path, ONE), opened(path, ONE)
    with transaction(holder):
        with (
            pytest.raises(DataUnavailable, match=r"newsbot\.db: is locked by another program"),
            readable_errors(path),
            transaction(other),
        ):
            pass
        with pytest.raises(DataUnavailable, match="locked"):
            opened(path, ONE, TWO)
    with transaction(other):
        other.execute("DELETE FROM things")
    holder.close()
    other.close()


def test_a_file_that_must_not_be_written(path: Path) -> None:
    connection = opened(path, ONE)
    connection.execute("PRAGMA query_only = ON")
    with pytest.raises(DataUnavailable, match="cannot be written"), readable_errors(path):
        connection.execute("DELETE FROM things")
    connection.close()


def test_no_space_left(path: Path) -> None:
    connection = opened(path, ONE)
    pages = connection.execute("PRAGMA page_count").fetchone()[0]
    connection.execute(f"PRAGMA max_page_count = {pages + 2}")
    with (
        pytest.raises(DataFull, match="the disk is full; free some space"),
        readable_errors(path),
        transaction(connection),
    ):
        connection.executemany("INSERT INTO things VALUES (?)", [(f"{n:01000}",) for n in range(100)])
    assert not connection.in_transaction
    assert names(connection) == ["first; and -- only"]
    connection.execute("PRAGMA max_page_count = 1000000")
    with transaction(connection):
        connection.execute("INSERT INTO things VALUES ('room again')")
    connection.close()


def test_other_faults_name_the_file(path: Path) -> None:
    connection = opened(path, ONE)
    with pytest.raises(DataError, match=r"newsbot\.db: no such table: absent"), readable_errors(path):
        connection.execute("SELECT * FROM absent")
    connection.close()


def test_an_old_sqlite_is_named(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite3, "sqlite_version_info", (3, 34, 1))
    with pytest.raises(DataError, match=r"is too old: newsbot needs 3\.35"):
        opened(path, ONE)
    assert not path.exists()


def test_only_the_owner_can_read_the_data_folder(tmp_path: Path) -> None:
    folder = tmp_path / "some" / "data"
    open_database(folder / "newsbot.db", component="storage", migrations={}).close()
    assert folder.stat().st_mode & 0o777 == 0o700


def test_damaged_texts_are_reported_without_their_content(path: Path) -> None:
    path.parent.mkdir(parents=True)
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE a (text TEXT)")
        database.execute("INSERT INTO a VALUES (CAST(? AS TEXT))", (b"secret words \xff\xfe",))
    with pytest.raises(DataDamaged) as caught, readable_errors(path):
        database.execute("SELECT text FROM a").fetchall()
    assert "is damaged; restore a backup" in str(caught.value)
    assert "secret" not in str(caught.value)
    with pytest.raises(DataDamaged, match="is damaged") as caught, readable_errors(path):
        json.loads('{"secret words')
    assert "secret" not in str(caught.value)
    database.close()
