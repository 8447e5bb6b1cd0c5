"""robots.txt and tdmrep.json are requested once per host and day, by all workers together."""

from __future__ import annotations

from collections import Counter

import pytest

from testbed.redisserver import RedisServer, need_redis
from tests.crawls import World, article_html, feed_xml
from tests.newssite import ended

HOSTS = [f"site{number}.test" for number in range(4)]
FILES = ("/robots.txt", "/.well-known/tdmrep.json")


@pytest.fixture(params=["file", "redis"])
def world(request, tmp_path, site):
    """A world with a queue in the data file or in Redis."""
    world = World(tmp_path, site)
    world.rule("_defaults", "delay: 0\nconcurrency: 1\ninterval: {feed: 10m, article: 30d}\n")
    if request.param == "file":
        yield world
        return
    need_redis()
    server = RedisServer(tmp_path)
    server.start()
    world.servers["REDIS_URL"] = server.url
    yield world
    server.kill()


def test_host_files_are_requested_once_by_all_workers_and_later_crawls(site, world):
    for host in HOSTS:
        site.robots("User-agent: *\nDisallow: /private/\n", host=host)
        urls = [f"http://{host}/story/{number}" for number in range(6)]
        for number, url in enumerate(urls):
            site.page(url, article_html(HOSTS.index(host) * 10 + number))
        site.page(f"http://{host}/feed.xml", feed_xml(urls), headers={"Content-Type": "application/rss+xml"})
        world.rule(host, f"domain: {host}\nfeeds: http://{host}/feed.xml\n")
    workers = [world.start() for _ in range(3)]
    for worker in workers:
        ended(worker)
        assert worker.returncode == 0
    again = world.crawl("-a", f"urls=http://{HOSTS[0]}/private/1,http://{HOSTS[0]}/story/1")
    assert again.stat("errors/robots") == 1, "the copy of another crawl must be used"
    assert len(world.articles()) == 24
    requested = Counter((record.host, record.path) for record in site.log if record.path in FILES)
    assert requested == {(host, path): 1 for host in HOSTS for path in FILES}
