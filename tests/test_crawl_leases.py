"""In complete crawls, slow work keeps its leases. A worker that hangs loses its leases, and then it cannot
change any data."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from testbed.messages import Answer, Request
from testbed.mockserver import HTML, MockServer
from testbed.redisserver import RedisServer, need_redis
from tests.crawls import World, article_html, feed_xml

SITE = "http://lease.test"
PAGES = 6
LEASE = 2.0


class SlowSite(MockServer):
    """A site with slow articles; ``requested`` is set at the first request for an article."""

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self.requested = threading.Event()
        self.seconds = seconds
        for number in range(PAGES):
            self.page(f"{SITE}/news/{number}", self._slow)
        self.page(f"{SITE}/rss.xml", feed_xml([f"{SITE}/news/{number}" for number in range(PAGES)]))

    def _slow(self, request: Request) -> Answer:
        self.requested.set()
        number = int(request.path.rpartition("/")[2])
        return Answer(body=article_html(number).encode(), headers=HTML, delay=self.seconds)


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


def make_world(folder: Path, site: MockServer) -> World:
    world = World(folder, site)
    world.rule(
        "lease.test",
        f"domain: lease.test\nfeeds: ['{SITE}/rss.xml']\narticle: ['^/news/']\n"
        f"delay: 0\nconcurrency: {PAGES}\n",
    )
    return world


OPTION = ("-s", f"NEWSBOT_LEASE_SECONDS={LEASE}")


def check_each_stored_once(world: World) -> None:
    articles = world.articles()
    assert sorted(article.url for article in articles) == [f"{SITE}/news/{n}" for n in range(PAGES)]
    assert {article.version for article in articles} == {1}


def test_work_that_takes_longer_than_a_lease_keeps_it(tmp_path: Path, redis_url: str) -> None:
    with SlowSite(2.5 * LEASE) as site:
        world = make_world(tmp_path, site)
        workers = [world.start(*OPTION, REDIS_URL=redis_url) for _ in range(2)]
        for worker in workers:
            _, err = worker.communicate(timeout=90)
            assert worker.returncode == 0, err
        check_each_stored_once(world)
        paths = [path for path in site.seen() if path.startswith("/news/")]
        assert sorted(paths) == [f"/news/{n}" for n in range(PAGES)], (
            "a lease was lost although its worker was alive"
        )


def test_a_hung_worker_loses_its_leases_and_changes_nothing_afterwards(
    tmp_path: Path, redis_url: str
) -> None:
    with SlowSite(1.0) as site:
        world = make_world(tmp_path, site)
        hung = world.start(*OPTION, REDIS_URL=redis_url)
        try:
            assert site.requested.wait(60)
            hung.send_signal(signal.SIGSTOP)
            heir = world.crawl(*OPTION, REDIS_URL=redis_url)
            assert heir.code == 0, heir.err
            check_each_stored_once(world)
            assert len([path for path in site.seen() if path.startswith("/news/")]) > PAGES
        finally:
            hung.send_signal(signal.SIGCONT)
        _, err = hung.communicate(timeout=90)
        assert hung.returncode == 0, err
        assert "Traceback" not in err
        check_each_stored_once(world)
