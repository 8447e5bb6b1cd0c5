"""Pages lost when a worker is killed (SIGKILL) at random moments, for scrapy-redis and newsbot.

A worker with 64 requests in flight fetches 2,000 pages. When the site has served a random number of pages,
the worker is killed and a new one is started on the same Redis. This happens twenty times; then the last
worker finishes. A page is lost if it was not read and will not be fetched again. For scrapy-redis (with
SCHEDULER_PERSIST True), this means that the callback was not called for the page. For newsbot, it means that
no record says that the page was read, or that the page is set aside.

scrapy-redis has all pages in its queue before the first kill; newsbot finds them in the feeds of the sites.

    python -m benchmarks.loss [--pages 2000] [--kills 20] [--in-flight 64] [--json]
"""

from __future__ import annotations

import argparse
import json
import math
import random
import tempfile
import time
from pathlib import Path
from typing import Any

import redis
from scrapy import Request, Spider
from scrapy_redis.queue import PriorityQueue

from benchmarks.crews import SYSTEMS, Crew
from benchmarks.servers import own_redis
from benchmarks.site import Site
from benchmarks.webs import Web, papers, write_rules
from newsbot.storage.sqlite import SqliteStorage

ANSWER_SECONDS = 0.2
"""Response time of the site. It is so long that all allowed requests are in flight."""
IDLE_SECONDS = 8.0
"""scrapy-redis counts as finished after this many seconds without a request."""
HOSTS = 20


def measure(system: str, web: Web, kills: int, in_flight: int, seed: str = "loss") -> dict[str, Any]:
    """Fetch the web with a worker that is killed repeatedly; return the losses."""
    chance = random.Random(f"{seed} {system}")
    moments = sorted(chance.sample(range(1, max(kills + 1, len(web.wanted) - in_flight)), kills))
    with (
        tempfile.TemporaryDirectory(prefix="newsbot-bench-") as name,
        Site(web.pages, delay=ANSWER_SECONDS) as site,
        own_redis("--appendonly", "yes") as url,
    ):
        folder = Path(name)
        write_rules(folder / "rules", web, follow="feeds", concurrency=in_flight)
        extra = {"READ_FILE": str(folder / "read")}
        job = "note" if system == "scrapy-redis" else "articles"
        crew = Crew(system, job, site, url, folder, concurrency=in_flight, extra=extra)
        if system == "scrapy-redis":
            fill_queue(url, web)
        try:
            killed = _kill_again_and_again(crew, moments)
            _works_until(crew, math.inf)
        finally:
            crew.stop()
        read = _read_by_scrapy_redis(folder) if system == "scrapy-redis" else _read_by_newsbot(folder)
        report = site.report()
    lost = len(web.wanted - read)
    return {
        "system": system,
        "pages": len(web.wanted),
        "kills": killed,
        "lost": lost,
        "lost_a_kill": lost / max(1, killed),
        "fetched_again": sum(hit.url in web.wanted for hit in report.log) - len(read & web.wanted),
    }


def _kill_again_and_again(crew: Crew, moments: list[int]) -> int:
    """Kill the worker at each of these numbers of served pages; return the number of kills.

    A crawl that has lost pages may not reach the last numbers.
    """
    killed = 0
    crew.start()
    for moment in moments:
        if not _works_until(crew, moment):
            break
        crew.stop()
        killed += 1
        crew.start()
    return killed


def _works_until(crew: Crew, served: float) -> bool:
    """Wait until this many requests were served; False if the work ends earlier."""
    patience = IDLE_SECONDS * (1 if crew.system == "scrapy-redis" else 10)  # newsbot ends by itself
    last, since = -1, time.monotonic()
    while (now := crew.site.requests()) < served:
        if not crew.running() or (time.monotonic() - since > patience and _is_empty(crew)):
            return False
        if now != last:
            last, since = now, time.monotonic()
        time.sleep(0.002)
    return True


def _is_empty(crew: Crew) -> bool:
    """Return True if the queue of scrapy-redis is empty; newsbot's worker exits when it is done."""
    with redis.Redis.from_url(crew.redis_url) as client:
        return crew.system != "scrapy-redis" or client.zcard("note:requests") == 0


def fill_queue(url: str, web: Web) -> None:
    """Queue all pages for ``benchmarks.rival note``."""
    with redis.Redis.from_url(url) as client:
        queue = PriorityQueue(client, Spider("note"), "note:requests")
        for page in sorted(web.wanted):
            queue.push(Request(page, dont_filter=True))


def _read_by_scrapy_redis(folder: Path) -> set[str]:
    return set((folder / "read").read_text(encoding="utf8").split())


def _read_by_newsbot(folder: Path) -> set[str]:
    storage = SqliteStorage(folder / "data" / "newsbot.db")
    try:
        return {page.url for page in storage.pages.iter() if page.last_fetched and page.state == "done"}
    finally:
        storage.close()


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pages", type=int, default=2000)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--in-flight", type=int, default=64)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    web = papers(options.pages, HOSTS)
    rows = [measure(system, web, options.kills, options.in_flight) for system in SYSTEMS]
    if options.json:
        print(json.dumps(rows))
        return
    print(f"{'':14}{'pages':>7}{'kills':>7}{'lost':>7}{'lost/kill':>13}{'fetched twice':>15}")
    for row in rows:
        print(
            f"{row['system']:14}{row['pages']:7}{row['kills']:7}{row['lost']:7}{row['lost_a_kill']:13.1f}"
            f"{row['fetched_again']:15}"
        )


if __name__ == "__main__":
    main()
