"""A queue can be copied to Redis, even if the copying is interrupted, and parts of a crawl can be copied."""

from __future__ import annotations

import io
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from rich.console import Console

from newsbot.apps.monitor.results import PageCheck, SearchResult, checks_of, searches_of
from newsbot.apps.redis.frontier import RedisFrontier
from newsbot.apps.search.phrases import Position
from newsbot.apps.transfer.command import Journal, _place, bars, compare_all, copy_all
from newsbot.apps.transfer.copies import Choice, Side
from newsbot.cli.terminal import lines
from newsbot.clock import utc
from newsbot.crawl.entries import entry_again
from newsbot.crawl.recovery import Refill
from newsbot.dedup.sqlite import SqliteIndex
from newsbot.frontier.base import Lease
from newsbot.frontier.sqlite.frontier import SqliteFrontier
from newsbot.items import Kind, PageRecord
from newsbot.storage.base import SiteRecord, SourceRecord
from newsbot.storage.sqlite import SqliteStorage
from testbed.redisserver import RedisServer, need_redis
from tests.builders import ManualClock, prose
from tests.contracts.storage_samples import NOON, make_article, make_page

KEEPS = 3600.0


class Killed(Exception):
    """Interrupts a move."""


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


@pytest.fixture
def redis_frontier(tmp_path: Path, clock: ManualClock, stack: ExitStack) -> RedisFrontier:
    need_redis()
    (tmp_path / "redis").mkdir()
    server = RedisServer(tmp_path / "redis")
    server.start()
    stack.callback(server.kill)
    frontier = RedisFrontier(server.url, keep_within=KEEPS, clock=clock)
    stack.callback(frontier.close)
    return frontier


def file_side(folder: Path, stack: ExitStack, clock: ManualClock) -> Side:
    """Open a data file as the source or the target of a move."""
    path = folder / "newsbot.db"
    parts = SqliteStorage(path), SqliteFrontier(path, clock=clock), SqliteIndex(path)
    for part in parts:
        stack.callback(part.close)
    storage, frontier, index = parts
    return Side(storage=storage, frontier=frontier, index=index)


def fetch(side: Side, pages: list[PageRecord], clock: ManualClock) -> None:
    """Queue and fetch pages, which are then due at the times in their records."""
    assert side.storage is not None
    assert side.frontier is not None
    side.storage.pages.discover(pages)
    side.storage.pages.save(pages)
    side.frontier.set_politeness("example.org", delay=0, concurrency=99)
    side.frontier.add([entry_again(page) for page in pages])
    due = {page.fingerprint: page.next_due for page in pages}
    for lease in side.frontier.lease("w", 99, horizon=1e12, ttl=60):
        side.frontier.ack(lease, next_due=due[lease.entry.fingerprint])


def first_lease(frontier: RedisFrontier, storage: SqliteStorage, clock: ManualClock) -> Lease | None:
    """Advance the clock and refill the frontier until a page can be leased, for at most four hours."""
    refill = Refill(frontier, storage, "w", clock)
    for _ in range(24):
        clock.now += 600
        refill.step()
        if leases := frontier.lease("w", 1, horizon=clock(), ttl=60):
            return leases[0]
    return None


def ignore(kind: str, number: int) -> None:
    """Ignore a report."""


@pytest.mark.parametrize("pause", [0, 2000, 20_000])
def test_an_interrupted_copy_of_a_queue_can_be_completed(
    tmp_path: Path, clock: ManualClock, redis_frontier: RedisFrontier, stack: ExitStack, pause: float
) -> None:
    source = file_side(tmp_path, stack, clock)
    later = make_page("later", state="done", last_fetched=clock(), next_due=clock() + KEEPS + 1000)
    fetch(source, [later], clock)
    target = Side(frontier=redis_frontier)

    def killed_late(kind: str, number: int) -> None:
        if kind == "hosts":
            raise Killed

    with pytest.raises(Killed):
        copy_all(source, target, Choice(), Journal(tmp_path, {"to": "redis"}), killed_late)
    clock.now += pause
    copy_all(source, target, Choice(), Journal(tmp_path, {"to": "redis"}), ignore)
    assert all(one.same for one in compare_all(source, target, Choice(), ignore))
    assert isinstance(source.storage, SqliteStorage)
    lease = first_lease(redis_frontier, source.storage, clock)
    assert lease is not None
    assert lease.entry.fingerprint == later.fingerprint


def test_sources_are_kept_completely_however_late_they_are_due(
    tmp_path: Path, clock: ManualClock, redis_frontier: RedisFrontier, stack: ExitStack
) -> None:
    source = file_side(tmp_path, stack, clock)
    pages = [
        make_page(kind.value, kind=kind, state="done", last_fetched=clock(), next_due=clock() + 5 * KEEPS)
        for kind in (Kind.FEED, Kind.ARTICLE)
    ]
    fetch(source, pages, clock)
    copy_all(source, Side(frontier=redis_frontier), Choice(), Journal(tmp_path, {}), ignore)
    feed, article = (redis_frontier.entry(page.fingerprint) for page in pages)
    assert feed is not None
    assert feed.kind is Kind.FEED
    assert article is None, "an article that is not due must be only in the storage"


def test_expired_leases_do_not_block_a_move(
    tmp_path: Path, clock: ManualClock, redis_frontier: RedisFrontier, stack: ExitStack
) -> None:
    local = file_side(tmp_path, stack, clock).frontier
    assert local is not None
    for frontier in (local, redis_frontier):
        frontier.add([entry_again(make_page("held"))])
        assert frontier.lease("elsewhere:1:1.0", 1, horizon=clock(), ttl=60)
        assert frontier.at_work() == ["elsewhere:1:1.0"]
        clock.now += 61
        assert frontier.at_work() == []
        assert frontier.counts()["leased"] == 1, "reading must not change anything"


def test_the_index_of_a_sample_contains_only_its_articles(
    tmp_path: Path, clock: ManualClock, stack: ExitStack
) -> None:
    source = file_side(tmp_path, stack, clock)
    assert source.storage is not None
    for number in range(9):
        source.storage.articles.store(make_article(f"a{number}", prose(number), fetched_at=utc(time.time())))
    target = file_side(tmp_path / "home", stack, clock)
    assert target.storage is not None
    assert target.index is not None
    copy_all(source, target, Choice(max_articles=2), Journal(tmp_path / "home", {}), ignore)
    assert target.storage.articles.count() == target.index.count() == 2


def test_the_folder_of_the_journal_is_accessible_to_its_owner_only(tmp_path: Path) -> None:
    Journal(tmp_path / "home", {}).finish("2026-11-23T08:00:00Z")
    assert (tmp_path / "home").stat().st_mode & 0o777 == 0o700


def test_articles_of_some_days(tmp_path: Path, clock: ManualClock, stack: ExitStack) -> None:
    source = file_side(tmp_path, stack, clock)
    assert source.storage is not None
    for day in range(6):
        source.storage.articles.store(make_article(f"day{day}", prose(day), hours=24 * day))
    source.storage.articles.store(make_article("undated", prose(9), published_at=None, hours=48))
    target = file_side(tmp_path / "home", stack, clock)
    choice = Choice(since=NOON + timedelta(days=2), until=NOON + timedelta(days=4))
    copy_all(source, target, choice, Journal(tmp_path / "home", {}), ignore)
    assert all(one.same for one in compare_all(source, target, choice, ignore))
    assert target.storage is not None
    paths = {article.canonical_url.rpartition("/")[2] for article in target.storage.articles.iter()}
    assert paths == {"day2", "day3", "undated"}


def test_no_page_of_a_sample_is_pending(tmp_path: Path, clock: ManualClock, stack: ExitStack) -> None:
    source = file_side(tmp_path, stack, clock)
    assert source.storage is not None
    assert source.frontier is not None
    waiting = [make_page("a1"), make_page("print/1"), make_page("other")]
    source.storage.pages.discover(waiting)
    source.frontier.add([entry_again(page) for page in waiting])
    source.storage.articles.store(make_article("a1", prose(1), url="https://example.org/print/1"))
    source.storage.articles.store(make_article("a2", prose(2), url="no address at all"))
    target = file_side(tmp_path / "home", stack, clock)
    choice = Choice(max_articles=5)
    copy_all(source, target, choice, Journal(tmp_path / "home", {}), ignore)
    assert all(one.same for one in compare_all(source, target, choice, ignore))
    assert target.storage is not None
    assert target.frontier is not None
    assert {page.url for page in target.storage.pages.iter()} == {page.url for page in waiting[:2]}
    counts = target.frontier.counts()
    assert (counts["pending"], counts["done"]) == (0, 2)


STAGES = (
    *("pages", "articles", "texts", "aliases", "sources", "sites"),
    *("search results", "checks", "notes and polls", "queue", "hosts", "near"),
)


def test_a_move_interrupted_at_every_stage_can_be_completed(
    tmp_path: Path, clock: ManualClock, redis_frontier: RedisFrontier, stack: ExitStack
) -> None:
    source = file_side(tmp_path, stack, clock)
    target = file_side(tmp_path / "there", stack, clock)
    target.frontier = redis_frontier
    assert source.storage is not None
    assert target.index is not None
    pages = [
        make_page(f"a{n}", state="done", last_fetched=clock(), next_due=clock() + 60 * n) for n in range(90)
    ]
    fetch(source, pages, clock)
    for number in range(9):
        article = make_article(f"a{number}", prose(number), fetched_at=utc(time.time()))
        source.storage.articles.store(replace(article, url=f"https://example.org/print/{number}"))
        source.storage.articles.store(make_article(f"again{number}", prose(number)))
    source.storage.sources.save([SourceRecord(url="https://example.org/rss", source="x", kind=Kind.FEED)])
    source.storage.sites.add([SiteRecord(source="x", counters={"fetched": 1.0})])
    checks_of(source.storage).save(
        [
            PageCheck(url=page.url, source="example.org", at=n, run=1.0, status=301, hops=((301, page.url),))
            for page in pages[:2]
            for n in (1.0, 2.0)
        ]
    )
    at = Position(start=0, end=1, line=1, before="", found="t")
    searches_of(source.storage).save(
        [
            SearchResult(
                search="s", text="t", url=pages[0].url, source="example.org", looked_at=1.0, positions=[at]
            )
        ]
    )

    source.storage.notes.save("hub", "https://hub.example/", {"until": 1.0})

    def dying(stage: str) -> Callable[[str, int], None]:
        def report(kind: str, number: int) -> None:
            if kind == stage:
                raise Killed(stage)

        return report

    for stage in STAGES:
        with pytest.raises(Killed, match=stage):
            copy_all(source, target, Choice(), Journal(tmp_path, {"to": "there"}), dying(stage))
    progress: dict[str, int] = {}
    copy_all(source, target, Choice(), Journal(tmp_path, {"to": "there"}), progress.__setitem__)
    compared = compare_all(source, target, Choice(), ignore)
    assert all(one.same for one in compared)
    assert all(one.source.count for one in compared), "there must be data of each kind"
    assert target.index.count() == 9
    assert progress["queue"] >= 90
    assert progress.keys().isdisjoint({"pages", "articles", "texts", "aliases"}), (
        "these kinds were moved before"
    )


def test_a_terminal_shows_a_progress_bar_for_each_kind() -> None:
    screen = io.StringIO()
    with bars(Console(file=screen, force_terminal=True, width=100), {"pages": 8}) as report:
        report("pages", 4)
        report("pages", 8)
        report("near", 3)
    drawn = screen.getvalue()
    assert "8/8" in drawn
    assert "near" in drawn
    assert "3/3" in drawn


def test_a_pipe_gets_a_progress_line_per_10000_records() -> None:
    written: list[str] = []
    report = lines(written.append, {"pages": 30_000})
    for number in range(0, 25_000, 500):
        report("pages", number)
        report("near", number)
    assert written == ["pages: 10000 of 30000", "near: 10000", "pages: 20000 of 30000", "near: 20000"]


@pytest.mark.parametrize(
    ("address", "written"),
    [
        ("redis://user:secret@redis.example:6379/3?password=secret", "redis://redis.example:6379/3"),
        ("mongodb://u:sec%40ret@a:1,b:2/news?authMechanismProperties=X:secret", "mongodb://a:1,b:2/news"),
        ("rediss://redis.example", "rediss://redis.example"),
        ("", None),
    ],
)
def test_no_credentials_are_stored(address: str, written: str | None) -> None:
    assert _place(address) == written
