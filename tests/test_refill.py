"""A frontier that holds only what is due soon; the storage holds the rest."""

from __future__ import annotations

import secrets
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import redis

from newsbot.apps.redis.frontier import RedisFrontier
from newsbot.crawl import recovery as module
from newsbot.crawl.entries import AGAIN_PRIORITY, page_for
from newsbot.crawl.recovery import RIGHT_SECONDS, Recovery, Refill
from newsbot.errors import DataUnavailable
from newsbot.frontier.base import FETCH_STEP, Entry, LeanFrontier, Lease, Resumed
from newsbot.frontier.sqlite.frontier import SqliteFrontier
from newsbot.items import Kind, PageRecord
from newsbot.storage.sqlite import SqliteStorage
from testbed.redisserver import RedisServer, need_redis
from tests.builders import Desk
from tests.contracts.frontier_backends import FakeClock, key_of, make_entry

HOUR = 3600.0
HOST = "a.example"


class Site:
    """One frontier and one storage, and workers on both."""

    def __init__(self, folder: Path, redis_url: str) -> None:
        self.clock = FakeClock(20_000 * FETCH_STEP)
        self.redis_url = redis_url
        self.namespace = f"test-{secrets.token_hex(8)}"
        self.opened = ExitStack()
        self.storage = SqliteStorage(folder / "newsbot.db")
        self.opened.callback(self.storage.close)
        self.frontier = self.open_frontier()

    def open_frontier(self) -> RedisFrontier:
        frontier = RedisFrontier(self.redis_url, namespace=self.namespace, keep_within=HOUR, clock=self.clock)
        self.opened.callback(frontier.close)
        frontier.set_politeness(HOST, delay=0, concurrency=5000)
        return frontier

    def worker(self, name: str = "w") -> Refill:
        return Refill(self.open_frontier(), self.storage, name, self.clock)

    def forget(self) -> None:
        """Remove all data of the frontier, like a restart of a Redis without persistence."""
        with redis.Redis.from_url(self.redis_url) as client:
            for key in client.scan_iter(f"{{{self.namespace}:*"):
                client.delete(key)

    def lease(self) -> list[Lease]:
        """Lease all entries; a single call makes only a few hundred entries available."""
        leases: list[Lease] = []
        while some := self.frontier.lease("o", 5000, horizon=self.clock.now, ttl=1e6):
            leases += some
        return leases

    def save(self, entry: Entry, **fields: Any) -> PageRecord:
        page = page_for(entry, self.clock.now)
        for name, value in fields.items():
            setattr(page, name, value)
        self.storage.pages.save([page])
        return page

    def visit(self, name: str, rest: float | None, kind: Kind = Kind.ARTICLE) -> None:
        """Fetch a page as a worker does: first write its record, then acknowledge the lease."""
        entry = found(name, kind)
        self.frontier.add([entry], force=True)
        (lease,) = [lease for lease in self.lease() if lease.entry.fingerprint == entry.fingerprint]
        due = None if rest is None else self.clock.now + rest
        self.save(entry, state="done", last_fetched=self.clock.now, next_due=due)
        assert self.frontier.ack(lease, next_due=due)


@pytest.fixture
def site(tmp_path: Path, redis_url: str) -> Iterator[Site]:
    site = Site(tmp_path, redis_url)
    with site.opened:
        yield site
        site.forget()


def found(name: str, kind: Kind = Kind.ARTICLE) -> Entry:
    data = {"source": HOST, "referrer": None, "where": "feed", "why": "item", "published_at": "2026-11-20"}
    return make_entry(name, HOST, kind=kind, priority=95.0, data=data)


def names(leases: list[Lease]) -> set[str]:
    return {lease.entry.url.rpartition("/")[2] for lease in leases}


def run(worker: Refill, site: Site) -> None:
    for _ in range(1000):
        if worker.covers(site.clock.now):
            return
        worker.step()
    raise AssertionError("the storage was never read to its end")


def test_only_the_redis_frontier_needs_a_refill(site: Site, tmp_path: Path) -> None:
    assert isinstance(site.frontier, LeanFrontier)
    file = SqliteFrontier(tmp_path / "other.db")
    assert not isinstance(file, LeanFrontier)
    file.close()


def test_only_entries_that_are_due_soon_are_kept_completely(site: Site) -> None:
    run(site.worker(), site)
    site.visit("soon", HOUR)
    site.visit("later", HOUR + 1)
    site.visit("feed", 5 * HOUR, Kind.FEED)
    fetched = site.clock.now
    assert site.frontier.entry(key_of("later")) is None
    known = site.frontier.known([key_of("later"), key_of("soon")])
    assert (known[key_of("later")].state, known[key_of("later")].last_fetched) == ("done", fetched)
    assert known[key_of("later")].next_due is None
    assert known[key_of("soon")].next_due == fetched + HOUR
    assert site.frontier.entry(key_of("feed")) is not None, (
        "sources stay in the frontier, as they are polled often"
    )


def test_a_page_is_queued_again_when_it_is_due(site: Site) -> None:
    worker = site.worker()
    run(worker, site)
    site.visit("page", 3 * HOUR)
    fetched = site.clock.now
    for _ in range(11):
        site.clock.advance(HOUR / 4)
        worker.step()
        assert site.lease() == []
    site.clock.advance(HOUR / 4)
    worker.step()
    (lease,) = site.lease()
    assert lease.last_fetched == fetched
    assert lease.entry.priority == AGAIN_PRIORITY
    assert lease.entry.url == f"https://{HOST}/page"
    kept = {"source": HOST, "where": "feed", "why": "item", "published_at": "2026-11-20", "again": True}
    assert kept.items() <= lease.entry.data.items()
    site.clock.advance(HOUR)
    worker.step()
    assert site.lease() == [], "it must be leased once"


def test_pages_that_became_due_without_workers_are_queued_again(site: Site) -> None:
    run(site.worker(), site)
    wanted = {f"page-{n}" for n in range(1200)}  # more than two steps
    for name in wanted:
        site.frontier.add([found(name)])
    for lease in site.lease():
        due = site.clock.now + 2 * HOUR
        site.save(lease.entry, state="done", last_fetched=site.clock.now, next_due=due)
        site.frontier.ack(lease, next_due=due)
    site.clock.advance(48 * HOUR)
    worker = site.worker("another")
    assert not worker.covers(site.clock.now)
    run(worker, site)
    assert names(site.lease()) == wanted


def test_queued_leased_and_aside_entries_are_not_changed(site: Site) -> None:
    run(site.worker(), site)
    for name in ("leased", "aside", "queued"):
        site.visit(name, 2 * HOUR)
        site.frontier.add([found(name)], force=True)
    for lease in site.lease():
        if names([lease]) == {"aside"}:
            site.frontier.nack(lease, delay=0, aside=True)
        elif names([lease]) == {"queued"}:
            site.frontier.nack(lease, delay=0)
    before = site.frontier.counts()
    site.clock.advance(2 * HOUR)
    run(site.worker("another"), site)
    assert site.frontier.counts() == before
    (queued,) = site.lease()
    assert queued.entry.priority == 95.0


def test_one_worker_at_a_time_reads_the_storage(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PAGES_AT_ONCE", 1)
    for name in ("a", "b", "c"):
        site.save(found(name))
    first, second = site.worker("first"), site.worker("second")
    first.step()
    second.step()
    assert names(site.lease()) == {"a"}
    site.clock.advance(RIGHT_SECONDS + 1)  # the first worker has died
    run(second, site)
    assert names(site.lease()) == {"b", "c"}
    first.step()
    assert first.covers(site.clock.now), "the first worker must learn that the refill is finished"
    assert site.lease() == []


def test_a_wrong_clock_is_reported_once(site: Site, caplog: pytest.LogCaptureFixture) -> None:
    right = Refill(site.frontier, site.storage, "right", lambda: site.clock.now + 2)
    run(right, site)
    assert caplog.messages == []
    late = Refill(site.frontier, site.storage, "late", lambda: site.clock.now - HOUR)
    for _ in range(3):
        late.step()
        site.clock.now += HOUR
    assert [line.partition(";")[0] for line in caplog.messages] == ["clock wrong seconds=-3600"]


def test_an_empty_redis_is_filled_from_the_storage(site: Site, caplog: pytest.LogCaptureFixture) -> None:
    run(site.worker(), site)
    assert "filled" not in caplog.text, "a new crawl has nothing to refill"
    site.visit("due soon", HOUR / 2)
    site.visit("due later", 5 * HOUR)
    site.visit("done", None)
    site.visit("feed", 5 * HOUR, Kind.FEED)
    for name in ("new", "leased"):
        site.frontier.add([found(name)])
        site.save(found(name), state=name.replace("new", "pending"))
    fetched = site.clock.now
    site.forget()
    site.frontier.set_politeness(HOST, delay=0, concurrency=50)
    run(site.worker("another"), site)
    assert "queue filled from the storage pages=" in caplog.text
    assert names(site.lease()) == {"new", "leased"}
    known = site.frontier.known([key_of("done"), key_of("due later")])
    assert [one.last_fetched for one in known.values()] == [fetched, fetched]
    site.clock.advance(5 * HOUR)
    run(site.worker("third"), site)
    assert {"due soon", "due later", "feed"} <= names(site.lease())


def test_an_interrupted_read_starts_again(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PAGES_AT_ONCE", 2)
    for number in range(5):
        site.save(found(f"page-{number}"))
    worker = site.worker()
    worker.step()

    def refuse(*_: object, **__: object) -> None:
        raise DataUnavailable("away")

    with monkeypatch.context() as away:
        away.setattr(RedisFrontier, "add", refuse)
        with pytest.raises(DataUnavailable):
            worker.step()
    run(worker, site)
    assert names(site.lease()) == {f"page-{number}" for number in range(5)}


def test_remember_does_not_change_known_urls(site: Site) -> None:
    site.visit("fetched", None)
    site.frontier.add([found("queued")])
    fetched = site.clock.now
    site.frontier.remember(
        {key_of("queued"): 5.0, key_of("fetched"): 5.0, key_of("new"): 7.9, key_of("x"): None}, [HOST] * 4
    )
    known = site.frontier.known([key_of(name) for name in ("queued", "fetched", "new", "x")])
    assert [(one.state, one.last_fetched) for one in known.values()] == [
        ("pending", None), ("done", fetched), ("done", FETCH_STEP), ("done", None),
    ]  # fmt: skip
    assert site.frontier.counts()["done"] == 3


@pytest.mark.parametrize("noticed", ["by a running worker", "at the next start"])
def test_entries_lost_in_a_failover_are_queued_again(tmp_path: Path, noticed: str) -> None:
    """The server comes back with slightly older data, like a replica that becomes the master."""
    need_redis()
    server = RedisServer(tmp_path)
    server.start()
    site = Site(tmp_path, server.url)
    with site.opened:
        first = site.worker()
        run(first, site)
        site.frontier.add([found("old")])
        site.save(found("old"))
        (held,) = site.lease()
        with redis.Redis.from_url(server.url) as client:
            client.save()
        site.save(found("new"))
        site.frontier.add([found("new")])
        site.visit("soon", HOUR / 2)
        site.visit("later", 2 * HOUR)
        site.frontier.ack(held, next_due=None)
        site.save(found("old"), state="done", last_fetched=site.clock.now)
        server.kill()
        server.start()
        if noticed == "at the next start":
            first = site.worker("another")
        else:
            resumed = site.frontier.resume("o", [], 1e6)
            assert (resumed.emptied, resumed.replaced) == (False, True)
            first.restart()
        assert not site.frontier.resume("o", [], 1e6).replaced or noticed == "at the next start"
        run(first, site)
        states = site.frontier.known([key_of(name) for name in ("old", "new", "soon", "later")])
        assert {key: known.state for key, known in states.items()} == {
            key_of("old"): "pending",  # the end of its lease was lost; it is not leased now
            key_of("new"): "pending",
            key_of("soon"): "pending",
            key_of("later"): "done",
        }
        assert states[key_of("soon")].next_due == site.clock.now + HOUR / 2
        assert site.frontier.counts()["leased"] == 0
    server.kill()


def test_after_a_failover_only_the_last_pages_are_compared(tmp_path: Path) -> None:
    need_redis()
    server = RedisServer(tmp_path)
    server.start()
    site = Site(tmp_path, server.url)
    with site.opened:
        site.clock.now = time.time() - 8 * HOUR
        run(site.worker(), site)
        for number in range(40):
            site.visit(f"old-{number}", None)
        with sqlite3.connect(tmp_path / "newsbot.db") as database:
            database.execute("UPDATE page SET added = ?", [site.clock.now])
        site.clock.now = time.time()
        site.frontier.resume("o", [], 1e6)
        with redis.Redis.from_url(server.url) as client:
            client.save()
        site.save(found("new"))
        site.frontier.add([found("new")])
        server.kill()
        server.start()
        assert site.frontier.resume("o", [], 1e6).replaced
        reader = site.worker("another")
        run(reader, site)
        assert reader._read == 1
        assert names(site.lease()) == {"new"}
    server.kill()


def test_a_read_of_all_pages_goes_on_where_another_worker_stopped(
    site: Site, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(module, "PAGES_AT_ONCE", 2)
    caplog.set_level("INFO")
    for number in range(9):
        site.save(found(f"page-{number}"))
    first = site.worker("first")
    for _ in range(3):
        first.step()
        site.clock.advance(module.TELL_EVERY / 2)
    assert "pages=6 queued=6 share=" in caplog.text
    assert "share=0.0%" not in caplog.text
    site.clock.advance(RIGHT_SECONDS + 1)  # the first worker has died
    second = site.worker("second")
    run(second, site)
    assert second._read == 5, "the last slice may not be noted yet"
    assert len(names(site.lease())) == 9


def test_a_read_started_before_a_failover_does_not_count(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another worker notices the failover while this one reads the storage."""
    monkeypatch.setattr(module, "PAGES_AT_ONCE", 1)
    for name in ("a", "b", "c"):
        site.save(found(name))
    reader, other = site.worker("reader"), site.open_frontier()
    for _ in range(2):
        reader.step()
    other._queues[0].process = "of before"
    assert other.resume("other", [], 60).replaced
    reader.step()
    site.clock.advance(module.ASK_AGAIN)
    for _ in range(3):
        reader.step()
        assert not reader.covers(site.clock.now), "not all pages were read again"
    reader.step()
    assert reader.covers(site.clock.now)
    assert site.frontier.counts()["pending"] == 3


def test_after_a_failover_the_delays_of_hosts_are_written_again_in_steps(
    make_desk: Callable[..., Desk], monkeypatch: pytest.MonkeyPatch
) -> None:
    """There may be so many hosts that the event loop would be blocked. The newest hosts come first."""
    monkeypatch.setattr(module, "SLICE", -1.0)
    desk = make_desk({"news.test": "domain: news.test\ndelay: 5\n"})
    crawl, frontier = desk.crawl, desk.crawl.context.frontier
    hosts = ["a.news.test", "b.news.test", "c.news.test"]
    for host in hosts:
        crawl.politeness.introduce(host, crawl.context.rule_for(f"http://{host}/"))
        frontier.set_politeness(host, delay=0.0, concurrency=9)  # what was written is lost
    recovery = Recovery(
        context=crawl.context,
        scope=crawl.scope,
        politeness=crawl.politeness,
        links=crawl.links,
        refill=None,
        owner="o",
        leases=list,
        ttl=60.0,
    )
    recovery.catch_up()
    monkeypatch.setattr(crawl.context.bare_frontier, "resume", lambda *_: Resumed(0, replaced=True))
    recovery.beat()
    for step in (1, 2, 3):
        recovery.catch_up()
        delays = [found.delay for host in hosts if (found := frontier.host(host)) is not None]
        assert delays == [0.0] * (3 - step) + [5.0] * step
        assert recovery
    recovery.catch_up()
    assert not recovery
