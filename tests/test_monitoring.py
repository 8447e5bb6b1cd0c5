"""Reports on sites: what is counted, listed, compared and stored."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from newsbot.apps.monitor.page_check import changes_of
from newsbot.apps.monitor.report import Structure, _rough, folders, site_report
from newsbot.apps.monitor.results import (
    MAX_RUNS,
    CheckedPage,
    PageCheck,
    checks_of,
    forget_report,
    keep_report,
    kept_report,
    monitored,
)
from newsbot.items import Kind, PageRecord
from newsbot.storage.base import SourceRecord
from newsbot.storage.notes import MAX_NOTE, to_json
from newsbot.storage.sqlite import SqliteStorage
from newsbot.urls import canonicalize, fingerprint

SITE = "https://news.test"
FEED = f"{SITE}/feed.xml"


PARTS = st.text("aB%/.;?#=&-20éя ", max_size=20)


@given(PARTS, st.sampled_from(["news.test", "www.Other.test:81", "[::1]:8080", "user@x.test"]))
def test_folders_are_those_of_the_parsed_path(rest: str, host: str) -> None:
    try:
        url = canonicalize(f"http://{host}/{rest}")
    except ValueError:
        return
    parts = urlsplit(url)
    names = [f"/{name[:80]}" for name in parts.path.split("/")[1:-1] if name][:5]
    bare_host = (parts.hostname or "").removeprefix("www.")
    assert folders(url, "news.test") == tuple(names if bare_host == "news.test" else [bare_host, *names])


@given(PARTS)
def test_urls_that_may_be_the_same_have_the_same_rough_form(rest: str) -> None:
    """A page that may be a source must not be treated as an ordinary page."""
    url = f"http://news.test/{rest}"
    try:
        canonical = canonicalize(url)
    except ValueError:
        return
    assert _rough(url) == _rough(canonical)


@pytest.fixture
def storage(tmp_path: Path) -> Iterator[SqliteStorage]:
    storage = SqliteStorage(tmp_path / "newsbot.db")
    storage.sources.save([SourceRecord(url=FEED, source="news.test", kind=Kind.FEED)])
    storage.sources.save([SourceRecord(url=f"{SITE}/sport", source="news.test", kind=Kind.SECTION)])
    yield storage
    storage.close()


def page(path: str, *referrers: str, kind: Kind = Kind.ARTICLE, depth: int = 1) -> PageRecord:
    url = path if "://" in path else SITE + path
    return PageRecord(
        url=url,
        fingerprint=fingerprint(canonicalize(url)),
        host="news.test",
        source="news.test",
        kind=kind,
        referrers=list(referrers),
        referrer_count=len(referrers),
        depth=depth,
        first_seen=1.0,
    )


def check(path: str, run: float = 10.0, **fields: Any) -> PageCheck:
    url = path if "://" in path else SITE + path
    values: dict[str, Any] = {"url": url, "source": "news.test", "run": run, "at": run + 1, "status": 200}
    return PageCheck(**values | fields)


def checked(*checks: PageCheck) -> CheckedPage:
    return CheckedPage(url=SITE, source="news.test", checks=checks)


def test_a_report_contains_counts_and_lists(storage: SqliteStorage) -> None:
    storage.pages.discover(
        [
            page("/", kind=Kind.SECTION, depth=0),
            page("/sport", f"{SITE}/", kind=Kind.SECTION),
            page("/sport/a", f"{SITE}/sport", FEED),
            page("/sport/b", f"{SITE}/sport", f"{SITE}/politics/x", depth=2),
            page("/politics/x", f"{SITE}/", depth=3),
            page("/politics/lost", FEED),
            page("/never", f"{SITE}/"),
            page(FEED, kind=Kind.FEED, depth=0),
        ]
    )
    checks_of(storage).save(
        [
            check("/", seconds=0.1, size=1000, server="nginx", content_type="text/html; charset=utf-8"),
            check("/sport", seconds=0.3, size=50, server="nginx"),
            check("/sport/a", hops=((301, f"{SITE}/b"), (302, f"{SITE}/c"))),
            check("/sport/b", status=404, seconds=0.2),
            check("/politics/x", status=None, fault="timeout"),
            check("/politics/lost", status=403),
            check("/gone", status=410, found_on=f"{SITE}/sport"),
            check(FEED, status=None, fault="robots"),
        ]
    )
    report = site_report(storage, "news.test")
    assert (report["pages"], report["checked"], report["never_checked"]) == (9, 8, 1)
    assert report["verdicts"] == {"broken": 3, "ok": 2, "moved": 1, "refused": 1, "not asked": 1}
    assert report["outcomes"]["404"] == report["outcomes"]["timeout"] == report["outcomes"]["robots"] == 1
    assert report["servers"] == {"nginx": 2}
    assert report["types"] == {"text/html": 1}
    assert report["bytes"] == 1050
    assert (report["median_milliseconds"], report["p95_milliseconds"]) == (200, 300)
    assert [one["milliseconds"] for one in report["slowest"]] == [300, 200, 100]
    assert [one["size"] for one in report["largest"]] == [1000, 50]
    broken = {one["url"].removeprefix(SITE): one for one in report["broken"]}
    assert next(iter(broken)) == "/sport/b", "the page with the most links to it comes first"
    assert broken["/sport/b"]["referrers"] == [f"{SITE}/sport", f"{SITE}/politics/x"]
    assert broken["/gone"]["referrers"] == [f"{SITE}/sport"], (
        "the monitor found this page, which has no record"
    )
    assert broken["/politics/x"]["outcome"] == "timeout"
    assert [one["url"] for one in report["refused"]] == [f"{SITE}/politics/lost"]
    assert report["moved"][0]["hops"] == [
        {"status": 301, "to": f"{SITE}/b"},
        {"status": 302, "to": f"{SITE}/c"},
    ]
    assert [one["url"] for one in report["orphans"]] == [f"{SITE}/politics/lost"], "only a feed links to it"
    assert report["depths"] == {"0": 2, "1": 4, "2": 1, "3": 1}
    sections = {one["section"]: (one["pages"], one["broken"]) for one in report["sections"]}
    assert sections == {"/": (4, 1), "/sport": (3, 1), "/politics": (2, 1)}
    links = {(one["from"], one["to"]): one["links"] for one in report["links"]}
    assert links == {
        ("/", "/sport"): 1,
        ("/sport", "/sport"): 2,
        ("/politics", "/sport"): 1,
        ("/", "/politics"): 1,
        ("/", "/"): 1,
    }
    assert report["tree"]["pages"] == 9
    assert [(one["name"], one["pages"], one["broken"]) for one in report["tree"]["below"]] == [
        ("/sport", 3, 1),
        ("/politics", 2, 1),
    ]
    assert (report["run"], report["changes"], report["changes_count"]) == (10.0, [], {}), "the first run"


def test_changes_are_those_between_the_last_two_runs(storage: SqliteStorage) -> None:
    for path in ("/a", "/b", "/c", "/d", "/e"):
        checks_of(storage).save([check(path, 10.0, etag="1", content_type="text/html")])
    checks_of(storage).save([check("/old", 5.0), check("/old", 10.0, status=404)])
    checks_of(storage).save(
        [
            check("/a", 20.0, status=404),
            check("/b", 20.0, hops=((301, f"{SITE}/z"),), etag="2"),
            check("/c", 20.0, content_type="text/html;charset=utf-8", etag="2"),
            check("/d", 20.0, status=304),
            check("/new", 20.0),
        ]
    )
    report = site_report(storage, "news.test")
    found = [
        (one["url"].removeprefix(SITE), one["what"], one["before"], one["now"]) for one in report["changes"]
    ]
    assert found == [
        ("/a", "status", "200", "404"),
        ("/b", "target", "", f"{SITE}/z"),
        ("/new", "new", "", "200"),
    ]
    assert report["changes_count"] == {"status": 1, "target": 1, "new": 1}
    assert (report["run"], report["content_changed"], report["checked_in_run"]) == (20.0, 2, 5)
    since = {one["url"].removeprefix(SITE): one["since"] for one in report["broken"]}
    assert since == {"/a": 21.0, "/old": 11.0}


def test_lists_are_bounded_and_counts_are_not(storage: SqliteStorage) -> None:
    storage.pages.discover([page(f"/{n}", *[f"{SITE}/from/{i}" for i in range(n % 7)]) for n in range(60)])
    checks_of(storage).save([check(f"/{n}", status=404) for n in range(60)])
    report = site_report(storage, "news.test", limit=5)
    assert (report["broken_count"], len(report["broken"])) == (60, 5)
    assert {one["referrer_count"] for one in report["broken"]} == {6}


@pytest.mark.parametrize(
    ("before", "now", "kinds"),
    [
        ({}, {}, set()),
        ({"status": 404}, {}, {"status"}),
        ({"status": None, "fault": "dns"}, {"status": None, "fault": "timeout"}, {"status"}),
        ({"server": "nginx"}, {"server": "Apache"}, {"server"}),
        ({"server": "nginx"}, {"server": None}, set()),
        ({"size": 100}, {"size": 199}, set()),
        ({"size": 100}, {"size": 200}, {"size"}),
        ({"size": 100, "method": "GET"}, {"size": 200}, set()),
        ({"content_type": "text/html"}, {"content_type": "text/plain"}, {"type"}),
        ({"last_modified": "a"}, {"last_modified": "b"}, {"content"}),
    ],
)
def test_kinds_of_changes(before: dict[str, Any], now: dict[str, Any], kinds: set[str]) -> None:
    assert set(changes_of(checked(check("/", 1.0, **before), check("/", 2.0, **now)))) == kinds


@pytest.mark.parametrize(
    ("url", "is_section", "places"),
    [
        (f"{SITE}/", False, ()),
        (f"{SITE}/a", False, ()),
        (f"{SITE}/a", True, ("/a",)),
        (f"{SITE}/a/", False, ("/a",)),
        ("https://www.news.test/a/b.html?c=/d/", False, ("/a",)),
        ("https://sport.news.test/a/b", False, ("sport.news.test", "/a")),
        (f"{SITE}//a//b/", False, ("/a", "/b")),
        (f"{SITE}" + "/x" * 9 + "/", False, ("/x",) * 5),
    ],
)
def test_folders_of_a_page(url: str, is_section: bool, places: tuple[str, ...]) -> None:
    assert folders(url, "news.test", is_section=is_section) == places


@given(st.lists(st.tuples(st.lists(st.sampled_from(["/a", "/b", "/c"]), max_size=4), st.booleans())))
def test_a_tree_and_the_sections_count_each_page_once(pages: list[tuple[list[str], bool]]) -> None:
    structure = Structure("news.test")
    for places, broken in pages:
        structure.add(tuple(places), broken=broken)
    assert structure.root.pages == sum(one["pages"] for one in structure.sections()) == len(pages)
    assert structure.root.broken == sum(broken for _, broken in pages)

    def check_node(node: dict[str, Any]) -> None:
        assert sum(one["pages"] for one in node["below"]) <= node["pages"]
        for one in node["below"]:
            check_node(one)

    tree = structure.root.plain("news.test", children=1)
    check_node(tree)
    assert len(tree["below"]) <= 2


def test_a_report_is_stored_immediately_and_within_the_size_limit_of_notes(storage: SqliteStorage) -> None:
    long = "x" * 900
    storage.pages.discover([page(f"/{n}/{long}/{n}", f"{SITE}/{long}") for n in range(300)])
    checks_of(storage).save([check(f"/{n}/{long}/{n}", status=404) for n in range(300)])
    report = site_report(storage, "news.test")
    assert kept_report(storage.notes, "news.test") is None
    for began in range(MAX_RUNS + 2):
        keep_report(storage.notes, report, {"began": float(began), "ended": began + 1.0, "checked": began})
    keep_report(storage.notes, report, {"began": 31.0, "ended": 99.0, "checked": 7})
    summary = monitored(storage.notes)["news.test"]
    assert (summary["broken_count"], "broken" in summary) == (300, False)
    assert [one["began"] for one in summary["runs"]] == [float(n) for n in range(2, MAX_RUNS + 2)]
    assert summary["runs"][-1] == {"began": 31.0, "ended": 99.0, "checked": 7}
    kept = kept_report(storage.notes, "news.test")
    assert kept is not None
    assert set(kept) == {*report, "runs"}
    assert 10 < len(kept["broken"]) < 300
    assert kept["broken"] == report["broken"][: len(kept["broken"])]
    assert kept["tree"]["pages"] == 300
    assert all(len(to_json(note)) <= MAX_NOTE for note in storage.notes.all("monitor news.test").values())
    assert forget_report(storage.notes, "news.test")
    assert not forget_report(storage.notes, "news.test")
    assert kept_report(storage.notes, "news.test") is None
    assert monitored(storage.notes) == {}
