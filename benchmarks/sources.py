"""What a crawl of 40 feeds costs beside many known sources. The costs must not depend on their number.

The data has ``--known`` records of sources that are not polled in the crawl. One in ten fails, and one in a
thousand is silent. The figures are those of the worker's process: CPU seconds and the highest memory. A round
of alerts, the verdict on the first page of the dashboard, and ``newsbot sources`` with 100 sites (the page)
are measured apart. With MongoDB, the server's counters give the commands, and the documents that the
server returned.

    python -m benchmarks.sources [--known 0,20000,200000] [--storages sqlite,mongo] [--json]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

from newsbot.apps.alerts.rules import measure
from newsbot.apps.mongodb.storage import MongoStorage
from newsbot.apps.operations.verdict import read_facts
from newsbot.frontier.sqlite.frontier import SqliteFrontier
from newsbot.items import Kind, batched
from newsbot.pages.rules.load import load_rules
from newsbot.recrawl.policies import Controller, SquareRootIndex
from newsbot.storage.base import SourceRecord
from newsbot.storage.sqlite import SqliteStorage
from testbed.loopback import LoopbackServer
from testbed.messages import Answer, Request
from testbed.temporary import own_mongo

ROOT = Path(__file__).resolve().parent.parent
FEEDS = 40
FEED = b"<rss version='2.0'><channel><title>x</title></channel></rss>"


def known(number: int, now: float) -> Iterator[SourceRecord]:
    """Yield the records of known sources, on two thirds as many sites."""
    rhythm = SquareRootIndex(1, Controller(1.0, 1.0, 0.5)).as_note(0)
    for place in range(number):
        site, fails = f"s{place * 2 // 3}.test", place % 10 == 0
        yield SourceRecord(
            url=f"https://{site}/feed/{place}",
            source=site,
            kind=Kind.FEED,
            polls=100,
            new_links=100,
            last_poll=now - place % 3000,
            last_new=now - 9000,
            next_due=now + 3600 + place % 3000,
            failures=3 + place % 4 if fails else 0,
            failing_since=now - 8000 if fails else None,
            last_error="http_404" if fails else None,
            rhythm=rhythm,
            silent=place % 1000 == 1,
        )


def answer(request: Request) -> Answer:
    """Answer with an empty feed."""
    found = request.path == "/feed.xml"
    return Answer(
        status=200 if found else 404,
        body=FEED if found else b"",
        headers={"Content-Type": "application/rss+xml"},
    )


def crawl(folder: Path, environment: dict[str, str]) -> dict[str, float]:
    """Run a crawl. Return its costs."""
    rules = folder / "rules"
    rules.mkdir(exist_ok=True)
    (rules / "_defaults.yaml").write_text("delay: 0\nconcurrency: 32\n", encoding="utf8")
    for place in range(FEEDS):
        rule = f"domain: f{place}.test\nfeeds: http://f{place}.test/feed.xml\nfollow: [feeds]\n"
        (rules / f"f{place}.test.yaml").write_text(rule, encoding="utf8")
    command = [sys.executable, "-m", "scrapy", "crawl", "news", "-a", "now=yes"]
    command += ["-a", f"sites={','.join(f'f{place}.test' for place in range(FEEDS))}"]
    return costs("crawl", [*command, "-L", "ERROR"], environment)


def costs(name: str, command: list[str], environment: dict[str, str]) -> dict[str, float]:
    """Run a command in a process of its own. Return its costs."""
    began = time.monotonic()
    process = subprocess.Popen(
        command, env=environment, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{name} failed with code {process.returncode}")
    return {
        f"{name}, s": time.monotonic() - began,
        f"{name}, s CPU": used.ru_utime + used.ru_stime,
        f"{name}, MB": used.ru_maxrss / 1024,
    }


def row(kind: str, number: int) -> dict[str, Any]:
    """Return the costs beside this number of known sources."""
    with ExitStack() as opened:
        folder = Path(opened.enter_context(tempfile.TemporaryDirectory(prefix="newsbot-bench-")))
        web = opened.enter_context(LoopbackServer(answer))
        data = folder / "data"
        data.mkdir()
        own = {"NEWSBOT_DATA": str(data), "NEWSBOT_RULES": str(folder / "rules")}
        storage: SqliteStorage | MongoStorage
        if kind == "mongo":
            server = opened.enter_context(own_mongo())
            own["MONGO_URI"] = server.uri
            storage = MongoStorage(server.uri)
        else:
            storage = SqliteStorage(data / "newsbot.db")
        opened.enter_context(closing(storage))
        now = time.time()
        # The highest memory of a process includes that of its parent at the start, so the parent stays small.
        for some in batched(known(number, now), 1000):
            storage.sources.save(some)
        counted = Counted(storage)
        found: dict[str, Any] = {"storage": kind, "known": number}
        environment = {**os.environ, **web.environment, **own}
        found |= crawl(folder, environment) | counted.since("crawl")
        counted = Counted(storage)
        page = [sys.executable, "-m", "scrapy", "sources", "--limit", "100", "--json"]
        found |= costs("page", page, environment) | counted.since("page")
        with closing(SqliteFrontier(data / "newsbot.db")) as frontier:
            began = time.process_time()
            read_facts(storage, frontier, load_rules(folder / "rules"), now)
            found["verdict, s CPU"] = time.process_time() - began
            began = time.process_time()
            measured = measure(storage, frontier, None, now, 3600.0)
            found["alerts, s CPU"] = time.process_time() - began
        found["alerts, records"] = sum(map(len, measured.sources.values()))
        return found


class Counted:
    """The counters of MongoDB; nothing for the data file."""

    def __init__(self, storage: SqliteStorage | MongoStorage) -> None:
        self._client = storage.handle.at.client if isinstance(storage, MongoStorage) else None
        self._before = self._read()

    def _read(self) -> dict[str, int]:
        if self._client is None:
            return {}
        status = self._client.admin.command("serverStatus")
        done = status["opcounters"]
        return {
            "commands": sum(done[name] for name in ("insert", "query", "update", "delete", "getmore")),
            "documents returned": status["metrics"]["document"]["returned"],
        }

    def since(self, step: str) -> dict[str, int]:
        """Return the growth of the counters."""
        return {f"{step}, {name}": value - self._before[name] for name, value in self._read().items()}


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--known", default="0,20000,200000")
    parser.add_argument("--storages", default="sqlite,mongo")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    rows = []
    for kind in options.storages.split(","):
        for number in map(int, options.known.split(",")):
            rows.append(row(kind, number))
            if not options.json:
                words = (
                    f"{name}={value:.4g}" if isinstance(value, float) else f"{name}={value}"
                    for name, value in rows[-1].items()
                )
                print("  ".join(words), flush=True)
    if options.json:
        print(json.dumps(rows))


if __name__ == "__main__":
    main()
