"""Sources that were removed from their rules, and rules that were deleted."""

from __future__ import annotations

import time

import pytest

from newsbot.crawl.sources import is_unnamed
from newsbot.items import Kind, Where
from tests.crawls import article_html, feed_xml

HOST = "http://news.test"
XML = {"Content-Type": "application/rss+xml"}
RULES = {"news.test": f"domain: news.test\nfeeds: {HOST}/b\n", "bare.test": "domain: bare.test\n"}


@pytest.mark.parametrize(
    ("url", "kind", "where", "unnamed"),
    [
        (f"{HOST}/a", Kind.FEED, Where.SEED, True),
        (f"{HOST}/b", Kind.FEED, Where.SEED, False),
        ("https://www.news.test/b?utm_source=x", Kind.FEED, Where.SEED, False),
        (f"{HOST}/a", Kind.FEED, Where.ARGUMENT, False),
        (f"{HOST}/a", Kind.SITEMAP, Where.AUTODISCOVERY, False),
        (f"{HOST}/a", Kind.ARTICLE, Where.SEED, False),
        ("http://www.bare.test/", Kind.SECTION, Where.SEED, False),
    ],
)
def test_sources_removed_from_their_rule(make_desk, url, kind, where, unnamed):
    desk = make_desk(RULES)
    assert is_unnamed(desk.context, desk.crawl.scope, desk.visit(url, kind, where=where)) is unnamed


@pytest.mark.parametrize(
    ("ruled", "rules", "unnamed"),
    [
        (True, {}, True),
        (False, {}, False),
        (True, {"news.test": "domain: news.test\n"}, False),
        (True, {"www.news.test": "domain: www.news.test\n"}, False),
    ],
)
def test_queued_articles_of_a_deleted_rule(make_desk, ruled, rules, unnamed):
    """An article of an unknown site, which a feed of another site lists, has no rule that can be deleted."""
    desk = make_desk({"other.test": "domain: other.test\n", **rules})
    visit = desk.visit("http://www.news.test/story/1", Kind.ARTICLE)
    visit.data["source"] = "news.test"
    if ruled:
        visit.data["ruled"] = True
    assert is_unnamed(desk.context, desk.crawl.scope, visit) is unnamed


def test_a_rule_that_is_deleted_during_the_crawl_stops_its_queued_pages(site, world):
    urls = [f"{HOST}/story/{n}" for n in range(40)]
    for number, url in enumerate(urls):
        site.page(url, article_html(number))
    site.page(f"{HOST}/feed", feed_xml(urls), headers=XML)
    world.rule("news.test", f"domain: news.test\nfeeds: {HOST}/feed\ndelay: 0.2\n")
    world.rule("other.test")
    process = world.start("-s", "NEWSBOT_RULES_RELOAD=0.1", "-s", "NEWSBOT_PATIENCE=1")
    end = time.monotonic() + 60
    while not [path for path in site.seen("news.test") if path.startswith("/story/")]:
        assert time.monotonic() < end
        time.sleep(0.05)
    (world.rules / "news.test.yaml").unlink()
    process.communicate(timeout=60)
    assert len(world.articles()) < 20
    assert world.page(urls[39]).last_fetched is None


def test_a_feed_removed_from_its_rule_is_not_fetched_until_it_is_added_again(site, world):
    for name in "ab":
        site.page(f"{HOST}/{name}", feed_xml([f"{HOST}/story/{name}"]), headers=XML)
        site.page(f"{HOST}/story/{name}", article_html(ord(name)))
    world.rule("_defaults", "delay: 0\ninterval: {feed: 1, article: 30d}\nrecrawl: {feed: fixed}\n")
    counts = []
    for feeds in (f"[{HOST}/a, {HOST}/b]", f"{HOST}/b", f"[{HOST}/a, {HOST}/b]"):
        world.rule("news.test", f"domain: news.test\nfeeds: {feeds}\n")
        crawl = world.crawl()
        counts.append((site.seen().count("/a"), site.seen().count("/b")))
        assert crawl.stat("errors/unnamed") == 0
        time.sleep(1.1)
    assert counts == [(1, 1), (1, 2), (2, 3)]
    with world.storage() as storage:
        assert [source.failures for source in storage.sources.all()] == [0, 0]


def test_a_site_with_a_deleted_rule_is_not_fetched(site, world):
    feed = "<link rel='alternate' type='application/rss+xml' href='/feed'>"
    for name in ("one", "two"):
        site.page(f"http://{name}.test/", f"<html><head>{feed}</head><body>News</body></html>")
        site.page(f"http://{name}.test/feed", feed_xml([f"http://{name}.test/story/1"]), headers=XML)
        site.page(f"http://{name}.test/story/1", article_html(len(name) + ord(name[0])))
        world.rule(f"{name}.test", f"domain: {name}.test\nseeds: http://{name}.test/\n")
    world.rule(
        "_defaults",
        "delay: 0\ninterval: {feed: 1, section: 1, article: 30d}\nrecrawl: {feed: fixed, section: fixed}\n",
    )
    world.crawl()
    time.sleep(1.1)
    (world.rules / "one.test.yaml").unlink()
    world.crawl()
    assert site.seen("two.test").count("/feed") == 2
    assert (site.seen("one.test").count("/"), site.seen("one.test").count("/feed")) == (1, 1)
    assert len(world.urls()) == 2, "stored articles must not be removed"
    time.sleep(1.1)
    world.crawl("-a", "url=http://one.test/")
    assert site.seen("one.test").count("/") == 2, "it can still be requested by its URL"
