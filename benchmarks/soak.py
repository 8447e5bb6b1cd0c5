"""Hours of crawling with regular failures of all parts: memory, and lost or duplicate articles.

Two workers, Redis, MongoDB and ``scrapy serve`` run as separate processes on a growing web
(benchmarks/soakweb.py). A worker, Redis, MongoDB and ``scrapy serve`` are killed in turn (SIGKILL) and
restarted. One worker is never killed; its memory is the main result. At the end the web stops growing, the
crawl gets time to finish, and all published articles are compared with the stored ones.

    python -m benchmarks.soak [--minutes 60] [--rate 3] [--attackers] [--logs FOLDER] [--json]

Exits with 1 if an article is missing or is stored twice, if the memory of the worker that is never killed
grew by 5 % between the first third and the end, or if a process ended without being killed. Each process has
a new log after each start, in a folder that is not removed (``--logs``). For processes that ended by
themselves, the exit code and the last lines of the log are printed.
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
from benchmarks.soaklives import Life, course, growth, own_megabytes
from benchmarks.soakweb import Attackers, GrowingWeb, write_rules
from newsbot.apps.mongodb.storage import MongoStorage
from testbed.loopback import LoopbackServer
from testbed.messages import Answer, Request
from testbed.redisserver import RedisServer
from testbed.servers import MongoServer, free_port
from testbed.temporary import own_mongo

STEPS = ("worker", "Redis", "worker", "MongoDB", "worker", "serve")
"""The processes that are killed, in turn."""
EVENTS_EVERY = 60.0
AWAY = 3.0
"""Seconds between a kill and the restart."""
LOOK_EVERY = 5.0
STARTUP = 20.0
FIND_ALL_TIMEOUT = 900.0
"""Seconds that the crawl has to finish after the last article."""
MEMORY_LIMIT = 1.05
VETERAN = "worker never killed"
_open = build_opener(ProxyHandler({})).open  # the web's proxy is only for the crawl


@dataclass(slots=True)
class Soak:
    """The processes of one run, their measurements, and a record of the kills."""

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
        """Start a worker or ``scrapy serve``; it replaces the previous one."""
        own = (
            ["serve", "--port", str(self.port)]
            if name == "serve"
            else ["crawl", "news", "-a", "mode=continuous"]
        )
        number = 1 + sum(one.name == name for one in self.lives)
        path = self.logs / f"{name.replace(' ', '-')}-{number}.log"
        command = [sys.executable, "-X", "faulthandler", "-m", "scrapy", *own]
        command += ["-L", "INFO", "-s", "NEWSBOT_PROGRESS=0"]  # an exit and its reason are logged as INFO
        with path.open("ab") as log:
            process = subprocess.Popen(command, cwd=ROOT, env=self.environment, stdout=log, stderr=log)
        self.lives.append(Life(name, number, process, path, time.monotonic()))

    def running(self) -> list[Life]:
        """Return the processes that are not known to have ended."""
        return [one for one in self.lives if one.ended is None]

    def check(self) -> None:
        """Record the memory of each process, and whether ``scrapy serve`` answers."""
        now = time.monotonic()
        for life in self.running():
            if not life.check(now):  # the benchmark did not end this process: an error
                self.events[f"{life.name} ended by itself"] += 1
                print(life.end(), file=sys.stderr, flush=True)
                self.start(life.name)
        try:
            with _open(f"http://127.0.0.1:{self.port}/healthz", timeout=5) as answer:
                self.answers[str(answer.status)] += 1
        except (URLError, OSError) as error:
            self.answers[str(getattr(error, "code", "none"))] += 1

    def kill_and_restart(self, what: str) -> None:
        """Kill a process, and restart it after a while."""
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
        """Stop all processes; kill those that do not stop."""
        lives = [life for life in self.lives if life.process.poll() is None]
        for life in lives:
            life.process.send_signal(signal.SIGINT)
        for life in lives:
            life.stop(60)


@contextmanager
def running(logs: Path, attackers: Attackers | None) -> Iterator[Soak]:
    """Start all processes. At the end, stop them and remove their data."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="newsbot-soak-")))
        web = GrowingWeb(attackers)

        def answer(request: Request) -> Answer:
            if attackers is not None and request.host in attackers.hosts:
                return attackers.answer(request)
            return web(request)

        site = stack.enter_context(LoopbackServer(answer))
        mongo = stack.enter_context(own_mongo())
        keeper = RedisServer(folder, "--appendonly", "yes", "--appendfsync", "always")
        keeper.start()
        stack.callback(keeper.kill)
        write_rules(folder / "rules", minutes=1, attackers=attackers.hosts if attackers else ())
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


def measure(minutes: float, rate: float, logs: Path, attackers: Attackers | None) -> dict[str, Any]:
    """Run the benchmark; return its figures."""
    with running(logs, attackers) as soak:
        begin = time.monotonic()
        end = begin + minutes * 60
        _grow(soak, end, rate)
        soak.web.wild = False
        finished = _finish(soak)
        soak.stop()
        return _row(soak, begin, end, finished)


def _grow(soak: Soak, end: float, rate: float) -> None:
    """Publish, measure and kill until ``end``."""
    now = time.monotonic()
    published, looked, next_kill, step = now, now, now + STARTUP, 0
    while (now := time.monotonic()) < end:
        while published <= now:
            soak.web.publish()
            published += 1 / rate
        if now >= looked:
            soak.check()
            looked = now + LOOK_EVERY
        if now >= next_kill:
            soak.kill_and_restart(STEPS[step % len(STEPS)])
            step += 1
            next_kill = now + EVENTS_EVERY
        time.sleep(0.05)


def _finish(soak: Soak) -> float:
    """Wait until all articles are stored, or until the time is over; return the seconds."""
    begin = time.monotonic()
    with closing(MongoStorage(f"{soak.mongo.uri}newsbot")) as storage:
        while _lost(soak.web, storage) and time.monotonic() - begin < FIND_ALL_TIMEOUT:
            soak.check()
            time.sleep(LOOK_EVERY)
    return time.monotonic() - begin


def _lost(web: GrowingWeb, storage: MongoStorage) -> list[str]:
    """Return the articles that are stored under none of their two addresses."""
    if storage.articles.count() < len(web.published):
        return [one.url for one in web.published]
    urls = {article.canonical_url for article in storage.articles.iter()}
    return [
        one.url for one in web.published if not any(f"http://{one.host}{path}" in urls for path in one.paths)
    ]


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
        "strange": [url for url in urls if url not in by_url and "//attacker" not in url],
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
        "memory": {name: figures for name, figures in grown.items() if figures},
        "MB in each twelfth": {
            name: course(lives[name], begin, end) for name, figures in grown.items() if figures
        },
        "largest, MB": _largest(soak),
        "data": _data(soak),
    }


def _counted(soak: Soak, words: str) -> dict[str, int]:
    """Return the logs that contain the words, and how often each contains them."""
    texts = {life.log.name: life.log.read_text(errors="replace") for life in soak.lives}
    return {name: text.count(words) for name, text in texts.items() if words in text}


def _largest(soak: Soak) -> dict[str, float]:
    """Return the maximum memory of any process of each name, in MB."""
    found: dict[str, float] = {}
    for life in soak.lives:
        found[life.name] = max([found.get(life.name, 0.0), *(size for _, size in life.memory)])
    return found


def _data(soak: Soak) -> dict[str, float]:
    """Return the size of the servers' data, which grows with the articles."""
    with redis.Redis.from_url(soak.redis.url) as client, MongoClient[Any](soak.mongo.uri) as mongo:
        cache = mongo.admin.command("serverStatus")["wiredTiger"]["cache"]
        return {
            "Redis used_memory, MB": client.info("memory")["used_memory"] / 2**20,
            "MongoDB cache, MB": cache["bytes currently in the cache"] / 2**20,
            "MongoDB resident, MB": own_megabytes(soak.mongo.process.pid) if soak.mongo.process else 0.0,
        }


def good(row: dict[str, Any]) -> bool:
    """Return True if nothing is lost or duplicate, no process ended by itself, and memory did not grow."""
    grown = [figures["growth"] for name, figures in row["memory"].items() if name.startswith(VETERAN)]
    ok = not (row["lost"] or row["twice"] or row["ended by itself"])
    return ok and all(one < MEMORY_LIMIT for one in grown)


def _print(row: dict[str, Any]) -> None:
    for name, value in row.items():
        if name == "memory":
            for process, sizes in value.items():
                text = ", ".join(f"{what} {size:.3f}" for what, size in sizes.items())
                print(f"{'memory of ' + process:32}{text}")
        elif isinstance(value, dict):
            text = ", ".join(
                f"{what} {one:.1f}" if isinstance(one, float) else f"{what} {one}"
                for what, one in value.items()
            )
            print(f"{name:32}{text or 'none'}")
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
    parser.add_argument("--rate", type=float, default=3.0, help="articles published per second")
    parser.add_argument("--attackers", action="store_true", help="also run the attacks of tests/hostile")
    parser.add_argument(
        "--logs", type=Path, help="folder for the logs (default: a new one, which is printed)"
    )
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    logs = options.logs or Path(tempfile.mkdtemp(prefix="newsbot-soak-logs-"))
    logs.mkdir(parents=True, exist_ok=True)
    row = measure(options.minutes, options.rate, logs, Attackers() if options.attackers else None)
    if options.json:
        print(json.dumps([row]))
    else:
        _print(row)
    sys.exit(0 if good(row) else 1)


if __name__ == "__main__":
    main()
