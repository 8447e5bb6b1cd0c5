"""The egg of scrapyd-deploy on a real scrapyd: jobs run, log, share the work, and can be stopped."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Iterator
from contextlib import closing
from itertools import count
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import quote
from uuid import uuid4

import jsonschema
import pytest
from playwright.sync_api import expect
from pymongo import MongoClient

from newsbot.apps.demo.check import compare
from newsbot.apps.mongodb.storage import MongoStorage
from newsbot.apps.redis.frontier import RedisFrontier
from testbed.demoweb.server import DemoServer
from testbed.messages import Answer, Request
from testbed.mockserver import MockServer
from testbed.redisserver import RedisServer, need_redis
from testbed.servers import free_port
from tests.browser import check_access, chromium
from tests.crawls import World, article_html
from tests.dashboards import TOKEN, Visitor, served, settings_of, visit
from tests.scrapydserver import PASSWORD, USER, ScrapydServer, copy_project, scrapyd_deploy, wait_for
from tests.test_dashboard_api import answer_schema

SLOW = "slow.test"
numbers = count()
"""Numbers of articles, so that their texts differ."""
PAGES = 20


@pytest.fixture(scope="module")
def redis(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    need_redis()
    server = RedisServer(tmp_path_factory.mktemp("redis"))
    server.start()
    yield server
    server.kill()


class Web(MockServer):
    """The six hosts of the demo, and pages registered by a test: one web for all jobs."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.demo = DemoServer(folder, articles=60)

    def answer(self, request: Request) -> Answer:
        return super().answer(request) if request.host == SLOW else self.demo._handler(request)


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Web]:
    with Web(tmp_path_factory.mktemp("web")) as web:
        yield web


@pytest.fixture(scope="module")
def mongo(mongo_uri: str) -> Iterator[str]:
    """The URI of a database for this module."""
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


def test_access_without_a_password_is_refused(scrapyd: ScrapydServer) -> None:
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
        assert "\x1b" not in log, "a log file must not have a live display"
    with closing(MongoStorage(mongo)) as storage:
        report = compare(storage.articles.iter(), web.demo.manifest)
    assert report.ok, report.faults
    counts = counted(redis)
    assert (counts["leased"], counts["pending"], counts["aside"]) == (0, 0, 0)
    assert "Traceback" not in scrapyd.output


def hold_leases(scrapyd: ScrapydServer, web: Web, redis: RedisServer, name: str) -> str:
    """Schedule a job on slow pages, and return its id when it holds leases."""
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


def test_a_cancelled_job_returns_its_leases(
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


NEXT = """

_start = NewsSpider.start

async def _told(self):
    self.logger.warning("the next version")
    async for one in _start(self):
        yield one

NewsSpider.start = _told
"""


def test_a_new_version_takes_over_while_a_job_of_the_old_one_runs(
    scrapyd: ScrapydServer, web: Web, redis: RedisServer, mongo: str, tmp_path: Path
) -> None:
    old = hold_leases(scrapyd, web, redis, "takeover")
    project = copy_project(tmp_path, scrapyd.url)
    with (project / "newsbot/spiders/news.py").open("a", encoding="utf8") as code:
        code.write(NEXT)
    assert '"status": "ok"' in scrapyd_deploy(project, scrapyd.environment)
    new = scrapyd.schedule(f"NEWSBOT_RULES={web.demo.rules}", mode="continuous")
    scrapyd.ask("cancel.json", [("project", "newsbot"), ("job", old)])
    log = scrapyd.finish(old)
    assert "Spider closed (shutdown)" in log
    assert "the next version" not in log

    with closing(MongoStorage(mongo)) as storage:
        wait_for(
            lambda: len([one for one in storage.articles.iter() if "/takeover-" in one.url]) == PAGES,
            "the new job does not go on",
        )
    scrapyd.ask("cancel.json", [("project", "newsbot"), ("job", new)])
    log = scrapyd.finish(new)
    assert "the next version" in log
    check_clean_stop(log, redis)
    seen = [path for path in web.seen(SLOW) if "/takeover-" in path]
    assert sorted(seen) == sorted(set(seen)), "no page was fetched twice"


def counted(redis: RedisServer) -> dict[str, int]:
    with closing(RedisFrontier(redis.url)) as frontier:
        return frontier.counts()


def test_a_wrong_argument_is_reported_in_one_line_in_the_logs_of_the_job_and_of_scrapyd(
    scrapyd: ScrapydServer,
) -> None:
    (line,) = scrapyd.finish(scrapyd.schedule(sites="lenta.ur")).splitlines()
    assert "ERROR: scrapy crawl: sites=lenta.ur: no rule for it" in line
    assert "sites=lenta.ur: no rule for it" in scrapyd.output
    assert "did you mean 'lenta.ru'?" in scrapyd.output
    assert "Traceback" not in scrapyd.output


def test_the_dashboard_starts_and_stops_jobs_and_shows_their_logs(
    scrapyd: ScrapydServer, tmp_path: Path
) -> None:
    address = scrapyd.url.replace("//", f"//{USER}:{quote(PASSWORD)}@")
    settings = settings_of(tmp_path, NEWSBOT_SCRAPYD=address)
    heading = re.compile(r"^Job [0-9a-f]{32} ")
    with served(settings, token=TOKEN) as home, chromium() as browser:
        page = browser.new_context(base_url=home, bypass_csp=True).new_page()
        page.set_default_timeout(90_000)  # scrapyd answers nothing else while it runs "scrapy list"
        page.goto("/crawl")
        page.get_by_role("link", name="Start or stop crawls").click()
        expect(page.locator("main")).to_contain_text("Log in to start or stop jobs")
        page.goto("/login")
        page.get_by_label("Token").fill(TOKEN)
        page.get_by_role("button", name="Log in").click()

        page.goto("/jobs")
        page.get_by_label("Sites").fill("lenta.ru")
        page.get_by_label("Mode").select_option("continuous")
        page.get_by_role("button", name="Start a crawl").click()
        (job,) = re.findall("[0-9a-f]{32}", page.get_by_role("status").inner_text())
        row = page.get_by_role("row", name=job)
        expect(row).to_be_visible()
        check_access(page)
        wait_for(lambda: "Spider opened" in scrapyd.log(job), "the job does not start")
        row.get_by_role("link").click()
        # on a busy machine, scrapyd may not answer the dashboard in time
        wait_for(lambda: page.reload() and "Spider opened" in page.locator("main").inner_text(), "no log")
        expect(page.get_by_role("heading", level=1)).to_have_text(heading)
        check_access(page)
        assert PASSWORD not in page.content()

        page.goto("/jobs")
        expect(row).to_contain_text("running")
        row.get_by_role("button", name="Stop").click()
        expect(page.get_by_role("status")).to_contain_text(
            f"Job {job} is being stopped; its state was: running"
        )
        assert "Spider closed (shutdown)" in scrapyd.finish(job)
        for path, name in (("/api/jobs", "jobs"), (f"/api/jobs/{job}", "job_log")):
            found = page.request.get(path).json()
            jsonschema.Draft202012Validator(answer_schema(name)).validate(found)
        assert found["job"]["state"] == "finished"
        assert "Spider closed (shutdown)" in found["log"]
        assert page.request.get("/jobs/none").status == 404
        page.goto("/jobs")
        page.get_by_label("Sites").fill("lenta.ru -d x=1")
        page.get_by_role("button", name="Start a crawl").click()  # a wrong argument is in the job's log
        (wrong,) = re.findall("[0-9a-f]{32}", page.get_by_role("status").inner_text())
        assert "no rule for it" in scrapyd.finish(wrong)


def test_an_unreachable_scrapyd_is_reported_without_its_password(tmp_path: Path) -> None:
    async def check(visitor: Visitor) -> None:
        for path in ("/jobs", "/api/jobs"):
            answer, text = await visitor.get(path)
            assert answer.status == 503
            assert "scrapyd does not answer" in text
            assert "secret" not in text

    visit(settings_of(tmp_path, NEWSBOT_SCRAPYD=f"http://a:secret@127.0.0.1:{free_port()}/"), check)


def test_jobs_stop_cleanly_when_all_processes_of_the_unit_get_the_signal(
    scrapyd: ScrapydServer, web: Web, redis: RedisServer
) -> None:
    job = hold_leases(scrapyd, web, redis, "with-scrapyd")
    processes = scrapyd.processes()
    assert len(processes) == 2
    for process in processes:  # as KillMode=control-group does
        os.kill(process, signal.SIGTERM)
    wait_for(lambda: "Spider closed" in scrapyd.log(job), "the job does not stop")
    check_clean_stop(scrapyd.log(job), redis)
