"""Complete crawls while Redis accepts no writes, because it is full, is a replica, or has lost its
replicas."""

from __future__ import annotations

import time

import pytest
from redis import Redis

from testbed.demoweb.server import DemoServer
from testbed.redisserver import RedisServer
from tests.crawls import World
from tests.outages import check_fetched_once, check_one_outage, check_stored_once, counts, wait_for_requests

FAULTS = {
    "full": ("CONFIG SET maxmemory 1", "CONFIG SET maxmemory 0", "memory is full"),
    "replica": ("REPLICAOF 127.0.0.1 1", "REPLICAOF NO ONE", "read-only replica"),
    "alone": ("CONFIG SET min-replicas-to-write 1", "CONFIG SET min-replicas-to-write 0", "NOREPLICAS"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_crawl_continues_after_the_server_refused_writes(
    demo_world: World, demo: DemoServer, redis_server: RedisServer, fault: str
) -> None:
    breaks, heals, words = FAULTS[fault]
    worker = demo_world.start(REDIS_URL=redis_server.url)
    wait_for_requests(demo, 15)
    with Redis.from_url(redis_server.url) as client:
        client.execute_command(*breaks.split())
        time.sleep(3)
        client.execute_command(*heals.split())
    _, err = worker.communicate(timeout=120)
    assert worker.returncode == 0, err
    check_one_outage(err, words)
    check_stored_once(demo_world.articles(), demo)
    check_fetched_once(demo)
    assert counts(redis_server) == (0, 0, 0)
