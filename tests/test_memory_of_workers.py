"""What a worker keeps for weeks is bounded, small, and the same as if it were kept the simple way."""

from __future__ import annotations

import ctypes
import sys
import tracemalloc
from collections import OrderedDict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from newsbot import headlines, heap
from newsbot.extraction.linetable import LineTable

DIGESTS = st.integers(0, 7).map(lambda number: bytes([number * 31]) + bytes(6) + bytes([number]))
MARKS = st.tuples(DIGESTS, st.booleans()).map(lambda mark: mark[0] + (b"+" if mark[0][0] % 2 else b""))
OWNERS = st.lists(DIGESTS, max_size=2).map(b"".join)
STEPS = st.lists(st.one_of(st.tuples(MARKS, OWNERS, st.booleans()), st.integers(0, 8)), max_size=60)


@given(STEPS)
def test_a_table_of_lines_is_an_ordered_dictionary(steps: list[tuple[bytes, bytes, bool] | int]) -> None:
    table, model = LineTable(), OrderedDict[bytes, bytes]()
    for step in steps:
        if isinstance(step, int):
            table.forget(step)
            while len(model) > step:
                model.popitem(last=False)
        else:
            mark, owners, met = step
            table.put(mark, owners, met=met)
            model[mark] = owners
            if met:
                model.move_to_end(mark)
        assert len(table) == len(model)
        assert table.latest() == list(reversed(model.items()))
        assert all(table.get(mark) == model.get(mark) for mark in (*model, b"unknown1"))


def test_the_order_outlives_the_largest_number(monkeypatch: pytest.MonkeyPatch) -> None:
    table = LineTable()
    marks = [bytes([9 - number]) * 8 for number in range(5)]
    for mark in marks[:3]:
        table.put(mark, b"", met=True)
    table._now = (1 << 32) - 1
    for mark in marks[3:]:
        table.put(mark, b"", met=True)
    assert [mark for mark, _ in table.latest()] == marks[::-1]
    table.forget(2)
    assert [mark for mark, _ in table.latest()] == [marks[4], marks[3]]


def test_a_line_takes_few_bytes() -> None:
    tracemalloc.start()
    try:
        table = LineTable()
        for number in range(4000):
            table.put((number * 2**49 + number).to_bytes(8, "big"), b"ownerid1", met=True)
        table.forget(4000)
        taken, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert taken / 4000 < 50
    assert len(table) == 4000


URLS = st.text(max_size=200).map(lambda text: "https://x.test/" + text)


@given(
    st.dictionaries(
        st.binary(min_size=16, max_size=16),
        st.tuples(URLS, st.sampled_from([b"", b"x" * 12])),
        max_size=headlines.MAX_ADDRESSES,
    )
)
def test_addresses_of_a_headline_survive_being_packed(seen: dict[bytes, tuple[str, bytes]]) -> None:
    assert list(headlines._unpacked(headlines._packed(seen))) == list(seen.items())


def test_an_address_that_is_too_long_is_cut() -> None:
    seen = {bytes(16): ("https://x.test/" + "я" * 3000, b""), b"k" * 16: ("https://x.test/2", b"l" * 12)}
    (_, (cut, _)), other = headlines._unpacked(headlines._packed(seen))
    assert seen[bytes(16)][0].startswith(cut[:-1])
    assert other == (b"k" * 16, ("https://x.test/2", b"l" * 12))


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="glibc only")
def test_what_is_free_goes_back_to_the_system(monkeypatch: pytest.MonkeyPatch) -> None:
    if not hasattr(ctypes.CDLL(None), "malloc_trim"):
        pytest.skip("not glibc")
    blocks = [bytearray(100_000) for _ in range(300)]
    kept = blocks[::10]
    del blocks
    assert heap.trim()
    assert len(kept) == 30


def test_without_glibc_nothing_is_trimmed(monkeypatch: pytest.MonkeyPatch) -> None:
    heap._malloc_trim.cache_clear()
    monkeypatch.setattr(ctypes, "CDLL", lambda _: object())
    assert not heap.trim()
    heap._malloc_trim.cache_clear()
