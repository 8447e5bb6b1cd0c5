"""What a worker keeps for weeks is bounded, small, and the same as if it were kept the simple way."""

from __future__ import annotations

import ctypes
import linecache
import sys
import tracemalloc
from collections import OrderedDict
from hashlib import blake2b

import pytest
from hypothesis import given
from hypothesis import strategies as st

from newsbot.crawl import memory as heap
from newsbot.extraction.line_table import LineTable
from newsbot.ranking.headlines import SHELF, Address, HeadlineTable

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
    assert taken / 4000 < 30
    assert len(table) == 4000


ADDRESSES = st.builds(
    Address, st.sampled_from([bytes([n]) * 16 for n in range(6)]), st.integers(0, 2**64 - 1)
)
LISTINGS = st.lists(st.tuples(st.sampled_from([1, 2, 3, 2**64 - 1]), ADDRESSES), max_size=40)


@given(LISTINGS)
def test_a_table_of_headlines_is_a_dictionary_while_there_is_room(steps: list[tuple[int, Address]]) -> None:
    table, model = HeadlineTable(SHELF), dict[int, dict[bytes, int]]()
    for key, address in steps:
        table.put(key, address, 4)
        known = model.setdefault(key, {})
        if address.fingerprint not in known and len(known) >= 4:
            del known[next(iter(known))]
        known[address.fingerprint] = address.lead
        for one, held in model.items():
            assert {found.fingerprint: found.lead for found in table.addresses(one)} == held
            assert [found.fingerprint for found in table.addresses(one)] == list(held)


@given(st.lists(st.integers(1, 2**64 - 1), min_size=1, max_size=80, unique=True))
def test_the_headline_that_was_not_seen_for_longest_makes_room(keys: list[int]) -> None:
    table = HeadlineTable(SHELF)
    for key in keys:
        table.put(keys[0], Address(b"first address of", 0), 4)
        table.put(key, Address(key.to_bytes(16, "big"), 0), 4)
    assert len(table) <= SHELF
    assert table.addresses(keys[0])
    assert all(table.addresses(key) for key in keys[-SHELF // 2 :])


def test_50_000_headlines_take_as_much_memory_as_one() -> None:
    tracemalloc.start()
    try:
        table = HeadlineTable()
        before, _ = tracemalloc.get_traced_memory()
        digests = (blake2b(b"%d" % number, digest_size=8).digest() for number in range(50_000))
        keys = [int.from_bytes(digest, "big") for digest in digests]
        for key in keys:
            table.put(key, Address(key.to_bytes(16, "big"), 7), 4)
        kept = sum(map(bool, map(table.addresses, keys)))
        del keys, key
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert before < 4_000_000
    assert after - before < 200_000
    assert kept > 48_000


def test_source_that_was_read_for_a_traceback_is_not_kept() -> None:
    assert linecache.getlines(__file__)
    heap.trim()
    assert __file__ not in linecache.cache


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
