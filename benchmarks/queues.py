"""What the number of queues in Redis costs, and how long it takes to change it.

A worker leases pages, looks up their links, queues new links and acknowledges the pages. Here, one server
runs the scripts of all queues. If each queue is on a node of its own, each node runs only its own scripts.

    python -m benchmarks.queues [--queues 1,4,16] [--pages 4000] [--known 100000] [--json]
"""

from __future__ import annotations

import argparse
import json
import time
from contextlib import closing
from typing import Any

import redis

from newsbot.apps.redis.frontier import RedisFrontier
from newsbot.frontier.base import Entry, known_of
from newsbot.items import Kind, batched
from newsbot.urls import canonicalize, fingerprint
from testbed.temporary import own_redis, redis_seconds

HOSTS = 1000
LINKS = 5
"""New links of a page."""
FREE = 8
"""Number of pages that a worker leases at a time."""


def entry(number: int) -> Entry:
    """Return the page with this number."""
    host = f"h{number % HOSTS}.test"
    url = f"https://{host}/{number}"
    return Entry(fingerprint=fingerprint(canonicalize(url)), url=url, host=host, kind=Kind.ARTICLE)


def visit(frontier: RedisFrontier, pages: int) -> None:
    """Visit this number of pages."""
    done, new = 0, 10**9
    while done < pages:
        leases = frontier.lease("o", FREE, horizon=time.time(), ttl=60)
        for lease in leases:
            site = int(lease.entry.host[1:].partition(".")[0])
            links = [entry(new + HOSTS * place + site) for place in range(LINKS)]
            new += HOSTS * LINKS
            known_of(frontier, links)
            frontier.add(links)
        frontier.ack_all([(lease, None) for lease in leases])
        done += len(leases)


def row(queues: int, pages: int, known: int) -> dict[str, Any]:
    """Return the costs with this number of queues."""
    with own_redis() as url, closing(RedisFrontier(url)) as frontier, redis.Redis.from_url(url) as client:
        for number in range(HOSTS):
            frontier.set_politeness(f"h{number}.test", delay=0.0, concurrency=9)
        for some in batched((entry(number) for number in range(pages * 2)), 500):
            frontier.add(some)
        old = [entry(10**8 + number) for number in range(known)]
        for some in batched(old, 500):
            frontier.mark_done(some, None)
        began = time.perf_counter()
        frontier.divide(queues)
        changed = time.perf_counter() - began
        began = time.perf_counter()
        for some in batched(old, 500):  # in place of the pages of a storage
            frontier.move_known({one.fingerprint: one.host for one in some}, last=False)
        moved = time.perf_counter() - began
        frontier.move_known({}, last=True)
        visit(frontier, 100)  # the server compiles the scripts
        client.config_resetstat()
        before, clock = redis_seconds(url), time.process_time()
        visit(frontier, pages)
        own, cpu = time.process_time() - clock, redis_seconds(url) - before
        scripts = client.info("commandstats")["cmdstat_evalsha"]["calls"]
    return {
        "queues": queues,
        "scripts per page": round(scripts / pages, 2),
        "CPU of Redis per page, ms": round(1000 * cpu / pages, 2),
        "CPU of the worker per page, ms": round(1000 * own / pages, 2),
        "all workers wait, s per 10^6 entries": round(changed / (pages * 2) * 10**6),
        "known URLs looked up per second": round(known / moved),
    }


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--queues", default="1,4,16")
    parser.add_argument("--pages", type=int, default=4000)
    parser.add_argument("--known", type=int, default=100_000)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    for queues in options.queues.split(","):
        found = row(int(queues), options.pages, options.known)
        text = "  ".join(f"{name}={value}" for name, value in found.items())
        print(json.dumps(found) if options.json else text)


if __name__ == "__main__":
    main()
