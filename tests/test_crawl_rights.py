"""Complete crawls of sites that reserve rights."""

from __future__ import annotations

import json
import time

from tests.crawls import article_html, feed_xml

XML = {"Content-Type": "application/rss+xml"}
HOST = "http://news.test"
NO_AI = "<meta name='robots' content='noai'>"


def story(number: int) -> str:
    return f"{HOST}/story/{number}"


def site_with(site, world, *pages: tuple[str, dict[str, str]], robots: str = "User-agent: *\nDisallow:\n"):
    """Register a page for each given head and headers, and a feed of the pages."""
    site.robots(robots)
    for number, (head, headers) in enumerate(pages):
        link = f'<a href="/linked/{number}-story-of-the-council">A headline that is long enough {number}</a>'
        site.page(story(number), article_html(number, head=head, extra=link), headers=headers)
    site.page(f"{HOST}/feed.xml", feed_xml([story(n) for n in range(len(pages))]), headers=XML)
    world.rule("news.test", f"domain: news.test\nfeeds: {HOST}/feed.xml\narticle: [^/story/, ^/linked/]\n")


def test_noindex_pages_are_not_stored_and_nofollow_is_obeyed(site, world):
    site_with(
        site,
        world,
        ("", {"X-Robots-Tag": "noindex"}),
        ("<meta name='robots' content='nofollow'>", {}),
        ("", {"X-Robots-Tag": "googlebot: noindex, nofollow"}),
    )
    crawl = world.crawl("-a", "follow=feeds,links")
    assert crawl.code == 0, crawl.err
    assert world.urls() == [story(1), story(2)]
    linked = [path for path in site.seen("news.test") if path.startswith("/linked/")]
    assert sorted(linked) == ["/linked/0-story-of-the-council", "/linked/2-story-of-the-council"]
    assert any(event.get("reason") == "noindex" for event in world.events(story(0)))
    assert crawl.stat("not_article/noindex") == 1


def test_noindex_pages_are_stored_if_a_setting_says_so(site, world):
    site_with(site, world, ("<meta name='robots' content='noindex'>", {}))
    world.crawl("-s", "NEWSBOT_OBEY_NOINDEX=0")
    [article] = world.articles()
    assert article.rights == {"noindex": "meta"}


def test_reservations_are_recorded_per_site_and_updated(site, world):
    robots = "User-agent: GPTBot\nDisallow: /\n\nUser-agent: *\nContent-Signal: ai-train=no\nAllow: /\n"
    site_with(site, world, (NO_AI, {}), ("", {}), robots=robots)
    rules = [{"location": "/story/1", "tdm-reservation": 1, "tdm-policy": f"{HOST}/policy.json"}]
    site.page(
        f"{HOST}/.well-known/tdmrep.json", json.dumps(rules), headers={"Content-Type": "application/json"}
    )
    crawl = world.crawl()
    assert crawl.code == 0, crawl.err
    by_url = {article.canonical_url: article.rights for article in world.articles()}
    everywhere = {"ai-agents": "robots.txt (GPTBot)", "ai-train": "robots.txt"}
    assert by_url[story(0)] == {**everywhere, "noai": "meta"}
    mining = {"tdm-reservation": "/.well-known/tdmrep.json", "tdm-policy": f"{HOST}/policy.json"}
    assert by_url[story(1)] == {**everywhere, **mining}
    assert site.seen("news.test").count("/.well-known/tdmrep.json") == 1
    site.robots("User-agent: *\nAllow: /\n")
    world.forget_files("news.test")
    site.page(story(0), article_html(0, head="<meta name='x' content='y'>"))
    world.crawl("-a", f"url={story(0)}", "-s", "NEWSBOT_TDMREP=0")
    with world.storage() as storage:
        kept = storage.articles.get(story(0))
        assert kept is not None
        assert (kept.rights, kept.version) == ({}, 1)
    assert site.seen("news.test").count("/.well-known/tdmrep.json") == 1


def test_a_site_whose_tdmrep_json_fails_is_crawled_and_the_right_is_unknown(site, world):
    site_with(site, world, ("", {}))
    site.page(f"{HOST}/.well-known/tdmrep.json", "no such thing", status=500)
    crawl = world.crawl()
    assert world.urls() == [story(0)]
    assert world.articles()[0].rights == {"tdm-unknown": "/.well-known/tdmrep.json"}
    assert crawl.stat("tdmrep/asked") == 1


def test_the_licence_that_robots_txt_names_is_read_once_for_all_articles(site, world):
    robots = "License: /licence.xml\nUser-agent: *\nDisallow: /private/\n"
    site_with(site, world, ("", {}), ("", {}), robots=robots)
    terms = (
        '<rsl xmlns="https://rslstandard.org/rsl"><content url="/story/1"><license>'
        '<prohibits type="usage">ai-train</prohibits><payment type="subscription"/></license></content></rsl>'
    )
    site.page(f"{HOST}/licence.xml", terms, headers={"Content-Type": "application/rsl+xml"})
    crawl = world.crawl()
    assert crawl.code == 0, crawl.err
    rights = {article.url: article.rights for article in world.articles()}
    licence = {"license": f"{HOST}/licence.xml"}
    assert rights[story(0)] == licence
    assert rights[story(1)] == licence | {
        "license-terms": "subscription; prohibits ai-train",
        "ai-train": "license",
    }
    assert site.seen("news.test").count("/licence.xml") == 1


def test_a_page_that_wants_a_payment_is_not_stored_and_the_stored_article_says_so(site, world):
    site_with(site, world, ("", {}), ("", {}))
    world.rule(
        "_defaults", "delay: 0\ninterval: {feed: 1, article: 1}\nrecrawl: {feed: fixed, article: fixed}\n"
    )
    price = {"crawler-price": "USD 0.05"}
    site.page(story(1), "Payment required", status=402, headers=price)
    world.crawl()
    assert world.urls() == [story(0)]
    assert any(event.get("price") == "USD 0.05" for event in world.events(story(1)))
    site.page(story(0), "Payment required", status=402)
    time.sleep(1.1)
    world.crawl("-a", "now=yes")
    [article] = world.articles()
    assert article.rights == {"payment-required": "402"}
    assert article.version == 1
