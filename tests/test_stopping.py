"""A worker that is stopped returns its leases before it exits, so other workers do not wait for the
deadline."""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from newsbot.apps.redis.frontier import RedisFrontier
from newsbot.commands.crawl import STOPS
from testbed.mockserver import MockServer
from testbed.redisserver import RedisServer, need_redis
from tests.crawls import World, article_html

PAGES = 30
RULE = "domain: news.test\narticle: /20/\ndelay: 0\nconcurrency: 8\n"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RedisServer]:
    need_redis()
    folder = tmp_path / "redis"
    folder.mkdir()
    server = RedisServer(folder)
    server.start()
    yield server
    server.kill()


def wait_until(true: Callable[[], bool], what: str) -> None:
    end = time.monotonic() + 60
    while not true():
        assert time.monotonic() < end, what
        time.sleep(0.01)


def start_on_slow_pages(
    world: World, site: MockServer, server: RedisServer, seconds: float
) -> tuple[subprocess.Popen[str], RedisFrontier]:
    """Return a worker that holds leases on pages with this response time, and a view of its queue."""
    urls = []
    for number in range(PAGES):
        urls.append(f"http://news.test/20/{number}.html")
        site.page(urls[-1], article_html(number), delay=seconds)
    world.rule("news.test", RULE)
    patient = ("-s", "DOWNLOAD_TIMEOUT=120")
    worker = world.start("-a", f"urls={','.join(urls)}", *patient, REDIS_URL=server.url)
    frontier = RedisFrontier(server.url)
    wait_until(lambda: frontier.counts()["leased"] >= 8, "nothing was leased")
    return worker, frontier


def wait_for_closing(worker: subprocess.Popen[str]) -> None:
    assert worker.stderr is not None
    assert any("Closing spider (shutdown)" in line for line in worker.stderr)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_a_worker_cleanly(
    world: World, site: MockServer, server: RedisServer, number: signal.Signals
) -> None:
    worker, frontier = start_on_slow_pages(world, site, server, 1.0)
    with closing(frontier):
        wait_until(lambda: any("/20/" in path for path in site.seen()), "no page was answered")
        worker.send_signal(number)
        _, err = worker.communicate(timeout=60)
        assert worker.returncode == 0, err
        assert STOPS[0] in err
        assert frontier.owners() == []
        counts = frontier.counts()
        assert counts["leased"] == 0
        assert counts["pending"] + counts["done"] == PAGES
        assert 0 < counts["done"] < PAGES, "pages in progress are finished, no others are started"
    assert len(world.urls()) == counts["done"]


def test_a_second_signal_stops_the_worker_immediately_and_leases_are_returned(
    world: World, site: MockServer, server: RedisServer
) -> None:
    worker, frontier = start_on_slow_pages(world, site, server, 90.0)
    with closing(frontier):
        worker.send_signal(signal.SIGINT)
        wait_for_closing(worker)
        assert frontier.counts()["leased"] >= 8, "after the first signal, pages in progress are finished"
        worker.send_signal(signal.SIGINT)
        _, err = worker.communicate(timeout=60)
        assert frontier.owners() == [], err
        counts = frontier.counts()
        assert (counts["leased"], counts["pending"]) == (0, PAGES)
    assert STOPS[1] in err
    assert "Traceback" not in err


def test_leases_that_cannot_be_returned_are_reported_in_one_line(
    world: World, site: MockServer, server: RedisServer
) -> None:
    worker, frontier = start_on_slow_pages(world, site, server, 90.0)
    frontier.close()
    worker.send_signal(signal.SIGINT)
    wait_for_closing(worker)
    server.kill()
    worker.send_signal(signal.SIGINT)
    _, err = worker.communicate(timeout=60)
    (message,) = [line for line in err.splitlines() if "not released leases=" in line]
    assert "free_in_seconds=" in message
    assert "Traceback" not in err
