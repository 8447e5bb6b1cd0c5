"""Search over stored articles: indexing cost per article and query times, for growing storages.

Each storage is filled to the sizes of ``--sizes``, then the index is brought up to date. The figures are:

* ``written``: processor time to store an article
* ``indexed``: time to read an article from the storage and write it to the index, and the processor time of
  this process and of mongod
* ``found after``: duration of the first search in another process that finds articles which were stored
  immediately before
* for each query: the median and the 95th percentile of the duration and of the processor time, in ms. The
  query is sent 20 times with different words, to a process that has answered other queries before

Processor time is stable on a busy machine.

With ``--copies 10,100``, the queries are also measured in an index with 10 and 100 times the files of words
of the last size. The other files are links to the same files, but they are read and ranked like files of
their own. All of them fit into memory.

    python -m benchmarks.search [--sizes 10000,100000] [--storages sqlite,mongo] [--corpus FILE]
        [--sentences 14] [--data DIR] [--copies 10,100]

``--corpus``: a .jsonl.gz file with a ``text`` in each line; by default sentences are generated.
``--sentences``: length of an article; 14 sentences are 250 words. ``--data``: keep the data file and the
index in this new folder.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing
from itertools import islice, pairwise
from pathlib import Path
from statistics import median, quantiles
from typing import Any

from pymongo import MongoClient

from benchmarks.searchtexts import AN_ARTICLE, Texts, site_name
from newsbot.apps.search.articles import ArticleSearch
from newsbot.apps.search.index import SearchIndex
from newsbot.apps.search.months import Months
from newsbot.apps.transfer.copies import ArticleCopy, copies_of
from newsbot.backends import open_storage
from newsbot.storage.base import Storage
from newsbot.urls import fingerprint
from testbed.temporary import own_mongo, process_seconds

BATCH = 500
STORED = 50
EACH = 20
Row = dict[str, Any]


class Place:
    """A storage of the benchmark, and the index over it."""

    def __init__(self, kind: str, stack: ExitStack, folder: Path | None = None) -> None:
        self.name = kind
        own = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="newsbot-bench-")))
        self.folder = folder = folder or own
        self.server = None if kind == "sqlite" else stack.enter_context(own_mongo(folder / "mongo"))
        self.data = folder / "newsbot.db"
        self.settings = {
            "NEWSBOT_DATA": str(folder),
            "MONGO_URI": "" if self.server is None else f"{self.server.uri}newsbot",
            "REDIS_URL": "",
        }
        self.storage: Storage = open_storage(self.settings)
        stack.callback(self.storage.close)
        self.path = folder / "search.db"
        self.search = stack.enter_context(closing(self.open()))

    def open(self) -> ArticleSearch:
        """Open another search over the same data."""
        return ArticleSearch(self.path, self.storage.articles)

    def data_bytes(self) -> int:
        """Return the size of the stored articles with their indexes, after a checkpoint."""
        if self.server is None:
            with closing(sqlite3.connect(self.data)) as database:
                database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            return self.data.stat().st_size
        with MongoClient[Any](self.server.uri) as client:
            client.admin.command("fsync")
            return int(client["newsbot"].command("dbStats")["totalSize"])

    def server_seconds(self) -> float:
        """Return the processor time of mongod."""
        if self.server is None:
            return 0.0
        assert self.server.process is not None
        return process_seconds(self.server.process.pid)


def fill(place: Place, texts: Texts, start: int, stop: int) -> tuple[float, float]:
    """Write articles in bulk. Return the duration and the processor time.

    The time to generate the articles does not count.
    """
    articles = texts.articles(start, stop)
    wall = cpu = 0.0
    server = place.server_seconds()
    while some := list(islice(articles, BATCH)):
        began, ours = time.perf_counter(), time.process_time()
        copies_of(place.storage).write(
            "articles", [ArticleCopy(fingerprint(one.canonical_url), one, ()) for one in some]
        )
        wall += time.perf_counter() - began
        cpu += time.process_time() - ours
    return wall, cpu + place.server_seconds() - server


def index_cost(place: Place, number: int) -> Row:
    """Bring the index up to date; return the cost per article."""
    longest = longest_cpu = 0.0
    merge = SearchIndex.merge

    def timed(index: SearchIndex, generation: int) -> bool:
        nonlocal longest, longest_cpu
        began, ours = time.perf_counter(), time.process_time()
        more = merge(index, generation)
        longest = max(longest, time.perf_counter() - began)
        longest_cpu = max(longest_cpu, time.process_time() - ours)
        return more

    SearchIndex.merge = timed  # type: ignore[assignment,method-assign]
    wall, cpu, server = time.perf_counter(), time.process_time(), place.server_seconds()
    place.search.follow()
    SearchIndex.merge = merge  # type: ignore[method-assign]
    return {
        "indexed, ms": 1000 * (time.perf_counter() - wall) / number,
        "indexed, ms CPU": 1000 * (time.process_time() - cpu) / number,
        "indexed, ms CPU of mongod": 1000 * (place.server_seconds() - server) / number,
        "longest step of merging, ms": 1000 * longest,
        "longest step of merging, ms CPU": 1000 * longest_cpu,
    }


def found_after(place: Place, texts: Texts, start: int) -> Row:
    """Store articles with one call per article. Return how long a search takes to find the last article."""
    for article in texts.articles(start, start + STORED):
        place.storage.articles.store(article)
    begin = time.perf_counter()
    with closing(place.open()) as other:
        assert other.find(f"case{start + STORED - 1}", by_time=True)
    return {"found after, ms": 1000 * (time.perf_counter() - begin)}


def queries(texts: Texts) -> dict[str, Callable[[random.Random], tuple[str, bool]]]:
    """Return the queries: name -> function that returns a query and whether it is sorted by time."""
    often, middle, seldom = (
        texts.by_frequency[:20],
        texts.by_frequency[300:1000],
        texts.by_frequency[5000:10000],
    )

    def pair(chance: random.Random) -> str:
        """Return two adjacent words, both frequent."""
        known = set(often)
        while True:
            words = chance.choice(texts.stemmed)
            for one, other in pairwise(words):
                if one in known and other in known:
                    return f'"{one} {other}"'

    kinds: dict[str, Callable[[random.Random], str]] = {
        "a rare word": lambda c: c.choice(seldom),
        "two words": lambda c: f"{c.choice(middle)} {c.choice(middle)}",
        "a very frequent word": lambda c: c.choice(often),
        "two very frequent words": lambda c: " ".join(c.sample(often, 2)),
        "a frequent phrase": pair,
        "a phrase of frequent words that nobody wrote": lambda c: (
            f'"{often[0]} {often[0]} {c.choice(often)}"'
        ),
        "a frequent word of a rare site": lambda c: (
            f"{c.choice(often)} site:{site_name(c.randrange(900, 999))}"
        ),
        "a word without a frequent one": lambda c: f"{c.choice(middle)} -{c.choice(often)}",
        "all without a frequent word": lambda c: f"-{c.choice(often)}",
        "a frequent word or another": lambda c: " OR ".join(c.sample(often, 2)),
        "title:": lambda c: f"title:{c.choice(often)}",
        "author: and a frequent word": lambda c: f"author:{c.randrange(5000)} {c.choice(often)}",
        "a frequent word of half a day": lambda c: f"{c.choice(often)} since:24h until:12h",
        "a frequent word in one language": lambda c: f"{c.choice(often)} lang:ru",
        "a frequent word of a site in one language": lambda c: (
            f"{c.choice(often)} site:{site_name(c.randrange(900, 999))} lang:ru"
        ),
    }

    def with_order(
        make: Callable[[random.Random], str], by_time: bool
    ) -> Callable[[random.Random], tuple[str, bool]]:
        return lambda chance: (make(chance), by_time)

    return {
        f"{name}, {order}": with_order(make, order == "newest")
        for order in ("newest", "best")
        for name, make in kinds.items()
    }


def query_times(place: Place, texts: Texts) -> Row:
    """Return the median and 95th percentile of the duration and of the processor time, in milliseconds.

    They are measured for the first page of results of each query.
    """
    found: Row = {}
    with closing(place.open()) as search:
        search.find(f"{texts.by_frequency[0]} {texts.by_frequency[1000]}")
        for name, make in queries(texts).items():
            chance = random.Random(name)
            taken = [_timed(search, *make(chance)) for _ in range(EACH)]
            found[name] = tuple(
                value
                for times in zip(*taken, strict=True)
                for value in (median(times), quantiles(times, n=20, method="inclusive")[-1])
            )
    return found


def _timed(search: ArticleSearch, query: str, by_time: bool) -> tuple[float, float]:
    """Search; return wall-clock and processor time in milliseconds."""
    begin, cpu = time.perf_counter(), time.process_time()
    search.find(query, by_time=by_time)
    return 1000 * (time.perf_counter() - begin), 1000 * (time.process_time() - cpu)


def rows(
    sizes: Sequence[int],
    kinds: Sequence[str],
    texts: Texts,
    folder: Path | None = None,
    copies: Sequence[int] = (),
) -> Iterator[Row]:
    """Yield a row for each storage and size, and for each number of copies of the last size."""
    for kind in kinds:
        with ExitStack() as stack:
            place = Place(kind, stack, folder)
            done = 0
            for size in sizes:
                row: Row = {"storage": place.name, "articles": size}
                _, cpu = fill(place, texts, done, size - STORED)
                row["written, ms CPU"] = 1000 * cpu / (size - STORED - done)
                row |= index_cost(place, size - STORED - done) | found_after(place, texts, size - STORED)
                done = size
                files = [place.path, *place.path.with_suffix("").rglob("*.db")]
                row["bytes of an article in the index"] = sum(one.stat().st_size for one in files) / done
                if place.server is None:
                    row["bytes of an article in the data file"] = place.data.stat().st_size / done
                row["MB of memory at most"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
                yield row | query_times(place, texts)
            for times in copies:
                copied(place, times)
                yield {"storage": place.name, "articles": done * times} | query_times(place, texts)


def copied(place: Place, times: int) -> None:
    """Add links to the files of words, until there are ``times`` as many files."""
    months = Months(place.path.with_suffix(""))
    place.search.close()
    with closing(sqlite3.connect(place.path)) as database, database:
        rows = database.execute("SELECT name, articles, top FROM file_1 WHERE name >= '1970'").fetchall()
        for number in range(1, times):
            for name, articles, top in rows:
                month = f"{1969 - number // 12:04}-{number % 12 + 1:02}-{name[-2:]}"
                link = months.path(1, month)
                if not link.exists():
                    link.symlink_to(months.path(1, name))
                    database.execute("INSERT INTO file_1 VALUES (?, ?, ?)", (month, articles, top))
    place.search = place.open()


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sizes", default="10000,100000")
    parser.add_argument("--storages", default="sqlite,mongo")
    parser.add_argument("--corpus", type=Path)
    parser.add_argument("--sentences", type=int, default=AN_ARTICLE)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--copies", default="")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    sizes, kinds = [int(size) for size in options.sizes.split(",")], options.storages.split(",")
    texts = Texts(options.corpus, sizes[-1], options.sentences)
    measured: list[Row] = []
    copies = [int(times) for times in options.copies.split(",") if times]
    for row in rows(sizes, kinds, texts, options.data, copies):
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
