"""The benchmark of the scheduler alone: its fake storage has all methods that a crawl calls."""

from __future__ import annotations

import pytest

from benchmarks import crawl
from benchmarks.servers import own_redis
from benchmarks.webs import tree
from tests import redisserver


def test_a_crawl_without_storage_follows_all_links(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    redisserver.need_redis()
    monkeypatch.setattr(crawl, "QUIET", 5.0)
    web = tree(40, 4)
    with own_redis() as url:
        row = crawl.Bench(url, None).run("newsbot", "follow", web, 1)
    assert row["pages"] == len(web.wanted)
    assert "Traceback" not in capfd.readouterr().err
