"""Complete crawls with a page that kills every worker: only this page is set aside."""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from newsbot.apps.redis.frontier import RedisFrontier
from newsbot.frontier.base import ASIDE, MAX_LOST, Frontier
from newsbot.frontier.sqlite.frontier import SqliteFrontier
from newsbot.urls import fingerprint
from testbed.mockserver import MockServer
from testbed.redisserver import RedisServer, need_redis
from tests import warm
from tests.crawls import ROOT, World, article_html, feed_xml
from tests.poison import OPTION

SITE = "http://poison.test"
POISON = f"{SITE}/news/poison"
PAGES = 60
FLYING = 16


@pytest.fixture
def site() -> Iterator[MockServer]:
    with MockServer() as site:
        urls = [f"{SITE}/news/{n}" for n in range(PAGES - 1)]
        for number, url in enumerate(urls):
            site.page(url, article_html(number), delay=0.15)
        site.page(POISON, article_html(PAGES), delay=0.03)  # fetched while the others are in flight
        site.page(f"{SITE}/rss.xml", feed_xml([POISON, *urls]))
        yield site


@pytest.fixture(params=["sqlite", "redis"])
def redis_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    if request.param == "sqlite":
        yield ""
        return
    need_redis()
    folder = tmp_path / "redis"
    folder.mkdir()
    server = RedisServer(folder)
    server.start()
    yield server.url
    server.kill()


@pytest.fixture
def world(tmp_path: Path, site: MockServer) -> World:
    world = World(tmp_path, site)
    world.rule(
        "poison.test",
        f"domain: poison.test\nfeeds: ['{SITE}/rss.xml']\narticle: ['^/news/']\n"
        f"delay: 0\nconcurrency: {FLYING}\n",
    )
    return world


def frontier_of(world: World, redis_url: str) -> closing[Frontier]:
    path = world.data / "newsbot.db"
    return closing(RedisFrontier(redis_url) if redis_url else SqliteFrontier(path))


def scrapy(world: World, redis_url: str, *words: str) -> str:
    command = [sys.executable, "-m", "scrapy", *words]
    done = warm.run(command, cwd=ROOT, env=world.environment(REDIS_URL=redis_url))
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


def test_only_the_page_that_kills_workers_is_set_aside(world: World, redis_url: str) -> None:
    arguments = ("-s", OPTION, "-s", f"CONCURRENT_REQUESTS={4 * FLYING}")  # at first a quarter of this
    in_flight = []
    for _ in range(MAX_LOST):
        crawl = world.crawl(*arguments, REDIS_URL=redis_url)
        assert crawl.code == -signal.SIGKILL, crawl.err
        with frontier_of(world, redis_url) as frontier:
            in_flight.append(frontier.counts()["leased"])
    # in later rounds the page may be alone, as suspects with fewer lost leases are leased first
    assert min(in_flight[:2]) > 1, "the page was fetched alone, so the test is not valid"
    assert in_flight[0] == FLYING

    crawl = world.crawl(*arguments, REDIS_URL=redis_url)
    assert crawl.code == 0, crawl.err
    assert crawl.stat("queue/aside") == 1
    assert "given up: 1 (URLs that failed too often; scrapy sources lists them)" in crawl.err
    assert world.urls() == sorted(f"{SITE}/news/{n}" for n in range(PAGES - 1))
    with frontier_of(world, redis_url) as frontier:
        counts = frontier.counts()
        assert (counts["pending"], counts["leased"], counts["aside"]) == (0, 0, 1)
        (entry,) = frontier.aside(10)
    assert entry.url == POISON
    assert entry.data[ASIDE] == "5 leases lost in a row: the workers that held this entry died or hung"

    story = scrapy(world, redis_url, "why", POISON)
    assert "queue         given up; it is not fetched again unless it is added by hand" in story
    assert "given up      5 leases lost in a row: the workers that held this entry died or hung" in story
    assert f"remedy        to queue it again, run: scrapy add '{POISON}'" in story
    assert (
        json.loads(scrapy(world, redis_url, "why", POISON, "--json"))["queue"]["aside"] == entry.data[ASIDE]
    )
    listed = scrapy(world, redis_url, "sources")
    assert "1 URL given up (for the reason: scrapy why URL; to queue a URL again: scrapy add URL):" in listed
    assert f"  {POISON} (5 leases lost" in listed

    scrapy(world, redis_url, "add", POISON)
    crawl = world.crawl(REDIS_URL=redis_url)  # without the middleware that kills the worker
    assert crawl.code == 0, crawl.err
    assert POISON in world.urls()
    assert "remedy" not in scrapy(world, redis_url, "why", POISON)
    with frontier_of(world, redis_url) as frontier:
        assert frontier.known([fingerprint(POISON)])[fingerprint(POISON)].state == "done"
        assert frontier.aside(10) == []
