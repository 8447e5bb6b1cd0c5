"""Complete crawls of pages and sites that redirect."""

from __future__ import annotations

import time

import pytest

from tests.crawls import article_html, feed_xml
from tests.newssite import HOST, feed_of, serve, with_due


def test_a_redirected_article_is_fetched_again_under_its_own_url(site, world):
    site.page(f"{HOST}/go/1", status=302, headers={"Location": f"{HOST}/story/1"})
    site.page(f"{HOST}/story/1", article_html(1))
    feed_of(site, world, f"{HOST}/go/1")
    world.rule(
        "_defaults",
        "delay: 0\ninterval: {feed: 10m, article: 1}\n"
        "recrawl: {feed: fixed, sitemap: fixed, section: fixed, article: fixed}\n",
    )
    world.crawl()
    for word in ("No vote", "Any vote"):
        time.sleep(1)
        site.page(f"{HOST}/story/1", article_html(1).replace("A vote is planned", f"{word} is planned"))
        assert world.crawl().stat("articles/updated") == 1
    page = world.page(f"{HOST}/story/1")
    assert page is not None
    assert page.last_fetched is not None
    assert page.http_status == 200
    assert site.seen().count("/go/1") == 1


def test_a_redirect_whose_target_failed_is_followed_again(site, world):
    site.page(f"{HOST}/go/1", status=302, headers={"Location": f"{HOST}/story/1"})
    site.page(f"{HOST}/story/1", status=404)
    feed_of(site, world, f"{HOST}/go/1")
    world.crawl()
    site.page(f"{HOST}/story/1", article_html(1))
    with_due(world, f"{HOST}/go/1")
    world.crawl()
    assert world.urls() == [f"{HOST}/story/1"]


def test_a_redirect_to_a_denied_address_is_not_followed(site, world):
    site.page(f"{HOST}/story/1", status=302, headers={"Location": "/login?next=1"})
    site.page(f"{HOST}/login?next=1", article_html(1))
    feed_of(site, world, f"{HOST}/story/1")
    world.rule(
        "_defaults",
        "delay: 0\ninterval: {feed: 10m, article: 1}\n"
        "recrawl: {feed: fixed, sitemap: fixed, section: fixed, article: fixed}\ndeny: ['^/login']\n",
    )
    crawl = world.crawl()
    assert "/login?next=1" not in site.seen()
    assert crawl.stat("errors/denied") == 1


def test_an_article_that_redirects_to_another_site_with_a_rule_belongs_to_that_site(site, world):
    site.page(f"{HOST}/go/1", status=302, headers={"Location": "http://other.test/story/1"})
    serve(site, world, 2, host="other.test")
    feed_of(site, world, f"{HOST}/go/1")
    world.crawl()
    assert sorted((article.source, article.canonical_url) for article in world.articles()) == [
        ("other.test", "http://other.test/story/0"),
        ("other.test", "http://other.test/story/1"),
    ]


def test_the_target_host_of_a_redirect_rests_on_its_retry_after(site, world):
    site.page(f"{HOST}/go/1", status=302, headers={"Location": "http://busy.test/story/1"})
    site.page("http://busy.test/story/1", status=503, headers={"Retry-After": "90"})
    for n in range(3):
        site.page(f"{HOST}/story/{n}", article_html(n))
    feed_of(site, world, f"{HOST}/go/1", *[f"{HOST}/story/{n}" for n in range(3)])
    world.rule("_defaults", "delay: 0.5\ninterval: {feed: 10m, article: 30d}\n")
    process = world.start()
    try:
        end = time.monotonic() + 60
        while len([path for path in site.seen("news.test") if path.startswith("/story/")]) < 3:
            assert time.monotonic() < end, "the redirecting host must not rest"
            time.sleep(0.1)
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize(
    "location",
    ["http://[bad/", "//", "http://exa mple/", "ftp://news.test/x", "/" + "x" * 9000, "http://а%/", ""],
)
def test_a_redirect_to_nonsense_is_counted_and_the_rest_is_stored(site, world, location):
    site.page(f"{HOST}/story/1", article_html(1))
    site.page(f"{HOST}/go/1", status=302, headers={"Location": location})
    feed_of(site, world, f"{HOST}/go/1", f"{HOST}/story/1")
    crawl = world.crawl("-s", "NEWSBOT_PATIENCE=1")
    assert crawl.code == 0
    assert world.urls() == [f"{HOST}/story/1"]
    assert "Traceback" not in crawl.err
    assert crawl.stat("errors/unknown") == 0


@pytest.mark.parametrize(
    ("location", "path"),
    [
        ("/a story", "/a%20story"),
        ("/мост".encode().decode("latin-1"), "/%D0%BC%D0%BE%D1%81%D1%82"),
        ("/caf\xe9", "/caf%E9"),
        (r"\\news.test\story", "/story"),
        ("http:////news.test/story", "/story"),
        ("http:/story", "/story"),
        ("  /sto\try ", "/story"),
        ("///news.test/story", "/story"),
        ("/a/../story", "/story"),
        ("story", "/go/story"),
    ],
)
def test_the_address_of_a_redirect_is_read_as_in_browsers(site, world, location, path):
    site.page(f"{HOST}/go/1", status=302, headers={"Location": location})
    site.page(f"{HOST}{path}", article_html(1))
    feed_of(site, world, f"{HOST}/go/1")
    world.crawl()
    assert world.urls() == [f"{HOST}{path}"]


@pytest.mark.parametrize("feed", [True, False])
def test_a_site_that_moved_to_another_host_is_read_there(site, world, feed):
    there = "http://www.new.test"
    stories = [f"{there}/2026/11/20/a-long-story-about-the-bridge-{number}" for number in range(3)]
    links = "".join(f"<p><a href='{url}'>A headline of more than five words</a></p>" for url in stories)
    site.page(f"{HOST}/", status=301, headers={"Location": f"{there}/"})
    site.page(f"{there}/", f"<html><body>{'' if feed else links}</body></html>")
    if feed:
        site.page(f"{there}/feed", feed_xml(stories), headers={"Content-Type": "text/xml"})
    for number, url in enumerate(stories):
        site.page(url, article_html(number))
    world.rule("news.test", f"domain: news.test\nseeds: {HOST}/\n")
    crawl = world.crawl("-a", "sites=news.test")
    assert world.urls() == stories
    assert "site moved domain=news.test to=new.test" in crawl.err


FORWARDS = [
    '<html><head><meta http-equiv="refresh" content="0; url={}"></head></html>',
    "<head><noscript><META HTTP-EQUIV=Refresh CONTENT=\"1;URL='{}'\"></noscript></head><p>Please wait",
    '<title>Moved</title><meta content="0;{}" http-equiv="REFRESH"><a href="{}">Go on</a>',
]


@pytest.mark.parametrize("markup", FORWARDS)
def test_a_page_that_only_forwards_is_followed_like_a_redirect(site, world, markup):
    site.page(f"{HOST}/go/1", markup.replace("{}", f"{HOST}/story/1"))
    site.page(f"{HOST}/story/1", article_html(1))
    feed_of(site, world, f"{HOST}/go/1")
    crawl = world.crawl()
    assert world.urls() == [f"{HOST}/story/1"]
    assert crawl.stat("errors/redirect_stub") == 0


def test_the_header_refresh_forwards_too(site, world):
    site.page(
        f"{HOST}/go/1", "<p>One moment", headers={"Refresh": "0; url=/story/1", "Content-Type": "text/html"}
    )
    site.page(f"{HOST}/story/1", article_html(1))
    feed_of(site, world, f"{HOST}/go/1")
    world.crawl()
    assert world.urls() == [f"{HOST}/story/1"]


def test_a_home_page_that_forwards_is_read_at_its_target(site, world):
    site.page(f"{HOST}/", FORWARDS[0].format("/front/"))
    links = "".join(
        f'<h2><a href="/story/{n}">Council of the old town votes on plan {n}</a></h2>' for n in range(1, 6)
    )
    site.page(f"{HOST}/front/", f"<html><body><main>{links}</main></body></html>")
    for n in range(1, 6):
        site.page(f"{HOST}/story/{n}", article_html(n))
    world.rule("news.test", f"domain: news.test\nseeds: {HOST}/\narticle: ['^/story/']\n")
    world.crawl()
    assert sorted(world.urls()) == [f"{HOST}/story/{n}" for n in range(1, 6)]


def test_pages_that_forward_in_a_circle_are_an_error(site, world):
    site.page(f"{HOST}/go/1", FORWARDS[0].format("/go/2"))
    site.page(f"{HOST}/go/2", FORWARDS[0].format("/go/1"))
    feed_of(site, world, f"{HOST}/go/1")
    crawl = world.crawl()
    assert crawl.stat("errors/redirects") == 1
    assert site.seen().count("/go/1") == 1


def test_a_page_with_a_text_of_its_own_is_read_although_it_forwards(site, world):
    markup = article_html(1).replace(
        "<head>", '<head><noscript><meta http-equiv=refresh content="0;/no"></noscript>'
    )
    site.page(f"{HOST}/story/1", markup)
    site.page(f"{HOST}/no", "<p>Please switch on scripts")
    feed_of(site, world, f"{HOST}/story/1")
    world.crawl()
    assert world.urls() == [f"{HOST}/story/1"]
    assert "/no" not in site.seen()


@pytest.mark.parametrize("coding", ["aws-chunked", "UTF-8", "none", "", "gzip"])
def test_a_page_with_an_unknown_or_wrong_coding_is_read(site, world, coding):
    site.page(
        f"{HOST}/story/1",
        article_html(1),
        headers={"Content-Encoding": coding, "Content-Type": "text/html; charset=utf-8"},
    )
    feed_of(site, world, f"{HOST}/story/1")
    world.crawl()
    assert world.urls() == [f"{HOST}/story/1"]


@pytest.mark.parametrize(
    ("path", "linked"),
    [
        ("/2026/11/harbour-council-votes", ""),
        ("/harbour", ""),
        ("/2026/11/harbour-council-votes", "?abs=17"),
    ],
)
def test_an_article_under_a_copy_with_parameters_keeps_its_own_url(site, world, path, linked, tmp_path):
    url, copy = f"{HOST}{path}", f"{HOST}{path}?abs=17"
    page = article_html(1, head=f"<link rel=canonical href='{url}'>")
    site.page(url, status=302, headers={"Location": copy})
    site.page(copy, page)
    feed_of(site, world, url + linked)
    world.rule(
        "_defaults",
        "delay: 0\ninterval: {feed: 10m, article: 1}\n"
        "recrawl: {feed: fixed, sitemap: fixed, section: fixed, article: fixed}\n",
    )
    options = ("-s", f"NEWSBOT_WARC_DIR={tmp_path / 'warc'}")
    world.crawl(*options)
    [article] = world.articles()
    assert (article.url, article.canonical_url, article.fetched_url) == (url, url, copy)
    # A later version, with another beginning, is a version of the same article.
    time.sleep(1)
    site.page(copy, article_html(2, head=f"<link rel=canonical href='{url}'>"))
    assert world.crawl(*options).stat("articles/updated") == 1
    [article] = world.articles()
    assert (article.url, article.canonical_url, article.version) == (url, url, 2)
    # Both URLs lead to the article, its archived page, and its removal.
    for one in (url, copy):
        assert "<html" in world.scrapy("articles", "show", one, "--original", *options).out
    assert world.scrapy("remove", copy, "--yes", *options).code == 0
    assert world.articles() == []
