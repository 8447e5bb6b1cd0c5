"""``scrapy remove``: all data of an article is removed, it is not stored again, and no other data changes."""

from __future__ import annotations

import re
import time
from contextlib import closing
from pathlib import Path

import pytest

from newsbot.apps.monitor.report import site_report
from newsbot.apps.monitor.results import (
    PageCheck,
    SearchResult,
    checks_of,
    keep_report,
    kept_report,
    searches_of,
)
from newsbot.apps.operations import remove as removing
from newsbot.apps.search.phrases import Position
from newsbot.apps.web.push import PushedTexts
from newsbot.dedup.index import signature
from newsbot.dedup.sqlite import SqliteIndex
from newsbot.items import Kind, PageRecord
from newsbot.pages.rules import RuleSet
from newsbot.sites.pauses_and_removals import RemovalNotes, within
from newsbot.storage.base import SiteRecord, SourceRecord
from newsbot.urls import fingerprint
from tests.commandline import Place, article
from tests.crawls import article_html, feed_xml
from tests.searching import find

STORY = "https://example.org/news/1"
OTHER = "https://example.org/news/2"


def page(url: str) -> PageRecord:
    host = url.split("/")[2]
    return PageRecord(
        url=url, fingerprint=fingerprint(url), host=host, source="example.org", kind=Kind.ARTICLE
    )


@pytest.fixture
def place(tmp_path) -> Place:
    place = Place(tmp_path)
    with place.storage() as storage:
        storage.articles.store(article(1))
        storage.articles.store(article(1, text="The harbour was opened again. " * 5))
        storage.articles.store(article(2))
        storage.articles.store(
            article(3, canonical_url="https://blog.example.org/x", url="https://blog.example.org/x")
        )
        storage.articles.store(article(4, source="example.net", canonical_url="https://example.net/1"))
        storage.pages.discover([page(STORY), page(OTHER), page("https://blog.example.org/x")])
        storage.sources.save(
            [SourceRecord(url="https://example.org/rss.xml", source="example.org", kind=Kind.FEED)]
        )
    with place.frontier(), closing(SqliteIndex(place.data / "newsbot.db")) as index:
        for url in (STORY, OTHER):
            index.check_and_insert(url, "example.org", signature(words(url)), time.time())
    return place


def words(url: str) -> str:
    return " ".join(f"{url[-1]}word{number}" for number in range(80))


def near(place: Place) -> int:
    with closing(SqliteIndex(place.data / "newsbot.db")) as index:
        return index.count()


def urls(place: Place) -> list[str]:
    with place.storage() as storage:
        return sorted(one.canonical_url for one in storage.articles.iter())


def test_without_yes_no_data_changes(place):
    before = urls(place)
    answer = place.run("remove", STORY, "example.org")
    assert answer.code == 0
    assert answer.rows == [[STORY, "1", "1", "1", "0"], ["example.org", "3", "1", "3", "1"]]
    assert "no data were removed" in answer.err
    assert urls(place) == before
    assert near(place) == 2
    assert place.run("remove", "--list", "--json").json == []


def test_an_article_is_removed_with_all_its_urls(place):
    answer = place.run("remove", f"{STORY}?utm_source=feed&ref=x", "--yes", "--reason", "letter", "--json")
    assert answer.code == 0, answer.err
    assert answer.json[0]["articles"] == 1
    assert STORY not in urls(place)
    assert OTHER in urls(place)
    assert near(place) == 1
    with place.storage() as storage:
        assert storage.articles.versions(STORY) == []
        assert [hit.article.canonical_url for hit in find(storage, "opened")] == []
        assert {one.url for one in storage.pages.iter()} == {OTHER, "https://blog.example.org/x"}
    kept = {one["what"]: one["reason"] for one in place.run("remove", "--list", "--json").json}
    assert kept[STORY] == "letter"
    refused = place.run("add", f"{STORY}?ref=y")
    assert refused.code == 2
    assert "is blocked" in refused.err
    assert place.run("remove", "--allow", STORY).code == 0
    assert place.run("add", STORY).code == 0
    assert place.run("remove", "--allow", STORY).code == 1


def test_a_domain_is_removed_with_its_subdomains(place):
    assert place.run("remove", "Example.org", "--yes").code == 0
    assert urls(place) == ["https://example.net/1"]
    with place.storage() as storage:
        assert list(storage.pages.iter()) == []
        assert storage.sources.all() == []
        tombstones = RemovalNotes(time.time)
        tombstones.read(storage.notes)
    assert near(place) == 0
    assert tombstones.covers(b"x" * 16, "blog.example.org:8080")
    assert not tombstones.covers(b"x" * 16, "notexample.org")


def test_removing_a_subdomain_leaves_other_domains(place):
    assert place.run("remove", "blog.example.org", "--yes").code == 0
    assert STORY in urls(place)
    assert "https://blog.example.org/x" not in urls(place)


@pytest.mark.parametrize("what", ["example", "example.org/news", "ftp://example.org/"])
def test_an_argument_that_is_neither_a_url_nor_a_domain_is_refused(place, what):
    answer = place.run("remove", what)
    assert answer.code == 2
    assert what in answer.err


def test_articles_that_a_crawl_stores_meanwhile_are_removed_too(place, monkeypatch):
    with place.frontier() as frontier:
        frontier.set_politeness("example.org", delay=0, concurrency=5)
    assert place.run("add", OTHER).code == 0
    with place.frontier() as frontier:
        assert frontier.lease("worker", 1, horizon=time.time() + 1, ttl=60)

    def stored_meanwhile(seconds: float) -> None:
        with place.storage() as storage:
            storage.articles.store(article(9))

    monkeypatch.setattr(removing, "wait_for_crawls", stored_meanwhile)
    monkeypatch.setattr("newsbot.apps.operations.remove.wait_for_crawls", stored_meanwhile)
    answer = place.run("remove", "example.org", "--yes")
    assert "a crawl is running" in answer.err
    assert urls(place) == ["https://example.net/1"]


def test_within():
    domains = frozenset(("example.org",))
    assert within("a.b.example.org", domains)
    assert within("example.org:8080", domains)
    assert not within("org", domains)
    assert not within("", domains)


HOST = "http://news.test"
XML = {"Content-Type": "application/rss+xml"}


def test_a_crawl_does_not_store_removed_articles_again(site, world):
    stories = [f"{HOST}/story/{number}" for number in range(3)]
    for number, url in enumerate(stories):
        site.page(url, article_html(number))
    site.page(f"{HOST}/print/1", article_html(1, head=f'<link rel="canonical" href="{stories[1]}">'))
    site.page(f"{HOST}/feed.xml", feed_xml(stories), headers=XML)
    world.rule("news.test", f"domain: news.test\nfeeds: {HOST}/feed.xml\n")
    assert world.crawl().code == 0
    place = Place.__new__(Place)
    place.data, place.rules = world.data, world.rules
    assert place.run("remove", stories[1], "--yes").code == 0
    site.page(f"{HOST}/feed.xml", feed_xml([*stories, f"{HOST}/print/1"]), headers=XML)
    before = site.seen("news.test").count("/story/1")
    crawl = world.crawl("-a", f"urls={HOST}/feed.xml {stories[1]}")
    assert crawl.code == 0, crawl.err
    assert crawl.err.count(f"left out url={stories[1]}; the URL was removed") == 1
    again = world.crawl("-a", f"feeds={HOST}/feed.xml")
    assert world.urls() == [stories[0], stories[2]]
    assert site.seen("news.test").count("/story/1") == before
    assert site.seen("news.test").count("/print/1") == 1
    assert world.page(stories[1]) is None
    assert crawl.stat("links/rejected/removed") + again.stat("links/rejected/removed") >= 1
    assert again.stat("dropped/removed") + crawl.stat("dropped/removed") == 1
    assert place.run("remove", "news.test", "--yes").code == 0
    gone = world.crawl()
    assert gone.code == 0, gone.err
    assert world.urls() == []
    assert gone.stat("fetched/feed") == 0


def test_search_results_are_removed_also_without_a_page_record(place):
    """Searches follow links to pages that have no page record."""
    found = [STORY, "https://example.org/no/record", "https://blog.example.org/none", "https://example.net/y"]
    with place.storage() as storage:
        for search in ("one", "two"):
            searches_of(storage).save([result(search, url) for url in found])

    def kept() -> list[str]:
        with place.storage() as storage:
            return sorted(one.url for name in ("one", "two") for one in searches_of(storage).results(name))

    assert place.run("remove", found[1], "--yes").code == 0
    assert kept() == sorted([found[0], *found[2:]] * 2)
    assert place.run("remove", "example.org", "--yes").code == 0
    assert kept() == ["https://example.net/y"] * 2


def result(search: str, url: str) -> SearchResult:
    place = Position(start=0, end=7, line=1, found="harbour")
    return SearchResult(
        search=search, text="harbour", url=url, source="example.org", looked_at=1.0, positions=[place], hits=1
    )


def test_learned_data_of_a_domain_and_its_subdomains_is_removed(place):
    with place.storage() as storage:
        for site in ("example.org", "blog.example.org", "example.net"):
            storage.sites.add([SiteRecord(source=site, counters={"pages": 3.0})])
            for kind in ("addresses:", "lines:", "usual_places:"):
                storage.notes.save(kind + site, "key", {"x": 1})
            storage.notes.save("health", site, {"x": 1})
    assert place.run("remove", "example.org", "--yes").code == 0
    with place.storage() as storage:
        assert set(storage.sites.all()) == set(storage.notes.all("health")) == {"example.net"}
        for kind in ("addresses:", "lines:", "usual_places:"):
            assert (
                storage.notes.all(kind + "example.org") == storage.notes.all(kind + "blog.example.org") == {}
            )
            assert storage.notes.all(kind + "example.net")


def test_data_of_the_monitor_is_removed_too(place):
    blog, unknown = "https://blog.example.org/x", "https://example.org/no/record"
    with place.storage() as storage:
        for url in (STORY, OTHER, blog, unknown):
            checks_of(storage).save([PageCheck(url=url, source="example.org", at=9.0, run=8.0, status=404)])
        keep_report(storage.notes, site_report(storage, "example.org"), {"began": 8.0})

    def kept() -> tuple[list[str], list[str]]:
        with place.storage() as storage:
            report = kept_report(storage.notes, "example.org") or {"broken": []}
            return (
                sorted(one.url for one in checks_of(storage).iter()),
                sorted(one["url"] for one in report["broken"]),
            )

    assert kept() == ([blog, STORY, OTHER, unknown],) * 2
    assert place.run("remove", STORY, "--yes").code == 0
    assert kept() == ([blog, OTHER, unknown], [])
    assert place.run("remove", "blog.example.org", "--yes").code == 0
    assert kept() == ([OTHER, unknown], [])
    assert place.run("remove", "example.org", "--yes").code == 0
    assert kept() == ([], [])


FEED = "https://blog.example.org/feed"


@pytest.mark.parametrize(("what", "left"), [("example.org", set()), (FEED, {"https://example.org/feed"})])
def test_the_hubs_of_removed_sources_are_removed(place, what, left):
    """Otherwise ``scrapy serve`` would renew the subscriptions."""
    kept = {"https://hubs.example.net/feed"}
    with place.storage() as storage:
        for url in (FEED, "https://example.org/feed", *kept):
            storage.notes.save("hub", url, {"topic": url, "hubs": ["https://hub.example.com/"]})
        storage.notes.save("files of example.org", "robots.txt", {"at": 1.0, "body": None})
    assert place.run("remove", what, "--yes").code == 0
    with place.storage() as storage:
        assert set(storage.notes.all("hub")) == left | kept
        assert bool(storage.notes.all("files of example.org")) is bool(left)


@pytest.mark.parametrize(("what", "left"), [("example.org", set()), (STORY, {OTHER})])
def test_texts_from_the_hub_are_removed(place, what, left):
    with place.storage() as storage:
        texts = PushedTexts(storage.notes)
        texts.save(dict.fromkeys([STORY, OTHER], "<p>Text</p>"), "example.org", RuleSet(()), time.time())
    assert place.run("remove", what, "--yes").code == 0
    with place.storage() as storage:
        assert set(storage.notes.all("pushed_text")) == left


def test_each_kind_of_note_about_sites_names_its_owner():
    texts = [one.read_text(encoding="utf8") for one in Path(removing.__file__).parents[2].rglob("*.py")]
    kinds = re.findall(
        r'^(?:NOTE_KIND|PUSHED|HUB|FULL_QUEUE|SESSION_NOTE) = "(.*)"$', "\n".join(texts), re.MULTILINE
    )
    assert set(kinds) == set(removing.OWNERS)
