"""When a site is added in the browser, newsbot reads the site, proposes a rule, and writes the rule file."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from threading import Event
from urllib.parse import parse_qs, urlsplit

import jsonschema
import pytest
from aiohttp import FormData
from playwright.sync_api import Page, expect

from newsbot.apps.authoring.learn import site_named
from newsbot.apps.authoring.new import FEW, found_so_far
from newsbot.apps.web.dashboard.proposals import Proposal, Proposals, _watch
from newsbot.backends import open_storage
from newsbot.errors import ArgumentError
from newsbot.items import Kind
from newsbot.pages.rules.load import read_files
from newsbot.storage.base import SourceRecord
from testbed.demoweb.server import DemoServer, this_hour
from testbed.messages import Answer, Request
from testbed.mockserver import MockServer
from tests import warm
from tests.browser import check_access, chromium
from tests.crawls import ROOT
from tests.dashboarddata import make_article
from tests.dashboards import TOKEN, Visitor, served, settings_of, visit
from tests.test_dashboard_api import answer_schema

SITE = "gazeta.demo.example"
CRAWL_TIMEOUT = 180
"""Seconds for a small crawl on a busy machine."""
BEARER = {"Authorization": f"Bearer {TOKEN}"}


@pytest.fixture
def web(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[DemoServer]:
    """A small web with the site."""
    with DemoServer(tmp_path / "web", articles=120, now=this_hour()) as server:
        for name, value in server.environment.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setenv("NEWSBOT_RETRY_SCALE", "0.05")
        yield server


def ready(folder: Path, web: DemoServer) -> dict[str, object]:
    settings = settings_of(folder)
    shutil.copy(web.rules / "_defaults.yaml", folder / "rules")
    return settings


def log_in(page: Page) -> None:
    page.goto("/login")
    page.get_by_label("Token").fill(TOKEN)
    page.get_by_role("button", name="Log in").click()


@contextmanager
def crawling(folder: Path) -> Iterator[None]:
    """Crawl with the rules and the data of a dashboard within the block."""
    named = {"NEWSBOT_DATA": str(folder), "NEWSBOT_RULES": str(folder / "rules")}
    settings = ("-a", "mode=continuous", "-s", "NEWSBOT_RULES_RELOAD=0.2")
    process = warm.Popen(
        [sys.executable, "-m", "scrapy", "crawl", "news", *settings],
        cwd=ROOT,
        env=os.environ | named,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield
    finally:
        process.send_signal(signal.SIGINT)
        _, log = process.communicate(timeout=60)
    assert process.returncode == 0, log


def folders(place: Path) -> set[str]:
    return {one.name for one in place.iterdir()}


def test_a_user_adds_a_site(tmp_path: Path, web: DemoServer) -> None:
    file = tmp_path / "rules" / f"{SITE}.yaml"
    settings = ready(tmp_path, web)
    with served(settings, token=TOKEN) as home, crawling(tmp_path), chromium() as browser:
        page = browser.new_context(base_url=home, bypass_csp=True).new_page()
        page.goto("/sources")
        page.get_by_role("link", name="Add a site").click()
        expect(page.locator("main")).to_contain_text("Log in to add a site")
        check_access(page)
        log_in(page)
        page.goto("/sources/new")
        check_access(page)
        page.get_by_label("Address of a site").fill(f"http://www.{SITE}/sport/")
        page.get_by_role("button", name="Look at it").click()
        expect(page.get_by_role("heading", level=1)).to_have_text(f"Looking at {SITE}")
        expect(page.get_by_role("status")).to_contain_text("A small crawl of the site began")
        check_access(page)
        expect(page.get_by_role("heading", level=1)).to_have_text(
            f"A rule for {SITE}", timeout=1000 * CRAWL_TIMEOUT
        )  # the page refreshes itself
        check_access(page)
        expect(page.get_by_role("row", name=f"http://{SITE}/rss.xml feed")).to_be_visible()
        assert page.locator("ul.elsewhere li").count() > 2
        expect(page.locator("pre")).to_contain_text(f"domain: {SITE}")
        assert not file.exists()
        page.get_by_role("button", name="Save this rule").click()
        page.wait_for_url(f"**/sources/{SITE}*")
        expect(page.get_by_role("status")).to_contain_text(f"{SITE}.yaml is written")
        expect(page.locator("main")).to_contain_text(f"rule: {SITE}.yaml")
        loaded = read_files([file])
        assert loaded.problems == []
        (rule,) = loaded.rules
        assert rule.feeds == (f"http://{SITE}/rss.xml",)
        assert rule.language == "ru"
        page.goto("/sources/new")
        page.get_by_label("Address of a site").fill(SITE)
        page.get_by_role("button", name="Look at it").click()
        expect(page.locator("main")).to_contain_text(f"{SITE} already has a rule: {SITE}.yaml")
        end = time.monotonic() + CRAWL_TIMEOUT  # the running crawl takes over the rule
        while not page.request.get(f"/api/articles?source={SITE}").json()["articles"]:
            assert time.monotonic() < end
            page.wait_for_timeout(200)


def test_no_script_is_needed_and_a_site_without_articles_says_why(tmp_path: Path, web: DemoServer) -> None:
    with served(ready(tmp_path, web), token=TOKEN) as home, chromium() as browser:
        page = browser.new_context(base_url=home, java_script_enabled=False).new_page()
        log_in(page)
        page.goto("/sources/new")
        page.get_by_label("Address of a site").fill("nowhere.demo.example")
        page.get_by_role("button", name="Look at it").click()
        heading, end = page.get_by_role("heading", level=1), time.monotonic() + CRAWL_TIMEOUT
        while heading.text_content() == "Looking at nowhere.demo.example":
            assert time.monotonic() < end
            page.wait_for_timeout(500)
            page.get_by_role("link", name="Look again").click()
        expect(heading).to_have_text("No rule for nowhere.demo.example")
        expect(page.get_by_role("alert")).to_contain_text("no article was found (last fault: ")
        expect(page.get_by_label("Address of a site")).to_have_value("nowhere.demo.example")
    assert [one.name for one in (tmp_path / "rules").iterdir() if "nowhere" in one.name] == []


def test_programs_add_a_site_by_the_api(tmp_path: Path, web: DemoServer) -> None:
    file = tmp_path / "rules" / f"{SITE}.yaml"

    async def check(visitor: Visitor) -> None:
        answer, text = await visitor.post("/api/actions/add_site", {"site": SITE}, **BEARER)
        assert (answer.status, json.loads(text)["error"]) == (400, f"no rule is proposed for {SITE}")
        answer, _ = await visitor.post("/api/actions/propose", {"site": SITE}, **BEARER)
        assert answer.status == 200
        answer, text = await visitor.post("/api/actions/propose", {"site": "b.example"}, **BEARER)
        assert (answer.status, "one site can be examined at a time" in text) == (400, True)
        state, end = {"state": "looking"}, time.monotonic() + CRAWL_TIMEOUT
        while state["state"] == "looking":
            assert time.monotonic() < end
            await asyncio.sleep(0.2)
            state = json.loads((await visitor.get(f"/api/proposal?site={SITE}"))[1])
        assert (state["state"], state["fault"]) == ("found", "")
        jsonschema.Draft202012Validator(answer_schema("proposal")).validate(state)
        answer, text = await visitor.post("/api/actions/add_site", {"site": SITE}, **BEARER)
        assert json.loads(text)["verdict"] == "added"
        assert file.read_text() == state["rule"]
        answer, _ = await visitor.get(f"/api/proposal?site={SITE}")
        assert answer.status == 404
        assert SITE in [one["site"] for one in json.loads((await visitor.get("/api/sources"))[1])]

    visit(ready(tmp_path, web), check, token=TOKEN)


def test_the_findings_of_a_running_crawl_are_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a crawl: the test writes what a crawl would have found."""
    place, name = tmp_path / "newsbot-new-x" / "data", "news.test"
    storage = open_storage({"NEWSBOT_DATA": str(place)})
    assert found_so_far(tmp_path, name) == (0, [], [])
    feed = SourceRecord(url="https://news.test/rss", source=name, kind=Kind.FEED, polls=1, new_links=4)
    silent = replace(feed, url="https://news.test/old", new_links=0)
    storage.sources.save([feed, silent, replace(feed, url="https://news.test/bad", failures=2)])
    (number, sources, articles) = found_so_far(tmp_path, name)
    assert (number, [one.url for one in sources], articles) == (0, [feed.url], [])
    for place_of in range(7):
        storage.articles.store(make_article(place_of))
    storage.articles.store(make_article(8, source="other.test"))
    number, _, articles = found_so_far(tmp_path, name)
    assert (number, articles[0].title, len(articles)) == (7, "Bridge number 0 opened", FEW)

    async def runs(_self: Proposals, found: Proposal, _address: str) -> tuple[int, bytes, bytes]:
        watching = asyncio.ensure_future(_watch(found, tmp_path))
        try:
            await asyncio.Event().wait()
        finally:
            watching.cancel()
        raise AssertionError

    monkeypatch.setattr(Proposals, "_run", runs)
    monkeypatch.setattr("newsbot.apps.web.dashboard.proposals.LOOK_EVERY", 0.01)

    async def check(visitor: Visitor) -> None:
        await visitor.post("/api/actions/propose", {"site": name}, **BEARER)
        while "It has read 7 articles so far." not in (
            text := (await visitor.get(f"/sources/new?site={name}"))[1]
        ):
            assert "It looks for feeds, sitemaps and sections." in text
            await asyncio.sleep(0.05)
        assert "Looking at news.test" in text
        assert feed.url in text
        assert "https://news.test/old" not in text
        assert "Bridge number 4 opened" in text
        assert "Ann Lee" in text
        assert "Save this rule" not in text

    (tmp_path / "own").mkdir()
    settings = settings_of(tmp_path / "own")
    (tmp_path / "own/rules/news.test.yaml").unlink()
    visit(settings, check, token=TOKEN)
    storage.close()


OPML = """<?xml version="1.0" encoding="{0}"?><opml version="2.0"><body><outline text="Región">
<outline type="rss" xmlUrl="https://uno.example/feed" htmlUrl="https://uno.example/"/></outline>
<outline xmlUrl="https://dos.example/rss.xml"/><outline xmlUrl="not an address"/></body></opml>"""


@pytest.mark.parametrize(
    ("content", "written", "told"),
    [
        (
            OPML.format("utf-8").encode(),
            ["dos", "uno"],
            "2 rules written, 0 existed already, 1 left out. The first",
        ),
        (OPML.format("utf-16").encode("utf-16"), ["dos", "uno"], "2 rules written"),
        (OPML.format("iso-8859-1").encode("latin-1"), ["dos", "uno"], "2 rules written"),
        (b"# mine\nhttps://drei.example/feed\nnews.example", ["drei", "news"], "2 rules written"),
        (b"news.test\n", [], "0 rules written, 1 existed already"),
    ],
    ids=["opml", "utf-16", "latin-1", "addresses", "known"],
)
def test_a_list_of_sites_becomes_rules(tmp_path: Path, content: bytes, written: list[str], told: str) -> None:
    settings = settings_of(tmp_path)  # with a rule for news.test

    async def check(visitor: Visitor) -> None:
        form = FormData()
        form.add_field("list", content, filename="subscriptions.opml", content_type="text/xml")
        answer, _ = await visitor.post("/do/add_list", form, **BEARER)
        done = parse_qs(urlsplit(answer.headers["Location"]).query)["done"]
        assert answer.status == 303
        assert done[0].startswith(told)
        sites = [one["site"] for one in json.loads((await visitor.get("/api/sources"))[1])]
        assert {f"{one}.example" for one in written} <= set(sites)
        assert "subscriptions" not in (tmp_path / "actions.log").read_text()

    visit(settings, check, token=TOKEN)
    made = sorted(one.name for one in (tmp_path / "rules").iterdir())
    assert made == sorted([*(f"{one}.example.yaml" for one in written), "news.test.yaml"])
    if "uno" in written:
        (rule,) = read_files([tmp_path / "rules" / "uno.example.yaml"]).rules
        assert (rule.feeds, rule.tags) == (("https://uno.example/feed",), ("región",))


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        ("", "list is missing"),
        ("# nothing", "the list contains no address"),
        ("nowhere", "the list contains no site: nowhere: is not an address"),
        ("<html><p>no</p></html>", "the list is not OPML: the file begins with <html>"),
        ("<opml><outline", "the list is not well-formed OPML"),
        ("<opml><body/></opml>", "the list contains no feed"),
    ],
)
def test_a_list_without_sites_says_why(tmp_path: Path, content: str, fault: str) -> None:
    async def check(visitor: Visitor) -> None:
        answer, _ = await visitor.post("/do/add_list", {"list": content}, **BEARER)
        place, query = answer.headers["Location"].partition("?")[::2]
        found = parse_qs(query)
        assert (place, found["form"]) == ("/sources/new", ["add_list"])
        assert found["wrong"][0].startswith(fault)
        answer, text = await visitor.post("/api/actions/add_list", {"list": content}, **BEARER)
        assert (answer.status, json.loads(text)["error"]) == (400, found["wrong"][0])

    visit(settings_of(tmp_path), check, token=TOKEN)


def test_requests_need_the_token_and_never_go_to_private_addresses(tmp_path: Path, site: MockServer) -> None:
    async def check(visitor: Visitor) -> None:
        address = site.url("/")
        for path in ("/do/propose", "/api/actions/propose"):
            answer, _ = await visitor.post(path, {"site": address})
            assert answer.status == 401
            answer, text = await visitor.post(path, {"site": address}, **BEARER)
            if path.startswith("/do/"):  # the form is shown again, with the message
                assert "is+not+a+public+address" in answer.headers["Location"]
                continue
            assert answer.status == 400
            assert "is not a public address" in text
            answer, _ = await visitor.post(path, {"site": "http://router.lan/"}, **BEARER)
            assert answer.status == 400

    visit(settings_of(tmp_path), check, token=TOKEN)
    assert site.seen() == []


def test_a_crawl_ends_with_the_server(
    tmp_path: Path, site: MockServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    requested, left = Event(), Event()

    def hang(_request: Request) -> Answer:
        requested.set()
        left.wait(CRAWL_TIMEOUT)
        return Answer()

    site.page("/robots.txt", hang)
    for name, value in site.proxy_env.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    settings = settings_of(tmp_path)
    before = folders(tmp_path)

    async def whole() -> None:
        proposals = Proposals(settings)
        found = proposals.begin("slow.example")
        assert proposals.begin("https://slow.example/x") is found
        assert await asyncio.to_thread(requested.wait, CRAWL_TIMEOUT)
        assert folders(tmp_path) > before
        await proposals.close()
        assert (found.state, found.fault) == ("failed", "the crawl was stopped")

    try:
        asyncio.run(whole())
    finally:
        left.set()
    assert folders(tmp_path) == before


@pytest.mark.parametrize(
    ("address", "site"),
    [
        ("https://www.example.org/news?x=1", "example.org"),
        ("Example.ORG", "example.org"),
        ("http://правда.рф:8080/", "xn--80aafi6cg.xn--p1ai"),
    ],
)
def test_a_url_names_its_site(address: str, site: str) -> None:
    assert site_named(address) == site


@pytest.mark.parametrize("address", ["", "--logfile=x", "https://-s/", "http://", "ftp://example.org", "a b"])
def test_text_that_does_not_name_a_site_is_refused(address: str) -> None:
    with pytest.raises(ArgumentError, match="is not the address of a site"):
        site_named(address)
