"""Properties of Scrapy 2.19 that were problems and could return with a new version."""

from __future__ import annotations

import gzip
from types import SimpleNamespace
from typing import Any, cast

import pytest
from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.http import HtmlResponse, Response, TextResponse
from scrapy.settings import Settings
from scrapy.spiders import Spider
from scrapy.statscollectors import MemoryStatsCollector

from newsbot import settings as project
from newsbot.crawl.failures import Ignored
from newsbot.crawl.scheduler import FrontierScheduler
from newsbot.middlewares.compression import CompressionMiddleware
from newsbot.spiders.news import NewsSpider


@pytest.fixture
def settings():
    chosen = Settings()
    chosen.setmodule(project)
    NewsSpider.update_settings(chosen)
    return chosen


def make_crawler(settings, **more):
    """Return a crawler with the attributes that components need before a crawl, without a reactor."""
    values = settings.copy()
    values.setdict(more, priority="cmdline")
    crawler = Crawler(Spider, values)
    crawler.stats = MemoryStatsCollector(crawler)
    return crawler


def test_remote_control_and_telnet_are_disabled(settings):
    assert not settings.getbool("REMOTE_CONTROL_ENABLED")
    assert not settings.getbool("TELNETCONSOLE_ENABLED")


def test_no_requests_are_pickled_or_kept_in_memory_only(settings):
    assert settings["SCHEDULER"] == "newsbot.crawl.scheduler.FrontierScheduler"
    assert settings["DOWNLOADER_MIDDLEWARES"]["scrapy.downloadermiddlewares.retry.RetryMiddleware"] is None


def packed(body: bytes, **headers: str) -> Response:
    return HtmlResponse(
        "http://news.test/", headers={"Content-Type": "text/html", **headers}, body=gzip.compress(body)
    )


def test_no_charset_is_guessed_from_compressed_bytes(settings, monkeypatch):
    """Scrapy's own middleware runs its charset detection on these bytes, which takes 1.7 ms per page."""

    def guess(self):
        raise AssertionError("a charset was guessed")

    monkeypatch.setattr(TextResponse, "_body_inferred_encoding", guess)
    middleware = CompressionMiddleware.from_crawler(make_crawler(settings))
    response = middleware.process_response(
        Request("http://news.test/"), packed(b"<html>fine</html>", **{"Content-Encoding": "gzip"})
    )
    assert isinstance(response, HtmlResponse)
    assert response.body == b"<html>fine</html>"
    assert "Content-Encoding" not in response.headers


def test_a_decompression_bomb_is_stopped_at_the_limit(settings):
    middleware = CompressionMiddleware.from_crawler(make_crawler(settings))
    bomb = packed(b"0" * 50_000_000, **{"Content-Encoding": "gzip"})
    with pytest.raises(Ignored) as caught:
        middleware.process_response(Request("http://news.test/", meta={"download_maxsize": 10**6}), bomb)
    assert caught.value.cause == "too_large"


@pytest.mark.usefixtures("no_event_loop")
def test_an_engine_without_the_expected_slot_is_an_error(settings, tmp_path):
    (tmp_path / "a.test.yaml").write_text("domain: a.test\n", encoding="utf8")
    crawler = make_crawler(settings, NEWSBOT_DATA=str(tmp_path / "data"), NEWSBOT_RULES=str(tmp_path))
    crawler.engine = cast("Any", SimpleNamespace(_slot=SimpleNamespace()))
    scheduler = FrontierScheduler.from_crawler(crawler)
    with pytest.raises(RuntimeError, match="requirements"):
        scheduler.open(Spider("news"))
