"""The data about all leased pages is read with one call, and is not used if it may be outdated."""

from __future__ import annotations

import pytest

from newsbot.crawl.backend_calls import MAX_READ, ReadAhead
from newsbot.errors import DataUnavailable


class Kept:
    """A storage of numbers, and the keys of each read."""

    def __init__(self) -> None:
        self.numbers: dict[bytes, int] = {b"a": 1, b"b": 2}
        self.reads: list[list[bytes]] = []

    def __call__(self, keys: list[bytes]) -> dict[bytes, int]:
        self.reads.append(keys)
        return {key: self.numbers[key] for key in keys if key in self.numbers}


def test_the_first_get_reads_all_expected_keys() -> None:
    kept = Kept()
    ahead = ReadAhead(kept)
    for key in (b"a", b"b", b"c"):
        ahead.expect(key)
    assert kept.reads == []
    assert [ahead.get(key) for key in (b"b", b"c", b"a", b"b")] == [2, None, 1, 2]
    assert kept.reads == [[b"a", b"b", b"c"]]


def test_a_key_that_is_expected_again_or_forgotten_is_read_again() -> None:
    kept = Kept()
    ahead = ReadAhead(kept)
    ahead.expect(b"a")
    assert ahead.get(b"a") == 1
    kept.numbers[b"a"] = 5
    assert ahead.get(b"a") == 1
    ahead.forget(b"a")
    assert ahead.get(b"a") == 5
    kept.numbers[b"a"] = 6
    ahead.expect(b"a")
    assert ahead.get(b"a") == 6


def test_a_key_that_is_not_expected_is_read_alone() -> None:
    kept = Kept()
    ahead = ReadAhead(kept)
    ahead.expect(b"a")
    assert ahead.get(b"b") == 2
    ahead.forget(b"a")
    ahead.expect(b"c")
    assert ahead.get(b"c") is None
    assert kept.reads == [[b"b"], [b"c"]]


def test_all_keys_are_still_expected_after_an_error() -> None:
    kept = Kept()
    faults = [DataUnavailable("away")]

    def read(keys: list[bytes]) -> dict[bytes, int]:
        if faults:
            raise faults.pop()
        return kept(keys)

    ahead = ReadAhead(read)
    ahead.expect(b"a")
    ahead.expect(b"b")
    with pytest.raises(DataUnavailable):
        ahead.get(b"a")
    assert (ahead.get(b"a"), ahead.get(b"b")) == (1, 2)
    assert kept.reads == [[b"a", b"b"]]


def test_all_keys_are_read_even_above_the_limit() -> None:
    keys = [number.to_bytes(2, "big") for number in range(MAX_READ + 2)]
    ahead = ReadAhead[int](lambda wanted: dict.fromkeys(wanted, 1))
    for key in keys:
        ahead.expect(key)
    assert [ahead.get(key) for key in keys] == [1] * len(keys)
