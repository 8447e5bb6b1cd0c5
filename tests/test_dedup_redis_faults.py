"""The near-duplicate index when Redis is full, down, evicts keys or denies access."""

from __future__ import annotations

import logging
import re
from contextlib import closing

import pytest
import redis

from newsbot.apps.redis.index import RedisIndex
from newsbot.dedup.index import KEEP
from newsbot.errors import DataError, DataFull, DataUnavailable
from testbed import redisserver
from tests.neartexts import NOW, insert, sample, url


def test_a_server_with_an_eviction_policy_is_refused(own_redis: redisserver.RedisServer) -> None:
    with redis.Redis.from_url(own_redis.url) as client:
        client.config_set("maxmemory", "100mb")
        client.config_set("maxmemory-policy", "allkeys-lru")
    with pytest.raises(DataError, match="near-duplicate index when its memory is full; set maxmemory-p"):
        RedisIndex(own_redis.url)


def test_evicted_keys_are_reported_and_the_remaining_keys_still_work(
    own_redis: redisserver.RedisServer, caplog: pytest.LogCaptureFixture
) -> None:
    """The policy changes during a crawl: no error, no wrong results, and the next start reports it."""
    with closing(RedisIndex(own_redis.url)) as opened, redis.Redis.from_url(own_redis.url) as client:
        for number in range(1500):
            insert(opened, number)
        limit = client.info("memory")["used_memory"] - 150_000
        client.config_set("maxmemory-policy", "allkeys-random")
        client.config_set("maxmemory", limit)
        for number in range(1500, 3000):
            assert insert(opened, number) == []
        found = [opened.check_and_insert(f"again {n}", "b.org", sample(n), NOW) for n in range(3000)]
        assert all(url(number) == near.doc_id for number, some in enumerate(found) for near in some)
        assert client.info("stats")["evicted_keys"] > 0
        with pytest.raises(DataError, match="would delete"):
            RedisIndex(own_redis.url)
        client.config_set("maxmemory-policy", "noeviction")
        client.config_set("maxmemory", 0)
    with caplog.at_level(logging.WARNING), closing(RedisIndex(own_redis.url)):
        assert re.search(
            r"lost keys place=redis:\S+ evicted=\d+; .* scrapy articles reindex --anew", caplog.text
        )


def test_a_full_server_is_a_data_error_without_partial_changes(own_redis: redisserver.RedisServer) -> None:
    with closing(RedisIndex(own_redis.url)) as opened, redis.Redis.from_url(own_redis.url) as client:
        for number in range(200):
            insert(opened, number)
        client.config_set("maxmemory", "1mb")
        before = client.dbsize(), client.hgetall(opened._keys.meta)
        for number in (1, 500):
            with pytest.raises(DataFull, match=r"redis://.*memory is full"):
                insert(opened, number)
        assert (client.dbsize(), client.hgetall(opened._keys.meta)) == before
        client.config_set("maxmemory", "0")
        assert insert(opened, 500) == []
        assert opened.count() == 201


@pytest.mark.parametrize("missing", ["-info", "-mset"], ids=["asked", "in a script"])
def test_missing_rights_of_the_user_are_reported_with_the_acl_file(
    own_redis: redisserver.RedisServer, missing: str
) -> None:
    rights = ("on", ">secret", "~{newsbot:*", "-@all", "+@read", "+@write", "+@connection")
    with redis.Redis.from_url(own_redis.url) as client:
        client.execute_command("ACL", "SETUSER", "user", *rights, "+eval", "+evalsha", "+info", missing)

    def use() -> None:
        with closing(RedisIndex(own_redis.url.replace("//", "//user:secret@"))) as opened:
            insert(opened, 1)

    with pytest.raises(DataError, match=r"the user lacks rights \(.*deploy/redis-users.acl"):
        use()


def test_expired_texts_are_removed_if_the_server_is_full(own_redis: redisserver.RedisServer) -> None:
    with closing(RedisIndex(own_redis.url)) as opened, redis.Redis.from_url(own_redis.url) as client:
        for number in range(600):
            insert(opened, number)
        client.config_set("maxmemory", client.info("memory")["used_memory"] - 1000)
        kept = 0
        for number in range(1000, 1010):
            try:
                insert(opened, number, NOW + KEEP + 10)
            except DataFull:
                continue
            kept += 1
        assert kept > 0
        assert opened.count() < 100


def test_an_unreachable_server_is_reported_in_one_line(own_redis: redisserver.RedisServer) -> None:
    with closing(RedisIndex(own_redis.url)) as opened:
        insert(opened, 1)
        own_redis.kill()
        for call in (lambda: insert(opened, 2), opened.count, lambda: RedisIndex(own_redis.url)):
            with pytest.raises(DataUnavailable, match=r"redis://127\.0\.0\.1:\d+/0: cannot be reached"):
                call()
        own_redis.start()
        assert insert(opened, 2) == []
        assert opened.count() == 1
