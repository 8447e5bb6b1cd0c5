"""Complete crawls: links wait until their family is open, and nothing is lost in silence."""

from __future__ import annotations

import json

import pytest

from newsbot.items import Kind
from newsbot.ranking.families import read_site
from tests.crawls import article_html, feed_xml

HOST = "http://news.test"
XML = {"Content-Type": "application/rss+xml"}


def sitemap_xml(urls: list[str]) -> str:
    places = "".join(f"<url><loc>{url}</loc></url>" for url in urls)
    return (
        f'<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{places}</urlset>'
    )


def links(urls: list[str]) -> str:
    return "".join(f"<li><a href='{url}'>Новость {n}</a></li>" for n, url in enumerate(urls))


def poor(number: int) -> str:
    """Return a page with a paragraph, and without a date, an author and metadata."""
    text = (
        f"We look for people number {number} for our shop in the town. Please call us, or write to us today."
    )
    head = f"<head><title>Job {number}</title></head>"
    return f"<html>{head}<body><h1>Job {number}</h1><p>{text * 4}</p></body></html>"


def bare(urls: list[str], *, feed: str = "") -> str:
    link = f'<link rel="alternate" type="application/rss+xml" href="{feed}">' if feed else ""
    return (
        f"<html><head><title>News</title>{link}</head><body><h1>News</h1><ul>{links(urls)}</ul></body></html>"
    )


def test_short_addresses_and_headlines_are_fetched_if_others_of_their_form_were_articles(site, world):
    slugs = [f"{HOST}/posts/{'novost' if n % 2 else 'den-v-gorode'}-{n}/" for n in range(12)]
    words = [f"{HOST}/posts/{name}/" for name in ("most", "reka", "zima")]
    named, other = slugs[:4], [*slugs[4:], *words]
    site.page(f"{HOST}/", bare(named))
    site.page(f"{HOST}/feed", feed_xml(named), headers=XML)
    site.page(f"{HOST}/sitemap.xml", sitemap_xml([*named, *other, f"{HOST}/about/"]), headers=XML)
    site.page(f"{HOST}/about/", poor(1))
    for number, url in enumerate([*named, *other]):
        site.page(url, article_html(number))
    world.crawl("-a", f"url={HOST}/")
    assert sorted(world.urls()) == sorted([*named, *other])


def test_look_alikes_wait_and_are_named_with_a_command(site, world):
    posts = [f"{HOST}/posts/a-story-of-the-town-{n}/" for n in range(6)]
    jobs = [f"{HOST}/jobs/senior-accountant-wanted-in-the-city-{n}.html" for n in range(40)]
    site.page(f"{HOST}/", bare([*posts, *jobs], feed="/feed"))
    site.page(f"{HOST}/feed", feed_xml(posts), headers=XML)
    for number, url in enumerate(posts):
        site.page(url, article_html(number))
    for number, url in enumerate(jobs):
        site.page(url, poor(number))
    crawl = world.crawl("-a", f"url={HOST}/", NEWSBOT_PROGRESS="1")
    assert sorted(world.urls()) == posts
    assert not [path for path in site.seen("news.test") if path.startswith("/jobs/")], (
        "six articles, no sample"
    )
    assert "40 links of /jobs/*#.html at news.test wait: no such page was tried yet" in crawl.err
    assert "scrapy add --family news.test '/jobs/*#.html'" in crawl.err
    said = world.scrapy("why", jobs[0])
    assert said.out.rstrip().endswith("scrapy add --family news.test '/jobs/*#.html'")
    assert "body of http://news.test/" in said.out
    added = world.scrapy("add", "--family", "news.test", "/jobs/*#.html")
    assert added.code == 0, added.err
    assert "40 links of /jobs/*#.html queued" in added.out
    world.crawl("-a", f"url={HOST}/")
    assert len([path for path in site.seen("news.test") if path.startswith("/jobs/")]) >= 1


def test_a_corrected_rule_queues_the_links_that_wait(site, world):
    posts = [f"{HOST}/posts/novost-{n}/" for n in range(5)]
    site.page(f"{HOST}/", bare(posts))
    for number, url in enumerate(posts):
        site.page(url, article_html(number))
    world.rule("news.test", f"domain: news.test\nseeds: {HOST}/\narticle: '^/post/'\n")
    world.crawl()
    assert world.urls() == []
    world.rule("news.test", f"domain: news.test\nseeds: {HOST}/\narticle: '^/posts/'\n")
    crawl = world.crawl()
    assert sorted(world.urls()) == posts
    assert "waiting links queued domain=news.test number=5" in crawl.err
    assert site.seen("news.test").count("/") == 1, "the home page is not due, and is not needed"


def test_a_corrected_rule_stores_pages_that_had_too_little_evidence(site, world):
    """The server answers 304 to conditional requests, and the page has not changed."""
    posts = [f"{HOST}/posts/novost-{n}/" for n in range(3)]
    site.page(f"{HOST}/", bare(posts))
    for number, url in enumerate(posts):
        site.page(url, poor(number), headers={"ETag": f'"{number}"'})
    world.rule("news.test", f"domain: news.test\nseeds: {HOST}/\n")
    world.crawl()
    assert world.urls() == []
    world.rule("news.test", f"domain: news.test\nseeds: {HOST}/\narticle: '^/posts/'\n")
    world.crawl()
    assert sorted(world.urls()) == posts


def test_a_site_without_feeds_begins_with_samples(site, world):
    posts = [f"{HOST}/posts/a-story-of-the-town-{n}/" for n in range(9)]
    jobs = [f"{HOST}/jobs/senior-accountant-wanted-{n}.html" for n in range(30)]
    site.page(f"{HOST}/", bare([*posts, *jobs]))
    for number, url in enumerate(posts):
        site.page(url, article_html(number))
    for number, url in enumerate(jobs):
        site.page(url, poor(number))
    world.crawl("-a", f"url={HOST}/")
    assert sorted(world.urls()) == posts
    tried = [path for path in site.seen("news.test") if path.startswith("/jobs/")]
    assert len(tried) <= 4
    with world.storage() as storage:
        known = read_site(storage.notes, "news.test")
    assert known.state("/posts/*#/") == "open"
    if tried:
        assert json.dumps(known.families["/jobs/*#.html"].plain())


def test_a_feed_and_a_sitemap_are_both_looked_for(site, world):
    posts = [f"{HOST}/news/a-story-of-the-town-{n}" for n in range(30)]
    site.page(f"{HOST}/", bare([]))
    site.page(f"{HOST}/feed", feed_xml(posts[:3]), headers=XML)
    site.page(f"{HOST}/sitemap.xml", sitemap_xml(posts), headers=XML)
    for number, url in enumerate(posts):
        site.page(url, article_html(number))
    world.crawl("-a", f"url={HOST}/")
    assert sorted(world.urls()) == sorted(posts)


def test_lists_that_are_read_at_once_are_not_asked_for_as_articles(site, world):
    posts = [f"{HOST}/a-story-of-the-town-{n}.html" for n in range(8)]
    menu = (
        "<nav><ul><li><a href=/>Home</a><li><a href=/town/>Town</a><li><a href=/sport/>Sport</a></ul></nav>"
    )
    teaser = "<p>The bridge in the town was opened by the mayor on Monday, after two years of work. " * 4
    for number, name in enumerate(("", "index2.html", "town/")):
        teasers = "".join(
            f"<article><h1><a href='{url}'>The story of the town, part {n}</a></h1>{teaser}</article>"
            for n, url in enumerate(posts[4 * number % 8 : 4 * number % 8 + 4])
        )
        following = "" if number else "<a href=/index2.html rel=next>Next page</a>"
        site.page(
            f"{HOST}/{name}", f"<html><title>News</title><body>{menu}{teasers}{following}</body></html>"
        )
    site.page(f"{HOST}/feed", feed_xml(posts[:4]), headers=XML)
    for number, url in enumerate(posts):
        site.page(url, article_html(number))
    world.rule("news.test", f"domain: news.test\nseeds: {HOST}/\n")
    world.crawl()
    world.crawl("-a", "now=yes")
    assert site.seen("news.test").count("/town/") == 2
    assert "/index2.html" in site.seen("news.test")
    assert sorted(world.urls()) == posts


@pytest.mark.parametrize("sitemap", ["broken", "pages"])
def test_lists_are_read_if_the_sitemap_does_not_name_the_articles(site, world, sitemap):
    posts = [f"{HOST}/2026/11/a-story-of-the-town-{n}/" for n in range(16)]
    for number in range(4):
        following = f"<a href='/page/{number + 2}/'>Next page</a>" if number < 3 else ""
        listed = bare(posts[4 * number : 4 * number + 4], feed="/feed")
        site.page(
            f"{HOST}/page/{number + 1}/" if number else f"{HOST}/", listed.replace("</body>", following)
        )
    site.page(f"{HOST}/feed", feed_xml(posts[:4]), headers=XML)
    site.page(f"{HOST}/robots.txt", f"User-agent: *\nAllow: /\nSitemap: {HOST}/wp-sitemap.xml\n")
    if sitemap == "broken":
        site.page(f"{HOST}/wp-sitemap.xml", "", status=503)
    else:
        site.page(f"{HOST}/wp-sitemap.xml", sitemap_xml([f"{HOST}/about/", f"{HOST}/jobs/"]), headers=XML)
    for number, url in enumerate(posts):
        site.page(url, article_html(number))
    world.crawl("-a", f"url={HOST}/")
    assert sorted(world.urls()) == sorted(posts)


def test_posts_whose_links_look_like_sections_are_articles(site, world):
    """The titles of the posts are in headings without text, as on the home page of a stock blog."""
    posts = [f"{HOST}/posts/novost-{n}/" for n in range(8)]
    menu = "".join(f"<nav><a href='{url}'>Новости города {n}</a></nav>" for n, url in enumerate(posts))
    head = '<link rel="alternate" type="application/rss+xml" href="/rss.xml">'
    site.page(f"{HOST}/", f"<html><head><title>Blog</title>{head}</head><body>{menu}</body></html>")
    site.page(f"{HOST}/rss.xml", feed_xml(posts[:3]), headers=XML)
    for number, url in enumerate(posts):
        site.page(url, article_html(number))
    world.crawl("-a", f"url={HOST}/")
    assert sorted(world.urls()) == posts
    with world.storage() as storage:
        kinds = {page.url: page.kind for page in storage.pages.iter(site="news.test")}
    assert {kinds[url] for url in posts} == {Kind.ARTICLE}


TEASER = (
    "<article><header><h1><a href='{url}'>Новости города номер {n}</a></h1><p><a href='/people/{n}/'>A. B."
    "</a></p><p><a href='{url}'><time datetime='2026-11-20T10:00:00Z'>20.11.2026</time></a></p>"
    "<p><a href='{url}#c'>Comments</a></p></header></article>"
)


def test_posts_whose_teasers_look_like_menus_are_articles(site, world):
    """Each teaser is a box with four short links: the headline, the author, the time, the comments."""
    posts = [f"{HOST}/posts/novost-{n}/" for n in range(8)]
    teasers = "".join(TEASER.format(url=url, n=n) for n, url in enumerate(posts))
    site.page(f"{HOST}/", f"<html><head><title>Blog</title></head><body>{teasers}</body></html>")
    for number, url in enumerate(posts):
        site.page(url, article_html(number))
    world.crawl("-a", f"url={HOST}/")
    assert sorted(world.urls()) == posts


def test_all_pages_of_a_site_may_have_one_path(site, world):
    services = [f"{HOST}/index.php?id={n}&L=0" for n in range(10, 18)]
    posts = [f"{HOST}/index.php?id=34&news={n}&L=0" for n in range(9)]
    menu = "".join(f"<a href='{url}'>Service {n}</a> " for n, url in enumerate(services))
    menu = f"<nav><a href='/index.php?id=33&L=0'>News</a> {menu}</nav>"
    site.page(f"{HOST}/", bare(posts[:4]).replace("<h1>", f"{menu}<h1>"))
    site.page(f"{HOST}/index.php?id=33&L=0", bare(posts))
    for number, url in enumerate(services):
        site.page(url, poor(number))
    for number, url in enumerate(posts):
        site.page(url, article_html(number))
    world.crawl("-a", f"url={HOST}/")
    assert len(world.urls()) == 9


def test_a_page_that_a_person_asked_for_is_read_as_an_article_at_any_address(site, world):
    url = f"{HOST}/blog/most/"
    site.page(url, article_html(1))
    world.crawl("-a", f"url={url}")
    assert world.urls() == [url]


def test_a_site_with_endless_lists_ends(site, world):
    """Each author's list has an archive of its own, and links to the lists of more authors."""
    posts = [f"{HOST}/posts/a-story-of-the-town-{n}/" for n in range(6)]
    names = [
        f"{first}-{last}"
        for first in ("ann", "bea", "cem", "dov")
        for last in ("abel", "bond", "cole", "dean")
    ]
    authors = [f"{HOST}/by/{name}/archive/{year}/" for name in names for year in (2024, 2025, 2026)]
    site.robots("User-agent: *\nDisallow: /*xml\n", host="news.test")
    site.page(f"{HOST}/", bare([*posts, *authors[:4]], feed="/feed"))
    site.page(f"{HOST}/feed", feed_xml(posts), headers=XML)
    for number, url in enumerate(posts):
        site.page(url, article_html(number))
    for number, url in enumerate(authors):
        site.page(url, bare([*posts, *authors[number:], *authors[:number]]))
    world.rule("news.test", f"domain: news.test\nseeds: {HOST}/\n")
    world.crawl()
    assert sorted(world.urls()) == posts
    read = [path for path in site.seen("news.test") if path.startswith("/by/")]
    assert len(read) <= 2, "the other lists wait after the first that led to nothing"


def test_an_archive_is_tried_although_a_sitemap_lists_some_articles(site, world):
    """The sitemap has a third of the articles. The front page of the archive leads only to years."""
    new = [f"{HOST}/news/a-story-of-the-town-{n}/" for n in range(30)]
    months = {m: [f"{HOST}/news/an-old-story-of-{m}-{n}/" for n in range(10)] for m in range(1, 7)}
    every = [*new, *(url for some in months.values() for url in some)]
    archive = f"<a href='{HOST}/archive/'>Archive</a>"
    site.page(f"{HOST}/", bare(new[:10]).replace("</ul>", f"</ul>{archive}"))
    site.page(f"{HOST}/robots.txt", f"Sitemap: {HOST}/map.xml\n")
    site.page(f"{HOST}/map.xml", sitemap_xml(new), headers=XML)
    site.page(f"{HOST}/archive/", bare([f"{HOST}/archive/2025/"]))
    site.page(f"{HOST}/archive/2025/", bare([f"{HOST}/archive/2025/{m:02}/" for m in months]))
    for month, urls in months.items():
        site.page(f"{HOST}/archive/2025/{month:02}/", bare(urls))
    for number, url in enumerate(every):
        site.page(url, article_html(number))
    world.crawl("-a", f"url={HOST}/")
    assert sorted(world.urls()) == sorted(every)
