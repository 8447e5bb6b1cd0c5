"""Errors of users and of sites cause one clear message or a counted reason, and the crawl continues."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import time

import pytest

from newsbot.connections.sqlite import open_database
from tests import warm
from tests.crawls import ROOT, World, article_html, feed_xml

XML = {"Content-Type": "application/rss+xml"}
HOST = "http://news.test"


def lines(crawl):
    """Return the log without Scrapy's own first and last lines."""
    return [line for line in crawl.err.splitlines() if line.strip()]


def feed_of(site, world, *urls, title="Council story 0 about the bridge"):
    feed = feed_xml(list(urls)).replace("Council story 0 about the bridge", title)
    site.page(f"{HOST}/feed.xml", feed, headers=XML)
    world.rule("news.test", f"domain: news.test\nfeeds: {HOST}/feed.xml\n")


# --- errors of sites
@pytest.mark.parametrize(
    ("path", "cause"),
    [
        ("/status/404", "http_404"),
        ("/status/403", "http_403"),
        ("/status/500", "http_5xx"),
        ("/drop", "connection"),
        ("/truncated", "truncated"),
        ("/redirect-loop", "redirects"),
        ("/huge?mb=12", "too_large"),
        ("/bad-gzip", "bad_encoding"),
        ("/binary-as-html", "binary"),
        ("/empty", "empty"),
    ],
)
def test_a_faulty_page_is_counted_by_its_cause_and_other_pages_are_stored(site, world, path, cause):
    site.page(f"{HOST}/good", article_html(1))
    feed_of(site, world, f"{HOST}{path}", f"{HOST}/good")
    crawl = world.crawl()
    assert crawl.code == 0
    assert world.urls() == [f"{HOST}/good"]
    assert crawl.stat(f"errors/{cause}") >= 1
    assert "Traceback" not in crawl.err


def test_a_temporarily_failing_page_is_retried_within_the_crawl(site, world):
    answers = [500, 503]

    def flaky(request):
        from testbed.messages import Answer

        if answers:
            return Answer(status=answers.pop(), headers={"Retry-After": "1"})
        return Answer(body=article_html(1).encode(), headers={"Content-Type": "text/html"})

    site.page(f"{HOST}/good", flaky)
    feed_of(site, world, f"{HOST}/good")
    crawl = world.crawl()
    assert world.urls() == [f"{HOST}/good"]
    assert crawl.stat("frontier/nacked") == 2


@pytest.mark.parametrize(
    ("body", "cause"),
    [
        ("", "feed_empty"),
        ("<!doctype html><html><body>Moved</body></html>", "feed_html"),
        ("nothing", "feed_not_a_feed"),
    ],
)
def test_an_invalid_feed_is_reported_in_stats_and_sources(site, world, body, cause):
    site.page(f"{HOST}/feed.xml", body, headers=XML)
    world.rule("news.test", f"domain: news.test\nfeeds: {HOST}/feed.xml\n")
    crawl = world.crawl()
    assert crawl.code == 0
    assert crawl.stat(f"errors/{cause}") == 1
    with world.storage() as storage:
        assert [record.last_error for record in storage.sources.all()] == [cause]


def test_pages_with_a_date_in_the_year_9999_or_without_a_title_are_stored(site, world):
    page = article_html(1).replace("2026-11-20T08:00:00Z", "9999-12-31T00:00:00Z")
    site.page(f"{HOST}/far", page)
    site.page(
        f"{HOST}/bare", article_html(2).replace("<title>Council story number 2 about the bridge</title>", "")
    )
    feed_of(site, world, f"{HOST}/far", f"{HOST}/bare")
    world.crawl()
    by_url = {article.url: article for article in world.articles()}
    assert by_url[f"{HOST}/far"].published_at is None or by_url[f"{HOST}/far"].published_at.year < 2100
    assert by_url[f"{HOST}/bare"].title == "Council story number 2 about the bridge"


def test_a_page_with_a_wrong_charset_is_decoded_correctly(site, world):
    text = "Совет обсудил ремонт моста через реку и попросил денег у области на будущий год. " * 12
    title = "Мост отремонтируют весной"
    body = f"<article><h1>{title}</h1><p>{text}</p></article>"
    page = f"<html><head><title>{title}</title></head><body>{body}</body></html>"
    site.page(f"{HOST}/ru", page.encode("windows-1251"), headers={"Content-Type": "text/html; charset=utf-8"})
    feed_of(site, world, f"{HOST}/ru", title=title)
    world.crawl()
    [article] = world.articles()
    assert article.title == "Мост отремонтируют весной"
    assert article.language == "ru"


def test_a_server_that_is_down_is_counted_and_retried_later(world, site):
    world.rule("news.test", f"domain: news.test\nfeeds: {HOST}/feed.xml\n")
    world.web = None
    world.rule("news.test", "domain: 127.0.0.1\nfeeds: http://127.0.0.1:9/feed.xml\n")
    (world.rules / "news.test.yaml").rename(world.rules / "127.0.0.1.yaml")
    crawl = world.crawl(NEWSBOT_ALLOW_PRIVATE="1")
    assert crawl.code == 1, "no host answered"
    assert crawl.stat("errors/robots_unreachable") >= 1
    assert "Traceback" not in crawl.err


def test_a_name_that_does_not_exist_is_counted(world):
    world.web = None
    world.rule(
        "no-such-host.invalid", "domain: no-such-host.invalid\nfeeds: http://no-such-host.invalid/feed.xml\n"
    )
    crawl = world.crawl()
    assert crawl.code == 1, "no host answered"
    assert crawl.stat("errors/robots_unreachable") >= 1
    assert "Traceback" not in crawl.err


# --- errors of users
def test_an_empty_rules_folder_is_reported_in_one_line(world):
    for file in world.rules.iterdir():
        file.unlink()
    crawl = world.crawl()
    assert crawl.code != 0
    [line] = lines(crawl)
    assert "NEWSBOT_RULES" in line


def test_all_invalid_rules_are_reported_with_file_and_line_before_any_fetch(world, site):
    world.rule("a.test", "domain: a.test\nfeds: http://a.test/rss\n")
    world.rule("b.test", "domain: b.test\narticle: '/(?=news)'\n")
    crawl = world.crawl()
    assert crawl.code == 1
    errors = lines(crawl)
    assert len(errors) == 2
    assert "a.test.yaml:2: feds" in errors[0]
    assert "did you mean" in errors[0]
    assert "b.test.yaml:2: article" in errors[1]
    assert not site.log


def test_a_wrong_argument_is_reported_in_one_line_with_exit_code_2(world):
    world.rule("news.test")
    crawl = world.crawl("-a", "site=news.test")
    assert crawl.code == 2
    [line] = lines(crawl)
    assert "did you mean 'sites'" in line


def test_a_site_without_a_rule_is_reported_in_one_line_with_the_remedy(world):
    world.rule("news.test")
    crawl = world.crawl("-a", "sites=newz.test")
    assert crawl.code == 2
    [line] = lines(crawl)
    assert "did you mean 'news.test'" in line


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("--json", "has no --json; use -O -:jsonl for items"),
        ("lenta", "'lenta' is not expected here; give arguments as -a NAME=VALUE"),
    ],
)
def test_unknown_arguments_of_a_crawl_are_reported_in_one_line(world, word, message):
    world.rule("news.test")
    crawl = world.crawl(word)
    assert crawl.code == 2
    [line] = lines(crawl)
    assert line.startswith(f"scrapy crawl: {message}")


def test_an_unknown_spider_is_reported_in_one_line(world):
    world.rule("news.test")
    process = warm.run([*world.command()[:-1], "newz"], cwd=ROOT, env=world.environment())
    assert process.returncode == 2
    assert "did you mean 'news'" in process.stderr
    assert len(process.stderr.strip().splitlines()) == 1


def test_a_data_folder_that_cannot_be_created_is_reported_in_one_line(world, tmp_path):
    world.rule("news.test")
    (tmp_path / "file").write_text("", encoding="utf8")
    crawl = world.crawl(NEWSBOT_DATA=str(tmp_path / "file" / "data"))
    assert crawl.code == 1
    [line] = lines(crawl)
    assert "NEWSBOT_DATA" in line


def test_a_data_file_of_a_newer_newsbot_is_reported_in_one_line(world):
    world.rule("news.test")
    open_database(world.data / "newsbot.db", component="storage", migrations={99: "SELECT 1"}).close()
    crawl = world.crawl()
    assert crawl.code == 1
    [line] = lines(crawl)
    assert "newer newsbot" in line


def test_a_file_that_is_not_a_database_is_reported_in_one_line(world):
    world.rule("news.test")
    world.data.mkdir()
    (world.data / "newsbot.db").write_text("my shopping list" * 500, encoding="utf8")
    crawl = world.crawl()
    assert crawl.code == 1
    [line] = lines(crawl)
    assert "is not a newsbot data file" in line


def test_a_crawl_waits_for_a_locked_data_file_without_losing_articles(site, world):
    urls = [f"{HOST}/story/{n}" for n in range(20)]
    for n, url in enumerate(urls):
        site.page(url, article_html(n))
    feed_of(site, world, *urls)
    process = world.start()
    end = time.monotonic() + 60
    while len(site.log) < 5:
        assert time.monotonic() < end
        time.sleep(0.01)
    blocker = sqlite3.connect(world.data / "newsbot.db", isolation_level=None, timeout=30)
    blocker.execute("BEGIN IMMEDIATE")
    time.sleep(2)
    blocker.execute("COMMIT")
    blocker.close()
    _, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    assert len(world.articles()) == 20


def test_a_crawl_waits_while_the_disk_is_full_and_then_continues(site, tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1200k", "tmpfs", str(disk)], capture_output=True, check=False
    )
    if mounted.returncode:
        if os.environ.get("CI"):
            pytest.fail(f"cannot mount a small disk: {mounted.stderr.decode()}")
        pytest.skip("mounting a small disk needs root")
    try:
        world = World(tmp_path, site)
        world.data = disk / "data"
        urls = [f"{HOST}/story/{n}" for n in range(60)]
        for n, url in enumerate(urls):
            site.page(
                url, article_html(n, extra="<p>padding</p>").replace("hours", "hours " + "and days " * 2000)
            )
        feed_of(site, world, *urls)
        process = world.start()
        assert process.stderr is not None
        said = next(line for line in process.stderr if "the disk is full" in line)
        assert "the crawl waits until the data are available again" in said
        subprocess.run(["mount", "-o", "remount,size=80m", str(disk)], check=True)
        _, err = process.communicate(timeout=100)
        assert process.returncode == 0, err
        assert "the disk is full" not in err
        assert "Traceback" not in err
        assert world.urls() == sorted(urls)
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=False)


def test_a_page_that_was_cut_on_the_way_is_partial_if_it_is_read_at_all(site, world):
    from testbed.messages import Answer

    body = article_html(1).encode()
    cut = body.rindex(b"</p>") - 10
    site.page(f"{HOST}/cut", lambda _: Answer(body=body, headers={"Content-Type": "text/html"}, cut=cut))
    feed_of(site, world, f"{HOST}/cut")
    world.crawl("-s", "DOWNLOAD_FAIL_ON_DATALOSS=0")
    (article,) = world.articles()
    assert article.partial
