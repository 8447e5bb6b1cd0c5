"""``scrapy rules new`` and ``scrapy rules test``: a rule made from a live site, and its saved pages."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from newsbot.apps.authoring.new import propose
from newsbot.pages.rules.load import read_files
from newsbot.pages.rules.rule import compile_pattern
from testbed.demoweb.server import DemoServer, this_hour
from testbed.mockserver import MockServer
from tests.commandline import Place
from tests.crawls import article_html, feed_xml
from tests.extraction_pages import PROSE

SITE = "gazeta.demo.example"


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    with DemoServer(tmp_path / "web", articles=120, now=this_hour()) as server:
        for name, value in server.crawl_environment.items():
            monkeypatch.setenv(name, value)
        place = Place(tmp_path)
        shutil.copy(Path(server.crawl_environment["NEWSBOT_RULES"]) / "_defaults.yaml", place.rules)
        monkeypatch.setenv("NEWSBOT_RETRY_SCALE", "0.05")
        monkeypatch.delenv("NEWSBOT_RULES")
        monkeypatch.delenv("NEWSBOT_DATA", raising=False)
        yield place


def test_a_rule_and_a_test_page_are_made_from_the_live_site(place: Place) -> None:
    answer = place.run("rules", "new", SITE)
    assert answer.code == 0, answer.err
    file = place.rules / f"{SITE}.yaml"
    assert file.read_text().strip() == answer.out.strip()
    loaded = read_files([file])
    assert loaded.problems == []
    (rule,) = loaded.rules
    assert rule.feeds == (f"http://{SITE}/rss.xml",)
    assert rule.language == "ru"
    assert rule.learn is True
    (pattern,) = rule.article
    assert compile_pattern(pattern.text).search("/sport/2024/05/31/some-story-about-a-bridge-12345/")
    assert not compile_pattern(pattern.text).search("/tag/bridge")
    assert "known articles, 0 other pages" in file.read_text()
    tested = place.run("rules", "test", SITE)
    assert (tested.code, tested.out) == (0, "1 saved page; fields that differ: 0\n")

    case = place.folder / "tests" / "sites" / SITE / "first"
    expected = json.loads((case / "expected.json").read_text())
    (case / "expected.json").write_text(json.dumps({**expected, "title": "Another"}))
    wrong = place.run("rules", "test", "--json")
    assert wrong.code == 1
    assert wrong.json["differences"] == [
        {"domain": SITE, "case": "first", "field": "title", "expected": "Another", "got": expected["title"]}
    ]
    before = file.read_text()
    again = place.run("rules", "new", SITE)
    assert again.code == 2
    assert "exists; edit it" in again.err
    assert file.read_text() == before


@pytest.mark.parametrize("path", ["/rss.xml", "/sport/"])
def test_a_rule_begins_at_the_address_of_a_feed_or_a_section(place: Place, path: str) -> None:
    answer = place.run("rules", "new", f"http://{SITE}{path}", "--articles", "6", "--print", "--json")
    assert answer.code == 0, answer.err
    assert answer.json["articles"] >= 6
    (sample, *_) = answer.json["samples"]
    assert sample["title"]
    assert sample["text"]
    file = place.rules / f"{SITE}.yaml"
    file.write_text(answer.json["rule"])
    (rule,) = read_files([file]).rules
    assert f"http://{SITE}{path}" in (*rule.seeds, *rule.feeds, *rule.sections)


def test_a_rule_begins_at_a_feed_of_a_site_whose_home_page_does_not_answer(
    tmp_path: Path, site: MockServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    urls = [f"http://paper.test:8080/news/story-{number}" for number in range(4)]
    for number, url in enumerate(urls):
        site.page(url, article_html(number), headers={"Content-Type": "text/html"})
    feed = "http://paper.test:8080/news/feed.xml"
    site.page(feed, feed_xml(urls), headers={"Content-Type": "application/rss+xml"})
    for name, value in {**site.proxy_env, "NEWSBOT_RETRY_SCALE": "0.05"}.items():
        monkeypatch.setenv(name, value)
    place = Place(tmp_path)
    answer = place.run("rules", "new", feed, "--print", "--json")
    assert answer.code == 0, answer.err
    assert (answer.json["articles"], feed in answer.json["rule"]) == (4, True)
    answer = place.run("rules", "new", "http://paper.test:8080/nothing", "--print")
    assert "crawl news -a url=http://paper.test:8080/nothing" in answer.err


def test_a_site_without_articles_is_reported_and_no_rule_is_written(place: Place) -> None:
    answer = place.run("rules", "new", "nowhere.demo.example")
    assert answer.code == 1
    assert "no article was found (last fault: " in answer.err.splitlines()[-1]
    assert not (place.rules / "nowhere.demo.example.yaml").exists()


def test_a_missing_folder_of_saved_pages_is_reported_with_the_remedy(tmp_path: Path) -> None:
    answer = Place(tmp_path).run("rules", "test", "--fixtures", str(tmp_path / "none"))
    assert (answer.code, len(answer.err.splitlines())) == (2, 1)
    assert "there are no saved pages; scrapy rules new DOMAIN makes one" in answer.err


@pytest.mark.parametrize("broken", ["meta.json", "expected.json"])
def test_broken_cases_are_reported_in_one_line(tmp_path: Path, broken: str) -> None:
    place = Place(tmp_path)
    case = tmp_path / "cases" / "example.org" / "one"
    case.mkdir(parents=True)
    meta = {"url": "https://example.org/news/1", "fetched_at": "2026-11-21T00:00:00Z"}
    (case / "page.html").write_text(article_html(1))
    (case / "meta.json").write_text(json.dumps(meta))
    (case / "expected.json").write_text("{}")
    assert place.run("rules", "test", "--fixtures", str(tmp_path / "cases")).code == 0
    (case / broken).write_text("[")
    answer = place.run("rules", "test", "--fixtures", str(tmp_path / "cases"))
    assert answer.code == 2
    assert len(answer.err.splitlines()) == 1
    assert broken in answer.err


def test_selectors_are_suggested_if_they_match_on_all_pages() -> None:
    samples = []
    for number in range(3):
        title = f"Story number {number}"
        text = "".join(f"<p>{number} {part}</p>" for part in PROSE)
        head = f"<body><h1 class='top x{number}'>{title}</h1>"
        page = f"{head}<div class='a{number} story'>{text}</div><div>x</div>"
        item = {"title": title, "text": "\n".join(f"{number} {one}" for one in PROSE)}
        samples.append((page.encode(), {"item": item}))
    assert propose(samples) == {"title": "h1.top", "text": "div.story"}
    assert propose(samples[:1]) == {}
    odd = (b"<body><h2>Other</h2><p>nothing</p>", {"item": {"title": "Other", "text": "nothing"}})
    assert propose([*samples, odd]) == {}
