"""Complete crawls find feeds and sitemaps at the usual URLs, if a site does not name any."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest
from pymongo import MongoClient

from newsbot.crawl.links.usual_places import AFTER_TROUBLE, ASK_AGAIN, NOTE_KIND
from newsbot.items import Kind, Where
from newsbot.pages.discovery.autodiscovery import usual_places
from tests.builders import fill, make_request, make_response
from tests.crawls import article_html, feed_xml

HOST = "http://news.test"
XML = {"Content-Type": "application/rss+xml"}
GUESSED = [place.url.removeprefix(HOST) for place in usual_places(f"{HOST}/")]
HOME = (
    "<html><head><title>News</title></head><body><h1>News</h1><p>A page without a link to a source.</p>"
    "</body></html>"
)
ANNOUNCES = '<link rel="alternate" type="application/rss+xml" href="/my"></head>'


def requested(site) -> list[str]:
    return [path for path in site.seen("news.test") if path in GUESSED]


def test_the_search_ends_when_a_source_of_each_kind_is_found_or_all_places_were_tried(site, world):
    site.page(f"{HOST}/", HOME)
    site.page(f"{HOST}/feed", HOME)  # many sites answer all URLs with a page
    site.page(f"{HOST}/rss", status=302, headers={"Location": f"{HOST}/"})
    site.page(f"{HOST}/sitemap_index.xml", feed_xml([]), headers=XML)
    site.page(f"{HOST}/sitemap.xml", feed_xml([f"{HOST}/story/1"]), headers=XML)
    site.page(f"{HOST}/story/1", article_html(1))
    crawl = world.crawl("-a", f"url={HOST}/")
    assert crawl.code == 0, crawl.err
    assert world.urls() == [f"{HOST}/story/1"]
    feeds = [path for path in GUESSED if "sitemap" not in path]
    assert requested(site) == [*feeds[:3], "/sitemap.xml", *feeds[3:]], (
        "a sitemap was found, so only feeds are still looked for"
    )
    assert f"guessed domain=news.test sitemap={HOST}/sitemap.xml" in crawl.err
    assert crawl.stat("guessed/found") == 1
    assert crawl.stat("errors/http_404") == 0, "a failed guess is not an error of the site"
    with world.storage() as storage:
        assert [(one.url, one.kind) for one in storage.sources.all() if one.kind is not Kind.SECTION] == [
            (f"{HOST}/sitemap.xml", Kind.SITEMAP)
        ]
        assert storage.notes.all(NOTE_KIND + "news.test")["asked"]["found"] == f"{HOST}/sitemap.xml"
    page = world.page(f"{HOST}/rss.xml")
    assert page is not None
    assert (page.state, page.next_due) == ("gone", None)


def test_a_site_without_feeds_is_searched_once_and_crawled_by_links(site, world):
    story = f"{HOST}/2026/11/20/story-about-bridge-number-1"
    site.page(
        f"{HOST}/", HOME.replace("</p>", f"<a href='{story}'>A headline of more than five words</a></p>")
    )
    site.page(story, article_html(1))
    world.rule("_defaults", "delay: 0\ninterval: {section: 0, article: 30d}\n")
    world.rule("news.test", f"domain: news.test\nseeds: {HOST}/\n")
    world.crawl()
    assert requested(site) == GUESSED, "in the order of likelihood, once each"
    assert world.urls() == [story]
    world.crawl("-a", f"url={HOST}/")
    assert site.seen().count("/") == 2
    assert requested(site) == GUESSED, "the search must not be repeated"


def test_places_that_are_rarely_right_are_requested_after_the_articles(site, world):
    stories = [f"{HOST}/2026/11/{day}/story-about-bridge-number-{day}" for day in range(10, 18)]
    links = "".join(f"<li><a href='{one}'>A headline of five words {one[-2:]}</a>" for one in stories)
    site.page(f"{HOST}/", HOME.replace("</p>", f"</p><ul>{links}</ul>"))
    for number, story in enumerate(stories):
        site.page(story, article_html(number))
    world.rule("_defaults", "delay: 0.05\nconcurrency: 1\n")
    world.rule("news.test", f"domain: news.test\nseeds: {HOST}/\n")
    world.crawl()
    assert world.urls() == sorted(stories)
    paths = site.seen("news.test")
    asked = [paths.index(path) for path in GUESSED]
    articles = [paths.index(story.removeprefix(HOST)) for story in stories]
    assert max(asked[:4]) < min(articles) < max(articles) < min(asked[4:])


@pytest.mark.parametrize(
    ("rule", "robots", "home"),
    [
        ("sections: {host}/", "", HOME),
        ("seeds: {host}/", "Sitemap: {host}/my-map.xml", HOME),
        ("seeds: {host}/", "", HOME.replace("</head>", ANNOUNCES)),
    ],
)  # fmt: skip
def test_a_site_that_names_a_source_is_searched_only_for_the_other_kind(site, world, rule, robots, home):
    site.page(f"{HOST}/", home)
    for path in ("/my", "/my-map.xml"):
        site.page(HOST + path, feed_xml([f"{HOST}/story/1"]), headers=XML)
    site.robots(robots.format(host=HOST), host="news.test")
    world.rule("news.test", f"domain: news.test\n{rule.format(host=HOST)}\n")
    crawl = world.crawl()
    assert "/" in site.seen("news.test"), crawl.err
    sitemaps = [path for path in GUESSED if "sitemap" in path]
    feeds = [path for path in GUESSED if path not in sitemaps]
    wanted = sitemaps if home != HOME else feeds if robots else []
    assert requested(site) == wanted


def test_a_feed_that_is_linked_only_in_a_section_is_read(site, world):
    city = f"{HOST}/city/"
    site.page(f"{HOST}/", HOME.replace("</h1>", "</h1><nav><a href='/city/'>City</a></nav>"))
    site.page(city, HOME.replace("</head>", ANNOUNCES))
    site.page(f"{HOST}/my", feed_xml([f"{HOST}/story/1"]), headers=XML)
    site.page(f"{HOST}/story/1", article_html(1))
    world.crawl("-a", f"url={HOST}/")
    assert world.urls() == [f"{HOST}/story/1"]
    page = world.page(f"{HOST}/my")
    assert page is not None
    assert (page.kind, page.referrers) == (Kind.FEED, [city])


def test_robots_txt_deny_and_follow_apply_to_guesses(site, world):
    site.page(f"{HOST}/", HOME)
    site.robots("User-agent: *\nDisallow: /feed\n", host="news.test")
    world.rule(
        "news.test",
        f"domain: news.test\nseeds: {HOST}/\ndeny: sitemap\nfollow: [feeds, sitemaps, sections]\n",
    )
    world.crawl()
    feeds = [path for path in GUESSED if "sitemap" not in path and not path.startswith("/feed")]
    assert requested(site) == feeds
    world.crawl("-a", "follow=sections", "-a", "url=http://other.test/")
    assert [path for path in site.seen("other.test") if path in GUESSED] == []


# --- stored results, on both storages
@pytest.fixture(params=["sqlite", "mongo"])
def bare(request, make_desk):
    """A desk with one site, which has a one-line rule."""
    rules = {"bare.test": "domain: bare.test\n"}
    if request.param == "sqlite":
        yield make_desk(rules)
        return
    server, name = request.getfixturevalue("mongo_uri"), f"newsbot_test_{uuid4().hex[:12]}"
    place, _, options = server.partition("?")
    yield make_desk(rules, {"MONGO_URI": f"{place.rstrip('/')}/{name}?{options}"})
    with MongoClient[dict[str, Any]](server) as client:
        client.drop_database(name)


def look_at_home(desk) -> str | None:
    """Visit the home page; return the usual place that is queued afterwards."""
    end(desk, desk.visit("https://bare.test/", Kind.SECTION, where=Where.SEED, depth=0), HOME)
    return queued(desk)


def queued(desk) -> str | None:
    leases = desk.context.frontier.lease("test", 5, horizon=desk.clock() + 1, ttl=60, accept=None)
    assert len(leases) <= 1
    desk.lease = leases[0] if leases else None
    return leases[0].entry.url.removeprefix("https://bare.test") if leases else None


def end(desk, visit, body, status=200):
    response = make_response(make_request(visit), body, status, {"Content-Type": "text/html"})
    fill(visit, status=status)
    visit.found.extend(desk.read(response, visit))
    desk.clock.now += 1
    desk.settle(visit)


def test_the_search_starts_again_only_after_a_month(bare):
    assert look_at_home(bare) == GUESSED[0]
    end(bare, bare.begin(bare.lease), "", 404)
    assert queued(bare) == GUESSED[1]
    end(bare, bare.begin(bare.lease), "", 403)
    assert queued(bare) is None, "no more requests to a site that refuses"
    assert look_at_home(bare) is None
    bare.clock.now += AFTER_TROUBLE
    for place in GUESSED:
        assert (look_at_home(bare) if place == GUESSED[0] else queued(bare)) == place
        end(bare, bare.begin(bare.lease), "", 404)
    assert queued(bare) is None
    bare.clock.now += ASK_AGAIN - 3600
    assert look_at_home(bare) is None
    bare.clock.now += 3600
    assert look_at_home(bare) == GUESSED[0]
    end(bare, bare.begin(bare.lease), feed_xml(["https://bare.test/story/1"]))
    assert bare.context.notes.all(NOTE_KIND + "bare.test")["asked"]["found"] == "https://bare.test/feed"
    assert bare.crawl.sources.of("bare.test").any
    [source] = [one for one in bare.context.storage.sources.all("bare.test") if one.kind is Kind.FEED]
    assert source.next_due <= bare.clock() + 6 * 3600, "it is polled like any feed now"


@pytest.mark.parametrize("feed", [True, False])
def test_a_site_with_only_dead_sources_counts_as_one_without_sources(site, world, feed):
    site.robots(f"Sitemap: {HOST}/my-map.xml\n")  # many sites name a sitemap that does not exist
    stories = [f"{HOST}/2026/11/20/story-about-bridge-number-{n}" for n in range(5)]
    link = "<p><a href='{}'>A headline of more than five words</a></p>"
    site.page(f"{HOST}/", HOME.replace("</body>", link.format(stories[0]) + "</body>"))
    for n, url in enumerate(stories):
        site.page(url, article_html(n, extra="".join(map(link.format, stories[n + 1 : n + 2]))))
    if feed:
        site.page(f"{HOST}/feed.xml", feed_xml(stories), headers=XML)
    world.rule("_defaults", "delay: 0\nconcurrency: 1\ninterval: {section: 0, article: 30d}\n")
    world.crawl("-a", f"url={HOST}/")
    assert world.urls() == stories
    before = len(requested(site))
    assert (before < len(GUESSED)) is feed, "no more feeds are looked for after one was found"
    world.crawl("-a", f"url={HOST}/")
    assert len(requested(site)) <= before + 1, "missing places must not be requested again"


def test_a_feed_that_is_empty_at_first_does_not_start_link_following(site, world):
    stories = [f"{HOST}/2026/11/20/story-about-bridge-number-{n}" for n in range(4)]
    link = "<p><a href='{}'>A headline of more than five words</a></p>"
    named = "<head><link rel='alternate' type='application/rss+xml' href='/first.xml'></head>"
    site.page(f"{HOST}/", f"<html>{named}<body>{link.format(stories[0])}</body></html>")
    for n, url in enumerate(stories):
        site.page(url, article_html(n, extra="".join(map(link.format, stories[n + 1 : n + 2]))))
    site.page(f"{HOST}/first.xml", feed_xml([]), headers=XML)
    world.rule("_defaults", "delay: 0\nconcurrency: 1\ninterval: {section: 0, feed: 0, article: 30d}\n")
    crawl = world.crawl("-a", f"url={HOST}/")
    assert world.urls() == stories[:1], crawl.err
    assert "/first.xml" in site.seen("news.test")
    site.page(f"{HOST}/first.xml", feed_xml(stories[2:3]), headers=XML)
    crawl = world.crawl("-a", f"url={HOST}/", "-a", "now=yes")
    assert world.urls() == [stories[0], stories[2]], crawl.err


def test_a_guessed_feed_that_worked_once_is_a_source_that_may_fail(bare):
    assert look_at_home(bare) == GUESSED[0]
    end(bare, bare.begin(bare.lease), feed_xml(["https://bare.test/story/1"]))
    visit = bare.visit("https://bare.test/feed", Kind.FEED, where=Where.GUESS)
    end(bare, visit, "", 404)
    [source] = [one for one in bare.context.storage.sources.all("bare.test") if one.kind is Kind.FEED]
    assert (source.failures, source.last_error) == (1, "http_404")
    assert source.next_due is not None
