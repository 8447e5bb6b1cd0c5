"""The egg of scrapyd-deploy on a real scrapyd: jobs run, log, share the work, and stop when told to."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import closing
from itertools import count
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from uuid import uuid4

import pytest
from pymongo import MongoClient

from benchmarks.demoweb.messages import Answer, Request
from benchmarks.demoweb.server import DemoServer
from newsbot.demo.check import compare
from newsbot.frontier.redis import RedisFrontier
from newsbot.storage.mongo import MongoStorage
from tests.crawls import World, article_html
from tests.mockserver import MockServer
from tests.redisserver import RedisServer, need_redis
from tests.scrapydserver import ScrapydServer, copy_project, scrapyd_deploy, wait_for

SLOW = "slow.test"
numbers = count()
"""Of articles, so that no two have one text."""
PAGES = 20


@pytest.fixture(scope="module")
def redis(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    need_redis()
    server = RedisServer(tmp_path_factory.mktemp("redis"))
    server.start()
    yield server
    server.kill()


class Web(MockServer):
    """The six hosts of the demo, and beside them pages that a test registers: one web for all jobs."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.demo = DemoServer(folder, articles=60)

    def _answer(self, request: Request) -> Answer:
        return super()._answer(request) if request.host == SLOW else self.demo._handler(request)


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Web]:
    with Web(tmp_path_factory.mktemp("web")) as web:
        yield web


@pytest.fixture(scope="module")
def mongo(mongo_uri: str) -> Iterator[str]:
    """The address of a database of this module's own."""
    name = f"newsbot_test_{uuid4().hex[:12]}"
    place, _, options = mongo_uri.partition("?")
    yield f"{place.rstrip('/')}/{name}{'?' if options else ''}{options}"
    with MongoClient[dict[str, Any]](mongo_uri) as client:
        client.drop_database(name)


@pytest.fixture(scope="module")
def scrapyd(
    tmp_path_factory: pytest.TempPathFactory, redis: RedisServer, mongo: str, web: Web
) -> Iterator[ScrapydServer]:
    folder = tmp_path_factory.mktemp("scrapyd")
    environment = World(folder, web).environment(NEWSBOT_RULES="", REDIS_URL=redis.url, MONGO_URI=mongo)
    server = ScrapydServer(folder / "server", environment)
    try:
        server.start()
        (folder / "project").mkdir()
        project = copy_project(folder / "project", server.url)
        assert '"status": "ok"' in scrapyd_deploy(project, server.environment)
        yield server
    finally:
        server.stop()


def test_who_has_no_password_is_refused(scrapyd: ScrapydServer) -> None:
    with pytest.raises(HTTPError, match="401"):
        scrapyd.open_without_password()


def test_the_spider_is_listed(scrapyd: ScrapydServer) -> None:
    assert "news" in scrapyd.ask("listspiders.json", project="newsbot")["spiders"]


def test_two_jobs_share_a_crawl_to_its_end(
    scrapyd: ScrapydServer, web: Web, mongo: str, redis: RedisServer
) -> None:
    rules = f"NEWSBOT_RULES={web.demo.rules}"
    jobs = [scrapyd.schedule(rules, "NEWSBOT_PROGRESS_INTERVAL=1") for _ in range(2)]
    logs = [scrapyd.finish(job) for job in jobs]
    for log in logs:
        assert "Spider closed (finished)" in log
        assert "ERROR" not in log
        assert "\x1b" not in log, "no live display in a file"
    with closing(MongoStorage(mongo)) as storage:
        report = compare(storage.articles.iter(), web.demo.manifest)
    assert report.ok, report.faults
    counts = counted(redis)
    assert (counts["leased"], counts["pending"], counts["aside"]) == (0, 0, 0)
    assert "Traceback" not in scrapyd.said


def hold_leases(scrapyd: ScrapydServer, web: Web, redis: RedisServer, name: str) -> str:
    """Schedule a job on slow pages, and return its id as soon as it works on them."""
    urls = [f"http://{SLOW}/20/{name}-{number}.html" for number in range(PAGES)]
    for url in urls:
        web.page(url, article_html(next(numbers)), delay=0.5)
    seen = len(web.seen(SLOW))
    job = scrapyd.schedule(urls=",".join(urls), mode="continuous")
    with closing(RedisFrontier(redis.url)) as frontier:
        wait_for(lambda: len(web.seen(SLOW)) > seen and frontier.owners(), "nothing was leased")
    return job


def check_clean_stop(log: str, redis: RedisServer) -> None:
    with closing(RedisFrontier(redis.url)) as frontier:
        assert frontier.owners() == []
    assert "Spider closed (shutdown)" in log
    assert "ERROR" not in log


def test_a_cancelled_job_hands_its_leases_back(
    scrapyd: ScrapydServer, web: Web, redis: RedisServer, mongo: str
) -> None:
    job = hold_leases(scrapyd, web, redis, "cancelled")
    assert scrapyd.ask("cancel.json", [("project", "newsbot"), ("job", job)])["prevstate"] == "running"
    check_clean_stop(scrapyd.finish(job), redis)
    pending = counted(redis)["pending"]
    assert 0 < pending < PAGES
    with closing(MongoStorage(mongo)) as storage:
        kept = [article for article in storage.articles.iter() if article.source == SLOW]
    assert len(kept) == PAGES - pending


def counted(redis: RedisServer) -> dict[str, int]:
    with closing(RedisFrontier(redis.url)) as frontier:
        return frontier.counts()


def test_a_wrong_argument_is_one_line_in_the_log_of_scrapyd(scrapyd: ScrapydServer) -> None:
    scrapyd.finish(scrapyd.schedule(sites="lenta.ur"))
    assert "sites=lenta.ur: no rule for it" in scrapyd.said
    assert "did you mean 'lenta.ru'?" in scrapyd.said
    assert "Traceback" not in scrapyd.said


def test_jobs_stop_cleanly_when_all_processes_of_the_unit_are_told_to(
    scrapyd: ScrapydServer, web: Web, redis: RedisServer
) -> None:
    job = hold_leases(scrapyd, web, redis, "with-scrapyd")
    processes = scrapyd.processes()
    assert len(processes) == 2
    for process in processes:  # as KillMode=control-group does
        os.kill(process, signal.SIGTERM)
    wait_for(lambda: "Spider closed" in scrapyd.log(job), "the job does not stop")
    check_clean_stop(scrapyd.log(job), redis)
