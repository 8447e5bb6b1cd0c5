"""What every storage keeps to: :mod:`newsbot.storage.notes`."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from newsbot.storage.notes import MAX_KEY, MAX_NOTE, Notes
from tests.contracts.storage_backends import Place


@pytest.fixture
def notes(place: Place) -> Iterator[Notes]:
    storage = place.open()
    assert isinstance(storage, Notes)
    yield storage
    storage.close()


def test_a_note_is_kept_until_the_next_of_its_key(notes: Notes, place: Place) -> None:
    notes.save_note("hub", "a", {"n": 1})
    notes.save_note("hub", "b", {"text": "ёжик \ud800", "list": [1, None, {"x.y": 2.5, "$z": True}]})
    notes.save_note("trust", "a", {"n": 3})
    notes.save_note("hub", "a", {"m": 2})
    other = place.open()
    assert isinstance(other, Notes)
    assert set(other.notes("hub")) == {"a", "b"}
    assert other.notes("hub")["a"] == {"m": 2}
    assert other.notes("hub")["b"]["list"] == [1, None, {"x.y": 2.5, "$z": True}]
    assert other.notes("trust") == {"a": {"n": 3}}
    assert other.notes("none") == {}
    other.close()


def test_a_note_is_forgotten_once(notes: Notes) -> None:
    notes.save_note("hub", "a", {})
    notes.save_note("hub", "b", {})
    assert notes.forget_note("hub", "a")
    assert not notes.forget_note("hub", "a")
    assert not notes.forget_note("trust", "b")
    assert notes.notes("hub") == {"b": {}}


def test_keys_may_hold_any_text(notes: Notes) -> None:
    keys = ["", "a\0b", "https://example.org/?q=$where.x", "\ud800", "ключ"]
    for number, key in enumerate(keys):
        notes.save_note("any", key, {"n": number})
    assert len(notes.notes("any")) == len(keys)
    assert all(notes.forget_note("any", key) for key in keys)


@pytest.mark.parametrize(("key", "text"), [("a", "x" * MAX_NOTE), ("k" * (MAX_KEY + 1), "")])
def test_sizes_are_bounded(notes: Notes, key: str, text: str) -> None:
    with pytest.raises(ValueError, match="too long"):
        notes.save_note("any", key, {"text": text})
    assert notes.notes("any") == {}
