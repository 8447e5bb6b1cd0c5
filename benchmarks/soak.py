"""Hours of crawling with everything failing now and then: memory, and what was lost or is there twice.

Two workers, Redis, MongoDB and ``scrapy serve`` run as processes of their own on a web that grows
(benchmarks/soakweb.py). In turn a worker, Redis, MongoDB and ``scrapy serve`` are killed (SIGKILL) and
started again. One worker is never killed: its memory is what counts. Afterwards the web stops growing, the
crawl gets time to finish, and all that was published is compared with what is stored.

    python -m benchmarks.soak [--minutes 60] [--rate 3] [--logs FOLDER] [--json]

Exits with 1 when an article was lost or is stored twice, when the memory of the worker that is never killed
grew by 5 % between the first third and the end, or when a process ended by itself. Each life of each process
has a log of its own in a folder that stays (``--logs``); what ended by itself is told with its exit code and
its last lines.
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
from benchmarks.demoweb.loopback import LoopbackServer
from benchmarks.servers import own_mongo
from benchmarks.soaklives import Life, course, growth, own_megabytes
from benchmarks.soakweb import GrowingWeb, write_rules
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
    logs: Path
    port: int = field(default_factory=free_port)
    lives: list[Life] = field(default_factory=list)
    events: Counter[str] = field(default_factory=Counter)
    answers: Counter[str] = field(default_factory=Counter)

    def start(self, name: str) -> None:
        """Start a worker or ``scrapy serve``; it replaces the one before."""
        own = (
            ["serve", "--port", str(self.port)]
            if name == "serve"
            else ["crawl", "news", "-a", "mode=continuous"]
        )
        number = 1 + sum(one.name == name for one in self.lives)
        path = self.logs / f"{name.replace(' ', '-')}-{number}.log"
        command = [sys.executable, "-X", "faulthandler", "-m", "scrapy", *own]
        command += ["-L", "INFO", "-s", "NEWSBOT_PROGRESS=0"]  # the reason of an end is told at that level
        with path.open("ab") as log:
            process = subprocess.Popen(command, cwd=ROOT, env=self.environment, stdout=log, stderr=log)
        self.lives.append(Life(name, number, process, path, time.monotonic()))

    def running(self) -> list[Life]:
        """Return the lives that have not ended as far as is known."""
        return [one for one in self.lives if one.ended is None]

    def look(self) -> None:
        """Note how much memory each process has, and whether ``scrapy serve`` answers."""
        now = time.monotonic()
        for life in self.running():
            if not life.look(now):  # nothing that we did: it counts as a fault
                self.events[f"{life.name} ended by itself"] += 1
                print(life.end(), file=sys.stderr, flush=True)
                self.start(life.name)
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
        for life in self.running():
            if life.name == what:
                life.kill()
        time.sleep(AWAY)
        self.start(what)

    def stop(self) -> None:
        """End all gently, then at once."""
        lives = [life for life in self.lives if life.process.poll() is None]
        for life in lives:
            life.process.send_signal(signal.SIGINT)
        for life in lives:
            life.stop(60)


@contextmanager
def running(logs: Path) -> Iterator[Soak]:
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
        soak = Soak(folder, web, keeper, mongo, {**os.environ, **site.environment, **own}, logs)
        try:
            for name in (VETERAN, "worker", "serve"):
                soak.start(name)
            yield soak
        finally:
            soak.stop()


def measure(minutes: float, rate: float, logs: Path) -> dict[str, Any]:
    """Run; return what came of it."""
    with running(logs) as soak:
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
        while storage.articles.count() < len(soak.web.published) and time.monotonic() - begin < PATIENCE:
            soak.look()
            time.sleep(LOOK_EVERY)
    return time.monotonic() - begin


def _row(soak: Soak, begin: float, end: float, finished: float) -> dict[str, Any]:
    with closing(MongoStorage(f"{soak.mongo.uri}newsbot")) as storage:
        stored = list(storage.articles.iter())
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
    lives = {f"{life.name} {life.number}": life for life in soak.lives}
    grown = {name: growth(life, begin, end) for name, life in lives.items()}
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
        "ended by itself": [life.end() for life in soak.lives if life.by_itself],
        "/healthz": dict(soak.answers),
        "tracebacks": _counted(soak, "Traceback (most recent"),
        "errors in logs": _counted(soak, "] ERROR"),
        "logs": str(soak.logs),
        "memory": {name: told for name, told in grown.items() if told},
        "MB in each twelfth": {name: course(lives[name], begin, end) for name, told in grown.items() if told},
        "largest, MB": _largest(soak),
        "data": _data(soak),
    }


def _counted(soak: Soak, words: str) -> dict[str, int]:
    """In which logs the words stand, and how often."""
    texts = {life.log.name: life.log.read_text(errors="replace") for life in soak.lives}
    return {name: text.count(words) for name, text in texts.items() if words in text}


def _largest(soak: Soak) -> dict[str, float]:
    """The most memory that any life of each name had, in MB."""
    found: dict[str, float] = {}
    for life in soak.lives:
        found[life.name] = max([found.get(life.name, 0.0), *(size for _, size in life.memory)])
    return found


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
    """Nothing lost, nothing twice, nothing ended by itself, and the memory of the oldest worker is flat."""
    grown = [told["growth"] for name, told in row["memory"].items() if name.startswith(VETERAN)]
    ok = not (row["lost"] or row["twice"] or row["ended by itself"])
    return ok and all(one < MEMORY_LIMIT for one in grown)


def _print(row: dict[str, Any]) -> None:
    for name, value in row.items():
        if name == "memory":
            for process, sizes in value.items():
                told = ", ".join(f"{what} {size:.3f}" for what, size in sizes.items())
                print(f"{'memory of ' + process:32}{told}")
        elif isinstance(value, dict):
            told = ", ".join(
                f"{what} {one:.1f}" if isinstance(one, float) else f"{what} {one}"
                for what, one in value.items()
            )
            print(f"{name:32}{told or 'none'}")
        elif isinstance(value, list):
            print(f"{name:32}{len(value)}", *value[:10], sep="\n  " if value else "")
        else:
            print(f"{name:32}{value:.1f}" if isinstance(value, float) else f"{name:32}{value}")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--rate", type=float, default=3.0, help="articles published a second")
    parser.add_argument("--logs", type=Path, help="folder for the logs (else a new one, which is named)")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    logs = options.logs or Path(tempfile.mkdtemp(prefix="newsbot-soak-logs-"))
    logs.mkdir(parents=True, exist_ok=True)
    row = measure(options.minutes, options.rate, logs)
    if options.json:
        print(json.dumps([row]))
    else:
        _print(row)
    sys.exit(0 if good(row) else 1)


if __name__ == "__main__":
    main()
