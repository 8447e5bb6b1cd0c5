"""Hours of crawling with everything failing now and then: memory, and what was lost or is there twice.

Two workers, Redis, MongoDB and ``scrapy serve`` run as processes of their own on a web that grows
(benchmarks/soakweb.py). In turn a worker, Redis, MongoDB and ``scrapy serve`` are killed (SIGKILL) and
started again. One worker is never killed: its memory is what counts. Afterwards the web stops growing, the
crawl gets time to finish, and all that was published is compared with what is stored.

    python -m benchmarks.soak [--minutes 60] [--rate 3] [--json]

Exits with 1 when an article was lost or is stored twice, or when memory grew by 5 % after the first third.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import ProxyHandler, build_opener

import redis
from pymongo import MongoClient

from benchmarks.crews import ROOT
from benchmarks.servers import own_mongo
from benchmarks.soakweb import GrowingWeb, write_rules
from newsbot.demo.loopback import LoopbackServer
from newsbot.storage.mongo import MongoStorage
from tests.redisserver import RedisServer
from tests.servers import MongoServer, free_port

STEPS = ("worker", "Redis", "worker", "MongoDB", "worker", "serve")
"""What is killed, in turn."""
EVENTS_EVERY = 60.0
AWAY = 3.0
"""Seconds for which what was killed stays away."""
LOOK_EVERY = 5.0
STARTUP = 20.0
PATIENCE = 900.0
"""Seconds that the crawl has to finish after the last article."""
MEMORY_LIMIT = 1.05
VETERAN = "worker never killed"
_open = build_opener(ProxyHandler({})).open  # the web's proxy is for the crawl


@dataclass(slots=True)
class Soak:
    """The processes of one run, what was measured of them, and what was done to them."""

    folder: Path
    web: GrowingWeb
    redis: RedisServer
    mongo: MongoServer
    environment: dict[str, str]
    port: int = field(default_factory=free_port)
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)
    memory: dict[str, list[tuple[float, float]]] = field(default_factory=dict)
    """Of each process, (time, MB that it alone has), since its last start."""
    events: Counter[str] = field(default_factory=Counter)
    answers: Counter[str] = field(default_factory=Counter)
    ends: list[str] = field(default_factory=list)
    """What ended by itself, and its last word."""

    def start(self, name: str) -> None:
        """Start a worker or ``scrapy serve``."""
        own = (
            ["serve", "--port", str(self.port)]
            if name == "serve"
            else ["crawl", "news", "-a", "mode=continuous"]
        )
        with self.log(name).open("ab") as log:
            self.processes[name] = subprocess.Popen(
                [sys.executable, "-m", "scrapy", *own, "-L", "WARNING", "-s", "NEWSBOT_PROGRESS=0"],
                cwd=ROOT, env=self.environment, stdout=log, stderr=log,
            )  # fmt: skip
        self.memory[name] = []

    def log(self, name: str) -> Path:
        """Return where a process writes its log."""
        return self.folder / f"{name.replace(' ', '-')}.log"

    def look(self) -> None:
        """Note how much memory each process has, and whether ``scrapy serve`` answers."""
        now = time.monotonic()
        for name, process in self.processes.items():
            self.memory[name].append((now, own_megabytes(process.pid)))
            if process.poll() is not None:  # nothing that we did: it counts as a fault
                self.events[f"{name} ended by itself"] += 1
                lines = self.log(name).read_text(errors="replace").splitlines()
                self.ends.append(
                    f"{name}: exit code {process.returncode}, {lines[-1] if lines else 'no word'}"
                )
                self.start(name)
        try:
            with _open(f"http://127.0.0.1:{self.port}/healthz", timeout=5) as answer:
                self.answers[str(answer.status)] += 1
        except (URLError, OSError) as error:
            self.answers[str(getattr(error, "code", "none"))] += 1

    def hurt(self, what: str) -> None:
        """Kill something, and start it again after a while."""
        self.events[f"kill -9 of {what}"] += 1
        if what in ("Redis", "MongoDB"):
            server = self.redis if what == "Redis" else self.mongo
            server.kill()
            time.sleep(AWAY)
            server.start()
            return
        self.processes[what].kill()
        self.processes[what].wait()
        time.sleep(AWAY)
        self.start(what)

    def stop(self) -> None:
        """End all gently, then at once."""
        for process in self.processes.values():
            process.send_signal(signal.SIGINT)
        for process in self.processes.values():
            try:
                process.wait(60)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def own_megabytes(pid: int) -> float:
    """Return the memory that is a process's alone, in MB (proc(5), smaps_rollup); 0 when it has ended."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii").splitlines()
    except (FileNotFoundError, ProcessLookupError):
        return 0.0
    return sum(int(line.split()[1]) for line in lines if line.startswith("Private_")) / 1024


@contextmanager
def running() -> Iterator[Soak]:
    """Start everything; end it, and remove its data, afterwards."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="newsbot-soak-")))
        web = GrowingWeb()
        site = stack.enter_context(LoopbackServer(web))
        mongo = stack.enter_context(own_mongo())
        keeper = RedisServer(folder, "--appendonly", "yes", "--appendfsync", "always")
        keeper.start()
        stack.callback(keeper.kill)
        write_rules(folder / "rules", minutes=1)
        own = {
            "REDIS_URL": keeper.url,
            "MONGO_URI": f"{mongo.uri}newsbot",
            "NEWSBOT_DATA": str(folder / "data"),
            "NEWSBOT_RULES": str(folder / "rules"),
            "NEWSBOT_POLL_BUDGET": "1200",
            "NEWSBOT_CONTACT": "soak@newsbot.example",
        }
        soak = Soak(folder, web, keeper, mongo, {**os.environ, **site.environment, **own})
        try:
            for name in (VETERAN, "worker", "serve"):
                soak.start(name)
            yield soak
        finally:
            soak.stop()


def measure(minutes: float, rate: float) -> dict[str, Any]:
    """Run; return what came of it."""
    with running() as soak:
        begin = time.monotonic()
        end = begin + minutes * 60
        _grow(soak, end, rate)
        soak.web.wild = False
        finished = _finish(soak)
        soak.stop()
        return _row(soak, begin, end, finished)


def _grow(soak: Soak, end: float, rate: float) -> None:
    """Publish, look and hurt until ``end``."""
    now = time.monotonic()
    published, looked, hurt, step = now, now, now + STARTUP, 0
    while (now := time.monotonic()) < end:
        while published <= now:
            soak.web.publish()
            published += 1 / rate
        if now >= looked:
            soak.look()
            looked = now + LOOK_EVERY
        if now >= hurt:
            soak.hurt(STEPS[step % len(STEPS)])
            step += 1
            hurt = now + EVENTS_EVERY
        time.sleep(0.05)


def _finish(soak: Soak) -> float:
    """Wait until all is stored, or until the patience is over; return the seconds that it took."""
    begin = time.monotonic()
    with closing(MongoStorage(f"{soak.mongo.uri}newsbot")) as storage:
        while storage.count_articles() < len(soak.web.published) and time.monotonic() - begin < PATIENCE:
            soak.look()
            time.sleep(LOOK_EVERY)
    return time.monotonic() - begin


def _row(soak: Soak, begin: float, end: float, finished: float) -> dict[str, Any]:
    with closing(MongoStorage(f"{soak.mongo.uri}newsbot")) as storage:
        stored = list(storage.iter_articles())
    urls = Counter(article.canonical_url for article in stored)
    texts = Counter((article.source, article.title) for article in stored)
    by_url = {
        url: one for one in soak.web.published for url in (f"http://{one.host}{path}" for path in one.paths)
    }
    held = {by_url[url].url for url in urls if url in by_url}
    twice = sum(count - 1 for count in urls.values()) + sum(count - 1 for count in texts.values())
    delays = sorted(
        (article.fetched_at - by_url[article.canonical_url].at).total_seconds()
        for article in stored
        if article.fetched_at and article.canonical_url in by_url
    )
    logs = {path.name: path.read_text(errors="replace") for path in soak.folder.glob("*.log")}
    return {
        "minutes": (end - begin) / 60,
        "published": len(soak.web.published),
        "stored": len(stored),
        "lost": [one.url for one in soak.web.published if one.url not in held],
        "twice": twice,
        "strange": [url for url in urls if url not in by_url],
        "fetched again": sum(soak.web.served.values()) - len(soak.web.served),
        "delay p50, s": statistics.median(delays) if delays else None,
        "delay p95, s": delays[int(len(delays) * 0.95)] if delays else None,
        "finished after, s": finished,
        "faults of pages": dict(soak.web.faults),
        "events": dict(soak.events),
        "ended by itself": soak.ends,
        "/healthz": dict(soak.answers),
        "tracebacks": {name: text.count("Traceback (most recent") for name, text in logs.items()},
        "memory": {name: growth(values, begin, end) for name, values in soak.memory.items()},
        "data": _data(soak),
    }


def growth(values: list[tuple[float, float]], begin: float, end: float) -> dict[str, float]:
    """Compare the middle third of the time with the last one: medians in MB, and their ratio.

    A process that was started later is compared over its own time, its first third left out.
    """
    since = max(begin, values[0][0]) if values else begin
    third = (end - since) / 3
    middle = [size for moment, size in values if since + third <= moment < since + 2 * third and size]
    last = [size for moment, size in values if since + 2 * third <= moment <= end and size]
    if not middle or not last:
        return {}
    before, after = statistics.median(middle), statistics.median(last)
    return {"middle third, MB": before, "last third, MB": after, "growth": after / before}


def _data(soak: Soak) -> dict[str, float]:
    """What the servers hold: it grows with the articles."""
    with redis.Redis.from_url(soak.redis.url) as client, MongoClient[Any](soak.mongo.uri) as mongo:
        cache = mongo.admin.command("serverStatus")["wiredTiger"]["cache"]
        return {
            "Redis used_memory, MB": client.info("memory")["used_memory"] / 2**20,
            "MongoDB cache, MB": cache["bytes currently in the cache"] / 2**20,
            "MongoDB resident, MB": own_megabytes(soak.mongo.process.pid) if soak.mongo.process else 0.0,
        }


def good(row: dict[str, Any]) -> bool:
    """Nothing lost, nothing twice, and the memory of the worker that was never killed is flat."""
    grown = [value["growth"] for name, value in row["memory"].items() if name == VETERAN and value]
    return not row["lost"] and not row["twice"] and all(one < MEMORY_LIMIT for one in grown)


def _print(row: dict[str, Any]) -> None:
    for name, value in row.items():
        if name == "memory":
            for process, sizes in value.items():
                told = ", ".join(f"{what} {size:.2f}" for what, size in sizes.items()) or "started too late"
                print(f"{'memory of ' + process:32}{told}")
        elif isinstance(value, dict):
            told = ", ".join(
                f"{what} {one:.1f}" if isinstance(one, float) else f"{what} {one}"
                for what, one in value.items()
            )
            print(f"{name:32}{told}")
        elif isinstance(value, list):
            print(f"{name:32}{len(value)} {' '.join(value[:10])}")
        else:
            print(f"{name:32}{value:.1f}" if isinstance(value, float) else f"{name:32}{value}")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--rate", type=float, default=3.0, help="articles published a second")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    row = measure(options.minutes, options.rate)
    if options.json:
        print(json.dumps([row]))
    else:
        _print(row)
    sys.exit(0 if good(row) else 1)


if __name__ == "__main__":
    main()
