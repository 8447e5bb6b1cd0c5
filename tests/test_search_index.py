"""The word index on the embedded file: folding, merging, and asking, against reading every article."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from newsbot.connections.sqlite import open_database, transaction
from newsbot.errors import DataUnavailable
from newsbot.search.index import background, searching
from newsbot.search.index import indexer as indexing
from newsbot.search.index.entry import Entry
from newsbot.search.index.indexer import Indexer
from newsbot.search.index.layout import LARGE
from newsbot.search.index.searching import WordIndex, asked_of
from newsbot.search.index.segments import MAX_DOCS, Segment, State, state_of, to_merge
from newsbot.search.query import parse
from newsbot.storage.sqlite.schema import MIGRATIONS
from newsbot.storage.sqlite.words import SqliteBlocks, add, forget
from tests.wordmodel import found_by_reading, make_entries, make_queries, newer


@pytest.fixture
def database(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    with closing(
        open_database(tmp_path / "newsbot.db", component="storage", migrations=MIGRATIONS)
    ) as opened:
        yield opened


@pytest.fixture
def store(database: sqlite3.Connection, tmp_path: Path) -> SqliteBlocks:
    return SqliteBlocks(database, tmp_path / "newsbot.db")


def wait(database: sqlite3.Connection, entries: Sequence[Entry]) -> None:
    with transaction(database):
        for entry in entries:
            add(database, entry)


def find(
    store: SqliteBlocks, query: str, *, limit: int = 10_000, by_time: bool = True
) -> list[tuple[bytes, int]]:
    asked = asked_of(parse(query), None)
    parts = WordIndex(store).find(asked, limit=limit, by_time=by_time)
    return [(one.key, one.version) for part in parts for one in part]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("each", [7, 150])
def test_any_query_finds_what_reading_all_articles_finds(
    store: SqliteBlocks, database: sqlite3.Connection, seed: int, each: int
) -> None:
    entries = make_entries(seed, 400)
    for start in range(0, 390, each):  # the rest waits: both are asked as one
        wait(database, entries[start : min(390, start + each)])
        assert Indexer(store).run(all_of_it=True)
    wait(database, entries[390:])
    assert len(store.state().segments) < 390 / each + 1
    moments = {entry.key: entry.moment for entry in entries}
    for query in make_queries(seed, 300):
        wanted = found_by_reading(entries, query)
        found = [key for key, _ in find(store, query)]
        assert set(found) == wanted, query
        assert len(found) == len(wanted)
        assert [moments[key] for key in found] == sorted((moments[key] for key in found), reverse=True)
        assert {key for key, _ in find(store, query, by_time=False)} == wanted, query


def test_the_first_page_is_the_beginning_of_all_that_is_found(
    store: SqliteBlocks, database: sqlite3.Connection
) -> None:
    entries = make_entries(5, 600)
    for start in range(0, 600, 60):
        wait(database, entries[start : start + 60])
        Indexer(store).run(all_of_it=True)
    for query in make_queries(6, 100):
        asked = asked_of(parse(query), None)
        for by_time in (True, False):
            page = next(WordIndex(store).find(asked, limit=5, by_time=by_time))
            every = next(WordIndex(store).find(asked, limit=10_000, by_time=by_time))
            assert [one.score for one in page] == [one.score for one in every[: len(page)]], query
            assert len(page) >= min(5, len(every))


def test_rank_does_not_depend_on_how_articles_are_spread_over_segments(
    store: SqliteBlocks, database: sqlite3.Connection
) -> None:
    entries = make_entries(9, 120)
    asked = asked_of(parse("w3 w5"), None)
    wait(database, entries)
    waiting = next(WordIndex(store).find(asked, limit=200, by_time=False))
    Indexer(store).run(all_of_it=True)
    indexed = next(WordIndex(store).find(asked, limit=200, by_time=False))
    assert len(waiting) > 10
    assert [one.key for one in waiting] == [one.key for one in indexed]
    assert [one.score for one in waiting] == pytest.approx([one.score for one in indexed])


def test_words_of_very_many_articles_keep_their_places(
    store: SqliteBlocks, database: sqlite3.Connection
) -> None:
    entries = make_entries(3, 2 * LARGE)
    for half in (entries[:LARGE], entries[LARGE:]):
        wait(database, half)
        Indexer(store).run()
    assert len(store.state().segments) == 1  # of two
    for query in ("w0", '"w0 w1"', "-w0", 'title:"w1 w0"', "author:w0 w1", '"w0 w0 w1" -"w2 w0"'):
        assert {key for key, _ in find(store, query)} == found_by_reading(entries, query), query


def test_a_phrase_of_words_of_every_article_is_sought_in_the_newest_ones_at_least(
    store: SqliteBlocks, database: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    entries = sorted(make_entries(11, 300), key=lambda one: one.moment)
    for start in range(0, 300, 50):
        wait(database, entries[start : start + 50])
        Indexer(store).run(all_of_it=True)
    monkeypatch.setattr(searching, "MAX_PLACES", 300)
    for by_time in (True, False):
        found = {key for key, _ in find(store, '"w0 w1"', by_time=by_time)}
        assert found < found_by_reading(entries, '"w0 w1"')
        assert found >= found_by_reading(entries[250:], '"w0 w1"')
        assert {key for key, _ in find(store, "w0 w1", by_time=by_time)} == found_by_reading(entries, "w0 w1")


def test_an_article_is_found_once_while_it_waits_in_a_new_version(
    store: SqliteBlocks, database: sqlite3.Connection
) -> None:
    (entry,) = make_entries(1, 1)
    wait(database, [entry])
    Indexer(store).run(all_of_it=True)
    wait(database, [newer(entry)])
    assert sorted(find(store, f"site:{entry.source}")) == [(entry.key, 1), (entry.key, 2)]
    assert store.count_waiting(9) == 1
    Indexer(store).run(all_of_it=True)
    assert store.count_waiting(9) == 0


def test_a_newer_version_that_came_while_the_old_one_was_folded_still_waits(
    store: SqliteBlocks, database: sqlite3.Connection
) -> None:
    (entry,) = make_entries(1, 1)
    wait(database, [newer(entry)])
    old = store.state()
    assert store.change(old, old.changed(), [entry])
    assert [one.version for one in store.waiting(9)] == [2]


def test_a_merge_that_was_broken_off_leaves_nothing_behind(
    store: SqliteBlocks, database: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(indexing, "_DOOMED", -1.0)
    entries = make_entries(2, 300)
    for start in range(0, 280, 40):
        wait(database, entries[start : start + 40])
        Indexer(store).run(all_of_it=True)
    wait(database, entries[280:])
    asked = 0

    def killed_in_the_merge() -> bool:
        nonlocal asked
        asked += 1
        if asked == 3:
            raise SystemExit
        return True

    with pytest.raises(SystemExit):
        Indexer(store).run(killed_in_the_merge, all_of_it=True)
    assert store.state().building
    assert not Indexer(store).run()  # nobody knows yet that it is dead
    late = store.state().until + 1
    other = Indexer(store, clock=lambda: late)  # the lease of the dead one is over
    assert other.run(all_of_it=True)
    state = store.state()
    assert not state.building
    assert [one.docs for one in state.segments] == [300]
    kept = {number >> 24 for (number,) in database.execute("SELECT number FROM search_block")}
    assert kept == {one.number for one in state.segments}
    for query in make_queries(2, 50):
        assert {key for key, _ in find(store, query)} == found_by_reading(entries, query), query


def test_one_process_at_a_time_changes_the_index(store: SqliteBlocks, database: sqlite3.Connection) -> None:
    wait(database, make_entries(1, 20))
    first = store.state()
    assert store.change(first, first.changed(owner="another", until=2e9))
    assert not Indexer(store, clock=lambda: 1e9).run(all_of_it=True)
    assert store.count_waiting(99) == 20
    assert not store.change(first, first.changed())  # it has changed since
    assert Indexer(store, clock=lambda: 3e9).run(all_of_it=True)
    assert store.count_waiting(99) == 0


def test_a_reader_that_meets_a_merged_segment_begins_again(
    store: SqliteBlocks, database: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(indexing, "_DOOMED", -1.0)
    entries = make_entries(4, 320)
    for start in range(0, 280, 40):
        wait(database, entries[start : start + 40])
        Indexer(store).run(all_of_it=True)
    read = SqliteBlocks.blocks
    turns = iter(range(9))

    def merged_meanwhile(self: SqliteBlocks, numbers: Sequence[int]) -> object:
        if next(turns) == 0:
            monkeypatch.setattr(SqliteBlocks, "blocks", read)
            wait(database, entries[280:])
            Indexer(store).run(all_of_it=True)
        return read(self, numbers)

    monkeypatch.setattr(SqliteBlocks, "blocks", merged_meanwhile)
    assert {key for key, _ in find(store, "w0")} == found_by_reading(entries, "w0")
    assert len(store.state().segments) == 1


@pytest.mark.parametrize("gone", [1, 40, 300])
def test_the_words_of_removed_articles_leave_the_index(
    store: SqliteBlocks, database: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch, gone: int
) -> None:
    monkeypatch.setattr(indexing, "_DOOMED", -1.0)
    entries = [
        replace(one, text=f"{one.text} secret{number}x") for number, one in enumerate(make_entries(8, 300))
    ]
    for start in range(0, 280, 140):
        wait(database, entries[start : start + 140])
        Indexer(store).run(all_of_it=True)
    wait(database, entries[280:])
    removed, kept = entries[:gone], entries[gone:]
    with transaction(database):
        forget(database, [entry.key for entry in removed])
    assert Indexer(store).run()
    assert not store.removed()
    blocks = b"".join(body for (body,) in database.execute("SELECT body FROM search_block"))
    assert all(f"secret{number}x".encode() not in blocks for number in range(gone))
    assert sum(one.docs for one in store.state().segments) == max(0, 280 - gone)
    for query in [*make_queries(8, 60), "secret299x", "secret0x"]:
        assert {key for key, _ in find(store, query)} == found_by_reading(kept, query), query


@pytest.mark.parametrize(("quiet", "said"), [(60.0, 0), (-1.0, 1)])
def test_a_lock_that_passes_is_not_reported(  # noqa: PLR0917
    store: SqliteBlocks,
    database: sqlite3.Connection,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    quiet: float,
    said: int,
) -> None:
    monkeypatch.setattr(background, "_AFTER_FAULT", 0.01)
    monkeypatch.setattr(background, "_QUIET", quiet)
    wait(database, make_entries(1, 300))
    locked = iter(range(3))

    @contextmanager
    def opened() -> Iterator[SqliteBlocks]:
        if next(locked, None) is not None:
            raise DataUnavailable("newsbot.db: locked by another program")
        path = tmp_path / "newsbot.db"
        with closing(open_database(path, component="storage", migrations=MIGRATIONS)) as own:
            yield SqliteBlocks(own, path)

    thread = background.Background(opened)
    thread.stored(store.count_waiting)
    give_up = time.monotonic() + 60
    while store.count_waiting(1) and time.monotonic() < give_up:
        time.sleep(0.01)
    thread.close()
    assert store.count_waiting(1) == 0
    assert len(caplog.records) == said


# --- what is merged


def _segments(*sizes: int) -> list[Segment]:
    return [Segment(number, docs, 1, 9, 9, 1) for number, docs in enumerate(sizes, 1)]


@pytest.mark.parametrize(
    ("sizes", "merged"),
    [
        ((), []),
        ((256,) * 7, []),
        ((256,) * 8, [1, 2, 3, 4, 5, 6, 7, 8]),
        ((2000, 2000), [1, 2]),
        ((2048,) * 7, []),
        ((2048,) * 8 + (256,), [1, 2, 3, 4, 5, 6, 7, 8]),
        ((40_000, 20_000), []),
        ((40_000, 40_000), []),
        ((20_000,) * 4, [1, 2, 3]),
        ((16_384, 50_000), []),
        ((50_000, 16_384, 16_384), []),
        ((16_384, 50_000, 16_384, 16_384, 16_384), [1, 3, 4, 5]),
        ((MAX_DOCS,) * 20, []),
    ],
)
def test_which_segments_are_merged(sizes: tuple[int, ...], merged: list[int]) -> None:
    assert [one.number for one in to_merge(_segments(*sizes))] == merged


def test_an_article_is_rewritten_a_few_times_only_however_many_there_are() -> None:
    segments: list[Segment] = []
    written = 0
    for number in range(4_000):  # a million articles
        segments.append(Segment(number, 256, 1, 1, number, number))
        while parts := to_merge(segments):
            docs = sum(one.docs for one in parts)
            assert docs <= MAX_DOCS
            written += docs
            segments = [one for one in segments if one not in parts]
            segments.append(Segment(parts[0].number, docs, 1, 1, 1, 1))
    assert written / (4_000 * 256) < 4
    assert len(segments) < 40


def test_a_state_survives_being_written() -> None:
    state = State(segments=tuple(_segments(3, 4)), building=(7,), doomed=((2, 1.5),), owner="x", until=9.0)
    assert state_of(state.to_json()) == state
    assert state_of(None) == State()
