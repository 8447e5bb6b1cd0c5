"""Complete runs of the monitor over a local web, with the data of the news crawl."""

from __future__ import annotations

import json
import subprocess
from contextlib import closing
from itertools import pairwise
from statistics import median
from typing import Any
from uuid import uuid4

import pytest
from pymongo import MongoClient

from newsbot.apps.mongodb.storage import MongoStorage
from newsbot.apps.monitor.results import CheckedPage, checks_of, kept_report
from newsbot.apps.monitor.spiders import _linked, parse_monitoring
from newsbot.apps.operations.remove import keep_out
from newsbot.errors import ArgumentError
from newsbot.items import EventKind, Kind, PageRecord
from newsbot.urls import canonicalize, fingerprint
from testbed.messages import Answer, Request
from testbed.mockserver import HTML, MockServer
from testbed.redisserver import RedisServer
from tests import warm
from tests.crawls import ROOT, Crawl, World, article_html, feed_xml

HOST = "http://news.test"
STORIES = [f"{HOST}/story/{n}" for n in range(4)]


class Monitors(World):
    """A world whose crawls are monitor runs."""

    def command(self, *arguments: str) -> list[str]:
        return ["monitor" if word == "news" else word for word in super().command(*arguments)]

    def checked(self) -> dict[str, CheckedPage]:
        with self.storage() as storage:
            return {one.url.removeprefix(HOST): one for one in checks_of(storage).iter()}

    def pages(self) -> dict[str, PageRecord]:
        with self.storage() as storage:
            return {one.url.removeprefix(HOST): one for one in storage.pages.iter()}

    def know(self, *paths: str, referrer: str = f"{HOST}/") -> None:
        """Add pages to the crawl database, as the news crawl does for links."""
        urls = [path if path.startswith("http") else HOST + path for path in paths]
        pages = [
            PageRecord(
                url=url,
                fingerprint=fingerprint(canonicalize(url)),
                host="news.test",
                source="news.test",
                kind="article",  # type: ignore[arg-type]
                referrers=[referrer],
                referrer_count=1,
                depth=1,
            )
            for url in urls
        ]
        self.data.mkdir(exist_ok=True)
        with self.storage() as storage:
            storage.pages.discover(pages)

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        command = [*super().command()[:-2], *words]
        return warm.run(command, cwd=ROOT, env=self.environment())

    def monitor(self, *options: str, **arguments: str) -> Crawl:
        words = [word for name, value in arguments.items() for word in ("-a", f"{name}={value}")]
        crawl = self.crawl(*words, *options)
        assert crawl.code == 0, crawl.err
        assert "Traceback" not in crawl.err, crawl.err
        return crawl


@pytest.fixture
def monitors(world: World, site: MockServer) -> Monitors:
    site.page(f"{HOST}/feed.xml", feed_xml(STORIES), headers={"Content-Type": "application/rss+xml"})
    for number, url in enumerate(STORIES):
        site.page(url, article_html(number), headers={"Server": "mock/1"})
    world.rule("news.test", f"domain: news.test\nfeeds: {HOST}/feed.xml\n")
    return Monitors(world.folder, site)


def methods(site: MockServer, path: str, since: int = 0) -> list[str]:
    return [record.method for record in site.log[since:] if record.path == path]


def test_known_pages_are_checked_without_changing_the_plans_of_the_news_crawl(
    world: World, monitors: Monitors, site: MockServer
) -> None:
    assert world.crawl().code == 0
    before = monitors.pages()
    assert {path for path in before if path.startswith("/story")} == {f"/story/{n}" for n in range(4)}
    sent = len(site.log)
    site.page(STORIES[1], status=404)
    site.page(STORIES[2], lambda _: Answer(status=301, headers={"Location": "/story/3"}))
    crawl = monitors.monitor(sites="news.test")
    assert monitors.pages() == before
    assert len(world.articles()) == 4
    checked = monitors.checked()
    assert set(checked) == set(before)
    first = checked["/story/0"].last
    assert (first.method, first.status, first.server, first.verdict) == ("HEAD", 200, "mock/1", "ok")
    assert first.size == len(article_html(0).encode())
    assert first.content_type == HTML["Content-Type"]
    assert first.seconds is not None
    assert 0 < first.seconds < 30
    assert checked["/story/1"].last.verdict == "broken"
    assert checked["/story/2"].last.hops == ((301, STORIES[3]),)
    assert checked["/story/2"].last.status == 200
    assert methods(site, "/story/1", sent) == ["HEAD", "GET"], "an error of HEAD must be confirmed by GET"
    assert methods(site, "/story/0", sent) == ["HEAD"]
    assert (crawl.stat("monitor/checked"), crawl.stat("monitor/broken")) == (5, 1)
    assert "broken=1" in crawl.err
    assert "scrapy monitor show news.test" in crawl.err


def test_the_news_crawl_continues_unchanged_after_the_monitor(
    world: World, monitors: Monitors, site: MockServer
) -> None:
    monitors.know("/story/0", "/story/1")
    monitors.monitor(sites="news.test")
    assert {page.state for page in monitors.pages().values()} == {"pending"}
    assert world.crawl("-a", f"urls={STORIES[0]},{STORIES[1]}").code == 0
    assert world.urls() == sorted(STORIES)[:2]


def test_servers_that_refuse_head_are_checked_by_get_without_the_body(
    monitors: Monitors, site: MockServer
) -> None:
    def no_head(request: Request) -> Answer:
        if request.method == "HEAD":
            return Answer(status=405)
        return Answer(body=b"x" * 3_000_000, headers={"Content-Type": "video/mp4"})

    for path in ("/a", "/b", "/c"):
        site.page(HOST + path, no_head)
    monitors.know("/a", "/b", "/c")
    monitors.monitor("-s", "DOWNLOAD_MAXSIZE=100000", sites="news.test")
    found = {
        path: (one.last.method, one.last.outcome, one.last.size) for path, one in monitors.checked().items()
    }
    assert found == dict.fromkeys(("/a", "/b", "/c"), ("GET", "200", 3_000_000))
    assert [record.method for record in site.log].count("HEAD") == 1, (
        "HEAD must not be tried again on the host"
    )


def test_a_304_counts_as_an_unchanged_page(world: World, monitors: Monitors, site: MockServer) -> None:
    assert world.crawl().code == 0
    sent = len(site.log)
    monitors.monitor(sites="news.test", method="get")
    assert {one.last.status for path, one in monitors.checked().items() if path.startswith("/story")} == {304}
    assert {one.last.outcome for one in monitors.checked().values()} == {"200"}
    assert all(record.method == "GET" for record in site.log[sent:])


def test_faults_are_reported_by_name(monitors: Monitors, site: MockServer) -> None:
    paths = {
        "/drop": "connection",
        "/redirect-loop": "redirects",
        "/redirect-chain/20": "redirects",
        "/status/500": "500",
        "/status/403": "403",
        "/status/410": "410",
        "/redirect?to=": "redirects",
        "/redirect?to=http://other.test/": "302",
        "/closed": "robots",
        "/status/500?times=1": "200",
        "/redirect-chain/2": "200",
        "/bad-gzip": "200",
        "/huge": "200",
    }
    site.robots("User-agent: *\nDisallow: /closed\n", host="news.test")
    monitors.know(*paths)
    monitors.monitor(sites="news.test", method="get")
    checked = monitors.checked()
    assert {path: one.last.outcome for path, one in checked.items()} == paths
    assert checked["/redirect-chain/2"].last.hops == (
        (302, f"{HOST}/redirect-chain/1"),
        (302, f"{HOST}/redirect-chain/0"),
    )
    assert checked["/redirect?to=http://other.test/"].last.verdict == "moved"
    assert site.seen("other.test") == []
    assert methods(site, "/status/410") == ["GET"]
    assert methods(site, "/closed") == []


def test_broken_links_are_found_with_the_pages_that_contain_them(
    world: World, monitors: Monitors, site: MockServer
) -> None:
    assert world.crawl().code == 0
    before = monitors.pages()
    site.page(
        f"{HOST}/",
        "<a href='/story/0'>a</a> <a href='/nowhere'>b</a> <a href='http://other.test/'>c</a>"
        "<a href='/taken/out'>d</a>",
    )
    with monitors.storage() as storage:
        keep_out(storage.notes, urls=[f"{HOST}/taken/out"], domain=None, at=1.0, reason="")
    site.page(STORIES[0], article_html(0, extra="<a href='/story/1'>x</a><a href='/nowhere/too'>y</a>"))
    world.rule("news.test", f"domain: news.test\nfeeds: {HOST}/feed.xml\nseeds: [{HOST}/]\n")
    monitors.monitor(sites="news.test", follow="links")
    checked = monitors.checked()
    assert {path for path, one in checked.items() if one.last.verdict == "broken"} == {
        "/nowhere",
        "/nowhere/too",
    }
    assert checked["/nowhere/too"].last.found_on == STORIES[0]
    after = monitors.pages()
    assert set(after) == set(before), "the monitor must not add pages"
    assert STORIES[0] in after["/story/1"].referrers
    assert f"{HOST}/" in after["/story/0"].referrers
    assert site.seen("other.test") == []
    assert "/taken/out" not in site.seen()
    for path, page in after.items():
        plans = (page.state, page.next_due, page.checks, page.history, page.last_fetched)
        old = before[path]
        assert plans == (old.state, old.next_due, old.checks, old.history, old.last_fetched)
    report = json.loads(monitors.run("monitor", "show", "news.test", "--json").stdout)
    assert {one["url"]: one["referrers"] for one in report["broken"]} == {
        f"{HOST}/nowhere": [f"{HOST}/"],
        f"{HOST}/nowhere/too": [STORIES[0]],
    }
    assert checked["/"].last.markup == "no_title:1 no_description:1 no_language:1"
    assert checked["/feed.xml"].last.markup is None
    assert report["markup"]["no_title"] == 1
    assert f"{HOST}/" in [one["url"] for one in report["faulty"]]
    assert "no title: 1" in monitors.run("monitor", "show", "news.test").stdout


def test_requests_obey_the_delay_of_the_host(monitors: Monitors, site: MockServer) -> None:
    monitors.rule("news.test", "domain: news.test\ndelay: 0.2\n")
    monitors.know(*(f"/story/{n}" for n in range(4)))
    monitors.monitor(sites="news.test")
    times = [record.at for record in site.log if record.path != "/robots.txt"]
    assert len(times) == 4
    assert median(b - a for a, b in pairwise(times)) >= 0.19


def test_the_monitor_and_a_news_crawl_share_the_delay(
    world: World, monitors: Monitors, site: MockServer
) -> None:
    stories = [f"{HOST}/story/{number}" for number in range(12)]
    for number, url in enumerate(stories):
        site.page(url, article_html(number))
    site.page(f"{HOST}/feed.xml", feed_xml(stories), headers={"Content-Type": "application/rss+xml"})
    world.rule("news.test", f"domain: news.test\nfeeds: {HOST}/feed.xml\ndelay: 0.3\n")
    monitors.know(*(f"/old/{number}" for number in range(10)))
    news = world.start()
    try:
        monitors.monitor(sites="news.test")
        _, err = news.communicate(timeout=120)
    finally:
        if news.poll() is None:
            news.kill()
            news.communicate()
    assert news.returncode == 0, err
    assert world.urls() == sorted(stories)
    assert sum(path.startswith("/old") for path in monitors.checked()) == 10
    times = sorted(record.at for record in site.log if record.path != "/robots.txt")
    gaps = [b - a for a, b in pairwise(times)]
    assert sum(gap < 0.15 for gap in gaps) <= len(gaps) / 5, (
        "one shared clock; two clocks would halve the interval"
    )
    assert {page.state for path, page in monitors.pages().items() if path.startswith("/story")} == {"done"}


def test_servers_store_the_same_checks_as_the_data_file(
    world: World, monitors: Monitors, site: MockServer, mongo_uri: str, redis_server: RedisServer
) -> None:
    name = f"newsbot_test_{uuid4().hex[:12]}"
    place, _, options = mongo_uri.partition("?")
    uri = f"{place.rstrip('/')}/{name}{'?' if options else ''}{options}"
    world.servers = monitors.servers = {"MONGO_URI": uri, "REDIS_URL": redis_server.url}
    try:
        assert world.crawl().code == 0
        site.page(STORIES[1], status=404)
        monitors.monitor(sites="news.test")
        with closing(MongoStorage(uri)) as storage:
            checked = {one.url.removeprefix(HOST): one.last.outcome for one in checks_of(storage).iter()}
            report = kept_report(storage.notes, "news.test")
        assert checked == {"/feed.xml": "200", "/story/1": "404"} | {
            f"/story/{number}": "200" for number in (0, 2, 3)
        }
        assert report is not None
        assert [one["url"] for one in report["broken"]] == [STORIES[1]]
    finally:
        with MongoClient[dict[str, Any]](mongo_uri) as client:
            client.drop_database(name)


def test_the_second_run_reports_changes_and_skips_recently_checked_pages(
    monitors: Monitors, site: MockServer
) -> None:
    monitors.know("/story/0", "/story/1")
    monitors.monitor(sites="news.test")
    site.page(STORIES[0], status=410)
    sent = len(site.log)
    monitors.monitor(sites="news.test", min_age="1h")
    assert [record for record in site.log[sent:] if record.path.startswith("/story")] == []
    monitors.monitor(sites="news.test")
    report = json.loads(monitors.run("monitor", "show", "news.test", "--json").stdout)
    assert [(one["what"], one["before"], one["now"], one["url"]) for one in report["changes"]] == [
        ("status", "200", "410", STORIES[0])
    ]
    listed: list[dict[str, Any]] = json.loads(monitors.run("monitor", "list", "--json").stdout)
    assert [(one["site"], one["broken_count"], len(one["runs"])) for one in listed] == [("news.test", 1, 3)]
    assert listed[0]["runs"][-1]["checked"] == 2
    assert listed[0]["runs"][-1]["reason"] == "finished"


def test_many_pages_wait_in_the_database_and_not_in_memory(monitors: Monitors, site: MockServer) -> None:
    monitors.know(*(f"/p/{n}" for n in range(620)))
    crawl = monitors.monitor(sites="news.test", max_pages="600")
    assert crawl.stat("monitor/checked") == 600
    assert crawl.stat("beside/left_out") == 20


def test_checks_are_items_and_reports_are_files(monitors: Monitors, site: MockServer) -> None:
    monitors.know("/story/0", "/<b>&", f"{HOST}/redirect-chain/1")
    out, page, data = (monitors.folder / name for name in ("checks.jsonl", "report.html", "report.json"))
    monitors.monitor("-O", str(out), sites="news.test", report=str(page))
    rows = [json.loads(line) for line in out.read_text(encoding="utf8").splitlines()]
    assert {row["url"]: row["verdict"] for row in rows} == {
        STORIES[0]: "ok",
        f"{HOST}/%3Cb%3E&": "broken",
        f"{HOST}/redirect-chain/1": "moved",
    }
    html = page.read_text(encoding="utf8")
    assert "Broken links: 1" in html
    assert "/%3Cb%3E&amp;" in html
    assert "<script" not in html
    monitors.monitor(sites="news.test", report=str(data))
    assert [one["site"] for one in json.loads(data.read_text(encoding="utf8"))] == ["news.test"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"site": "news.test"}, "did you mean 'sites'"),
        ({"method": "post"}, "method: head"),
        ({"follow": "all"}, "follow: known"),
        ({"min_age": "soon"}, "is not a duration"),
        ({"max_pages": "0"}, "whole number above 0"),
        ({"report": "report.pdf"}, "html or .json"),
        ({"report": "/no/such/folder/report.html"}, "there is no folder"),
    ],
)
def test_wrong_arguments_are_reported_in_one_line(arguments: dict[str, str], message: str) -> None:
    with pytest.raises(ArgumentError, match=message) as raised:
        parse_monitoring(arguments)
    assert len(str(raised.value).splitlines()) == 1


def test_a_site_without_a_rule_is_reported_before_the_crawl(monitors: Monitors) -> None:
    crawl = monitors.crawl("-a", "sites=nowhere.test")
    assert (crawl.code, len(crawl.err.splitlines())) == (2, 1)
    assert "no rule for it" in crawl.err


def test_a_link_to_a_removed_page_does_not_restore_its_old_data() -> None:
    url = "https://news.test/a"
    known = PageRecord(
        url=url,
        fingerprint=fingerprint(canonicalize(url)),
        host="news.test",
        source="news.test",
        kind=Kind.ARTICLE,
        http_status=200,
        content_hash="old",
        history=[{"at": 1.0, "event": EventKind.FETCHED}],
    )
    linked = _linked(known, "https://news.test/", 1)
    assert (linked.history, linked.content_hash, linked.http_status) == ([], None, None)
    assert (linked.fingerprint, linked.referrers) == (known.fingerprint, ["https://news.test/"])
