"""A media analyst's session in a real browser: front page, a story, a comparison of two queries, a notice."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from threading import Event

from playwright.sync_api import Page, expect

from newsbot import backends
from testbed.messages import Answer, Request
from testbed.mockserver import MockServer
from tests.browser import chromium
from tests.dashboarddata import address, fill, make_article
from tests.dashboards import TOKEN, served, settings_of

LETTERS = "[...document.querySelectorAll('svg text')].map(one => one.getBoundingClientRect().height)"


def test_an_analyst_reads_compares_saves_and_gets_a_notice(site: MockServer, tmp_path: Path) -> None:
    taken: list[dict[str, object]] = []
    notified = Event()

    def take(request: Request) -> Answer:
        taken.extend(one for one in json.loads(request.body)["alerts"] if one["event"] == "found")
        if taken:
            notified.set()
        return Answer()

    site.page("/hook", take)
    settings = settings_of(
        tmp_path, NEWSBOT_ALERT_WEBHOOK=site.url("/hook"), NEWSBOT_ALERT_EVERY=0.2, NEWSBOT_ALERTS_OFF="lag"
    )
    fill(settings)
    with served(settings, token=TOKEN) as home, chromium() as browser:
        page = browser.new_context(base_url=home, viewport={"width": 390, "height": 844}).new_page()
        _log_in(page)
        page.goto("/")
        page.goto("/stories")
        page.locator("main a[href^='/stories/']").first.click()
        expect(page.locator("main")).to_contain_text("Bridge number")

        _search(page, "bridge")
        assert page.locator(".hits li").first.bounding_box()["y"] < 844  # type: ignore[index]
        expect(page.get_by_role("heading", level=1)).to_have_text("44 articles on 1 site, in 1 language")
        expect(page.locator("aside svg.plot")).to_be_visible()
        expect(page.locator("aside .facets li").first).to_contain_text("news.test44")

        page.get_by_role("link", name="Attention by day").click()
        page.get_by_label("Query 2").fill('"number 7" OR mayor')
        page.get_by_role("button", name="Compare").click()
        _read_chart(page)
        assert min(page.evaluate(LETTERS)) >= 11
        with page.expect_download() as download:
            page.get_by_role("link", name="Download CSV").click()
        header, *lines = download.value.path().read_text().splitlines()
        assert (header, len(lines)) == ("day,query,articles,of,share", 2 * 30)

        page.goto("/saved")
        page.get_by_label("Name").fill("Openings")
        page.get_by_label("Query", exact=True).fill("title:opened -strike")
        page.get_by_label("Report new articles").select_option("at_once")
        page.get_by_role("button", name="Save", exact=True).click()
        expect(page.get_by_role("status")).to_contain_text("Openings is saved")

        storage = backends.open_storage(settings)
        storage.articles.store(make_article(90, published_at=datetime.now(UTC)))
        storage.articles.store(make_article(91, text="They strike at the bridge.", content_hash="s"))
        storage.close()
        assert notified.wait(60)
        (notice,) = taken
        assert notice["search"] == "Openings"
        assert [one["url"] for one in notice["articles"]] == [address(90)]  # type: ignore[attr-defined]
        page.goto("/saved")
        expect(page.get_by_role("row", name="Openings")).to_contain_text("at once")
        page.get_by_role("row", name="Openings").get_by_role("button", name="Forget").click()
        expect(page.get_by_role("status")).to_contain_text("Openings is deleted")


def _read_chart(page: Page) -> None:
    plot = page.locator("svg.plot")
    expect(plot).to_have_count(1)
    assert "bridge: 44 articles in 30 days; " in (plot.get_attribute("aria-label") or "")
    plot.focus()
    page.keyboard.press("ArrowLeft")  # the last day, with the values of both queries
    expect(page.locator(".readout")).to_contain_text('"number 7" OR mayor')


def _log_in(page: Page) -> None:
    page.goto("/login")
    page.get_by_label("Token").fill(TOKEN)
    page.get_by_role("button", name="Log in").click()


def _search(page: Page, words: str) -> None:
    page.goto("/articles")
    page.get_by_label("Words").fill(words)
    page.get_by_role("button", name="Search", exact=True).click()
