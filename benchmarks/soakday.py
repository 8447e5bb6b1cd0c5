"""Memory and connections of one worker over a day, with a clock that is many times as fast as real time.

One worker polls the feeds of ``--hosts`` hosts and reads the new articles of a growing web
(benchmarks/soakweb.py), with Redis and MongoDB on the same machine. Newsbot's clock and timers, and the time
that the frontier uses, run ``--factor`` times as fast, so that heartbeats, polls and caches do the work of a
day.

    python -m benchmarks.soakday [--hours 24] [--factor 96] [--rate 3] [--hosts 20] [--strange]
        [--trace] [--log FILE]

For each simulated hour, the benchmark prints the private memory of the worker, the number of stored articles,
and the number of open files, threads and connections of the worker. At the end it prints the growth of memory
per hour after the warm-up (the first third). ``--rate`` is in articles per real second. ``--strange`` gives
each article new names of attributes and a new, unknown character encoding, as careless or hostile sites do.
``--trace`` also logs every four hours which lines of code hold more memory than before; this makes the worker
several times slower. Exits with 1 if memory grew by more than 5 % after the warm-up.
"""

from __future__ import annotations

import argparse
import gc
import os
import statistics
import subprocess
import sys
import tempfile
import time
import tracemalloc
from collections import Counter
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import redis
from pymongo import MongoClient

from benchmarks.crews import ROOT
from benchmarks.demoweb.loopback import LoopbackServer
from benchmarks.demoweb.messages import Answer, Request
from benchmarks.otherclock import Running
from benchmarks.servers import own_mongo, own_redis
from benchmarks.soaklives import Life, growth, own_megabytes
from benchmarks.soakweb import HOSTS, GrowingWeb, write_rules

LIMIT = 1.05
TOP = 25
"""Number of lines of code in each report of ``--trace``."""


class StrangeWeb(GrowingWeb):
    """A web whose pages have names of attributes and character encodings that no other page has."""

    def __call__(self, request: Request) -> Answer:
        """Return the answer to a request."""
        answer = super().__call__(request)
        if answer.kind != "article" or answer.status != 200:
            return answer
        mark = f"{abs(hash(request.path)):x}"
        names = " ".join(f'data-v-{mark}-{number}=""' for number in range(50))
        body = answer.body.replace(b"<article>", f"<article {names}>".encode())
        return replace(answer, body=body, headers={"Content-Type": f"text/html; charset=x-{mark}"})


def main() -> None:
    """Measure and print; or be the worker."""
    if sys.argv[1:2] == ["worker"]:
        worker(float(sys.argv[2]), float(sys.argv[3]), sys.argv[4] == "True", sys.argv[5:])
        return
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--hours", type=float, default=24.0)
    parser.add_argument("--factor", type=float, default=96.0)
    parser.add_argument("--rate", type=float, default=3.0, help="articles published per real second")
    parser.add_argument("--hosts", type=int, default=HOSTS)
    parser.add_argument("--strange", action="store_true")
    parser.add_argument("--trace", action="store_true")
    parser.add_argument("--log", type=Path, default=Path(tempfile.gettempdir()) / "newsbot-soakday.log")
    sys.exit(0 if measure(parser.parse_args()) else 1)


def measure(options: argparse.Namespace) -> bool:
    """Run the worker, print a line for each simulated hour; return False if memory grew too much."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="newsbot-soakday-")))
        begin = time.time()
        clock = Running(begin, options.factor)
        web = (StrangeWeb if options.strange else GrowingWeb)(hosts=options.hosts)
        web.clock = lambda: datetime.fromtimestamp(clock(), UTC)
        site = stack.enter_context(LoopbackServer(web))
        mongo, url = stack.enter_context(own_mongo()), stack.enter_context(own_redis())
        write_rules(folder / "rules", minutes=5, hosts=options.hosts)
        own = {
            "REDIS_URL": url,
            "MONGO_URI": f"{mongo.uri}newsbot",
            "NEWSBOT_DATA": str(folder / "data"),
            "NEWSBOT_RULES": str(folder / "rules"),
            "NEWSBOT_POLL_BUDGET": str(6 * options.hosts),
            "NEWSBOT_CONTACT": "soak@newsbot.example",
        }
        words = [sys.executable, "-m", "benchmarks.soakday", "worker", str(begin), str(options.factor)]
        words += [str(options.trace), "crawl", "news", "-a", "mode=continuous", "-L", "INFO"]
        log = stack.enter_context(options.log.open("wb"))
        environment = {**os.environ, **site.environment, **own}
        process = subprocess.Popen(words, cwd=ROOT, env=environment, stdout=log, stderr=log)
        stack.callback(process.wait)
        stack.callback(process.terminate)
        life = Life("worker", 1, process, options.log, time.monotonic())
        client = stack.enter_context(redis.Redis.from_url(url))
        servers = stack.enter_context(MongoClient[dict[str, Any]](mongo.uri))
        articles = servers.newsbot.articles
        print("hour  MB     articles  files  threads  Redis  MongoDB", flush=True)
        hour = 3600 / options.factor
        for number in range(1, round(options.hours) + 1):
            sizes = _hour(web, life, life.began + number * hour, options.rate)
            if process.poll() is not None:
                print(life.end())
                return False
            pools = int(client.info("clients")["connected_clients"]) - 1, connections(servers.admin)
            row = [articles.estimated_document_count(), *held(process.pid), *pools]
            columns = "".join(f"{one:<{width}}" for one, width in zip(row, (10, 7, 9, 7, 7), strict=True))
            print(f"{number:4}  {statistics.median(sizes):<7.1f}{columns}", flush=True)
        grown = growth(life, life.began, time.monotonic())
        if not grown:
            return True
        print(
            f"after warm-up {grown['MB after warm-up']:.1f} MB, at the end {grown['MB at the end']:.1f} MB, "
            f"{grown['MB an hour'] / options.factor:+.2f} MB per simulated hour"
        )
        return grown["growth"] < LIMIT


def _hour(web: GrowingWeb, life: Life, end: float, rate: float) -> list[float]:
    """Publish articles until ``end``; return the measured sizes of the worker in MB."""
    sizes, published = [], time.monotonic()
    while (now := time.monotonic()) < end:
        while published <= now:
            web.publish()
            published += 1 / rate
        sizes.append(own_megabytes(life.process.pid))
        life.memory.append((now, sizes[-1]))
        time.sleep(0.25)
    return sizes


def connections(admin: Any) -> int:
    """Return the number of connections that the worker has to MongoDB."""
    found = admin.aggregate([{"$currentOp": {"allUsers": True, "idleConnections": True}}])
    return len({one.get("client") for one in found if one.get("appName") == "newsbot"})


def held(pid: int) -> tuple[int, int]:
    """Return the numbers of open files and of threads of a process."""
    place = Path(f"/proc/{pid}")
    return len(list((place / "fd").iterdir())), len(list((place / "task").iterdir()))


def worker(begin: float, factor: float, trace: bool, words: list[str]) -> None:
    """Run a command of Scrapy with a fast clock and fast timers, patched before newsbot is imported."""
    if trace:
        tracemalloc.start(1)
    from scrapy.cmdline import execute  # noqa: PLC0415
    from scrapy.utils import asyncio as timers  # noqa: PLC0415

    from newsbot import backends, clock  # noqa: PLC0415

    fast = Running(begin, factor)
    fast._real = begin  # noqa: SLF001  (the same moment as the publisher)
    clock.system_clock = fast
    vars(backends)["system_clock"] = time.time  # so that the frontier in Redis gets the fast clock
    call_later, loops = timers.call_later, timers.AsyncioLoopingCall
    start = loops.start

    def sooner(delay: float, *more: Any) -> Any:
        return call_later(max(0.01, delay / factor), *more)

    def oftener(self: Any, interval: float, now: bool = True) -> None:
        start(self, max(0.05, interval / factor), now)

    vars(timers)["call_later"] = sooner
    setattr(loops, "start", oftener)  # noqa: B010  (mypy refuses an assignment to a method)
    if trace:
        timers.create_looping_call = _with_trace(timers.create_looping_call)
    execute(["scrapy", *words])


def _with_trace(create: Any) -> Any:
    """Return a ``create`` (create_looping_call) whose first call also starts the reports of ``--trace``."""
    state: dict[str, Any] = {}

    def report() -> None:
        gc.collect()
        shot = tracemalloc.take_snapshot()
        if "last" in state:
            for line in shot.compare_to(state["last"], "lineno")[:TOP]:
                print("TRACE", line, file=sys.stderr)
        now = Counter(type(one).__name__ for one in gc.get_objects())
        grown = (now - state.get("types", Counter())).most_common(12)
        print("TYPES", grown, file=sys.stderr, flush=True)
        state.update(last=shot, types=now)

    def created(*positional: Any, **named: Any) -> Any:
        if "call" not in state:
            state["call"] = create(report)
            state["call"].start(4 * 3600.0, now=False)
        return create(*positional, **named)

    return created


if __name__ == "__main__":
    main()
