"""Complete crawls of a local web: the path of a URL from rule to stored article."""

from __future__ import annotations

import json
import re
import sys
import time
from datetime import UTC, datetime

import pytest

from newsbot.items import Kind
from tests import warm
from tests.crawls import ROOT, article_html, feed_xml
from tests.newssite import feed_of

XML = {"Content-Type": "application/rss+xml"}
HOST = "http://news.test"


@pytest.fixture
def news(site, world):
    """A site with a feed of three articles, and a rule with the feed."""
    urls = [f"{HOST}/story/{n}?a=1&b=2" for n in range(3)]
    for n, url in enumerate(urls):
        site.page(url, article_html(n))
    site.page(f"{HOST}/feed.xml", feed_xml(urls), headers=XML)
    world.rule("news.test", f"domain: news.test\nfeeds: {HOST}/feed.xml\n")
    return urls


def test_articles_of_a_feed_are_stored_once_with_title_and_text(world, news):
    crawl = world.crawl()
    assert crawl.code == 0, crawl.err
    articles = world.articles()
    assert sorted(article.url for article in articles) == news
    first = next(article for article in articles if "/story/1?" in article.url)
    assert first.title == "Council story number 1 about the bridge"
    assert "water rose again" in first.text
    assert first.published_at == datetime(2026, 11, 20, 8, tzinfo=UTC)
    assert first.source == "news.test"
    assert first.language == "en"
    assert crawl.stat("articles/new") == 3


def test_a_second_crawl_fetches_nothing_before_the_intervals_are_over(world, site, news):
    world.crawl()
    before = len(site.log)
    again = world.crawl()
    assert again.code == 0
    assert len(site.log) == before
    assert re.search(rf"next source due: in \d+ min \({HOST}/feed.xml\), [01] of 1 within", again.err)
    assert "to read them" not in again.err


def test_now_makes_all_sources_due(world, site, news):
    world.crawl()
    site.page(f"{HOST}/feed.xml", feed_xml([*news, f"{HOST}/story/9"]), headers=XML)
    site.page(f"{HOST}/story/9", article_html(9))
    assert world.crawl("-a", "now=yes").stat("articles/new") == 1
    assert site.seen().count("/feed.xml") == 2
    added = warm.run(
        [sys.executable, "-m", "scrapy", "add", "--due", "news.test"], cwd=ROOT, env=world.environment()
    )
    assert "news.test: 1 source due now" in added.stdout, added.stderr
    world.crawl()
    assert site.seen().count("/feed.xml") == 3
    world.crawl()
    assert site.seen().count("/feed.xml") == 3, "the feed must be polled only once more"


def test_now_includes_sources_without_a_rule(world, site, news):
    feed = "http://other.test/feed.xml"
    stories = [f"http://other.test/story/{n}" for n in range(2)]
    for n, url in enumerate(stories):
        site.page(url, article_html(50 + n))
    site.page(feed, feed_xml(stories[:1]), headers=XML)
    assert world.crawl("-a", f"feeds={feed}").stat("articles/new") == 1
    site.page(feed, feed_xml(stories), headers=XML)
    world.crawl("-a", "now=yes", "-O", f"{world.folder / 'new.csv'}")
    assert stories[1] in world.urls()
    assert stories[1] in (world.folder / "new.csv").read_text()


def test_a_csv_file_of_a_crawl_contains_no_formula(world, site):
    site.page(f"{HOST}/story/1", article_html(1, title="=cmd()|bridge of the council"))
    feed_of(site, world, f"{HOST}/story/1")
    world.crawl("-O", f"{world.folder / 'new.csv'}")
    assert "'=cmd()" in (world.folder / "new.csv").read_text()


def test_a_crawl_that_follows_no_links_says_why(world, site):
    world.rule(
        "news.test", f"domain: news.test\nseeds: {HOST}/\nfollow: [sitemaps]\nsections: {HOST}/city/\n"
    )
    links = "".join(f"<a href='/2026/11/20/bridge-{n}'>A headline of some words</a>" for n in range(3))
    site.page(f"{HOST}/city/", f"<html><body>{links}</body></html>")
    crawl = world.crawl()
    assert "no seeds sites=1 (news.test) follow=sitemaps" in crawl.err
    crawl = world.crawl("-a", f"url={HOST}/city/")
    assert "no link was followed: not_followed 3" in crawl.err


def test_after_its_interval_a_feed_is_requested_with_its_etag_and_304_is_counted(world, site, news):
    world.rule(
        "_defaults",
        "delay: 0\ninterval: {feed: 1, article: 30d}\n"
        "recrawl: {feed: fixed, sitemap: fixed, section: fixed, article: fixed}\n",
    )
    world.crawl()
    time.sleep(1)  # the interval
    again = world.crawl()
    requests = site.requests("/feed.xml")
    assert [record.status for record in requests] == [200, 304]
    assert requests[1].conditional
    assert again.stat("unchanged") == 1
    assert len(world.articles()) == 3


def test_a_one_line_rule_finds_feed_sitemap_and_sections_by_itself(world, site):
    """The site does not answer https, so the home page is fetched again by http."""
    pages = [f"{HOST}/2026/11/20/story-about-bridge-number-{n}" for n in range(6)]
    for n, url in enumerate(pages):
        site.page(url, article_html(n))
    home = (
        '<html><head><link rel="alternate" type="application/rss+xml" href="/my-feed"></head><body>'
        '<nav><a href="/city/">City</a></nav><h1>News</h1></body></html>'
    )
    site.page(f"{HOST}/", home)
    site.page(f"{HOST}/my-feed", feed_xml(pages[:2]), headers=XML)
    site.page(
        f"{HOST}/city/",
        f'<html><body><a href="{pages[4]}">A headline of more than five words</a></body></html>',
    )
    site.page(f"{HOST}/sm.xml", _news_sitemap(pages[2:4]), headers={"Content-Type": "application/xml"})
    site.robots(f"Sitemap: {HOST}/sm.xml\n", host="news.test")
    world.rule("news.test")
    crawl = world.crawl()
    assert crawl.code == 0, crawl.err
    assert world.urls() == pages[:5]
    kinds = {
        url: page.kind
        for url in (f"{HOST}/my-feed", f"{HOST}/sm.xml", f"{HOST}/city/")
        if (page := world.page(url))
    }
    assert list(kinds.values()) == [Kind.FEED, Kind.SITEMAP, Kind.SECTION]


def _news_sitemap(urls: list[str]) -> str:
    rows = "".join(
        f"<url><loc>{url}</loc><news:news><news:publication_date>2026-11-20T08:00:00Z</news:publication_date>"
        f"<news:title>Council story</news:title></news:news></url>"
        for url in urls
    )
    return (
        '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" '
        f'xmlns:news="http://www.google.com/schemas/sitemap-news/0.9">{rows}</urlset>'
    )


def test_the_same_text_under_two_urls_is_stored_once_and_found_under_both(world, site, news):
    site.page(f"{HOST}/copy/1", article_html(1))
    site.page(f"{HOST}/feed.xml", feed_xml([*news, f"{HOST}/copy/1"]), headers=XML)
    crawl = world.crawl()
    assert len(world.articles()) == 3
    assert crawl.stat("duplicates/text") == 1
    with world.storage() as storage:
        one, other = storage.articles.get(f"{HOST}/copy/1"), storage.articles.get(news[1])
        assert one is not None
        assert other is not None
        assert one.canonical_url == other.canonical_url


def test_a_near_copy_on_another_site_joins_the_story(world, site, news):
    world.rule("other.test", "domain: other.test\nfeeds: http://other.test/feed.xml\n")
    text = article_html(0).replace("hours.", "hours, as an agency reports.")
    site.page("http://other.test/x/1", text)
    site.page("http://other.test/feed.xml", feed_xml(["http://other.test/x/1"]), headers=XML)
    world.crawl()
    by_url = {article.url: article for article in world.articles()}
    assert len(by_url) == 4
    assert by_url["http://other.test/x/1"].story == by_url[news[0]].story
    assert by_url[news[1]].story != by_url[news[0]].story


def test_a_page_that_is_not_an_article_is_not_stored_and_the_reason_is_kept(world, site, news):
    site.page(
        f"{HOST}/short", "<html><head><title>Login</title></head><body><form>Password</form></body></html>"
    )
    site.page(f"{HOST}/feed.xml", feed_xml([*news, f"{HOST}/short"]), headers=XML)
    world.crawl()
    assert len(world.articles()) == 3
    assert any(event["event"] == "not_an_article" for event in world.events(f"{HOST}/short"))


def test_a_redirect_is_followed_in_one_visit_and_its_target_is_not_fetched_again(world, site, news):
    site.page(f"{HOST}/s/1", status=301, headers={"Location": news[0]})
    site.page(f"{HOST}/s/2", status=302, headers={"Location": "/s/3"})
    site.page(f"{HOST}/s/3", status=302, headers={"Location": f"{HOST}/story/9"})
    site.page(f"{HOST}/story/9", article_html(9))
    site.page(
        f"{HOST}/feed.xml", feed_xml([news[0], f"{HOST}/s/1", f"{HOST}/s/2", f"{HOST}/story/9"]), headers=XML
    )
    world.crawl()
    paths = site.seen("news.test")
    assert paths.count("/story/0?a=1&b=2") == 1
    assert paths.count("/story/9") == 1
    assert world.urls() == [f"{HOST}/story/0?a=1&b=2", f"{HOST}/story/9"]


def test_http_to_https_like_redirects_to_the_same_identity_do_not_loop(world, site):
    site.page("http://news.test/story/1", status=301, headers={"Location": "http://www.news.test/story/1"})
    site.page("http://www.news.test/story/1", article_html(1))
    site.page(f"{HOST}/feed.xml", feed_xml([f"{HOST}/story/1"]), headers=XML)
    world.rule("news.test", f"domain: news.test\nfeeds: {HOST}/feed.xml\n")
    world.crawl()
    assert len(world.articles()) == 1
    assert len([path for path in site.seen() if path == "/story/1"]) == 2


def test_an_edited_article_becomes_a_second_version(world, site, news):
    world.rule(
        "_defaults",
        "delay: 0\ninterval: {feed: 1, article: 1}\n"
        "recrawl: {feed: fixed, sitemap: fixed, section: fixed, article: fixed}\n",
    )
    world.crawl()
    time.sleep(1)  # the interval
    site.page(news[0], article_html(0).replace("A vote is planned", "No vote is planned"))
    crawl = world.crawl()
    assert crawl.stat("articles/updated") == 1
    with world.storage() as storage:
        article = storage.articles.get(news[0])
        assert article is not None
        assert article.version == 2
        assert [version.version for version in storage.articles.versions(article.canonical_url)] == [1, 2]


def test_the_argument_sites_excludes_other_sites(world, site, news):
    world.rule("other.test", "domain: other.test\nfeeds: http://other.test/feed.xml\n")
    site.page("http://other.test/feed.xml", feed_xml([]), headers=XML)
    world.crawl("-a", "sites=news.test")
    assert not site.seen("other.test")
    assert len(world.articles()) == 3


def test_url_argument_needs_no_rule_and_reads_that_site_only(world, site, news):
    site.page("http://fresh.test/a/story-of-the-day-1", article_html(7))
    crawl = world.crawl("-a", "url=http://fresh.test/a/story-of-the-day-1", "-O", "-:jsonl")
    assert crawl.code == 0
    rows = [json.loads(line) for line in crawl.out.splitlines()]
    assert [row["url"] for row in rows] == ["http://fresh.test/a/story-of-the-day-1"]
    assert rows[0]["published_at"] == "2026-11-20T08:00:00Z"
    assert not site.seen("news.test")


def test_max_articles_is_exact_and_the_next_crawl_gets_the_rest(world, news):
    crawl = world.crawl("-a", "max_articles=2")
    assert crawl.code == 0
    assert len(world.articles()) == 2
    world.crawl()
    assert len(world.articles()) == 3


def test_max_articles_per_site_holds_for_each_site(world, site, news):
    urls = [f"http://other.test/x/{n}" for n in range(3)]
    for n, url in enumerate(urls):
        site.page(url, article_html(20 + n))
    site.page("http://other.test/feed.xml", feed_xml(urls), headers=XML)
    world.rule("other.test", "domain: other.test\nfeeds: http://other.test/feed.xml\n")
    world.crawl("-a", "max_articles_per_site=1")
    assert sorted(article.source for article in world.articles()) == ["news.test", "other.test"]
    world.crawl()
    assert len(world.articles()) == 6


def test_since_skips_older_articles(world, site, news):
    crawl = world.crawl("-a", "since=2026-11-21")
    assert not world.articles()
    assert crawl.stat("dropped/before_since") == 3


def test_follow_selects_what_is_read(world, site, news):
    world.rule("news.test", f"domain: news.test\nfeeds: {HOST}/feed.xml\nsections: {HOST}/city/\n")
    site.page(f"{HOST}/city/", "<html><body></body></html>")
    world.crawl("-a", "follow=sections")
    assert "/city/" in site.seen("news.test")
    assert "/feed.xml" not in site.seen("news.test")


def test_a_dry_run_stores_nothing_but_prints_the_articles(world, news):
    crawl = world.crawl("-a", "dry_run=yes", "-O", "-:jsonl")
    assert len(crawl.out.splitlines()) == 3
    assert not world.data.exists()


def test_links_five_clicks_deep_are_reached_and_not_one_more(world, site):
    chain = [f"{HOST}/list/{depth}/" for depth in range(1, 7)]
    for here, there in zip([f"{HOST}/", *chain], chain, strict=False):
        number = chain.index(there)
        link = f'<a href="{there}">on</a> <a href="{HOST}/story/{number}">A headline of quite some words</a>'
        site.page(here, f"<html><body>{link}</body></html>")
        site.page(f"{HOST}/story/{number}", article_html(number))
    world.rule(
        "news.test",
        f"domain: news.test\nseeds: {HOST}/\narticle: ^/story/\nsection: ^/list/\nfollow: [sections]\n",
    )
    world.crawl()
    assert world.urls() == [f"{HOST}/story/{n}" for n in range(5)]


def test_continuous_mode_takes_urls_added_from_outside_and_stops_cleanly(world, site, news):
    import signal
    import sys
    import time

    from tests.crawls import ROOT

    site.page(f"{HOST}/late", article_html(50))
    process = world.start("-a", "mode=continuous")
    try:
        _until(lambda: len(site.requests("/story/2?a=1&b=2")) == 1)
        command = [sys.executable, "-m", "scrapy", "add", f"{HOST}/late"]
        added = warm.run(command, cwd=ROOT, env=world.environment())
        assert added.returncode == 0, added.stderr
        _until(lambda: len(site.requests("/late")) == 1)
        time.sleep(0.2)
    finally:
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=30)
    assert process.returncode == 0, err
    assert f"{HOST}/late" in world.urls()
    from newsbot.frontier.sqlite.frontier import SqliteFrontier

    frontier = SqliteFrontier(world.data / "newsbot.db")
    assert frontier.counts()["leased"] == 0
    frontier.close()


def _until(condition, seconds=30.0):
    import time

    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "timeout"
        time.sleep(0.05)


def test_a_feed_on_another_host_belongs_to_the_site_whose_rule_names_it(world, site):
    urls = [f"{HOST}/story/1", "http://elsewhere.test/story/2"]
    for n, url in enumerate(urls):
        site.page(url, article_html(n))
    site.page("http://feeds.burner.test/news", feed_xml(urls), headers=XML)
    world.rule("news.test", "domain: news.test\nfeeds: http://feeds.burner.test/news\n")
    crawl = world.crawl()
    assert world.urls() == sorted(urls), "articles of other sites are stored too"
    assert {article.source for article in world.articles()} == {"news.test", "elsewhere.test"}
    assert crawl.stat("links/rejected/offsite") == 0
    with world.storage() as storage:
        assert [record.source for record in storage.sources.all()] == ["news.test"]


def test_items_of_a_feed_that_a_user_names_are_read_on_any_host(world, site, news):
    site.page("http://elsewhere.test/story/2", article_html(42))
    site.page("http://mix.test/all.xml", feed_xml(["http://elsewhere.test/story/2", news[0]]), headers=XML)
    world.crawl("-a", "feeds=http://mix.test/all.xml")
    assert world.urls() == ["http://elsewhere.test/story/2", news[0]]
    assert "/feed.xml" not in site.seen("news.test")


def test_a_site_that_answers_only_under_www_is_found_by_its_domain(world, site):
    url = "http://www.bare.test/2026/11/20/story-about-the-bridge-number-1"
    site.page(url, article_html(1))
    site.page(
        "http://www.bare.test/",
        f'<html><body><a href="{url}">A headline of some more words</a></body></html>',
    )
    site.page("http://bare.test/", "gone", status=404)
    world.rule("bare.test")
    world.crawl()
    assert world.urls() == [url]


def test_follow_links_begins_at_the_home_page(world, site, news):
    headline = "A headline of the day in quite some words"
    home = f"<a href='{HOST}/2026/11/20/bridge-is-open-again-1'>{headline}</a>"
    more = f"<a href='{HOST}/2026/11/21/bridge-is-shut-again-2'>{headline}</a>"
    site.page(f"{HOST}/", f"<html><body>{home}</body></html>")
    site.page(f"{HOST}/2026/11/20/bridge-is-open-again-1", article_html(61, extra=more))
    site.page(f"{HOST}/2026/11/21/bridge-is-shut-again-2", article_html(62))
    world.crawl("-a", "follow=links")
    assert len(world.urls()) == 2
    assert "/feed.xml" not in site.seen("news.test")
