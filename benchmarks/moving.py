"""Speed of ``scrapy move``: from a data file to Redis and MongoDB on loopback, and back.

The file has pages, each with a referrer and an event. Every fourth page waits in the queue, the others are
done. The file also has generated articles of 700 words. They were fetched recently, so all of them are in the
index of near-duplicates too.

    python -m benchmarks.moving [--pages 100000] [--articles 3000] [--json]
"""

from __future__ import annotations

import argparse
import json
import resource
import tempfile
import time
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.servers import own_mongo, own_redis
from benchmarks.texts import articles, page
from newsbot.clock import utc
from newsbot.crawl.entries import entry_again
from newsbot.operations.move import Choice, Journal, Side, compare_all, copy_all

BATCH = 1000
Row = dict[str, Any]


class Times:
    """Receives the reports of a move: duration and number of each kind."""

    def __init__(self) -> None:
        self._last = time.perf_counter()
        self.seconds: dict[str, float] = {}
        self.numbers: dict[str, int] = {}

    def __call__(self, kind: str, number: int) -> None:
        """Take one report."""
        now = time.perf_counter()
        self.seconds[kind] = self.seconds.get(kind, 0.0) + now - self._last
        self.numbers[kind] = number
        self._last = now


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


def move(way: str, source: Side, target: Side, folder: Path) -> Row:
    """Copy all and compare; return items per second."""
    copying = Times()
    copy_all(source, target, Choice(), Journal(folder, {"way": way}), copying)
    comparing = Times()
    same = all(one.same for one in compare_all(source, target, Choice(), comparing))
    names = {"pages": "pages", "articles": "articles", "queue": "queue", "near": "texts to the index"}
    row: Row = {"way": way, "same": same}
    for kind, name in names.items():
        row[f"{name}/s"] = copying.numbers[kind] / copying.seconds[kind]
    for kind in ("pages", "articles"):
        row[f"{kind} compared/s"] = (
            comparing.numbers[f"check {kind} here"] / comparing.seconds[f"check {kind} here"]
        )
    row["seconds"] = sum(copying.seconds.values()) + sum(comparing.seconds.values())
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
            fill(file, pages, texts)
            return [
                move("to the servers", file, there, folder / "data"),
                move("home", there, home, folder / "home"),
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
        print(f"{name:<24}" + "".join(f"{_told(row[name]):>18}" for row in rows))


def _told(value: object) -> str:
    return f"{value:,.0f}" if isinstance(value, float) else str(value)


if __name__ == "__main__":
    main()
