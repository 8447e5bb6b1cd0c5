"""Complete crawls of sites whose pages name other pages as canonical, correctly and wrongly."""

from __future__ import annotations

import time
from contextlib import closing
from typing import Any
from uuid import uuid4

import pytest
from pymongo import MongoClient

from newsbot.apps.mongodb.storage import MongoStorage
from testbed.messages import Answer
from tests.crawls import article_html, feed_xml

XML = {"Content-Type": "application/rss+xml"}
HTML = {"Content-Type": "text/html"}
HOST = "http://news.test"
FIXED = "recrawl: {feed: fixed, sitemap: fixed, section: fixed, article: fixed}\n"
AGAIN = f"delay: 0\ninterval: {{feed: 1, article: 1}}\n{FIXED}"
FEEDS_AGAIN = f"delay: 0\ninterval: {{feed: 1, article: 30d}}\n{FIXED}"


def story(number):
    return f"{HOST}/story/{number}"


def canonical(url):
    return f"<link rel='canonical' href='{url}'>"


def page_of(number, *, head="", title=None):
    """Return an article page whose text has no sentence in common with the pages of other numbers."""
    text = "".join(f"<p>{' '.join(f'word{number}x{step}x{i}' for i in range(40))}.</p>" for step in range(5))
    page = article_html(number, head=head, title=title)
    return page[: page.index("<p>")] + text + "</article></body></html>"


def put(site, url, page, *, slow=0.0):
    body = page.encode()
    site.page(url, lambda _: Answer(body=body, headers=HTML, delay=slow))


def feed_of(site, world, *urls, titles=()):
    """Serve a feed of these pages with their headlines, or with ``titles``."""
    feed = feed_xml(list(urls))
    for place, url in enumerate(urls):
        own = f"Council story number {url.rsplit('/', 1)[1]} about the bridge"
        before = f"Council story {place} about the bridge<"
        feed = feed.replace(before, f"{titles[place] if titles else own}<")
    site.page(f"{HOST}/feed.xml", feed, headers=XML)
    world.rule("news.test", f"domain: news.test\nfeeds: {HOST}/feed.xml\n")


def requested(site):
    return sorted(path for path in site.seen("news.test") if path.startswith("/story/"))


def kept(world):
    """Return each article's URL and the number in its text."""
    return {one.canonical_url: number_of(one) for one in world.articles()}


def number_of(article):
    """Return the number in the text of :func:`page_of`."""
    return int(article.text.split("x")[0].removeprefix("word"))


# --- wrong claims
@pytest.mark.parametrize("last", [None, 0, 2], ids=["at once", "the named one last", "the named one first"])
def test_a_canonical_url_that_all_pages_share_hides_no_article(site, world, last):
    """The template names the first article as canonical on all pages."""
    urls = [story(n) for n in range(5)]
    for n, url in enumerate(urls):
        slow = 0.0 if last is None or (n == 0) != (last == 0) else 0.7
        put(site, url, page_of(n, head=canonical(urls[0])), slow=slow)
    feed_of(site, world, *urls)
    world.crawl()
    assert kept(world) == {url: n for n, url in enumerate(urls)}
    assert requested(site) == sorted(f"/story/{n}" for n in range(5)), "each must be fetched once"


def test_two_workers_lose_no_article_to_a_shared_canonical_url(site, world):
    urls = [story(n) for n in range(12)]
    for n, url in enumerate(urls):
        put(site, url, page_of(n, head=canonical(urls[0])), slow=0.0 if n else 0.6)
    feed_of(site, world, *urls)
    workers = [world.start() for _ in range(3)]
    for worker in workers:
        worker.communicate(timeout=60)
    assert kept(world) == {url: n for n, url in enumerate(urls)}


@pytest.fixture
def database(mongo_uri):
    """The URI of a database for one test."""
    name = f"newsbot_test_{uuid4().hex[:12]}"
    place, _, options = mongo_uri.partition("?")
    yield f"{place.rstrip('/')}/{name}{'?' if options else ''}{options}"
    with MongoClient[dict[str, Any]](mongo_uri) as client:
        client.drop_database(name)


def test_two_workers_with_servers_lose_no_article_either(site, world, redis_server, database):
    """Two shared URLs: one is an article, the other one does not exist."""
    world.servers = {"REDIS_URL": redis_server.url, "MONGO_URI": database}
    urls = [story(n) for n in range(12)]
    for n, url in enumerate(urls):
        head = canonical(urls[0] if n % 2 else story("staging"))
        put(site, url, page_of(n, head=head if n else canonical(urls[0])), slow=0.0 if n else 0.6)
    feed_of(site, world, *urls)
    workers = [world.start() for _ in range(2)]
    for worker in workers:
        worker.communicate(timeout=60)
    with closing(MongoStorage(database)) as storage:
        articles = list(storage.articles.iter())
    assert sorted(number_of(one) for one in articles) == list(range(12))
    assert {one.canonical_url: number_of(one) for one in articles}[urls[0]] == 0


def test_a_shared_canonical_url_without_links_takes_no_article(site, world):
    """A staging URL: the first page is stored under it until the second page names it too."""
    urls = [story(n) for n in range(4)]
    for n, url in enumerate(urls):
        put(site, url, page_of(n, head=canonical(f"{HOST}/story/staging")))
    world.rule("_defaults", AGAIN)
    feed_of(site, world, *urls)
    world.crawl()
    assert sorted(kept(world).values()) == [0, 1, 2, 3]
    time.sleep(1)
    world.crawl()
    assert sorted(kept(world).values()) == [0, 1, 2, 3]


@pytest.mark.parametrize("first", [1, 2])
def test_a_copied_canonical_link_hides_no_article(site, world, first):
    """One page names another page of the feed as its canonical page."""
    put(site, story(1), page_of(1, head=canonical(story(2))), slow=0.0 if first == 1 else 0.7)
    put(site, story(2), page_of(2), slow=0.0 if first == 2 else 0.7)
    feed_of(site, world, story(1), story(2))
    world.crawl()
    assert kept(world) == {story(1): 1, story(2): 2}


def test_a_canonical_page_that_is_found_later_with_another_headline_is_read(site, world):
    put(site, story(1), page_of(1, head=canonical(story(2))))
    put(site, story(2), page_of(2))
    world.rule("_defaults", FEEDS_AGAIN)
    feed_of(site, world, story(1))
    world.crawl()
    assert kept(world) == {story(2): 1}, "the other page is not known yet"
    time.sleep(1)
    feed_of(site, world, story(2), titles=["A ferry sank in the harbour at night"])
    world.crawl()
    assert kept(world) == {story(1): 1, story(2): 2}
    world.crawl()
    assert kept(world) == {story(1): 1, story(2): 2}


def test_a_page_that_names_a_section_as_canonical_keeps_its_own_url(site, world):
    put(site, story(1), page_of(1, head=canonical("/news/")))
    links = f"<a href='{story(1)}'>A long headline about the old bridge</a>"
    site.page(f"{HOST}/news/", f"<html><body>{links}</body></html>")
    feed_of(site, world, story(1))
    text = f"domain: news.test\nfeeds: {HOST}/feed.xml\nsections: {HOST}/news/\narticle: ^/story/.\n"
    world.rule("news.test", text)
    world.crawl()
    assert kept(world) == {story(1): 1}
    page = world.page(f"{HOST}/news/")
    assert page is not None
    assert page.last_fetched is not None, "the section must be read for its links"


def test_a_page_that_names_a_missing_page_as_canonical_keeps_its_article(site, world):
    put(site, story(1), page_of(1, head=canonical(story(2))))
    site.page(story(2), status=404)
    feed_of(site, world, story(1), story(2))
    world.crawl()
    assert kept(world) == {story(1): 1}


# --- correct claims
@pytest.mark.parametrize("slow", [1, 2])
def test_two_urls_of_one_article_are_stored_under_the_canonical_url(site, world, slow):
    """Both pages are fetched, because their headlines differ."""
    for n in (1, 2):
        put(site, f"{HOST}/story/{n}", page_of(7, head=canonical(story(2))), slow=0.5 if n == slow else 0.0)
    feed_of(site, world, story(1), story(2))
    world.crawl()
    assert kept(world) == {story(2): 7}


@pytest.mark.parametrize(
    ("fetched", "named"),
    [
        ("/story/1?from=rss", "/story/1"),
        ("/story/84512937", "/story/world/84512937-a-headline"),
        ("http://amp.news.test/story/1.html", "/story/1"),
    ],
)
def test_another_form_of_a_url_costs_no_second_download(site, world, fetched, named):
    one = fetched if fetched.startswith("http") else HOST + fetched
    put(site, one, page_of(1, head=canonical(HOST + named)))
    put(site, HOST + named, page_of(1, head=canonical(HOST + named)))
    feed_of(site, world, one, HOST + named)
    world.crawl("-s", "CONCURRENT_REQUESTS=1", "-a", f"urls={one}")
    site.log.clear()
    world.crawl()
    assert requested(site) == []
    assert list(kept(world)) == [HOST + named]


def test_a_canonical_url_that_no_source_lists_costs_no_download(site, world):
    put(site, story(1), page_of(1, head=canonical(story("slug"))))
    put(site, story("slug"), page_of(1, head=canonical(story("slug"))))
    world.rule("_defaults", FEEDS_AGAIN)
    feed_of(site, world, story(1))
    world.crawl()
    time.sleep(1)
    feed_of(site, world, story("slug"), titles=["Council story number 1 about the bridge"])
    world.crawl()
    assert requested(site) == ["/story/1"], "its headline shows that it is known"
    assert kept(world) == {story("slug"): 1}


def test_a_listed_page_with_the_headline_of_the_one_that_names_it_is_not_read(site, world):
    title = "Seven bridges over the river are closed"
    for n in (1, 2):
        put(site, story(n), page_of(7, head=canonical(story(2)), title=title))
    feed_of(site, world, story(1), story(2), titles=[title, title])
    world.crawl("-s", "CONCURRENT_REQUESTS=1")
    assert kept(world) == {story(2): 7}
    assert len(requested(site)) == 1
