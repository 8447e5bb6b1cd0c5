"""After kill -9 during a crawl, the same command continues the crawl. No article is lost or stored twice.

Near-duplicates are also found as if nothing had happened.
"""

from __future__ import annotations

import random
import signal
import time
from collections import Counter
from datetime import UTC, datetime

import pytest

from newsbot.apps.demo.check import compare, judge
from newsbot.frontier.sqlite.frontier import SqliteFrontier
from testbed.demoweb.server import DemoServer
from tests.crawls import World

ARTICLES = 60
REQUESTS = 100
"""Fewer requests than a complete crawl of these articles makes."""


class DemoWorld(World):
    """The demo's site with its own rules."""

    def __init__(self, folder, server: DemoServer) -> None:
        super().__init__(folder, server)
        self.rules = server.rules


@pytest.mark.slow
@pytest.mark.parametrize("turn", range(6))
def test_a_crawl_killed_at_a_random_moment_continues(tmp_path, turn):
    moment = random.Random(f"kill {turn}").randrange(1, REQUESTS)
    now = datetime(2026, 11, 21, 8, tzinfo=UTC)
    with DemoServer(tmp_path / "rules", articles=ARTICLES, now=now) as server:
        world = DemoWorld(tmp_path, server)
        process = world.start()
        end = time.monotonic() + 60
        while len(server.log) < moment and process.poll() is None:
            assert time.monotonic() < end, "the crawl did not make enough requests"
            time.sleep(0.005)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        again = world.crawl()
        assert again.code == 0, again.err
        with world.storage() as storage:
            report = compare(storage.articles.iter(), server.manifest)
            judged = judge(storage.articles.iter(), server.manifest)
        assert report.ok, report.faults
        assert [one for one in judged if one.wrong] == []
        frontier = SqliteFrontier(world.data / "newsbot.db")
        counts = frontier.counts()
        frontier.close()
        assert (counts["leased"], counts["pending"], counts["aside"]) == (0, 0, 0)


def test_two_workers_on_one_file_share_the_work(tmp_path):
    with DemoServer(tmp_path / "rules", articles=ARTICLES) as server:
        world = DemoWorld(tmp_path, server)
        first, second = world.start(), world.start()
        for process in (first, second):
            _, err = process.communicate(timeout=120)
            assert process.returncode == 0, err
        with world.storage() as storage:
            report = compare(storage.articles.iter(), server.manifest)
        assert report.ok, report.faults
        fetched = Counter(
            (record.host, record.path)
            for record in server.log
            if record.kind == "article" and record.status == 200 and record.whole
        )
        assert len(fetched) > 0.9 * ARTICLES
        assert fetched.total() <= 1.05 * len(fetched)  # a redirect may lead to a page that is in flight
