"""The cost of storages with 10^4 to 10^6 articles, and a linear estimate for 10^7 articles.

Each storage and size has a folder in ``--data`` with the data and the measured figures (``figures.json``).
Later runs use both. The articles are those of benchmarks/searchtexts.py. The steps:

``fill``       write the articles in bulk, as ``scrapy move`` does
``index``      build the search index of the articles
``search``     the first page of results of each kind of query of benchmarks/search.py
``dashboard``  pages in Chromium (benchmarks/dashboard.py). This adds waiting URLs and activity to the data
``backup``     back up and restore the data file as docs/operations.md says
``move``       ``scrapy move`` from the data file to servers and back
``changes``    SQLite's instructions to store a new article, to read it, and to read a change

Durations are in seconds, or in milliseconds for one page or query. ``CPU`` is the processor time of this
process and of mongod. Measure ``search`` and ``dashboard`` alone on a busy machine, with ``chrt -r 1``.

    python -m benchmarks.scale --data DIR [--sizes 100000,300000,1000000] [--storages sqlite,mongo]
        [--steps fill,index,search,dashboard,backup,move,changes] [--corpus FILE] [--sentences 14]
"""

from __future__ import annotations

import argparse
import json
import shutil
import sqlite3
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack, closing
from pathlib import Path
from statistics import linear_regression
from typing import Any

from benchmarks import dashboard
from benchmarks.search import Place, fill, index_cost, query_times
from benchmarks.searchtexts import AN_ARTICLE, Texts
from newsbot.apps.transfer.command import Journal, compare_all, copy_all
from newsbot.apps.transfer.copies import Choice, Side
from newsbot.backends import open_storage
from newsbot.storage.sqlite import SqliteStorage
from testbed.temporary import own_mongo, own_redis, process_seconds, redis_seconds

LARGEST = 10_000_000
CHANGED = 100
"""Number of articles of the step ``changes``."""
Figures = dict[str, float]


def filled(place: Place, number: int, texts: Texts) -> Figures:
    """Write the articles. The time to generate their texts is not counted."""
    wall, cpu = fill(place, texts, 0, number)
    return {"fill, s": wall, "fill, s CPU": cpu, "data, MB": place.data_bytes() / 1e6}


def indexed(place: Place, number: int, _texts: Texts) -> Figures:
    """Build the search index."""
    cost = index_cost(place, number)
    return {
        "index, s": cost["indexed, ms"] * number / 1000,
        "index, s CPU": (cost["indexed, ms CPU"] + cost["indexed, ms CPU of mongod"]) * number / 1000,
        "index, MB": sum(one.stat().st_size for one in place.folder.glob("search*/**/*.db")) / 1e6
        + place.path.stat().st_size / 1e6,
        "longest step of merging, ms CPU": cost["longest step of merging, ms CPU"],
    }


def searched(place: Place, _number: int, texts: Texts) -> Figures:
    """Return median and 95th percentile of each kind of query."""
    found: Figures = {}
    for name, (half, most, _, most_cpu) in query_times(place, texts).items():
        found |= {f"{name}, median": half, f"{name}, p95": most, f"{name}, p95 CPU": most_cpu}
    return found


def painted(place: Place, number: int, texts: Texts) -> Figures:
    """Return the processor time of the server and the first paint of each page."""
    settings = place.settings
    dashboard.fill_books(settings, number)
    found: Figures = {}
    for row in dashboard.measure(number, settings, texts):
        found[f"{row['page']}, CPU"] = row["cpu_ms"]
        found[f"{row['page']}, median"] = row["median_ms"]
        if row["paint_ms"] is not None:
            found[f"{row['page']}, paint"] = row["paint_ms"]
    return found


def backed_up(place: Place, _number: int, _texts: Texts) -> Figures:
    """Back up and restore a data file."""
    if place.server is not None:
        return {}
    found: Figures = {}
    with tempfile.TemporaryDirectory(dir=place.folder) as own:
        backup, restored = Path(own) / "backup.db", Path(own) / "restored.db"

        def back_up() -> None:
            file = place.folder / "newsbot.db"
            with closing(sqlite3.connect(file)) as source, closing(sqlite3.connect(backup)) as target:
                source.backup(target)

        def restore() -> None:
            shutil.copyfile(backup, restored)
            SqliteStorage(restored).close()

        for name, step in (("backup", back_up), ("restore", restore)):
            wall, cpu = time.perf_counter(), time.process_time()
            step()
            found[f"{name}, s"] = time.perf_counter() - wall
            found[f"{name}, s CPU"] = time.process_time() - cpu
        return found | {"backup, MB": backup.stat().st_size / 1e6}


def moved(place: Place, _number: int, _texts: Texts) -> Figures:
    """Copy all data to servers and back, each with the comparison at the end."""
    if place.server is not None:
        return {}
    with (
        own_redis() as redis_url,
        own_mongo() as server,
        tempfile.TemporaryDirectory(dir=place.folder) as own,
    ):
        assert server.process is not None
        mongod = server.process.pid
        servers = {"REDIS_URL": redis_url, "MONGO_URI": f"{server.uri}newsbot"}
        found: Figures = {}
        with (
            closing(Side.open(place.settings)) as here,
            closing(Side.open(servers)) as there,
            closing(Side.open(place.settings | {"NEWSBOT_DATA": own})) as home,
        ):

            def used() -> float:
                return time.process_time() + process_seconds(mongod) + redis_seconds(redis_url)

            for way, source, target in (("move to servers", here, there), ("move home", there, home)):
                wall, cpu = time.perf_counter(), used()
                copy_all(source, target, Choice(), Journal(Path(own) / way, {"way": way}), _quiet)
                assert all(one.same for one in compare_all(source, target, Choice(), _quiet)), way
                found |= {f"{way}, s": time.perf_counter() - wall, f"{way}, s CPU": used() - cpu}
    return found


def changed(place: Place, number: int, texts: Texts) -> Figures:
    """Count SQLite's instructions for single articles. They must not depend on the number of articles."""
    if place.server is not None:
        return {}
    connect, count = sqlite3.connect, 0

    def counting(*positional: Any, **named: Any) -> sqlite3.Connection:
        database: sqlite3.Connection = connect(*positional, **named)
        database.set_progress_handler(counted, 1)
        return database

    def counted() -> None:
        nonlocal count
        count += 1

    sqlite3.connect = counting  # type: ignore[assignment]
    try:
        storage = open_storage(place.settings)
    finally:
        sqlite3.connect = connect
    with closing(storage):
        articles = list(texts.articles(number, number + CHANGED))
        cursor, found = storage.articles.changes_since("", 1).cursor, {}
        steps: dict[str, Callable[[], object]] = {
            "store": lambda: [storage.articles.store(one) for one in articles],
            "read": lambda: [storage.articles.get(one.canonical_url) for one in articles],
            "read a change": lambda: storage.articles.changes_since(cursor, CHANGED),
        }
        for name, step in steps.items():
            count = 0
            step()
            found[f"{name}, instructions"] = count / CHANGED
        storage.removal.articles([one.canonical_url for one in articles])
        return found


def _quiet(_kind: str, _number: int) -> None:
    """Ignore a report of a move."""


STEPS: Mapping[str, Callable[[Place, int, Texts], Figures]] = {
    "fill": filled,
    "index": indexed,
    "search": searched,
    "dashboard": painted,
    "backup": backed_up,
    "move": moved,
    "changes": changed,
}


def measure(kind: str, number: int, steps: list[str], texts: Texts, folder: Path) -> Figures:
    """Run the steps with one storage; return its figures, including those of earlier runs."""
    folder.mkdir(parents=True, exist_ok=True)
    kept = folder / "figures.json"
    found: dict[str, Figures] = json.loads(kept.read_text()) if kept.exists() else {}
    with ExitStack() as stack:
        place = Place(kind, stack, folder)
        for step in steps:
            measured = STEPS[step](place, number, texts)
            found = json.loads(kept.read_text()) if kept.exists() else {}
            found[step] = measured
            kept.write_text(json.dumps(found, indent=1))
    return {name: value for step in STEPS for name, value in found.get(step, {}).items()}


def extrapolated(name: str, values: Mapping[int, float]) -> float | None:
    """Return the estimate of a total at :data:`LARGEST` by a straight line; None for values like medians."""
    if len(values) < 2 or not name.endswith((", s", ", s CPU", ", MB")):
        return None
    slope, start = linear_regression(list(values), list(values.values()))
    return start + slope * LARGEST


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--sizes", default="100000,300000,1000000")
    parser.add_argument("--storages", default="sqlite,mongo")
    parser.add_argument("--steps", default=",".join(STEPS))
    parser.add_argument("--corpus", type=Path)
    parser.add_argument("--sentences", type=int, default=AN_ARTICLE)
    options = parser.parse_args()
    sizes = [int(size) for size in options.sizes.split(",")]
    steps = [one for one in STEPS if one in options.steps.split(",")]
    for kind in options.storages.split(","):
        found = {
            size: measure(
                kind,
                size,
                steps,
                Texts(options.corpus, size, options.sentences),
                options.data / f"{kind}-{size}",
            )
            for size in sizes
        }
        print(f"{kind:<60}" + "".join(f"{size:>12,}" for size in sizes) + f"{LARGEST:>14,} (line)")
        for name in dict.fromkeys(name for one in found.values() for name in one):
            values = {size: one[name] for size, one in found.items() if name in one}
            guess = extrapolated(name, values)
            print(
                f"  {name:<58}"
                + "".join(f"{values[size]:>12,.1f}" if size in values else f"{'-':>12}" for size in sizes)
                + ("" if guess is None else f"{guess:>14,.1f}"),
                flush=True,
            )


if __name__ == "__main__":
    main()
