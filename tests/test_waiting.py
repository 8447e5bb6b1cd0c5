"""The message that says what an idle crawl waits for."""

from __future__ import annotations

import pytest

from newsbot.crawl.politeness import SOURCES_EVERY, Waiting
from newsbot.errors import DataUnavailable
from newsbot.items import Kind
from newsbot.storage.base import SourceRecord
from tests.builders import Desk

URL = "https://xn--b1amnebsh.example/20/1.html"
HOST = "xn--b1amnebsh.example"


@pytest.fixture
def waiting(desk: Desk) -> Waiting:
    return Waiting(desk.context, desk.crawl.scope)


def message(waiting: Waiting, *hosts: str, own: int = 0) -> str:
    return waiting.text(hosts, horizon=waiting.context.clock(), own=lambda: own)


def test_a_response_in_progress(waiting: Waiting) -> None:
    assert message(waiting, "b.test") == "the answer of b.test"
    assert message(waiting, "b.test", "a.test") == "the answer of a.test and 1 other host"
    assert message(waiting, "b.test", "a.test", "c.test") == "the answer of a.test and 2 other hosts"


def test_the_delay_of_a_host(desk: Desk, waiting: Waiting) -> None:
    frontier = desk.context.frontier
    for url in (URL, URL.replace("/1", "/2")):
        desk.queue(url)
    assert message(waiting) == "", "the URL is due now"
    frontier.set_politeness(HOST, delay=40.0, concurrency=1)
    (first,) = frontier.lease("me", 1, horizon=desk.clock(), ttl=60)
    frontier.ack(first, next_due=None)
    assert message(waiting) == f"{HOST}, next request in 40 s (delay 40 s)"


def test_the_lease_of_another_worker(desk: Desk, waiting: Waiting) -> None:
    desk.queue(URL)
    desk.context.frontier.lease("another", 1, horizon=desk.clock(), ttl=60)
    assert message(waiting) == "another worker, which is processing 1 URL"
    assert message(waiting, own=1) == "", "the lease is this worker's own"


def test_the_next_source(desk: Desk, waiting: Waiting) -> None:
    feed = "https://news.test/feed.xml"
    source = SourceRecord(url=feed, source="news.test", kind=Kind.FEED, next_due=desk.clock() + 600)
    desk.context.storage.sources.save([source])
    expected = f"next source due: in 10 min ({feed}), 1 of 1 within the hour"
    assert message(waiting) == expected
    desk.context.storage.sources.save([SourceRecord(url=feed, source="news.test", kind=Kind.FEED)])
    assert message(waiting) == expected, "sources must not be read each time"
    desk.clock.now += SOURCES_EVERY
    assert message(waiting) == ""


def test_an_unreachable_server(desk: Desk, waiting: Waiting) -> None:
    fault = DataUnavailable("gone")
    desk.context.outage.failed("Redis", "lease", fault, began=desk.context.outage.clock(), for_good=False)
    assert message(waiting, "a.test") == "Redis, which cannot be reached"
