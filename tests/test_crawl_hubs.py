"""The crawl records the WebSub hubs of pages.

The numbers are those of the public WebSub conformance suite for subscribers. This file has 100 to 104, and
201 and 202 (a feed with a new URL). All other tests of the suite are in test_web_websub.py.
"""

from __future__ import annotations

from typing import Any

from newsbot.crawl.sources import HUB
from newsbot.storage.sqlite import SqliteStorage
from testbed.mockserver import MockServer
from tests.crawls import World, article_html

BASE = "http://news.test"


def atom(links: str) -> str:
    return (
        f'<feed xmlns="http://www.w3.org/2005/Atom"><title>t</title>{links}'
        f'<entry><title>Bridge</title><link href="{BASE}/2024/05/03/bridge.html"/></entry></feed>'
    )


def rss(links: str) -> str:
    return (
        '<rss version="2.0" xmlns:atom="http://www.w3.org/2005/Atom"><channel><title>t</title>'
        f"{links}<item><link>{BASE}/2024/05/03/bridge.html</link></item></channel></rss>"
    )


def hubs(world: World) -> dict[str, dict[str, Any]]:
    storage = SqliteStorage(world.data / "newsbot.db")
    try:
        return storage.notes.all(HUB)
    finally:
        storage.close()


def test_100_to_104_where_a_hub_may_stand(world: World, site: MockServer) -> None:
    """Headers (100), a page's head (101), Atom (102), RSS (103), headers before the document (104)."""
    links = '<link rel="hub" href="https://hub.test/{n}"/><link rel="self" href="' + BASE + '/topic-{n}"/>'
    site.page(f"{BASE}/2024/05/03/bridge.html", article_html(1))
    header = {
        "Content-Type": "text/xml",
        "Link": f'<https://hub.test/100>; rel="hub", <{BASE}/h>; rel="self"',
    }
    site.page(f"{BASE}/100.xml", rss(""), headers=header)
    page = (
        f"<html><head>{links.format(n=101)}</head><body><a href='/2024/05/03/bridge.html'>Bridge</a></body>"
    )
    site.page(f"{BASE}/news/", page)
    site.page(f"{BASE}/102.xml", atom(links.format(n=102)), headers={"Content-Type": "text/xml"})
    rss_links = links.replace("<link", "<atom:link")
    site.page(f"{BASE}/103.xml", rss(rss_links.format(n=103)), headers={"Content-Type": "text/xml"})
    site.page(f"{BASE}/104.xml", atom(links.format(n=104)), headers=header)
    site.page(f"{BASE}/none.xml", atom(""), headers={"Content-Type": "text/xml"})
    feeds = ", ".join(f"{BASE}/{name}.xml" for name in (100, 102, 103, 104, "none"))
    world.rule("news.test", f"domain: news.test\nfeeds: [{feeds}]\nsections: [{BASE}/news/]\n")
    done = world.crawl()
    assert done.code == 0, done.err
    assert hubs(world) == {
        f"{BASE}/100.xml": {"topic": f"{BASE}/h", "hubs": ["https://hub.test/100"]},
        f"{BASE}/news/": {"topic": f"{BASE}/topic-101", "hubs": ["https://hub.test/101"]},
        f"{BASE}/102.xml": {"topic": f"{BASE}/topic-102", "hubs": ["https://hub.test/102"]},
        f"{BASE}/103.xml": {"topic": f"{BASE}/topic-103", "hubs": ["https://hub.test/103"]},
        f"{BASE}/104.xml": {"topic": f"{BASE}/h", "hubs": ["https://hub.test/100", "https://hub.test/104"]},
    }


def test_201_and_202_feeds_that_moved(world: World, site: MockServer) -> None:
    site.page(f"{BASE}/2024/05/03/bridge.html", article_html(1))
    for number, status in ((201, 302), (202, 301)):
        site.page(f"{BASE}/{number}.xml", "", status=status, headers={"Location": f"{BASE}/new-{number}.xml"})
        link = f'<link rel="hub" href="https://hub.test/{number}"/>'
        site.page(f"{BASE}/new-{number}.xml", atom(link), headers={"Content-Type": "text/xml"})
    world.rule("news.test", f"domain: news.test\nfeeds: [{BASE}/201.xml, {BASE}/202.xml]\n")
    done = world.crawl()
    assert done.code == 0, done.err
    assert {found["topic"]: found["hubs"] for found in hubs(world).values()} == {
        f"{BASE}/new-{number}.xml": [f"https://hub.test/{number}"] for number in (201, 202)
    }


def test_a_hub_that_is_no_longer_named_is_removed(world: World, site: MockServer) -> None:
    feed = f"{BASE}/feed.xml"
    named = atom('<link rel="hub" href="https://hub.test/"/>')
    site.page(f"{BASE}/2024/05/03/bridge.html", article_html(1))
    site.page(feed, named, headers={"Content-Type": "text/xml"})
    world.rule(
        "news.test", f"domain: news.test\nfeeds: [{feed}]\ninterval: {{feed: 1s}}\nrecrawl: {{feed: fixed}}\n"
    )
    world.crawl()
    assert set(hubs(world)) == {feed}
    site.page(feed, atom("<subtitle>new</subtitle>"), headers={"Content-Type": "text/xml"})
    world.crawl("-a", f"feeds={feed}")
    assert hubs(world) == {}
