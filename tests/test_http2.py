"""HTTP/2 against a server that is not ours: spoken where it is offered, with the same guard and delay."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from tests.crawls import Crawl, World, article_html, feed_xml
from tests.http2site import Http2Site, http2_site

HOST = "news.test"
ARTICLES = 4
LONG = 3_000_000
"""Characters of one page: many times the window of a stream."""


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path, None)


def crawl(world: World, site: Http2Site, *, delay: float = 0, private: str = "1", http2: str = "1") -> Crawl:
    base = f"https://{HOST}:{site.port}"
    urls = [f"{base}/2026/11/20/story-{number}.html" for number in range(ARTICLES)]
    site.pages["/feed.xml"] = ("application/rss+xml", feed_xml(urls).encode())
    for number, url in enumerate(urls):
        long = f"<!-- {'x' * LONG * (number == 0)} -->"
        site.pages[url.removeprefix(base)] = ("text/html", article_html(number, extra=long).encode())
    world.rule("_defaults", f"delay: {delay}\nconcurrency: 8\ninterval: {{feed: 10m, article: 30d}}\n")
    world.rule(HOST, f"domain: {HOST}\nfeeds: {base}/feed.xml\n")
    return world.crawl(
        "-s",
        "TWISTED_DNS_RESOLVER=tests.named_addresses.NamedAddresses",
        NEWSBOT_HTTP2=http2,
        NEWSBOT_ALLOW_PRIVATE=private,
    )


def test_pages_come_over_one_connection_at_the_pace_of_the_rule(world: World, tmp_path: Path) -> None:
    with http2_site(tmp_path) as site:
        done = crawl(world, site, delay=0.5)
        assert done.code == 0, done.err
        assert len(world.urls()) == ARTICLES
        assert {asked.version for asked in site.log} == {"2"}
        assert len({asked.connection for asked in site.log}) == 1
        assert done.stat("http2/responses") == len(site.log) > ARTICLES
        # robots.txt is fetched beside the turns of the host's clock
        paced = [asked.at for asked in site.log if asked.path != "/robots.txt"]
        assert min(later - earlier for earlier, later in pairwise(paced)) > 0.35
        page = world.page(f"https://{HOST}:{site.port}/2026/11/20/story-0.html")
        assert page is not None
        assert (page.content_length or 0) > LONG
        assert "Traceback" not in done.err


@pytest.mark.parametrize("speaks", [("http/1.1",), ()])
def test_who_speaks_only_http_1_is_asked_that_way_after_one_try(
    world: World, tmp_path: Path, speaks: tuple[str, ...]
) -> None:
    with http2_site(tmp_path, speaks=speaks) as site:
        done = crawl(world, site)
        assert done.code == 0, done.err
        assert len(world.urls()) == ARTICLES
        assert {asked.version for asked in site.log} == {"1.1"}
        assert done.stat("http2/responses") == 0
        assert done.stat("http2/other") == 1
        assert "Traceback" not in done.err


def test_it_is_off_unless_asked_for(world: World, tmp_path: Path) -> None:
    with http2_site(tmp_path) as site:
        assert crawl(world, site, http2="").code == 0
        assert len(world.urls()) == ARTICLES
        assert {asked.version for asked in site.log} == {"1.1"}


def test_a_name_that_leads_to_a_private_address_is_not_connected_to(world: World, tmp_path: Path) -> None:
    with http2_site(tmp_path) as site:
        done = crawl(world, site, private="")
        assert done.stat("errors/robots_unreachable") >= 1, done.err
        assert not site.log
        assert not world.urls()


def test_a_host_that_refuses_is_a_fault_at_once_and_nobody_waits_for_it(world: World, tmp_path: Path) -> None:
    with http2_site(tmp_path) as site:
        world.rule("away.test", "domain: away.test\nfeeds: https://away.test:1/feed.xml\n")
        done = crawl(world, site)
        assert done.code == 0, done.err
        assert len(world.urls()) == ARTICLES
        assert "timeout" not in done.err
        assert done.stat("errors/robots_unreachable") >= 1
        assert "Traceback" not in done.err
