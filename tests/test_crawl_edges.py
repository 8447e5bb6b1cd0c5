"""Whole crawls at their edges: workers side by side, odd answers, odd addresses, limits and dates."""

from __future__ import annotations

import os
import time
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from statistics import median

import pytest

from newsbot.demo.messages import Answer
from newsbot.items import Kind
from tests.crawls import SENTENCES, article_html, feed_xml

XML = {"Content-Type": "application/rss+xml"}
HTML = {"Content-Type": "text/html"}
HOST = "http://news.test"


def serve(site, world, number, rule="", *, host="news.test", first=0):
    urls = [f"http://{host}/story/{n}" for n in range(number)]
    for n, url in enumerate(urls):
        site.page(url, article_html(first + n))
    site.page(f"http://{host}/feed.xml", feed_xml(urls), headers=XML)
    world.rule(host, f"domain: {host}\nfeeds: http://{host}/feed.xml\n{rule}")
    return urls


def feed_of(site, world, *urls):
    site.page(f"{HOST}/feed.xml", feed_xml(list(urls)), headers=XML)
    world.rule("news.test", f"domain: news.test\nfeeds: {HOST}/feed.xml\n")


def sitemap_xml(pages, tag="url"):
    rows = "".join(
        f"<{tag}><loc>{url}</loc>{f'<lastmod>{when}</lastmod>' if when else ''}</{tag}>"
        for url, when in pages.items()
    )
    root = "urlset" if tag == "url" else "sitemapindex"
    return f'<?xml version="1.0"?><{root} xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{rows}</{root}>'


def ended(process, seconds=40):
    try:
        return process.communicate(timeout=seconds)
    except BaseException:
        process.kill()
        process.communicate()
        raise


# --- workers side by side
def test_a_crawl_of_one_site_does_not_wait_for_a_crawl_of_another(site, world):
    serve(site, world, 1)
    serve(site, world, 1, host="other.test", first=50)
    site.page("http://other.test/story/0", lambda _: Answer(body=b"late", headers=HTML, delay=90))
    slow = world.start("-a", "sites=other.test", "-s", "DOWNLOAD_TIMEOUT=120")
    try:
        end = time.monotonic() + 60
        while "/feed.xml" not in site.seen("other.test"):
            assert time.monotonic() < end
            time.sleep(0.05)
        crawl = world.crawl("-a", "sites=news.test", timeout=80)
        assert crawl.stat("articles/new") == 1
        assert slow.poll() is None, "the other crawl should still be under way"
    finally:
        slow.kill()
        slow.communicate()


def test_two_crawls_with_a_limit_for_each_site_do_not_wait_for_each_other_for_ever(site, world):
    urls = serve(site, world, 12)
    for n, url in enumerate(urls):
        page = article_html(n).encode()
        site.page(url, lambda _, page=page: Answer(body=page, headers=HTML, delay=0.5))
    crawls = [world.start("-a", "max_articles_per_site=1") for _ in range(2)]
    for process in crawls:
        ended(process)
        assert process.returncode == 0
    assert 1 <= len(world.articles()) <= 2


# --- limits
def test_max_articles_ends_the_crawl_when_it_has_them_not_with_the_next_one(site, world):
    urls = serve(site, world, 2)
    rest = [f"{HOST}/gone/{n}" for n in range(30)]
    feed_of(site, world, *urls, *rest)
    world.rule("_defaults", "delay: 0.2\ninterval: {feed: 10m, article: 30d}\n")
    crawl = world.crawl("-a", "max_articles=2")
    assert len(world.articles()) == 2
    assert crawl.stats["finish_reason"] == "max_articles"
    assert len([path for path in site.seen() if path.startswith("/gone/")]) < 25


# --- what a person asks for
def test_an_article_whose_address_ends_with_a_slash_is_read_as_one(site, world):
    url = "http://fresh.test/2026/11/20/council-talks-about-the-old-bridge/"
    site.page(url, article_html(1))
    world.rule("news.test")
    world.crawl("-a", f"url={url}")
    assert world.urls() == [url]


def test_a_url_asked_for_once_obeys_its_interval_afterwards(site, world):
    serve(site, world, 1)
    world.rule("_defaults", "delay: 0\ninterval: {feed: 10m, article: 30d}\n")
    world.crawl("-a", f"url={HOST}/story/0")
    assert len(site.requests("/story/0")) == 1
    with_due(world, f"{HOST}/story/0")
    again = world.crawl()
    assert len(site.requests("/story/0")) == 1
    assert again.stat("gated") == 1


def with_due(world, url):
    """Make a page due now, as a plan of shorter intervals would have."""
    import sqlite3

    from newsbot.urls import canonicalize, fingerprint

    db = sqlite3.connect(world.data / "newsbot.db")
    db.execute(
        "UPDATE frontier_urls SET at = 1 WHERE state = 'done' AND fingerprint = ?",
        (fingerprint(canonicalize(url)),),
    )
    db.commit()
    db.close()


def test_a_user_and_password_in_an_address_are_neither_sent_nor_kept(site, world):
    site.page(f"{HOST}/story/1", article_html(1))
    feed_of(site, world, "http://me:secret@news.test/story/1")
    crawl = world.crawl("-s", "LOG_LEVEL=DEBUG")
    assert world.urls() == [f"{HOST}/story/1"]
    assert "secret" not in crawl.err
    assert b"secret" not in (world.data / "newsbot.db").read_bytes()


def test_a_feed_whose_rule_follows_its_move_is_read_on(site, world):
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


def test_a_page_that_a_rule_calls_a_section_later_is_read_as_one(site, world):
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


# --- dates
def test_an_unchanged_sitemap_is_read_again_when_other_dates_are_asked_for(site, world):
    old, new = f"{HOST}/story/1", f"{HOST}/story/2"
    long_ago = (datetime.now(UTC) - timedelta(days=90)).isoformat(timespec="seconds")
    lately = (datetime.now(UTC) - timedelta(days=1)).isoformat(timespec="seconds")
    for n, (url, when) in enumerate(((old, long_ago), (new, lately))):
        site.page(url, article_html(n).replace("2026-11-20T08:00:00Z", when))
    site.page(
        f"{HOST}/sitemap.xml",
        sitemap_xml({old: long_ago, new: lately}),
        headers={"Content-Type": "application/xml"},
    )
    world.rule(
        "_defaults",
        "delay: 0\ninterval: {sitemap: 1, article: 30d}\n"
        "recrawl: {feed: fixed, sitemap: fixed, section: fixed, article: fixed}\n",
    )
    world.rule("news.test", f"domain: news.test\nsitemaps: {HOST}/sitemap.xml\narticle: ^/story/\n")
    world.crawl()
    assert world.urls() == [new]
    time.sleep(1)
    world.crawl("-a", "since=365d")
    assert world.urls() == [old, new]


def test_what_since_left_out_comes_with_the_next_crawl_without_it(site, world):
    old, new = f"{HOST}/story/1", f"{HOST}/story/2"
    before = (datetime.now(UTC) - timedelta(days=9)).isoformat(timespec="seconds")
    lately = (datetime.now(UTC) - timedelta(hours=1)).isoformat(timespec="seconds")
    for n, (url, when) in enumerate(((old, before), (new, lately))):
        site.page(url, article_html(n).replace("2026-11-20T08:00:00Z", when))
    site.page(
        f"{HOST}/sitemap.xml",
        sitemap_xml({old: before, new: lately}),
        headers={"Content-Type": "application/xml"},
    )
    world.rule(
        "_defaults",
        "delay: 0\ninterval: {sitemap: 1, article: 30d}\n"
        "recrawl: {feed: fixed, sitemap: fixed, section: fixed, article: fixed}\n",
    )
    world.rule("news.test", f"domain: news.test\nsitemaps: {HOST}/sitemap.xml\narticle: ^/story/\n")
    world.crawl("-a", "since=2d")
    assert world.urls() == [new]
    time.sleep(1)
    world.crawl()
    assert world.urls() == [old, new]


def test_an_unchanged_child_of_a_sitemap_index_rests_until_the_index_calls_it_newer(site, world):
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
    asked = [path for path in site.seen() if path.startswith("/map-")]
    assert len(asked) == 6, "twice each: found, then seen to be unchanged"
    assert world.urls() == [f"{HOST}/story/{n}" for n in range(3)]
    site.page(f"{HOST}/story/9", article_html(9))
    site.page(children[1], sitemap_xml({f"{HOST}/story/9": ""}), headers={"Content-Type": "application/xml"})
    index(n1=(datetime.now(UTC) + timedelta(seconds=5)).isoformat(timespec="seconds"))
    world.crawl()
    assert f"{HOST}/story/9" in world.urls()
    assert len([path for path in site.seen() if path.startswith("/map-")]) == 7


# --- redirects
def test_a_redirected_article_is_looked_at_again_under_its_own_address(site, world):
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


def test_a_host_that_a_redirect_leads_to_rests_when_it_asks_for_it(site, world):
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
            assert time.monotonic() < end, "the host that redirected was told to rest"
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


@pytest.mark.parametrize("feed", [True, False])
def test_a_site_that_moved_as_a_whole_is_read_where_it_is_now(site, world, feed):
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


# --- robots.txt
def test_robots_txt_that_redirects_in_a_circle_is_as_good_as_none(site, world):
    serve(site, world, 1)
    site.page(f"{HOST}/robots.txt", status=302, headers={"Location": f"{HOST}/robots2.txt"})
    site.page(f"{HOST}/robots2.txt", status=302, headers={"Location": f"{HOST}/robots.txt"})
    world.crawl("-s", "NEWSBOT_PATIENCE=1")
    assert world.urls() == [f"{HOST}/story/0"]


def test_robots_txt_elsewhere_and_of_any_form_is_read(site, world):
    serve(site, world, 2)
    site.page(f"{HOST}/robots.txt", status=301, headers={"Location": "http://www.news.test/robots.txt"})
    body = "\ufeffUser-agent: *\r\nDisallow: /story/1\r\n".encode() + b"# \xff\xfe\n" * 3
    site.page("http://www.news.test/robots.txt", body, headers={"Content-Type": "text/html"})
    world.crawl()
    assert world.urls() == [f"{HOST}/story/0"]


def test_of_a_huge_robots_txt_the_beginning_holds(site, world):
    serve(site, world, 2)
    site.robots("User-agent: *\nDisallow: /story/1\n" + "# a comment for each page of the site\n" * 100_000)
    world.crawl()
    assert world.urls() == [f"{HOST}/story/0"]


def test_the_delay_holds_after_a_slow_robots_txt(site, world):
    serve(site, world, 2, "delay: 0.8\n")
    text = b"User-agent: *\nDisallow: /private\n"
    site.page(
        f"{HOST}/robots.txt", lambda _: Answer(body=text, headers={"Content-Type": "text/plain"}, delay=0.7)
    )
    world.crawl()
    times = [record.at for record in site.log if record.path != "/robots.txt"]
    assert len(times) == 4  # feed, tdmrep.json, two stories
    assert min(later - earlier for earlier, later in pairwise(times)) >= 0.4, (
        "0.1 if robots.txt took its turn"
    )


def test_a_crawl_delay_outlives_the_start_of_another_worker(site, world):
    site.robots("User-agent: *\nCrawl-delay: 1\n", host="news.test")
    serve(site, world, 6)
    first = world.start()
    end = time.monotonic() + 60
    while "/story/0" not in site.seen() and not [p for p in site.seen() if p.startswith("/story/")]:
        assert time.monotonic() < end
        time.sleep(0.02)
    serve(site, world, 1, host="other.test", first=50)
    second = world.start()
    ended(first)
    ended(second)
    times = sorted(
        record.at for record in site.log if record.path.startswith("/story/") and record.host == "news.test"
    )
    assert len(times) == 6
    gaps = [later - earlier for earlier, later in pairwise(times)]
    assert median(gaps) >= 0.95


# --- odd answers
@pytest.mark.parametrize(
    ("headers", "body"),
    [
        ({"Content-Type": "text/html; charset=no-such-charset"}, None),
        ({"Content-Type": ""}, None),
        ({"Content-Type": "text/html", "ETag": '"\u00e9\u00ff"', "Server": "caf\u00e9"}, None),
        ({"Content-Type": "text/html", "Content-Language": "en"}, None),
    ],
)
def test_an_article_with_odd_headers_is_stored(site, world, headers, body):
    page = article_html(1).encode()
    site.page(f"{HOST}/story/1", lambda _: Answer(body=page, headers=headers, validators=False))
    feed_of(site, world, f"{HOST}/story/1")
    world.rule(
        "_defaults",
        "delay: 0\ninterval: {feed: 10m, article: 1}\n"
        "recrawl: {feed: fixed, sitemap: fixed, section: fixed, article: fixed}\n",
    )
    world.crawl()
    time.sleep(1)
    again = world.crawl()
    assert world.urls() == [f"{HOST}/story/1"]
    assert "Traceback" not in again.err


@pytest.mark.parametrize(
    ("headers", "body"),
    [
        ({"Content-Type": "application/json"}, '{"title": "x", "text": "' + SENTENCES[0] * 20 + '"}'),
        ({"Content-Type": "application/pdf"}, "%PDF-1.4\n" + "stream \0\1\2 " * 200),
        (
            XML,
            "".join(feed_xml([f"{HOST}/story/{n}" for n in range(4)])).replace(
                "</title><link>", f"</title><description>{SENTENCES[0] * 8}</description><link>"
            ),
        ),
        ({"Content-Type": "text/plain"}, SENTENCES[1] * 30),
    ],
)
def test_what_is_no_html_is_no_article(site, world, headers, body):
    site.page(f"{HOST}/story/1", article_html(1))
    site.page(f"{HOST}/story/odd", body, headers=headers)
    feed_of(site, world, f"{HOST}/story/odd", f"{HOST}/story/1")
    crawl = world.crawl()
    assert world.urls() == [f"{HOST}/story/1"]
    assert "Traceback" not in crawl.err


@pytest.mark.parametrize("status", [204, 205, 300, 304, 307])
def test_an_answer_without_a_page_is_no_article_and_no_fault_of_ours(site, world, status):
    site.page(f"{HOST}/story/1", article_html(1))
    site.page(f"{HOST}/story/2", status=status)
    feed_of(site, world, f"{HOST}/story/2", f"{HOST}/story/1")
    crawl = world.crawl("-s", "NEWSBOT_PATIENCE=1")
    assert world.urls() == [f"{HOST}/story/1"]
    assert crawl.code == 0
    assert "Traceback" not in crawl.err


# --- waiting
def test_a_crawl_that_waits_uses_no_processor_time(site, world):
    serve(site, world, 2)
    site.page(f"{HOST}/story/1", status=503, headers={"Retry-After": "60"})
    process = world.start()
    try:
        end = time.monotonic() + 60
        while "/story/1" not in site.seen():
            assert time.monotonic() < end
            time.sleep(0.05)
        time.sleep(1)
        before = processor_seconds(process.pid)
        time.sleep(4)
        assert processor_seconds(process.pid) - before < 0.6
    finally:
        process.kill()
        process.communicate()


def processor_seconds(pid):
    parts = Path(f"/proc/{pid}/stat").read_text(encoding="utf8").rpartition(")")[2].split()
    return (int(parts[11]) + int(parts[12])) / os.sysconf("SC_CLK_TCK")
