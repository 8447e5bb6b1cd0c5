"""Reading a response: the links and articles in it, and the data on the page."""

from __future__ import annotations

import hashlib

import pytest

from newsbot.clock import utc
from newsbot.crawl.visit import Found
from newsbot.items import Article, Kind, Where
from newsbot.spiders import sources
from newsbot.urls import canonicalize
from tests.builders import START, fill, make_request, make_response
from tests.crawls import article_html, feed_xml

FEED = "https://news.test/feed.xml"
MAP = "https://news.test/map.xml"
STORY = "https://news.test/story/1"
HTML = {"Content-Type": "text/html; charset=utf-8"}


def read(desk, visit, body=b"", status=200, headers=None):
    request = make_request(visit)
    response = make_response(request, body, status, {**HTML, **(headers or {})})
    fill(visit, status=status)
    return list(desk.read(response, visit))


def urls(found):
    return [link.url for link in found.links]


def index(*children):
    body = "".join(f"<sitemap><loc>{url}</loc>{last}</sitemap>" for url, last in children)
    return f'<sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{body}</sitemapindex>'


def test_a_feed_yields_its_items(desk):
    visit = desk.visit(FEED, Kind.FEED, depth=0)
    [found] = read(desk, visit, feed_xml([STORY, "https://news.test/story/2"]))
    assert urls(found) == [STORY, "https://news.test/story/2"]
    assert (found.referrer, found.depth, found.force) == (FEED, 1, False)
    assert {link.where for link in found.links} == {Where.FEED}
    assert visit.reading.links_count == 2
    assert visit.outcome.changed
    assert visit.outcome.error is None
    assert desk.stat("fetched/feed") == desk.stat("site/news.test/fetched") == 1


@pytest.mark.parametrize(
    ("kind", "body", "cause"),
    [
        (Kind.FEED, "<html><body>no feed</body></html>", "feed_"),
        (Kind.FEED, "", "feed_"),
        (Kind.SITEMAP, "<html><body>no sitemap</body></html>", "sitemap_"),
    ],
)
def test_an_invalid_source_is_an_error_with_a_cause(desk, kind, body, cause):
    visit = desk.visit(FEED, kind)
    assert read(desk, visit, body) == []
    assert visit.outcome.error.startswith(cause)
    assert desk.stat(f"errors/{visit.outcome.error}") == desk.stat("site/news.test/errors") == 1
    assert visit.events[-1]["event"] == "unreadable"


@pytest.mark.parametrize(
    ("status", "cause", "kind", "pages"),
    [(404, "http_404", Kind.ARTICLE, 1), (503, "http_5xx", Kind.FEED, 0), (304, None, Kind.ARTICLE, 0)],
)
def test_responses_without_a_page(desk, status, cause, kind, pages):
    visit = desk.visit(STORY, kind)
    assert read(desk, visit, "x", status) == []
    assert visit.outcome.error == cause
    assert desk.stat("unchanged") == (status == 304)
    assert desk.stat("site/news.test/pages") == pages
    assert visit.reading.content_hash is None


def test_a_source_with_the_same_bytes_is_not_read_again(desk):
    body = feed_xml([STORY])
    for number, expected in enumerate((1, 0)):
        visit = desk.visit(FEED, Kind.FEED)
        assert len(read(desk, visit, body)) == expected
        assert visit.outcome.changed is (number == 0)
        assert visit.reading.content_hash == hashlib.blake2b(body.encode(), digest_size=16).hexdigest()
        desk.settle(visit)
    assert desk.stat("unchanged") == 1
    assert len(read(desk, desk.visit(FEED, Kind.FEED), feed_xml([STORY, STORY + "0"]))) == 1


def test_a_sitemap_index_yields_its_parts_up_to_a_depth_limit(desk):
    body = index((MAP, ""), ("https://news.test/map2.xml", ""))
    visit = desk.visit("https://news.test/index.xml", Kind.SITEMAP, depth=1)
    found = [one for one in read(desk, visit, body) if one.links]
    assert [url for one in found for url in urls(one)] == [MAP, "https://news.test/map2.xml"]
    assert {(link.kind, link.where) for one in found for link in one.links} == {(Kind.SITEMAP, Where.SITEMAP)}
    assert {one.depth for one in found} == {2}
    assert visit.reading.links_count == 2
    deep = desk.visit("https://news.test/deep.xml", Kind.SITEMAP, depth=5)
    assert not any(one.links for one in read(desk, deep, body))


def test_a_long_index_is_chosen_in_steps(desk, monkeypatch):
    """The event loop is free between two steps, and each step handles 500 files."""
    done = []

    def counted(url, *keys):
        done.append(url)
        return canonicalize(url, *keys)

    monkeypatch.setattr(sources, "canonicalize", counted)
    maps = [f"https://news.test/maps/{number}.xml" for number in range(3500)]
    visit = desk.visit("https://news.test/index.xml", Kind.SITEMAP)
    body = index(*((url, "2026-01-01") for url in maps))
    response = make_response(make_request(visit), body, 200, HTML)
    steps, before = [], 0
    for _ in desk.read(response, visit):
        steps.append(len(done) - before)
        before = len(done)
    assert max(steps) == 500
    assert done == maps


def test_an_invalid_url_in_an_index_is_skipped(desk):
    body = index(("https://news.test:99999/x", ""), ("http://[", ""), (MAP, ""))
    found = read(desk, desk.visit("https://news.test/index.xml", Kind.SITEMAP), body)
    assert MAP in [url for one in found for url in urls(one)]


def test_an_article_page_yields_the_article(desk):
    visit = desk.visit(STORY, text="From the feed")
    desk.clock.now += 50
    [article] = read(desk, visit, article_html(1))
    assert isinstance(article, Article)
    assert article.title == "Council story number 1 about the bridge"
    assert (article.discovered_at, article.fetched_at) == (utc(START), utc(START + 50))
    assert article.source == "news.test"
    assert visit.outcome.is_article
    assert visit.reading.canonical_url == STORY
    counted = ("pages", "pages/articles", "site/news.test/pages", "site/news.test/article_pages")
    assert [desk.stat(name) for name in counted] == [1, 1, 1, 1]


def test_the_reason_is_recorded_if_a_page_is_not_an_article(desk):
    visit = desk.visit(STORY)
    assert read(desk, visit, "<html><body><p>Nothing here.</p></body></html>") == []
    assert visit.outcome.is_article is False
    assert visit.outcome.error is None
    [event] = [event for event in visit.events if event["event"] == "not_an_article"]
    assert desk.stat(f"not_article/{event['reason']}") == 1
    assert (desk.stat("pages"), desk.stat("pages/articles")) == (1, 0)


def test_links_of_an_article_are_read_only_if_they_are_followed(make_desk):
    more = "<a href='/story/2'>Another story of the council and its bridge</a>"
    desk = make_desk({"bare.test": "domain: bare.test\n"})
    visit = desk.visit("https://bare.test/story/1", where=Where.ARGUMENT)
    [article, found] = read(desk, visit, article_html(1, extra=more))
    assert isinstance(article, Article)
    assert isinstance(found, Found)
    assert "https://bare.test/story/2" in urls(found)
    desk.crawl.sources.of("bare.test").add(Kind.FEED)
    visit = desk.visit("https://bare.test/story/3", where=Where.ARGUMENT)
    assert len(read(desk, visit, article_html(3, extra=more))) == 1


SOURCES = (
    "<html><head><link rel='alternate' type='application/rss+xml' href='/rss'></head>"
    "<body><a href='/story/2'>A story of the council and its bridge</a></body></html>"
)


@pytest.mark.parametrize(
    ("rule", "where", "found"),
    [
        ("", Where.SEED, True),
        ("", Where.BODY, False),
        ("feeds: https://bare.test/f\n", Where.SEED, False),
    ],
)
def test_feeds_of_a_home_page_are_used_if_the_rule_has_no_sources(make_desk, rule, where, found):
    desk = make_desk({"bare.test": f"domain: bare.test\n{rule}"})
    visit = desk.visit("https://bare.test/", Kind.SECTION, where=where, depth=0)
    results = read(desk, visit, SOURCES)
    links = [link for one in results for link in one.links]
    assert ("https://bare.test/rss" in [link.url for link in links if link.kind is Kind.FEED]) is found
    assert "https://bare.test/story/2" in [link.url for link in links]


@pytest.mark.parametrize(
    ("where", "rule", "body", "named"),
    [
        (Where.ARGUMENT, "", SOURCES, True),
        (Where.ARGUMENT, "", article_html(1, head=SOURCES[12:80]), False),
        (Where.BODY, "", SOURCES, False),
        (Where.ARGUMENT, "feeds: https://bare.test/f\n", SOURCES, False),
    ],
)
def test_a_front_page_named_by_a_user_may_have_any_url(make_desk, where, rule, body, named):
    desk = make_desk({"bare.test": f"domain: bare.test\n{rule}"})
    results = read(desk, desk.visit("https://bare.test/news", where=where), body)
    links = [link for one in results if isinstance(one, Found) for link in one.links]
    assert ([link.url for link in links if link.kind is Kind.FEED] == ["https://bare.test/rss"]) is named


def test_a_section_that_a_rule_names_is_not_an_article(desk):
    visit = desk.visit("https://news.test/politics/", Kind.SECTION, where=Where.SEED)
    results = read(desk, visit, article_html(1))
    assert not any(isinstance(one, Article) for one in results)
    assert desk.stat("pages") == 0
