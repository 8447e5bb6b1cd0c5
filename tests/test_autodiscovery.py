"""Feeds, sitemaps and sections of a site."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from newsbot.discovery.autodiscovery import (
    MAX_SECTIONS,
    MAX_SITEMAPS,
    find_sections,
    find_sources,
    from_robots,
    is_feed_address,
    usual_places,
)
from newsbot.items import Kind, Where
from newsbot.rules.schema import Pattern, Rule

HOME = "https://www.site.example/"

PAGE = b"""<html><head>
<link rel="alternate" type="application/rss+xml" title="All news" href="/rss.xml">
<link rel="alternate" type="application/rss+xml" title="Comments" href="/comments/feed/">
<link rel="ALTERNATE feed" type="application/atom+xml; charset=utf-8" href="//feeds.site.example/atom">
<link rel="alternate" type="application/json" href="https://www.site.example/wp-json/wp/v2/pages/2">
<link rel="alternate" type="application/feed+json" href="feed.json">
<link rel="alternate" type="application/rss+xml" href="https://feeds.feedburner.com/site">
<link rel="alternate" type="application/rss+xml" href="https://other.example/rss">
<link rel="alternate" type="text/html" hreflang="en" href="/en/">
<link rel="stylesheet" type="text/css" href="/style.css">
</head><body>
<nav><a href="/">Home</a><a href="/politics/">Politics</a><a href="/sport/football/">Football</a>
<a href="/login">Log in</a><a href="/tag/war">War</a><a href="/video/">Video</a><a href="/secret/">Secret</a>
<a href="https://auto.site.example/">Cars</a><a href="https://other.example/x/">Other</a>
<a href="/a?b=c">Query</a>
<a href="/2024/12/31/bridge-opens-after-ten-years.html">Bridge</a><a href="/about-us">About</a></nav>
<main><a href="/culture/">Culture</a><a href="/rubric/economy/">Economy</a></main>
<footer><a href="/rss.xml">RSS</a><a href="/export/news.xml">Export</a><a href="/imprint">Contact</a></footer>
</body></html>"""


def test_feeds_of_a_home_page() -> None:
    found = find_sources(PAGE, HOME)
    assert [(link.url, link.text) for link in found] == [
        ("https://www.site.example/rss.xml", "All news"),
        ("https://feeds.site.example/atom", None),
        ("https://www.site.example/feed.json", None),
        ("https://feeds.feedburner.com/site", None),
        ("https://www.site.example/export/news.xml", "Export"),
    ]
    assert {(link.kind, link.where) for link in found} == {(Kind.FEED, Where.AUTODISCOVERY)}


def test_sections_of_a_home_page() -> None:
    rule = Rule(
        domain="site.example",
        deny=(Pattern("^/secret", "f", 1),),
        section=(Pattern("^/rubric/", "f", 2),),
    )
    found = find_sections(PAGE, HOME, rule)
    assert [link.url for link in found] == [
        "https://www.site.example/politics/",
        "https://www.site.example/sport/football/",
        "https://www.site.example/rubric/economy/",
        "https://auto.site.example/",
    ]
    assert {(link.kind, link.where) for link in found} == {(Kind.SECTION, Where.AUTODISCOVERY)}


def test_sections_are_few() -> None:
    page = (
        b"<nav>"
        + b"".join(b"<a href=/%c%c/>x</a>" % (97 + n // 26, 97 + n % 26) for n in range(200))
        + b"</nav>"
    )
    assert len(find_sections(page, HOME, Rule(domain="site.example"))) == MAX_SECTIONS


def test_robots() -> None:
    text = """User-agent: *
Disallow: /private
Sitemap: https://www.site.example/sitemap.xml
 SITEMAP :/news.xml # comment
sitemap: https://cdn.example/sitemap.xml.gz
Sitemap: https://www.site.example/rss.xml
Sitemap: https://www.site.example/sitemap.xml
Sitemap: ftp://www.site.example/x
Sitemap:
# Sitemap: /commented-out.xml
"""
    found = from_robots(text, "https://www.site.example/robots.txt")
    assert [(link.url, link.kind) for link in found] == [
        ("https://www.site.example/sitemap.xml", Kind.SITEMAP),
        ("https://www.site.example/news.xml", Kind.SITEMAP),
        ("https://cdn.example/sitemap.xml.gz", Kind.SITEMAP),
        ("https://www.site.example/rss.xml", Kind.FEED),
    ]


def test_robots_of_many_lines_is_bounded() -> None:
    text = "\r\n".join(f"Sitemap: /{number}.xml" for number in range(10_000))
    assert len(from_robots(text, HOME)) == MAX_SITEMAPS


def test_usual_places_are_on_the_host() -> None:
    places = usual_places("https://www.site.example/some/page?x")
    assert all(place.url.startswith("https://www.site.example/") for place in places)
    assert {place.kind for place in places} == {Kind.FEED, Kind.SITEMAP}
    assert "https://www.site.example/sitemap-news.xml" in [place.url for place in places]


@pytest.mark.parametrize(
    "path",
    ["/rss", "/rss/", "/feed", "/feed/", "/rss.xml", "/news/rss.xml", "/rss/politics.xml", "/feeds/news",
     "/atom.xml", "/index.rdf", "/export/rss2/archive/index.xml", "/world.rss", "/?feed=rss2", "/rss.php",
     "/rss-news.xml", "/static/rss/all.xml", "/feed.json", "/category/sport/feed/"],
)  # fmt: skip
def test_addresses_of_feeds(path: str) -> None:
    assert is_feed_address("https://a.example" + path)


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/news/",
        "/feedback",
        "/news.xml",
        "/rssi-explained",
        "/newsfeed-changes-of-facebook",
        "/sitemap.xml",
        "/a?x=rss",
    ],
)
def test_addresses_of_others(path: str) -> None:
    assert not is_feed_address("https://a.example" + path)


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=300), st.text(max_size=300))
def test_anything_may_come(body: bytes, text: str) -> None:
    for link in (
        *find_sources(body, HOME),
        *from_robots(text, HOME),
        *find_sections(body, HOME, Rule(domain="x")),
    ):
        assert link.url.lower().startswith(("http://", "https://"))
