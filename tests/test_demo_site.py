"""The demo's web keeps its promises: what the manifest says is what a client finds."""

from __future__ import annotations

import gzip
import itertools
import json
import re
from collections import deque
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urljoin, urlsplit
from urllib.robotparser import RobotFileParser

import lxml.etree
import lxml.html
import pytest

from newsbot.demo.hosts import ARCHIVE, HERALD, HOSTS, Host
from newsbot.demo.loopback import Answer, Request
from newsbot.demo.manifest import Manifest, make_manifest
from newsbot.demo.noise import PER_ARTICLE
from newsbot.demo.plan import MAX_ARTICLES, MIN_ARTICLES, Way, make_plan
from newsbot.demo.web import DemoWeb

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
SIZE = 150
MAX_DEPTH = 5


class Client:
    """Asks the demo without a network, as the server's thread would."""

    def __init__(self, web: DemoWeb) -> None:
        self.web = web

    def once(self, url: str, **headers: str) -> Answer:
        parts = urlsplit(url)
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        return self.web(Request("GET", parts.netloc.encode("idna").decode(), path, headers))

    def get(self, url: str) -> Answer:
        """Fetch with one retry, because some pages fail at first."""
        first = self.once(url)
        broken = first.status >= 500 or first.hang_up or first.cut is not None
        return self.once(url) if broken else first

    def tree(self, url: str) -> Any:
        host = urlsplit(url).netloc
        charset = next(host_.charset for host_ in HOSTS if host_.name == host)
        return lxml.html.document_fromstring(self.get(url).body.decode(charset))


@pytest.fixture(scope="module")
def web() -> DemoWeb:
    return DemoWeb(make_plan(SIZE, now=NOW))


@pytest.fixture
def client(web: DemoWeb) -> Client:
    return Client(DemoWeb(web.plan))


@pytest.fixture(scope="module")
def manifest(web: DemoWeb) -> Manifest:
    return make_manifest(web.plan)


def shingles(text: str) -> set[tuple[str, ...]]:
    words = re.findall(r"\w+", text.lower())
    return set(zip(words, words[1:], words[2:], strict=False))


def jaccard(one: str, other: str) -> float:
    first, second = shingles(one), shingles(other)
    return len(first & second) / len(first | second)


def texts(web: DemoWeb) -> dict[str, str]:
    return {paper.url: paper.story.text for paper in web.plan.papers}


# --- what is in it


@pytest.mark.parametrize("size", [MIN_ARTICLES, 61, 300])
def test_exactly_so_many_articles_with_their_own_addresses_and_titles(size: int) -> None:
    manifest = make_manifest(make_plan(size, now=NOW))
    assert len(manifest.articles) == size
    assert len({address for article in manifest.articles for address in article.addresses}) == sum(
        len(article.addresses) for article in manifest.articles
    )
    assert len({(article.source, article.title) for article in manifest.articles}) == size
    assert len({article.host for article in manifest.articles}) == len(HOSTS)


@pytest.mark.parametrize("size", [MIN_ARTICLES - 1, MAX_ARTICLES + 1])
def test_sizes_out_of_bounds_are_refused(size: int) -> None:
    with pytest.raises(ValueError, match=str(MIN_ARTICLES)):
        make_plan(size, now=NOW)


def test_a_seed_gives_the_same_web_and_another_seed_another(manifest: Manifest) -> None:
    assert make_manifest(make_plan(SIZE, now=NOW)) == manifest
    other = make_manifest(make_plan(SIZE, now=NOW, seed=2))
    assert not {article.title for article in other.articles} & {
        article.title for article in manifest.articles
    }
    one, two = (Client(DemoWeb(make_plan(SIZE, now=NOW))) for _ in range(2))
    for url in (*manifest.homes, *(article.url for article in manifest.articles)):
        assert one.once(url).body == two.once(url).body


def test_articles_are_long_and_of_both_languages(web: DemoWeb, manifest: Manifest) -> None:
    assert min(article.words for article in manifest.articles) > 200
    for article in manifest.articles:
        cyrillic = len(re.findall(r"[а-яё]", article.first_line))
        assert (cyrillic > 20) == (article.language == "ru")
    share = sum(article.language == "ru" for article in manifest.articles) / len(manifest.articles)
    assert 0.3 < share < 0.7


def test_distinct_articles_are_far_apart_and_near_copies_are_near(web: DemoWeb, manifest: Manifest) -> None:
    of = texts(web)
    kin = {frozenset(pair) for group in manifest.near for pair in itertools.combinations(group, 2)}
    same = {frozenset(pair) for group in manifest.reprints for pair in itertools.combinations(group, 2)}
    sets = {url: shingles(text) for url, text in of.items()}
    related = {
        frozenset((paper.url, other.url))
        for group in web.plan.families()
        for paper, other in itertools.combinations(group, 2)
    }
    for one, other in itertools.combinations(of, 2):
        if frozenset((one, other)) not in related:
            assert len(sets[one] & sets[other]) / len(sets[one] | sets[other]) < 0.3
    assert len(kin) >= 5
    for pair in kin:
        one, other = pair
        assert 0.5 < jaccard(of[one], of[other]) < 0.95
    assert same
    for pair in same:
        one, other = pair
        assert of[one] == of[other]
        assert urlsplit(one).netloc != urlsplit(other).netloc


def test_near_copies_are_on_other_hosts_and_on_the_same_one(manifest: Manifest) -> None:
    hosts = [[urlsplit(url).netloc for url in group] for group in manifest.near]
    assert any(len(set(group)) > 1 for group in hosts)
    assert any(len(set(group)) < len(group) for group in hosts)


# --- addresses


def test_every_address_of_every_article_answers_with_its_words(client: Client, manifest: Manifest) -> None:
    charsets = {host.name: host.charset for host in HOSTS}
    for article in manifest.articles:
        for address in article.addresses:
            answer = client.get(address)
            assert (answer.status, answer.hang_up, answer.cut) == (200, False, None), address
            text = lxml.html.document_fromstring(answer.body.decode(charsets[article.host])).xpath("string()")
            assert article.title in str(text)
            assert article.first_line in str(text)


def test_bare_copies_name_their_canonical_address(client: Client, manifest: Manifest) -> None:
    bare = [
        (address, article.url)
        for article in manifest.articles
        for address in article.addresses
        if "/amp/" in address or "/print/" in address
    ]
    assert len(bare) > 20
    for address, canonical in bare:
        assert client.tree(address).xpath("//link[@rel='canonical']/@href") == [canonical]


def test_second_addresses_hold_the_same_page_and_do_not_tell(client: Client, manifest: Manifest) -> None:
    pairs = [
        article.addresses
        for article in manifest.articles
        if any("/city/" in url for url in article.addresses)
    ]
    assert len(pairs) == 3
    for addresses in pairs:
        city = next(url for url in addresses if "/city/" in url)
        assert client.get(addresses[0]).body == client.get(city).body
        assert not client.tree(city).xpath("//link[@rel='canonical']")


def test_unknown_addresses_and_hosts(client: Client) -> None:
    assert client.once("http://gazeta.demo.example/nothing/here").status == 404
    assert client.once("http://nowhere.example/").status == 502
    bare = client.once("http://herald.demo.example/news/sport?page=2")
    assert (bare.status, bare.headers["Location"]) == (
        301,
        "http://www.herald.demo.example/news/sport?page=2",
    )


# --- ways to the articles


def find(body: bytes, xpath: str) -> list[str]:
    """Return the strings that an XPath finds in well-formed XML."""
    found: Any = lxml.etree.fromstring(body).xpath(xpath)
    return [str(text) for text in found]


def links_of(client: Client, url: str) -> set[str]:
    tree = client.tree(url)
    return {urljoin(url, href) for href in tree.xpath("//a/@href")}


def plain(url: str) -> str:
    return re.sub(r"\?(sid|utm_source)=.*", "", url)


def crawl(client: Client, host: Host, max_depth: int = MAX_DEPTH) -> dict[str, int]:
    """Follow all links on a host from its home page but the endless noise; return the clicks to each page."""
    depths = {f"{host.base}/": 0}
    queue = deque(depths)
    while queue:
        url = queue.popleft()
        answer = client.get(url)
        if depths[url] == max_depth or answer.kind not in ("section", "article", "redirect"):
            continue
        found = (
            {urljoin(url, answer.headers["Location"])} if answer.kind == "redirect" else links_of(client, url)
        )
        for link in sorted(plain(link) for link in found):
            if urlsplit(link).netloc == host.name and link not in depths and "/s/loop" not in link:
                depths[link] = depths[url] + 1
                queue.append(link)
    return depths


@pytest.mark.parametrize(
    "host", [host for host in HOSTS if host.name != "wire.demo.example"], ids=lambda host: host.domain
)
def test_every_article_can_be_found(client: Client, host: Host) -> None:
    depths = crawl(client, host)
    for paper in client.web.plan.of(host):
        if paper.ways == {Way.ARCHIVE}:
            assert depths[paper.url] == 5
        elif Way.SECTION in paper.ways:
            assert depths[paper.url] <= 3
        elif Way.SHORT in paper.ways:
            assert depths[paper.url] <= 4
        else:
            assert paper.ways <= {Way.SITEMAP, Way.FEED}


def test_much_of_the_archive_is_five_clicks_away_and_in_no_feed_or_sitemap(client: Client) -> None:
    deep = {paper.url for paper in client.web.plan.of(ARCHIVE) if paper.ways == {Way.ARCHIVE}}
    assert len(deep) > 15
    listed = gzip.decompress(client.get("http://archive.demo.example/sitemaps/recent.xml.gz").body).decode()
    assert not [url for url in deep if url in listed]


def test_section_pages_have_nine_noise_links_to_each_article_link(client: Client, manifest: Manifest) -> None:
    addresses = {address for article in manifest.articles for address in article.addresses}
    for url in (
        "http://gazeta.demo.example/",
        "http://www.herald.demo.example/",
        "http://новости.demo.example/",
    ):
        hrefs = [urljoin(url, href) for href in client.tree(url).xpath("//li//a/@href")]
        articles = sum(plain(href) in addresses for href in hrefs)
        assert articles > 10
        assert (len(hrefs) - articles) / articles >= PER_ARTICLE - 0.5


def test_sessions_are_in_the_links_of_one_host(client: Client) -> None:
    hrefs = client.tree("http://новости.demo.example/").xpath("//h2/a/@href")
    assert hrefs
    assert all(re.search(r"\?sid=[0-9a-f]{32}$", href) for href in hrefs)
    assert client.get(urljoin("http://новости.demo.example/", hrefs[-1])).kind == "article"


def test_the_calendar_has_no_end(client: Client) -> None:
    url = "http://www.herald.demo.example/events/2026/11/"
    for _ in range(30):
        assert client.once(url).kind == "calendar"
        url = urljoin(url, client.tree(url).xpath("//a[contains(., 'after')]/@href")[0])
    assert url.endswith("/events/2029/05/")


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
def test_feeds_are_well_formed_and_lead_to_articles(client: Client, url: str) -> None:
    links = feed_links(client, url)
    assert len(links) > 10
    assert {client.get(link).kind for link in links} == {"article"}


def test_feeds_carry_tracking_parameters_and_ascii_hosts(client: Client) -> None:
    assert "utm_source=" in feed_links(client, "http://gazeta.demo.example/rss.xml")[0]
    assert feed_links(client, "http://новости.demo.example/rss/rdf.xml")[0].startswith("http://xn--")


def test_the_agency_has_a_json_feed_a_careless_one_an_empty_one_and_one_that_is_a_page(
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


def test_sitemaps_are_well_formed_and_lead_to_articles(client: Client) -> None:
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
def test_errors_that_go_away(client: Client, fault: str, status: int) -> None:
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


def test_slow_pages_and_a_date_beyond_all_years(client: Client) -> None:
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
            url = urljoin(url, client.once(url).headers["Location"])  # noqa: PLW2901  # walks along the chain
            hops += 1
        assert client.get(url).kind == "article"
        lengths.append(hops)
    assert sorted(lengths) == [1, 1, 3]
    there = client.once("http://gazeta.demo.example/s/loop").headers["Location"]
    assert client.once(f"http://gazeta.demo.example{there}").headers["Location"] == "/s/loop"


def test_one_host_compresses_for_those_who_ask(client: Client) -> None:
    url = "http://gazeta.demo.example/"
    packed = client.once(url, **{"accept-encoding": "gzip, br"})
    assert packed.headers["Content-Encoding"] == "gzip"
    assert packed.headers["Content-Type"] == "text/html"
    assert gzip.decompress(packed.body) == client.once(url).body
