"""Search over stored articles: time of the first page, and what an article costs the index, as it grows.

Both storages are filled to 10^4, 10^5 and 10^6 articles (``--sizes``), most in bulk, but always through
the index's own folding and merging. At the end of each size, without bulk: articles are stored one by
one, and all that an article goes through in the index is timed, up to segments of 16,384 articles
(processor time of this process, and of mongod). Each query is asked twice by a storage that was just
opened: ``first`` reads blocks from the storage, ``again`` has them in memory; and once, ``warm``, by one that
has answered other queries, as ``scrapy serve`` has. Columns of queries: median
and longest time in ms, and the median processor time of this process, which holds on a busy machine.

    python -m benchmarks.search [--sizes 10000,100000,1000000] [--storages sqlite,mongo] [--corpus FILE]
    python -m benchmarks.search --data FILE [--corpus FILE]

``--data``: what an article costs is measured at a copy of this embedded file, which has articles already
(those of ``benchmarks.dashboard``); none is filled, nothing else is asked.
``--corpus``: a .jsonl.gz with a ``text`` in each line; else sentences are made up.
"""

from __future__ import annotations

import argparse
import json
import random
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing
from itertools import pairwise
from pathlib import Path
from shutil import copyfile as copy_file
from statistics import median
from typing import Any

from pymongo import MongoClient

from benchmarks.searchtexts import Texts
from benchmarks.servers import own_mongo, process_seconds
from newsbot.connections.mongo import connect
from newsbot.connections.sqlite import open_database, transaction
from newsbot.search.index.blocks import BlockStore
from newsbot.search.index.building import fold
from newsbot.search.index.entry import Entry
from newsbot.search.index.indexer import FOLD_AT, Indexer
from newsbot.search.index.segments import TIERS
from newsbot.storage.base import Storage
from newsbot.storage.mongo import MongoStorage
from newsbot.storage.mongo.connection import Server
from newsbot.storage.mongo.documents import to_document
from newsbot.storage.mongo.words import MongoBlocks
from newsbot.storage.sqlite import SqliteStorage
from newsbot.storage.sqlite.articles import insert
from newsbot.storage.sqlite.rows import to_row
from newsbot.storage.sqlite.schema import MIGRATIONS
from newsbot.storage.sqlite.words import SqliteBlocks

LIFE = TIERS[1]
"""Articles that are timed on their way through the index."""
STORED = 512
BATCH = 4_096
EACH = 5
Row = dict[str, Any]


class SqlitePlace:
    """A data file of our own."""

    name = "SQLite"

    def __init__(self, stack: ExitStack, data: Path | None = None) -> None:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="newsbot-bench-")))
        self.path = folder / "newsbot.db"
        if data is not None:
            copy_file(data, self.path)
        self.storage = self.open()
        stack.callback(self.storage.close)
        self._database = open_database(self.path, component="storage", migrations=MIGRATIONS)
        stack.callback(self._database.close)
        self.blocks: BlockStore = SqliteBlocks(self._database, self.path)

    def open(self) -> SqliteStorage:
        """Open the file once more."""
        return SqliteStorage(self.path)

    def put(self, some: Sequence[tuple[Any, Entry]]) -> None:
        """Write articles without their words."""
        with transaction(self._database) as database:
            for article, entry in some:
                insert(database, to_row(article), entry.key)

    def server_seconds(self) -> float:
        """There is no server."""
        return 0.0

    def index_bytes(self) -> int:
        """Return the bytes of the index."""
        with closing(sqlite3.connect(self.path)) as database:
            return int(database.execute("SELECT sum(length(body)) FROM search_block").fetchone()[0] or 0)


class MongoPlace:
    """A MongoDB of our own."""

    name = "MongoDB"

    def __init__(self, stack: ExitStack) -> None:
        self.server = stack.enter_context(own_mongo())
        self.storage = self.open()
        stack.callback(self.storage.close)
        place = connect(f"{self.server.uri}newsbot", None)
        stack.callback(place.client.close)
        self.blocks: BlockStore = MongoBlocks(Server(place))

    def open(self) -> MongoStorage:
        """Connect once more."""
        return MongoStorage(f"{self.server.uri}newsbot")

    def put(self, some: Sequence[tuple[Any, Entry]]) -> None:
        """Write articles without their words."""
        with MongoClient[Any](self.server.uri, tz_aware=True) as client:
            client["newsbot"]["articles"].insert_many(
                [to_document(article) | {"version": 1} for article, _ in some]
            )

    def server_seconds(self) -> float:
        """Return the processor time of mongod."""
        assert self.server.process is not None
        return process_seconds(self.server.process.pid)

    def index_bytes(self) -> int:
        """Return the bytes of the index on disk."""
        with MongoClient[Any](self.server.uri) as client:
            client.admin.command("fsync")
            size = client["newsbot"].command("collStats", "words_blocks")
            return int(size["storageSize"] + size["totalIndexSize"])


Place = SqlitePlace | MongoPlace


class Waiting:
    """A store whose list of what waits is here, so that entries need not be stored."""

    def __init__(self, store: BlockStore) -> None:
        self._store = store
        self.entries: list[Entry] = []
        for name in ("state", "blocks", "write", "drop", "removed"):
            setattr(self, name, getattr(store, name))

    def waiting(self, limit: int) -> list[Entry]:
        """The next of them, as many as are folded at once where nothing is late."""
        return self.entries[: min(limit, FOLD_AT)]

    def change(self, old: Any, new: Any, folded: Sequence[Entry] = (), purged: Any = ()) -> bool:
        """Take what was folded from the list."""
        done = self._store.change(old, new, (), purged)
        if done:
            del self.entries[: len(folded)]
        return done


def fill(place: Place, texts: Texts, start: int, stop: int) -> None:
    """Write articles in bulk; their words in segments of 16,384, which the index merges."""
    store = place.blocks
    entries: list[Entry] = []
    for first in range(start, stop, BATCH):
        some = list(texts.articles(first, min(stop, first + BATCH)))
        place.put(some)
        entries += [entry for _, entry in some]
        if len(entries) >= LIFE or first + BATCH >= stop:
            _add_segment(store, entries)
            entries = []


def _add_segment(store: BlockStore, entries: list[Entry]) -> None:
    """Write one large segment, and merge; the thread of a storage may be at the index too."""
    while not Indexer(store).run():
        time.sleep(0.1)
    state = store.state()
    segment = fold(store, state.next, entries)
    while not store.change(
        state, state.changed(next=segment.number + 1, segments=(*state.segments, segment))
    ):
        state = store.state()
        assert state.next == segment.number, "only what was merged may be tidied up meanwhile"


def index_cost(place: Place, texts: Texts, start: int) -> Row:
    """Take articles through all that happens to them up to segments of 16,384."""
    made = list(texts.articles(start, start + LIFE))
    for first in range(0, LIFE, BATCH):
        place.put(made[first : first + BATCH])
    store: Any = Waiting(place.blocks)
    before, server = time.process_time(), place.server_seconds()
    store.entries = [entry for _, entry in made]
    while not Indexer(store).run():
        time.sleep(0.01)
    used, there = time.process_time() - before, place.server_seconds() - server
    return {"indexed, ms CPU": 1000 * used / LIFE, "of mongod": 1000 * there / LIFE}


def store_cost(place: Place, texts: Texts, start: int) -> Row:
    """Store articles one by one, and look how long the last one takes to be found."""
    some = [article for article, _ in texts.articles(start, start + STORED)]
    cpu, server, begin = time.process_time(), place.server_seconds(), time.perf_counter()
    for article in some:
        place.storage.articles.store(article)
    taken, used = time.perf_counter() - begin, time.process_time() - cpu
    there = place.server_seconds() - server
    begin = time.perf_counter()
    with closing(place.open()) as other:
        assert other.texts.search(f"case{start + STORED - 1}")
    found = time.perf_counter() - begin
    while place.storage.texts.waiting():  # the thread of the storage may be at it
        place.storage.texts.index()
        time.sleep(0.1)
    return {
        "stored, ms": 1000 * taken / STORED,
        "stored, ms CPU": 1000 * used / STORED,
        "stored, ms CPU of mongod": 1000 * there / STORED,
        "found after, ms": 1000 * found,
    }


def queries(texts: Texts) -> dict[str, Callable[[random.Random], tuple[str, bool]]]:
    """What is asked: name -> a query and whether it is sorted by time."""
    often, middle, seldom = (
        texts.by_frequency[:20],
        texts.by_frequency[300:1000],
        texts.by_frequency[5000:10000],
    )
    sentences = [one.stems.split() for one in texts.sentences]

    def pair(chance: random.Random) -> str:
        """Two words that stand side by side, both frequent."""
        known = set(often)
        while True:
            words = chance.choice(sentences)
            for one, other in pairwise(words):
                if one in known and other in known:
                    return f'"{one} {other}"'

    return {
        "a rare word": lambda c: (c.choice(seldom), False),
        "two words": lambda c: (f"{c.choice(middle)} {c.choice(middle)}", False),
        "a very frequent word, by rank": lambda c: (c.choice(often), False),
        "a very frequent word, by time": lambda c: (c.choice(often), True),
        "two very frequent words, by rank": lambda c: (" ".join(c.sample(often, 2)), False),
        "a frequent phrase": lambda c: (pair(c), False),
        "a phrase of frequent words that nobody wrote": lambda c: (
            f'"{often[0]} {often[0]} {c.choice(often)}"', False),
        "a frequent word of a rare site": lambda c: (
            f"{c.choice(often)} site:news{c.randrange(900, 999)}.example", False),
        "a word without a frequent one": lambda c: (f"{c.choice(middle)} -{c.choice(often)}", False),
        "all without a frequent word, by time": lambda c: (f"-{c.choice(often)}", True),
        "title:, by rank": lambda c: (f"title:{c.choice(often)}", False),
        "author: and a frequent word": lambda c: (f"author:{c.randrange(5000)} {c.choice(often)}", False),
        "a frequent word of a week": lambda c: (
            f"{c.choice(often)} since:2025-01-02 until:2025-01-09", False),
        "a frequent word in one language": lambda c: (f"{c.choice(often)} lang:ru", False),
    }  # fmt: skip


def query_times(place: Place, texts: Texts) -> Row:
    """Ask; return the median and the longest time of first pages, in ms."""
    found: Row = {}
    with closing(place.open()) as known:
        known.texts.search(f"{texts.by_frequency[0]} {texts.by_frequency[1000]}")
        for name, make in queries(texts).items():
            chance = random.Random(name)
            asked = [make(chance) for _ in range(EACH)]
            turns: dict[str, list[tuple[float, float]]] = {"warm": [_timed(known, *one) for one in asked]}
            for query, by_time in asked:
                with closing(place.open()) as storage:
                    for turn in ("first", "again"):
                        turns.setdefault(turn, []).append(_timed(storage, query, by_time))
            for turn, taken in turns.items():
                walls = [wall for wall, _ in taken]
                found[f"{name}: {turn}"] = (median(walls), max(walls), median(cpu for _, cpu in taken))
    return found


def _timed(storage: Storage, query: str, by_time: bool) -> tuple[float, float]:
    """Ask; return milliseconds by the clock and of this process."""
    begin, cpu = time.perf_counter(), time.process_time()
    storage.texts.search(query, by_time=by_time)
    return 1000 * (time.perf_counter() - begin), 1000 * (time.process_time() - cpu)


def rows(sizes: Sequence[int], kinds: Sequence[str], texts: Texts) -> Iterator[Row]:
    """Yield a row for each storage and size."""
    for kind in kinds:
        with ExitStack() as stack:
            place: Place = SqlitePlace(stack) if kind == "sqlite" else MongoPlace(stack)
            done = 0
            for size in sizes:
                bulk = max(done, size - LIFE - STORED)
                begin = time.perf_counter()
                fill(place, texts, done, bulk)
                row: Row = {"storage": place.name, "articles": bulk + LIFE + STORED}
                row["filled, s"] = time.perf_counter() - begin
                row |= index_cost(place, texts, bulk) | store_cost(place, texts, bulk + LIFE)
                done = bulk + LIFE + STORED
                row["bytes of an article's words"] = place.index_bytes() / done
                yield row | query_times(place, texts)


def grown(data: Path, texts: Texts) -> Row:
    """Return the row of a file that has articles already."""
    with ExitStack() as stack:
        place = SqlitePlace(stack, data)
        assert place.storage.texts.index()
        known = place.storage.articles.count()
        row: Row = {"storage": place.name, "articles": known}
        row |= index_cost(place, texts, 0) | store_cost(place, texts, LIFE)
        return row | {"bytes of an article's words": place.index_bytes() / (known + LIFE + STORED)}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sizes", default="10000,100000,1000000")
    parser.add_argument("--storages", default="sqlite,mongo")
    parser.add_argument("--corpus", type=Path)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    texts = Texts(options.corpus)
    measured: list[Row] = []
    given = [grown(options.data, texts)] if options.data else []
    for row in given or rows(
        [int(size) for size in options.sizes.split(",")], options.storages.split(","), texts
    ):
        measured.append(row)
        if not options.json:
            _print(row)
    if options.json:
        print(json.dumps(measured))


def _print(row: Row) -> None:
    for name, value in row.items():
        if isinstance(value, tuple):
            print(f"  {name:55}" + "".join(f"{one:8.1f}" for one in value), flush=True)
        else:
            print(f"{name:57}" + (f"{value:8.2f}" if isinstance(value, float) else f"{value:>8}"), flush=True)


if __name__ == "__main__":
    main()
