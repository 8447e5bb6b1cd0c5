"""Saving traffic: all types of compression, 304 responses, and figures of the savings."""

from __future__ import annotations

import asyncio
import gzip

import pytest
from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.http import HtmlResponse
from scrapy.settings import Settings
from scrapy.spiders import Spider
from scrapy.statscollectors import MemoryStatsCollector

from newsbot.items import Kind
from newsbot.middlewares.compression import CompressionMiddleware
from newsbot.middlewares.reprocessing import ReprocessingMiddleware
from newsbot.recrawl.planning import FULL_FETCH_EVERY
from tests.builders import fill, make_request, make_response

FEED = "https://news.test/feed.xml"
BODY = b"<html>" + b"news " * 40 + b"</html>"
PACKED = {
    "gzip": gzip.compress(BODY),
    "br": bytes.fromhex("1bd400f88d94a9eb53bff0b8dd4990b2b92c6412d5b200534c7231f7f52409"),
    "zstd": bytes.fromhex("28b52ffd20d5cd0000903c68746d6c3e6e657773203c2f68746d6c3e01004050c50b"),
}


@pytest.fixture
def compression() -> CompressionMiddleware:
    crawler = Crawler(Spider, Settings({"TELNETCONSOLE_ENABLED": False}))
    crawler.stats = MemoryStatsCollector(crawler)
    return CompressionMiddleware.from_crawler(crawler)


@pytest.mark.parametrize("encoding", PACKED)
def test_each_encoding_is_requested_and_read_and_its_saving_is_counted(
    compression: CompressionMiddleware, encoding: str
) -> None:
    request = Request("https://news.test/")
    compression.process_request(request)
    requested = (request.headers["Accept-Encoding"] or b"").decode().split(", ")
    assert encoding in requested
    answer = HtmlResponse(request.url, headers={"Content-Encoding": encoding}, body=PACKED[encoding])
    response = compression.process_response(request, answer)
    assert response.body == BODY
    assert compression.stats is not None
    saved = compression.stats.get_value("newsbot/bytes_saved/compression")
    assert saved == len(BODY) - len(PACKED[encoding]) > 0


def visit_of(desk, *, status, body=b"", **page):
    visit = desk.visit(FEED, Kind.FEED)
    request = make_request(visit)
    gate = ReprocessingMiddleware.from_crawler(desk.crawler)
    asyncio.run(gate.process_request(request))
    gate.process_response(request, make_response(request, body, status=status, headers={"ETag": '"1"'}))
    fill(visit, **page)
    desk.settle(visit)
    return request


def test_a_304_saves_the_body_and_once_a_day_the_whole_page_is_requested(desk):
    assert not visit_of(desk, status=200, body="x" * 5000, content_hash="h").headers
    desk.clock.now += 6 * 3600
    assert visit_of(desk, status=304).headers["If-None-Match"] == b'"1"'
    assert desk.stat("bytes_saved/unchanged") == 5000
    desk.clock.now += FULL_FETCH_EVERY - 6 * 3600 - 60
    assert visit_of(desk, status=304).headers["If-None-Match"] == b'"1"'
    desk.clock.now += 3600
    assert "If-None-Match" not in visit_of(desk, status=200, body="x" * 5000, content_hash="h").headers
    assert desk.stat("bytes_saved/unchanged") == 10_000
    polls = [(poll.size, poll.unchanged) for _, poll in desk.context.storage.sources.polls(FEED)]
    assert polls == [(5000, False), (0, True), (0, True), (5000, False)]
