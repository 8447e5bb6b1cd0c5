"""Complete crawls while Redis is killed or stopped, and Ctrl-C during this time."""

from __future__ import annotations

import signal
import time

from testbed.demoweb.server import DemoServer
from testbed.redisserver import RedisServer
from tests.crawls import World
from tests.outages import (
    QUICK,
    check_fetched_once,
    check_one_outage,
    check_stored_once,
    connection_lines,
    counts,
    wait_for_requests,
    wait_for_workers,
)


def test_a_crawl_continues_after_the_server_was_killed_and_restarted(
    demo_world: World, demo: DemoServer, redis_server: RedisServer
) -> None:
    workers = [demo_world.start(REDIS_URL=redis_server.url) for _ in range(2)]
    wait_for_workers(redis_server, 2)
    wait_for_requests(demo, 40)
    redis_server.kill()
    time.sleep(3)
    redis_server.start()
    for worker in workers:
        _, err = worker.communicate(timeout=120)
        assert worker.returncode == 0, err
        check_one_outage(err, "cannot be reached")
    check_stored_once(demo_world.articles(), demo)
    check_fetched_once(demo)
    assert counts(redis_server) == (0, 0, 0)


def test_a_crawl_continues_after_the_server_was_stopped_and_continued(
    demo_world: World, demo: DemoServer, redis_server: RedisServer
) -> None:
    worker = demo_world.start(*QUICK, REDIS_URL=redis_server.url)
    wait_for_requests(demo, 40)
    redis_server.signal(signal.SIGSTOP)
    time.sleep(3)
    redis_server.signal(signal.SIGCONT)
    _, err = worker.communicate(timeout=120)
    assert worker.returncode == 0, err
    check_one_outage(err, "no answer in time")
    check_stored_once(demo_world.articles(), demo)
    check_fetched_once(demo)
    assert counts(redis_server) == (0, 0, 0)


def test_a_crawl_interrupted_in_an_outage_ends_and_the_next_crawl_does_the_rest(
    demo_world: World, demo: DemoServer, redis_server: RedisServer
) -> None:
    worker = demo_world.start(REDIS_URL=redis_server.url)
    wait_for_requests(demo, 40)
    redis_server.kill()
    time.sleep(2)
    worker.send_signal(signal.SIGINT)
    _, err = worker.communicate(timeout=30)
    away, back = connection_lines(err)
    assert (len(away), len(back)) == (1, 0), err
    assert "free_in_seconds=60" in err
    assert "Traceback" not in err
    redis_server.start()
    again = demo_world.crawl(REDIS_URL=redis_server.url)
    assert again.code == 0, again.err
    check_stored_once(demo_world.articles(), demo)
    assert counts(redis_server) == (0, 0, 0)
