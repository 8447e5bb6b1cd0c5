"""Detection of sites that stop providing articles, with the likely cause."""

from __future__ import annotations

import sys
from contextlib import closing
from pathlib import Path

import pytest

from newsbot.apps.operations.verdict import alarms
from newsbot.sites.health import ENOUGH, NOTE_KIND, WINDOW, Pages, SiteHealth, pages_from
from newsbot.storage.sqlite import SqliteStorage
from testbed.mockserver import MockServer
from tests import warm
from tests.commandline import Place
from tests.crawls import ROOT, World, article_html, feed_xml


def pages(*reasons: str) -> Pages:
    found = Pages()
    for reason in reasons:
        found.saw(reason)
    return found


GOOD = ("",) * 80


@pytest.mark.parametrize(
    ("reason", "cause"),
    [
        ("http_404", "URLs have changed"),
        ("http_403", "refuses the crawler"),
        ("robots", "robots.txt"),
        ("timeout", "down or has moved"),
        ("no_text", "the layout has changed"),
    ],
)
def test_a_drop_is_reported_with_its_likely_cause(reason: str, cause: str) -> None:
    alarm = pages(*GOOD, *[reason] * WINDOW).alarm()
    assert alarm is not None
    assert alarm.startswith(
        f"articles in 0% of the last {WINDOW} pages, 100% before; mostly {reason} ({WINDOW})"
    )
    assert cause in alarm


@pytest.mark.parametrize(
    "reasons",
    [
        (),
        GOOD,
        ("http_404",) * 200,  # the site never had articles
        (*[""] * ENOUGH, *["http_404"] * WINDOW)[: WINDOW + ENOUGH - 1],  # too few pages before
        (*GOOD, *["", "http_404"] * WINDOW),  # every second page fails: not a sudden stop
    ],
)
def test_no_alarm_without_a_sudden_drop(reasons: tuple[str, ...]) -> None:
    assert pages(*reasons).alarm() is None


def test_the_alarm_ends_when_articles_are_found_again() -> None:
    found = pages(*GOOD, *["no_text"] * WINDOW)
    assert found.alarm() is not None
    for _ in range(WINDOW):
        found.saw("")
    assert found.alarm() is None


@pytest.mark.parametrize(
    "plain", [{}, {"lately": 3, "pages": 1, "articles": 1}, {"lately": [], "pages": "x"}]
)
def test_an_invalid_note_is_ignored(plain: dict[str, object]) -> None:
    assert pages_from(plain) == Pages()


def test_health_is_kept_between_crawls_and_shown_in_sources(tmp_path: Path) -> None:
    place = Place(tmp_path)
    place.data.mkdir(exist_ok=True)
    for reasons in (GOOD, ("no_text",) * WINDOW):
        with closing(SqliteStorage(place.data / "newsbot.db")) as storage:
            health = SiteHealth()
            for reason in reasons:
                health.saw(storage.notes, "example.org", reason)
            health.write(storage.notes)
            found = alarms(storage.notes)
    assert list(found) == ["example.org"]
    answer = place.run("sources", "example.org")
    assert "example.org: articles in 0% of the last 40 pages" in answer.err
    (site,) = place.run("sources", "example.org", "--json").json["sites"]
    assert site["alarm"] == found["example.org"]
    assert NOTE_KIND == "health"


def test_a_crawl_records_the_results_of_its_pages(world: World, site: MockServer) -> None:
    host = "http://news.test"
    urls = [f"{host}/story/{name}" for name in ("one", "short", "gone")]
    site.page(urls[0], article_html(1))
    site.page(urls[1], "<html><body><p>Nothing here.</p></body></html>")
    site.page(f"{host}/rss", feed_xml(urls), headers={"Content-Type": "application/rss+xml"})
    world.rule("news.test", f"domain: news.test\nfeeds: {host}/rss\n")
    assert world.crawl().code == 0
    with closing(SqliteStorage(world.data / "newsbot.db")) as storage:
        lately = storage.notes.all(NOTE_KIND)["news.test"]["lately"]
    assert sorted(lately)[:1] == [""]
    assert "http_404" in lately
    assert len(lately) == 3


def test_a_site_with_a_changed_layout_is_flagged_in_sources(world: World, site: MockServer) -> None:
    host, xml = "http://news.test", {"Content-Type": "application/rss+xml"}
    world.rule("_defaults", "delay: 0\nconcurrency: 8\ninterval: {feed: 0, article: 30d}\n")
    world.rule("news.test", f"domain: news.test\nfeeds: {host}/rss\n")
    wall = "<html><body><h1>Subscribe to read on</h1><p>From 3.99 a month.</p></body></html>"
    for first, page in ((0, None), (100, wall)):
        urls = [f"{host}/story/{first + n}" for n in range(ENOUGH + WINDOW)]
        for n, url in enumerate(urls):
            site.page(url, page or article_html(n))
        site.page(f"{host}/rss", feed_xml(urls), headers=xml)
        assert world.crawl("-a", f"feeds={host}/rss").code == 0
    answer = warm.run([sys.executable, "-m", "scrapy", "sources"], cwd=ROOT, env=world.environment())
    assert answer.returncode == 0, answer.stderr
    (alarm,) = [line for line in answer.stderr.splitlines() if line.startswith("news.test: ")]
    assert "articles in 0% of the last 40 pages, 75% before; mostly no_text (40)" in alarm
    assert "the layout has changed, or these are log-in or consent pages (see scrapy rules test" in alarm
