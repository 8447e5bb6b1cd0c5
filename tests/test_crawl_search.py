"""Complete search crawls of a local web: results, politeness, and a news crawl on the same data."""

from __future__ import annotations

import json
import subprocess
from datetime import UTC, datetime
from itertools import pairwise
from statistics import median
from typing import Any

import pytest

from newsbot.apps.monitor.results import SearchResult, searches_of
from testbed.mockserver import MockServer
from tests import warm
from tests.crawls import ROOT, Crawl, World, article_html, feed_xml

HOST = "http://news.test"


class Searches(World):
    """A world whose crawls are runs of the search spider."""

    def command(self, *arguments: str) -> list[str]:
        return ["search" if word == "news" else word for word in super().command(*arguments)]

    def results(self, name: str) -> dict[tuple[str, str], SearchResult]:
        with self.storage() as storage:
            return {(one.text, one.url.removeprefix(HOST)): one for one in searches_of(storage).results(name)}

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        command = [*super().command()[:-2], *words]
        return warm.run(command, cwd=ROOT, env=self.environment())


@pytest.fixture
def searches(world: World, site: MockServer) -> Searches:
    site.page(
        f"{HOST}/",
        "<title>Bridge</title><script>var a = 'bridge'</script>"
        "<nav><a href='/a'>a</a> <a href='/b'>b</a></nav>"
        "<p hidden>bridge</p><p>Nothing of it</p><a href='http://other.test/'>bridge elsewhere</a>"
        "<a href='/secret/x'>s</a><a href='/closed'>c</a>",
    )
    site.page(
        f"{HOST}/a", "<p>One.</p><p>The old <b>brid</b>ge and the new bridge</p><a href='/deep'>deep</a>"
    )
    site.page(f"{HOST}/b", "<p>Погибли 12 человек у моста</p>")
    site.page(f"{HOST}/deep", "<p>The town&nbsp;hall</p>")
    site.page(f"{HOST}/closed", "<p>bridge</p>")
    site.page(f"{HOST}/secret/x", "<p>bridge</p>")
    site.page("http://other.test/", "<p>bridge</p>")
    site.robots("User-agent: *\nDisallow: /closed\n", host="news.test")
    world.rule("news.test", f"domain: news.test\nseeds: [{HOST}/]\ndeny: [^/secret/]\n")
    return Searches(world.folder, site)


def find(searches: Searches, **arguments: str) -> Crawl:
    words = [word for name, value in arguments.items() for word in ("-a", f"{name}={value}")]
    crawl = searches.crawl(*words)
    assert crawl.code == 0, crawl.err
    assert "Traceback" not in crawl.err, crawl.err
    return crawl


def test_texts_and_expressions_are_found_in_visible_text_with_position_and_context(
    searches: Searches, site: MockServer
) -> None:
    crawl = find(
        searches, sites="news.test", text="bridge|Town hall|old bridge", regex=r"\d+ \w+ у", search="s"
    )
    found = searches.results("s")
    assert found, crawl.err
    assert {key: one.hits for key, one in found.items()} == {
        ("bridge", "/"): 1,  # only the visible words of a link; not titles, scripts or hidden elements
        ("bridge", "/a"): 2,
        ("old bridge", "/a"): 1,
        ("Town hall", "/deep"): 1,
        (r"\d+ \w+ у", "/b"): 1,
    }
    first, second = found["bridge", "/a"].positions
    assert (first.line, first.start, first.end, first.found) == (2, 13, 19, "bridge")
    assert (first.before, first.after) == ("One. The old ", " and the new bridge deep")
    assert second.before.endswith("and the new ")
    assert found[r"\d+ \w+ у", "/b"].positions[0].found == "12 человек у"
    assert sorted(site.seen("news.test")) == ["/", "/a", "/b", "/deep", "/robots.txt"]
    assert site.seen("other.test") == []
    assert (crawl.stat("search/pages"), crawl.stat("search/hits")) == (4, 6)
    assert "scrapy searches show 's'" in crawl.err


def test_the_result_of_a_page_is_removed_when_its_text_is_gone(searches: Searches, site: MockServer) -> None:
    find(searches, sites="news.test", text="town hall")
    assert list(searches.results("town hall")) == [("town hall", "/deep")]
    site.page(f"{HOST}/deep", "<p>gone</p>")
    find(searches, sites="news.test", text="town hall")
    assert searches.results("town hall") == {}


def test_known_pages_are_searched_without_changing_the_plans_of_the_news_crawl(
    searches: Searches, world: World, site: MockServer
) -> None:
    urls = [f"{HOST}/story/{n}" for n in range(3)]
    for n, url in enumerate(urls):
        site.page(url, article_html(n))
    site.page(f"{HOST}/feed.xml", feed_xml(urls), headers={"Content-Type": "application/rss+xml"})
    world.rule("news.test", f"domain: news.test\nfeeds: {HOST}/feed.xml\n")
    assert world.crawl().code == 0
    before = {url: world.page(url) for url in urls}
    assert all(page is not None and page.next_due for page in before.values())
    sent = len(site.log)
    find(searches, sites="news.test", text="water rose again", follow="known", search="water")
    assert sorted(path for _, path in searches.results("water")) == ["/story/0", "/story/1", "/story/2"]
    assert {record.path for record in site.log[sent:]} == {f"/story/{n}" for n in range(3)}
    assert {url: world.page(url) for url in urls} == before
    assert len(world.articles()) == 3


def test_temporary_faults_are_retried_and_redirects_are_followed(
    searches: Searches, site: MockServer
) -> None:
    site.page(
        f"{HOST}/",
        "<a href='/status/500?times=1'>a</a><a href='/redirect?to=/a'>b</a><a href='/redirect-loop'>c</a>"
        "<a href='/redirect?to=http://other.test/'>d</a><a href='/binary-as-html'>e</a><a href='/404'>f</a>",
    )
    crawl = find(searches, sites="news.test", text="fine|bridge", search="r")
    assert set(searches.results("r")) == {("fine", "/status/500?times=1"), ("bridge", "/a")}
    assert crawl.stat("errors/http_404") == 1
    assert site.seen("other.test") == []


def test_a_site_without_https_is_searched_from_its_home_page(searches: Searches) -> None:
    searches.rule("news.test")
    find(searches, sites="news.test", text="town hall")
    assert list(searches.results("town hall")) == [("town hall", "/deep")]


def test_no_more_pages_are_requested_than_allowed(searches: Searches, site: MockServer) -> None:
    find(searches, sites="news.test", text="bridge", max_pages="2")
    assert len([path for path in site.seen("news.test") if path != "/robots.txt"]) == 2


def test_an_endless_calendar_is_not_followed(searches: Searches, site: MockServer) -> None:
    for year in range(2020, 2200):
        site.page(f"{HOST}/archive/{year}/", f"<p>bridge</p><a href='/archive/{year + 1}/'>next</a>")
    site.page(f"{HOST}/deep", "<a href='/archive/2020/'>archive</a>")
    searches.rule("news.test", f"domain: news.test\nseeds: [{HOST}/]\ndeny: [^/secret/]\nmax_depth: 90\n")
    find(searches, sites="news.test", text="bridge", search="s")
    years = {int(url.split("/")[2]) for _, url in searches.results("s") if url.startswith("/archive/")}
    assert years == set(range(2020, datetime.now(UTC).year + 1))


def test_requests_obey_the_delay_of_the_host(searches: Searches, site: MockServer) -> None:
    searches.rule("news.test", f"domain: news.test\nseeds: [{HOST}/]\ndelay: 0.2\ndeny: [^/secret/]\n")
    find(searches, sites="news.test", text="bridge")
    times = [record.at for record in site.log if record.path != "/robots.txt"]
    assert len(times) == 4
    assert median(b - a for a, b in pairwise(times)) >= 0.19


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "say what to find"),
        ({"text": "a||b"}, "an empty text"),
        ({"regex": "a*"}, "matches an empty text"),
        ({"regex": "("}, "bad pattern"),
        ({"text": "a", "sites": "nowhere.test"}, "no rule for it"),
        ({"txt": "a"}, "did you mean 'text'?"),
        ({"text": "a", "follow": "all"}, "follow: links"),
        ({"text": "a", "max_pages": "0"}, "whole number above 0"),
    ],
)
def test_invalid_searches_are_reported_in_one_line(
    searches: Searches, arguments: dict[str, str], message: str
) -> None:
    crawl = searches.crawl(*[word for name, value in arguments.items() for word in ("-a", f"{name}={value}")])
    assert crawl.code == 2
    assert message in crawl.err
    assert len(crawl.err.splitlines()) == 1


def test_searches_are_listed_shown_and_removed(searches: Searches) -> None:
    find(searches, sites="news.test", text="bridge|town hall", search="s")
    listed: list[dict[str, Any]] = json.loads(searches.run("searches", "list", "--json").stdout)
    assert [(one["search"], one["pages"], one["hits"]) for one in listed] == [("s", 3, 4)]
    assert "s" in searches.run("searches", "list").stdout
    shown = searches.run("searches", "show", "s", "--text", "town hall")
    assert "The [town hall]" in shown.stdout
    assert "bridge" not in shown.stdout
    rows = [json.loads(line) for line in searches.run("searches", "show", "s", "--json").stdout.splitlines()]
    assert {row["url"] for row in rows} == {f"{HOST}/", f"{HOST}/a", f"{HOST}/deep"}
    assert searches.run("searches", "show", "no").returncode == 1
    assert searches.run("searches", "forget", "s").returncode == 0
    assert json.loads(searches.run("searches", "list", "--json").stdout) == []
