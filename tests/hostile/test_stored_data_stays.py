"""What other sites say about a site does not change what is stored of this site.

The victim is crawled alone, and then with an attacker for each entry of :data:`SAID`. Each attacker says
something else about one article of the victim. The stored articles of the victim are equal in both crawls.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from testbed.mockserver import HTML, MockServer
from tests.crawls import World, article_html
from tests.newssite import XML

VICTIM = "victim.test"
HOME = f"http://{VICTIM}"
SETTINGS = ("-s", "DOWNLOAD_TIMEOUT=5", "-s", "NEWSBOT_PATIENCE=20")
VARIES = {"discovered_at", "fetched_at", "story", "relation", "duplicate_of", "derived_from", "similarity"}
"""Fields that depend on the time, or on copies of the text at other sites."""
PLAIN = {"Content-Type": "text/plain"}


def item(url: str = "{aim}", title: str = "{title}", more: str = "") -> str:
    """Return a feed with one item."""
    return (
        '<rss version="2.0" xmlns:dc="http://purl.org/dc/elements/1.1/" '
        'xmlns:atom="http://www.w3.org/2005/Atom" xmlns:media="http://search.yahoo.com/mrss/"><channel>'
        f"<title>t</title><item><title>{title}</title><link>{url}</link>{more}</item></channel></rss>"
    )


def sitemap(url: str = "{aim}", more: str = "") -> str:
    return (
        '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" '
        'xmlns:news="http://www.google.com/schemas/sitemap-news/0.9" '
        f'xmlns:xhtml="http://www.w3.org/1999/xhtml"><url><loc>{url}</loc>{more}</url></urlset>'
    )


QUERIES = (
    "",
    "?partner=mallory",
    "?a=1&b=2",
    "?utm_source=m",
    "?amp=1",
    "?print=1",
    "?from=m",
    "?from=mallory",
    "?PHPSESSID=0123456789abcdef0123456789abcdef",
)
"""The victim gives the same page under all these queries, and at its host ``www``."""
FEEDS = {
    "a false headline": item(title="Mayor arrested after the bridge fell"),
    "the headline of its neighbour": item(title="{next title}"),
    "no headline": item(title=""),
    "an old date": item(more="<pubDate>Mon, 05 Jan 2009 08:00:00 GMT</pubDate>"),
    "a future date": item(more="<pubDate>Sun, 05 Jan 2031 08:00:00 GMT</pubDate>"),
    "an author": item(more="<dc:creator>Mallory Attacker</dc:creator>"),
    "a category": item(more="<category>Hoaxes</category>"),
    "a picture": item(more='<media:content url="http://attacker.test/x.jpg" medium="image"/>'),
    "a false beginning": item(more="<description>The bridge fell and all are dead.</description>"),
    "a guid of its neighbour": item(more='<guid isPermaLink="true">{next}</guid>'),
    "its neighbour's link as its own source": item(more='<source url="{home}/feed.xml">Victim</source>'),
    "a parameter": item("{aim}?partner=mallory"),
    "two parameters": item("{aim}?a=1&amp;b=2", more="<dc:creator>Mallory</dc:creator>"),
    "a tracking parameter and an author": item("{aim}?utm_source=m", more="<dc:creator>Mallory</dc:creator>"),
    "a session": item("{aim}?PHPSESSID=0123456789abcdef0123456789abcdef"),
    "escapes": item("{home}/%6eews/{number}"),
    "another host of the site": item("http://www.victim.test/news/{number}?utm_source=m"),
    "another case of the path": item("{home}/NEWS/{number}"),
    "a slash at the end": item("{aim}/"),
    "a fragment": item("{aim}#mallory", more="<pubDate>Mon, 05 Jan 2009 08:00:00 GMT</pubDate>"),
    "AMP": item("{aim}?amp=1"),
    "print": item("{aim}?print=1"),
    "its feed as an article": item("{home}/feed.xml"),
    "its home page as an article": item("{home}/", title="Council story number 0 about the bridge"),
    "a page that does not exist": item("{home}/news/x{number}"),
    "its neighbour, under its headline": item("{next}"),
}
"""What an attacker's feed says of an article."""
SITEMAPS = {
    "a change in the future": sitemap(more="<lastmod>2031-01-01</lastmod>"),
    "a change long ago": sitemap(more="<lastmod>1999-01-01</lastmod>"),
    "news with a false title": sitemap(
        more="<news:news><news:publication_date>2010-01-01</news:publication_date>"
        "<news:title>Mayor arrested</news:title></news:news>"
    ),
    "another language version": sitemap(
        "{own}/1", '<xhtml:link rel="alternate" hreflang="en" href="{aim}"/>'
    ),
}
HEADS = {
    "canonical": '<link rel="canonical" href="{aim}">',
    "og:url": '<meta property="og:url" content="{aim}">',
    "JSON-LD": '<script type="application/ld+json">{"@type": "NewsArticle", "url": "{aim}", '
    '"mainEntityOfPage": "{aim}", "headline": "Mayor arrested", "datePublished": "2009-01-05"}</script>',
    "a copy's source": '<meta name="original-source" content="{aim}">',
    "language version": '<link rel="alternate" hreflang="en" href="{aim}">',
    "refresh": '<meta http-equiv="refresh" content="0; url={aim}">',
    "refresh to a parameter": '<meta http-equiv="refresh" content="0; url={aim}?from=m">',
    "previous page": '<link rel="prev" href="{aim}"><link rel="first" href="{aim}">',
    "next page": '<link rel="next" href="{aim}">',
    "licence": '<link rel="license" type="application/rsl+xml" href="{home}/rsl.xml">',
    "base": '<base href="{home}/"><link rel="canonical" href="news/{number}">',
}
"""What the head of an attacker's article says. Its text is its own, or a copy."""


def of_feed(feed: str) -> Callable[[MockServer, str, Callable[[str], str]], None]:
    def run(site: MockServer, own: str, fill: Callable[[str], str]) -> None:
        site.page(f"{own}/feed.xml", fill(feed), headers=XML)

    return run


def of_sitemap(file: str) -> Callable[[MockServer, str, Callable[[str], str]], None]:
    def run(site: MockServer, own: str, fill: Callable[[str], str]) -> None:
        site.page(f"{own}/feed.xml", fill(file), headers=XML)
        site.page(f"{own}/robots.txt", f"Sitemap: {own}/feed.xml\nSitemap: {HOME}/feed.xml\n", headers=PLAIN)

    return run


def of_page(head: str, *, copied: bool = False) -> Callable[[MockServer, str, Callable[[str], str]], None]:
    def run(site: MockServer, own: str, fill: Callable[[str], str]) -> None:
        number = int(fill("{number}"))
        page = article_html(
            number if copied else 500 + number, title="A story of the attacker", head=fill(head)
        )
        site.page(f"{own}/feed.xml", fill(item("{own}/1")), headers=XML)
        site.page(f"{own}/1", page, headers=HTML)

    return run


def redirects(status: int, to: str) -> Callable[[MockServer, str, Callable[[str], str]], None]:
    def run(site: MockServer, own: str, fill: Callable[[str], str]) -> None:
        feed = item("{own}/1", more="<dc:creator>Mallory</dc:creator><pubDate>5 Jan 2009 08:00 GMT</pubDate>")
        site.page(f"{own}/feed.xml", fill(feed), headers=XML)
        site.page(f"{own}/1", status=status, headers={"Location": fill(to)})

    return run


SAID: Mapping[str, Callable[[MockServer, str, Callable[[str], str]], None]] = {
    **{f"feed: {what}": of_feed(feed) for what, feed in FEEDS.items()},
    **{f"sitemap: {what}": of_sitemap(file) for what, file in SITEMAPS.items()},
    **{f"head: {what}": of_page(head) for what, head in HEADS.items()},
    **{f"copy: {what}": of_page(HEADS[what], copied=True) for what in ("canonical", "og:url", "JSON-LD")},
    "redirect: 301": redirects(301, "{aim}"),
    "redirect: 302 with a parameter": redirects(302, "{aim}?from=mallory"),
    "redirect: 308 with a tracking parameter": redirects(308, "{aim}?utm_source=m"),
    "redirect: to another host of the site": redirects(301, "http://www.victim.test/news/{number}"),
    "redirect: to its neighbour": redirects(301, "{next}"),
    "redirect: to its home page": redirects(301, "{home}/"),
}
"""What an attacker says -> registers the pages of the attacker; ``fill`` replaces names in braces."""


def serve(site: MockServer, world: World) -> str:
    """Serve the victim and one attacker for each entry of :data:`SAID`. Return the victim's feed."""
    links = []
    for number in range(len(SAID)):
        for query in QUERIES:
            for address in (f"{HOME}/news/", f"{HOME}/%6eews/", "http://www.victim.test/news/"):
                site.page(f"{address}{number}{query}", article_html(number), headers=HTML)
        title = f"Council story number {number} about the bridge"
        links.append(f"<item><title>{title}</title><link>{HOME}/news/{number}</link></item>")
    feed = f'<rss version="2.0"><channel>{"".join(links)}</channel></rss>'
    site.page(f"{HOME}/feed.xml", feed, headers=XML)
    world.rule(VICTIM, f"domain: {VICTIM}\nfeeds: {HOME}/feed.xml\n")
    for number, run in zip(count(), SAID.values(), strict=False):
        host, following = f"attacker{number}.test", (number + 1) % len(SAID)
        names = {
            "{aim}": f"{HOME}/news/{number}",
            "{next}": f"{HOME}/news/{following}",
            "{title}": f"Council story number {number} about the bridge",
            "{next title}": f"Council story number {following} about the bridge",
            "{home}": HOME,
            "{own}": f"http://{host}",
            "{number}": str(number),
        }

        def fill(text: str, names: Mapping[str, str] = names) -> str:
            for name, value in names.items():
                text = text.replace(name, value)
            return text

        run(site, f"http://{host}", fill)
        world.rule(host, f"domain: {host}\nfeeds: http://{host}/feed.xml\n")
    return feed


def stored(world: World) -> dict[str, dict[str, Any]]:
    """Return the articles of the victim by the number in their text."""
    found = {}
    for article in world.articles():
        if article.source == VICTIM:
            fields = {name: value for name, value in article.to_dict().items() if name not in VARIES}
            assert article.canonical_url not in found
            found[article.canonical_url] = fields
    return found


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    with MockServer() as site:
        world = World(tmp_path_factory.mktemp("alone"), site)
        serve(site, world)
        crawl = world.crawl("-a", f"sites={VICTIM}", *SETTINGS)
        assert crawl.code == 0, crawl.err
        found = stored(world)
    assert len(found) == len(SAID)
    return found


@pytest.mark.parametrize("order", ["attackers first", "together", "victim first"])
def test_nothing_that_others_say_changes_what_is_stored(
    order: str, alone: dict[str, dict[str, Any]], tmp_path: Path
) -> None:
    assert len(SAID) >= 40
    attackers = ",".join(f"attacker{number}.test" for number in range(len(SAID)))
    everyone = f"{attackers},{VICTIM}"
    parts = {
        "attackers first": [everyone, VICTIM],
        "together": [everyone],
        "victim first": [VICTIM, attackers],
    }
    with MockServer() as site:
        world = World(tmp_path, site)
        feed = serve(site, world)
        if order == "attackers first":  # at first, the victim's feed is empty
            site.page(f"{HOME}/feed.xml", '<rss version="2.0"><channel></channel></rss>', headers=XML)
        if order == "together":  # attackers' links are being fetched when the victim's feed is read
            site.page(f"{HOME}/feed.xml", feed, headers=XML, delay=1.5)
        for sites in parts[order]:
            crawl = world.crawl("-a", f"sites={sites}", "-a", "now=yes", *SETTINGS)
            assert crawl.code == 0, crawl.err
            site.page(f"{HOME}/feed.xml", feed, headers=XML)
        found = stored(world)
    changed = {
        (what, name): (alone[url].get(name), found.get(url, {}).get(name))
        for number, what in enumerate(SAID)
        for url in (f"{HOME}/news/{number}",)
        for name in alone[url]
        if alone[url].get(name) != found.get(url, {}).get(name)
    }
    assert changed == {}
    assert found.keys() == alone.keys()
