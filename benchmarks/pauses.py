"""How long a crawl's event loop is blocked by heavy pages: ``python -m benchmarks.pauses [NAME …]``.

A worker reads an ordinary site with 40 articles. At the same time, it reads a site with three pages (or with
one feed) of the kind that the row names. While the event loop is blocked, no request is sent, no answer is
read and no lease is extended. All calls of the loop after the first lease are timed. The columns are:

* wall-clock time of the three longest calls, in milliseconds. It includes the time of other threads and
  programs
* the longest CPU time of the loop's thread in one call
* number of requested articles of the ordinary site
* duration of the crawl in seconds

``--where`` adds the places in newsbot at which the loop had been blocked for 50 ms of CPU time, and for each
place the number of times.

With ``--slow MS`` the benchmark measures other crawls. The spiders news, search and monitor run one after the
other on the ordinary site, and Redis and MongoDB answer each command MS milliseconds late. The columns are
the lateness of a timer of the loop in milliseconds (median, 99th percentile, maximum), the number of
requested articles, and the duration of the crawl in seconds.
"""

from __future__ import annotations

import argparse
import asyncio
import asyncio.events
import json
import math
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from heapq import nlargest
from pathlib import Path
from types import FrameType
from typing import Any
from urllib.parse import urlsplit

from benchmarks.demoweb.loopback import LoopbackServer
from benchmarks.demoweb.messages import Answer, Request
from benchmarks.neighbours import DEFAULTS, HTML, article, feed
from benchmarks.servers import own_mongo, own_redis
from tests.slowproxy import slow_proxy

ARTICLES, HEAVY = 40, 3
LONGEST = 3
SECONDS, SLOW_SECONDS = 12, 60
SPIDERS = (
    ("news",),
    ("search", "-a", "sites=plain.test", "-a", "text=river"),
    ("monitor", "-a", "sites=plain.test", "-a", "follow=links"),
)
TICK = 0.002
HELD = 0.05
DEPTH = 4
XML = {"Content-Type": "application/rss+xml"}
_HEAD = (
    "<html><head><title>A day of rain in the hills</title></head><body><h1>A day of rain in the hills</h1>"
)


def _paragraphs(number: int) -> str:
    line = (
        "The river rose in the night and the lower road was closed to all but the brigade, page {} line {}."
    )
    return _HEAD + "".join(f"<p>{line.format(number, n)}</p>" for n in range(6000))


def _links(number: int) -> str:
    link = '<li><a href="/2024/05/03/a-story-about-the-rain-{0}-{1}">A long story about rain {0} {1}</a></li>'
    return _HEAD + "".join(link.format(number, n) for n in range(30_000))


def _menus(number: int) -> str:
    box = "<ul>" + f'<li><a href="/section-{number}-{{}}/">Rain</a></li>' * 5 + "</ul>"
    return _HEAD + "".join(box.format(*range(n, n + 5)) for n in range(0, 30_000, 5))


def _dates(number: int) -> str:
    return article(number) + '<div class="date">12.12.</div>' * 100_000


def _tables(number: int) -> str:
    return article(number) + ("<table><tr><td>a b" * 40 + "</td></tr></table>" * 40) * 90


def _one_line(number: int) -> str:
    return article(number) + f"<p>{f'word{number} and word ' * 400_000}</p>"


def _feed(number: int) -> str:
    return feed([f"http://heavy.test/page-{number}-{n}" for n in range(50_000)]).decode()


PAGES: Mapping[str, Callable[[int], str]] = {
    "none": article,
    "paragraphs": _paragraphs,
    "links": _links,
    "menus": _menus,
    "dates": _dates,
    "tables": _tables,
    "one line": _one_line,
    "front": _links,
    "feed": _feed,
}
"""``front``: the page of links is the home page that a rule names. All other pages are linked from a feed."""


class Web:
    """The ordinary site, and a site with heavy pages of one kind."""

    def __init__(self, name: str) -> None:
        self._name = name
        pages = {"http://heavy.test/": [f"http://heavy.test/page-{n}" for n in range(HEAVY)]}
        pages["http://plain.test/"] = [f"http://plain.test/news/story-{n}" for n in range(ARTICLES)]
        self._feeds = {home: feed(urls) for home, urls in pages.items()}
        self._heavy = [PAGES.get(name, article)(n).encode() for n in range(HEAVY)]
        self.asked = 0

    def answer(self, request: Request) -> Answer:
        """Answer one request."""
        number = request.path.rpartition("-")[2]
        if request.path == "/feed.xml":
            if request.host == "heavy.test" and self._name == "feed":
                return Answer(body=self._heavy[0], headers=XML)
            return Answer(body=self._feeds[f"http://{request.host}/"], headers=XML)
        if request.host == "plain.test" and number.isdecimal():
            self.asked += 1
            return Answer(body=article(1000 + int(number)).encode(), headers=HTML)
        if request.host == "heavy.test" and (request.path == "/" or len(number) == 1):
            return Answer(body=self._heavy[int(number) if number.isdecimal() else 0], headers=HTML)
        return Answer(status=404)


@contextmanager
def sites(name: str) -> Iterator[tuple[Web, dict[str, str]]]:
    """Serve the two sites; yield them, and the environment of a crawl that reads them."""
    web = Web(name)
    with tempfile.TemporaryDirectory() as folder, LoopbackServer(web.answer) as server:
        rules = Path(folder) / "rules"
        rules.mkdir()
        (rules / "_defaults.yaml").write_text(DEFAULTS)
        (rules / "plain.test.yaml").write_text("domain: plain.test\nfeeds: http://plain.test/feed.xml\n")
        source = "" if name == "front" else "feeds: http://heavy.test/feed.xml\nfollow: [feeds, links]\n"
        (rules / "heavy.test.yaml").write_text(f"domain: heavy.test\n{source}")
        yield web, {**os.environ, **server.environment, "NEWSBOT_DATA": folder, "NEWSBOT_RULES": str(rules)}


def crawl(name: str, web: Web, environment: dict[str, str], seconds: int, *words: str) -> dict[str, Any]:
    """Run a spider; return its row."""
    file, before = Path(environment["NEWSBOT_DATA"]) / "pauses.json", web.asked
    command = [sys.executable, "-m", "benchmarks.pauses", "--worker", str(file), "crawl", *words]
    limits = ["-s", f"CLOSESPIDER_TIMEOUT={seconds}", "--loglevel", "ERROR"]
    began = time.monotonic()
    subprocess.run([*command, *limits], env=environment, check=True)
    took = time.monotonic() - began
    return {
        "pages": name, **json.loads(file.read_text()), "asked": web.asked - before, "seconds": round(took, 1)
    }  # fmt: skip


def run(name: str) -> dict[str, Any]:
    """Crawl with one kind of heavy pages; return the row."""
    with sites(name) as (web, environment):
        return crawl(name, web, environment, SECONDS, "news")


def run_slow(delay: float) -> Iterator[dict[str, Any]]:
    """Crawl with servers that answer each command ``delay`` seconds late; yield a row for each spider."""
    with (
        own_redis() as url,
        own_mongo() as mongo,
        slow_proxy(urlsplit(url).port or 0, delay) as redis_port,
        slow_proxy(mongo.port, delay) as mongo_port,
        sites("slow servers") as (web, environment),
    ):
        environment["REDIS_URL"] = f"redis://127.0.0.1:{redis_port}/0"
        environment["MONGO_URI"] = f"mongodb://127.0.0.1:{mongo_port}/slow?directConnection=true"
        for spider, *words in SPIDERS:
            yield crawl(spider, web, environment, SLOW_SECONDS, spider, *words)


def worker(file: Path, words: list[str]) -> None:
    """Run a command of Scrapy; write the longest calls of its event loop to ``file``."""
    calls: list[tuple[float, float]] = []
    places: Counter[str] = Counter()
    began = [math.inf]
    clock = time.pthread_getcpuclockid(threading.get_ident())
    real = asyncio.events.Handle._run  # noqa: SLF001  (asyncio has no public API for this)

    def timed(handle: asyncio.events.Handle) -> None:
        started, began[0] = time.perf_counter(), time.clock_gettime(clock)
        real(handle)
        calls.append((time.perf_counter() - started, time.clock_gettime(clock) - began[0]))
        began[0] = math.inf

    def watch(thread: int) -> None:
        while True:
            time.sleep(HELD / 4)
            if time.clock_gettime(clock) - began[0] > HELD:
                places[_place(sys._current_frames()[thread])] += 1  # noqa: SLF001  (documented)

    asyncio.events.Handle._run = timed  # type: ignore[assignment,method-assign]  # noqa: SLF001
    threading.Thread(target=watch, args=(threading.get_ident(),), daemon=True).start()
    from scrapy.cmdline import execute  # noqa: PLC0415  (newsbot reads the environment when it is imported)
    from scrapy.core.engine import ExecutionEngine  # noqa: PLC0415

    opened = ExecutionEngine.open_spider_async
    late: list[float] = []
    tasks: list[asyncio.Task[None]] = []

    async def tick() -> None:
        while True:
            due = time.perf_counter() + TICK
            await asyncio.sleep(TICK)
            late.append(max(0.0, time.perf_counter() - due))

    async def open_and_begin(engine: ExecutionEngine, **more: Any) -> None:
        tasks.append(asyncio.ensure_future(tick()))
        await opened(engine, **more)
        asyncio.get_running_loop().call_soon(calls.clear)
        asyncio.get_running_loop().call_soon(places.clear)

    ExecutionEngine.open_spider_async = open_and_begin  # type: ignore[assignment,method-assign]
    try:
        execute(["scrapy", *words])
    finally:
        report = {
            "clock_ms": [round(1000 * took) for took, _ in nlargest(LONGEST, calls)],
            "cpu_ms": round(1000 * max((cpu for _, cpu in calls), default=0.0)),
            "where": places.most_common(10),
            "late_ms": [round(1000 * one, 1) for one in _spread(sorted(late))],
        }
        file.write_text(json.dumps(report))


def _spread(values: list[float]) -> tuple[float, float, float]:
    """Return median, 99th percentile and maximum of sorted values."""
    if not values:
        return (0.0, 0.0, 0.0)
    return values[len(values) // 2], values[int(len(values) * 0.99)], values[-1]


def _place(frame: FrameType | None) -> str:
    """Return the innermost functions of newsbot that run in a frame."""
    found: list[str] = []
    while frame is not None and len(found) < DEPTH:
        if "/newsbot/" in frame.f_code.co_filename:
            found.append(f"{Path(frame.f_code.co_filename).stem}.{frame.f_code.co_name}")
        frame = frame.f_back
    return " < ".join(found)


def main() -> None:
    """Measure and print."""
    if sys.argv[1:2] == ["--worker"]:
        worker(Path(sys.argv[2]), sys.argv[3:])
        return
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=list(PAGES))
    parser.add_argument("--where", action="store_true")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--slow", type=float, metavar="MS")
    options = parser.parse_args()
    if options.slow is not None:
        for row in run_slow(options.slow / 1000):
            print(
                f"{row['pages']:<8} late ms {row['late_ms']}, asked {row['asked']}, seconds {row['seconds']}"
            )
        return
    rows = [run(name) for name in options.names]
    if options.json:
        print(json.dumps(rows))
        return
    for row in rows:
        longest = " ".join(f"{one:>6}" for one in row["clock_ms"])
        print(f"{row['pages']:<12}{longest} {row['cpu_ms']:>6} {row['asked']:>4} {row['seconds']:>6}")
        for place, times in row["where"] * options.where:
            print(f"    {times:>4} {place}")


if __name__ == "__main__":
    main()
