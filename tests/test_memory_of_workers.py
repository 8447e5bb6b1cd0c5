"""Long-lived data of a worker is bounded and small, and gives the same answers as a simple implementation."""

from __future__ import annotations

import ctypes
import linecache
import sys
import tracemalloc
from hashlib import blake2b

import pytest
from hypothesis import given
from hypothesis import strategies as st

from newsbot.crawl import memory as heap
from newsbot.ranking.headlines import SHELF, Address, HeadlineTable

ADDRESSES = st.builds(
    Address, st.sampled_from([bytes([n]) * 16 for n in range(6)]), st.integers(0, 2**64 - 1)
)
LISTINGS = st.lists(st.tuples(st.sampled_from([1, 2, 3, 2**64 - 1]), ADDRESSES), max_size=40)


@given(LISTINGS)
def test_a_table_of_headlines_is_a_dictionary_until_it_is_full(steps: list[tuple[int, Address]]) -> None:
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
def test_the_least_recently_seen_headline_is_dropped(keys: list[int]) -> None:
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


def test_source_code_read_for_a_traceback_is_not_kept() -> None:
    assert linecache.getlines(__file__)
    heap.trim()
    assert __file__ not in linecache.cache


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="glibc only")
def test_free_memory_is_returned_to_the_system(monkeypatch: pytest.MonkeyPatch) -> None:
    if not hasattr(ctypes.CDLL(None), "malloc_trim"):
        pytest.skip("not glibc")
    blocks = [bytearray(100_000) for _ in range(300)]
    kept = blocks[::10]
    del blocks
    assert heap.trim()
    assert len(kept) == 30


def test_memory_is_not_trimmed_without_glibc(monkeypatch: pytest.MonkeyPatch) -> None:
    heap._function.cache_clear()
    monkeypatch.setattr(ctypes, "CDLL", lambda _: object())
    assert not heap.trim()
    heap._function.cache_clear()
