"""Rebuilding the near-duplicate index from the stored texts, in the file and in Redis."""

from __future__ import annotations

import secrets
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import redis

from newsbot.apps.redis.index import RedisIndex
from newsbot.crawl.entries import entry_again
from newsbot.dedup.index import KEEP, signature, text_key
from newsbot.dedup.sqlite import SqliteIndex
from newsbot.dedup.story_merge import rebuild
from newsbot.frontier.base import owner_name
from newsbot.items import Article
from newsbot.storage.articles import story_id
from tests.builders import prose
from tests.commandline import Place, article
from tests.contracts.storage_samples import make_page

NOW = 1_795_000_000.0
DAY = 86400.0


def stored(place: Place, ages: list[float], now: float = NOW) -> list[Article]:
    """Store articles that were fetched ``ages`` seconds ago."""
    made = []
    with place.storage() as storage:
        for number, age in enumerate(ages, 1):
            fetched = datetime.fromtimestamp(now - age, tz=UTC)
            made.append(article(number, text=prose(number, 120), fetched_at=fetched, published_at=None))
            storage.articles.store(made[-1])
    return made


def near(path: Path, one: Article, now: float = NOW) -> list[str]:
    with closing(SqliteIndex(path)) as index:
        return [n.doc_id for n in index.check_and_insert("copy", "b.org", signature(one.text), now)]


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_texts_of_the_last_weeks_are_indexed_again_once(place: Place) -> None:
    old, last, new = stored(place, [KEEP + 1, KEEP - DAY, 0.0])
    path = place.data / "newsbot.db"
    progress: list[int] = []
    with place.storage() as storage, closing(SqliteIndex(path)) as index:
        for _ in range(2):
            assert rebuild(storage, index, NOW, progress.append) == 2
            assert index.count() == 2
    assert progress == [1, 2, 1, 2]
    assert near(path, old) == []
    assert near(path, last) == [last.canonical_url]
    assert near(path, new) == [new.canonical_url]


def test_only_wanted_texts_are_indexed(place: Place) -> None:
    stored(place, [0.0, 0.0, 0.0])
    with place.storage() as storage, closing(SqliteIndex(place.data / "newsbot.db")) as index:
        wanted = lambda one: not one.canonical_url.endswith("1")  # noqa: E731
        assert rebuild(storage, index, NOW, lambda _: None, wanted) == 2


def test_an_index_of_another_scheme_is_rebuilt_on_request(place: Place) -> None:
    one, *_ = stored(place, [DAY, DAY], time.time())
    path = place.data / "newsbot.db"
    SqliteIndex(path).close()
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("UPDATE near_scheme SET scheme = 'bands of another newsbot'")
    answer = place.run("articles", "reindex")
    assert answer.code != 0
    assert "bands of another newsbot" in answer.err
    assert answer.err.count("\n") == 1
    assert "scrapy articles reindex --anew" in answer.err
    answer = place.run("articles", "reindex", "--anew", "--json")
    assert answer.code == 0
    assert answer.json == {"indexed": 2, "kept": 2, "joined": 0}
    assert near(path, one, time.time()) == [one.canonical_url]


REPORT = " ".join(f"the index of the exchange rose again today in sector {chr(97 + n)}" for n in range(20))


def test_articles_that_came_without_the_index_are_added_to_their_stories(place: Place) -> None:
    """The texts are treated like new ones: issues of a template stay apart, a bridge joins two stories."""
    words = [f"word{number}" for number in range(280)]
    texts = {
        "https://a.test/chain": " ".join(words[:200]),
        "https://b.test/chain": " ".join(words[80:280]),
        "https://c.test/chain": " ".join(words[40:240]),
        "https://a.test/report/1": f"{REPORT} by 17.5 points to 3411 in 60 deals",
        "https://a.test/report/2": f"{REPORT} by 99.1 points to 8802 in 75 deals",
    }
    with place.storage() as storage:
        for url, text in texts.items():
            source = url.split("/")[2]
            fields = {"url": url, "canonical_url": url, "source": source, "story": story_id(url)}
            at = datetime.fromtimestamp(time.time() - 60, tz=UTC)
            storage.articles.store(
                article(1, text=text, content_hash=text_key(text), fetched_at=at, **fields)
            )
    answer = place.run("articles", "reindex")
    assert answer.code == 0
    assert "1 article joined to stories of similar articles" in answer.err
    with place.storage() as storage:
        stories = {one.canonical_url: one.story for one in storage.articles.iter()}
    assert len({stories[url] for url in texts if "chain" in url}) == 1
    assert len(set(stories.values())) == 3
    assert place.run("articles", "reindex", "--json").json == {"indexed": 5, "kept": 5, "joined": 0}


def test_the_number_of_days_is_a_setting(place: Place) -> None:
    stored(place, [100 * DAY, 40 * DAY, DAY], time.time())
    answer = place.run("articles", "reindex", NEWSBOT_NEAR_DAYS="45")
    assert answer.err.startswith("2 texts of the last 45 days indexed; the index holds 2\n")
    assert place.run("articles", "reindex", "--json").json["indexed"] == 1
    for wrong in ("0", "soon", "nan", "1e9"):
        answer = place.run("articles", "reindex", NEWSBOT_NEAR_DAYS=wrong)
        assert answer.code == 2
        assert f"NEWSBOT_NEAR_DAYS={wrong}: must be a number, 1 to 3650" in answer.err


def test_the_index_is_not_emptied_while_a_crawl_runs(place: Place) -> None:
    stored(place, [DAY], time.time())
    assert place.run("articles", "reindex").code == 0
    with place.frontier() as frontier:
        page = make_page("waiting")
        frontier.add([entry_again(page)], force=True)
        frontier.set_politeness(page.host, delay=0, concurrency=1)
        assert frontier.lease(owner_name(time.time()), 1, horizon=time.time() + 1, ttl=60)
    answer = place.run("articles", "reindex", "--anew")
    assert answer.code != 0
    assert "a crawl is still using the data" in answer.err
    assert place.run("articles", "reindex", "--json").json == {"indexed": 1, "kept": 1, "joined": 0}


def test_before_the_first_crawl_reindexing_is_refused(place: Place) -> None:
    answer = place.run("articles", "reindex")
    assert answer.code != 0
    assert "no crawl has run yet" in answer.err


@pytest.fixture
def namespace(redis_url: str) -> Iterator[str]:
    name = f"test-[{secrets.token_hex(8)}]*"
    yield name
    RedisIndex.empty(redis_url, namespace=name)


def test_the_index_in_redis_is_refilled_after_it_lost_its_keys(
    place: Place, redis_url: str, namespace: str
) -> None:
    one, two = stored(place, [DAY, 0.0])
    where: dict[str, Any] = {"where": redis_url, "namespace": namespace}
    with place.storage() as storage, closing(RedisIndex(**where)) as index:
        assert rebuild(storage, index, NOW, lambda _: None) == 2
        RedisIndex.empty(redis_url, namespace=namespace)
        assert index.count() == 0
        assert rebuild(storage, index, NOW, lambda _: None) == 2
        found = [index.check_and_insert("copy", "b.org", signature(a.text), NOW) for a in (one, two)]
    assert [[n.doc_id for n in some] for some in found] == [[one.canonical_url], [two.canonical_url]]


def test_emptying_removes_only_the_keys_of_one_index(redis_url: str, namespace: str) -> None:
    other = namespace.replace("[", "").replace("]*", "")
    with (
        closing(RedisIndex(redis_url, namespace=namespace)) as mine,
        closing(RedisIndex(redis_url, namespace=other)) as theirs,
        redis.Redis.from_url(redis_url) as client,
    ):
        for index in (mine, theirs):
            index.check_and_insert("a", "a.org", signature(prose(1, 100)), NOW)
        client.hset(mine._keys.meta, "scheme", "bands of another newsbot")
        RedisIndex.empty(redis_url, namespace=namespace)
        assert (mine.count(), theirs.count()) == (0, 1)
        RedisIndex(redis_url, namespace=namespace).close()
        RedisIndex.empty(redis_url, namespace=other)
        assert theirs.count() == 0
        left = [key for key in client.scan_iter(count=1000) if other.encode() in key]
        assert left == []
