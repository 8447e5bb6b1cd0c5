"""Speed of ``scrapy move``: from a data file to Redis and MongoDB on loopback, and back.

The file has pages, each with a referrer and an event. Every fourth page waits in the queue; all other pages
are done. The file also has generated articles of 700 words. They were fetched recently, so all of them are in
the index of near-duplicates too. The figures are items per second, and processor time per item (this process
and both servers together). The processor time is stable even on a busy machine.

    python -m benchmarks.moving [--pages 100000] [--articles 3000] [--json]
"""

from __future__ import annotations

import argparse
import json
import resource
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.servers import own_mongo, own_redis, process_seconds, redis_seconds
from benchmarks.texts import articles, page
from newsbot.apps.transfer.copying import Journal, compare_all, copy_all
from newsbot.apps.transfer.side import Choice, Side
from newsbot.clock import utc
from newsbot.crawl.entries import entry_again

BATCH = 1000
SAMPLED = 0.05
"""Seconds between two samples of the processor times."""
Row = dict[str, Any]


class Times:
    """Receives the reports of a move. Stores the duration, the processor time and the number of items per
    kind.

    ``used`` returns the processor time of the servers.
    """

    def __init__(self, used: Callable[[], float]) -> None:
        self._used = used
        self._kind = ""
        self._last, self._cpu = time.perf_counter(), time.process_time() + used()
        self.seconds: dict[str, float] = {}
        self.cpu: dict[str, float] = {}
        self.numbers: dict[str, int] = {}

    def __call__(self, kind: str, number: int) -> None:
        """Receive a report that ``number`` items of a kind have been moved. For some kinds, a report follows
        each item."""
        self.numbers[kind] = number
        if kind != self._kind or time.perf_counter() > self._last + SAMPLED:
            self._charge(kind)
        self._kind = kind

    def end(self) -> None:
        """Record the end of the last kind."""
        self._charge(self._kind)

    def _charge(self, kind: str) -> None:
        now, cpu = time.perf_counter(), time.process_time() + self._used()
        self.seconds[kind] = self.seconds.get(kind, 0.0) + now - self._last
        self.cpu[kind] = self.cpu.get(kind, 0.0) + cpu - self._cpu
        self._last, self._cpu = now, cpu


def fill(side: Side, pages: int, texts: int) -> None:
    """Fill a data file to the requested size."""
    assert side.storage is not None
    assert side.frontier is not None
    for start in range(0, pages, BATCH):
        some = [page(number) for number in range(start, min(start + BATCH, pages))]
        for number, one in enumerate(some):
            one.state = "done" if number % 4 else "pending"
            one.last_fetched = one.first_seen + 5 if number % 4 else None
            one.history = [{"at": one.first_seen, "event": "discovered", "where": "feed", "why": "item"}]
        side.storage.pages.discover(some)
        side.storage.pages.save(some)
        entries = [entry_again(one) for one in some]
        side.frontier.add(entries[::4])
        side.frontier.mark_done([one for number, one in enumerate(entries) if number % 4], None)
    for article in articles(0, texts):
        side.storage.articles.store(replace(article, fetched_at=utc(time.time())))


def move(way: str, source: Side, target: Side, folder: Path, used: Callable[[], float]) -> Row:
    """Copy all data and compare; return items per second, and milliseconds of processor time per item."""
    copying = Times(used)
    copy_all(source, target, Choice(), Journal(folder, {"way": way}), copying)
    copying.end()
    comparing = Times(used)
    same = all(one.same for one in compare_all(source, target, Choice(), comparing))
    comparing.end()
    names = {"pages": "pages", "articles": "articles", "queue": "queue", "near": "texts to the index"}
    row: Row = {"way": way, "same": same}
    for kind, name in names.items():
        if kind not in copying.numbers:  # the source has no data of this kind
            continue
        row[f"{name}/s"] = copying.numbers[kind] / copying.seconds[kind]
        row[f"{name}, ms CPU"] = 1000 * copying.cpu[kind] / copying.numbers[kind]
    for kind in ("pages", "articles"):
        checks = [f"check {kind} {where}" for where in ("here", "there")]
        number = comparing.numbers.get(checks[0], 0)
        if not number:
            continue
        row[f"{kind} compared/s"] = number / sum(comparing.seconds[one] for one in checks)
        row[f"{kind} compared, ms CPU"] = 1000 * sum(comparing.cpu[one] for one in checks) / number
    row["seconds"] = sum(copying.seconds.values()) + sum(comparing.seconds.values())
    row["seconds CPU"] = sum(copying.cpu.values()) + sum(comparing.cpu.values())
    row["MB at most"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return row


def measure(pages: int, texts: int) -> list[Row]:
    """Measure the move to the servers and the move back."""
    with (
        own_redis() as redis_url,
        own_mongo() as server,
        tempfile.TemporaryDirectory(prefix="newsbot-bench-") as name,
    ):
        folder = Path(name)
        nothing = {"REDIS_URL": "", "MONGO_URI": ""}
        servers = {"REDIS_URL": redis_url, "MONGO_URI": f"{server.uri}newsbot"}
        with (
            closing(Side.open(nothing | {"NEWSBOT_DATA": f"{folder / 'data'}"})) as file,
            closing(Side.open(servers)) as there,
            closing(Side.open(nothing | {"NEWSBOT_DATA": f"{folder / 'home'}"})) as home,
        ):
            assert server.process is not None
            mongod = server.process.pid
            fill(file, pages, texts)

            def used() -> float:
                return process_seconds(mongod) + redis_seconds(redis_url)

            return [
                move("to the servers", file, there, folder / "data", used),
                move("home", there, home, folder / "home", used),
            ]


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pages", type=int, default=100_000)
    parser.add_argument("--articles", type=int, default=3000)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    rows = measure(options.pages, options.articles)
    if options.json:
        print(json.dumps(rows))
        return
    for name in rows[0]:
        print(f"{name:<24}" + "".join(f"{_cell(row[name]):>18}" for row in rows))


def _cell(value: object) -> str:
    return f"{value:,.{0 if value >= 100 else 2}f}" if isinstance(value, float) else str(value)


if __name__ == "__main__":
    main()
