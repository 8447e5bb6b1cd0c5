"""Data of the schema before the word index: all that was stored is found after opening and indexing."""

from __future__ import annotations

import os
import signal
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from pymongo import ASCENDING, DESCENDING, MongoClient

from newsbot.connections import sqlite as sqlitefile
from newsbot.connections.sqlite import open_database, transaction
from newsbot.items import Article
from newsbot.search.index import searching
from newsbot.storage.mongo import MongoStorage
from newsbot.storage.mongo import schema as mongo_schema
from newsbot.storage.mongo.documents import to_document
from newsbot.storage.sqlite import SqliteStorage
from newsbot.storage.sqlite import schema as sqlite_schema
from newsbot.storage.sqlite.articles import insert
from newsbot.storage.sqlite.rows import to_row
from newsbot.urls import fingerprint
from tests import warm
from tests.contracts.storage_samples import make_article

COUNT = 300
_SQLITE_BEFORE = next(
    number for number, script in enumerate(sqlite_schema.MIGRATIONS) if "TABLE search_waiting" in script
)
_MONGO_BEFORE = mongo_schema.MIGRATIONS.index(mongo_schema._make_words)


@dataclass
class Old:
    """Data of an older newsbot: where they are, and how they are opened."""

    open: Callable[[], Any]
    killed: Callable[[], None]
    """Begins the migration and dies in it."""


def articles(count: int) -> list[Article]:
    return [make_article(f"a{number:03}", f"Мост номер {number}, bridge.") for number in range(count)]


def build_sqlite(path: Path, some: Sequence[Article]) -> None:
    """As newsbot wrote it, with FTS5 beside the articles."""
    before = sqlite_schema.MIGRATIONS[:_SQLITE_BEFORE]
    with closing(open_database(path, component="storage", migrations=before)) as old, transaction(old):
        for article in some:
            number = insert(old, to_row(article), fingerprint(article.canonical_url))
            old.execute(
                "INSERT INTO article_search (rowid, title, text) VALUES (?, ?, ?)",
                (number, article.title, article.text),
            )


def build_mongo(uri: str, name: str, some: Sequence[Article]) -> None:
    """As newsbot wrote it, with a multikey index over the words of articles."""
    with MongoClient[dict[str, Any]](uri, tz_aware=True) as client:
        database = client[name]
        for number, migrate in enumerate(mongo_schema.MIGRATIONS[:_MONGO_BEFORE], 1):
            migrate(database)
            mongo_schema._note(database, number)
        database["words"].create_index([("stems", ASCENDING), ("moment", DESCENDING)])
        own = [to_document(article) | {"version": 1, "stored": 0.0} for article in some]
        database["articles"].insert_many(own)
        database["words"].insert_many([{"_id": one["_id"], "stems": ["мост"], "moment": 1} for one in own])


def _die_in_sqlite(path: Path) -> None:
    statements = sqlitefile._statements

    def until_the_list(script: str) -> Iterator[str]:
        for statement in statements(script):
            yield statement
            if "INSERT INTO search_waiting" in statement:
                os.kill(os.getpid(), signal.SIGKILL)

    sqlitefile._statements = until_the_list
    SqliteStorage(path)


def _die_in_mongo(uri: str, name: str) -> None:
    note = mongo_schema._note

    def until_the_list(database: Any, version: int) -> None:
        if version == _MONGO_BEFORE + 1:  # half of the list was written
            some = database["words_waiting"].find({}, {"_id": 1}).limit(COUNT // 2)
            database["words_waiting"].delete_many({"_id": {"$in": [one["_id"] for one in some]}})
            os.kill(os.getpid(), signal.SIGKILL)
        note(database, version)

    mongo_schema._note = until_the_list
    MongoStorage(uri, database=name)


def _dies(work: Callable[..., None], *given: Any) -> None:
    process = warm.context().Process(target=work, args=given)
    process.start()
    process.join(60)
    assert process.exitcode == -signal.SIGKILL


@pytest.fixture(params=["sqlite", "mongo"])
def old(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Old]:
    if request.param == "sqlite":
        path = tmp_path / "newsbot.db"
        build_sqlite(path, articles(COUNT))
        yield Old(lambda: SqliteStorage(path), lambda: _dies(_die_in_sqlite, path))
        return
    uri, name = request.getfixturevalue("mongo_uri"), f"newsbot_test_{uuid4().hex[:12]}"
    build_mongo(uri, name, articles(COUNT))
    yield Old(lambda: MongoStorage(uri, database=name), lambda: _dies(_die_in_mongo, uri, name))
    with MongoClient[dict[str, Any]](uri) as client:
        client.drop_database(name)


def paths(storage: Any, query: str) -> list[str]:
    return sorted(
        hit.article.canonical_url.rsplit("/", 1)[1] for hit in storage.texts.search(query, limit=1_000)
    )


def indexed(storage: Any) -> None:
    """Index all; the storage's own thread may be at it already."""
    give_up = time.monotonic() + 60
    while not storage.texts.index() or storage.texts.waiting():
        assert time.monotonic() < give_up
        time.sleep(0.02)


NAMES = [f"a{number:03}" for number in range(COUNT)]


@pytest.mark.parametrize("broken_off", [False, True])
def test_articles_that_were_stored_before_are_found(old: Old, broken_off: bool) -> None:
    if broken_off:
        old.killed()
    with closing(old.open()) as storage:
        assert storage.texts.waiting() == COUNT
        assert paths(storage, "мосты") == NAMES  # before they are indexed
        storage.articles.store(make_article("a000", "Тоннель.", hours=1))  # stored in a new version meanwhile
        storage.removal.articles([make_article("a001").canonical_url])
        indexed(storage)
        assert paths(storage, "мосты") == paths(storage, "bridge") == NAMES[2:]
        assert paths(storage, "тоннель") == ["a000"]
    with closing(old.open()) as storage:  # nothing is begun anew
        assert storage.texts.waiting() == 0
        assert paths(storage, "мост") == NAMES[2:]


def test_what_is_stored_while_old_articles_wait_is_found_at_once(
    old: Old, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(searching, "MAX_WAITING", COUNT // 2)
    with closing(old.open()) as storage:
        storage.articles.store(make_article("new", "Тоннель."))
        assert paths(storage, "тоннель") == ["new"]


def test_nothing_of_the_old_index_is_left(tmp_path: Path) -> None:
    build_sqlite(tmp_path / "newsbot.db", articles(3))
    SqliteStorage(tmp_path / "newsbot.db").close()
    with closing(sqlite3.connect(tmp_path / "newsbot.db")) as database:
        names = [name for (name,) in database.execute("SELECT name FROM sqlite_master")]
    assert "article" in names
    assert not [name for name in names if name.startswith("article_search")]
