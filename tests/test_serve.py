"""``scrapy serve`` and ``scrapy sensor`` as programs."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from newsbot.apps.push.protocols import notice_header
from newsbot.apps.web import readers
from newsbot.errors import DataUnavailable
from testbed.mockserver import MockServer
from tests import warm
from tests.crawls import ROOT, World, article_html, feed_xml

SECRET = "s3cret"
BASE = "http://news.test"


def scrapy(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return warm.run([sys.executable, "-m", "scrapy", *words], cwd=ROOT, env=environment)


@contextmanager
def serving(world: World, *words: str, **environment: str) -> Iterator[str]:
    process = warm.Popen[str](
        [sys.executable, "-m", "scrapy", "serve", "--port", "0", *words],
        cwd=ROOT,
        env=world.environment(NEWSBOT_SENSOR_SECRET=SECRET, **environment),
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    try:
        line = ""
        while "listening on " not in line:
            line = process.stderr.readline()
            assert line, "the program has ended"
        yield line.split()[-1]
    finally:
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0
        rest = process.stderr.read()
        process.stderr.close()
    assert "Traceback" not in rest, rest


def send_notice(address: str, *urls: str) -> int:
    body = json.dumps({"host": "news.test", "key": "0123456789", "urlList": urls}).encode()
    headers = {"X-Newsbot-Signature": notice_header(SECRET, body, time.time())}
    request = urllib.request.Request(address + "/push/notice", body, headers)
    with urllib.request.urlopen(request, timeout=60) as answer:
        return int(answer.status)


def test_urls_reported_by_a_sensor_are_fetched_by_the_running_crawl(world: World, site: MockServer) -> None:
    feed, first, second = f"{BASE}/feed.xml", f"{BASE}/2024/05/03/one.html", f"{BASE}/2024/05/03/two.html"
    site.page(first, article_html(1))
    site.page(feed, feed_xml([first]), headers={"Content-Type": "text/xml"})
    world.rule("news.test", f"domain: news.test\nfeeds: [{feed}]\ndelay: 0\ninterval: {{feed: 6h}}\n")
    crawl = world.start("-a", "mode=continuous")
    try:
        wait_for(world, [first])
        site.page(second, article_html(2))
        site.page(feed, feed_xml([second, first]), headers={"Content-Type": "text/xml"})
        with serving(world) as address:
            assert urllib.request.urlopen(address + "/healthz", timeout=60).status == 200
            assert send_notice(address, feed) == 202
            wait_for(world, [first, second])
    finally:
        crawl.send_signal(signal.SIGINT)
        _, err = crawl.communicate(timeout=60)
    assert "Traceback" not in err


def wait_for(world: World, urls: list[str]) -> None:
    end = time.monotonic() + 60
    while world.urls() != sorted(urls):
        assert time.monotonic() < end, world.urls()
        time.sleep(0.1)


def test_invalid_arguments_are_reported_in_one_line(world: World, site: MockServer) -> None:
    world.rule("news.test", "domain: news.test\n")
    environment = world.environment()
    for words, message in (
        (("--port", "70000"), "is not a port"),
        (("--public-url", "news.example.org"), "is not a URL; write https://"),
        (("--host", "203.0.113.1", "--port", "1"), "set NEWSBOT_WEB_TOKEN"),
        (("--host", "203.0.113.1", "--port", "1"), "cannot listen on 203.0.113.1:1"),
    ):
        token = "" if "NEWSBOT" in message else "x" * 16
        done = scrapy("serve", *words, **environment, NEWSBOT_WEB_TOKEN=token)
        assert done.returncode in (1, 2)
        assert message in done.stderr
        assert "Traceback" not in done.stderr


def test_unreachable_data_is_reported_in_the_response_and_in_one_line(world: World, site: MockServer) -> None:
    world.rule("news.test", "domain: news.test\n")
    done = scrapy("serve", "--port", "0", **world.environment(REDIS_URL="redis://127.0.0.1:1/0"))
    assert done.returncode == 1
    assert len(done.stderr.strip().splitlines()) <= 2
    assert "redis://127.0.0.1:1" in done.stderr


def test_changes_in_an_access_log_are_reported(world: World, site: MockServer, tmp_path: Path) -> None:
    world.rule("news.test", "domain: news.test\n")
    log = tmp_path / "access.log"
    line = '203.0.113.5 - - [21/Nov/2026:10:00:00 +0000] "GET /{} HTTP/1.1" 200 {} "-" "Mozilla/5.0"\n'
    log.write_text("".join(line.format(f"story-{n}.html", 9000 + n) for n in range(3)))
    environment = world.environment(NEWSBOT_SENSOR_SECRET=SECRET, no_proxy="127.0.0.1")
    dry = scrapy("sensor", str(log), "--site", BASE, "--once", "--dry-run", **environment)
    assert dry.stdout.splitlines() == [f"{BASE}/story-{n}.html" for n in range(3)]
    with serving(world) as address:
        url = address + "/push/notice"
        done = scrapy("sensor", str(log), "--site", BASE, "--url", url, "--once", **environment)
        assert done.stderr.strip() == "3 lines read, 3 changes sent"
        added = scrapy("add", f"{BASE}/story-0.html", "--json", **environment)
    assert json.loads(added.stdout)[0]["verdict"] != "new"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("nothing.log", "--site", BASE, "--dry-run"), "nothing.log: cannot be read"),
        ((__file__, "--site", BASE, "--dry-run", "--once"), "contains no access log lines"),
        ((__file__, "--site", BASE), "give --url"),
        ((__file__, "--site", BASE, "--url", "https://newsbot.example/"), "the secret is empty"),
    ],
)
def test_invalid_arguments_of_the_sensor(
    world: World, site: MockServer, words: tuple[str, ...], message: str
) -> None:
    world.rule("news.test", "domain: news.test\n")
    done = scrapy("sensor", *words, **world.environment())
    assert done.returncode in (1, 2)
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_a_regular_task_continues_after_any_error(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    faults = [KeyError("a"), KeyError("a"), DataUnavailable("away"), None, ZeroDivisionError()]
    done = []

    async def work() -> None:
        fault = faults.pop(0)
        done.append(fault)
        if fault is not None:
            raise fault

    async def sleep(_seconds: float) -> None:
        if not faults:
            raise asyncio.CancelledError

    monkeypatch.setattr(asyncio, "sleep", sleep)
    with pytest.raises(asyncio.CancelledError):
        asyncio.run(readers.repeat(1.0, work))
    assert len(done) == 5
    texts = [record.getMessage() for record in caplog.records]
    assert [text.partition(";")[0] for text in texts] == [
        "a regular task failed",
        "data away fault=away",
        "a regular task failed",
    ]


def test_without_a_token_the_server_prints_a_link_that_logs_in_once(world: World) -> None:
    process = warm.Popen[str](
        [sys.executable, "-m", "scrapy", "serve", "--port", "0"],
        cwd=ROOT,
        env=world.environment(),
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    try:
        line = ""
        while "/login?once=" not in line:
            line = process.stderr.readline()
            assert line, "the program has ended"
        link = next(word for word in line.split() if word.startswith("http"))
        opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
        with opener.open(link, timeout=60) as answer:
            assert b"log out" in answer.read()
        with urllib.request.urlopen(link, timeout=60) as answer:
            assert b"was used already" in answer.read()
    finally:
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0
        process.stderr.close()
