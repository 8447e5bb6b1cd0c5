"""Capacity of MongoDB and the embedded file: articles and pages per second, reads by key, bytes on disk.

Both store the same generated articles (benchmarks/texts.py: 700 words, some 5 kB) through newsbot's storage.
MongoDB (a replica set of one member) acknowledges after the journal of a majority; SQLite is a file on one
machine. Both are first filled without timing. The last articles are timed with one client, in groups of 160
articles: one group with one call per article, the next group with one call per 32 articles. MongoDB is also
timed with four clients and one call per article. Bytes per article are the size of the collections or tables
of articles.

With ``--data`` only the upkeep of the data file in this folder is measured: backup, restore, and migration
from the first format to the present one. With ``--migrate N`` only the migration of N articles in MongoDB is
measured. The figures are wall-clock time, processor time of this process and of mongod, growth of the
memory of this process, bytes written, and the largest size of the write-ahead log during the
migration.

    python -m benchmarks.storage [--articles 10000] [--data DIR | --migrate 100000] [--json]
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import random
import resource
import shutil
import sqlite3
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from itertools import cycle
from pathlib import Path
from typing import Any

from pymongo import MongoClient

from benchmarks.servers import own_mongo, process_seconds
from benchmarks.texts import articles, page
from newsbot.connections.sqlite import open_database
from newsbot.storage.base import Storage
from newsbot.storage.mongo import MongoStorage
from newsbot.storage.mongo import schema as mongo_schema
from newsbot.storage.mongo.documents import text_key, to_document
from newsbot.storage.sqlite import SqliteStorage
from newsbot.storage.sqlite.connection import MIGRATIONS
from tests.servers import MongoServer

TIMED = 1000
"""Number of timed articles, with one client and for each of several clients."""
CLIENTS = 4
BATCH = 32
TURN = 160
LINKS = 100
"""Pages that are discovered in one call, like the links of a page."""
Row = dict[str, Any]


def store(storage: Storage, start: int, stop: int) -> float:
    """Store articles with one call per article. Return the rate per second."""
    some = list(articles(start, stop))
    begin = time.perf_counter()
    for article in some:
        storage.articles.store(article)
    return len(some) / (time.perf_counter() - begin)


def store_in_turns(storage: Storage, start: int, stop: int) -> Row:
    """Store groups of articles, by turns with one call per article and in batches. Return both rates per
    second."""
    spent = {1: 0.0, BATCH: 0.0}
    counts = dict.fromkeys(spent, 0)
    sizes = cycle(spent)
    for begin, size in zip(range(start, stop, TURN), sizes, strict=False):
        some = list(articles(begin, min(stop, begin + TURN)))
        before = time.perf_counter()
        if size == 1:
            for article in some:
                storage.articles.store(article)
        else:
            for group in range(0, len(some), size):
                storage.articles.store_new(some[group : group + size])
        spent[size] += time.perf_counter() - before
        counts[size] += len(some)
    return {
        "articles stored/s": counts[1] / spent[1],
        f"articles stored/s, {BATCH} per call": counts[BATCH] / spent[BATCH],
    }


def measure(storage: Storage, kept: int) -> Row:
    """Measure everything except storing, on a storage with the first ``kept`` articles."""
    chance = random.Random("storage")
    begin = time.perf_counter()
    for start in range(0, 20 * LINKS, LINKS):
        storage.pages.discover([page(kept + number) for number in range(start, start + LINKS)])
    discovered = 20 * LINKS / (time.perf_counter() - begin)
    pages = [page(kept + number) for number in range(TIMED // 2)]
    return {
        "pages discovered/s": discovered,
        "pages saved/s, one per call": _rate(lambda one: storage.pages.save([one]), pages),
        "pages saved/s, 16 per call": 16 * _rate(storage.pages.save, _groups(pages, 16)),
        "pages read/s": _rate(lambda one: storage.pages.get([one.fingerprint]), pages),
        "articles read/s": _rate(
            storage.articles.get, [page(chance.randrange(kept)).url for _ in range(TIMED // 2)]
        ),
    }


def _rate(call: Callable[[Any], object], arguments: Iterable[Any]) -> float:
    values = list(arguments)
    begin = time.perf_counter()
    for value in values:
        call(value)
    return len(values) / (time.perf_counter() - begin)


def _groups(values: list[Any], size: int) -> list[list[Any]]:
    return [values[start : start + size] for start in range(0, len(values) - size + 1, size)]


# --- MongoDB
def mongo_row(number: int) -> Row:
    """Fill a temporary MongoDB and measure it."""
    with own_mongo() as server:
        uri = f"{server.uri}newsbot"
        storage = MongoStorage(uri)
        bulk = number - TIMED * 2
        _fill(server, bulk)
        alone = store_in_turns(storage, bulk, bulk + TIMED)
        parts = [
            (uri, bulk + TIMED + part * TIMED // CLIENTS, bulk + TIMED + (part + 1) * TIMED // CLIENTS)
            for part in range(CLIENTS)
        ]
        with multiprocessing.get_context("spawn").Pool(CLIENTS) as pool:
            together = sum(pool.starmap(_store_part, parts, 1))
        row: Row = {"storage": "MongoDB", "articles": number} | alone
        row[f"articles stored/s, {CLIENTS} clients"] = together
        row |= measure(storage, number) | _mongo_bytes(server, number)
        storage.close()
    return row


def _store_part(uri: str, start: int, stop: int) -> float:
    with closing(MongoStorage(uri)) as storage:
        return store(storage, start, stop)


def _fill(server: MongoServer, stop: int) -> None:
    """Write the documents in bulk, in the same form as newsbot stores them."""
    with MongoClient[Any](server.uri, tz_aware=True) as client:
        database = client["newsbot"]
        for start in range(0, stop, 500):
            documents = [to_document(one) | {"version": 1} for one in articles(start, min(stop, start + 500))]
            database["articles"].insert_many(documents)
            texts = [
                {"_id": text_key(one["source"], one["content_hash"]), "article": one["_id"]}
                for one in documents
            ]
            database["texts"].insert_many(texts)


def _mongo_bytes(server: MongoServer, number: int) -> Row:
    with MongoClient[Any](server.uri) as client:
        client.admin.command("fsync")  # after a checkpoint the sizes are those on disk
        sizes = {
            name: client["newsbot"].command("collStats", name) for name in ("articles", "texts", "pages")
        }
    used = {name: size["storageSize"] + size["totalIndexSize"] for name, size in sizes.items()}
    return {
        "bytes per article": (used["articles"] + used["texts"]) / number,
        "bytes per page": used["pages"] / sizes["pages"]["count"],
    }


# --- SQLite
def sqlite_row(number: int) -> Row:
    """Fill a temporary file and measure it."""
    with tempfile.TemporaryDirectory(prefix="newsbot-bench-") as folder:
        path = Path(folder) / "newsbot.db"
        storage = SqliteStorage(path)
        store(storage, 0, number - TIMED)
        row: Row = {"storage": "SQLite", "articles": number}
        row |= store_in_turns(storage, number - TIMED, number)
        row |= measure(storage, number)
        storage.close()
        return row | _sqlite_bytes(path, number)


def _sqlite_bytes(path: Path, number: int) -> Row:
    with closing(sqlite3.connect(path)) as database:
        sizes = dict(database.execute("SELECT name, sum(pgsize) FROM dbstat GROUP BY name"))
        pages = database.execute("SELECT count(*) FROM page").fetchone()[0]
    of_pages = sum(size for name, size in sizes.items() if name.startswith(("page", "sqlite_autoindex_page")))
    kept = sum(size for name, size in sizes.items() if "article" in name)
    return {
        "bytes per article": kept / number,
        "bytes per page": of_pages / pages,
    }


# --- upkeep
def upkeep(folder: Path) -> Iterator[Row]:
    """Back up a data file, restore the backup, and migrate the data from the first format."""
    file = folder / "newsbot.db"
    with tempfile.TemporaryDirectory(prefix="newsbot-bench-", dir=folder) as own:
        backup, restored, old = (Path(own) / name for name in ("backup.db", "restored.db", "old.db"))

        def back_up() -> None:
            with closing(sqlite3.connect(file)) as source, closing(sqlite3.connect(backup)) as target:
                source.backup(target)

        def restore() -> None:
            shutil.copyfile(backup, restored)
            SqliteStorage(restored).close()

        with closing(SqliteStorage(file)) as storage:
            number = {"articles": storage.articles.count()}
        yield _step("backup", back_up) | number | {"bytes": backup.stat().st_size}
        yield _step("restore", restore) | number | {"bytes": restored.stat().st_size}
        restored.unlink()
        backup.unlink()
        _make_old(old, file)
        before = old.stat().st_size
        largest = 0

        def watch() -> None:
            nonlocal largest
            log = Path(f"{old}-wal")
            while not done.wait(0.05):
                largest = max(largest, log.stat().st_size if log.exists() else 0)

        done = threading.Event()
        watcher = threading.Thread(target=watch)
        watcher.start()
        row = _step("migrate", lambda: SqliteStorage(old).close())
        done.set()
        watcher.join()
        yield row | number | {"bytes": old.stat().st_size - before, "bytes of the log": largest}


def _make_old(path: Path, file: Path) -> None:
    """Write the rows of a data file to a new one of the first format."""
    open_database(path, component="storage", migrations=MIGRATIONS[:1]).close()
    with closing(sqlite3.connect(path)) as database:
        database.execute("ATTACH ? AS present", (str(file),))
        names = "SELECT name FROM main.sqlite_master WHERE type = 'table' AND name <> 'newsbot_schema'"
        for (table,) in database.execute(names).fetchall():
            columns = ", ".join(row[1] for row in database.execute(f"PRAGMA main.table_info({table})"))
            database.execute(f"INSERT INTO main.{table} ({columns}) SELECT {columns} FROM present.{table}")
        database.commit()


def migrate_mongo(number: int) -> Iterator[Row]:
    """Migrate articles in MongoDB from the first format to the present one."""
    with own_mongo() as server:
        uri = f"{server.uri}newsbot"
        every = mongo_schema.MIGRATIONS
        mongo_schema.MIGRATIONS = every[:1]
        MongoStorage(uri).close()
        mongo_schema.MIGRATIONS = every
        _fill(server, number)
        assert server.process is not None
        before = process_seconds(server.process.pid)
        row = _step("migrate", lambda: MongoStorage(uri).close()) | {"articles": number}
        yield row | {"s CPU of mongod": process_seconds(server.process.pid) - before}


def _step(name: str, work: Callable[[], object]) -> Row:
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    return {
        "step": name,
        "s": time.perf_counter() - wall,
        "s CPU": time.process_time() - cpu,
        "MB of memory": (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory) / 1024,
    }


def rows(number: int) -> Iterator[Row]:
    """Yield a row for each storage."""
    yield mongo_row(number)
    yield sqlite_row(number)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--articles", type=int, default=10_000, help=f"at least {2 * TIMED}")
    parser.add_argument("--data", type=Path)
    parser.add_argument("--migrate", type=int)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if options.articles < 2 * TIMED:
        parser.error(f"--articles: at least {2 * TIMED}")
    if options.data:
        measured = list(upkeep(options.data))
    elif options.migrate:
        measured = list(migrate_mongo(options.migrate))
    else:
        measured = list(rows(options.articles))
    if options.json:
        print(json.dumps(measured))
        return
    for name in dict.fromkeys(name for row in measured for name in row):
        values = (row.get(name, "") for row in measured)
        print(
            f"{name:32}"
            + "".join(f"{one:>14,.0f}" if isinstance(one, float) else f"{one:>14}" for one in values)
        )


if __name__ == "__main__":
    main()
