"""Shared code for tests of outages: it waits for a condition, and checks the log afterwards."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import closing

from newsbot.apps.demo.check import compare
from newsbot.apps.redis.frontier import RedisFrontier
from newsbot.items import Article
from testbed.demoweb.server import DemoServer
from testbed.redisserver import RedisServer

QUICK = ("-s", "REDIS_PARAMS=" + json.dumps({"socket_timeout": 1}))
"""With this setting, a server that hangs is noticed after a second."""


def wait_until(there: Callable[[], bool], what: str) -> None:
    """Wait for a condition for up to a minute."""
    end = time.monotonic() + 60
    while not there():
        assert time.monotonic() < end, what
        time.sleep(0.005)


def wait_for_workers(server: RedisServer, number: int) -> None:
    """Wait until this many workers have leased work. From then on they continue even if the server dies."""
    seen: set[str] = set()

    def all_seen() -> bool:
        seen.update(frontier.owners())
        return len(seen) >= number

    with closing(RedisFrontier(server.url)) as frontier:
        wait_until(all_seen, "the workers did not begin")


def wait_for_requests(site: DemoServer, number: int) -> None:
    """Wait until a crawl has sent this many requests."""
    wait_until(lambda: len(site.log) >= number, "the crawl did not get so far")


def connection_lines(err: str) -> tuple[list[str], list[str]]:
    """Return the lines of a worker's log that report lost connections, and those that report recoveries."""
    lines = err.splitlines()
    away = [line for line in lines if "; the crawl waits until" in line]
    return away, [line for line in lines if "data back place=" in line]


def check_one_outage(err: str, words: str) -> None:
    """Check that one outage was reported in two lines."""
    away, back = connection_lines(err)
    assert len(away) == 1, err
    assert words in away[0]
    assert len(back) == 1, err
    assert "Traceback" not in err


def check_stored_once(articles: Iterable[Article], site: DemoServer) -> None:
    """Check that all articles were stored exactly once."""
    report = compare(articles, site.manifest)
    assert report.ok, report.faults


def check_fetched_once(site: DemoServer) -> None:
    """Check that hardly any article was requested twice."""
    fetched = Counter(
        (record.host, record.path)
        for record in site.log
        if record.kind == "article" and record.status == 200 and record.whole
    )
    again = {page: times for page, times in fetched.items() if times > 1}
    assert fetched.total() <= 1.05 * len(fetched), again


def counts(server: RedisServer) -> tuple[int, int, int]:
    """Return how many URLs are pending, leased and set aside."""
    with closing(RedisFrontier(server.url)) as frontier:
        found = frontier.counts()
    return found["pending"], found["leased"], found["aside"]
