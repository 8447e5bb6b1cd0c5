"""The egg of scrapyd-deploy on a real scrapyd: jobs run, log, share the work, and stop when told to."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from uuid import uuid4
from zipfile import ZipFile

import pytest
from pymongo import MongoClient

from newsbot.demo.check import compare
from newsbot.demo.messages import Answer, Request
from newsbot.demo.server import DemoServer
from newsbot.frontier.redis import RedisFrontier
from newsbot.storage.mongo import MongoStorage
from tests.crawls import World, article_html
from tests.mockserver import MockServer
from tests.redisserver import RedisServer, need_redis
from tests.scrapydserver import ROOT, SHIPPED, ScrapydServer, copy_project, scrapyd_deploy, wait_for

SLOW = "slow.test"
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


@pytest.fixture(scope="module")
def egg(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("egg")
    scrapyd_deploy(copy_project(folder, "http://127.0.0.1:1/"), os.environ, "--build-egg", "newsbot.egg")
    return folder / "newsbot.egg"


def test_the_egg_holds_all_that_the_code_reads(egg: Path) -> None:
    files = {
        str(path.relative_to(ROOT))
        for top in SHIPPED
        for path in (ROOT / top).rglob("*")
        if path.is_file() and path.suffix != ".pyc"
    }
    expected = {
        name.replace("rules/", "newsbot/site_rules/", 1) if name.startswith("rules/") else name
        for name in files
    }
    with ZipFile(egg) as archive:
        assert expected <= set(archive.namelist())


def run_from(egg: Path, folder: Path, *words: str) -> str:
    """Run ``scrapy WORDS`` with nothing of newsbot but the egg."""
    environment = World(folder, None).environment(
        NEWSBOT_RULES="", PYTHONPATH=str(egg), SCRAPY_SETTINGS_MODULE="newsbot.settings"
    )
    done = subprocess.run(
        [sys.executable, "-m", "scrapy", *words],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_rules_are_read_out_of_the_egg(egg: Path, tmp_path: Path) -> None:
    assert "newsbot.egg/newsbot/site_rules/lenta.ru.yaml:" in run_from(
        egg, tmp_path, "rules", "show", "lenta.ru"
    )


def test_the_demo_runs_out_of_the_egg(egg: Path, tmp_path: Path) -> None:
    out = run_from(egg, tmp_path, "demo", "--articles", "60", "--data", str(tmp_path / "demo"))
    assert "every article was stored exactly once" in out


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
        report = compare(storage.iter_articles(), web.demo.manifest)
    assert report.ok, report.faults
    counts = counted(redis)
    assert (counts["leased"], counts["pending"], counts["aside"]) == (0, 0, 0)
    assert "Traceback" not in scrapyd.said


def test_a_cancelled_job_hands_its_leases_back(
    scrapyd: ScrapydServer, web: Web, redis: RedisServer, mongo: str
) -> None:
    urls = [f"http://{SLOW}/20/{number}.html" for number in range(PAGES)]
    for number, url in enumerate(urls):
        web.page(url, article_html(number), delay=0.5)
    job = scrapyd.schedule(urls=",".join(urls), mode="continuous")
    with closing(RedisFrontier(redis.url)) as frontier:
        wait_for(lambda: web.seen(SLOW) and frontier.owners(), "nothing was leased")
        assert scrapyd.ask("cancel.json", [("project", "newsbot"), ("job", job)])["prevstate"] == "running"
        log = scrapyd.finish(job)
        assert frontier.owners() == []
        assert 0 < frontier.counts()["pending"] < PAGES
    assert "Spider closed (shutdown)" in log
    assert "ERROR" not in log
    with closing(MongoStorage(mongo)) as storage:
        kept = [article for article in storage.iter_articles() if article.source == SLOW]
    assert len(kept) == PAGES - counted(redis)["pending"]


def counted(redis: RedisServer) -> dict[str, int]:
    with closing(RedisFrontier(redis.url)) as frontier:
        return frontier.counts()


def test_a_wrong_argument_is_one_line_in_the_log_of_scrapyd(scrapyd: ScrapydServer) -> None:
    scrapyd.finish(scrapyd.schedule(sites="lenta.ur"))
    assert "sites=lenta.ur: no rule for it" in scrapyd.said
    assert "did you mean 'lenta.ru'?" in scrapyd.said
    assert "Traceback" not in scrapyd.said
