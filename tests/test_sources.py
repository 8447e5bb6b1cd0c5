"""The start URLs of a crawl."""

from __future__ import annotations

import pytest

from newsbot.crawl.sources import seeds
from newsbot.items import Kind, Where

FULL = """domain: a.test
seeds: https://a.test/
feeds: https://a.test/feed
sitemaps: https://a.test/map.xml
sections: https://a.test/politics/
article: '^/story/'
section: '^/topic/'
"""
BARE = "domain: b.test\n"


def start_links(desk):
    return list(seeds(desk.context, desk.crawl.scope))


def kinds(found):
    return [(link.kind.value, link.url) for link in found.links]


ALL = [
    ("feed", "https://a.test/feed"),
    ("sitemap", "https://a.test/map.xml"),
    ("section", "https://a.test/"),
    ("section", "https://a.test/politics/"),
]


def test_a_crawl_starts_at_the_sources_of_a_rule_or_at_the_home_page(make_desk):
    [found] = start_links(make_desk({"a.test": FULL, "b.test": BARE}))
    assert kinds(found) == [*ALL, ("section", "https://b.test/")]
    assert (found.depth, found.force, found.referrer) == (0, False, None)
    assert {link.where for link in found.links} == {Where.SEED}


def test_sources_on_other_hosts_belong_to_their_rule(make_desk):
    away = "domain: b.test\nfeeds: https://a.test/of-b\n"
    desk = make_desk({"a.test": FULL, "b.test": away, "c.test": "domain: c.test\n"})
    founds = start_links(desk)
    assert [found.site for found in founds] == ["b.test", None]
    for found in founds:
        desk.crawl.links.queue(found)
    pages = {page.url: page.source for page in desk.context.storage.pages.iter()}
    assert pages["https://a.test/of-b"] == "b.test"
    assert pages["https://a.test/feed"] == "a.test"
    assert pages["https://c.test/"] == "c.test"


def test_the_sources_of_many_rules_are_queued_together(make_desk, monkeypatch):
    desk = make_desk({f"site{n}.test": f"domain: site{n}.test\n" for n in range(450)})
    add = desk.context.frontier.add
    calls: list[int] = []

    def counted(entries, **options):
        calls.append(len(entries))
        return add(entries, **options)

    monkeypatch.setattr(desk.context.frontier, "add", counted)
    for found in start_links(desk):
        desk.crawl.links.queue(found)
    assert calls == [200, 200, 50]


@pytest.mark.parametrize(
    ("follow", "chosen"),
    [
        (("feeds",), ALL[:1]),
        (("sitemaps",), ALL[1:2]),
        (("sections",), ALL[2:]),
        (("links",), ALL[2:]),
        (("feeds", "sitemaps"), ALL[:2]),
    ],
)
def test_follow_selects_sources_and_a_rule_without_sources_starts_at_the_home_page(make_desk, follow, chosen):
    [found] = start_links(make_desk({"a.test": FULL, "b.test": BARE}, follow=follow))
    assert kinds(found) == [*chosen, ("section", "https://b.test/")]


def test_the_argument_follow_replaces_follow_of_the_rule(make_desk):
    rules = {"a.test": FULL + "follow: [feeds]\n"}
    assert kinds(start_links(make_desk(rules))[0]) == ALL[:1]
    assert kinds(start_links(make_desk(rules, follow=("sitemaps",)))[0]) == ALL[1:2]


def test_only_requested_sites_are_crawled(make_desk):
    desk = make_desk({"a.test": FULL, "b.test": BARE}, sites=("b.test",))
    assert [kinds(found) for found in start_links(desk)] == [[("section", "https://b.test/")]]


@pytest.mark.parametrize(
    ("url", "kind"),
    [
        ("https://a.test/feed", Kind.FEED),
        ("https://a.test/map.xml", Kind.SITEMAP),
        ("https://a.test/story/1/", Kind.ARTICLE),
        ("https://a.test/topic/7", Kind.SECTION),
        ("https://c.test/", Kind.SECTION),
        ("https://c.test", Kind.SECTION),
        ("https://c.test/politics/", Kind.SECTION),
        ("https://c.test/2026/11/20/the-council-met-and-talked-about-a-bridge", Kind.ARTICLE),
    ],
)
def test_requested_urls_are_classified_by_the_rule_or_their_form(make_desk, url, kind):
    [found] = start_links(make_desk({"a.test": FULL}, urls=(url,), feeds=("https://d.test/rss",)))
    assert found.force
    feed, requested = found.links
    assert (feed.url, feed.kind, feed.where) == ("https://d.test/rss", Kind.FEED, Where.ARGUMENT)
    assert (requested.url, requested.kind, requested.where) == (url, kind, Where.ARGUMENT)
