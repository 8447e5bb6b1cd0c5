"""The demo's web matches its manifest."""

from __future__ import annotations

import gzip
import itertools
import re
from collections import deque
from urllib.parse import urljoin, urlsplit

import lxml.etree
import lxml.html
import pytest

from newsbot.apps.demo.server import Manifest
from testbed.demoweb.hosts import ARCHIVE, HOSTS, Host
from testbed.demoweb.manifest import make_manifest
from testbed.demoweb.noise import PER_ARTICLE
from testbed.demoweb.plan import MAX_ARTICLES, MIN_ARTICLES, Way, make_plan
from testbed.demoweb.web import DemoWeb
from tests.demo_client import NOW, SIZE, Client, links_of

MAX_DEPTH = 5


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


# --- contents


@pytest.mark.parametrize("size", [MIN_ARTICLES, 61, 300])
def test_the_number_of_articles_is_exact_and_their_urls_and_titles_are_unique(size: int) -> None:
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


def test_the_same_seed_gives_the_same_web_and_another_seed_a_different_web(manifest: Manifest) -> None:
    assert make_manifest(make_plan(SIZE, now=NOW)) == manifest
    other = make_manifest(make_plan(SIZE, now=NOW, seed=2))
    assert not {article.title for article in other.articles} & {
        article.title for article in manifest.articles
    }
    one, two = (Client(DemoWeb(make_plan(SIZE, now=NOW))) for _ in range(2))
    for url in (*manifest.homes, *(article.url for article in manifest.articles)):
        assert one.once(url).body == two.once(url).body


def test_articles_are_long_and_in_both_languages(web: DemoWeb, manifest: Manifest) -> None:
    reports = {url for group in manifest.templates for url in group}
    assert min(article.words for article in manifest.articles if article.url not in reports) > 200
    assert min(article.words for article in manifest.articles) > 100
    for article in manifest.articles:
        cyrillic = len(re.findall(r"[а-яё]", article.first_line))
        assert (cyrillic > 20) == (article.language == "ru")
    share = sum(article.language == "ru" for article in manifest.articles) / len(manifest.articles)
    assert 0.3 < share < 0.7


def test_distinct_articles_are_far_apart_and_near_copies_are_near(web: DemoWeb, manifest: Manifest) -> None:
    of = texts(web)
    similar = {frozenset(pair) for group in manifest.families for pair in itertools.combinations(group, 2)}
    same = {pair for pair in similar if len({of[url] for url in pair}) == 1}
    kin = similar - same
    sets = {url: shingles(text) for url, text in of.items()}
    related = {
        frozenset((paper.url, other.url))
        for group in (*web.plan.families(), *web.plan.templates())
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
    for one, other in same:
        assert urlsplit(one).netloc != urlsplit(other).netloc


def test_near_copies_are_on_the_same_host_and_on_other_hosts(manifest: Manifest) -> None:
    hosts = [[urlsplit(url).netloc for url in group] for group in manifest.families]
    assert any(len(set(group)) > 1 for group in hosts)
    assert any(len(set(group)) < len(group) for group in hosts)


# --- addresses


def test_every_url_of_every_article_returns_its_text(client: Client, manifest: Manifest) -> None:
    charsets = {host.name: host.charset for host in HOSTS}
    for article in manifest.articles:
        for address in article.addresses:
            answer = client.get(address)
            assert (answer.status, answer.hang_up, answer.cut) == (200, False, None), address
            text = lxml.html.document_fromstring(answer.body.decode(charsets[article.host])).xpath("string()")
            assert article.title in str(text)
            assert article.first_line in str(text)


def test_amp_and_print_copies_have_a_canonical_link(client: Client, manifest: Manifest) -> None:
    bare = [
        (address, article.url)
        for article in manifest.articles
        for address in article.addresses
        if "/amp/" in address or "/print/" in address
    ]
    assert len(bare) > 20
    for address, canonical in bare:
        assert client.tree(address).xpath("//link[@rel='canonical']/@href") == [canonical]


def test_alternative_urls_serve_the_same_page_without_a_canonical_link(
    client: Client, manifest: Manifest
) -> None:
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


def test_unknown_urls_and_hosts(client: Client) -> None:
    assert client.once("http://gazeta.demo.example/nothing/here").status == 404
    assert client.once("http://nowhere.example/").status == 502
    bare = client.once("http://herald.demo.example/news/sport?page=2")
    assert (bare.status, bare.headers["Location"]) == (
        301,
        "http://www.herald.demo.example/news/sport?page=2",
    )


# --- ways to the articles


def plain(url: str) -> str:
    return re.sub(r"\?(sid|utm_source)=.*", "", url)


def crawl(client: Client, host: Host, max_depth: int = MAX_DEPTH) -> dict[str, int]:
    """Follow all links of a host from its home page, except noise; return the clicks needed for each page."""
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


def test_a_large_part_of_the_archive_is_five_clicks_away_and_not_in_a_feed_or_sitemap(client: Client) -> None:
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


def test_the_links_of_one_host_contain_session_ids(client: Client) -> None:
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
