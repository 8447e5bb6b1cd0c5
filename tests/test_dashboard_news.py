"""The front page and the pages of an article and a story in a browser."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Event
from typing import Any
from urllib.parse import quote

import pytest
from playwright.sync_api import Page, expect

from newsbot import backends
from newsbot.apps.search.articles import ArticleSearch, searching
from newsbot.apps.search.index import FirstReport
from newsbot.apps.web.dashboard.articles import blocks, weight
from newsbot.clock import system_clock
from newsbot.pages.text.differences import word_changes
from newsbot.storage.sqlite.sources import SqliteActivity
from tests.browser import chromium
from tests.dashboarddata import fill, make_article, write_events
from tests.dashboards import TOKEN, Visitor, served, settings_of, visit

NOW = datetime(2026, 11, 23, 12, tzinfo=UTC)
PROSE = "https://prose.test/long"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    settings = settings_of(tmp_path_factory.mktemp("news"))
    fill(settings)
    write_events(settings)
    storage = backends.open_storage(settings)
    text = "\n".join(["Opening words. " * 30, "What came then", "said one", "said two", "- a", "End."])
    structure = {"heading": [1], "quote": [2, 3], "item": [4]}
    fields: dict[str, Any] = {"url": PROSE, "canonical_url": PROSE, "content_hash": PROSE}
    # older than the newest article of :func:`write_events`, whose time has microseconds
    fields |= {"source": "prose.test", "published_at": datetime.now(UTC) - timedelta(minutes=61)}
    storage.articles.store(make_article(0, **fields, text=text, structure=structure))
    storage.close()
    with searching(settings) as search:  # the server might index only after the first page is shown
        search.follow()
    with served(settings) as found:
        yield found


@pytest.fixture
def page(home: str) -> Iterator[Page]:
    with chromium() as browser:
        context = browser.new_context(base_url=home, viewport={"width": 390, "height": 844})
        yield context.new_page()


def test_the_front_page_shows_events_of_several_sites(page: Page) -> None:
    page.goto("/")
    top = page.locator("ol.top > li")
    expect(top).to_have_count(2)
    expect(top.first.locator(".headline")).to_have_text("Ostrava flooded, first.test tells")
    expect(top.first.locator(".sites")).to_have_text("3 sites")
    expect(top.first.get_by_role("img", name="second.test")).to_have_text("SE")
    expect(top.first.locator(".opening")).to_have_text("The dam of Ostrava broke, mayor Jana Dvorak said.")
    expect(top.first).to_contain_text("+2 in 3 hours")
    assert top.first.locator("svg.pulse g").count() == 3
    assert "second.test" in (top.first.locator("svg.pulse").text_content() or "")
    expect(top.nth(1).locator(".sites")).to_have_text("2 sites")
    expect(top.nth(1)).not_to_contain_text("in 3 hours")
    box = top.first.locator(".headline").bounding_box()
    assert box is not None
    assert box["y"] + box["height"] < 844  # without scrolling
    expect(page.locator("ol.newest li").first).to_contain_text("third.test")
    expect(page.locator(".strip")).to_contain_text("site fail since")
    expect(page.locator(".strip")).to_contain_text("1 alert since")
    assert page.locator("main img").count() == 0  # pictures are off by default
    expect(top.first.locator("details")).to_contain_text("2 stories")
    expect(top.nth(1).locator("details")).to_have_count(0)
    top.first.locator(".count").click()
    joined = page.locator("ol.timeline > li")
    expect(joined).to_have_count(3)
    delays = [one.split("\n")[0] for one in joined.locator(".when").all_inner_texts()]
    assert delays == ["first", "+3.0\u00a0h", "+4.0\u00a0h"]
    expect(joined.nth(1)).to_contain_text("second.test")
    expect(page.locator("svg.plot")).to_have_attribute("aria-label", "Reports by the hour (UTC)")
    expect(page.locator("aside .elsewhere li")).to_have_count(2)
    page.get_by_text("All articles of this event").click()
    expect(page.locator(".hits li")).to_have_count(2)
    expect(page.locator(".hits li").last).to_contain_text("and 1 more")
    page.locator(".hits li").last.locator(".headline a").click()
    expect(page.get_by_role("heading", name="Other stories of this event")).to_be_visible()
    page.get_by_text("The whole event").click()
    expect(joined).to_have_count(3)


def test_the_page_of_an_article_is_easy_to_read(page: Page) -> None:
    page.set_viewport_size({"width": 1280, "height": 900})
    page.goto(f"/article?url={quote(PROSE, safe='')}")
    expect(page.locator("article h2")).to_have_text("What came then")
    expect(page.locator("article blockquote p")).to_have_count(2)
    expect(page.locator("article li")).to_have_count(1)
    line = page.evaluate(
        "(() => { const box = document.querySelector('article > p:not(.meta)'), range = new Range();"
        " const text = box.firstChild; let end = 0;"
        " for (range.setStart(text, 0); end < text.length; end++) {"
        "  range.setEnd(text, end + 1); if (range.getClientRects().length > 1) break; } return end; })()"
    )
    assert 60 <= line <= 80
    expect(page.locator(".history").first).not_to_be_visible()
    page.get_by_text("Why is this article here?").click()
    expect(page.locator(".history").first).to_contain_text("prose.test")
    page.emulate_media(media="print")
    expect(page.locator("header")).not_to_be_visible()
    expect(page.locator("article h1")).to_be_visible()


def test_without_articles_the_front_page_says_what_to_do(tmp_path: Path) -> None:
    with served(settings_of(tmp_path)) as empty, chromium() as browser:
        page = browser.new_page(base_url=empty)
        page.goto("/")
        expect(page.locator("ol.newest")).to_contain_text("scrapy crawl news")
        expect(page.locator(".strip")).to_contain_text("Idle: nothing was crawled yet")
        expect(page.locator("main")).not_to_contain_text("All is well")


def test_an_empty_project_shows_ways_to_begin_and_adds_sites_by_a_button(tmp_path: Path) -> None:
    (tmp_path / "rules").mkdir()
    settings = {"NEWSBOT_DATA": str(tmp_path), "NEWSBOT_RULES": str(tmp_path / "rules")}

    async def check(visitor: Visitor) -> None:
        _, text = await visitor.get("/")
        assert "Three ways to begin" in text
        assert "rules import opml" in text
        assert "init --sites starter" in text  # nobody is logged in, so there is no button
        answer, _ = await visitor.post("/do/add_starter", {})
        assert answer.status == 401
        await visitor.post("/login", {"token": TOKEN, "back": "/"})
        _, text = await visitor.get("/")
        assert "Add these sites" in text
        secret = text.partition('name="secret" value="')[2].partition('"')[0]
        answer, _ = await visitor.post("/do/add_starter", {"secret": secret})
        assert answer.headers["Location"].startswith("/sources?done=")
        assert "Three ways to begin" not in (await visitor.get("/"))[1]
        assert "lenta.ru" in (await visitor.get("/sources"))[1]

    visit(settings, check, token=TOKEN)
    assert (tmp_path / "rules" / "lenta.ru.yaml").exists()


def test_the_newest_list_shows_a_story_once_and_says_when_the_index_is_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = settings_of(tmp_path)
    storage = backends.open_storage(settings)
    for number in range(4):
        url = f"https://site{number}.test/1"
        fields = {"url": url, "canonical_url": url, "content_hash": url, "source": f"site{number}.test"}
        storage.articles.store(make_article(0, **fields, story=None if number == 3 else "s1"))
    storage.close()
    monkeypatch.setattr(ArticleSearch, "waiting", lambda _self: 7)
    monkeypatch.setattr(ArticleSearch, "first_reports", lambda *_: [])

    async def check(visitor: Visitor) -> None:
        found = json.loads((await visitor.get("/api/news"))[1])
        assert sorted((one["copies"], one["story"]) for one in found["newest"]) == [(0, None), (2, "s1")]
        assert found["unindexed"] == 7
        _, text = await visitor.get("/")
        assert "and 2 more" in text
        assert "The search index is being built" in text

    visit(settings, check)


def test_while_events_are_computed_the_page_says_so_and_not_that_there_are_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = settings_of(tmp_path)
    fill(settings, articles=3)
    write_events(settings)
    with searching(settings) as search:
        search.follow()
    release, known = Event(), ArticleSearch.first_reports
    monkeypatch.setattr(ArticleSearch, "first_reports", lambda *given: release.wait(60) and known(*given))

    async def check(visitor: Visitor) -> None:
        visitor.impatient = True
        answer, text = await visitor.get("/")
        assert answer.status == 200
        assert "The events of the last 24 hours are being computed" in text
        assert "No event was reported" not in text
        assert "Bridge number" in text  # the newest articles need no figures
        visitor.impatient = False
        release.set()
        assert "Ostrava flooded" in (await visitor.get("/"))[1]

    try:
        visit(settings, check)
    finally:
        release.set()


def test_a_page_whose_figures_are_computed_for_the_first_time_loads_itself_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    release = Event()
    monkeypatch.setattr(SqliteActivity, "trends", lambda *_: release.wait(60) and {})

    async def check(visitor: Visitor) -> None:
        visitor.impatient = True
        answer, text = await visitor.get("/sources")
        assert (answer.status, answer.headers["Refresh"]) == (200, "1")
        assert "are being computed" in text
        visitor.impatient = False
        release.set()
        assert "1 site" in (await visitor.get("/sources"))[1]

    try:
        visit(settings_of(tmp_path), check)
    finally:
        release.set()


def test_published_and_stored_articles_are_counted_and_named(tmp_path: Path) -> None:
    settings = settings_of(tmp_path)
    storage = backends.open_storage(settings)
    for number, age in enumerate((2, 3, 400, 500, 600)):  # hours; a first crawl finds mostly old articles
        at = datetime.now(UTC) - timedelta(hours=age)
        storage.articles.store(make_article(number, published_at=at, fetched_at=datetime.now(UTC)))
    storage.activity.add(system_clock(), {"news.test": {"articles": 5}})
    storage.close()

    async def check(visitor: Visitor) -> None:
        _, text = await visitor.get("/")
        assert "2 articles published in the last 24 hours" in text
        assert "5 stored by crawls in that time, 5 stored in all" in text
        _, text = await visitor.get("/crawl")
        assert "<b>5</b><span>articles stored by crawls in 24 hours" in text
        assert "<b>2</b><span>articles published in 24 hours" in text

    visit(settings, check)


def test_a_growing_event_is_ranked_above_one_of_yesterday() -> None:
    def reports(count: int, hours: float) -> list[FirstReport]:
        return [FirstReport("e", f"{n}.test", NOW - timedelta(hours=hours)) for n in range(count)]

    assert weight(reports(2, 12), NOW) == 1.0
    assert weight(reports(12, 1), NOW) > weight(reports(20, 23), NOW) > weight(reports(5, 1), NOW)


def test_lines_of_one_list_are_one_block() -> None:
    found = blocks("a\n\nb\nc\nd\ne", {"item": [2, 3], "heading": [4, 99]})
    assert found == [("paragraph", ["a"]), ("item", ["b", "c"]), ("heading", ["d"]), ("paragraph", ["e"])]
    assert blocks("", {}) == []


def test_words_that_changed_are_marked() -> None:
    found = word_changes(["The old bridge is closed."], ["The new bridge is closed."])
    assert found == [("kept", "The "), ("removed", "old "), ("added", "new "), ("kept", "bridge is closed.")]
    assert word_changes([], ["x"]) == [("added", "x")]
    long = ["word " * 3000]
    assert word_changes(long, ["x"]) == [("removed", long[0]), ("added", "x")]
