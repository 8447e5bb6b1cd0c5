"""The check of a crawl of the generated web, and the rules and the server of this web."""

from __future__ import annotations

import http.client
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from newsbot.apps.demo.check import COLUMNS, compare, count_log
from newsbot.apps.demo.server import TRACKING, Manifest, ServedRequest
from newsbot.items import Article, Kind
from newsbot.pages.rules import load_rules
from newsbot.pages.rules.rule import classify
from testbed.demoweb.manifest import make_manifest
from testbed.demoweb.noise import noise_links
from testbed.demoweb.plan import MIN_ARTICLES, Paper, Plan, make_plan
from testbed.demoweb.rulefiles import write_rules
from testbed.demoweb.server import DemoServer, read_log
from tests import warm
from tests.manifests import load_manifest

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)


@pytest.fixture(scope="module")
def plan() -> Plan:
    return make_plan(MIN_ARTICLES, now=NOW)


@pytest.fixture(scope="module")
def manifest(plan: Plan) -> Manifest:
    return make_manifest(plan)


def as_article(paper: Paper) -> Article:
    return Article(
        url=paper.url,
        canonical_url=paper.url,
        source=paper.host.source,
        title=paper.story.title,
        text=paper.story.text,
        published_at=paper.published.replace(microsecond=0),
    )


@pytest.fixture
def stored(plan: Plan) -> list[Article]:
    """The articles that a crawl without errors stores."""
    return [as_article(paper) for paper in plan.papers]


def faults(stored: list[Article], manifest: Manifest) -> list[tuple[str, str]]:
    return [(fault.what, fault.url) for fault in compare(stored, manifest).faults]


# --- check


def test_no_faults_are_found_in_a_complete_crawl(stored: list[Article], manifest: Manifest) -> None:
    report = compare(iter(stored), manifest)
    assert report.ok
    assert [len(row) for row in report.rows()] == [len(COLUMNS)] * 7
    assert report.rows()[-1] == ("all", 60, 60, 0, 0, 0, 0, 60)


def test_an_article_may_be_stored_under_any_of_its_urls(stored: list[Article], manifest: Manifest) -> None:
    by_url = {article.url: article for article in manifest.articles}
    for article in stored:
        article.url = article.canonical_url = by_url[article.url].addresses[-1]
    assert not faults(stored, manifest)


def test_different_spellings_of_a_url_are_accepted(stored: list[Article], manifest: Manifest) -> None:
    for article in stored:
        article.canonical_url = article.canonical_url.replace("http://www.", "https://")
        article.canonical_url = article.canonical_url.replace("новости", "xn--b1amnebsh")
    assert not faults(stored, manifest)


def test_a_missing_article_is_found(stored: list[Article], manifest: Manifest) -> None:
    gone = stored.pop(7)
    assert faults(stored, manifest) == [("missing", gone.url)]
    assert compare([], manifest).rows()[-1][:4] == ("all", 60, 0, 60)


def test_a_duplicate_article_is_found(stored: list[Article], manifest: Manifest) -> None:
    tracked = next(article for article in stored if "?" not in article.url)
    stored.append(replace(tracked, url=tracked.url + TRACKING))
    assert faults(stored, manifest) == [("twice", tracked.url)]


def test_unexpected_articles_are_found(stored: list[Article], manifest: Manifest) -> None:
    closed = manifest.forbidden[0]
    stored.append(replace(stored[0], url=closed, canonical_url=closed))
    stored.append(replace(stored[0], url="no address", canonical_url="no address"))
    assert faults(stored, manifest) == [("unexpected", closed), ("unexpected", "no address")]


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"title": "Home"}, "wrong title"),
        ({"text": ""}, "wrong text"),
        ({"text": "word " * 1000}, "wrong text"),
    ],
)
def test_wrong_fields_are_found(
    stored: list[Article], manifest: Manifest, change: dict[str, Any], what: str
) -> None:
    stored[3] = replace(stored[3], **change)
    assert faults(stored, manifest) == [(what, stored[3].url)]


def test_white_space_and_case_do_not_matter(stored: list[Article], manifest: Manifest) -> None:
    stored[3] = replace(
        stored[3], title=f"  {stored[3].title.upper()}\n", text=stored[3].text.replace(" ", "\n")
    )
    assert not faults(stored, manifest)


def test_a_wrong_date_is_counted_but_is_not_a_fault(stored: list[Article], manifest: Manifest) -> None:
    stored[3] = replace(stored[3], published_at=NOW)
    report = compare(stored, manifest)
    assert (report.ok, report.rows()[-1][-1]) == (True, 59)


def test_the_manifest_is_unchanged_after_writing_and_reading(manifest: Manifest, tmp_path: Path) -> None:
    manifest.save(tmp_path / "m.json")
    assert load_manifest(tmp_path / "m.json") == manifest


# --- figures


def record(url: str, kind: str, *, status: int = 200, whole: bool = True, active: int = 1) -> ServedRequest:
    parts = urlsplit(url)
    path = parts.path + (f"?{parts.query}" if parts.query else "")
    host = parts.netloc.encode("idna").decode()
    return ServedRequest(0.0, "GET", host, path, kind, status, whole, active == 2, active, None)


def test_the_useful_share_counts_each_article_once_and_no_sources(manifest: Manifest) -> None:
    with_copy = next(article for article in manifest.articles if "/print/" in article.addresses[-1])
    agency = [article.url for article in manifest.articles if article.host == "wire.demo.example"]
    figures = count_log(
        [
            *(record(with_copy.url, kind) for kind in ("robots", "feed", "sitemap", "section")),
            record(with_copy.url, "article", status=500),
            record(with_copy.url, "article", whole=False),
            record(with_copy.addresses[-1], "copy"),
            record(with_copy.url + TRACKING, "article", active=3),
            record(agency[0], "article"),
            record(agency[1], "article", active=2),
            record("http://h/tag/x", "tag"),
            record("http://h/gone", "missing", status=404),
            record("http://h/closed/x", "forbidden"),
        ],
        manifest,
    )
    assert (figures.articles_fetched, figures.pages_fetched, figures.useful_share) == (3, 6, 0.5)
    assert (figures.requests, figures.conditional_requests) == (13, 1)
    assert figures.forbidden == ["http://h/closed/x"]
    assert count_log([], manifest).useful_share == 1


# --- rules


def test_rules_separate_articles_from_noise(plan: Plan, manifest: Manifest, tmp_path: Path) -> None:
    write_rules(tmp_path)
    rules = load_rules(tmp_path)
    assert {rule.domain for rule in rules} >= {"gazeta.demo.example", "herald.demo.example"}
    for article in manifest.articles:
        rule = rules.for_url(article.url)
        assert (rule.delay, rule.concurrency) == (0, 4)
        if rule.article:
            assert classify(rule, article.url).kind is Kind.ARTICLE
    for host in {paper.host for paper in plan.papers}:
        rule = rules.for_url(f"{host.base}/")
        for anchor in noise_links(host, "/", 100):
            href = anchor.split('"')[1]
            if href.startswith("/"):
                match = classify(rule, host.base + href)
                assert match.kind in (None, Kind.OTHER) or match.denied


def test_one_rule_is_one_line(tmp_path: Path) -> None:
    write_rules(tmp_path)
    assert (tmp_path / "herald.demo.example.yaml").read_text(
        encoding="utf-8"
    ) == "domain: herald.demo.example\n"


# --- server


def fetch(port: int, url: str, **headers: str) -> http.client.HTTPResponse:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        connection.request(
            "GET", url, headers={name.replace("_", "-"): value for name, value in headers.items()}
        )
        answer = connection.getresponse()
        answer.read()
    finally:
        connection.close()
    return answer


def test_every_page_without_a_fault_answers_conditional_requests_with_304(tmp_path: Path) -> None:
    with DemoServer(tmp_path, articles=MIN_ARTICLES, now=NOW) as server:
        urls = ["http://gazeta.demo.example/rss.xml", "http://wire.demo.example/feed.json"]
        urls += ["http://archive.demo.example/sitemaps/recent.xml.gz", "http://gazeta.demo.example/tag/plan"]
        urls += [url.replace("новости", "xn--b1amnebsh") for url in server.manifest.homes]
        for url in urls:
            first = fetch(server.port, url)
            assert first.status == 200
            again = fetch(server.port, url, If_None_Match=first.headers["ETag"])
            assert (again.status, again.headers["ETag"]) == (304, first.headers["ETag"])
        dated = fetch(server.port, "http://gazeta.demo.example/").headers["Last-Modified"]
        assert fetch(server.port, "http://gazeta.demo.example/", If_Modified_Since=dated).status == 304
        assert count_log(server.log, server.manifest).conditional_requests == 11


@contextmanager
def program(*arguments: str) -> Iterator[tuple[dict[str, Any], subprocess.Popen[str]]]:
    command = [sys.executable, "-m", "testbed.demoweb.server", *arguments]
    process = warm.Popen[str](command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield json.loads(process.stdout.readline()), process
    finally:
        process.kill()
        process.communicate()


def test_the_server_as_a_program(tmp_path: Path) -> None:
    log = tmp_path / "requests.jsonl"
    arguments = (
        "--rules",
        str(tmp_path / "rules"),
        "--log",
        str(log),
        "--articles",
        "60",
        "--now",
        "2026-11-20T12:00:00Z",
    )
    with program(*arguments) as (info, process):
        assert load_manifest(Path(info["manifest"])) == make_manifest(make_plan(60, now=NOW))
        assert info["environment"]["NEWSBOT_RULES"] == info["rules"]
        assert info["environment"]["http_proxy"] == f"http://127.0.0.1:{info['port']}"
        assert fetch(info["port"], "http://courier.demo.example/").status == 200
        os.kill(process.pid, signal.SIGTERM)
        assert process.wait(60) == 0
    assert [(line.host, line.path, line.kind) for line in read_log(log)] == [
        ("courier.demo.example", "/", "section")
    ]


def test_a_port_in_use_is_reported_in_one_line(tmp_path: Path) -> None:
    with DemoServer(tmp_path, articles=MIN_ARTICLES, now=NOW) as server:
        command = [
            sys.executable,
            "-m",
            "testbed.demoweb.server",
            "--rules",
            str(tmp_path),
            "--port",
            str(server.port),
        ]
        ended = warm.run(command)
    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr.startswith(f"port {server.port}: ")
    assert ended.stderr.count("\n") == 1
