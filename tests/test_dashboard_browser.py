"""The dashboard in a real browser with malicious data: no script runs, and all pages are usable."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import quote, urlsplit

import pytest
from playwright.sync_api import Browser, Page, expect

from newsbot.apps.web.dashboard.service import MORE_PAGES, PAGES
from newsbot.storage.articles import story_id
from tests.browser import check_access, chromium
from tests.dashboarddata import EVIL, SITE, address, fill
from tests.dashboards import TOKEN, served, settings_of

MAX_BYTES = 100_000
OURS = (
    *(path for path, *_ in (*PAGES, *MORE_PAGES)),
    f"/sources/{SITE}",
    f"/sources/{SITE}?range=60d",
    "/sources?health=with+problems",
    "/sources/new",
    f"/sources/new?site={quote(EVIL)}",
    "/crawl?range=7d",
    f"/article?url={quote(address(0), safe='')}",
    f"/article?url={quote(address(1), safe='')}",
    f"/stories/{story_id(address(1))}",
    f"/stories/{story_id(address(1))}?changes={quote(address(0), safe='')}",
    f"/?collection={quote(EVIL)}&language={quote(EVIL)}&unread=1",
    f"/articles?q={quote(EVIL)}",
    "/articles?q=bridge",
    f"/attention?q=bridge&q={quote(EVIL)}&q=site:{SITE}&show=share",
    f"/why?url={quote(address(0), safe='')}",
    f"/why?url={quote(EVIL)}",
    f"/monitor/{SITE}",
    "/simulator/evil.html",
    "/login",
    f"/sources/{quote(EVIL, safe='')}",
    f"/sources?site={quote(EVIL)}",
    f"/articles?since={quote(EVIL)}",
)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as found:
        yield found


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("browser")
    reports = folder / "reports"
    reports.mkdir()
    (reports / "evil.html").write_text(f"<title>a report</title><h1>Report</h1>{EVIL}")
    settings = settings_of(folder, NEWSBOT_REPORTS=str(reports))
    fill(settings, evil=True)
    with served(settings, token=TOKEN) as found:
        yield found


@pytest.fixture
def page(browser: Browser, home: str) -> Iterator[Page]:
    context = browser.new_context(base_url=home)
    yield context.new_page()
    context.close()


def watch(page: Page) -> list[str]:
    """Collect unwanted events: errors, violations of the security policy, requests to other hosts."""
    seen: list[str] = []
    page.on("pageerror", lambda error: seen.append(str(error)))
    page.on(
        "console", lambda message: seen.append(message.text) if message.type in ("error", "warning") else None
    )
    page.on("dialog", lambda dialog: seen.append(dialog.message))
    page.on(
        "request",
        lambda request: seen.append(request.url) if urlsplit(request.url).hostname != "127.0.0.1" else None,
    )
    return seen


def test_no_script_of_a_site_runs_and_each_page_is_small(page: Page) -> None:
    seen = watch(page)
    for path in OURS:
        answer = page.goto(path)
        assert answer is not None
        assert answer.status in (200, 400, 404), path
        assert len(answer.body()) < MAX_BYTES, path
        assert page.title() != "owned", path
        assert page.locator("h1").count() == 1, path
        harmless = [text for text in seen if "status of 40" not in text]
        if path == "/simulator/evil.html":  # the browser reports that it refused the script and the picture
            harmless = [text for text in harmless if "sandbox" not in text and "Content Security" not in text]
        assert harmless == [], path
        seen.clear()
        assert page.evaluate("[...document.links].filter(a => !/^https?:/.test(a.href)).length") == 0, path


def test_a_history_is_a_page_to_read_on_phones(browser: Browser, home: str) -> None:
    context = browser.new_context(base_url=home, viewport={"width": 390, "height": 844})
    page = context.new_page()
    page.goto(f"/why?url={quote(address(0), safe='')}")
    facts = page.locator(".history .fact")
    expect(facts.filter(has_text="site").first.locator(".value")).to_contain_text(SITE)
    name, value = facts.first.locator(".name").bounding_box(), facts.first.locator(".value").bounding_box()
    assert name is not None
    assert value is not None
    assert value["y"] >= name["y"] + name["height"]  # below each other; side by side, a phone has no room
    expect(page.locator(".step")).to_contain_text("dropped")
    expect(page.locator(".conclusion code")).to_contain_text("articles show")
    assert page.locator("pre").count() == 0
    context.close()


def test_pages_are_accessible_and_fit_a_screen_and_a_phone(browser: Browser, home: str) -> None:
    context = browser.new_context(base_url=home, bypass_csp=True)
    page = context.new_page()
    for path in OURS:
        if path.startswith("/simulator/"):  # reports are shown unchanged
            continue
        page.goto(path)
        unnamed = page.evaluate(
            "[...document.querySelectorAll('input:not([type=hidden]):not([hidden]),select')]"
            ".filter(one => !one.labels.length && !one.ariaLabel).length"
        )
        assert unnamed == 0, path
        assert page.evaluate("document.documentElement.lang") == "en"
        check_access(page)
    context.close()


def test_the_light_and_the_dark_theme_have_enough_contrast(browser: Browser, home: str) -> None:
    for scheme in ("light", "dark"):
        context = browser.new_context(base_url=home, color_scheme=scheme)
        page = context.new_page()
        page.goto("/crawl")
        colours = page.evaluate(
            "[getComputedStyle(document.body).color, getComputedStyle(document.body).backgroundColor,"
            " getComputedStyle(document.querySelector('.tick')).fill,"
            " getComputedStyle(document.querySelector('.card')).backgroundColor]"
        )
        text, paper, tick, card = (_luminance(colour) for colour in colours)
        assert (text > paper) == (scheme == "dark")
        assert _contrast(text, paper) > 7
        assert _contrast(tick, card) > 4.5
        context.close()


def _luminance(colour: str) -> float:
    """Relative luminance (WCAG 2.2) of ``rgb(…)``."""
    parts = [int(part) / 255 for part in colour.removeprefix("rgb(").rstrip(")").split(",")]
    red, green, blue = (one / 12.92 if one <= 0.04045 else ((one + 0.055) / 1.055) ** 2.4 for one in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _contrast(one: float, other: float) -> float:
    return (max(one, other) + 0.05) / (min(one, other) + 0.05)


def test_figures_and_plots_show_the_stored_data(page: Page) -> None:
    page.goto("/crawl")
    expect(page.locator(".card").first).to_contain_text("45")
    assert page.locator("svg.plot").count() == 4
    assert "45 articles" in (page.locator("svg.plot").first.get_attribute("aria-label") or "")
    expect(page.get_by_role("columnheader", name="worker")).to_be_visible()
    page.goto("/articles?q=bridge")
    assert page.locator("mark").first.inner_text().lower().startswith("bridge")
    assert page.locator(".hits li").count() == 20
    page.get_by_role("link", name="More", exact=True).click()
    assert "page=2" in page.url
    page.goto(f"/article?url={quote(address(0), safe='')}")
    expect(page.locator("ins").first).to_be_visible()
    expect(page.locator("dl.fields").first).not_to_be_visible()
    page.get_by_text("Where each field came from").click()
    expect(page.locator("main")).to_contain_text("by json-ld")
    page.goto(f"/monitor/{SITE}")
    expect(page.locator("main")).to_contain_text("404")
    expect(page.locator("ul.tree")).to_contain_text("/2026")


def test_all_controls_can_be_reached_by_keyboard(page: Page) -> None:
    page.goto("/sources")
    page.keyboard.press("Tab")
    expect(page.locator(".skip")).to_be_focused()
    page.keyboard.press("/")
    expect(page.locator("main input[type=search]")).to_be_focused()
    page.keyboard.type("g")  # typed into the field, not used as a shortcut
    # A click could hit a link: the heading has one if sites have problems.
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("g")
    page.keyboard.press("t")
    page.wait_for_url("**/stories")
    headlines = page.locator(".headline a")
    page.keyboard.press("j")
    expect(headlines.first).to_be_focused()
    page.keyboard.press("k")
    expect(headlines.first).to_be_focused()
    cyrillic = "document.dispatchEvent(new KeyboardEvent('keydown', {key: '%s', code: '%s', bubbles: true}))"
    page.evaluate(cyrillic % ("п", "KeyG") + ";" + cyrillic % ("ы", "KeyS"))
    page.wait_for_url("**/sources")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_contain_text("next and previous headline")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)


def test_sites_are_sorted_by_a_click(page: Page, home: str) -> None:
    page.goto("/sources")
    page.locator("th").get_by_role("link", name="articles").click()
    assert "sort=articles" in page.url
    expect(page.locator("th[aria-sort]")).to_contain_text("articles")


def test_a_logged_in_user_can_pause_a_site_and_refetch_a_page(page: Page) -> None:
    page.goto(f"/sources/{SITE}")
    assert page.get_by_role("button", name="Pause this site").count() == 0
    page.goto("/login")
    page.get_by_label("Token").fill("not it, but long enough")
    page.get_by_role("button", name="Log in").click()
    expect(page.get_by_role("alert")).to_contain_text("token is wrong")
    page.get_by_label("Token").fill(TOKEN)
    page.get_by_role("button", name="Log in").click()
    page.goto(f"/sources/{SITE}")
    page.get_by_role("button", name="Pause this site").click()
    expect(page.get_by_role("status")).to_contain_text("is paused")
    page.get_by_role("button", name="Resume").click()
    expect(page.get_by_role("status")).to_contain_text("resumed")
    page.goto(f"/article?url={quote(address(7), safe='')}")
    page.get_by_role("button", name="Fetch again").click()
    expect(page.get_by_role("status")).to_contain_text("was queued")
    page.get_by_role("button", name="log out").click()
    expect(page.locator("footer")).to_contain_text("log in")
    page.goto("/why?done=Call+this+number")
    assert "Call this number" not in page.content()
