"""What complete crawls wait for, how they treat other crawls and limits, and what waiting costs."""

from __future__ import annotations

import os
import time
from pathlib import Path

from testbed.messages import Answer
from tests.crawls import article_html
from tests.newssite import HOST, HTML, ended, feed_of, serve


def test_a_crawl_of_one_site_does_not_wait_for_a_crawl_of_another(site, world):
    serve(site, world, 1)
    serve(site, world, 1, host="other.test", first=50)
    site.page("http://other.test/story/0", lambda _: Answer(body=b"late", headers=HTML, delay=90))
    slow = world.start("-a", "sites=other.test", "-s", "DOWNLOAD_TIMEOUT=120")
    try:
        end = time.monotonic() + 60
        while "/feed.xml" not in site.seen("other.test"):
            assert time.monotonic() < end
            time.sleep(0.05)
        crawl = world.crawl("-a", "sites=news.test", timeout=80)
        assert crawl.stat("articles/new") == 1
        assert slow.poll() is None, "the other crawl must still be running"
    finally:
        slow.kill()
        slow.communicate()


def test_two_crawls_with_a_limit_per_site_do_not_wait_for_each_other_forever(site, world):
    urls = serve(site, world, 12)
    for n, url in enumerate(urls):
        page = article_html(n).encode()
        site.page(url, lambda _, page=page: Answer(body=page, headers=HTML, delay=0.5))
    crawls = [world.start("-a", "max_articles_per_site=1") for _ in range(2)]
    for process in crawls:
        ended(process)
        assert process.returncode == 0
    assert 1 <= len(world.articles()) <= 2


def test_max_articles_ends_the_crawl_without_waiting_for_another_article(site, world):
    urls = serve(site, world, 2)
    rest = [f"{HOST}/gone/{n}" for n in range(30)]
    feed_of(site, world, *urls, *rest)
    world.rule("_defaults", "delay: 0.2\ninterval: {feed: 10m, article: 30d}\n")
    crawl = world.crawl("-a", "max_articles=2")
    assert len(world.articles()) == 2
    assert crawl.stats["finish_reason"] == "max_articles"
    assert len([path for path in site.seen() if path.startswith("/gone/")]) < 25


def test_a_crawl_that_waits_uses_no_processor_time(site, world):
    serve(site, world, 2)
    site.page(f"{HOST}/story/1", status=503, headers={"Retry-After": "60"})
    process = world.start()
    try:
        end = time.monotonic() + 60
        while "/story/1" not in site.seen():
            assert time.monotonic() < end
            time.sleep(0.05)
        time.sleep(1)
        before = processor_seconds(process.pid)
        time.sleep(4)
        assert processor_seconds(process.pid) - before < 0.6
    finally:
        process.kill()
        process.communicate()


def processor_seconds(pid):
    parts = Path(f"/proc/{pid}/stat").read_text(encoding="utf8").rpartition(")")[2].split()
    return (int(parts[11]) + int(parts[12])) / os.sysconf("SC_CLK_TCK")
