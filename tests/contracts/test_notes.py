"""The contract of every storage: :mod:`newsbot.storage.notes`."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from newsbot.storage.notes import FRESH, MAX_KEY, MAX_NOTE, MAX_READ, NoteName, Notes, NotesAhead, SharedNotes
from tests.contracts.storage_backends import Place


@pytest.fixture
def notes(place: Place) -> Iterator[Notes]:
    storage = place.open()
    yield storage.notes
    storage.close()


def test_a_note_is_kept_until_it_is_replaced(notes: Notes, place: Place) -> None:
    notes.save("hub", "a", {"n": 1})
    notes.save("hub", "b", {"text": "ёжик \ud800", "list": [1, None, {"x.y": 2.5, "$z": True}]})
    notes.save("trust", "a", {"n": 3})
    notes.save("hub", "a", {"m": 2})
    other = place.open()
    assert set(other.notes.all("hub")) == {"a", "b"}
    assert other.notes.all("hub")["a"] == {"m": 2}
    assert other.notes.all("hub")["b"]["list"] == [1, None, {"x.y": 2.5, "$z": True}]
    assert other.notes.all("trust") == {"a": {"n": 3}}
    assert other.notes.all("none") == {}
    other.close()


def test_a_note_can_be_removed_once(notes: Notes) -> None:
    notes.save("hub", "a", {})
    notes.save("hub", "b", {})
    assert notes.forget("hub", "a")
    assert not notes.forget("hub", "a")
    assert not notes.forget("trust", "b")
    assert notes.all("hub") == {"b": {}}


def test_keys_may_hold_any_text(notes: Notes) -> None:
    keys = ["", "a\0b", "https://example.org/?q=$where.x", "\ud800", "ключ"]
    for number, key in enumerate(keys):
        notes.save("any", key, {"n": number})
    assert len(notes.all("any")) == len(keys)
    assert all(notes.forget("any", key) for key in keys)


ODD = {"n": 1e22, "f": 0.1, "text": "ёжик \ud800 \u2028", "list": [1, None, {"x.y": [True, -0.0]}], "z": {}}


def test_a_note_is_swapped_only_if_it_has_not_changed(notes: Notes, place: Place) -> None:
    other = place.open()
    assert notes.swap("any", "a", None, ODD)
    assert not other.notes.swap("any", "a", None, {"n": 2})
    seen = other.notes.all("any")["a"]
    assert notes.swap("any", "a", notes.all("any")["a"], {"n": 3})
    assert not other.notes.swap("any", "a", seen, {"n": 4})
    assert other.notes.all("any") == {"a": {"n": 3}}
    assert not other.notes.swap("any", "b", {"n": 3}, {"n": 5})
    assert not other.notes.swap("other", "a", {"n": 3}, {"n": 5})
    with pytest.raises(ValueError, match="too long"):
        notes.swap("any", "a", {"n": 3}, {"text": "x" * MAX_NOTE})
    assert other.notes.all("any") == {"a": {"n": 3}}
    other.close()


def test_concurrent_swaps_lose_no_data(place: Place) -> None:
    def count(name: str) -> None:
        storage = place.open()
        done = 0
        while done < 20:
            old = storage.notes.all("any").get("sum")
            new = {**(old or {}), name: done + 1}
            done += storage.notes.swap("any", "sum", old, new)
        storage.close()

    with ThreadPoolExecutor(4) as workers:
        list(workers.map(count, "abcd"))
    storage = place.open()
    assert storage.notes.all("any")["sum"] == dict.fromkeys("abcd", 20)
    storage.close()


@pytest.mark.parametrize(("key", "text"), [("a", "x" * MAX_NOTE), ("k" * (MAX_KEY + 1), "")])
def test_sizes_are_bounded(notes: Notes, key: str, text: str) -> None:
    with pytest.raises(ValueError, match="too long"):
        notes.save("any", key, {"text": text})
    assert notes.all("any") == {}


def test_several_notes_are_read_and_swapped_in_one_call(notes: Notes, place: Place) -> None:
    assert (notes.get_many([]), notes.swap_many([])) == ({}, [])
    names = [("hub", "a"), ("trust", "a"), ("hub", "ёж \ud800")]
    assert notes.swap_many([(*name, None, {"n": 1}) for name in names]) == [True] * 3
    assert notes.get_many([*names, ("hub", "none")]) == {name: {"n": 1} for name in names}
    other = place.open()
    other.notes.save("trust", "a", {"n": 2})
    other.notes.forget(*names[2])
    swaps = [(*name, {"n": 1}, {"n": 3}) for name in names]
    assert notes.swap_many(swaps) == [True, False, False]
    assert notes.get_many(names) == {names[0]: {"n": 3}, names[1]: {"n": 2}}
    new = [("hub", "a", None, {"n": 4}), ("hub", "b", None, {"n": 4})]
    assert notes.swap_many(new) == [False, True]
    with pytest.raises(ValueError, match="too long"):
        notes.swap_many([("hub", "b", {"n": 4}, {"n": 5}), ("hub", "c", None, {"n": "x" * MAX_NOTE})])
    other.close()


def test_concurrent_merges_into_several_notes_lose_no_data(place: Place) -> None:
    def merged(note: dict[str, Any] | None, number: int) -> dict[str, Any]:
        return {"seen": sorted({*(note or {"seen": []})["seen"], number})}

    shared = SharedNotes("site:", merged, key="numbers")
    sites = [f"{letter}.test" for letter in "abcdef"]

    def work(number: int) -> None:
        storage = place.open()
        left = dict.fromkeys(sites, number)
        while left:
            for site in shared.write(storage.notes, left):
                del left[site]
        storage.close()

    place.open().close()
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(8)))
    storage = place.open()
    assert shared.read(storage.notes, sites) == {site: {"seen": list(range(8))} for site in sites}
    assert storage.notes.all("site:a.test") == {"numbers": {"seen": list(range(8))}}
    storage.close()


class Counted:
    """Notes that record the names of each read."""

    def __init__(self, notes: Notes) -> None:
        self._notes = notes
        self.reads: list[list[NoteName]] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._notes, name)

    def get_many(self, names: Sequence[NoteName]) -> dict[NoteName, dict[str, Any]]:
        self.reads.append(sorted(names))
        return self._notes.get_many(names)


def test_expected_notes_are_read_with_the_first_one_that_is_needed(notes: Notes) -> None:
    first, second, absent, other = ("hub", "a"), ("hub", "b"), ("hub", "c"), ("trust", "a")
    for name in (first, second, other):
        notes.save(*name, {"is": name[1]})
    counted = Counted(notes)
    ahead = NotesAhead(counted)
    ahead.expect([first, absent])
    ahead.expect([second])
    assert ahead.get_many([other]) == {other: {"is": "a"}}
    assert ahead.get_many([second]) == {second: {"is": "b"}}
    assert ahead.get_many([absent, first]) == {first: {"is": "a"}}
    assert counted.reads == [[other], sorted([first, second, absent])]


def test_a_note_that_was_read_ahead_is_used_only_once(notes: Notes) -> None:
    name = ("hub", "a")
    notes.save(*name, {"n": 1})
    ahead = NotesAhead(notes)
    ahead.expect([name, ("hub", "b")])
    ahead.get_many([("hub", "b")])
    notes.save(*name, {"n": 2})  # by another worker
    assert [ahead.get_many([name])[name]["n"] for _ in range(2)] == [1, 2]


def test_a_worker_that_has_read_ahead_loses_no_data_of_others(notes: Notes) -> None:
    words = SharedNotes[list[str]]("words", lambda note, new: {"all": [*(note or {}).get("all", ()), *new]})
    ahead = NotesAhead(notes)
    ahead.expect([words.name("a"), words.name("b")])
    words.read(ahead, ["b"])
    words.write(notes, {"a": ["one"]})  # by another worker, after the read
    assert words.write(ahead, {"a": ["two"]}) == {"a": {"all": ["one", "two"]}}
    assert notes.all("words") == {"a": {"all": ["one", "two"]}}


def test_more_notes_than_are_kept_are_all_returned(notes: Notes) -> None:
    names = [("many", str(number)) for number in range(MAX_READ + 2)]
    notes.save(*names[0], {"n": 0})
    notes.save(*names[-1], {"n": 1})
    ahead = NotesAhead(notes)
    ahead.expect(names)
    assert ahead.get_many(names[-1:]) == {names[-1]: {"n": 1}}
    assert ahead.get_many(names) == {names[0]: {"n": 0}, names[-1]: {"n": 1}}
    assert notes.get_many(names) == ahead.get_many(names)


def test_a_note_that_was_read_ahead_long_ago_is_read_again(
    notes: Notes, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, other = ("hub", "a"), ("hub", "b")
    ahead = NotesAhead(notes)
    ahead.expect([name, other])
    assert ahead.get_many([other]) == {}
    notes.save(*name, {"n": 1})  # by another worker
    later = time.monotonic() + FRESH + 1
    monkeypatch.setattr(time, "monotonic", lambda: later)
    assert ahead.get_many([name]) == {name: {"n": 1}}


def test_a_damaged_note_of_a_site_does_not_affect_other_sites(notes: Notes) -> None:
    class Damaged(Counted):
        """Notes of which one cannot be read."""

        def get_many(self, names: Sequence[NoteName]) -> dict[NoteName, dict[str, Any]]:
            if ("hub", "damaged") in names:
                raise ValueError("not JSON")
            return super().get_many(names)

    for key in "ab":
        notes.save("hub", key, {"is": key})
    ahead = NotesAhead(Damaged(notes))
    ahead.expect([("hub", key) for key in ("a", "damaged", "b")])
    assert ahead.get_many([("hub", "a")]) == {("hub", "a"): {"is": "a"}}
    assert ahead.get_many([("hub", "b")]) == {("hub", "b"): {"is": "b"}}
    with pytest.raises(ValueError, match="not JSON"):
        ahead.get_many([("hub", "damaged")])
