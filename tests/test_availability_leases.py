"""Outages of Redis cause no page to be set aside, even if Redis is empty afterwards."""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path

import redis

from testbed.demoweb.server import DemoServer
from testbed.mockserver import MockServer
from testbed.redisserver import RedisServer, need_redis
from tests.crawls import World, article_html
from tests.outages import QUICK, check_one_outage, check_stored_once, counts, wait_for_requests, wait_until

SLOW, QUICKLY = "/2024/05/03/slow-bridge.html", "/2024/05/03/quick-bridge.html"


def asked_for(site: MockServer, pages: int) -> bool:
    return len({record.path for record in site.log if record.path in (SLOW, QUICKLY)}) == pages


def test_a_redis_emptied_by_a_restart_is_reported_and_refilled_from_the_storage(
    tmp_path: Path, demo_world: World, demo: DemoServer
) -> None:
    need_redis()
    folder = tmp_path / "forgetful"
    folder.mkdir()
    server = RedisServer(folder)
    server.start()
    worker = demo_world.start(REDIS_URL=server.url)
    wait_for_requests(demo, 40)
    server.kill()
    server.start()
    _, err = worker.communicate(timeout=120)
    assert worker.returncode == 0, err
    check_one_outage(err, "redis://")
    assert err.count("queue came back empty in_work=") == 1
    check_stored_once(demo_world.articles(), demo)
    assert counts(server)[1:] == (0, 0), "pending URLs are due for the next crawl"
    server.kill()


def test_a_redis_emptied_by_a_command_is_reported_and_refilled_from_the_storage(
    demo_world: World, demo: DemoServer, redis_server: RedisServer
) -> None:
    worker = demo_world.start(REDIS_URL=redis_server.url)
    wait_for_requests(demo, 40)
    with redis.Redis.from_url(redis_server.url) as client:
        client.flushall()
    _, err = worker.communicate(timeout=120)
    assert worker.returncode == 0, err
    check_one_outage(err, "the server has lost its data")
    assert err.count("queue came back empty in_work=") == 1
    check_stored_once(demo_world.articles(), demo)


def test_outages_longer_than_a_lease_never_set_a_page_aside(
    world: World, site: MockServer, redis_server: RedisServer
) -> None:
    """One page takes as long as three outages; its worker never stops."""
    slow = site.page(f"http://news.test{SLOW}", article_html(1), delay=12.0)
    quick = site.page(f"http://news.test{QUICKLY}", article_html(2))
    world.rule("news.test", "domain: news.test\narticle: /\\d+/\\d+/\\d+/\n")
    options = ("-s", "NEWSBOT_LEASE_SECONDS=1", *QUICK)
    workers = []
    for number, page in enumerate((slow, quick), start=1):
        workers.append(world.start("-a", f"url={page}", *options, REDIS_URL=redis_server.url))
        wait_until(partial(asked_for, site, number), f"{page} was never requested")
    for _ in range(3):
        redis_server.kill()
        time.sleep(1.5)
        redis_server.start()
        time.sleep(1)
    for worker in workers:
        _, err = worker.communicate(timeout=120)
        assert worker.returncode == 0, err
        assert "Traceback" not in err
    assert world.urls() == [quick, slow]
    assert counts(redis_server) == (0, 0, 0)
