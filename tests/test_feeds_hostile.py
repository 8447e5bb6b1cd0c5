"""Hostile feeds and sitemaps: time and memory are bounded, entities are not expanded."""

from __future__ import annotations

import gzip
import resource
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import pytest

from newsbot.errors import NotAnArticle
from newsbot.pages.discovery.feeds import MAX_ITEMS, FeedError, parse_feed
from newsbot.pages.discovery.list_pages import MAX_LINKS, find_links
from newsbot.pages.discovery.sitemaps import MAX_URLS, SitemapError, parse_sitemap
from newsbot.pages.extraction.parsing import parse_html
from tests import warm

NOW = datetime(2025, 1, 2, tzinfo=UTC)
URL = "https://a.example/x"
MB = 1 << 20
COUNT = 1 << 18
"""Number of repetitions in most bodies: quadratic time would take minutes."""
CPU_SECONDS = 30
"""Limit per body. Reading takes less than 5 s (10 s on a slow machine), but minutes with quadratic time."""
MEMORY = 1000 * MB
"""Limit for the reader, without the interpreter, its libraries, and a body of up to 50 MB."""

LOOSE = b"<rss><channel>&nbsp;"
ITEMS = b"".join(b"<item><title>t</title><link>http://a.example/%d</link></item>" % i for i in range(20_000))
URLS = b"".join(b"<url><loc>http://a.example/%d</loc></url>" % i for i in range(60_000))

BODIES: dict[str, Callable[[], bytes]] = {
    "18 MB of items": lambda: b"<rss><channel>" + ITEMS * 20,
    "4 MB of items, malformed": lambda: LOOSE + ITEMS * 5,
    "50,000 nested tags": lambda: b"<rss><channel>" + b"<a>" * 50_000,
    "50,000 nested tags, malformed": lambda: LOOSE + b"<a>" * 50_000,
    "nested titles": lambda: LOOSE + b"<item>" + b"<title>" * 50_000,
    "tags without end": lambda: LOOSE + b"<a " * COUNT * 2,
    "one attribute of 10 MB": lambda: b"<rss><channel><item a='" + b"x" * 10 * MB + b"'/></channel></rss>",
    "attributes without end": lambda: LOOSE + b"<item " + b'a="' * COUNT * 2,
    "names without end": lambda: LOOSE + b"<item " + b"a" * COUNT * 10 + b"=>",
    "CDATA without end": lambda: LOOSE + b"<![CDATA[" * COUNT,
    "comments without end": lambda: LOOSE + b"<!--" * COUNT * 3,
    "declarations without end": lambda: LOOSE + b"<!A[" * COUNT * 3,
    "only brackets": lambda: LOOSE + b"<" * COUNT * 10,
    "only ampersands": lambda: LOOSE + b"<item><title>" + b"&" * COUNT * 10,
    "only blanks": lambda: b" " * MB * 50,
    "blanks in a title": lambda: b"<rss><item><title>" + b" " * COUNT * 10 + b"</title></item></rss>",
    "brackets in a title": lambda: (
        b"<rss><item><title><![CDATA[" + b"<a " * COUNT * 3 + b"]]></title></item></rss>"
    ),
    "JSON nested": lambda: b'{"items":[' + b"[" * COUNT * 10,
    "JSON of many items": lambda: b'{"items":[' + b'{"url":"http://a.example/1"},' * COUNT,
    "gzip bomb": lambda: gzip.compress(b"<rss><channel>" + b" " * MB * 100),
    "16 MB of URLs": lambda: b"<urlset>" + URLS * 6,
    "4 MB of URLs, malformed": lambda: b"<urlset>&nbsp;" + URLS * 2,
    "sitemap bomb": lambda: gzip.compress(b"<urlset>" + b"<url>" * MB * 10),
    "sitemap of one tag": lambda: b"<urlset><url><loc>" + b"x" * MB * 50,
    "sitemap of one attribute": lambda: b"<urlset><url a='" + b"x" * MB * 50,
    "text of one line": lambda: b"http://a.example/" + b"x" * MB * 50,
    "text of short lines": lambda: b"http://a.example/\n" * COUNT,
    "HTML nested": lambda: b"<div><a href=/x>y" * 50_000,
    "HTML of 300,000 links": lambda: b"".join(b"<a href=/%d>headline</a>" % i for i in range(300_000)),
    "HTML of one address": lambda: b"<a href='/" + b"x" * COUNT * 7 + b"'>y</a>",
    "HTML of times": lambda: b"<time datetime=2024-01-01></time>" * 100_000 + b"<a href=/x>y</a>" * 100_000,
}


def read_all(body: bytes) -> None:
    """Read a body in all ways; only the documented exceptions may be raised."""
    for parse in (parse_feed, parse_sitemap):
        try:
            parse(body, URL, now=NOW)
        except (FeedError, SitemapError):
            continue
    with suppress(NotAnArticle):
        find_links(parse_html(body), URL, now=NOW)


@pytest.mark.parametrize("name", BODIES)
def test_bounded(name: str) -> None:
    process = warm.context().Process(target=run_limited, args=(name,))
    process.start()
    process.join(200)
    assert process.exitcode == 0


def run_limited(name: str) -> None:
    """Run in a process of its own, which the kernel kills if it exceeds the limits."""
    body = BODIES[name]()
    spent = int(resource.getrusage(resource.RUSAGE_SELF).ru_utime)
    resource.setrlimit(resource.RLIMIT_CPU, (spent + CPU_SECONDS, spent + CPU_SECONDS))
    taken = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (taken + MEMORY, taken + MEMORY))
    read_all(body)


def test_entities_are_not_expanded() -> None:
    declared = "".join(f'<!ENTITY l{i} "{f"&l{i - 1};" * 10}">' for i in range(1, 10))
    bomb = (
        f'<?xml version="1.0"?><!DOCTYPE rss [<!ENTITY l0 "lol"><!ENTITY f SYSTEM "file:///etc/passwd">{declared}]>'
        "<rss><channel><item><title>&l9; &f;</title><link>http://a.example/1</link></item></channel></rss>"
    )
    feed = parse_feed(bomb.encode(), URL, now=NOW)
    assert [(link.url, link.text) for link in feed.links] == [("http://a.example/1", "&l9; &f;")]


def test_a_dtd_inside_the_document_is_not_read() -> None:
    text = '<rss><!DOCTYPE x [<!ENTITY e "expanded">]><item><title>&e;</title><link>http://a.example/1</link></item></rss>'
    assert [link.text for link in parse_feed(text.encode(), URL, now=NOW).links] == ["&e;"]


def test_too_many_items_are_counted() -> None:
    feed = parse_feed(b"<rss><channel>" + ITEMS + b"</channel></rss>", URL, now=NOW)
    assert len(feed.links) == MAX_ITEMS
    assert feed.problems == [f"too_many_items:{20_000 - MAX_ITEMS}"]


def test_too_many_urls_are_counted_and_the_first_and_the_last_are_kept() -> None:
    sitemap = parse_sitemap(b"<urlset>" + URLS + b"</urlset>", URL, now=NOW)
    assert len(sitemap.links) == MAX_URLS
    assert sitemap.links[0].url == "http://a.example/0"
    assert sitemap.links[-1].url == "http://a.example/59999"
    assert sitemap.problems == [f"too_many_urls:{60_000 - MAX_URLS}"]


def test_too_many_links_are_skipped() -> None:
    assert len(find_links(parse_html(BODIES["HTML of 300,000 links"]()), URL)) == MAX_LINKS
