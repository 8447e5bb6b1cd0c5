"""The web of ``scrapy demo``, requested from its own server."""

from __future__ import annotations

import gzip
import http.client
import itertools
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import lxml.etree
import lxml.html
import pytest

from newsbot.apps.demo.check import judge
from newsbot.apps.demo.server import (
    MAX_ARTICLES,
    MIN_ARTICLES,
    Article,
    DemoServer,
    Manifest,
    load_sites,
    make_manifest,
    publish,
)
from newsbot.clock import iso
from newsbot.dedup.decision import SAME_STORY, Change, Text, compare
from newsbot.dedup.index import jaccard, shingle_hashes
from newsbot.items import Article as Stored
from newsbot.items import Kind
from newsbot.pages.rules import load_rules
from newsbot.pages.rules.rule import classify
from tests.builders import make_article
from tests.manifests import load_manifest

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
CHARSETS = {site.name: site.charset for site in load_sites()}


class Answer(NamedTuple):
    status: int
    headers: http.client.HTTPMessage
    body: bytes


def fetch(server: DemoServer, url: str, method: str = "GET", **headers: str) -> Answer:
    """Fetch through the proxy. Raises ``http.client.HTTPException`` if the response breaks off."""
    parts = urlsplit(url)
    target = url.replace(parts.netloc, parts.netloc.encode("idna").decode())
    connection = http.client.HTTPConnection(urlsplit(server.address).netloc, timeout=60)
    try:
        connection.request(method, target, headers={key.replace("_", "-"): headers[key] for key in headers})
        answer = connection.getresponse()
        return Answer(answer.status, answer.headers, answer.read())
    finally:
        connection.close()


def again(server: DemoServer, url: str) -> Answer:
    """Fetch with one retry, because some pages fail at first."""
    try:
        answer = fetch(server, url)
    except http.client.HTTPException:
        return fetch(server, url)
    return fetch(server, url) if answer.status in {429, 500, 503} else answer


def tree_of(html: str) -> Any:
    return lxml.html.document_fromstring(html)


@pytest.fixture(scope="module")
def articles() -> list[Article]:
    return publish(300, NOW)


@pytest.fixture(scope="module")
def manifest(articles: list[Article]) -> Manifest:
    return make_manifest(articles, NOW)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DemoServer]:
    """A server for several tests; the faults of some articles may have happened in an earlier test."""
    with DemoServer(tmp_path_factory.mktemp("web"), articles=MIN_ARTICLES, now=NOW) as server:
        yield server


@pytest.fixture
def fresh(tmp_path: Path) -> Iterator[DemoServer]:
    with DemoServer(tmp_path, articles=MIN_ARTICLES, now=NOW) as server:
        yield server


# --- articles


@pytest.mark.parametrize("size", [MIN_ARTICLES, 61, 137, 1000])
def test_the_number_of_articles_is_as_requested(size: int) -> None:
    published = publish(size, NOW)
    assert len(published) == len({article.url for article in published}) == size
    assert make_manifest(published, NOW) == make_manifest(publish(size, NOW), NOW)


@pytest.mark.parametrize("size", [0, MIN_ARTICLES - 1, MAX_ARTICLES + 1])
def test_sizes_out_of_bounds_are_refused(size: int) -> None:
    with pytest.raises(ValueError, match=str(MIN_ARTICLES)):
        publish(size, NOW)


def test_texts_are_similar_only_within_a_story_or_a_template(
    articles: list[Article], manifest: Manifest
) -> None:
    texts = {article.url: "\n".join(article.story.paragraphs) for article in articles}
    sets = {url: set(shingle_hashes(text).tolist()) for url, text in texts.items()}
    related = {pair for group in manifest.families for pair in itertools.combinations(group, 2)}
    reports = {pair for group in manifest.templates for pair in itertools.combinations(group, 2)}
    for one, other in itertools.combinations(texts, 2):
        if not {(one, other), (other, one)} & (related | reports):
            assert len(sets[one] & sets[other]) / len(sets[one] | sets[other]) < SAME_STORY / 2
    assert len({texts[one] == texts[other] for one, other in related}) == 2
    for one, other in related | reports:
        assert jaccard(shingle_hashes(texts[one]), shingle_hashes(texts[other])) > SAME_STORY
    for one, other in reports:
        pair = [Text(make_article(1, title="", text=texts[url])) for url in (one, other)]
        assert compare(*pair).change is Change.FILLING
    hosts = [{urlsplit(url).netloc for url in pair} for pair in related]
    assert {len(pair) for pair in hosts} == {1, 2}


def test_both_languages_and_all_subjects_are_used(articles: list[Article]) -> None:
    share = sum(article.story.language == "ru" for article in articles) / len(articles)
    assert 0.3 < share < 0.7
    assert len({article.story.topic for article in articles}) == 8
    for article in articles:
        assert "{" not in article.story.title + "".join(article.story.sentences)
        assert len(" ".join(article.story.sentences).split()) > 100
        if not article.story.template:
            assert article.story.subject in " ".join(article.story.sentences)


def test_stories_of_the_manifest_are_judged_as_correct(articles: list[Article], manifest: Manifest) -> None:
    stored = [
        Stored(url=one.url, canonical_url=one.url, title=one.story.title, text="", source=one.site.domain)
        for one in articles
    ]
    for row, article in zip(stored, articles, strict=True):
        row.story = article.story.family
    assert [(one.pairs > 0, one.wrong) for one in judge(stored, manifest)] == [(True, 0)] * 3 + [(False, 0)]


# --- pages


def test_every_url_of_every_article_returns_its_text(server: DemoServer) -> None:
    for article in server.manifest.articles:
        for address in article.addresses:
            answer = again(server, address)
            assert answer.status == 200, address
            text = tree_of(answer.body.decode(CHARSETS[article.host])).text_content()
            assert article.title in text
            assert article.first_line in text


def test_each_site_states_dates_in_its_own_format(server: DemoServer) -> None:
    """The date is in structured data if the site has such data, otherwise it is visible text."""
    paths = {
        "gazeta.demo.example": "//script[contains(., 'datePublished')]",
        "www.herald.demo.example": "//meta[@property='article:published_time']",
        "новости.demo.example": "//meta[@itemprop='datePublished']",
        "courier.demo.example": "//p[@class='byline'][contains(., '2026')]",
    }
    for article in server.manifest.articles:
        tree = tree_of(again(server, article.url).body.decode(CHARSETS[article.host]))
        assert article.host not in paths or len(tree.xpath(paths[article.host])) == 1


def test_sources_have_their_declared_format_or_fault(server: DemoServer) -> None:
    for site in load_sites():
        for path, (kind, _, content_type) in site.sources.items():
            answer = fetch(server, site.base + path)
            assert answer.headers["Content-Type"] == content_type
            if kind in {"rss", "atom", "rdf", "news_sitemap", "sitemap_index"}:
                lxml.etree.fromstring(answer.body)
            if kind == "careless_rss":
                with pytest.raises(lxml.etree.XMLSyntaxError):
                    lxml.etree.fromstring(answer.body)
            assert (answer.body == b"") == (kind == "nothing")


def test_every_article_is_linked_from_a_list_or_a_source(server: DemoServer) -> None:
    named: set[str] = set()
    for site in load_sites():
        pages = server._sites[site.ascii]
        todo = ["/"]
        bodies = [fetch(server, site.base + path).body for path in site.sources]
        for path in todo:
            bodies.append(fetch(server, site.base + path).body)
            for link in tree_of(bodies[-1].decode(site.charset)).xpath("//main//a/@href | //nav//a/@href"):
                page = pages._routes.get(link)
                if page is not None and page.kind == "section" and link not in todo:
                    todo.append(link)
        text = b"".join(gzip.decompress(body) if body[:2] == b"\x1f\x8b" else body for body in bodies)
        named |= {
            article.url
            for article in server.manifest.articles
            if article.host == site.name
            and any(address_in(address, text) for address in [*article.addresses, short_link(article.url)])
        }
    assert named == {article.url for article in server.manifest.articles}


def address_in(address: str, text: bytes) -> bool:
    """Return True if a page or a source contains the URL, escaped or not."""
    parts = urlsplit(address)
    path = parts.path + (f"?{parts.query}" if parts.query else "")
    return any(
        form.encode() in text for form in (path, path.replace("&", "&amp;"), path.replace("&", "\\u0026"))
    )


def short_link(url: str) -> str:
    number = url.strip("/").rpartition("/")[2]
    return f"/s/x{int(number):x}" if number.isdigit() else url


def test_rules_recognise_articles_and_robots_txt_forbids_pages(server: DemoServer) -> None:
    rules = load_rules(server.rules)
    for article in server.manifest.articles:
        rule = rules.for_url(article.url)
        assert (rule.delay, rule.concurrency) == (0, 4)
        assert not rule.article or classify(rule, article.url).kind is Kind.ARTICLE
    assert (server.rules / "herald.demo.example.yaml").read_text() == "domain: herald.demo.example\n"
    assert (
        b"Disallow: /closed/\nDisallow: /login\n"
        in fetch(server, "http://gazeta.demo.example/robots.txt").body
    )
    fetch(server, "http://gazeta.demo.example/closed/x")
    assert server.log[-1].kind == "forbidden"


# --- server


def test_temporary_and_permanent_faults(fresh: DemoServer) -> None:
    kinds: dict[str, list[str]] = {}
    for article in publish(MIN_ARTICLES, NOW):
        if article.fault:
            kinds.setdefault(article.fault, []).append(article.url)
    first = {"error": 500, "busy": 503, "too-many": 429}
    for fault, urls in kinds.items():
        for url in urls:
            if fault in {"broken", "hang-up"}:
                with pytest.raises((http.client.IncompleteRead, http.client.RemoteDisconnected)):
                    fetch(fresh, url)
                assert not fresh.log[-1].whole
            else:
                answer = fetch(fresh, url)
                assert answer.status == first.get(fault, 200)
                assert (answer.headers["Retry-After"] is None) == (fault not in {"busy", "too-many"})
            assert fetch(fresh, url).status == 200
            assert fresh.log[-1].whole
    assert {*first, "broken", "hang-up", "slow", "year-9999", "latin-header", "utf8-header"} == set(kinds)


def test_conditional_requests_are_answered_304(server: DemoServer) -> None:
    urls = [
        *server.manifest.homes,
        "http://gazeta.demo.example/rss.xml",
        "http://wire.demo.example/feed.json",
    ]
    for url in [
        *urls,
        "http://archive.demo.example/sitemaps/recent.xml.gz",
        "http://gazeta.demo.example/tag/x",
    ]:
        first = fetch(server, url)
        same = fetch(server, url, If_None_Match=first.headers["ETag"])
        assert (first.status, same.status, same.body) == (200, 304, b"")
        assert same.headers["ETag"] == first.headers["ETag"]
        assert server.log[-1].conditional
        assert fetch(server, url, If_None_Match='"other"').status == 200


def test_unusual_urls(server: DemoServer) -> None:
    gone = "http://gazeta.demo.example/sport/2026/11/20/deleted-on-request-90004/"
    assert fetch(server, gone).status == 410
    assert fetch(server, gone.replace("deleted-on-request-90004", "nothing")).status == 404
    assert fetch(server, "http://gazeta.demo.example/s/loop").headers["Location"] == "/s/pool"
    assert fetch(server, "http://gazeta.demo.example/s/pool").headers["Location"] == "/s/loop"
    binary = fetch(server, "http://courier.demo.example/sport/annual-report-90005.html")
    assert binary.headers["Content-Type"].startswith("text/html")
    assert b"\x00" in binary.body
    huge = fetch(server, "http://courier.demo.example/sport/live-ticker-90006.html")
    assert huge.headers["Content-Length"] is None
    assert len(huge.body) > 10**7
    moved = fetch(server, "http://herald.demo.example/news/x?y=1")
    assert (moved.status, moved.headers["Location"]) == (301, "http://www.herald.demo.example/news/x?y=1")
    assert fetch(server, "http://elsewhere.example/").status == 502


def test_short_links_redirect_three_times_to_articles(server: DemoServer) -> None:
    tree = tree_of(fetch(server, "http://gazeta.demo.example/").body.decode())
    links = [link for link in tree.xpath("//h2/a/@href") if link.startswith("/s/x")]
    assert len(links) == 3
    by_url = {article.url for article in server.manifest.articles}
    for link in links:
        url, steps = "http://gazeta.demo.example" + link, []
        while (answer := again(server, url)).status in {301, 302, 307}:
            steps.append(answer.status)
            target = answer.headers["Location"]
            url = target if target.startswith("http") else "http://gazeta.demo.example" + target
        assert (steps, answer.status) == ([302, 301, 307], 200)
        assert url in by_url


def test_the_manifest_is_in_the_folder_of_the_rules(server: DemoServer) -> None:
    assert load_manifest(server.rules / "manifest.json") == server.manifest
    assert server.manifest.now == iso(NOW)
    assert server.crawl_environment == {
        "http_proxy": server.address,
        "https_proxy": server.address,
        "no_proxy": "",
        "NEWSBOT_RULES": str(server.rules),
    }
