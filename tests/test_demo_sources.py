"""The demo's feeds, sitemaps and robots.txt, and the intended faults of its pages."""

from __future__ import annotations

import gzip
import json
import re
from urllib.parse import urljoin, urlsplit
from urllib.robotparser import RobotFileParser

import lxml.etree
import lxml.html
import pytest

from newsbot.apps.demo.server import Manifest
from testbed.demoweb.hosts import HERALD, HOSTS
from testbed.demoweb.manifest import make_manifest
from testbed.demoweb.plan import make_plan
from testbed.demoweb.web import DemoWeb
from tests.demo_client import NOW, SIZE, Client, find, links_of


@pytest.fixture(scope="module")
def web() -> DemoWeb:
    return DemoWeb(make_plan(SIZE, now=NOW))


@pytest.fixture
def client(web: DemoWeb) -> Client:
    return Client(DemoWeb(web.plan))


@pytest.fixture(scope="module")
def manifest(web: DemoWeb) -> Manifest:
    return make_manifest(web.plan)


# --- feeds and sitemaps


def feed_links(client: Client, url: str) -> list[str]:
    body = client.get(url).body
    items = "//*[local-name()='item']/*[local-name()='link']/text()"
    entries = "//*[local-name()='entry']/*[local-name()='link']/@href"
    return find(body, f"{items} | {entries}")


@pytest.mark.parametrize(
    "url",
    [
        "http://gazeta.demo.example/rss.xml",
        "http://www.herald.demo.example/feed/atom.xml",
        "http://новости.demo.example/rss/rdf.xml",
    ],
)
def test_feeds_are_well_formed_and_link_to_articles(client: Client, url: str) -> None:
    links = feed_links(client, url)
    assert len(links) > 10
    assert {client.get(link).kind for link in links} == {"article"}


def test_feeds_contain_tracking_parameters_and_ascii_hosts(client: Client) -> None:
    assert "utm_source=" in feed_links(client, "http://gazeta.demo.example/rss.xml")[0]
    assert feed_links(client, "http://новости.demo.example/rss/rdf.xml")[0].startswith("http://xn--")


def test_the_agency_has_a_json_feed_a_malformed_feed_an_empty_feed_and_an_html_page_as_feed(
    client: Client,
) -> None:
    items = json.loads(client.get("http://wire.demo.example/feed.json").body)["items"]
    careless = client.get("http://wire.demo.example/all.rss").body
    with pytest.raises(lxml.etree.XMLSyntaxError):
        lxml.etree.fromstring(careless)
    links = re.findall(r"<link>(.*?\?.*?)</link>", careless.decode())
    assert all("&desk=" in link for link in links)
    papers = {paper.url for paper in client.web.plan.papers if paper.host.name == "wire.demo.example"}
    assert {item["url"] for item in items} | set(links) == papers
    assert client.get("http://wire.demo.example/empty.rss").body == b""
    moved = client.get("http://wire.demo.example/moved.rss")
    assert moved.headers["Content-Type"].startswith("text/html")


def test_sitemaps_are_well_formed_and_link_to_articles(client: Client) -> None:
    loc = "//*[local-name()='loc']/text()"
    children = find(client.get("http://archive.demo.example/sitemap_index.xml").body, loc)
    assert len(children) == 2
    bodies = [gzip.decompress(client.get(child).body) for child in children]
    bodies.append(client.get("http://www.herald.demo.example/sitemap-news.xml").body)
    locations = [url for body in bodies for url in find(body, loc)]
    assert len(locations) > 20
    assert {client.get(url).kind for url in locations} == {"article"}


def test_robots_name_the_sitemaps_and_forbid_articles(client: Client, manifest: Manifest) -> None:
    assert len(manifest.forbidden) == 6
    for url in manifest.forbidden:
        robots = RobotFileParser()
        base = "http://" + urlsplit(url).netloc
        robots.parse(client.get(f"{base}/robots.txt").body.decode().splitlines())
        assert not robots.can_fetch("newsbot", url)
        assert client.get(url).kind == "forbidden"
        assert url in links_of(client, f"{base}/")
    assert (
        b"Sitemap: http://www.herald.demo.example/sitemap-news.xml"
        in client.get(f"{HERALD.base}/robots.txt").body
    )


# --- misbehaviour


def faulty(client: Client, fault: str) -> str:
    return next(paper.url for paper in client.web.plan.papers if paper.fault == fault)


@pytest.mark.parametrize(("fault", "status"), [("flaky", 500), ("busy", 503)])
def test_temporary_errors(client: Client, fault: str, status: int) -> None:
    url = faulty(client, fault)
    first = client.once(url)
    assert (first.status, "Retry-After" in first.headers) == (status, status == 503)
    assert client.once(url).status == 200


def test_connections_that_break_once(client: Client) -> None:
    assert client.once(faulty(client, "hang-up")).hang_up
    cut = client.once(faulty(client, "broken"))
    assert cut.cut is not None
    assert 0 < cut.cut < len(cut.body)
    assert client.once(faulty(client, "broken")).cut is None


def test_slow_pages_and_an_impossible_year(client: Client) -> None:
    assert client.once(faulty(client, "slow")).delay > 0
    assert b"9999-12-31" in client.once(faulty(client, "year-9999")).body


def test_wrong_charsets_in_headers(client: Client) -> None:
    latin = client.once(faulty(client, "latin-header"))
    assert (latin.headers["Content-Type"], latin.body.decode("utf-8")[:5]) == (
        "text/html; charset=iso-8859-1",
        "<!DOC",
    )
    cyrillic = client.once(faulty(client, "utf8-header"))
    assert cyrillic.headers["Content-Type"] == "text/html; charset=utf-8"
    with pytest.raises(UnicodeDecodeError):
        cyrillic.body.decode("utf-8")


def test_traps_on_front_pages(client: Client) -> None:
    traps = {"missing": 0, "binary": 0, "huge": 0, "redirect": 0}
    for host in HOSTS:
        for link in links_of(client, f"{host.base}/"):
            if urlsplit(link).netloc == host.name:
                kind = client.get(link).kind
                traps[kind] = traps.get(kind, 0) + 1
    assert traps["missing"] == 4
    assert (traps["binary"], traps["huge"]) == (1, 1)
    assert traps["redirect"] == 4


def test_the_huge_page_is_over_ten_megabytes_and_ends(client: Client) -> None:
    url = next(link for link in links_of(client, "http://courier.demo.example/") if "live-ticker" in link)
    pieces = client.once(url).pieces
    assert pieces is not None
    assert 10 * 2**20 < sum(map(len, pieces)) < 16 * 2**20
    binary = next(
        link for link in links_of(client, "http://courier.demo.example/") if "annual-report" in link
    )
    answer = client.once(binary)
    assert answer.headers["Content-Type"].startswith("text/html")
    assert b"\0" in answer.body


def test_redirects_chain_and_loop(client: Client) -> None:
    home = links_of(client, "http://gazeta.demo.example/")
    lengths = []
    for url in (link for link in home if "/s/x" in link):
        hops = 0
        while client.once(url).kind == "redirect":
            url = urljoin(url, client.once(url).headers["Location"])  # noqa: PLW2901  # follows the chain
            hops += 1
        assert client.get(url).kind == "article"
        lengths.append(hops)
    assert sorted(lengths) == [1, 1, 3]
    there = client.once("http://gazeta.demo.example/s/loop").headers["Location"]
    assert client.once(f"http://gazeta.demo.example{there}").headers["Location"] == "/s/loop"


def test_one_host_compresses_if_the_request_accepts_it(client: Client) -> None:
    url = "http://gazeta.demo.example/"
    packed = client.once(url, **{"accept-encoding": "gzip, br"})
    assert packed.headers["Content-Encoding"] == "gzip"
    assert packed.headers["Content-Type"] == "text/html"
    assert gzip.decompress(packed.body) == client.once(url).body
