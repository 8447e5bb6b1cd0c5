"""The stats file of a crawl."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest
from scrapy import signals
from scrapy.exceptions import NotConfigured
from scrapy.spiders import Spider

from newsbot.apps.progress.display import StatsFile


def close(desk):
    desk.crawler.signals.send_catch_log(signals.spider_closed, spider=Spider("news"), reason="finished")


def test_the_extension_is_disabled_without_a_file_name(desk):
    with pytest.raises(NotConfigured):
        StatsFile.from_crawler(desk.crawler)


def test_all_stats_are_written_when_the_crawl_ends(make_desk, tmp_path):
    path = tmp_path / "stats.json"
    desk = make_desk(settings={"NEWSBOT_STATS_FILE": str(path)})
    extension = StatsFile.from_crawler(desk.crawler)
    desk.context.count("links/found", 3)
    desk.crawler.stats.set_value("start_time", datetime(2026, 11, 20, tzinfo=UTC))
    close(desk)
    assert json.loads(path.read_text(encoding="utf8")) == {
        "newsbot/links/found": 3,
        "start_time": "2026-11-20 00:00:00+00:00",
        "finish_reason": "finished",
    }
    assert extension.path == path


def test_a_file_that_cannot_be_written_is_reported_in_one_line(make_desk, tmp_path, caplog):
    desk = make_desk(settings={"NEWSBOT_STATS_FILE": str(tmp_path / "none" / "stats.json")})
    extension = StatsFile.from_crawler(desk.crawler)
    close(desk)
    assert "none/stats.json fault=No such file or directory" in caplog.text
    assert len(caplog.records) == 1
    assert not extension.path.exists()
