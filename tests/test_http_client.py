"""The HTTP client: odd heads of responses, and turns that are checked when a request is sent."""

from __future__ import annotations

import asyncio
import socketserver
from threading import Thread
from typing import Any

import pytest
from twisted.python.failure import Failure
from twisted.web.client import ResponseFailed

from newsbot.crawl import politeness
from newsbot.crawl.failures import HeadFault, cause_of, status_of
from newsbot.crawl.http_client import MAX_HEAD, HeadParser
from newsbot.crawl.politeness import MOST_TURNS
from newsbot.crawl.visit import Turn
from newsbot.urls import without_dots
from tests.crawls import article_html
from tests.newssite import HOST, feed_of

RULE = {"news.test": "domain: news.test\ndelay: 10\n"}


class Transport:
    """Stands for the connection of a parser."""

    disconnecting = False

    def __getattr__(self, name):
        return lambda *given: None


class Asked:
    method, persistent, absoluteURI = b"GET", True, b"http://news.test/"  # noqa: N815


def read(head: bytes):
    """Return the response whose head the parser has read."""
    got: list[Any] = []
    parser = HeadParser(Asked(), lambda rest: None)
    parser._responseDeferred.addCallbacks(got.append, got.append)
    parser.makeConnection(Transport())
    parser.dataReceived(head)
    return got[0]


@pytest.mark.parametrize(
    "line",
    [
        b"X-Policy: " + b"x" * 20_000,
        b"\xe2\x80\x9cX-Frame\xe2\x80\x9d: deny",
        b"X Powered By: a cms",
        b"Server : nginx",
        b"no colon at all",
        b": no name",
    ],
)
def test_an_odd_header_does_not_hide_the_response(line):
    response = read(b"HTTP/1.1 200 OK\r\n" + line + b"\r\nX-Last: yes\r\nContent-Length: 3\r\n\r\nabc")
    assert response.code == 200
    assert response.headers.getRawHeaders(b"x-last") == [b"yes"]


@pytest.mark.parametrize(
    ("lines", "status"),
    [
        (b"HTTP/1.1 404 Gone\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", 404),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: rot13\r\n\r\n", 200),
        (b"HTTP/1.1 403 No\r\n" + b"X-A: " + b"y" * 1000 + b"\r\n" * 1, None),
        (b"hello\r\n\r\n", None),
    ],
)
def test_a_head_that_cannot_be_parsed_is_a_fault_of_the_page(lines, status):
    if status is None and b"403" in lines:
        lines, status = lines + b"X-B: z\r\n" * (MAX_HEAD // 5), 403
    with pytest.raises(HeadFault) as caught:
        read(lines)
    error = RuntimeError("wrapped")
    error.__cause__ = ResponseFailed([Failure(caught.value)])
    assert (status_of(error), cause_of(error)) == (status, "bad_head")


def test_the_host_does_not_rest_after_a_damaged_head(site, world):
    for number in range(3):
        site.page(f"{HOST}/story/{number}", article_html(number))
    site.page(f"{HOST}/story/1", article_html(1), headers={f"X-{n}": "z" * 15_000 for n in range(20)})
    feed_of(site, world, *(f"{HOST}/story/{n}" for n in range(3)))
    crawl = world.crawl("-s", "NEWSBOT_PATIENCE=1")
    assert world.urls() == [f"{HOST}/story/0", f"{HOST}/story/2"]
    assert crawl.stat("errors/bad_head") == 1
    assert crawl.stat("backed_off") == 0


@pytest.mark.parametrize(
    "rest",
    [
        b"Connection: close\r\n\r\n",
        b"\r\nno such file",
        b"Content-Length: 4\r\n\r\nnone",
        b"Transfer-Encoding: chunked\r\n\r\n4\r\nnone\r\n0\r\n\r\n",
    ],
)
def test_an_error_page_instead_of_robots_txt_is_no_fault_however_it_ends(world, rest):
    asked = []

    class Site(socketserver.StreamRequestHandler):
        def handle(self):
            asked.append(self.rfile.readline())
            while self.rfile.readline().strip():
                pass
            self.wfile.write(b"HTTP/1.1 404 Not Found\r\n" + rest)

    world.rule("news.test", f"domain: news.test\nfeeds: {HOST}/feed.xml\n")
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Site) as server:
        Thread(target=server.serve_forever).start()
        try:
            crawl = world.crawl(http_proxy=f"http://127.0.0.1:{server.server_address[1]}")
        finally:
            server.shutdown()
    assert f"GET {HOST}/robots.txt HTTP/1.1\r\n".encode() in asked
    assert crawl.code == 0, crawl.err
    assert "CRITICAL" not in crawl.err
    assert "Traceback" not in crawl.err


@pytest.mark.parametrize(
    ("url", "sent"),
    [
        ("http://a.test/x/../y?q=/../", "http://a.test/y?q=/../"),
        ("http://a.test/x/%2E%2e/y", "http://a.test/y"),
        ("http://a.test/x/./%zz", "http://a.test/x/%zz"),
        ("http://a.test/x..y/.z/", "http://a.test/x..y/.z/"),
        ("http://a.test/x//%7Ey?a=.", "http://a.test/x//%7Ey?a=."),
    ],
)
def test_dot_segments_are_not_sent(url, sent):
    assert without_dots(url) == sent


# --- turns
def sleeps_of(desk, monkeypatch, *stalls):
    waits, late = [], iter(stalls)

    async def sleep(seconds):
        waits.append(round(seconds, 3))
        desk.clock.now += max(seconds, 0) + next(late, 0.0)

    monkeypatch.setattr(asyncio, "sleep", sleep)
    return waits


def test_a_request_with_a_turn_that_is_due_is_sent_once(make_desk):
    pace = make_desk(RULE).crawl.politeness
    pace.expect("news.test", Turn(pace._context.clock()))
    assert pace.may_send("news.test")
    assert not pace.may_send("news.test"), "one turn is for one request"
    assert pace.may_send("no-delay.test")


def test_a_request_whose_connection_took_long_takes_another_turn(make_desk, monkeypatch):
    desk = make_desk(RULE)
    pace, waits = desk.crawl.politeness, sleeps_of(desk, monkeypatch)
    first = pace.take_turn("news.test")
    pace.expect("news.test", Turn(desk.clock() + first))
    desk.clock.now += 2  # connecting took longer than 9 % of the delay
    assert not pace.may_send("news.test")
    asyncio.run(pace.wait_to_send("news.test"))
    assert waits == [8]
    assert pace.take_turn("news.test") == pytest.approx(10)


def test_a_late_lease_is_sent_at_once_if_no_other_turn_was_taken(make_desk, monkeypatch):
    desk = make_desk(RULE)
    pace, waits = desk.crawl.politeness, sleeps_of(desk, monkeypatch)
    desk.context.frontier.set_politeness("news.test", delay=10, concurrency=1)
    desk.queue("https://news.test/story/1")
    [lease] = desk.context.frontier.lease("me", 1, horizon=desk.clock(), ttl=60)
    pace.expect("news.test", Turn(desk.clock(), leased=lease.turn))
    desk.clock.now += 2
    asyncio.run(pace.wait_to_send("news.test"))
    assert waits == [0]
    assert pace.take_turn("news.test") == pytest.approx(10), "counted from the time of sending"


def test_a_worker_that_is_always_late_keeps_the_delay_itself(make_desk, monkeypatch):
    desk = make_desk({"news.test": "domain: news.test\ndelay: 1\n"})
    pace, waits = desk.crawl.politeness, sleeps_of(desk, monkeypatch, *[0.5] * MOST_TURNS)
    asyncio.run(pace.wait_to_send("news.test"))
    sent = desk.clock()
    assert len(waits) == MOST_TURNS + 1
    monkeypatch.setattr(politeness, "MOST_TURNS", 0)
    asyncio.run(pace.wait_to_send("news.test"))
    assert desk.clock() - sent == pytest.approx(1)
