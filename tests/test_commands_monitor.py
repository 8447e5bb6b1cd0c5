"""``scrapy monitor`` on a real data file."""

from __future__ import annotations

from pathlib import Path

import pytest

from newsbot.apps.monitor.report import site_report
from newsbot.apps.monitor.results import PageCheck, checks_of, keep_report
from tests.commandline import Place

SITE = "https://example.org"


@pytest.fixture
def place(tmp_path: Path) -> Place:
    place = Place(tmp_path)
    checks = {
        "/story/0": (200, ()),
        "/gone": (404, ()),
        "/walled": (403, ()),
        "/old/a": (200, ((301, f"{SITE}/new/a"),)),
    }
    with place.storage() as storage:
        for path, (status, hops) in checks.items():
            one = PageCheck(url=SITE + path, source="example.org", at=9.0, run=8.0, status=status, hops=hops)
            checks_of(storage).save([one])
        keep_report(
            storage.notes, site_report(storage, "example.org"), {"began": 8.0, "ended": 10.0, "checked": 4}
        )
    return place


def test_sites_are_listed(place: Place) -> None:
    assert place.run("monitor", "list").rows[0][0] == "example.org"
    (listed,) = place.run("monitor", "list", "--json").json
    assert (listed["broken_count"], listed["runs"]) == (1, [{"began": 8.0, "ended": 10.0, "checked": 4}])


def test_a_report_is_a_table_json_or_a_page(place: Place) -> None:
    shown = place.run("monitor", "show", "example.org").out
    assert f"{SITE}/gone" in shown
    assert f"301 {SITE}/new/a" in shown
    assert "/story" in shown
    assert "refused" in shown
    assert place.run("monitor", "show", "example.org", "--json").json["broken"][0]["url"] == f"{SITE}/gone"
    page = place.folder / "site.html"
    assert place.run("monitor", "show", "example.org", "--html", str(page)).code == 0
    assert f'href="{SITE}/gone"' in page.read_text(encoding="utf8")
    assert list(place.folder.glob(".site*")) == []


def test_one_page_is_shown(place: Place) -> None:
    assert [one["status"] for one in place.run("monitor", "page", f"{SITE}/gone", "--json").json] == [404]
    assert "404" in place.run("monitor", "page", f"{SITE}/gone").out
    assert place.run("monitor", "page", f"{SITE}/never").code == 1
    assert place.run("monitor", "page", "nothing").code == 2


def test_the_checks_of_a_site_can_be_removed(place: Place) -> None:
    assert place.run("monitor", "forget", "example.org", "--json").json == {"site": "example.org", "pages": 4}
    assert place.run("monitor", "list", "--json").json == []
    assert "no site was monitored yet" in place.run("monitor", "list").err
    assert place.run("monitor", "forget", "example.org").code == 1
    with place.storage() as storage:
        assert list(checks_of(storage).iter()) == []


def test_wrong_arguments_are_reported_in_one_line(place: Place) -> None:
    wrong = place.run("monitor", "show", "exampel.org")
    assert (wrong.code, "did you mean 'example.org'" in wrong.err) == (1, True)
    assert place.run("monitor", "show", "example.org", "--html", "x.pdf").code == 2
    assert place.run("monitor", "show", "example.org", "--html", "/no/such/x.html").code == 1
