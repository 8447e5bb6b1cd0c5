"""Complete crawls use the dates of sitemap entries, and read only a requested range of dates."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta

from tests.crawls import article_html
from tests.newssite import HOST, sitemap_xml


def two_of_a_sitemap(site, world, *ages):
    """Serve two articles of these ages in a sitemap that is read again after a second; return their URLs."""
    urls = [f"{HOST}/story/{number}" for number in (1, 2)]
    times = [(datetime.now(UTC) - age).isoformat(timespec="seconds") for age in ages]
    for number, (url, when) in enumerate(zip(urls, times, strict=True)):
        site.page(url, article_html(number).replace("2026-11-20T08:00:00Z", when))
    listed = sitemap_xml(dict(zip(urls, times, strict=True)))
    site.page(f"{HOST}/sitemap.xml", listed, headers={"Content-Type": "application/xml"})
    world.rule(
        "_defaults",
        "delay: 0\ninterval: {sitemap: 1, article: 30d}\n"
        "recrawl: {feed: fixed, sitemap: fixed, section: fixed, article: fixed}\n",
    )
    world.rule("news.test", f"domain: news.test\nsitemaps: {HOST}/sitemap.xml\narticle: ^/story/\n")
    return urls


def test_an_unchanged_sitemap_is_read_again_for_other_dates(site, world):
    old, new = two_of_a_sitemap(site, world, timedelta(days=90), timedelta(days=1))
    world.crawl()
    assert world.urls() == [new]
    time.sleep(1)
    world.crawl("-a", "since=365d")
    assert world.urls() == [old, new]


def test_articles_that_since_left_out_are_fetched_by_the_next_crawl_without_it(site, world):
    old, new = two_of_a_sitemap(site, world, timedelta(days=9), timedelta(hours=1))
    world.crawl("-a", "since=2d")
    assert world.urls() == [new]
    time.sleep(1)
    world.crawl()
    assert world.urls() == [old, new]


def test_an_unchanged_child_of_a_sitemap_index_rests_until_its_lastmod_changes(site, world):
    children = [f"{HOST}/map-{n}.xml" for n in range(3)]
    for n, url in enumerate(children):
        site.page(f"{HOST}/story/{n}", article_html(n))
        site.page(url, sitemap_xml({f"{HOST}/story/{n}": ""}), headers={"Content-Type": "application/xml"})
    then = (datetime.now(UTC) - timedelta(hours=1)).isoformat(timespec="seconds")

    def index(**newer):
        times = {url: newer.get(f"n{n}", then) for n, url in enumerate(children)}
        site.page(f"{HOST}/index.xml", sitemap_xml(times, "sitemap"), headers={"Content-Type": "text/xml"})

    index()
    world.rule(
        "_defaults",
        "delay: 0\ninterval: {sitemap: 1, article: 30d}\n"
        "recrawl: {feed: fixed, sitemap: fixed, section: fixed, article: fixed}\n",
    )
    world.rule("news.test", f"domain: news.test\nsitemaps: {HOST}/index.xml\narticle: ^/story/\n")
    for _ in range(3):
        world.crawl()
        time.sleep(1)
    requested = [path for path in site.seen() if path.startswith("/map-")]
    assert len(requested) == 6, "each must be fetched twice, the second time unchanged"
    assert world.urls() == [f"{HOST}/story/{n}" for n in range(3)]
    site.page(f"{HOST}/story/9", article_html(9))
    site.page(children[1], sitemap_xml({f"{HOST}/story/9": ""}), headers={"Content-Type": "application/xml"})
    index(n1=(datetime.now(UTC) + timedelta(seconds=5)).isoformat(timespec="seconds"))
    world.crawl()
    assert f"{HOST}/story/9" in world.urls()
    assert len([path for path in site.seen() if path.startswith("/map-")]) == 7
