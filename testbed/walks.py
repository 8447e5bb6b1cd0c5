"""Tasks of people at the pages, as a browser does them: by visible texts, in each language, on each screen.

A walk fails if a control is missing, if a page answers with an error, if a script fails, or if a page does
not fit on the screen.
"""

from __future__ import annotations

import csv
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from playwright.sync_api import Browser, Locator, Page, expect

from newsbot.apps.web.dashboard.rendering import LANGUAGES

SCREENS: Mapping[str, tuple[int, int]] = {"desktop": (1440, 900), "phone": (390, 844)}
_LOOK = """addEventListener("load", () => {
  const wide = document.documentElement.scrollWidth - document.documentElement.clientWidth;
  if (wide > 0) console.error(`${wide} px wider than the screen`);
  if (document.querySelectorAll("h1").length !== 1) console.error("not one heading");
});"""
"""A script that runs on each page and reports what is wrong."""
TIMEOUT = 60_000


@dataclass
class Walk:
    """A person at a screen who reads one language."""

    page: Page
    language: str
    phone: bool
    faults: list[str] = field(default_factory=list)
    seen: set[str] = field(default_factory=set)

    def say(self, message: str, many: str = "") -> str:
        """Return a text of the pages in the language of the reader. ``many`` gives a plural form."""
        catalogue = LANGUAGES[self.language].catalogue
        return catalogue.ngettext(message, many, 5) if many else catalogue.gettext(message)

    def pattern(self, message: str, many: str = "") -> re.Pattern[str]:
        """Return a pattern of a text with any values."""
        if many and self.language != "en":
            catalogue = LANGUAGES[self.language].catalogue
            forms = {catalogue.ngettext(message, many, number) for number in (1, 2, 5)}
        else:
            forms = {self.say(one) for one in (message, many) if one}
        return re.compile("|".join(re.sub(r"\\\{\w+\\\}", ".*", re.escape(form)) for form in forms))

    def link(self, message: str) -> Locator:
        """Return the first link with a text."""
        return self.page.get_by_role("link", name=self.say(message), exact=True).first

    def button(self, message: str) -> Locator:
        """Return the first button with a text."""
        return self.page.get_by_role("button", name=self.say(message), exact=True).first

    def field(self, message: str) -> Locator:
        """Return the first field with a label."""
        return self.page.locator("main").get_by_label(self.say(message)).first

    def open(self, message: str) -> None:
        """Click what unfolds a part of the page."""
        self.page.locator("main summary", has_text=self.say(message)).first.click()

    def told(self, message: str, many: str = "") -> None:
        """Check that the page tells the result of an action."""
        expect(
            self.page.get_by_role("status").filter(has_text=self.pattern(message, many)).first
        ).to_be_visible()

    def log_in(self, token: str) -> None:
        """Log in with a token, through the link in the footer."""
        self.page.goto("/")
        self.link("log in").click()
        self.page.locator("input[name=token]").fill(token)
        self.button("Log in").click()
        expect(self.button("log out")).to_be_visible()

    def menu(self, message: str) -> None:
        """Go to a page of the menu."""
        self.page.get_by_role("navigation").first.get_by_role(
            "link", name=self.say(message), exact=True
        ).click()


@contextmanager
def walking(browser: Browser, home: str, language: str, screen: str) -> Iterator[Walk]:
    """Open a browser window for a walk. Raises ``AssertionError`` at the end if something was not right."""
    width, height = SCREENS[screen]
    context = browser.new_context(
        base_url=home,
        viewport={"width": width, "height": height},
        locale={"en": "en-GB"}.get(language, language),
        has_touch=screen == "phone",
    )
    context.set_default_timeout(TIMEOUT)
    context.add_init_script(_LOOK)
    page = context.new_page()
    walk = Walk(page, language, screen == "phone")

    def note(kind: str, text: str) -> None:
        if kind == "error":
            walk.faults.append(f"{page.url}: {text}")

    page.on("pageerror", lambda error: note("error", str(error)))
    page.on("console", lambda found: note(found.type, found.text))
    page.on("framenavigated", lambda frame: walk.seen.add(frame.url.partition("?")[0]))
    try:
        yield walk
    finally:
        context.close()
    assert walk.faults == []


@contextmanager
def serving(settings: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Run ``scrapy serve`` within the block. Yield its address and the link for the first log-in."""
    command = [sys.executable, "-m", "scrapy", "serve", "--port", "0"]
    process = subprocess.Popen(command, env=os.environ | settings, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    try:
        wanted = "listening on" if "NEWSBOT_WEB_TOKEN" in settings else "to log in, open"
        found = (re.search(rf"{wanted} (\S+)", line) for line in process.stderr)
        link = next((one[1] for one in found if one), "")
        assert link, "the server ended"
        yield link.partition("/login")[0], link
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)


# --- the first evening: no rules, no articles
def first_evening(walk: Walk, link: str) -> None:
    """Follow the link of the terminal: logged in, and three ways to begin are shown."""
    walk.page.goto(link)
    expect(walk.button("log out")).to_be_visible()
    expect(walk.page.get_by_role("heading", name=walk.say("Three ways to begin"))).to_be_visible()


def bring_subscriptions(walk: Walk, folder: Path) -> None:
    """Upload a list that is wrong, read why, and upload the OPML file of a feed reader."""
    wrong, right = folder / "notes.txt", folder / "subscriptions.opml"
    wrong.write_text("# only a note\n")
    right.write_text(
        '<opml version="2.0"><body><outline text="Region">'
        '<outline text="One" xmlUrl="https://eins.example/feed" htmlUrl="https://eins.example/"/>'
        '<outline text="Two" xmlUrl="https://zwei.example/rss.xml"/></outline></body></opml>'
    )
    walk.page.goto("/")
    for file in (wrong, right):
        walk.field("OPML file, or a text with one address on each line").set_input_files(file)
        walk.button("Add these sites").click()
        if file is wrong:
            fault = walk.say("contains no address")
            expect(walk.page.get_by_role("alert")).to_contain_text(fault)
    walk.told("{0} written, {1} existed already, {2} left out.{3} A running crawl loads them.")
    expect(walk.link("eins.example")).to_be_visible()


def add_site(walk: Walk, site: str) -> None:
    """Enter the address of a site, wait for the preview, and save the rule."""
    walk.menu("Sources")
    walk.link("Add a site").click()
    walk.field("Address of a site").fill("no address")
    walk.button("Look at it").click()
    expect(walk.page.get_by_role("alert")).to_be_visible()
    walk.field("Address of a site").fill(site)
    walk.button("Look at it").click()
    save = walk.button("Save this rule")
    save.wait_for(timeout=240_000)
    expect(walk.page.get_by_role("heading", name=walk.say("Some articles of this site"))).to_be_visible()
    save.click()
    walk.told("{0} is written. A running crawl loads it automatically.")


# --- a morning with news
def search_and_filter(walk: Walk) -> None:
    """Search from any page, narrow by language and time, and get back to all articles."""
    walk.page.goto("/")
    walk.page.get_by_role("search").first.locator("input").fill("flood OR забастовка")
    walk.page.keyboard.press("Enter")
    expect(walk.page.locator(".hits li").first).to_be_visible()
    walk.open("Filters")
    walk.field("Language").select_option("ru")
    walk.field("Since").fill("2d")
    walk.button("Search").click()
    expect(walk.page.locator(".hits h2[lang=en]")).to_have_count(0)
    expect(walk.page.locator(".hits mark").first).to_be_visible()
    walk.field("Words").fill("nobody-ever-wrote-this")
    walk.button("Search").click()
    walk.link("Show all articles").click()
    expect(walk.page.locator(".hits li").first).to_be_visible()


def save_a_search(walk: Walk) -> None:
    """Save a search where its results are, find it again with its count, and forget it."""
    name = f"Comets {walk.language} {walk.phone}"
    walk.page.goto("/articles?q=comet")
    walk.open("Save this search")
    walk.field("Name").fill(name)
    walk.button("Save").click()
    walk.told("{0} is saved.{1}{2}")
    row = walk.page.get_by_role("row").filter(has_text=name)
    row.get_by_role("link", name=name, exact=True).click()
    expect(walk.page.locator(".hits li").first).to_be_visible()
    walk.menu("Saved")
    row.get_by_role("button", name=walk.say("Forget")).click()
    walk.told("{0} is deleted.")


def follow_a_story(walk: Walk) -> None:
    """Open a story: who had it first, who followed, what changed; read an article and the others."""
    walk.menu("Stories")
    walk.page.locator(".headline a", has_text="Flood warning").first.click()
    assert walk.page.locator("ol.timeline > li").count() > 5
    walk.link("what changed").click()
    expect(walk.page.locator("#changes ins").first).to_be_visible()
    walk.page.locator("ol.timeline .headline a").nth(1).click()
    expect(walk.page.get_by_role("heading", name=walk.say("The same story elsewhere"))).to_be_visible()
    walk.link("The whole story").click()
    expect(walk.page.locator("ol.timeline")).to_be_visible()


def read_an_event(walk: Walk) -> None:
    """Open the event that most sites report, and read its chart by keys and as a table."""
    walk.menu("News")
    walk.page.locator("li.lead a.count").click()
    plot = walk.page.locator("svg.plot")
    plot.focus()
    walk.page.keyboard.press("ArrowRight")
    expect(walk.page.locator(".readout")).to_contain_text(":00: ")
    walk.open("Show as table")
    expect(walk.page.locator("figure tbody tr").first).to_be_visible()
    walk.link("All articles of this event").click()
    expect(walk.page.locator(".hits li").first).to_be_visible()


def compare_attention(walk: Walk, folder: Path) -> None:
    """Compare two searches by day, read the values of a day, and take the numbers along."""
    walk.page.goto("/articles?q=flood")
    walk.link("Attention by day").click()
    walk.page.get_by_role("searchbox", name=walk.pattern("Query {number}")).nth(1).fill("strike")
    walk.button("Compare").click()
    plot = walk.page.locator("svg.plot")
    plot.focus()
    walk.page.keyboard.press("ArrowLeft")
    expect(walk.page.locator(".readout")).to_contain_text(re.compile("flood .*strike "))
    walk.open("The same as a table")
    expect(walk.page.locator("details[open] tbody tr").first).to_be_visible()
    with walk.page.expect_download() as download:
        walk.link("Download CSV").click()
    download.value.save_as(folder / "attention.csv")
    assert {row["query"] for row in _rows(folder / "attention.csv")} == {"flood", "strike"}


def read_by_keys(walk: Walk) -> None:
    """Go through the headlines, star one, mark one as read, open the original, and find the star again."""
    walk.menu("News")
    headline = walk.page.locator("ol.newest .headline a").first
    title = headline.inner_text()
    item = walk.page.locator("ol.newest > li").first
    if walk.phone:  # it has no keys
        item.locator("button.star").click()
    else:
        headline.focus()
        walk.page.keyboard.press("m")
        expect(item).to_have_attribute("data-read", "1")
        walk.page.keyboard.press("s")
        walk.page.keyboard.press("j")
        walk.page.keyboard.press("k")
        expect(headline).to_be_focused()
    expect(item.locator("button.star")).to_have_attribute("aria-pressed", "true")
    walk.menu("Saved")
    expect(walk.page.locator(".hits .headline").first).to_contain_text(title)
    walk.page.locator(".hits button.star").first.click()
    walk.menu("News")
    walk.field("unread only").check()
    walk.button("Show").click()
    walk.button("Mark all as read").click()
    walk.page.wait_for_load_state()
    if walk.page.locator("ol.newest .headline").count():  # older articles
        expect(walk.page.locator("ol.newest .headline").filter(has_text=title)).to_have_count(0)


def repair_a_site(walk: Walk) -> None:
    """Follow the warning on the front page to the sites that fail, read the cause, and act."""
    walk.menu("News")
    walk.page.locator("#verdict a").nth(1).click()
    expect(walk.page).to_have_url(re.compile("/sources"))
    walk.page.get_by_role(
        "link", name=walk.pattern("{n} site with problems", "{n} sites with problems")
    ).click()
    walk.link("harbour-herald.example").click()
    expect(walk.page.locator("#polls")).to_contain_text(walk.say("the host name does not resolve"))
    walk.link("why").click()
    expect(walk.page.locator(".history")).to_be_visible()
    walk.page.go_back()
    walk.button("Poll now").click()
    walk.told("{0} of {1} queued; a running crawl polls them at once.")
    walk.button("Pause this site").click()
    walk.told("{0} is paused. Workers stop fetching its pages within a few seconds.")
    walk.button("Resume").click()
    walk.told("{0} is resumed.")


def ask_why(walk: Walk) -> None:
    """Ask why an article is here, and have the page fetched again; ask for an address that is not known."""
    walk.page.goto("/articles?q=comet")
    walk.page.locator(".hits .headline a").first.click()
    walk.open("Why is this article here?")
    walk.link("All actions for this address").click()
    expect(walk.page.locator(".conclusion").first).to_be_visible()
    walk.button("Fetch now").click()
    walk.told("{0} {1}.")
    walk.field("Address").fill("https://valley-post.example/never-seen")
    walk.button("Explain").click()
    expect(walk.page.locator(".conclusion").first).to_be_visible()


def take_along(walk: Walk, folder: Path) -> None:
    """Take the articles of a search, and the feeds of all sites, as files."""
    walk.page.goto("/articles?q=comet")
    for name in ("CSV", "JSON"):
        with walk.page.expect_download() as download:
            walk.page.get_by_role("link", name=name, exact=True).click()
        download.value.save_as(folder / name)
    rows = _rows(folder / "CSV")
    lines = [json.loads(line) for line in (folder / "JSON").read_text(encoding="utf-8").splitlines()]
    assert [one["url"] for one in rows] == [one["url"] for one in lines] != []
    walk.menu("Sources")
    with walk.page.expect_download() as download:
        walk.link("The feeds of all sites (OPML)").click()
    download.value.save_as(folder / "sites.opml")
    assert "valley-post.example" in (folder / "sites.opml").read_text()


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def be_in_a_team(walk: Walk, token: str) -> None:
    """Log in with an own token: the own name is shown, and what the role does not allow is not offered."""
    walk.button("log out").click()
    walk.log_in(token)
    expect(walk.page.get_by_role("contentinfo")).to_contain_text("mira")
    walk.page.goto("/sources/valley-post.example")
    expect(walk.button("Pause this site")).to_have_count(0)
    walk.page.goto("/articles?q=comet")
    star = walk.page.locator("button.star").first
    star.click()
    expect(star).to_have_attribute("aria-pressed", "true")
    star.click()
    walk.button("log out").click()
    expect(walk.link("log in")).to_be_visible()


MORNING: tuple[Callable[[Walk], None], ...] = (
    search_and_filter,
    save_a_search,
    follow_a_story,
    read_an_event,
    read_by_keys,
    repair_a_site,
    ask_why,
)
"""The walks that need a browser only."""
