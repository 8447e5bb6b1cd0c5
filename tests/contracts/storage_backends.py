"""The storages that the contract tests run on. A new backend is one more line in ``BACKENDS``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pymongo import MongoClient

from newsbot.apps.mongodb.storage import MongoStorage
from newsbot.storage.base import Storage
from newsbot.storage.sqlite import SqliteStorage


@dataclass(frozen=True)
class Place:
    """The place of one test's data. Any number of storages may open it, also those of other processes."""

    backend: str
    folder: Path
    uri: str = ""
    """The address of the server, for backends that need one."""

    def open(self) -> Storage:
        return BACKENDS[self.backend](self)

    def open_empty(self, folder: Path) -> Storage:
        """Open a storage without data. ``folder`` is an empty folder."""
        if self.uri:
            empty_mongo(self.uri)
        return replace(self, folder=folder).open()


MONGO_DATABASE = "newsbot_test_contracts"


def open_sqlite(place: Place) -> Storage:
    return SqliteStorage(place.folder / "newsbot.db")


def open_mongo(place: Place) -> Storage:
    return MongoStorage(place.uri, database=MONGO_DATABASE)


def empty_mongo(uri: str) -> None:
    """Remove all documents: making new collections for each test takes ten times as long."""
    with MongoClient[dict[str, Any]](uri) as client:
        database = client[MONGO_DATABASE]
        for name in database.list_collection_names():
            if name not in ("schema", "system.profile"):
                database[name].delete_many({})


LARGE = (
    "articles", "pages", "texts", "aliases", "joined", "versions", "page_checks", "search_results", "sources",
)  # fmt: skip
"""Collections that grow with the crawl. A command must not read one of them completely."""
WHOLE = (("versions", "fetched"), ("pages", "$expr"), ("articles", "stored"))
"""Collections that ``scrapy prune`` and a migration read completely, and a key of their queries."""


@contextmanager
def without_collection_scans(uri: str) -> Iterator[None]:
    """Fail if a command of the block reads a large collection completely, because it cannot use an index."""
    with MongoClient[dict[str, Any]](uri) as client:
        database = client[MONGO_DATABASE]
        database.command("profile", 0)
        database["system.profile"].drop()
        database.create_collection("system.profile", capped=True, size=2**24)
        database.command("profile", 2)
        yield
        database.command("profile", 0)
        for row in database["system.profile"].find({"planSummary": "COLLSCAN"}):
            name, command = row["ns"].partition(".")[2], row["command"]
            first: dict[str, Any] = next(iter(command.get("pipeline") or ()), {})
            condition = command.get("q") or command.get("filter") or first.get("$match")
            if name in LARGE and condition and not {(name, field) for field in condition} & {*WHOLE}:
                raise AssertionError(f"{name}: no index for {condition}")


BACKENDS: dict[str, Callable[[Place], Storage]] = {"sqlite": open_sqlite, "mongo": open_mongo}
