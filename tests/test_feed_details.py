"""An article that was found on a page and later in a feed gets the feed's time and authors, in any order."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from newsbot.crawl.links.queue import filled
from newsbot.crawl.visit import Found
from newsbot.frontier.base import EntryData
from newsbot.items import Kind, Link, Where
from newsbot.urls import fingerprint
from tests.builders import fill, make_article
from tests.crawls import article_html

HOME, FEED = "https://news.test/", "https://news.test/feed.xml"
AT = datetime(2026, 11, 20, 7, 30, tzinfo=UTC)


def named(desk, kind, url, **fields):
    """Visit the home page or the feed, with a link to the article."""
    where = Where.FEED if kind is Kind.FEED else Where.BODY
    visit = desk.visit(FEED if kind is Kind.FEED else HOME, kind)
    link = Link(url=url, where=where, text="Story number 1 of the bridge and the town", **fields)
    visit.found.append(Found(links=(link,), referrer=visit.url, depth=1))
    desk.settle(visit)


@pytest.mark.parametrize("feed", ["before", "leased", "at the end", "stored"])
def test_the_article_gets_the_time_and_the_authors_of_the_feed_in_any_order(make_desk, feed):
    desk, article = make_desk(), make_article(1)
    details = {"published_at": AT, "authors": ("Jane Doe",)}
    named(desk, Kind.SECTION, article.url)
    if feed == "before":
        named(desk, Kind.FEED, article.url, **details)
    desk.clock.now += 60
    leases = desk.context.frontier.lease("me", 50, horizon=desk.clock.now, ttl=60)
    visit = desk.begin(next(one for one in leases if one.entry.url == article.url))
    if feed in ("leased", "at the end"):
        named(desk, Kind.FEED, article.url, **details)
    hint = visit.hint()
    article.published_at, article.authors = hint.published_at, list(hint.authors)
    desk.context.storage.articles.store(article)
    if feed == "at the end":
        desk.crawl.feed_details.finish()
    fill(visit, status=200, is_article=True)
    fill(visit, canonical_url=article.canonical_url)
    desk.settle(visit)
    if feed == "stored":
        named(desk, Kind.FEED, article.url, **details)
    kept = desk.context.storage.articles.with_keys([fingerprint(article.canonical_url)]).popitem()[1]
    assert (kept.published_at, kept.authors, kept.version) == (AT, ["Jane Doe"], 1)


def test_values_of_the_page_are_kept():
    data: EntryData = {"published_at": AT.isoformat(), "authors": ["Jane Doe"]}
    own: dict[str, Any] = {
        "published_at": AT - timedelta(hours=3),
        "published_precision": "minute",
        "authors": ["A. B."],
    }
    assert not filled(make_article(1, **own), data)
    another_day = make_article(
        1, **own | {"published_at": AT - timedelta(days=2), "published_precision": "day"}
    )
    assert not filled(another_day, data)
    day = make_article(1, **own | {"published_at": AT.replace(hour=0), "published_precision": "day"})
    assert filled(day, data)
    assert (day.published_at, day.authors) == (AT, ["A. B."])


def test_a_feed_found_later_and_a_later_edit(site, world):
    page = article_html(1).replace("<time datetime='2026-11-20T08:00:00Z'></time>", "")
    url = "http://news.test/news/story-about-the-bridge-and-the-town.html"
    item = (
        f"<item><link>{url}</link><title>Story</title><pubDate>Fri, 20 Nov 2026 07:30:00 GMT</pubDate></item>"
    )
    world.rule("_defaults", "delay: 0\ninterval: {section: 0, feed: 0, article: 0}\n")
    world.rule("news.test", "domain: news.test\nseeds: http://news.test/\n")
    site.robots("User-agent: *\nDisallow: /*rss\nDisallow: /feed\nDisallow: /*.xml\n", host="news.test")
    site.page("http://news.test/", f"<main><a href='{url}'>A story about the bridge and the town</a></main>")
    site.page(url, page)
    crawl = world.crawl()
    assert [one.published_at for one in world.articles()] == [None], crawl.err
    site.page(
        "http://news.test/later/rss2", f'<rss version="2.0"><channel>{item}</channel></rss>',
        headers={"Content-Type": "application/rss+xml"},
    )  # fmt: skip
    site.robots("User-agent: *\nDisallow: /rss\nDisallow: /feed\n", host="news.test")
    world.forget_files("news.test")
    world.rule("news.test", "domain: news.test\nfeeds: http://news.test/later/rss2\n")
    world.crawl()
    assert [(one.published_at, one.version) for one in world.articles()] == [(AT, 1)]
    more = (
        "The mayor said on Friday that all of it would begin anew after the winter, and he went home early."
    )
    site.page(url, page.replace("</article>", f"<p>{more}</p><p>{more[::-1]}</p></article>"))
    world.crawl("-a", f"url={url}")
    assert [(one.published_at, one.version) for one in world.articles()] == [(AT, 2)]
