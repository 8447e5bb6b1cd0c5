"""The pages for operators: sources with problems first, a site and its polls, time ranges, refreshing."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from newsbot import backends
from newsbot.apps.web.dashboard.overview import ORDERS, SiteRow, in_order
from newsbot.items import Kind
from newsbot.storage.base import HOUR, SiteRecord, SourceRecord
from tests.browser import chromium
from tests.dashboarddata import SITE, fill
from tests.dashboards import TOKEN, Visitor, served, settings_of, visit

OTHER_HOST = "https://feeds.example/of-news-test.xml"
DAYS = 40
A_DAY = {"fetched": 4800, "pages": 2400, "article_pages": 1200, "articles": 1200, "errors": 1100}


def many(folder: Path) -> dict[str, Any]:
    """Return settings with 120 sites, of which three fail, and with 40 days of data of one site."""
    settings = settings_of(folder)
    for number in range(120):
        (folder / "rules" / f"site{number}.example.yaml").write_text(f"domain: site{number}.example\n")
    fill(settings)
    storage, now = backends.open_storage(settings), time.time()
    for day in range(DAYS):
        storage.activity.add(now - day * 24 * HOUR, {SITE: A_DAY})
    storage.sites.add([SiteRecord(source=SITE, counters={"errors": 12_345.0, "duplicates": 23_456.0})])
    storage.sources.save(
        SourceRecord(
            url=f"https://site{number}.example/feed.xml",
            source=f"site{number}.example",
            kind=Kind.FEED,
            polls=9,
            failures=9,
            failing_since=now - 600,
            last_error="dns",
            last_poll=now,
            next_due=now + 600,
        )
        for number in (50, 90)
    )
    storage.sources.save(
        [SourceRecord(url=OTHER_HOST, source=SITE, kind=Kind.FEED, polls=98_765, new_links=45_678)]
    )
    storage.close()
    return settings


def test_a_poll_that_is_overdue_is_late_and_not_next(tmp_path: Path) -> None:
    settings = settings_of(tmp_path)
    fill(settings, articles=1)
    storage = backends.open_storage(settings)
    feed = SourceRecord(url=f"https://{SITE}/feed.xml", source=SITE, kind=Kind.FEED, polls=9)
    storage.sources.save([replace(feed, next_due=time.time() - 45 * 60 - 5)])
    storage.close()

    async def check(visitor: Visitor) -> None:
        for path in ("/sources", f"/sources/{SITE}"):
            assert "45\u00a0min late" in (await visitor.get(path))[1]

    visit(settings, check)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with served(many(tmp_path_factory.mktemp("operations")), token=TOKEN) as found:
        yield found


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as found:
        yield found


@pytest.fixture
def page(browser: Browser, home: str) -> Iterator[Page]:
    context = browser.new_context(base_url=home)
    yield context.new_page()
    context.close()


def test_sites_with_problems_come_first_and_pages_show_all(page: Page) -> None:
    page.goto("/sources")
    expect(page.get_by_role("heading", level=1)).to_contain_text("3 sites with problems, of 121")
    names = page.locator("tbody tr th a")
    assert names.all_text_contents()[:4] == [SITE, "site50.example", "site90.example", "site0.example"]
    expect(names).to_have_count(50)
    assert page.locator("svg.spark").first.get_attribute("aria-label") == "36\u202f045 articles in 30 days"
    seen = names.all_text_contents()
    for shown in ("51 to 100 of 121", "101 to 121 of 121"):
        page.get_by_role("link", name="More", exact=True).click()
        expect(page.locator(".pager")).to_contain_text(shown)
        seen += names.all_text_contents()
    assert len(set(seen)) == len(seen) == 121
    expect(page.get_by_role("link", name="More", exact=True)).to_have_count(0)
    page.get_by_role("link", name="Back", exact=True).click()
    expect(page.locator(".pager")).to_contain_text("51 to 100")

    page.get_by_role("link", name="3 sites with problems").click()
    expect(names).to_have_count(3)
    page.get_by_label("Site").fill("site9")
    page.get_by_role("button", name="Show").click()
    expect(names).to_have_text(["site90.example"])
    page.get_by_role("link", name="errors").click()
    expect(names).to_have_text(["site90.example"])  # the filter stays


def test_a_site_whose_figures_fell_is_listed_after_failing_sites() -> None:
    def row(site: str, health: str, alarm: str | None = None) -> SiteRow:
        rest: dict[str, Any] = dict.fromkeys(SiteRow.__dataclass_fields__)
        return SiteRow(**{**rest, "site": site, "health": health, "alarm": alarm, "trend": []})

    rows = [row("a", "ok"), row("b", "paused"), row("c", "ok", "fell"), row("d", "failing"), row("e", "dead")]
    assert [one.site for one in in_order(rows, "health")] == ["e", "d", "c", "b", "a"]
    assert set(ORDERS) > {"health"}


def test_the_time_range_can_be_chosen(page: Page) -> None:
    for path in ("/crawl", f"/sources/{SITE}"):
        page.goto(path)
        plot = page.locator("svg.plot").first
        expect(plot).to_have_attribute("aria-label", re.compile(r" articles in 2 days$"))
        assert plot.locator("g").count() == 48
        for name, bars in (("7 days", 28), ("30 days", 30), ("60 days", 60)):
            page.get_by_role("link", name=name).click()
            expect(plot).to_have_attribute("aria-label", re.compile(rf" articles in {name}$"))
            assert plot.locator("g").count() == bars
            chosen = page.locator("nav.ranges [aria-current]")
            expect(chosen).to_have_text(name)
        expect(plot).to_have_attribute("aria-label", "48\u202f045 articles in 60 days")
        expect(page.locator("svg.plot").last).to_have_attribute("aria-label", "44\u202f004 errors in 60 days")


def test_all_numbers_have_the_same_format(page: Page) -> None:
    for path in ("/crawl?range=60d", "/sources", f"/sources/{SITE}?range=60d"):
        page.goto(path)
        for one in page.get_by_text("Show as table").all():
            one.click()
        text = re.sub(r"\d\d? \w+ 20\d\d|\d\d:\d\d", "", page.locator("main").inner_text())
        text += " ".join(page.locator("svg").evaluate_all("all => all.map(one => one.ariaLabel || '')"))
        assert re.findall(r"\d{4,}|\d[.,']\d{3}", text) == [], path
        assert "\u202f" in text, path


def test_a_user_polls_a_source(page: Page) -> None:
    page.goto("/login")
    page.get_by_label("Token").fill(TOKEN)
    page.get_by_role("button", name="Log in").click()
    page.goto(f"/sources/{SITE}")
    page.get_by_role("row", name=OTHER_HOST).get_by_role("button", name="Poll").click()
    expect(page.get_by_role("status")).to_contain_text(f"1 source of {SITE} queued")
    page.get_by_role("button", name="Poll now").click()
    expect(page.get_by_role("status")).to_contain_text(f"2 sources of {SITE} queued")


def test_a_page_refreshes_itself_in_place(tmp_path: Path, browser: Browser) -> None:
    settings = many(tmp_path)
    with served(settings, token=TOKEN) as home:
        page = browser.new_page(base_url=home, viewport={"width": 1280, "height": 500})
        page.clock.install()
        page.goto(f"/sources/{SITE}")
        page.get_by_text("Show as table").first.click()
        plot, figures = page.locator("svg.plot").first, page.locator("#figures")
        polls = page.locator("#polls")
        page.evaluate(
            "window.same = true; document.activeElement.blur();"
            "document.querySelector('#polls').scrollIntoView()"
        )
        place = page.evaluate("scrollY")
        storage = backends.open_storage(settings)
        storage.activity.add(time.time(), {SITE: {"articles": 70_000}})
        storage.sites.add([SiteRecord(source=SITE, counters={"errors": 1.0})])
        record = SourceRecord(url=OTHER_HOST, source=SITE, kind=Kind.FEED, polls=98_766)
        storage.sources.save([record])
        storage.close()
        polls.hover()
        page.clock.run_for(10_000)
        expect(plot).to_have_attribute("aria-label", re.compile("^7[1-9]\u202f"))
        expect(figures).to_contain_text("12\u202f350")
        expect(polls).to_contain_text("98\u202f765")  # not refreshed while the pointer is over it
        expect(page.locator("details").first).to_have_attribute("open", "")
        assert page.evaluate("[window.same, scrollY]") == [True, place]
        page.mouse.move(2, 2)
        page.clock.run_for(10_000)
        expect(polls).to_contain_text("98\u202f766")
