"""The contract of every storage: records of sources and sites."""

from __future__ import annotations

from newsbot.items import Kind
from newsbot.storage.base import Storage
from newsbot.storage.sources import SiteRecord, SourceRecord


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
