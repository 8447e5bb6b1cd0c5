"""What a reader has read and starred, the filters of the pages, and times in the reader's time zone."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from playwright.sync_api import Browser, Page, expect

from newsbot import backends
from newsbot.apps.search.articles import opening, searching
from newsbot.apps.search.query import narrowed, parse
from newsbot.apps.team.people import MAX_READ, MAX_STARRED, Reading, State
from newsbot.apps.web.dashboard.articles import by_period
from newsbot.urls import fingerprint
from tests.browser import check_access, chromium
from tests.dashboarddata import address, fill, make_article, write_events
from tests.dashboards import TOKEN, Visitor, served, settings_of, visit

BEARER = {"Authorization": f"Bearer {TOKEN}"}


def ready(folder: Path) -> dict[str, Any]:
    """Return the settings of data with events of three sites, two of which are in a collection."""
    settings = settings_of(folder)
    for site, tags in (
        ("first.test", "[islands]"),
        ("second.test", "[islands, daily]"),
        ("third.test", "[]"),
    ):
        text = f"domain: {site}\nfeeds: https://{site}/feed.xml\ntags: {tags}\n"
        (folder / "rules" / f"{site}.yaml").write_text(text)
    fill(settings, articles=6)
    write_events(settings)
    storage = backends.open_storage(settings)
    for number, (section, language) in enumerate(
        (("Sea trade", "en"), ("sea  Trade", "ru"), ("Sport", "en"))
    ):
        url = f"https://first.test/s{number}"
        fields = {"url": url, "canonical_url": url, "content_hash": url, "source": "first.test"}
        storage.articles.store(make_article(number + 3, **fields, section=section, language=language))
    storage.close()
    with searching(settings) as search:
        search.follow()
    return settings


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return ready(tmp_path_factory.mktemp("reading"))


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as found:
        yield found


@pytest.fixture(scope="module")
def home(settings: dict[str, Any]) -> Iterator[str]:
    with served(settings, token=TOKEN) as found:
        yield found


@pytest.fixture
def page(browser: Browser, home: str) -> Iterator[Page]:
    context = browser.new_context(base_url=home, timezone_id="Asia/Kolkata", locale="en-GB", bypass_csp=True)
    page = context.new_page()
    page.goto("/login")
    page.get_by_label("Token").fill(TOKEN)
    page.get_by_role("button", name="Log in").click()
    yield page
    context.close()


# --- marks
def test_an_article_that_was_opened_is_read_and_can_be_hidden(tmp_path: Path) -> None:
    settings = settings_of(tmp_path)
    fill(settings, articles=4)
    url = quote(address(3), safe="")

    async def check(visitor: Visitor) -> None:
        assert "data-read" not in (await visitor.get("/"))[1]  # nobody is logged in
        await visitor.get(f"/article?url={url}")
        await visitor.post("/login", {"token": TOKEN, "back": "/"})
        _, before = await visitor.get("/?unread=1")
        assert f'data-url="{address(3)}" data-read="0"' in before
        await visitor.get(f"/article?url={url}")
        assert f'data-url="{address(3)}" data-read="1"' in (await visitor.get("/"))[1]
        assert address(3) not in (await visitor.get("/?unread=1"))[1]
        answer, _ = await visitor.post("/api/actions/mark_unread", {"url": address(3)}, **BEARER)
        assert answer.status == 200
        assert f'data-url="{address(3)}"' in (await visitor.get("/?unread=1"))[1]
        await visitor.get(f"/article?url={url}")

    visit(settings, check, token=TOKEN)

    async def again(visitor: Visitor) -> None:  # the marks are written, also those of the last moment
        await visitor.post("/login", {"token": TOKEN, "back": "/"})
        assert f'data-url="{address(3)}" data-read="1"' in (await visitor.get("/"))[1]

    visit(settings, again, token=TOKEN)


def test_what_is_shown_can_be_marked_as_read_at_once_and_older_articles_follow(tmp_path: Path) -> None:
    settings = settings_of(tmp_path)
    fill(settings, articles=40)

    async def check(visitor: Visitor) -> None:
        assert "mark_all_read" not in (await visitor.get("/"))[1]
        await visitor.post("/login", {"token": TOKEN, "back": "/"})
        _, text = await visitor.get("/?unread=1")
        assert "25 unread" in text
        shown = text.partition('name="urls" value="')[2].partition('"')[0]
        assert address(0) in shown.split()
        secret = text.partition('name="secret" value="')[2].partition('"')[0]
        form, page = {"secret": secret, "urls": shown}, f"{visitor.address}/?unread=1"
        answer, _ = await visitor.post("/do/mark_all_read", form, Referer=page)
        assert (answer.status, answer.headers["Location"]) == (303, "/?unread=1")
        _, text = await visitor.get("/?unread=1")
        assert address(0) not in text
        assert address(39) in text  # the next ones, which were too old for the list
        rest = text.partition('name="urls" value="')[2].partition('"')[0]
        await visitor.post("/do/mark_all_read", form | {"urls": rest})
        _, text = await visitor.get("/?unread=1")
        assert "Nothing is left unread here." in text
        answer, _ = await visitor.post("/do/mark_all_read", form | {"urls": "nowhere"})
        assert answer.headers["Location"].startswith("/?wrong=")

    visit(settings, check, token=TOKEN)


def test_saved_searches_show_what_is_new_of_the_last_day(tmp_path: Path) -> None:
    settings = settings_of(tmp_path)
    fill(settings, articles=30)  # one each hour
    with searching(settings) as search:
        search.follow()

    async def check(visitor: Visitor) -> None:
        _, text = await visitor.get("/")
        assert re.search(r"since=1d\">Bridges plain</a><span class=\"n\">2\d</span>", text)
        await visitor.post("/api/actions/save", {"name": "nobody", "q": "unheard"}, **BEARER)
        assert '>nobody</a><span class="n">0</span>' in (await visitor.get("/"))[1]
        assert 'q=unheard&amp;since=1d">0</a>' in (await visitor.get("/saved"))[1]

    visit(settings, check, token=TOKEN)


def test_starred_articles_are_kept_on_the_page_saved(tmp_path: Path) -> None:
    settings = settings_of(tmp_path)
    fill(settings, articles=4)

    async def check(visitor: Visitor) -> None:
        for number in (1, 2):
            answer, text = await visitor.post("/api/actions/star", {"url": address(number)}, **BEARER)
            assert json.loads(text)["verdict"] == "starred"
        assert "Starred articles" not in (await visitor.get("/saved"))[1]  # nobody is logged in
        await visitor.post("/login", {"token": TOKEN, "back": "/"})
        _, text = await visitor.get("/saved")
        assert text.index(address(2)) < text.index(address(1))  # the latest star comes first
        secret = text.partition('name="secret" value="')[2].partition('"')[0]
        form = {"secret": secret, "url": address(2)}
        # A form of the page leads back to the page; the header of another site does not.
        answer, _ = await visitor.post("/do/unstar", form, Referer=f"{visitor.address}/saved?x=1")
        assert (answer.status, answer.headers["Location"]) == (303, "/saved?x=1")
        answer, _ = await visitor.post("/do/star", form | {"url": "nowhere"}, Referer="https://evil.test/p")
        assert answer.headers["Location"].startswith("/?wrong=")
        assert address(2) not in (await visitor.get("/saved"))[1]
        answer, _ = await visitor.post("/do/star", {"url": address(2)})
        assert answer.status == 401

    visit(settings, check, token=TOKEN)


def test_marks_are_bounded() -> None:
    known = Reading()
    for number in range(MAX_READ + 5):
        known.put(fingerprint(f"https://x.test/{number}"), State.READ)
    assert len(known.read) == MAX_READ
    assert not known.is_read("https://x.test/4")
    assert known.is_read(f"https://x.test/{MAX_READ + 4}")
    known.put(fingerprint("https://x.test/5"), State.UNREAD)
    assert not known.is_read("https://x.test/5")


def test_too_many_stars_are_refused_in_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("newsbot.apps.team.people.MAX_STARRED", 1)
    assert MAX_STARRED > 1

    async def check(visitor: Visitor) -> None:
        answer, _ = await visitor.post("/api/actions/star", {"url": address(1)}, **BEARER)
        assert answer.status == 200
        answer, text = await visitor.post("/api/actions/star", {"url": address(2)}, **BEARER)
        assert (answer.status, json.loads(text)) == (
            400,
            {"error": "1 articles are starred; remove a star first"},
        )

    visit(settings_of(tmp_path), check, token=TOKEN)


# --- filters
def test_a_collection_of_sites_is_a_filter_everywhere(settings: dict[str, Any]) -> None:
    async def check(visitor: Visitor) -> None:
        _, text = await visitor.get("/?collection=islands")
        assert '<option value="islands" selected>' in text
        assert "second.test" in text
        assert "third.test" not in text
        found = json.loads((await visitor.get("/api/news?collection=islands"))[1])
        assert [one["sites"] for one in found["top"]] == [2]  # the flood, without its third site
        assert {one["source"] for one in found["newest"]} == {"first.test", "second.test"}
        found = json.loads((await visitor.get("/api/articles?collection=daily"))[1])
        assert {one["source"] for one in found["articles"]} == {"second.test"}
        found = json.loads((await visitor.get("/api/articles?q=honey+OR+dam&collection=daily"))[1])
        assert {one["source"] for one in found["articles"]} == {"second.test"}
        found = json.loads((await visitor.get("/api/articles/attention?collection=daily&q="))[1])
        assert found["queries"][0]["counts"]["sites"] == {"second.test": 2}
        _, text = await visitor.get("/articles.atom?collection=daily")
        assert "second.test" in text
        assert "first.test" not in text
        _, text = await visitor.get("/stories?collection=islands")
        assert "Ostrava flooded" in text
        assert "Bridge number" not in text
        _, text = await visitor.get("/sources?collection=islands")
        assert "first.test" in text
        assert "third.test" not in text
        assert "news.test" not in text
        _, text = await visitor.get("/sources/second.test")
        assert "/sources?collection=daily" in text

    visit(settings, check)


def test_sections_and_languages_are_filters(settings: dict[str, Any]) -> None:
    async def check(visitor: Visitor) -> None:
        found = json.loads((await visitor.get("/api/articles?section=sea+trade"))[1])
        assert [one["url"][-2:] for one in found["articles"]] == ["s0", "s1"]
        found = json.loads((await visitor.get("/api/articles?q=section:SPORT"))[1])
        assert [one["url"][-2:] for one in found["articles"]] == ["s2"]
        found = json.loads((await visitor.get("/api/articles?section=sea+trade&language=ru"))[1])
        assert [one["url"][-2:] for one in found["articles"]] == ["s1"]
        found = json.loads((await visitor.get("/api/news?language=ru"))[1])
        assert [one["url"][-2:] for one in found["newest"]] == ["s1"]
        assert found["top"] == []
        _, text = await visitor.get("/?language=ru")
        assert "<option selected>ru</option>" in text

    visit(settings, check)


@pytest.mark.parametrize(
    ("query", "fields", "text"),
    [
        ("", {}, ""),
        ("a OR b", {}, "a OR b"),
        ("a OR b", {"tag": "x"}, 'tag:"x" (a OR b)'),
        ("", {"tag": "x", "section": 'say "so"'}, 'tag:"x" section:"say  so "'),
    ],
)
def test_a_query_is_narrowed(query: str, fields: dict[str, str], text: str) -> None:
    assert narrowed(query, **fields) == text


def test_a_quote_that_is_not_closed_does_not_widen_a_filter() -> None:
    found = parse(narrowed('(storm OR "high tide', tag="x"), lambda _tag: ["a.test"])
    assert next(getattr(one, "field", "") for one in found.parts()) == "tag"


# --- times and openings


def test_an_opening_ends_with_a_sentence() -> None:
    assert opening("Short text.\nNext line.") == "Short text. Next line."
    first = (
        "The council met on Monday and spoke about the price of clean water in all of its eleven districts. "
    )
    assert opening(first * 5) == (first * 2).strip()
    assert opening("word " * 100) == ("word " * 56).strip() + " …"
    assert opening("字" * 400) == "字" * 280 + "…"
    assert opening("市议会开会。" * 100) == "市议会开会。" * 46
    assert opening("") == ""


def test_reports_are_counted_in_periods_without_gaps() -> None:
    assert by_period({}) == []
    found = by_period({100: 2, 102: 1})
    assert [one.articles for one in found] == [2, 0, 1, *[0] * 9]
    assert found[0].at == datetime(1970, 1, 5, 4, tzinfo=UTC)
    assert {one.hours for one in found} == {1}
    long = by_period({0: 1, 24 * 365: 4})
    assert len(long) <= 73
    assert sum(one.articles for one in long) == 5
    assert len(by_period({0: 1, 24 * 365 * 900: 4})) <= 73  # a wrong date does not make a huge chart


# --- in a browser (these tests come last, because the browser needs the event loop of its thread)
def test_keys_star_mark_and_open(page: Page) -> None:
    page.goto("/")
    first = page.locator("ol.newest li").first
    page.locator("ol.newest .headline a").first.focus()
    star = first.locator("button.star")
    expect(star).to_have_attribute("aria-pressed", "false")
    page.keyboard.press("s")
    expect(star).to_have_attribute("aria-pressed", "true")
    page.keyboard.press("m")
    expect(first).to_have_attribute("data-read", "1")
    page.keyboard.press("m")
    expect(first).to_have_attribute("data-read", "0")
    page.evaluate("window.open = (...given) => { window.opened = given }")
    page.keyboard.press("o")
    original = first.get_attribute("data-original")
    assert page.evaluate("window.opened") == [original, "_blank", "noopener,noreferrer"]
    page.reload()
    expect(star).to_have_attribute("aria-pressed", "true")
    star.click()
    expect(star).to_have_attribute("aria-pressed", "false")
    page.reload()
    expect(star).to_have_attribute("aria-pressed", "false")
    check_access(page)


def test_stars_need_no_script(browser: Browser, home: str) -> None:
    page = browser.new_context(base_url=home, java_script_enabled=False).new_page()
    page.goto("/login?back=/saved")
    page.get_by_label("Token").fill(TOKEN)
    page.get_by_role("button", name="Log in").click()
    page.goto("/stories")
    page.goto(f"/article?url={quote(address(2), safe='')}")
    page.get_by_role("button", name="Star").click()
    assert "/article?" in page.url
    expect(page.get_by_role("button", name="Star")).to_have_attribute("aria-pressed", "true")
    page.goto("/saved")
    expect(page.locator(".hits li")).to_have_count(1)
    page.context.close()


def test_times_are_shown_in_the_time_zone_of_the_reader(page: Page) -> None:
    page.goto(f"/article?url={quote(address(3), safe='')}")
    shown = page.locator("article time").first
    moment = datetime.fromisoformat(shown.get_attribute("datetime") or "")
    local = moment + timedelta(hours=5, minutes=30)
    assert shown.inner_text().endswith(f" {local.year}, {local:%H:%M}")
    assert shown.get_attribute("title") == f"{moment.day} {moment:%b} {moment.year}, {moment:%H:%M} UTC"
    expect(page.locator("#zone")).to_contain_text("times are local (Asia/")
    page.goto("/")
    relative = page.locator("ol.newest time").first
    assert relative.inner_text().endswith(" ago")
    assert (relative.get_attribute("title") or "").endswith(" UTC")
