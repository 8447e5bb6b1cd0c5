"""The word index loses no article, whoever removes, stores, indexes or dies at the same time."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Sequence
from datetime import timedelta
from multiprocessing.context import ForkServerProcess
from typing import Any

import pytest

from newsbot.search.index import background, building
from newsbot.search.index import indexer as indexing
from newsbot.search.index.blocks import BlockStore
from newsbot.search.index.entry import Entry
from newsbot.search.index.segments import Segment
from tests import warm
from tests.contracts.storage_backends import Place
from tests.contracts.storage_samples import NOON, make_article

PATIENCE = 60.0


def url(path: str) -> str:
    return make_article(path).canonical_url


def paths(storage: Any, query: str) -> list[str]:
    return sorted(
        hit.article.canonical_url.rsplit("/", 1)[1] for hit in storage.texts.search(query, limit=5_000)
    )


def indexed(storage: Any) -> None:
    assert storage.texts.index()
    assert storage.texts.waiting() == 0


def while_folding(monkeypatch: pytest.MonkeyPatch, act: Callable[[], object]) -> None:
    """Do something once, after the next fold has read what waits."""
    real = building.fold

    def fold(store: BlockStore, number: int, entries: Sequence[Entry]) -> Segment:
        monkeypatch.setattr(indexing, "fold", real)
        act()
        return real(store, number, entries)

    monkeypatch.setattr(indexing, "fold", fold)


def clock(monkeypatch: pytest.MonkeyPatch, now: float) -> None:
    """Let indexers that begin now see a later time: leases are over."""
    monkeypatch.setattr(indexing.Indexer.__init__, "__defaults__", (lambda: now,))


# --- removal


@pytest.mark.parametrize("in_index", [False, True])
def test_removed_articles_are_not_found_from_that_moment_on(storage: Any, in_index: bool) -> None:
    storage.articles.store(make_article("kept", "Bridge over a river."))
    storage.articles.store(make_article("gone", "Bridge that fell."))
    if in_index:
        indexed(storage)
    assert paths(storage, "bridge") == ["gone", "kept"]
    assert storage.removal.articles([url("gone")]) == 1
    assert paths(storage, "bridge") == ["kept"]
    assert paths(storage, "fell") == paths(storage, "-river") == []
    indexed(storage)
    assert paths(storage, "bridge") == ["kept"]


@pytest.mark.parametrize("in_index", [False, True])
def test_a_dropped_version_is_not_found_and_the_present_one_is(storage: Any, in_index: bool) -> None:
    storage.articles.store(make_article("one", "Bridge closed."))
    if in_index:
        indexed(storage)
    storage.articles.store(make_article("one", "Tunnel opened.", hours=1))
    if in_index:
        indexed(storage)
    assert storage.removal.drop_versions(NOON + timedelta(days=1), 100) == 1
    assert paths(storage, "bridge") == []
    assert paths(storage, "tunnel") == ["one"]
    indexed(storage)
    assert paths(storage, "bridge") == []
    assert paths(storage, "tunnel") == ["one"]


def test_an_article_that_comes_again_after_its_removal_is_not_found_by_its_old_words(storage: Any) -> None:
    storage.articles.store(make_article("one", "Bridge closed."))
    indexed(storage)
    storage.removal.articles([url("one")])
    storage.articles.store(make_article("one", "Tunnel opened."))  # it is its first version again
    assert paths(storage, "tunnel") == ["one"]
    assert paths(storage, "bridge") == []
    indexed(storage)
    assert paths(storage, "tunnel") == ["one"]
    assert paths(storage, "bridge") == []


def test_an_article_that_was_removed_and_came_again_during_a_fold_is_found(
    storage: Any, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    storage.articles.store(make_article("one", "Bridge closed."))
    other = place.open()

    def again() -> None:
        other.removal.articles([url("one")])
        other.articles.store(make_article("one", "Tunnel opened."))

    while_folding(monkeypatch, again)
    storage.texts.index()
    indexed(storage)
    assert paths(storage, "tunnel") == ["one"]
    assert paths(storage, "bridge") == []
    other.close()


def test_an_article_whose_versions_are_dropped_during_a_fold_is_found(
    storage: Any, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    storage.articles.store(make_article("one", "Bridge closed."))
    storage.articles.store(make_article("one", "Tunnel opened.", hours=1))
    other: Any = place.open()
    while_folding(monkeypatch, lambda: other.removal.drop_versions(NOON + timedelta(days=1), 100))
    storage.texts.index()
    indexed(storage)
    assert paths(storage, "tunnel") == ["one"]
    other.close()


def test_copies_of_articles_that_are_there_in_a_newer_version_do_not_hide_it(storage: Any) -> None:
    storage.articles.store(make_article("one", "Bridge closed."))
    copies = list(storage.dump.articles())
    storage.articles.store(make_article("one", "Tunnel opened.", hours=1))
    storage.load.articles(copies)
    assert paths(storage, "tunnel") == ["one"]
    indexed(storage)
    assert paths(storage, "tunnel") == ["one"]


# --- processes


def test_one_that_was_away_too_long_leaves_nothing_behind(
    storage: Any, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its lease was taken and its half of a segment deleted before it went on writing."""
    monkeypatch.setattr(indexing, "PATIENCE", -1.0)
    for number in range(20):
        storage.articles.store(make_article(str(number), f"Bridge {number}."))
    other: Any = place.open()

    def overtaken() -> None:
        clock(monkeypatch, time.time() + 3_600)
        assert other.texts.index()

    while_folding(monkeypatch, overtaken)
    assert not storage.texts.index()
    blocks = storage.texts.blocks
    numbers = {one.number for one in blocks.state().segments}
    left = [number for number in range(1, 9) if blocks.blocks([number << 24]) and number not in numbers]
    assert left == []
    assert paths(storage, "bridge") == sorted(map(str, range(20)))
    other.close()


def _die(place: Place, where: str) -> None:
    """Index, and be killed: before the state knows of a new segment, or with half of it written."""
    opened: Any = place.open()
    blocks = type(opened.texts.blocks)
    change, write = blocks.change, blocks.write
    writes = 0

    def die_at_change(self: Any, old: Any, new: Any, folded: Any = (), purged: Any = ()) -> bool:
        merged = len(new.segments) < len(old.segments)
        if (where == "fold" and folded) or (where == "merge" and merged):
            os.kill(os.getpid(), signal.SIGKILL)
        return bool(change(self, old, new, folded, purged))

    def die_at_write(self: Any, written: Any) -> None:
        nonlocal writes
        writes += 1
        write(self, written)
        if where == "half" and writes == 3:  # the heads and some words of the merged segment
            os.kill(os.getpid(), signal.SIGKILL)

    blocks.change, blocks.write = die_at_change, die_at_write
    opened.texts.index()


def _spawned(work: Callable[..., None], *given: Any) -> ForkServerProcess:
    process = warm.context().Process(target=work, args=given)
    process.start()
    return process


@pytest.mark.parametrize("where", ["fold", "half", "merge"])
def test_a_kill_in_the_middle_loses_nothing_and_doubles_nothing(
    storage: Any, place: Place, where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [f"a{number:02}" for number in range(80)]
    for number, name in enumerate(names):
        storage.articles.store(make_article(name, f"Bridge {name}."))
        if number % 10 == 9 and number < 79:  # seven segments, and the eighth waits
            indexed(storage)
    worker = _spawned(_die, place, where)
    worker.join(PATIENCE)
    assert worker.exitcode == -signal.SIGKILL
    assert paths(storage, "bridge") == names
    with monkeypatch.context() as hurried:
        hurried.setattr(indexing, "PATIENCE", -1.0)
        assert not storage.texts.index()  # the dead one's lease is not over
    clock(monkeypatch, time.time() + 3_600)
    indexed(storage)
    state = storage.texts.blocks.state()
    assert [one.docs for one in state.segments] == [80]
    assert not state.building
    assert paths(storage, "bridge") == names


def test_indexing_by_hand_waits_for_the_own_thread(storage: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The thread of a storage that has stored some hundred articles is at the index when it is asked to."""
    monkeypatch.setattr(background, "FOLD_AT", 4)
    monkeypatch.setattr(indexing, "FOLD_AT", 4)
    begun, go_on = threading.Event(), threading.Event()

    def held() -> None:
        begun.set()
        assert go_on.wait(PATIENCE)

    while_folding(monkeypatch, held)
    for number in range(64):
        storage.articles.store(make_article(str(number), f"Bridge {number}."))
    assert begun.wait(PATIENCE)
    threading.Timer(0.3, go_on.set).start()
    assert storage.texts.index()
    assert go_on.is_set()
    assert storage.texts.waiting() == 0


def test_who_breaks_off_indexing_may_go_on_at_once(storage: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    storage.articles.store(make_article("one", "Bridge closed."))

    def broken_off() -> None:
        raise KeyboardInterrupt

    while_folding(monkeypatch, broken_off)
    with pytest.raises(KeyboardInterrupt):
        storage.texts.index()
    monkeypatch.setattr(indexing, "PATIENCE", -1.0)
    indexed(storage)
    assert paths(storage, "bridge") == ["one"]


def _index_often(place: Place, turns: int) -> None:
    opened: Any = place.open()
    for _ in range(turns):
        opened.texts.index()
        time.sleep(0.002)
    opened.close()


def test_processes_that_index_while_a_third_stores_lose_nothing(storage: Any, place: Place) -> None:
    workers = [_spawned(_index_often, place, 150) for _ in range(2)]
    names = [f"a{number:03}" for number in range(200)]
    for name in names:
        storage.articles.store(make_article(name, f"Bridge {name}."))
    for worker in workers:
        worker.join(PATIENCE)
        assert worker.exitcode == 0
    indexed(storage)
    assert paths(storage, "bridge") == names
    assert sum(one.docs for one in storage.texts.blocks.state().segments) == len(names)
