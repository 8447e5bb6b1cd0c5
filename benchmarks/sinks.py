"""How fast articles reach a sink, and how late they are.

    python -m benchmarks.sinks postgresql://news@127.0.0.1/postgres?table=articles

Stores articles in a new data file. Sends them to the sink in one process (articles per second). Then stores
100 more articles per second, and measures the time from the storage of an article to the end of the batch
with which the sink got it.
"""

from __future__ import annotations

import argparse
import logging
import os
import tempfile
import threading
import time
from contextlib import closing
from pathlib import Path
from typing import Any

from newsbot.apps.followers import following as followers
from newsbot.apps.followers.following import FollowerRun, Step
from newsbot.apps.sinks.follower import Sink, SinkFollower
from newsbot.backends import open_storage
from newsbot.dedup.index import text_key
from newsbot.items import Article
from newsbot.storage.articles import Changes

TEXT = "The council decided on the new bridge over the river, and the works begin in spring. " * 30
"""About 2,500 characters, the median of news articles."""


def article(number: int) -> Article:
    """Return one of the articles, which differ in their texts."""
    url, text = f"https://news.example/story/{number}", f"Story {number}. {TEXT}"
    return Article(
        url=url,
        canonical_url=url,
        source="news.example",
        title=f"Story {number}",
        text=text,
        content_hash=text_key(text),
        authors=["A. Writer"],
        language="en",
    )


class Timed(SinkFollower):
    """Notes when each article was written."""

    def __init__(self, address: str, folder: Path) -> None:
        super().__init__(Sink(name="timed", to=address), lambda _tag: (), folder / "refused.jsonl")
        self.written: dict[str, float] = {}

    def take(self, changes: Changes) -> None:
        """Write the changes."""
        super().take(changes)
        now = time.monotonic()
        self.written |= {one.article.url: now for one in changes.found if one.article is not None}


def main() -> None:
    """Print both figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("address")
    parser.add_argument("--articles", type=int, default=20_000)
    parser.add_argument("--rate", type=int, default=100)
    parser.add_argument("--seconds", type=int, default=20)
    options = parser.parse_args()
    logging.basicConfig(level=logging.ERROR)
    with tempfile.TemporaryDirectory() as name:
        _measure(options, Path(name))


def _measure(options: Any, folder: Path) -> None:
    settings = {"NEWSBOT_DATA": str(folder)}
    follower = Timed(options.address, folder)
    with closing(open_storage(settings)) as storage:
        for begin in range(0, options.articles, 500):
            storage.articles.store_new([article(number) for number in range(begin, begin + 500)])
        run = FollowerRun("timed", follower, storage.articles, storage.notes, owner="a", clock=time.time)
        began, cpu = time.monotonic(), time.process_time()
        while run.step() is Step.TAKEN:
            pass
        wall, cpu = time.monotonic() - began, time.process_time() - cpu
        run.release()
    follower.close()
    print(
        f"{options.articles / wall:,.0f} articles/s; {1000 * cpu / options.articles:.2f} ms of CPU an "
        f"article in this process; load {os.getloadavg()[0]:.1f}"
    )
    followers.open_followers = lambda settings, *, machine: {"timed": follower}  # noqa: ARG005
    thread = followers.FollowerThread(settings)
    thread.start()
    stored: dict[str, float] = {}
    threading.Event().wait(2.0)
    with closing(open_storage(settings)) as storage:
        started = time.monotonic()
        for number in range(options.rate * options.seconds):
            time.sleep(max(0.0, started + number / options.rate - time.monotonic()))
            one = article(options.articles + number)
            storage.articles.store(one)
            stored[one.url] = time.monotonic()
    thread.stop(finish=True)
    lags = sorted(follower.written[url] - at for url, at in stored.items())
    print(
        f"lag at {options.rate} articles/s: median {lags[len(lags) // 2]:.2f} s, "
        f"p95 {lags[int(len(lags) * 0.95)]:.2f} s, most {lags[-1]:.2f} s"
    )


if __name__ == "__main__":
    main()
