"""Complete crawls of URLs that a person or a rule requests."""

from __future__ import annotations

import gzip
import time

import pytest

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


ATOM = (
    '<?xml version="1.0"?>\n<?xml-stylesheet href="/s.xsl"?>\n<!-- made by hand -->'
    '<feed xmlns="http://www.w3.org/2005/Atom"><title>t</title><entry><title>Council story 1 about the bridge'
    '</title><link href="http://fresh.test/a/1"/></entry></feed>'
)
URLSET = (
    '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"><url><loc>http://fresh.test/a/1</loc></url>'
    "</urlset>"
)
JSON_FEED = (
    '{"version": "https://jsonfeed.org/version/1.1", "title": "t", "items": [{"id": "1", '
    '"url": "http://fresh.test/a/1", "title": "Council story 1 about the bridge"}]}'
)


@pytest.mark.parametrize(
    ("path", "body", "content_type"),
    [
        ("/feed.xml", feed_xml(["http://fresh.test/a/1"]), "application/rss+xml"),
        ("/news/", feed_xml(["http://fresh.test/a/1"]), "text/html"),
        ("/2026/11/20/a-long-headline-of-a-page", ATOM, "text/xml"),
        ("/items", JSON_FEED, "application/json"),
        ("/pages", URLSET, "application/xml"),
        ("/pages.gz", gzip.compress(URLSET.encode()), "application/x-gzip"),
    ],
)
def test_a_feed_or_sitemap_that_is_given_as_url_is_read_as_one(world, site, path, body, content_type):
    site.page(f"http://fresh.test{path}", body, headers={"Content-Type": content_type})
    site.page("http://fresh.test/a/1", article_html(1))
    crawl = world.crawl("-a", f"url=http://fresh.test{path}")
    assert crawl.code == 0, crawl.err
    assert world.urls() == ["http://fresh.test/a/1"]
    with world.storage() as storage:
        [source] = [one for one in storage.sources.all() if one.url.endswith(path)]
    kind = Kind.SITEMAP if "pages" in path else Kind.FEED
    page = world.page(f"http://fresh.test{path}")
    assert page is not None
    assert (source.kind, page.kind) == (kind, kind)
