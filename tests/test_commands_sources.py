"""``scrapy sources`` on a real data file."""

from __future__ import annotations

import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from newsbot.apps.operations.notifier_trust import HALF_LIFE, TRUST, Trust
from newsbot.apps.operations.sources import MOST_REPEATED
from newsbot.apps.transfer.copies import AliasCopy, copies_of
from newsbot.dedup.index import text_key
from newsbot.items import Kind
from newsbot.sites.health import QUIET_SECONDS, Health, health
from newsbot.storage.base import SiteRecord, SourceRecord
from newsbot.urls import fingerprint
from tests.commandline import Place, article

NOW = time.time()
FEED = "https://example.org/rss.xml"


def record(**changes: Any) -> SourceRecord:
    return SourceRecord(**({"url": FEED, "source": "example.org", "kind": Kind.FEED} | changes))


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    place = Place(tmp_path_factory.mktemp("sources"))
    with place.storage() as storage:
        storage.articles.store(article(1))
        storage.articles.store(article(2))
        storage.sources.save(
            [
                record(
                    polls=10,
                    unchanged=4,
                    new_links=25,
                    last_poll=NOW - 600,
                    last_new=NOW - 600,
                    next_due=NOW + 3.5 * 3600,
                ),
                record(
                    url="https://found.net/feed",
                    source="found.net",
                    polls=2,
                    failures=3,
                    failing_since=NOW - 3 * 86400,
                    last_error="dns",
                    last_poll=NOW,
                ),
                record(url="https://example.org/topics/a", kind=Kind.SECTION, polls=1, last_poll=NOW),
            ]
        )
        storage.sites.add(
            [
                SiteRecord(
                    source="example.org",
                    counters={"pages": 4, "article_pages": 3, "duplicates": 1, "errors": 2},
                    last_article=NOW - 2.5 * 3600,
                    last_error="timeout",
                    last_error_at=NOW,
                )
            ]
        )
    return place


def test_a_program_gets_sites_and_sources(place: Place) -> None:
    answer = place.program("sources", "--json")
    assert answer.code == 0
    assert answer.err == ""
    sites = {site["site"]: site for site in answer.json["sites"]}
    assert sites["example.org"]["articles"] == 2
    assert sites["example.org"]["useful_share"] == pytest.approx(0.75)
    assert sites["example.org"]["health"] == {"ok": 2, "never polled": 1}
    sources = {source["url"]: source for source in answer.json["sources"]}
    assert sources[FEED]["unchanged_share"] == pytest.approx(0.4)
    assert sources[FEED]["health"] == "ok"
    assert sources["https://example.org/news-sitemap.xml"]["health"] == "never polled"
    assert sources["https://found.net/feed"]["last_error"] == "dns"


def test_people_get_two_tables(place: Place) -> None:
    text = place.run("sources").out
    site_table, source_table = text.split("\n\n")
    assert "example.org" in site_table
    assert "75 %" in site_table
    assert "2 h ago" in site_table
    assert "2 ok, 1 never polled" in site_table
    assert "in 3 h" in source_table
    assert "failing since 3 d ago: the host name does not resolve, 3 failures" in source_table
    assert FEED in source_table


def test_one_site(place: Place) -> None:
    answer = place.run("sources", "Example.org", "--json")
    assert [site["site"] for site in answer.json["sites"]] == ["example.org"]
    assert {source["source"] for source in answer.json["sources"]} == {"example.org"}


def test_discovered_sections_are_shown_only_for_one_site(place: Place) -> None:
    found = "https://example.org/topics/a"
    answer = place.run("sources")
    assert found not in answer.out
    assert answer.err.startswith("1 section not shown; to see all, run: scrapy sources DOMAIN")
    one = place.run("sources", "example.org")
    assert found in one.out
    assert "not shown" not in one.err
    assert one.err.startswith(
        f"next source due: in 3 h ({FEED}), 0 of 1 within the hour; to poll a site now,"
    )
    assert found in {source["url"] for source in place.run("sources", "--json").json["sources"]}


def test_sites_that_were_never_read_do_not_hide_other_sites(place: Place) -> None:
    for name in "abcdefg":
        (place.folder / "rules" / f"{name}.org.yaml").write_text(
            f"domain: {name}.org\nfeeds: https://{name}.org/f\n"
        )
    answer = place.run("sources")
    assert "a.org" not in answer.out
    assert (
        "7 sites not read yet and not shown: a.org, b.org, c.org, d.org, e.org, …; --json lists all"
        in answer.err
    )
    assert "never polled" in place.run("sources", "a.org").out
    assert "a.org" in {site["site"] for site in place.run("sources", "--json").json["sites"]}


def test_a_part_of_the_sites(place: Place) -> None:
    (place.folder / "rules" / "z.org.yaml").write_text("domain: z.org\nfeeds: https://z.org/f\n")
    answer = place.run("sources", "--limit", "2", "--after", "d.org", "--json")
    assert [site["site"] for site in answer.json["sites"]] == ["e.org", "example.org"]
    assert answer.json["after"] == "example.org"
    said = place.run("sources", "--limit", "2", "--after", "d.org").err
    assert "9 sites in all; for the next ones: --after example.org\n" in said
    rest = place.run("sources", "--after", "example.org", "--json").json
    assert ([site["site"] for site in rest["sites"]], rest["after"]) == (
        ["f.org", "found.net", "g.org", "z.org"],
        None,
    )
    assert [site["site"] for site in place.run("sources", "--failing", "--json").json["sites"]] == [
        "found.net"
    ]


def test_failing_sites_are_shown_in_pages(tmp_path: Path) -> None:
    place = Place(tmp_path)
    with place.storage() as storage:
        storage.sources.save(
            [
                record(
                    url=f"https://{site}/{path}", source=site, polls=1, failures=failures, last_error="dns"
                )
                for site in ("a.org", "b.org", "c.org", "d.org", "e.org")
                for path, failures in (("f", 0 if site == "b.org" else 3), ("g", 9 if site == "d.org" else 0))
            ]
        )
    pages: list[list[str]] = []
    after: str | None = ""
    while after is not None:
        found = place.run("sources", "--failing", "--limit", "2", "--after", after, "--json").json
        pages.append([site["site"] for site in found["sites"]])
        after = found["after"]
    assert pages == [["a.org", "c.org"], ["d.org", "e.org"]]
    said = place.run("sources", "--failing", "--after", "e.org").err
    assert "no source is failing after e.org; " in said


def test_an_unknown_site(place: Place) -> None:
    answer = place.run("sources", "exampel.org")
    assert answer.code == 2
    assert answer.err == (
        "scrapy sources: 'exampel.org' is not a site in the rules or the data (did you mean 'example.org'?)\n"
    )


def test_a_text_of_many_urls_raises_an_alarm(tmp_path: Path) -> None:
    walled = Place(tmp_path)
    with walled.storage() as storage:
        for number in range(12):
            url = f"https://example.org/news/{number}"
            same = article(1, url=url, canonical_url=url, text="We and our 900 partners value your privacy.")
            same.content_hash = text_key(same.text)
            storage.articles.store(same)
        storage.articles.store(
            article(2, url="https://example.org/2?ref=rss", canonical_url="https://example.org/2")
        )
    answer = walled.run("sources")
    (line,) = [line for line in answer.err.splitlines() if "one text" in line]
    assert line.startswith(
        "example.org: 12 URLs returned one text, stored as https://example.org/news/0. It may be a cookie"
    )
    assert walled.run("sources", "--json").json["repeated_texts"] == [
        {"source": "example.org", "canonical_url": "https://example.org/news/0", "urls": 12}
    ]


def test_the_alarm_of_one_site_is_printed_even_if_many_sites_have_alarms(tmp_path: Path) -> None:
    walled = Place(tmp_path)
    with walled.storage() as storage:
        for number in range(MOST_REPEATED + 1):
            site = "other.net" if number else "example.org"
            url = f"https://{site}/news/{number}"
            text = f"We and our {number} partners value your privacy."
            storage.articles.store(article(1, url=url, canonical_url=url, source=site, text=text))
            names = [f"{url}?from={name}" for name in range(11 if number else 10)]
            copies_of(storage).write(
                "aliases", [AliasCopy(fingerprint(name), name, fingerprint(url)) for name in names]
            )
    assert "example.org: 11 URLs returned one text" in walled.run("sources", "example.org").err


def test_nothing_crawled_yet(tmp_path: Path) -> None:
    answer = Place(tmp_path).run("sources")
    assert answer.code == 1
    assert "run: scrapy crawl news" in answer.err


def test_a_broken_rule_file_is_named(tmp_path: Path) -> None:
    broken = Place(tmp_path)
    (broken.rules / "bad.org.yaml").write_text("domain: bad.org\nartikle: x\n")
    answer = broken.program("sources")
    assert answer.code == 1
    assert "bad.org.yaml:2:" in answer.err
    assert "article" in answer.err


@pytest.mark.parametrize(
    ("changes", "state"),
    [
        ({}, Health.NEVER_POLLED),
        ({"polls": 1, "last_poll": NOW}, Health.OK),
        ({"polls": 2, "last_poll": NOW}, Health.QUIET),
        ({"polls": 9, "last_poll": NOW, "last_new": NOW - QUIET_SECONDS + 9}, Health.OK),
        ({"polls": 9, "last_poll": NOW, "last_new": NOW - QUIET_SECONDS - 9}, Health.QUIET),
        ({"polls": 9, "last_poll": NOW, "last_new": NOW, "failures": 1}, Health.FAILING),
        ({"failures": 1}, Health.FAILING),
        ({"failures": 19}, Health.FAILING),
        ({"failures": 20}, Health.DEAD),
    ],
)
def test_health(changes: dict[str, Any], state: Health) -> None:
    assert health(record(**changes), NOW) is state


def test_notifiers_are_shown_with_the_results_of_their_notices(tmp_path: Path) -> None:
    place = Place(tmp_path)
    good, gone = Trust(at=NOW - 3600), Trust(at=NOW - 40 * HALF_LIFE)
    for number in range(8):
        good.tell(NOW - 3600, new=number < 6)
        gone.tell(NOW - 40 * HALF_LIFE, new=False)
    for _ in range(2):
        good.missed(NOW - 3600)
    with place.storage() as storage:
        storage.notes.save(TRUST, "websub:hub.example.org", asdict(good))
        storage.notes.save(TRUST, "indexnow:noise.example.net", asdict(gone))
    first, second = place.run("sources", "--json").json["notifiers"]
    assert (first["protocol"], first["host"]) == ("websub", "hub.example.org")
    assert first["notices"] == pytest.approx(8, rel=0.01)
    assert (first["precision"], first["recall"]) == (pytest.approx(0.75), pytest.approx(0.75))
    assert first["believed"] == 1.0
    assert second["host"] == "noise.example.net"
    assert 0 < second["notices"] < 1e-6, "old counts have nearly no weight, and figures are not rounded"
    assert second["believed"] == pytest.approx(1.0), "the trust is that of a new notifier"
    table = place.run("sources").out.split("\n\n")[2]
    assert "websub hub.example.org" in table
    assert "75 %" in table
    assert "notifiers" in place.run("sources", "example.org", "--json").json
    assert "hub.example.org" not in place.run("sources", "example.org").out


def test_failing_sources_are_first_and_can_be_selected(place: Place) -> None:
    lines = place.run("sources").out.split("\n\n")
    assert [lines[part].splitlines()[1].split()[0] for part in (0, 1)] == ["found.net", "feed"]
    assert "failing" in lines[1].splitlines()[1]
    answer = place.run("sources", "--failing")
    assert "found.net" in answer.out
    assert "example.org" not in answer.out
    assert "next source due" not in answer.err
    found = place.run("sources", "--failing", "--json").json
    assert [site["site"] for site in found["sites"]] == ["found.net"]
    assert [source["url"] for source in found["sources"]] == ["https://found.net/feed"]
    assert place.run("sources", "example.org", "--failing").err.startswith(
        "no source is failing; 1 site checked\n"
    )
