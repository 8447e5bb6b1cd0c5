"""Attackers and a victim: each article of the victim is stored under its own URL."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from testbed.attacks import ATTACKS
from testbed.messages import Answer, Request
from testbed.mockserver import HTML, MockServer
from tests.crawls import World, article_html, feed_xml
from tests.newssite import XML, sitemap_xml

VICTIM = "victim.test"
SETTINGS = ("-s", "DOWNLOAD_TIMEOUT=5", "-s", "NEWSBOT_PATIENCE=20")


def path_of(number: int) -> str:
    return f"/news/story-{number}"


@pytest.fixture
def site() -> Iterator[MockServer]:
    with MockServer() as site:
        yield site


@pytest.fixture
def world(tmp_path: Path, site: MockServer) -> World:
    world = World(tmp_path, site)
    serve_victim(site, world)
    for number, attack in enumerate(ATTACKS):
        host = f"attacker{number}.test"
        listed = attack.run(site, host, f"http://{VICTIM}{path_of(number)}")
        site.page(f"http://{host}/feed.xml", feed_xml(listed), headers=XML)
        world.rule(host, f"domain: {host}\nfeeds: http://{host}/feed.xml\n")
    return world


def serve_victim(site: MockServer, world: World) -> None:
    """Serve one article per attack. All other spellings of their URLs are errors."""
    urls = [f"http://{VICTIM}{path_of(number)}" for number in range(len(ATTACKS))]
    for number, url in enumerate(urls):
        site.page(url, article_html(number))
        for query, answer in ODD.items():
            site.page(f"{url}?{query}=1", answer)
    site.page(f"http://{VICTIM}/", "<html><body>The front page</body></html>")
    site.page(f"http://{VICTIM}/feed.xml", feed_xml(urls), headers=XML, delay=1.0)
    site.robots("User-agent: *\nDisallow: /*utm_robots\n", host=VICTIM)
    world.rule(VICTIM, f"domain: {VICTIM}\nfeeds: http://{VICTIM}/feed.xml\n")


def to_itself(request: Request) -> Answer:
    return Answer(status=302, headers={"Location": request.path})


NOTICE = article_html(9999, title="The page that you wanted is not here any more").encode()
ODD = {
    "utm_home": lambda _: Answer(status=302, headers={"Location": "/"}),
    "utm_consent": lambda _: Answer(body=b"<html><body>Please agree</body></html>", headers=HTML),
    "utm_error": lambda _: Answer(status=500),
    "utm_drop": lambda _: Answer(hang_up=True),
    "utm_loop": to_itself,
    "utm_304": lambda _: Answer(status=304),
    "utm_notice": lambda _: Answer(body=NOTICE, headers=HTML),
    "utm_cut": lambda _: Answer(body=b"<html>" + b"x" * 9000, headers=HTML, cut=500),
}


def missing(world: World) -> dict[str, str]:
    """Return the attack on each article of the victim that is not stored."""
    stored = {one.canonical_url: one.text for one in world.articles() if one.source == VICTIM}
    return {
        attack.tries: path_of(number)
        for number, attack in enumerate(ATTACKS)
        if f"item{number * 7919} " not in stored.get(f"http://{VICTIM}{path_of(number)}", "")
    }


def test_the_attackers_are_crawled_first(world: World) -> None:
    attackers = ",".join(f"attacker{number}.test" for number in range(len(ATTACKS)))
    assert world.crawl("-a", f"sites={attackers}", *SETTINGS).code == 0
    crawl = world.crawl("-a", f"sites={VICTIM}", *SETTINGS)
    assert crawl.code == 0, crawl.err
    assert missing(world) == {}


def test_all_sites_are_crawled_together(world: World) -> None:
    crawl = world.crawl(*SETTINGS)
    assert crawl.code == 0, crawl.err
    assert missing(world) == {}


def test_the_victim_is_crawled_first(world: World) -> None:
    assert world.crawl("-a", f"sites={VICTIM}", *SETTINGS).code == 0
    assert world.crawl(*SETTINGS).code == 0
    assert missing(world) == {}


def test_an_aggregator_lists_https_urls_of_a_site_that_has_only_http(
    tmp_path: Path, site: MockServer
) -> None:
    """No other source names the articles."""
    world = World(tmp_path, site)
    for number in range(3):
        site.page(f"http://{VICTIM}{path_of(number)}", article_html(number))
    listed = [f"https://{VICTIM}{path_of(0)}", f"https://{VICTIM}{path_of(1)}?utm_source=aggregator"]
    site.page("http://short.test/2", status=301, headers={"Location": f"https://{VICTIM}{path_of(2)}"})
    site.page("http://aggregator.test/feed.xml", feed_xml([*listed, "http://short.test/2"]), headers=XML)
    world.rule("aggregator.test", "domain: aggregator.test\nfeeds: http://aggregator.test/feed.xml\n")
    crawl = world.crawl(*SETTINGS)
    assert crawl.code == 0, crawl.err
    stored = {article.url.partition("?")[0] for article in world.articles()}
    assert stored == {f"http://{VICTIM}{path_of(number)}" for number in range(3)}


ATTACKER = "attacker.test"
SLUG = f"http://{VICTIM}/2026/11/22/council-story-{{}}-about-the-bridge"


def attacker_lists(site: MockServer, world: World, urls: list[str], rule: str = "") -> None:
    site.page(f"http://{ATTACKER}/feed.xml", feed_xml(urls), headers=XML)
    world.rule(ATTACKER, f"domain: {ATTACKER}\nfeeds: http://{ATTACKER}/feed.xml\n{rule}")


def serve_stories(site: MockServer, urls: list[str]) -> list[str]:
    for number, url in enumerate(urls):
        site.page(url, article_html(number))
    return urls


def ignores_what_names_an_article(site: MockServer, world: World) -> list[str]:
    """The attacker's rule drops the query key that distinguishes the articles of the victim."""
    urls = serve_stories(site, [f"http://{VICTIM}/article{query}" for query in ("?id=0", "?id=1", "")])
    site.page(f"http://{VICTIM}/feed.xml", feed_xml(urls), headers=XML)
    world.rule(VICTIM, f"domain: {VICTIM}\nfeeds: http://{VICTIM}/feed.xml\n")
    for number, url in enumerate(urls[:2]):
        site.page(f"http://{ATTACKER}/go{number}", status=301, headers={"Location": url})
    attacker_lists(site, world, [f"http://{ATTACKER}/go{n}" for n in range(2)], "drop_query: [id]\n")
    return urls


def breaks_what_a_feed_on_another_host_lists(site: MockServer, world: World) -> list[str]:
    """The victim's feed is on the host of a service. Only the spelling in this feed works."""
    urls = serve_stories(site, [f"http://{VICTIM}/news//story-{n}" for n in range(3)])
    site.page("http://feeds.test/victim", feed_xml(urls), headers=XML)
    world.rule(VICTIM, f"domain: {VICTIM}\nfeeds: http://feeds.test/victim\n")
    attacker_lists(site, world, [f"{url}?utm_source=bad" for url in urls])
    return [url.replace("//story", "/story") for url in urls]


def names_the_victims_sitemap_as_its_own(site: MockServer, world: World) -> list[str]:
    """robots.txt of both sites names the sitemap of the victim."""
    urls = serve_stories(site, [SLUG.format(n) for n in range(3)])
    site.page(f"http://{VICTIM}/", "<html><body>The front page</body></html>")
    site.page(f"http://{ATTACKER}/", "<html><body>The front page</body></html>")
    site.page(f"http://{VICTIM}/map.xml", sitemap_xml(dict.fromkeys(urls)), headers=XML)
    for host in (VICTIM, ATTACKER):
        site.robots(f"Sitemap: http://{VICTIM}/map.xml\n", host=host)
        world.rule(host)
    return urls


def redirects_to_pages_without_articles(site: MockServer, world: World) -> list[str]:
    """The victim's addresses of this form must not count as addresses without articles."""
    urls = serve_stories(site, [SLUG.format(n) for n in range(6)])
    links = "".join(f"<p><a href='{url}'>Council story {url[-20]} about the bridge</a></p>" for url in urls)
    site.page(f"http://{VICTIM}/", f"<html><body>{links}</body></html>")
    world.rule(VICTIM, f"domain: {VICTIM}\nsections: http://{VICTIM}/\n")
    goes = [f"http://{ATTACKER}/a-long-story-number-{n}" for n in range(40)]
    for number, url in enumerate(goes):
        site.page(SLUG.format(100 + number), "<html><body>Comments</body></html>")
        site.page(url, status=301, headers={"Location": SLUG.format(100 + number)})
    attacker_lists(site, world, goes)
    return urls


@pytest.mark.parametrize(
    "attack",
    [
        ignores_what_names_an_article,
        breaks_what_a_feed_on_another_host_lists,
        names_the_victims_sitemap_as_its_own,
        redirects_to_pages_without_articles,
    ],
)
def test_conclusions_about_an_attacker_apply_only_to_the_attacker(
    tmp_path: Path, site: MockServer, attack: Callable[[MockServer, World], list[str]]
) -> None:
    world = World(tmp_path, site)
    urls = attack(site, world)
    for name in (ATTACKER, VICTIM):
        assert world.crawl("-a", f"sites={name}", *SETTINGS).code == 0
    stored = {article.canonical_url for article in world.articles() if article.source == VICTIM}
    assert set(urls) - stored == set()
