"""The contract of every storage: records of sources and sites."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from newsbot.apps.operations.sources import is_stored, known_sites, sites_of
from newsbot.apps.operations.verdict import Verdict, verdict
from newsbot.crawl.sources import NOTE, PollBudget
from newsbot.frontier.sqlite.frontier import SqliteFrontier
from newsbot.items import Kind
from newsbot.pages.rules import RuleSet
from newsbot.pages.rules.rule import Rule
from newsbot.sites.health import next_due
from newsbot.storage.base import DAY, SiteRecord, SourceRecord, Storage


def test_source_records_are_replaced_as_a_whole(storage: Storage) -> None:
    feed = SourceRecord(url="https://a.org/feed", source="a.org", kind=Kind.FEED, polls=2, next_due=5.0)
    front = SourceRecord(
        url="https://b.org/",
        source="b.org",
        kind=Kind.SECTION,
        unchanged=1,
        new_links=3,
        last_poll=1.5,
        last_new=1.0,
        failures=2,
        failing_since=0.5,
        last_error="timeout \ud800",
        rhythm={"last": 5.5, "hour_items": [1.0, 2.5], "window": None},
    )
    storage.sources.save([feed, front])
    storage.sources.save(iter([feed]))
    front.last_error = "timeout ?"
    assert storage.sources.all() == [feed, front]
    assert storage.sources.all("b.org") == [front]
    feed.polls, feed.next_due = 3, None
    storage.sources.save([feed])
    assert storage.sources.all("a.org") == [feed]
    assert (storage.sources.get(front.url), storage.sources.get("https://c.org/")) == (front, None)


NOON = 20_000.5 * DAY
Read = Callable[[Callable[[], None]], tuple[int, int]]


def source(number: int, **fields: Any) -> SourceRecord:
    """Return a record of one of ten sites with three sources each."""
    given = {
        "url": f"https://s{number % 10}.org/{number}",
        "source": f"s{number % 10}.org",
        "kind": Kind.FEED,
    }
    return SourceRecord(**given | fields)


def test_sources_are_counted_by_failures_due_time_and_site(storage: Storage) -> None:
    records = [source(number, failures=number % 4, next_due=100.0 * number) for number in range(30)]
    storage.sources.save([*records, source(30, failures=9, next_due=None)])
    count = storage.sources.count
    assert (count(), count(failures=1), count(failures=4)) == (31, 8, 30)
    assert (count(due=math.inf), count(due=1200.0), count(due=1200.0, failures=1)) == (30, 13, 4)
    assert (count(sites=["s1.org", "s2.org"]), count(sites=["s3.org"], due=500.0), count(sites=[])) == (
        6,
        1,
        0,
    )
    assert storage.sources.first_due() == records[0]
    assert storage.sources.first_due(sites=["s7.org", "s3.org"]) == records[3]
    assert storage.sources.first_due(failures=3, sites={"s3.org"}) == records[13]
    assert storage.sources.first_due(sites=["unknown.org"]) is None
    assert list(storage.sources.iter("s4.org")) == storage.sources.all("s4.org")


def test_the_best_sources_of_a_site_come_first(storage: Storage) -> None:
    storage.sources.save(source(number, failures=30 - number) for number in range(30))
    storage.sources.save([source(31, failures=0, kind=Kind.SITEMAP)])
    best = storage.sources.best("s1.org", Kind.FEED, 2)
    assert [one.failures for one in best] == [9, 19]
    assert storage.sources.best("s2.org", Kind.SITEMAP, 2) == []


def test_a_sample_has_only_living_sources(storage: Storage) -> None:
    storage.sources.save(source(number, failures=number % 3) for number in range(40))
    few = storage.sources.sample(10, failures=2)
    assert 0 < len(few) <= 10
    assert len({one.url for one in few}) == len(few)
    assert all(one.failures < 2 for one in few)
    assert len(storage.sources.sample(100, failures=2)) == 27


def test_sites_in_trouble_are_found_with_all_their_sources(storage: Storage) -> None:
    polled = [source(number, last_poll=5.0) for number in range(30)]
    for number in (1, 11, 21, 2, 12, 3, 4, 14):
        polled[number].failures = 4
    polled[22].failures = 2  # this source of s2.org may work again
    polled[24].last_poll = None  # s4.org has no other source that works
    polled[15].silent = True
    storage.sources.save(polled)
    found = storage.sources.troubled(3)
    assert [one.url for one in found] == sorted(one.url for one in polled if one.source[1] in "145")
    polled[15].silent = False
    storage.sources.save(polled)
    assert {one.source for one in storage.sources.troubled(3)} == {"s1.org", "s4.org"}


@pytest.fixture
def read(storage: Storage, monkeypatch: pytest.MonkeyPatch) -> Read:
    """Return a function that counts the records and the openings of the storage that some work needs."""
    records: list[str] = []
    calls: list[str] = []
    kind = type(storage.sources).__module__

    class CountedSource(SourceRecord):
        def __post_init__(self) -> None:
            records.append(self.url)

    class CountedSite(SiteRecord):
        def __post_init__(self) -> None:
            records.append(self.source)

    monkeypatch.setattr(f"{kind}.SourceRecord", CountedSource)
    monkeypatch.setattr(f"{kind}.SiteRecord", CountedSite)
    place = storage.handle
    name = "reading" if storage.is_local else "readable"
    opening = getattr(place, name)

    def opened() -> Any:
        calls.append(name)
        return opening()

    monkeypatch.setattr(place, name, opened)

    def count(work: Callable[[], None]) -> tuple[int, int]:
        records.clear()
        calls.clear()
        work()
        return len(records), len(calls)

    return count


def test_the_work_of_a_crawl_does_not_grow_with_the_number_of_sources(
    storage: Storage,
    read: Read,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("newsbot.crawl.sources.SAMPLED", 5)

    def work() -> None:
        storage.notes.forget(*NOTE)
        assert PollBudget(0.0, lambda: NOON).threshold(storage) > 0
        assert "next source due" in next_due(storage.sources, None, NOON)
        assert "next source due" in next_due(storage.sources, ["s1.org"], NOON)
        assert len(storage.sources.best("s1.org", Kind.FEED, 2)) == 2
        assert storage.sources.troubled(3) == []
        assert storage.sources.count(failures=3, due=NOON) > 0

    storage.sources.save(source(number, next_due=NOON) for number in range(30))
    few = read(work)
    storage.sources.save(source(number, next_due=NOON) for number in range(30, 600))
    assert read(work) == few <= (10, 20)


def test_the_verdict_and_a_page_of_sites_do_not_read_all_sources(
    storage: Storage,
    read: Read,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.setattr("newsbot.apps.operations.verdict.MOST_READ", 8)
    rules = RuleSet([Rule(domain="rule.org"), Rule(domain="s1.org")])
    seen: list[Verdict] = []

    def write(numbers: range) -> None:
        names = [f"s{number}.org" for number in numbers]
        storage.sources.save(
            SourceRecord(
                url=f"https://{name}/{place}",
                source=name,
                kind=Kind.FEED,
                failures=place % 2,
                last_error="dns",
                failing_since=NOON - 60,
                last_poll=NOON,
            )
            for name in names
            for place in range(2)
        )
        storage.sites.add([SiteRecord(source=name, counters={"errors": 1, "fetched": 2}) for name in names])

    def work() -> None:
        with closing(SqliteFrontier(tmp_path / "queue.db")) as frontier:
            seen.append(verdict({}, storage, frontier, rules, NOON))
        page = list(sites_of(storage, rules, islice(known_sites(storage, rules, "s2.org"), 4)))
        assert [len(site.sources) for site in page] == [2, 2, 2, 2]
        assert is_stored("s5.org", storage)
        assert not is_stored("s5", storage)

    write(range(30))
    few = read(work)
    write(range(30, 200))
    monkeypatch.setattr("newsbot.storage.base.PAGE", 31)
    assert read(work) == few <= (30, 40)
    assert [one.text for one in seen[-1].signs] == ["feeds or sitemaps of 8 sites or more fail"]
    assert storage.sites.count({"rule.org", "s1.org"}) == 201


def test_the_names_of_sites_are_read_in_parts(storage: Storage) -> None:
    storage.sources.save([source(number) for number in range(30)])
    storage.sites.add([SiteRecord(source=name) for name in ("a.org", "s3.org", "s55.org", "z.org", "é.org")])
    names = ["a.org", *(f"s{number}.org" for number in range(6)), "s55.org"]
    names += ["s6.org", "s7.org", "s8.org", "s9.org", "z.org", "é.org"]
    for size in (1, 2, 3, 5, 100):
        found, after = [], ""
        while some := storage.sites.names(after, size):
            assert len(some) <= size
            found += some
            after = some[-1]
        assert found == names
    assert (storage.sites.count(), storage.sites.count({"a.org", "b.org"})) == (5, 6)


def test_the_latest_errors_and_the_most_failures_come_first(storage: Storage) -> None:
    storage.sources.save(source(number, failures=number) for number in range(5))
    assert [one.failures for one in storage.sources.failing(3)] == [4, 3, 2]
    assert len(storage.sources.failing(9)) == 4
    by_site = sorted(storage.sources.failing(9), key=lambda one: one.source)
    assert storage.sources.failing(3, "") == by_site[:3]
    assert storage.sources.failing(3, by_site[2].source) == by_site[3:]
    for at in (3, 1, 2):
        storage.sites.add([SiteRecord(source=f"{at}.org", last_error="dns", last_error_at=float(at))])
    storage.sites.add([SiteRecord(source="no.org", counters={"pages": 1})])
    assert storage.sites.latest(2) == storage.sites.all(["2.org", "3.org", "-"])
    assert storage.sites.latest(9).keys() == storage.sites.all().keys()
    assert storage.sites.all(["no.org"])["no.org"].counters == {"pages": 1}


def test_site_counters_add_up_and_later_times_win(storage: Storage) -> None:
    storage.sites.add(
        [
            SiteRecord(
                source="a.org",
                counters={"articles": 2, "pages": 1.5},
                last_article=10.0,
                last_error="dns",
                last_error_at=9.0,
            )
        ]
    )
    storage.sites.add([SiteRecord(source="a.org", counters={"articles": 3})])
    storage.sites.add([SiteRecord(source="a.org", last_article=8.0, last_error="old", last_error_at=7.0)])
    storage.sites.add([SiteRecord(source="b.org")])
    assert storage.sites.all() == {
        "a.org": SiteRecord(
            source="a.org",
            counters={"articles": 5, "pages": 1.5},
            last_article=10.0,
            last_error="dns",
            last_error_at=9.0,
        ),
        "b.org": SiteRecord(source="b.org"),
    }
