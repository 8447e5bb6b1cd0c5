"""Complete crawls of URLs that a person or a rule requests."""

from __future__ import annotations

import time

from newsbot.items import Kind
from tests.crawls import article_html, feed_xml
from tests.newssite import HOST, XML, feed_of, serve, with_due


def test_an_article_whose_address_ends_with_a_slash_is_read_as_one(site, world):
    url = "http://fresh.test/2026/11/20/council-talks-about-the-old-bridge/"
    site.page(url, article_html(1))
    world.rule("news.test")
    world.crawl("-a", f"url={url}")
    assert world.urls() == [url]


def test_a_url_requested_once_obeys_its_interval_afterwards(site, world):
    serve(site, world, 1)
    world.rule("_defaults", "delay: 0\ninterval: {feed: 10m, article: 30d}\n")
    world.crawl("-a", f"url={HOST}/story/0")
    assert len(site.requests("/story/0")) == 1
    with_due(world, f"{HOST}/story/0")
    again = world.crawl()
    assert len(site.requests("/story/0")) == 1
    assert again.stat("gated") == 1


def test_a_user_and_password_in_an_address_are_neither_sent_nor_kept(site, world):
    site.page(f"{HOST}/story/1", article_html(1))
    feed_of(site, world, "http://me:secret@news.test/story/1")
    crawl = world.crawl("-s", "LOG_LEVEL=DEBUG")
    assert world.urls() == [f"{HOST}/story/1"]
    assert "secret" not in crawl.err
    assert b"secret" not in (world.data / "newsbot.db").read_bytes()


def test_a_moved_feed_is_read_on_when_its_rule_names_the_new_url(site, world):
    site.page(f"{HOST}/story/1", article_html(1))
    site.page(f"{HOST}/story/2", article_html(2))
    site.page(f"{HOST}/old.xml", status=301, headers={"Location": f"{HOST}/new.xml"})
    site.page(f"{HOST}/new.xml", feed_xml([f"{HOST}/story/1"]), headers=XML)
    world.rule("news.test", f"domain: news.test\nfeeds: {HOST}/old.xml\n")
    world.crawl()
    site.page(f"{HOST}/new.xml", feed_xml([f"{HOST}/story/1", f"{HOST}/story/2"]), headers=XML)
    world.rule("news.test", f"domain: news.test\nfeeds: {HOST}/new.xml\n")
    world.crawl()
    assert world.urls() == [f"{HOST}/story/1", f"{HOST}/story/2"]


def test_a_page_that_a_rule_later_calls_a_section_is_read_as_a_section(site, world):
    site.page(f"{HOST}/story/1", article_html(1))
    links = f"<a href='{HOST}/story/1'>A headline of more than five words</a>"
    site.page(f"{HOST}/x/99", f"<html><body><p>{links}</p></body></html>")
    feed_of(site, world, f"{HOST}/x/99")
    world.rule(
        "_defaults",
        "delay: 0\ninterval: {feed: 10m, section: 1, article: 30d, other: 30d}\n"
        "recrawl: {feed: fixed, sitemap: fixed, section: fixed, article: fixed}\n",
    )
    world.crawl()
    assert world.urls() == []
    world.rule("news.test", f"domain: news.test\nsections: {HOST}/x/99\n")
    time.sleep(1)
    world.crawl()
    assert world.urls() == [f"{HOST}/story/1"]
    page = world.page(f"{HOST}/x/99")
    assert page is not None
    assert page.kind is Kind.SECTION
