"""The contract of every storage: the numbered changes of :mod:`newsbot.storage.articles`."""

from __future__ import annotations

import time
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from newsbot.apps.transfer.copies import ArticleCopy, copies_of
from newsbot.storage.base import Storage
from newsbot.urls import fingerprint
from tests.contracts.storage_backends import Place
from tests.contracts.storage_samples import make_article


def url(name: str) -> str:
    return make_article(name).canonical_url


def names(storage: Storage, cursor: str = "", limit: int = 500) -> tuple[list[str], str]:
    """Return the changes: name and version of each article, or "-" and the name of a removed one."""
    gone = {fingerprint(url(name)): f"-{name}" for name in "abcdefgh"}
    changes = storage.articles.changes_since(cursor, limit)
    assert changes.restarted == (cursor == "")
    for one in changes.found:
        assert one.article is None or fingerprint(one.article.canonical_url) == one.fingerprint
    return [
        gone[one.fingerprint]
        if one.article is None
        else one.article.canonical_url.rpartition("/")[2] + str(one.article.version)
        for one in changes.found
    ], changes.cursor


def test_each_change_comes_after_the_last_one(storage: Storage) -> None:
    assert names(storage)[0] == []
    storage.articles.store(make_article("b", "The river rose.", hours=9))
    storage.articles.store(make_article("a", "The bridge fell."))
    found, noon = names(storage)
    assert sorted(found) == ["a1", "b1"]
    storage.articles.store(make_article("a", "The bridge fell."))  # unchanged
    storage.articles.store(make_article("x", "The bridge fell."))  # the same text
    storage.stories.join([url("a"), url("b")])
    assert names(storage, noon) == ([], noon)
    storage.articles.store(make_article("b", "The river rose again."))
    storage.articles.store(make_article("c", "The harbour closed."))
    found, evening = names(storage, noon)
    assert sorted(found) == ["b2", "c1"]
    assert sorted(names(storage)[0]) == ["a1", "b2", "c1"]
    storage.articles.save_rights(url("a"), {"noai": "meta"})
    assert names(storage, evening)[0] == ["a1"]


def test_a_removal_is_a_change(storage: Storage) -> None:
    for name in "abc":
        storage.articles.store(make_article(name, f"The text of {name}."))
    _, cursor = names(storage)
    storage.removal.articles([url("a"), url("nothing")])
    found, cursor = names(storage, cursor)
    assert found == ["-a"]
    storage.articles.readdress(url("b"), make_article("b", "The text of b.").content_hash, url("d"))
    found, cursor = names(storage, cursor)
    assert found == ["-b", "d1"]
    storage.removal.articles([url("c")])
    storage.articles.store(make_article("c", "It came again."))
    found, cursor = names(storage, cursor)
    assert found[-1] == "c1"  # the last change counts
    storage.removal.articles([url("c")])
    assert names(storage, cursor)[0] == ["-c"]


def test_a_loaded_article_is_a_change(storage: Storage) -> None:
    one = make_article("a", "The bridge fell.")
    _, cursor = names(storage)
    copies_of(storage).write("articles", [ArticleCopy(fingerprint(one.canonical_url), one, ())])
    assert names(storage, cursor)[0] == ["a1"]


def test_changes_are_read_page_by_page(storage: Storage) -> None:
    for name in "abcdef":
        storage.articles.store(make_article(name, f"The text of {name}."))
    storage.removal.articles([url("b"), url("e")])
    cursor, seen = "", []
    while (page := names(storage, cursor, limit=2))[0]:
        assert len(page[0]) <= 2
        seen += page[0]
        cursor = page[1]
    assert sorted(seen) == ["-b", "-e", "a1", "c1", "d1", "f1"]


@pytest.mark.parametrize("cursor", ["", "another-1", "9", "x", "-", "\0-é", "{id}-999999", "{id}-x"])
def test_the_cursor_of_another_storage_starts_from_the_beginning(storage: Storage, cursor: str) -> None:
    storage.articles.store(make_article("a", "The bridge fell."))
    own, _, _ = storage.articles.changes_since().cursor.partition("-")
    changes = storage.articles.changes_since(cursor.format(id=own))
    assert changes.restarted
    assert len(changes.found) == 1


@pytest.mark.parametrize("days", [30, -30])
def test_a_wrong_clock_does_not_affect_the_order_of_changes(
    storage: Storage, monkeypatch: pytest.MonkeyPatch, days: int
) -> None:
    now = time.time
    storage.articles.store(make_article("a", "The bridge fell."))
    monkeypatch.setattr(time, "time", lambda: now() + days * 86400)
    storage.articles.store(make_article("b", "The river rose."))
    found, cursor = names(storage)
    assert sorted(found) == ["a1", "b1"]
    monkeypatch.undo()
    storage.articles.store(make_article("c", "The harbour closed."))
    assert names(storage, cursor)[0] == ["c1"]


def test_a_reader_misses_no_change_while_many_processes_write(place: Place) -> None:
    workers, each = 3, 25
    place.open().close()

    def write(worker: int) -> None:
        storage = place.open()
        for number in range(each):
            storage.articles.store(make_article(f"w{worker}n{number}", f"Text {number} of worker {worker}."))
            if number % 5 == 4:
                storage.removal.articles([url(f"w{worker}n{number}")])
        storage.close()

    def read(writing: list[Future[None]]) -> dict[bytes, bool]:
        storage, cursor = place.open(), ""
        there: dict[bytes, bool] = {}
        last = False
        while True:
            changes = storage.articles.changes_since(cursor, limit=7)
            cursor = changes.cursor
            there |= {one.fingerprint: one.article is not None for one in changes.found}
            if not changes.found and last:
                break
            last = all(one.done() for one in writing)
        storage.close()
        return there

    with ThreadPoolExecutor(workers + 2) as pool:
        writing = [pool.submit(write, worker) for worker in range(workers)]
        reading = [pool.submit(read, writing) for _ in range(2)]
    wanted = {
        fingerprint(url(f"w{worker}n{number}")): number % 5 != 4
        for worker in range(workers)
        for number in range(each)
    }
    for one in writing:
        one.result()
    for found in reading:
        assert found.result() == wanted


def test_after_the_last_cursor_only_later_changes_are_returned(storage: Storage) -> None:
    storage.articles.store(make_article("early"))
    end = storage.articles.end_of_changes()
    assert storage.articles.changes_since(end).found == []
    assert storage.articles.changes_after(end) == 0
    assert storage.articles.changes_after("") >= 1  # the numbers continue after those of other tests
    storage.articles.store(make_article("late", "Another text."))
    assert storage.articles.changes_after(end) == 1
    changes = storage.articles.changes_since(end)
    assert not changes.restarted
    assert [one.article and one.article.title for one in changes.found] == ["Title of late"]
