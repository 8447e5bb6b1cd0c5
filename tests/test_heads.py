"""If the rule asks for HEAD requests, the body of a page is downloaded only if the page has changed."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import replace

import pytest

from newsbot.items import Kind, PageRecord
from newsbot.middlewares.reprocessing import ReprocessingMiddleware
from newsbot.recrawl.planning import tells_unchanged
from testbed.messages import Answer, Request
from testbed.mockserver import MockServer
from tests.builders import fill, make_request, make_response
from tests.crawls import Crawl, World, article_html, feed_xml

HOST = "http://news.test"
STORY = f"{HOST}/2026/11/20/story.html"
RULE = "recrawl: {feed: fixed, article: fixed}\ninterval: {feed: 1s, article: 1s}\n"
DATE = "Fri, 20 Nov 2026 08:00:00 GMT"


@pytest.mark.parametrize(
    ("status", "etag", "date", "unchanged"),
    [
        (304, None, None, True),
        (200, '"1"', None, True),
        (200, 'W/"1"', "another", True),
        (200, '"2"', DATE, False),
        (200, None, DATE, True),
        (200, None, "another", False),
        (200, None, None, False),
        (404, '"1"', DATE, False),
    ],
)
def test_results_of_head(status: int, etag: str | None, date: str | None, unchanged: bool) -> None:
    record = PageRecord(
        fingerprint=b"1" * 16, host="news.test", url=STORY, kind=Kind.ARTICLE, source="news.test", etag='"1"'
    )
    record.last_modified = DATE
    assert tells_unchanged(record, status, etag, date) is unchanged
    nothing = replace(record, etag=None, last_modified=None)
    assert tells_unchanged(nothing, status, etag, date) is (status == 304)


def twice(world: World, site: MockServer, answer: Callable[[Request], Answer], *, head: str) -> Crawl:
    """Crawl twice; the server of the story ignores conditional requests."""
    site.page(f"{HOST}/feed.xml", feed_xml([STORY]), headers={"Content-Type": "application/rss+xml"})
    site.page(STORY, answer)
    world.rule("news.test", f"domain: news.test\nfeeds: {HOST}/feed.xml\nhead: {head}\n{RULE}")
    assert world.crawl().code == 0
    time.sleep(1)  # the interval
    second = world.crawl()
    assert second.code == 0
    return second


def story(site: MockServer, *, edited: bool, refused: int = 0) -> Callable[[Request], Answer]:
    """Return a page with an ETag that is always sent in full. ``refused`` is an error status for HEAD."""
    seen: list[str] = []

    def answer(request: Request) -> Answer:
        if request.method == "HEAD" and refused:
            return Answer(status=refused)
        version = int(edited and bool(seen))
        if request.method == "GET":
            seen.append("GET")
        headers = {"Content-Type": "text/html", "ETag": f'"{version}"'}
        body = article_html(1, title=f"Council story about the bridge, version {version} of it")
        return Answer(body=body.encode(), headers=headers, validators=False)

    return answer


def methods(site: MockServer) -> list[str]:
    return [record.method for record in site.log if record.path.endswith("story.html")]


def test_an_unchanged_page_is_not_sent_again(site: MockServer, world: World) -> None:
    crawl = twice(world, site, story(site, edited=False), head="[article]")
    assert methods(site) == ["GET", "HEAD"]
    page = world.page(STORY)
    assert page is not None
    assert crawl.stat("bytes_saved/head") == page.content_length
    assert (page.content_length or 0) > 500
    assert crawl.stat("head/unchanged") == 1
    assert page.checks == 2


def test_a_changed_page_is_fetched_in_the_same_visit(site: MockServer, world: World) -> None:
    crawl = twice(world, site, story(site, edited=True), head="[article]")
    assert methods(site) == ["GET", "HEAD", "GET"]
    assert crawl.stat("bytes_saved/head") == 0
    page = world.page(STORY)
    assert page is not None
    assert (page.checks, page.changes) == (2, 1)
    assert [article.version for article in world.articles()] == [2]


@pytest.mark.parametrize("status", [405, 404])
def test_the_page_is_fetched_if_head_is_refused(site: MockServer, world: World, status: int) -> None:
    crawl = twice(world, site, story(site, edited=True, refused=status), head="[article]")
    assert methods(site) == ["GET", "HEAD", "GET"]
    assert crawl.stat("head/refused") == (status == 405)
    assert [article.version for article in world.articles()] == [2]


def test_head_is_not_used_without_a_rule(site: MockServer, world: World) -> None:
    twice(world, site, story(site, edited=False), head="[feed]")
    assert methods(site) == ["GET", "GET"]


FEED = "https://news.test/feed.xml"


def visit_of(desk, gate, *, status: int = 200, attempts: int = 0):
    """Make a visit up to its response; return the request that was sent, and the next request or response."""
    visit = desk.visit(FEED, Kind.FEED)
    visit.lease = replace(visit.lease, attempts=attempts)
    request = make_request(visit)
    asyncio.run(gate.process_request(request))
    answer = make_response(request, "" if request.method == "HEAD" else "x" * 5000, status, {"ETag": '"1"'})
    return visit, request, gate.process_response(request, answer)


@pytest.fixture
def heads(make_desk):
    desk = make_desk({"news.test": f"domain: news.test\nfeeds: {FEED}\nhead: [feed]\n"})
    gate = ReprocessingMiddleware.from_crawler(desk.crawler)
    visit, request, _ = visit_of(desk, gate)
    assert request.method == "GET", "there is no earlier visit"
    fill(visit, content_hash="h")
    desk.settle(visit)
    desk.clock.now += 3600
    return desk, gate


def test_a_busy_server_is_not_requested_again_immediately(heads) -> None:
    desk, gate = heads
    _, request, followed = visit_of(desk, gate, status=503)
    assert request.method == "HEAD"
    assert followed.status == 503


def test_a_host_without_head_support_gets_one_head_request(heads) -> None:
    desk, gate = heads
    visit, request, followed = visit_of(desk, gate, status=405)
    assert (request.method, followed.method) == ("HEAD", "GET")
    asyncio.run(gate.process_request(followed))
    assert followed.method == "GET"
    assert followed.headers["If-None-Match"] == b'"1"'
    gate.process_response(followed, make_response(followed, status=304))
    desk.settle(visit)
    desk.clock.now += 3600
    assert visit_of(desk, gate)[1].method == "GET"


def test_retries_and_the_daily_full_request_do_not_use_head(heads) -> None:
    desk, gate = heads
    visit, request, _ = visit_of(desk, gate, attempts=1)
    assert request.method == "GET"
    desk.settle(visit)
    desk.clock.now += 25 * 3600
    assert visit_of(desk, gate)[1].method == "GET"
