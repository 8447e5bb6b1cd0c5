"""How long the scripts of the queue in Redis block the server, with many hosts that have a ready page.

One call of the frontier may run several scripts. The server does nothing else while it runs a script.
``wall`` is the duration of one call.

    python -m benchmarks.hosts [--hosts 1000,100000] [--json]
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from contextlib import closing
from functools import partial
from typing import Any

import redis

from newsbot.apps.redis.frontier import BATCH, RedisFrontier
from newsbot.frontier.base import Entry
from newsbot.items import Kind, batched
from newsbot.urls import canonicalize, fingerprint
from testbed.temporary import own_redis, redis_seconds

TIMES = 5
"""Number of measured calls of each operation."""


def entry(number: int, due: float = 0.0) -> Entry:
    """Return an entry of a host of its own."""
    url = f"https://h{number}.test/{due:g}"
    key = fingerprint(canonicalize(url))
    return Entry(fingerprint=key, url=url, host=f"h{number}.test", kind=Kind.ARTICLE, due=due)


def rows(hosts: int) -> list[dict[str, Any]]:
    """Return the costs of all operations."""
    now = time.time()
    few, none = {"h17.test"}.__contains__, frozenset[str]().__contains__
    last = {f"h{number}.test" for number in range(hosts - 20, hosts)}.__contains__

    def lease(frontier: RedisFrontier, accept: Callable[[str], bool] | None = None, limit: int = 10) -> None:
        frontier.lease("o", limit, horizon=now, ttl=60, accept=accept)

    ready: dict[str, Callable[[RedisFrontier], object]] = {
        "lease": lease,
        "lease, no host accepted": partial(lease, accept=none),
        "lease, one site paused": partial(lease, accept=lambda host: not few(host)),
        "lease, 20 last hosts accepted": partial(lease, accept=last, limit=3),
        "outlook": lambda frontier: frontier.outlook(horizon=now),
        "outlook, no host accepted": lambda frontier: frontier.outlook(horizon=now, accept=none),
        "outlook, all hosts accepted": lambda frontier: frontier.outlook(horizon=now, accept=bool),
    }
    later: dict[str, Callable[[RedisFrontier], object]] = {
        "lease, pages of a later horizon": lease,
        "outlook, pages of a later horizon": lambda frontier: frontier.outlook(horizon=now),
    }
    found = []
    for operations, due in ((ready, 0.0), (later, now + 50)):
        with own_redis() as url, closing(RedisFrontier(url)) as frontier:
            for some in batched((entry(number, due) for number in range(hosts)), 500):
                frontier.add(some)
            for _ in range(hosts // BATCH + 1):  # another worker makes all pages ready
                frontier.outlook(horizon=now + 60)
            found += [timed(url, hosts, name, partial(call, frontier)) for name, call in operations.items()]
    return found


def timed(url: str, hosts: int, name: str, call: Callable[[], object]) -> dict[str, Any]:
    """Return the costs of one call, as the mean of all but the first."""
    with redis.Redis.from_url(url) as client:
        call()  # the server compiles the script
        client.config_resetstat()
        began, before = time.perf_counter(), redis_seconds(url)
        for _ in range(TIMES):
            call()
        wall, cpu = time.perf_counter() - began, redis_seconds(url) - before
        scripts = client.info("commandstats")["cmdstat_evalsha"]["calls"]
    return {
        "hosts": hosts,
        "operation": name,
        "scripts": round(scripts / TIMES, 1),
        "CPU of a script, ms": round(1000 * cpu / scripts, 2),
        "wall, ms": round(1000 * wall / TIMES, 1),
    }


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--hosts", default="1000,100000")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    found = [row for hosts in options.hosts.split(",") for row in rows(int(hosts))]
    if options.json:
        print(json.dumps(found))
        return
    for row in found:
        print("  ".join(f"{name}={value}" for name, value in row.items()))


if __name__ == "__main__":
    main()
