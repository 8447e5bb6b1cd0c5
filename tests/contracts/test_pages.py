"""The contract of every storage: page records."""

from __future__ import annotations

import time

import pytest

from newsbot.items import Event, Kind, PageRecord
from newsbot.storage.base import MAX_HISTORY, MAX_REFERRERS, Storage
from tests.contracts.storage_samples import make_page


def test_a_page_is_returned_unchanged(storage: Storage) -> None:
    page = make_page(
        "a",
        ("front",),
        state="done",
        http_status=200,
        content_type="text/html",
        content_length=10**30,
        server="nginx",
        etag='"x"',
        last_modified="Fri, 03 May 2024 12:00:00 GMT",
        content_hash="abc",
        referrer_count=1,
        links_count=7,
        last_fetched=200.5,
        last_full_fetch=200.5,
        next_due=300.0,
        checks=3,
        changes=2,
        failures=1,
        history=[{"at": 200.5, "event": "fetched", "status": 200}],
    )
    storage.pages.save([page])
    page.content_length = 2**63 - 1  # a header may have any value
    assert storage.pages.get([page.fingerprint, b"unknown"]) == {page.fingerprint: page}
    assert storage.pages.get([]) == {}


def test_discovering_adds_referrers_and_the_smaller_depth(storage: Storage) -> None:
    storage.pages.discover([make_page("a", ("x",), depth=3)])
    storage.pages.save([make_page("a", state="done", depth=3, checks=1)])
    for _ in range(2):
        storage.pages.discover(
            [make_page("a", ("y",), depth=1), make_page("a", ("z",), depth=2), make_page("b", ("y",))]
        )
    found = storage.pages.get([make_page("a").fingerprint])[make_page("a").fingerprint]
    assert found.referrers == [f"https://example.org/{name}" for name in "xyz"]
    assert found.referrer_count == 3
    assert (found.depth, found.state, found.checks) == (1, "done", 1)
    assert len(list(storage.pages.iter())) == 2


def test_pages_are_streamed_from_a_time_and_from_a_key_on(
    storage: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(f"{type(storage.pages).__module__}._AT_ONCE", 3)
    early = [make_page(f"a{number}") for number in range(5)]
    storage.pages.save(early)
    time.sleep(0.02)
    since = time.time()
    time.sleep(0.02)
    late = [make_page(f"b{number}") for number in range(8)]
    storage.pages.discover(late)
    storage.pages.save([make_page("a1", state="done"), make_page("b1", state="done")])
    assert {page.url for page in storage.pages.added(since)} == {page.url for page in late}
    assert len(list(storage.pages.added(0.0))) == 13
    assert list(storage.pages.added(time.time() + 60)) == []
    keys = sorted(page.fingerprint for page in [*early, *late])
    assert [page.fingerprint for page in storage.pages.by_key()] == keys
    assert [page.fingerprint for page in storage.pages.by_key(keys[6])] == keys[7:]


def test_a_page_that_occurs_twice_in_a_batch_is_stored_once(storage: Storage) -> None:
    storage.pages.discover([make_page("a", ("x",), depth=4), make_page("a", ("y",), depth=2)])
    (found,) = storage.pages.iter()
    assert (found.referrers, found.referrer_count, found.depth) == (
        ["https://example.org/x", "https://example.org/y"],
        2,
        2,
    )


def test_many_referrers_are_counted_and_the_first_are_kept(storage: Storage) -> None:
    for _ in range(2):
        for number in range(500):
            storage.pages.discover([make_page("a", (str(number),))])
    (found,) = storage.pages.iter()
    assert found.referrers == [f"https://example.org/{number}" for number in range(MAX_REFERRERS)]
    assert 450 <= found.referrer_count <= 550


def test_saving_does_not_change_first_seen_or_referrers(storage: Storage) -> None:
    storage.pages.discover([make_page("a", ("x",), first_seen=100.0)])
    storage.pages.save([make_page("a", ("other",), first_seen=999.0, http_status=404, state="gone")])
    (found,) = storage.pages.iter()
    assert (found.first_seen, found.referrers, found.referrer_count) == (100.0, ["https://example.org/x"], 1)
    assert (found.http_status, found.state) == (404, "gone")


def test_new_events_are_appended_to_the_history_which_is_bounded(storage: Storage) -> None:
    events: list[Event] = [{"at": float(number), "event": "fetched"} for number in range(MAX_HISTORY + 10)]
    storage.pages.save([make_page("a", history=events[:5])])
    storage.pages.save([make_page("a", history=events[3:8])])
    storage.pages.save([make_page("a")])
    (found,) = storage.pages.iter()
    assert found.history == events[:8]
    found.history += events[8:]
    for _ in range(2):
        storage.pages.save([found])
    assert next(storage.pages.iter()).history == events[-MAX_HISTORY:]


def test_the_discovery_of_a_page_always_stays_in_its_history(storage: Storage) -> None:
    first = {"at": 1.0, "event": "discovered", "where": "seed"}
    events = [{"at": float(number), "event": "fetched"} for number in range(2, 3 * MAX_HISTORY)]
    storage.pages.discover([make_page("a", history=[first])])
    for start in range(0, len(events), 7):
        storage.pages.save([make_page("a", history=events[start : start + 7])])
    assert next(storage.pages.iter()).history == [first, *events[1 - MAX_HISTORY :]]


def test_due_pages_are_returned_earliest_first(storage: Storage) -> None:
    dues = {"never": None, "at": 50.0, "after": 51.0, "until": 60.0, "later": 60.5}
    storage.pages.save([make_page(name, next_due=due) for name, due in dues.items()])
    storage.pages.save([make_page(f"together-{n}", next_due=55.0) for n in range(1100)])  # several batches
    due = [page.url.rpartition("/")[2] for page in storage.pages.due(after=50.0, until=60.0)]
    assert (due[0], due[-1]) == ("after", "until")
    assert sorted(due[1:-1]) == sorted(f"together-{n}" for n in range(1100))
    storage.pages.save([make_page("after", next_due=None)])
    assert [page.next_due for page in storage.pages.due(after=0.0, until=54.0)] == [50.0]
    assert list(storage.pages.due(after=60.5, until=1e12)) == []


def test_pages_can_be_streamed_by_source_and_kind_while_pages_are_saved(storage: Storage) -> None:
    storage.pages.discover([make_page(str(number)) for number in range(1200)])
    storage.pages.discover(
        [make_page("feed", kind=Kind.FEED, state="done"), make_page("elsewhere", source="other.org")]
    )
    assert [page.url for page in storage.pages.iter(kind=Kind.FEED)] == ["https://example.org/feed"]
    assert len(list(storage.pages.iter(site="example.org", kind=Kind.ARTICLE))) == 1200
    assert [page.source for page in storage.pages.iter(site="other.org")] == ["other.org"]
    seen: list[PageRecord] = []
    for page in storage.pages.iter(site="example.org"):
        seen.append(page)
        if len(seen) in (1, 600):
            page.checks += 1
            storage.pages.save([page])
            storage.pages.discover([make_page(f"late{len(seen)}")])
    assert len({page.fingerprint for page in seen}) == len(seen) == 1201
