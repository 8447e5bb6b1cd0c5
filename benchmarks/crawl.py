"""Pages per second of whole crawls with newsbot and with scrapy-redis, on the same Redis, MongoDB and site.

Makes three comparisons. The first two use 1 and 2 workers on a site of many hosts:

``scheduler``  a spider only follows links. scrapy-redis uses its scheduler and its dupefilter. newsbot uses
its scheduler and the Redis frontier, with a storage that discards all data. Only newsbot also judges links,
plans visits and acknowledges leases. ``articles``   all read feeds, extract each article and store it in
MongoDB (journaled, majority). scrapy-redis has a callback with ``newsbot.pages.extraction.extract`` and a
pipeline with one upsert. ``trafilatura`` is the same worker with the extraction of trafilatura
(benchmarks/requirements.txt). newsbot is ``scrapy crawl news``, which also keeps the crawl database, versions
and stories. ``polite``     1, 2 and 4 workers crawl one host with a delay of 0.5 s. The figure is the number
of requests per second in the log of this host.

The systems run alternately. A crawl ends when the last page is served and the last article is stored. CPU
figures are totals over all processes of a type. The number of commands is read from MongoDB. The column
``newsbot`` has newsbot's pages per second, divided by those of the row.

The articles of the comparison ``articles`` are generated and have 6.5 kB each. With ``--saved FOLDER`` they
are real pages (:func:`benchmarks.webs.saved`).

    python -m benchmarks.crawl [--pages 2000] [--hosts 50] [--turns 2] [--json] [--workers 1,2]
                               [--only scheduler,articles,polite] [--saved FOLDER]
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from typing import Any

import redis
from pymongo import MongoClient
from scrapy import Request, Spider
from scrapy_redis.queue import PriorityQueue

from benchmarks.crews import SYSTEMS, TRAFILATURA, Crew
from benchmarks.site import Site
from benchmarks.webs import Web, papers, saved, tree, write_rules
from testbed.servers import MongoServer
from testbed.temporary import own_mongo, own_redis, process_seconds, redis_seconds

QUIET = 60.0
"""Seconds without a new page after which a crawl is over."""
LOOK = 0.2
"""Seconds between two checks of the progress. A check puts little load on the servers."""
DATABASES = {"scrapy-redis": "rival", TRAFILATURA: "rival", "newsbot": "newsbot"}
COMMANDS = (
    *("find", "getMore", "aggregate", "insert", "update", "delete", "findAndModify"),
    *("commitTransaction", "abortTransaction"),
)
"""Commands to MongoDB that are counted. The benchmark itself sends none of these."""
DELAY = 0.5
POLITE_PAGES = 120
Row = dict[str, Any]


class Bench:
    """The servers of a benchmark run."""

    def __init__(self, redis_url: str, mongo: MongoServer | None) -> None:
        self.redis_url = redis_url
        self.mongo = mongo
        self._client = (
            None if mongo is None else MongoClient[Any](mongo.uri)
        )  # connecting is expensive for the server

    def clear(self) -> None:
        """Delete all data of the servers."""
        with redis.Redis.from_url(self.redis_url) as client:
            client.flushall()
        if self._client is not None:
            for name in DATABASES.values():
                self._client.drop_database(name)

    def run(self, system: str, job: str, web: Web, workers: int) -> Row:
        """Crawl the web with new workers; return a row."""
        self.clear()
        with tempfile.TemporaryDirectory(prefix="newsbot-bench-") as name, Site(web.pages) as site:
            folder = Path(name)
            write_rules(folder / "rules", web, follow="feeds" if job == "articles" else "links")
            uri = f"{self.mongo.uri}{DATABASES[system]}" if self.mongo is not None else ""
            crew = Crew(system, job, site, self.redis_url, folder, mongo_uri=uri)
            crew.prepare(web)
            try:
                for _ in range(workers):
                    crew.start()
                row = self._watch(crew, web)
            finally:
                crew.stop()
        return {"system": system, "job": job, "workers": workers, **row}

    def _watch(self, crew: Crew, web: Web) -> Row:
        """Wait until the crawl is finished; return its figures."""
        while not crew.site.requests():
            time.sleep(0.01)
        used, sent = self._used(crew), self._commands()
        last, done_at = -1, time.time()
        stored = 0
        while crew.running() and time.time() - done_at < QUIET:
            served = crew.site.requests()
            stored = self._stored(crew.system)
            if served + stored > last:
                last, done_at = served + stored, time.time()
                after, answered = self._used(crew), self._commands()
            elif served >= len(web.pages) and crew.system != "newsbot" and time.time() - done_at > 1:
                break
            time.sleep(LOOK)
        report = crew.site.report()
        seconds = done_at - report.log[0].at
        pages = len({hit.url for hit in report.log} & web.wanted)
        assert pages == len(web.wanted), f"{crew.system} fetched {pages} of {len(web.wanted)} pages"
        row: Row = {"pages": pages, "articles": stored, "seconds": seconds, "per_second": pages / seconds}
        if self._client is not None:
            row["commands"] = (answered - sent) / pages
        cost = {name: 1000 * (after[name] - used[name]) / pages for name in after}
        cost["site"] = 1000 * report.cpu_seconds / pages
        return row | {"cpu_ms": cost}

    def _used(self, crew: Crew) -> dict[str, float]:
        used = {"workers": crew.cpu_seconds(), "Redis": redis_seconds(self.redis_url)}
        if crew.mongo_uri and self.mongo is not None and self.mongo.process is not None:
            used["MongoDB"] = process_seconds(self.mongo.process.pid)
        return used

    def _commands(self) -> int:
        """Return the number of commands that MongoDB has answered."""
        if self._client is None:
            return 0
        counted = self._client.admin.command("serverStatus")["metrics"]["commands"]
        return sum(int(counted[name]["total"]) for name in COMMANDS)

    def _stored(self, system: str) -> int:
        if self._client is None:
            return 0
        return int(self._client[DATABASES[system]]["articles"].estimated_document_count())


def compare(job: str, web: Web, turns: int, crews: Sequence[int]) -> Iterator[Row]:
    """Yield the medians of ``turns`` runs of each system, for each number of workers in ``crews``."""
    with ExitStack() as servers:
        url = servers.enter_context(own_redis("--appendonly", "yes"))
        mongo = servers.enter_context(own_mongo()) if job == "articles" else None
        bench = Bench(url, mongo)
        for workers in crews:
            systems = (SYSTEMS[0], TRAFILATURA, SYSTEMS[1]) if job == "articles" else SYSTEMS
            rows = [bench.run(system, job, web, workers) for _ in range(turns) for system in systems]
            for system in systems:
                own = [row for row in rows if row["system"] == system]
                middle = median(row["per_second"] for row in own)
                yield min(own, key=lambda row: abs(row["per_second"] - middle))


def polite(pages: int) -> Iterator[Row]:
    """Yield the requests per second to one host. scrapy-redis has all pages in its queue from the start."""
    web = papers(pages, 1)
    with own_redis() as url:
        for workers in (1, 2, 4):
            for system in SYSTEMS:
                with tempfile.TemporaryDirectory() as name, Site(web.pages) as site:
                    with redis.Redis.from_url(url) as client:
                        client.flushall()
                    folder = Path(name)
                    write_rules(folder / "rules", web, follow="feeds", delay=DELAY, concurrency=8)
                    job = "note" if system == "scrapy-redis" else "articles"
                    extra = {"READ_FILE": str(folder / "read")}
                    crew = Crew(system, job, site, url, folder, delay=DELAY, extra=extra)
                    if job == "note":
                        fill_queue(url, web)
                    yield {"system": system, "job": "polite", "workers": workers} | _pace(crew, web, workers)


def fill_queue(url: str, web: Web) -> None:
    """Queue all pages for ``benchmarks.rival note``."""
    with redis.Redis.from_url(url) as client:
        queue = PriorityQueue(client, Spider("note"), "note:requests")
        for page in sorted(web.wanted):
            queue.push(Request(page, dont_filter=True))


def _pace(crew: Crew, web: Web, workers: int) -> Row:
    try:
        for _ in range(workers):
            crew.start()
        while crew.site.requests() < len(web.wanted) and crew.running():
            time.sleep(0.1)
    finally:
        crew.stop()
    log = crew.site.report().log
    log = log[len(log) // 4 :]  # before that, some workers may still be starting
    return {"pages": len(log), "per_second": (len(log) - 1) / (log[-1].at - log[0].at)}


def _print(rows: list[Row]) -> None:
    ours = {(row["job"], row["workers"]): row["per_second"] for row in rows if row["system"] == "newsbot"}
    print(f"{'job':11}{'workers':>8}  {'':14}{'pages':>7}{'pages/s':>10}{'newsbot':>8}  CPU ms per page")
    for row in rows:
        ratio = ours[row["job"], row["workers"]] / row["per_second"]
        cost = ", ".join(f"{name} {value:.2f}" for name, value in row.get("cpu_ms", {}).items())
        if "commands" in row:
            cost += f"; commands to MongoDB {row['commands']:.2f}"
        print(
            f"{row['job']:11}{row['workers']:8}  {row['system']:14}{row['pages']:7}{row['per_second']:10.1f}"
            f"{ratio:8.2f}  {cost}"
        )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pages", type=int, default=2000)
    parser.add_argument("--hosts", type=int, default=50)
    parser.add_argument("--turns", type=int, default=2)
    parser.add_argument("--only", default="scheduler,articles,polite")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--saved", type=Path, metavar="FOLDER")
    parser.add_argument("--workers", default="1,2")
    options = parser.parse_args()
    wanted = options.only.split(",")
    crews = [int(number) for number in options.workers.split(",")]
    rows: list[Row] = []
    if "scheduler" in wanted:
        rows += compare("follow", tree(options.pages, options.hosts), options.turns, crews)
    if "articles" in wanted:
        real = options.saved
        web = (
            papers(options.pages, options.hosts)
            if real is None
            else saved(real, options.pages, options.hosts)
        )
        rows += compare("articles", web, options.turns, crews)
    if "polite" in wanted:
        rows += polite(POLITE_PAGES)
    if options.json:
        print(json.dumps(rows))
    else:
        _print(rows)


if __name__ == "__main__":
    main()
