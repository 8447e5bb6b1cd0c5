"""Search over stored articles: indexing cost per article and query times, for growing storages.

Each storage is filled to the sizes of ``--sizes``, then the index is brought up to date. ``indexed``: time to
read an article from the storage and write it to the index, and processor time of this process and of mongod.
``found after``: how long the first search in another process takes to find articles that were stored just
before. Each query is sent ten times with different words, in one process that has answered other queries
before. Printed are median and 95th percentile in ms, and the median of the processor time, which is stable on
a busy machine.

    python -m benchmarks.search [--sizes 10000,100000] [--storages sqlite,mongo] [--corpus FILE]

``--corpus``: a .jsonl.gz file with a ``text`` in each line; by default sentences are generated.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing
from itertools import islice, pairwise
from pathlib import Path
from statistics import median, quantiles
from typing import Any

from benchmarks.searchtexts import Texts
from benchmarks.servers import own_mongo, process_seconds
from newsbot.search.articles import ArticleSearch
from newsbot.search.index import SearchIndex
from newsbot.storage.base import Storage
from newsbot.storage.mongo import MongoStorage
from newsbot.storage.sqlite import SqliteStorage
from newsbot.storage.upkeep import ArticleCopy
from newsbot.urls import fingerprint

BATCH = 500
STORED = 50
EACH = 10
Row = dict[str, Any]


class Place:
    """A storage of the benchmark, and the index over it."""

    def __init__(self, kind: str, stack: ExitStack) -> None:
        self.name = kind
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="newsbot-bench-")))
        self.server = None if kind == "sqlite" else stack.enter_context(own_mongo())
        self.storage: Storage = (
            SqliteStorage(folder / "newsbot.db")
            if self.server is None
            else MongoStorage(f"{self.server.uri}newsbot")
        )
        stack.callback(self.storage.close)
        self.path = folder / "search.db"
        self.search = stack.enter_context(closing(self.open()))

    def open(self) -> ArticleSearch:
        """Open another search over the same data."""
        return ArticleSearch(self.path, self.storage.articles)

    def server_seconds(self) -> float:
        """Return the processor time of mongod."""
        if self.server is None:
            return 0.0
        assert self.server.process is not None
        return process_seconds(self.server.process.pid)


def fill(place: Place, texts: Texts, start: int, stop: int) -> None:
    """Write articles in bulk."""
    articles = texts.articles(start, stop)
    while some := list(islice(articles, BATCH)):
        place.storage.load.articles([ArticleCopy(fingerprint(one.canonical_url), one, ()) for one in some])


def index_cost(place: Place, number: int) -> Row:
    """Bring the index up to date; return the cost per article."""
    longest = 0.0
    merge = SearchIndex.merge

    def timed(index: SearchIndex, generation: int) -> bool:
        nonlocal longest
        began = time.perf_counter()
        more = merge(index, generation)
        longest = max(longest, time.perf_counter() - began)
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
    }


def found_after(place: Place, texts: Texts, start: int) -> Row:
    """Store articles one by one, and return how long a search takes to find the last one."""
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
    sentences = [one.stems.split() for one in texts.sentences]

    def pair(chance: random.Random) -> str:
        """Return two adjacent words, both frequent."""
        known = set(often)
        while True:
            words = chance.choice(sentences)
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
            f"{c.choice(often)} site:news{c.randrange(900, 999)}.example"
        ),
        "a word without a frequent one": lambda c: f"{c.choice(middle)} -{c.choice(often)}",
        "all without a frequent word": lambda c: f"-{c.choice(often)}",
        "title:": lambda c: f"title:{c.choice(often)}",
        "author: and a frequent word": lambda c: f"author:{c.randrange(5000)} {c.choice(often)}",
        "a frequent word of a week": lambda c: f"{c.choice(often)} since:2025-01-02 until:2025-01-09",
        "a frequent word in one language": lambda c: f"{c.choice(often)} lang:ru",
    }

    def asked(
        make: Callable[[random.Random], str], by_time: bool
    ) -> Callable[[random.Random], tuple[str, bool]]:
        return lambda chance: (make(chance), by_time)

    return {
        f"{name}, {order}": asked(make, order == "newest")
        for order in ("newest", "best")
        for name, make in kinds.items()
    }


def query_times(place: Place, texts: Texts) -> Row:
    """Return the median, the 95th percentile and the processor time of first result pages, in ms."""
    found: Row = {}
    with closing(place.open()) as search:
        search.find(f"{texts.by_frequency[0]} {texts.by_frequency[1000]}")
        for name, make in queries(texts).items():
            chance = random.Random(name)
            taken = [_timed(search, *make(chance)) for _ in range(EACH)]
            walls = [wall for wall, _ in taken]
            found[name] = (median(walls), quantiles(walls, n=20)[-1], median(cpu for _, cpu in taken))
    return found


def _timed(search: ArticleSearch, query: str, by_time: bool) -> tuple[float, float]:
    """Search; return wall-clock and processor time in milliseconds."""
    begin, cpu = time.perf_counter(), time.process_time()
    search.find(query, by_time=by_time)
    return 1000 * (time.perf_counter() - begin), 1000 * (time.process_time() - cpu)


def rows(sizes: Sequence[int], kinds: Sequence[str], texts: Texts) -> Iterator[Row]:
    """Yield a row for each storage and size."""
    for kind in kinds:
        with ExitStack() as stack:
            place = Place(kind, stack)
            done = 0
            for size in sizes:
                fill(place, texts, done, size - STORED)
                row: Row = {"storage": place.name, "articles": size}
                row |= index_cost(place, size - STORED - done) | found_after(place, texts, size - STORED)
                done = size
                row["bytes of an article in the index"] = place.path.stat().st_size / done
                yield row | query_times(place, texts)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sizes", default="10000,100000")
    parser.add_argument("--storages", default="sqlite,mongo")
    parser.add_argument("--corpus", type=Path)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    texts = Texts(options.corpus)
    measured: list[Row] = []
    for row in rows([int(size) for size in options.sizes.split(",")], options.storages.split(","), texts):
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
