"""Feeds, sitemaps and sections of a site."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from newsbot.errors import NotAnArticle
from newsbot.items import Kind, Link, Where
from newsbot.pages.discovery.autodiscovery import (
    MAX_SECTIONS,
    MAX_SITEMAPS,
    find_sources,
    from_robots,
    is_feed_address,
    usual_places,
)
from newsbot.pages.discovery.autodiscovery import (
    find_sections as sections_of,
)
from newsbot.pages.discovery.list_pages import PageLinks
from newsbot.pages.extraction.parsing import parse_html
from newsbot.pages.rules.rule import Pattern, Rule

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


def find_sections(page: bytes, rule: Rule) -> list[Link]:
    return sections_of(PageLinks(parse_html(page), HOME), HOME, rule)


def test_feeds_of_a_home_page() -> None:
    found = find_sources(parse_html(PAGE), HOME)
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
    found = find_sections(PAGE, rule)
    assert [link.url for link in found] == [
        "https://www.site.example/politics/",
        "https://www.site.example/sport/football/",
        "https://www.site.example/rubric/economy/",
        "https://auto.site.example/",
    ]
    assert {(link.kind, link.where) for link in found} == {(Kind.SECTION, Where.AUTODISCOVERY)}


NAMES = ["Politik", "Wirtschaft", "Kultur und Medien", "Sport"]
HEADLINE = "<li><a href='/europa'>Long talks in Europe have come to an end at last</a></li>"
PLAIN = "".join(f"<li><a href='/{name[:5].lower()}/'>{name}</a></li>" for name in NAMES)
MENUS = [
    f"<ul>{PLAIN}</ul>",
    f"<table><tr>{PLAIN}</tr></table>".replace("li>", "td>"),
    f"<table><tr><td valign=top>{PLAIN}</td><td>{HEADLINE * 9}</td></tr></table>".replace("li>", "div>"),
    f"<div class='col3'><b>Ressorts</b>{PLAIN}</div><div>{HEADLINE}</div>".replace("li>", "span>"),
]


@pytest.mark.parametrize("menu", MENUS)
def test_menus_without_markup_name_sections(menu: str) -> None:
    page = f"<html><body>{menu}<div>{HEADLINE * 5}</div></body></html>"
    found = find_sections(page.encode(), Rule(domain="site.example"))
    assert [link.text for link in found] == NAMES


def test_menus_of_sites_whose_addresses_differ_in_the_query_name_sections() -> None:
    urls = ("/index.php?id=33&L=0", "/?id=12", "/login?next=1", "/?id=40")
    texts = ("Aktuelles", "Rathaus und Politik", "Anmelden", "Der Rat hat die neue Brücke eröffnet")
    menu = "".join(f"<a href='{url}'>{text}</a> " for url, text in zip(urls, texts, strict=True))
    found = find_sections(
        f"<html><body><nav>{menu}</nav></body></html>".encode(), Rule(domain="site.example")
    )
    assert [link.text for link in found] == ["Aktuelles", "Rathaus und Politik"]


@pytest.mark.parametrize(
    "page",
    [
        f"<ul>{PLAIN}{HEADLINE}</ul>",
        "<ul>"
        + "".join(f"<li><a href='/{n}/'>{n}</a> and much else of all kinds</li>" for n in NAMES)
        + "</ul>",
        "<p>" + "<a href='/politik/'>Politik</a>" * 3 + "</p>",
    ],
    ids=["headlines among them", "text beside them", "three are none"],
)
def test_other_boxes_with_short_links_are_not_menus(page: str) -> None:
    assert find_sections(page.encode(), Rule(domain="site.example")) == []


def test_sections_with_numeric_urls_are_found() -> None:
    names = ["/de/europa/s-12322", "/de/sport/s-12284", "/de/welt/s-100029", "/de/kultur/s-1534"]
    items = "".join(f"<li><a href='{name}'>{name[4:8]}</a></li>" for name in names)
    for page in (f"<nav><ul>{items}</ul></nav>", f"<ul>{items}</ul>"):
        found = find_sections(page.encode(), Rule(domain="site.example"))
        assert [link.url for link in found] == [HOME[:-1] + name for name in names]


def test_a_host_of_services_is_not_a_section() -> None:
    page = b"<nav><a href='https://shop.site.example/'>Shop</a><a href=/sport/>Sport</a></nav>"
    found = find_sections(page, Rule(domain="site.example"))
    assert [link.text for link in found] == ["Sport"]


def test_the_number_of_sections_is_limited() -> None:
    page = (
        b"<nav>"
        + b"".join(b"<a href=/%c%c/>x</a>" % (97 + n // 26, 97 + n % 26) for n in range(200))
        + b"</nav>"
    )
    assert len(find_sections(page, Rule(domain="site.example"))) == MAX_SECTIONS


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


def test_a_robots_txt_of_many_lines_is_bounded() -> None:
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
def test_urls_of_other_pages_are_not_feeds(path: str) -> None:
    assert not is_feed_address("https://a.example" + path)


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=300), st.text(max_size=300))
def test_any_body_is_parsed_without_an_error(body: bytes, text: str) -> None:
    links = from_robots(text, HOME)
    with suppress(NotAnArticle):
        tree = parse_html(b"<a href=/x>y</a>" + body)
        links += find_sources(tree, HOME) + find_sections(b"<a href=/x>y</a>" + body, Rule(domain="x"))
    for link in links:
        assert link.url.lower().startswith(("http://", "https://"))


def test_lines_of_robots_txt_may_end_with_only_a_carriage_return() -> None:
    text = "User-agent: *\rDisallow: /x\rSitemap: https://site.example/a.xml\rSitemap: https://site.example/b.xml\r"
    assert [link.url for link in from_robots(text, HOME)] == [
        "https://site.example/a.xml",
        "https://site.example/b.xml",
    ]
