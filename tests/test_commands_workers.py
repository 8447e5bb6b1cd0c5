"""``scrapy workers``: several workers on one machine, restarted by a supervisor."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

from newsbot.apps.operations.workers import Supervisor
from tests.crawls import ROOT, article_html, feed_xml
from tests.newssite import HOST, XML

ARTICLES = 30


@pytest.fixture
def start(site, world) -> Iterator[object]:
    """Start the command with arguments; its processes end with the test."""
    urls = [f"{HOST}/story/{number}" for number in range(ARTICLES)]
    for number, url in enumerate(urls):
        site.page(url, article_html(number))
    site.page(f"{HOST}/feed.xml", feed_xml(urls), headers=XML)
    world.rule(
        "news.test",
        f"domain: news.test\nfeeds: {HOST}/feed.xml\nfollow: [feeds]\ndelay: 0.1\nconcurrency: 1\n",
    )
    started = []

    def run(*words):
        process = subprocess.Popen(
            [sys.executable, "-m", "scrapy", "workers", *words],
            cwd=ROOT,
            env=world.environment(),
            stderr=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        return process

    yield run
    for process in started:
        for pid in children(process):
            os.kill(pid, signal.SIGKILL)
        process.kill()
        process.communicate()


def children(process) -> list[int]:
    found = subprocess.run(["pgrep", "-P", str(process.pid)], capture_output=True, text=True, check=False)
    return [int(pid) for pid in found.stdout.split()]


def wait_for(condition, seconds: float = 60.0):
    for _ in range(int(seconds / 0.1)):
        if found := condition():
            return found
        time.sleep(0.1)
    raise AssertionError("it did not happen in time")


def test_two_workers_share_the_work_and_one_that_is_killed_is_started_again(site, world, start):
    process = start("2", "-a", "mode=once", "-a", "sites=news.test")
    wait_for(lambda: len(site.log) > 5)
    killed = children(process)[0]
    os.kill(killed, signal.SIGKILL)
    _, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    assert sorted(world.urls()) == sorted(f"{HOST}/story/{number}" for number in range(ARTICLES))
    assert re.search(r"worker [12]: was killed \(SIGKILL\); restarting it in 1 s", err)
    assert (
        0 < int(re.findall(r"(\d+) new articles", err)[0]) <= ARTICLES
    )  # the last second of a killed worker is not counted
    assert "Traceback" not in err


def test_a_wrong_argument_stops_all_of_them_with_one_line_each(world, start):
    process = start("2", "-a", "sinse=7d")
    _, err = process.communicate(timeout=60)
    assert process.returncode == 2
    assert "did you mean 'since'" in err
    assert "restarting" not in err


def test_an_interrupt_lets_the_workers_finish_with_exit_code_0(site, world, start):
    process = start("2", "-a", "sites=news.test")
    wait_for(lambda: len(site.log) > 5)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    assert "stopping: 2 workers finishing the pages in progress; Ctrl-C again stops at once" in err
    assert world.urls()
    assert not children(process)


def test_a_worker_that_is_being_started_at_the_stop_is_stopped_too(tmp_path, monkeypatch):
    supervisor = Supervisor([sys.executable, "-c", "import time; time.sleep(600)"], 1, tmp_path, print)
    start = asyncio.create_subprocess_exec

    async def start_and_stop(*words, **options):
        process = await start(*words, **options)
        supervisor.stop()  # Ctrl-C, before the supervisor knows the process
        return process

    monkeypatch.setattr(asyncio, "create_subprocess_exec", start_and_stop)

    async def run():
        async with asyncio.timeout(60):
            return await supervisor.run()

    assert asyncio.run(run()) in (0, 1)
    assert supervisor.running == 0
