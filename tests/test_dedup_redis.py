"""The near-duplicate index in Redis: growth, memory, scripts."""

from __future__ import annotations

import random
from contextlib import closing
from typing import Any

import pytest
import redis

from newsbot.apps.redis import index as near_redis
from newsbot.apps.redis.index import Keys, RedisIndex
from newsbot.dedup.index import KEEP, MAX_CANDIDATES, signature
from newsbot.errors import SchemaError
from testbed import redisserver
from tests.nearkeys import BLOCK
from tests.neartexts import NOW, insert, sample, url


def held(redis_place: dict[str, Any], what: str) -> dict[bytes, int]:
    """Return the keys of a type, with their size in bytes."""
    with redis.Redis.from_url(redis_place["where"]) as client:
        names = client.scan_iter(f"{{{redis_place['namespace']}:near}}:{what}:*", count=1000)
        return {name: int(client.memory_usage(name, samples=0) or 0) for name in names}


def parts(redis_place: dict[str, Any]) -> set[bytes]:
    """Return the hash tags of the parts."""
    with redis.Redis.from_url(redis_place["where"]) as client:
        names = client.scan_iter(f"{{{redis_place['namespace']}:near*}}:meta")
        return {name.partition(b"}")[0] for name in names}


def postings(redis_place: dict[str, Any]) -> int:
    with redis.Redis.from_url(redis_place["where"]) as client:
        return sum(client.strlen(key) // 5 for key in held(redis_place, "postings"))


def test_texts_are_found_again_while_the_buckets_are_split(
    redis_place: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each of two workers finds the texts of the other, although buckets are split in the meantime."""
    monkeypatch.setattr(near_redis, "LOAD", 0.1)
    monkeypatch.setattr(near_redis, "_TEND_EVERY", 2)
    monkeypatch.setattr(near_redis, "_SPLITS_AT_ONCE", 300)
    with closing(RedisIndex(**redis_place)) as first, closing(RedisIndex(**redis_place)) as second:
        for number in range(600):
            insert((first, second)[number % 2], number)
        with redis.Redis.from_url(redis_place["where"]) as client:
            assert int(client.hget(first._keys.meta, "level") or 0) >= 16
        assert len(held(redis_place, "postings")) > 9000
        for number in range(600):
            found = first.check_and_insert(f"again {number}", "b.org", sample(number), NOW)
            assert [near.doc_id for near in found] == [url(number)]
            assert insert(second, number) == [f"again {number}"]
        assert first.count() == 1200


def test_memory_per_text_is_small(redis_place: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """A text takes 280 bytes with 10^6 texts, and more with fewer texts."""
    texts = 20_000
    with closing(RedisIndex(**redis_place)) as opened:
        for number in range(texts):
            insert(opened, number)
    postings = held(redis_place, "postings")
    assert len(postings) == 2**14
    used = sum(postings.values()) + sum(held(redis_place, "texts").values())
    assert used / texts < 330


def test_old_texts_are_removed_with_their_postings(
    redis_place: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(near_redis, "_CLEAR_AT_ONCE", 4096)
    with closing(RedisIndex(**redis_place)) as opened:
        for number in range(500):
            insert(opened, number)
        assert postings(redis_place) == 17 * 500
        for number in range(500, 1100):
            insert(opened, number, NOW + KEEP + 1)
        assert opened.count() == 600
        assert len(held(redis_place, "texts")) <= 600 // BLOCK + 2
        while opened._insertions < 4000:  # during a crawl, the remaining postings are removed step by step
            insert(opened, 1, NOW + KEEP + 1)
        assert postings(redis_place) < 1.1 * 17 * 600


def test_texts_are_found_in_all_parts_and_old_parts_are_deleted(
    redis_place: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(near_redis, "PART_SIZE", 200)
    with closing(RedisIndex(**redis_place)) as opened, closing(RedisIndex(**redis_place)) as other:
        for number in range(900):
            insert(other if number % 2 else opened, number)
        assert opened.count() == 900
        assert len(parts(redis_place)) == 5
        for number in (0, 150, 450, 899):
            found = opened.check_and_insert(f"again {number}", "b.org", sample(number), NOW)
            assert [near.doc_id for near in found] == [url(number)]
        assert opened.check_and_insert(url(0), "a.org", sample(7000), NOW) == []  # the text has changed
        assert opened.count() == 904
        assert len(other.check_and_insert("again 0", "b.org", sample(0), NOW)) == 0
        for number in range(9000, 14000):
            insert(opened, number % 9100, NOW + KEEP + 1)
        assert opened._first > 1
        assert len(parts(redis_place)) <= opened._last - opened._first + 2
        assert insert(other, 9100, NOW + KEEP + 1) == []  # this client has not noticed yet
        with redis.Redis.from_url(redis_place["where"]) as client:
            client.unlink(opened._keys.meta)
        insert(opened, 1, NOW + KEEP + 1)
        assert other.count() == opened.count() > 90


WORDS = [f"word{number}" for number in range(500)]
TEMPLATE = " ".join(f"the council of district {number} has decided" for number in range(8))


def test_parts_give_the_answers_of_one_index(
    redis_place: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn = random.Random(4)
    texts = [signature(f"{' '.join(drawn.sample(WORDS, 30))} {TEMPLATE}") for _ in range(120)]
    answers = []
    for size in (10**6, 7):
        monkeypatch.setattr(near_redis, "PART_SIZE", size)
        place = {**redis_place, "namespace": f"{redis_place['namespace']}:{size}"}
        with closing(RedisIndex(**place)) as opened:
            ids = [url(number % 110) for number in range(len(texts))]
            answers.append([opened.check_and_insert(*one, NOW) for one in zip(ids, ids, texts, strict=True)])
        near_redis.RedisIndex.empty(**place)
    assert answers[0] == answers[1]
    assert max(map(len, answers[0])) >= MAX_CANDIDATES, "the limit has no effect in this test"


def test_numbers_wrap_around_after_sixteen_million(redis_place: dict[str, Any]) -> None:
    with closing(RedisIndex(**redis_place)) as opened:
        insert(opened, 0)
        with redis.Redis.from_url(redis_place["where"]) as client:
            begin = 2**24 - BLOCK
            meta = opened._keys.meta
            client.hset(meta, mapping={"next": begin, "tail": begin, "count": 0})
        for number in range(1, 3 * BLOCK):
            insert(opened, number)
        for number in range(1, 3 * BLOCK):
            found = opened.check_and_insert(f"again {number}", "b.org", sample(number), NOW)
            assert [near.doc_id for near in found] == [url(number)]
        assert opened.check_and_insert("again 0", "b.org", sample(0), NOW) == []


def test_memory_of_a_template_is_bounded_by_its_newest_texts(redis_place: dict[str, Any]) -> None:
    with closing(RedisIndex(**redis_place)) as opened:
        for number in range(3 * MAX_CANDIDATES):
            opened.check_and_insert(url(number), "a.org", sample(1), NOW + number)
    count = postings(redis_place)
    assert count <= 16 * (MAX_CANDIDATES + 1) + 3 * MAX_CANDIDATES


def test_all_keys_have_the_same_hash_tag(redis_place: dict[str, Any]) -> None:
    with closing(RedisIndex(**redis_place)) as opened, redis.Redis.from_url(redis_place["where"]) as client:
        for number in range(200):
            insert(opened, number)
        tag = Keys(redis_place["namespace"]).tag.encode()
        mine = [key for key in client.keys("*") if redis_place["namespace"].encode() in key]
        assert len(mine) > 3
        assert all(key.startswith(tag) for key in mine)


def test_scripts_are_sent_again_if_the_server_lost_them(redis_place: dict[str, Any]) -> None:
    with closing(RedisIndex(**redis_place)) as opened:
        insert(opened, 1)
        with redis.Redis.from_url(redis_place["where"]) as client:
            client.script_flush()
        assert len(opened.check_and_insert("again", "a.org", sample(1), NOW)) == 1


def log_of_newsbot(caplog: pytest.LogCaptureFixture) -> list[str]:
    """Return newsbot's log lines, without debug lines of the client that another test may have enabled."""
    return [record.getMessage() for record in caplog.records if record.name.startswith("newsbot.")]


def test_an_emptied_server_is_refilled_and_this_is_logged(
    own_redis: redisserver.RedisServer, caplog: pytest.LogCaptureFixture
) -> None:
    with closing(RedisIndex(own_redis.url)) as opened, closing(RedisIndex(own_redis.url)) as other:
        for number in range(300):
            insert(opened, number)
        with redis.Redis.from_url(own_redis.url) as client:
            client.flushall()
        assert not log_of_newsbot(caplog)
        insert(opened, 1)
        insert(other, 2)
        [line] = log_of_newsbot(caplog)
        assert line.startswith(f"near-duplicate index came back empty place={own_redis.url}")
        assert line.endswith("scrapy articles reindex")
        assert len(opened.check_and_insert("again", "a.org", sample(1), NOW)) == 1
        assert opened.count() == 3
        RedisIndex(own_redis.url).close()


def test_an_index_of_another_scheme_is_refused(
    redis_place: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(RedisIndex(**redis_place)) as opened:
        insert(opened, 1)
        monkeypatch.setattr(near_redis, "SCHEME", "affine64 seed=2")
        with pytest.raises(SchemaError, match=r"redis://.*affine32 seed=1.*affine64 seed=2.*reindex --anew"):
            RedisIndex(**redis_place)
        with pytest.raises(SchemaError, match="affine64 seed=2"):  # also for an index that is already open
            insert(opened, 2)


@pytest.mark.parametrize("text", ["", "и " * 100_000])
def test_a_text_without_a_signature_is_not_kept(redis_place: dict[str, Any], text: str) -> None:
    with closing(RedisIndex(**redis_place)) as opened:
        assert opened.check_and_insert("a", "a.org", signature(text), NOW) == []
        assert (opened.count(), held(redis_place, "postings"), held(redis_place, "texts")) == (0, {}, {})
